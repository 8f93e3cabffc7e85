"""Additive models of one variable, grown term by term: penalised least squares with smoothing chosen by GCV.

All of it works on the moments of :mod:`baselines.cam.splines`. The smoothing parameter of one term, the others held, is
found exactly: with the rest of the model eliminated, a term is a ridge regression of a few functions, and the
criterion n RSS / (n - edf)^2 is a rational function of its parameter. Many candidate terms are tried at once, and
all terms of a model are tuned by going round until nothing changes (the same criterion as mgcv's ``gam`` with
``GCV.Cp``).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from baselines.cam.splines import Array, Moments

_GRID = np.arange(-7.0, 7.01, 0.5)  # log10 of the smoothing parameter per row
_START = 12  # where on the grid mgcv starts: a tenth, in these units, for nearly all terms
_STEPS = np.linspace(-1, 1, 9)
_RIDGE = 1e-8  # keeps duplicated variables and few rows solvable; far below any effect that could matter
_EXACT = 1e-10  # the share of the variance below which a relation counts as exact


@dataclass(frozen=True)
class _Terms:
    """Candidate terms with the rest of the model eliminated; one entry per candidate.

    At parameter l the coefficients are b = (schur + l penalty)^-1 right, the residual sum of squares is
    rss - 2 b.slope + b.curve.b and the degrees of freedom are edf + tr((schur + l penalty)^-1 curve). ``schur`` and
    ``curve`` are [c x m x m], ``right``, ``slope`` and ``penalty`` [c x m]; ``rss`` and ``edf`` are those of the rest.
    """

    schur: Array
    right: Array
    slope: Array
    curve: Array
    penalty: Array
    rss: float
    edf: float


class AdditiveModel:
    """y = mean + sum of smooth functions of some variables, one block of m coefficients each.

    Attributes
    ----------
    terms : list of int
        The variables, in the order in which they were added.
    rss, edf : float
        The residual sum of squares and the effective degrees of freedom, the intercept's included.
    coefficients : [terms * m]
    """

    def __init__(self, moments: Moments, penalties: Array) -> None:
        self.moments = moments
        self.penalties = penalties
        self._gram = moments.gram + _RIDGE * max(moments.rows, 1) * np.eye(len(moments.gram))
        self.terms: list[int] = []
        self._smoothing: Array = np.zeros(0)
        self._inverse: Array = np.zeros((0, 0))
        self.coefficients: Array = np.zeros(0)
        self.rss = moments.total
        self.edf = 1.0

    @property
    def columns(self) -> npt.NDArray[np.int64]:
        """The columns of the model's functions among all."""
        return self._columns(self.terms)

    @property
    def log_variance(self) -> float:
        """Logarithm of the residual variance; exact relations have that of a tiny share of y's."""
        return float(self._log_variance(np.array(self.rss)))

    def gains(self, candidates: list[int]) -> Array:
        """Return by how much each candidate, if added, would lower the logarithm of the residual variance."""
        if not candidates:
            return np.zeros(0)
        terms, _ = self._candidates(candidates)
        _, rss, _, _ = _choose_smoothing(terms, self.moments.rows)
        return self.log_variance - self._log_variance(rss)

    def add(self, variable: int) -> None:
        """Add a term; the smoothing of the others is left for :meth:`tune`."""
        terms, projection = self._candidates([variable])
        smoothing, rss, edf, block = _choose_smoothing(terms, self.moments.rows)
        inverse = np.linalg.inv(terms.schur[0] + smoothing[0] * np.diag(terms.penalty[0]))
        K = projection[0]
        self._inverse = np.block([[self._inverse + K @ inverse @ K.T, -K @ inverse], [-inverse @ K.T, inverse]])
        self.coefficients = np.concatenate([self.coefficients - K @ block[0], block[0]])
        self.terms = [*self.terms, variable]
        self._smoothing = np.append(self._smoothing, smoothing[0])
        self.rss, self.edf = float(rss[0]), float(edf[0])

    def tune(self, rounds: int) -> None:
        """Choose the smoothing of each term in turn, until a round changes nothing or ``rounds`` are done."""
        for _ in range(rounds if len(self.terms) > 1 else 0):
            before = self._smoothing.copy()
            for place in range(len(self.terms)):
                self._tune_term(place)
            self._solve()  # the updates above add up rounding errors
            if np.allclose(np.log(self._smoothing), np.log(before), atol=0.02):
                break

    def p_values(self) -> Array:
        """Return the p-value of each term, for the hypothesis that its function is 0 (Wood 2013, Biometrika).

        A Wald test of the fitted function with its Bayesian covariance, whose pseudo-inverse has the rank
        2 tr(F) - tr(FF) of the term (F the matrix of degrees of freedom). The last direction counts by the fraction of
        a broken rank; this form depends on the arbitrary sign of an eigenvector, so the p-values of both are averaged,
        as in mgcv. The reference is an F distribution: the statistic has the mean and variance of that of this rank.
        """
        from scipy.special import fdtrc

        m, count = self.penalties.shape[1], len(self.terms)
        freedom = max(self.moments.rows - self.edf, 1.0)
        sigma2 = max(self.rss, _EXACT * self.moments.total) / freedom
        if sigma2 <= 0:
            return np.ones(count)
        gram = self._gram[np.ix_(self.columns, self.columns)]
        F = self._inverse @ gram
        ranks = (2 * np.diag(F) - np.sum(F * F.T, axis=1)).reshape(count, m).sum(axis=1)
        result = np.ones(count)
        for place, rank in enumerate(np.clip(ranks, 1.0, m)):
            block = slice(place * m, (place + 1) * m)
            covariance = self._inverse[block, block] * sigma2
            statistics = _wald(gram[block, block], covariance, self.coefficients[block], float(rank))
            result[place] = np.mean(fdtrc(rank, freedom, statistics / rank))
        return result

    def _log_variance(self, rss: Array) -> Array:
        floor = max(_EXACT * self.moments.total, 1e-300)
        logarithm: Array = np.log(np.maximum(rss, floor) / max(self.moments.rows, 1))
        return logarithm

    def _columns(self, terms: list[int]) -> npt.NDArray[np.int64]:
        m = self.penalties.shape[1]
        columns: npt.NDArray[np.int64] = (np.asarray(terms, dtype=np.int64)[:, None] * m + np.arange(m)).ravel()
        return columns

    def _weights(self) -> Array:
        """Diagonal of the model's penalty."""
        weights: Array = (self._smoothing[:, None] * self.penalties[self.terms]).ravel()
        return weights

    def _candidates(self, candidates: list[int]) -> tuple[_Terms, Array]:
        """Eliminate the model from each candidate; also return the projections [c x coefficients x m] on the model."""
        m, count = self.penalties.shape[1], len(candidates)
        columns, own = self.columns, self._columns(candidates)
        shared = self._gram[np.ix_(columns, own)]
        K = (self._inverse @ shared).reshape(len(columns), count, m).transpose(1, 0, 2)
        shared = shared.reshape(len(columns), count, m).transpose(1, 2, 0)
        blocks = self._gram[own.reshape(count, m)[:, :, None], own.reshape(count, m)[:, None, :]]
        schur = blocks - shared @ K
        weights = self._weights()
        right = self.moments.cross[own].reshape(count, m) - shared @ self.coefficients
        slope = right - K.transpose(0, 2, 1) @ (weights * self.coefficients)
        curve = schur - K.transpose(0, 2, 1) @ (weights[:, None] * K)
        return _Terms(schur, right, slope, curve, self.penalties[candidates], self.rss, self.edf), K

    def _tune_term(self, place: int) -> None:
        """Take one term out, choose its smoothing again and put it back."""
        m = self.penalties.shape[1]
        block = slice(place * m, (place + 1) * m)
        inverse, old = self._inverse[block, block], self.coefficients[block]
        full = np.linalg.inv(inverse)
        K = -self._inverse[:, block] @ full  # minus the identity in the rows of the term itself
        weights, penalty = self._weights(), self.penalties[self.terms[place]]
        curve = full - K.T @ (weights[:, None] * K)
        right = full @ old
        slope = right - K.T @ (weights * (self.coefficients + K @ old))
        rest = _Terms(
            (full - self._smoothing[place] * np.diag(penalty))[None],
            right[None],
            slope[None],
            curve[None],
            penalty[None],
            self.rss + 2 * float(old @ slope) - float(old @ curve @ old),
            self.edf - float(np.sum(inverse * curve)),
        )
        smoothing, rss, edf, new = _choose_smoothing(rest, self.moments.rows)
        change = np.linalg.inv(rest.schur[0] + smoothing[0] * np.diag(penalty)) - inverse
        self._inverse = self._inverse + K @ change @ K.T
        self.coefficients = self.coefficients + K @ (old - new[0])
        self._smoothing[place] = smoothing[0]
        self.rss, self.edf = float(rss[0]), float(edf[0])

    def _solve(self) -> None:
        columns = self.columns
        gram, cross = self._gram[np.ix_(columns, columns)], self.moments.cross[columns]
        inverse: Array = np.linalg.inv(gram + np.diag(self._weights())).astype(np.float64, copy=False)
        fit = inverse @ cross
        self._inverse, self.coefficients = inverse, fit
        self.rss = max(float(self.moments.total - 2 * fit @ cross + fit @ gram @ fit), 0.0)
        self.edf = 1.0 + float(np.sum(self._inverse * gram))


