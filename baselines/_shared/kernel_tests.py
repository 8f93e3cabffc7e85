"""Nonparametric tests: the paper's kernel test of additive residuals, and a calibrated one by random features.

Both ask whether two one-dimensional variables are independent given others. Invariance of a variable is its
independence of the setting's 0/1 label over the observational rows and those of that setting.
"""

from abc import ABC, abstractmethod
from functools import cache

import numpy as np
import numpy.typing as npt

from baselines._shared.ci_tests import Array, Nodes, split_by_setting
from benchmark.dataset import Dataset

# pygam's smoother, which the library's test uses: 20 cubic B-splines a variable, second differences penalised.
SPLINES = 20
SMOOTHING = 0.6
RIDGE = float(np.sqrt(np.finfo(float).eps))
# A kernel has at most this many frequencies: widths below about 1/500 of the data's range are widened to it.
MOST_FREQUENCIES = 512


LABEL = -1  # the column that tells the rows of a setting from the observational ones


class _ResidualTests(ABC):
    """Tests of what additive regressions on the others leave."""

    def __init__(self, dataset: Dataset) -> None:
        samples = split_by_setting(dataset)

        @cache
        def smoother(setting: int) -> AdditiveSmoother:
            if setting == 0:
                return AdditiveSmoother(samples[0])
            label = np.repeat([0.0, 1.0], [len(samples[0]), len(samples[setting])])
            return AdditiveSmoother(np.column_stack([np.vstack([samples[0], samples[setting]]), label]))

        self._smoother = smoother

    def independence(self, i: int, j: int, given: Nodes) -> float:
        """See :class:`baselines._shared.ci_tests.PValues`."""
        return self._p_value(self._smoother(0), i, j, given)

    def invariance(self, i: int, setting: int, given: Nodes) -> float:
        """See :class:`baselines._shared.ci_tests.PValues`."""
        return self._p_value(self._smoother(setting), i, LABEL, given)

    @abstractmethod
    def _p_value(self, smoother: "AdditiveSmoother", i: int, j: int, given: Nodes) -> float:
        """Test the residuals of two variables given others."""


class AdditiveKernelTests(_ResidualTests):
    """The test of ``conditional_independence.kci_test`` as the library calls it (regress=True), which the paper used.

    Both variables are regressed on the others by an additive spline model and the residuals tested for independence
    by HSIC with a gamma approximation (Zhang et al. 2011, Section 3.1). The statistic is the library's; instead of its
    n x n kernel matrices, Fourier features represent each kernel to about 1e-10, so a test costs O(n). Where the
    data are not additive, the residuals stay dependent on the others, and the test rejects true independence.
    """

    def _p_value(self, smoother: "AdditiveSmoother", i: int, j: int, given: Nodes) -> float:
        return hsic_p_value(*smoother.residuals([i, j], given).T)


class RandomFeatureTests(_ResidualTests):
    """RCIT (Strobl, Zhang and Visweswaran 2019) on additive residuals: keeps its level where "kci" does not.

    Fourier features of both residuals, of one also jointly with the others, are regressed on random features of the
    others, which take out what is left of their influence, on a variable's spread for example; the covariance of what
    remains is compared with its null distribution. The additive regression first is ours: 100 random features alone
    are too few for the effects of many variables. So is the correction of the null for the parameters fitted.
    """

    # Quantiles of the frequencies that RCIT would draw: with so few, chance could leave out all that matter.
    FREQUENCIES = (0.126, 0.385, 0.674, 1.036, 1.645)
    OF_GIVEN = 100
    OF_JOINT = 5

    def __init__(self, dataset: Dataset, seed: int) -> None:
        super().__init__(dataset)
        rng = np.random.default_rng(seed)
        self._frequencies = rng.standard_normal((dataset.d, self.OF_GIVEN))
        self._phases = rng.uniform(0, 2 * np.pi, self.OF_GIVEN)
        self._joint_frequencies = rng.standard_normal((1 + dataset.d, self.OF_JOINT))

    def _p_value(self, smoother: "AdditiveSmoother", i: int, j: int, given: Nodes) -> float:
        x, y = smoother.residuals([i, j], given).T
        n = len(x)
        if np.ptp(x) == 0 or np.ptp(y) == 0:
            return 1.0
        first = self._features(x)
        Z = _standardised(smoother.columns(given))
        if j == LABEL:
            # It depends on anything through its mean alone; the products show effects of Z that change their sign.
            second = y[:, None] / y.std() * np.hstack([np.ones((n, 1)), Z])
        else:
            second = np.hstack([self._features(y), self._joint_features(y, Z, given)])
        freedom = float(n - 1)
        if given:
            angles = Z @ self._frequencies[list(given)] / _width(Z) + self._phases
            basis = np.hstack([Z, _standardised(np.cos(angles))])
            both = np.hstack([first, second])
            gram = basis.T @ basis
            ridge = gram + RIDGE * n * np.eye(len(gram))
            solved = np.linalg.solve(ridge, np.hstack([basis.T @ both, gram]))
            both = both - basis @ solved[:, : both.shape[1]]
            freedom -= float(np.trace(solved[:, both.shape[1] :]))
            first, second = both[:, : first.shape[1]], both[:, first.shape[1] :]
        if freedom < 1:
            return 1.0
        products = (first[:, :, None] * second[:, None, :]).reshape(n, -1)
        # The products have lost the variance of the fitted part twice, their sum has lost it once.
        weights = np.linalg.eigvalsh(products.T @ products / n) * n / freedom
        return weighted_chi_square_tail(float(np.sum((first.T @ second) ** 2)) / n, weights)

    def _features(self, x: Array) -> Array:
        angles = np.outer(x / _width(x[:, None]), self.FREQUENCIES)
        return _standardised(np.hstack([np.cos(angles), np.sin(angles)]))

    def _joint_features(self, y: Array, Z: Array, given: Nodes) -> Array:
        """Features of a variable together with the others, which show a dependence that changes its sign with them."""
        W = np.column_stack([y / y.std(), Z / 2])
        angles = W @ self._joint_frequencies[[0, *(1 + k for k in given)]] / _width(W)
        return _standardised(np.cos(angles + self._phases[: self.OF_JOINT]))


class AdditiveSmoother:
    """Penalised additive spline regressions of columns on each other, from bases computed once."""

    def __init__(self, X: Array) -> None:
        self._X = X - X.mean(axis=0)
        # A constant lies in the span of every variable's splines and in the intercept; taking it out of the splines
        # leaves the fit as it is and the equations well conditioned.
        contrasts = np.linalg.svd(np.ones((1, SPLINES)))[2][1:].T
        bases = [_splines(column) @ contrasts for column in X.T]
        self._basis = np.vstack([(basis - basis.mean(axis=0)).T for basis in bases])
        self._gram = self._basis @ self._basis.T
        self._moments = self._basis @ self._X
        differences = np.diff(np.eye(SPLINES), n=2, axis=0) @ contrasts
        self._penalty = SMOOTHING * differences.T @ differences + RIDGE * np.eye(SPLINES - 1)

    def columns(self, given: Nodes) -> Array:
        """Return columns, centred."""
        chosen: Array = self._X[:, list(given)]
        return chosen

    def residuals(self, columns: list[int], given: Nodes) -> Array:
        """Return what is left of columns after regression on others [n x columns]."""
        Y: Array = self._X[:, columns]
        if not given:
            return Y
        width = SPLINES - 1
        picked = (np.asarray(given)[:, None] * width + np.arange(width)).ravel()
        penalty = np.kron(np.eye(len(given)), self._penalty)
        coefficients = np.linalg.solve(self._gram[np.ix_(picked, picked)] + penalty, self._moments[picked][:, columns])
        left: Array = Y - self._basis[picked].T @ coefficients
        # What the others determine leaves only rounding, which must not be taken for data.
        left[:, left.std(axis=0) <= 1e-5 * Y.std(axis=0)] = 0
        return left


def _splines(x: Array) -> Array:
    """Return cubic B-splines on equal knots over the range of the data [n x SPLINES]."""
    from scipy.interpolate import BSpline

    low, span = float(x.min()), float(np.ptp(x))
    step = 1 / (SPLINES - 3)
    knots = np.arange(-3, SPLINES + 1) * step
    unit = np.clip((x - low) / (span or 1.0), knots[3], knots[-4])
    basis: Array = BSpline.design_matrix(unit, knots, 3).toarray()
    return basis


def hsic_p_value(x: Array, y: Array) -> float:
    """Return the p-value of independence by HSIC with Gaussian kernels, its null approximated by a gamma."""
    from scipy.special import gammaincc

    n = len(x)
    first, second = _kernel_features(x), _kernel_features(y)
    if first is None or second is None:
        return 1.0
    statistic = np.sum((first.T @ second) ** 2) / n
    mean = np.sum(first**2) * np.sum(second**2) / n**2
    variance = 2 * np.sum((first.T @ first) ** 2) * np.sum((second.T @ second) ** 2) / n**4
    return float(gammaincc(mean**2 / variance, statistic * mean / variance))