def _wald(gram: Array, covariance: Array, coefficients: Array, rank: float) -> Array:
    """Return Wood's statistic for both signs of the eigenvector in question."""
    values, vectors = np.linalg.eigh(gram)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    spread, directions = np.linalg.eigh(root @ covariance @ root)
    spread, directions = spread[::-1], directions[:, ::-1]  # the function is least certain in the first directions
    fitted = directions.T @ root @ coefficients
    scores = np.divide(fitted, np.sqrt(np.abs(spread)), out=np.zeros_like(fitted), where=spread > 1e-12 * spread[0])
    whole = int(rank)
    part = rank - whole
    base = float(scores[:whole] @ scores[:whole])
    if part == 0:
        return np.array([base])
    mixed = 2 * np.sqrt(part * (1 - part) / 2) * scores[whole - 1] * scores[whole]
    both: Array = np.maximum(base + part * scores[whole] ** 2 + np.array([mixed, -mixed]), 0)
    return both


def _choose_smoothing(terms: _Terms, rows: int) -> tuple[Array, Array, Array, Array]:
    """Return the best smoothing of each candidate by GCV, with its RSS, edf and coefficients."""
    values, vectors = np.linalg.eigh(terms.schur)
    whiten = vectors / np.sqrt(np.maximum(values, 1e-3 * _RIDGE * rows))[:, None, :]
    penalty, turn = np.linalg.eigh(whiten.transpose(0, 2, 1) @ (terms.penalty[:, :, None] * whiten))
    # In these coordinates the matrix of the term is 1 + l penalty, diagonal for every parameter l.
    W = whiten @ turn
    right = np.einsum("cij,ci->cj", W, terms.right)
    slope = np.einsum("cij,ci->cj", W, terms.slope)
    curve = W.transpose(0, 2, 1) @ terms.curve @ W
    traces = np.diagonal(curve, axis1=1, axis2=2)
    penalty = np.maximum(penalty, 0)

    def evaluate(log10: Array) -> tuple[Array, Array, Array]:
        weights = 1 / (1 + rows * 10.0 ** log10[:, :, None] * penalty[:, None, :])
        b = weights * right[:, None, :]
        rss = terms.rss - 2 * np.einsum("clm,cm->cl", b, slope) + np.sum((b @ curve) * b, axis=2)
        edf = terms.edf + np.einsum("clm,cm->cl", weights, traces)
        return np.maximum(rss, 0), edf, b

    centre = np.zeros((len(W), 1))
    every = np.arange(len(W))
    for steps in (_GRID, 0.5 * _STEPS, 0.125 * _STEPS, 0.03 * _STEPS):
        log10 = centre + steps
        rss, edf, b = evaluate(log10)
        # A model with as many parameters as rows says nothing; the smoothest is then the best guess.
        free = np.maximum(rows - edf, 1e-3)
        criterion = np.where(rows - edf > 0.5, rss / free**2, np.inf)
        best = _downhill(criterion) if steps is _GRID else np.argmin(criterion, axis=1)
        best = np.where(np.all(rows - edf <= 0.5, axis=1), log10.shape[1] - 1, best)
        centre = log10[every, best][:, None]
    coefficients = np.einsum("cij,cj->ci", W, b[every, best])
    return rows * 10.0 ** centre[:, 0], rss[every, best], edf[every, best], coefficients