def _kernel_features(x: Array) -> Array | None:
    """Return centred features whose inner products are the centred Gaussian kernel; None for a constant.

    exp(-t^2 / 2w^2) is the Fourier series sum of a_m cos(m h t) up to rounding as long as the period 2 pi / h exceeds
    the range of t by a few widths, and frequencies beyond 7 / w do not count.
    """
    spread = float(x.std())
    if spread == 0:
        return None
    scaled = x / spread
    if len(values := np.unique(x)) == 2:
        # Every kernel of a two-valued variable is the same up to a factor, which the p-value does not depend on. The
        # library divides by a median distance of 0 here unless both values are equally frequent.
        label: Array = np.where(x == values[0], -np.mean(x != values[0]), np.mean(x == values[0]))[:, None]
        return label
    # The width is the median distance before scaling, the kernel that of the scaled variable: so does the library.
    width = max(median_distance(x), 7 * float(np.ptp(scaled)) / (2 * np.pi * MOST_FREQUENCIES))
    step = 2 * np.pi / (float(np.ptp(scaled)) + 7 * width)
    frequencies = step * np.arange(1, int(np.ceil(7 / (width * step))) + 1)
    weights = np.sqrt(2 * step * width / np.sqrt(2 * np.pi)) * np.exp(-((frequencies * width) ** 2) / 4)
    angles = np.outer(scaled, frequencies)
    features = np.hstack([np.cos(angles) * weights, np.sin(angles) * weights])
    centred: Array = features - features.mean(axis=0)
    return centred


def median_distance(x: Array) -> float:
    """Return the median of all n^2 distances between values without listing them; of those above 0 where it is 0.

    >>> median_distance(np.array([0.0, 1.0, 3.0])), median_distance(np.array([0.0, 1.0, 8.0, 10.0]))
    (1.0, 4.5)
    """
    ordered = np.sort(x)
    n = len(ordered)
    places = np.arange(n)

    def beyond(distance: float) -> npt.NDArray[np.intp]:
        """For each value the place of the first one that lies farther above it."""
        return np.searchsorted(ordered, ordered + distance, side="right")

    def up_to(distance: float) -> int:
        """How many of the n^2 distances, each pair counted twice and n zeros, are no greater."""
        return 2 * int(np.sum(beyond(distance) - places)) - n

    low, high = 0.0, float(ordered[-1] - ordered[0]) * (1 + 1e-12)
    if high == 0:
        return 0.0
    below, above = up_to(low), n * n
    # With an even number of distances the median lies halfway between two. They are far apart where a setting's
    # label makes two clusters of one size: half the distances are within the clusters, half between them.
    first, last = (n * n + 1) // 2, n * n // 2 + 1
    if first <= below:
        first = last = below + (n * n - below + 1) // 2
    # Close in on both, by interpolation and bisection in turn, until few distances are left to sort.
    for step in range(60):
        if above - below <= 4 * n:
            break
        share = (first - below) / (above - below) if step % 3 else 0.5
        middle = low + share * (high - low)
        count = up_to(middle)
        if count < first:
            low, below = middle, count
        elif count >= last:
            high, above = middle, count
        else:
            reached = beyond(middle)
            inner = np.max(ordered[reached - 1] - ordered)
            outer = np.min(ordered[reached[reached < n]] - ordered[reached < n])
            return float(inner + outer) / 2
    starts, ends = beyond(low), beyond(high)
    lengths = ends - starts
    offsets = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    distances = np.sort(ordered[np.repeat(starts, lengths) + offsets] - np.repeat(ordered, lengths))
    return float(distances[(first - below - 1) // 2] + distances[(last - below - 1) // 2]) / 2


def _width(Z: Array, most: int = 500) -> float:
    """Return the median distance between rows, of at most 500."""
    from scipy.spatial.distance import pdist

    distances = pdist(Z[np.linspace(0, len(Z) - 1, min(most, len(Z))).astype(int)])
    positive = distances[distances > 0]
    return float(np.median(positive)) if len(positive) else 1.0


def _standardised(features: Array) -> Array:
    spread = features.std(axis=0)
    centred: Array = features - features.mean(axis=0)
    return centred / np.where(spread > 0, spread, 1.0)


def weighted_chi_square_tail(statistic: float, weights: Array) -> float:
    """Return P(sum of w_m Z_m^2 > statistic) by a gamma with its first three cumulants (Hall-Buckley-Eagleson)."""
    from scipy.special import gammaincc

    weights = np.maximum(weights, 0)
    first, second, third = weights.sum(), 2 * np.sum(weights**2), 8 * np.sum(weights**3)
    if first <= 0:
        return 1.0
    freedom = 8 * second**3 / third**2
    standardised = (statistic - first) / np.sqrt(second)
    return float(gammaincc(freedom / 2, max(standardised * np.sqrt(2 * freedom) + freedom, 0) / 2))