def _downhill(criterion: Array) -> npt.NDArray[np.int64]:
    """Return the minimum of each line [lines x grid] that is downhill from the start.

    GCV can have several minima; mgcv, too, goes down from its start instead of looking for the lowest.
    """
    place = np.full(len(criterion), _START)
    every = np.arange(len(criterion))
    padded = np.pad(criterion, ((0, 0), (1, 1)), constant_values=np.inf)
    for direction in (1, -1):
        moving = place == _START
        while moving.any():
            moving = moving & (padded[every, place + 1 + direction] < padded[every, place + 1])
            place = place + direction * moving
    return place


def boosted_choice(moments: Moments, penalties: Array, steps: int = 100) -> list[int]:
    """Return the variables that boosting chooses at least once, the most often chosen first.

    Each step fits every variable's smooth function, of 4 degrees of freedom, to the residuals, and moves the model by
    0.1 of the one that fits best.
    """
    count, m = penalties.shape
    columns = np.arange(count * m).reshape(count, m)
    blocks = moments.gram[columns[:, :, None], columns[:, None, :]]
    inverses = np.linalg.inv(blocks + np.apply_along_axis(np.diag, 1, _fixed_freedom(penalties, moments.rows)))
    shrunk = inverses @ blocks @ inverses
    cross = moments.cross.copy()
    counts = np.zeros(count)
    for _ in range(steps):
        own = cross[columns]
        falls = 2 * np.einsum("ci,cij,cj->c", own, inverses, own) - np.einsum("ci,cij,cj->c", own, shrunk, own)
        best = int(np.argmax(falls))
        counts[best] += 1
        cross -= 0.1 * moments.gram[:, columns[best]] @ (inverses[best] @ own[best])
    return [int(place) for place in np.argsort(-counts, kind="stable") if counts[place]]


def _fixed_freedom(penalties: Array, rows: int, freedom: float = 4.0) -> Array:
    """Return penalties [c x m] scaled so that each term has the given degrees of freedom on orthonormal functions."""
    low, high = np.full((len(penalties), 1), -12.0), np.full((len(penalties), 1), 12.0)
    for _ in range(50):
        middle = (low + high) / 2
        too_free = np.sum(1 / (1 + 10.0**middle * penalties), axis=1, keepdims=True) > freedom
        low, high = np.where(too_free, middle, low), np.where(too_free, high, middle)
    # The ridge keeps functions that are 0 everywhere solvable.
    return rows * (10.0**low * penalties + _RIDGE)
