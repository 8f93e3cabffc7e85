"""Nonparametric tests: the paper's kernel test of additive residuals, and a calibrated one by random features.

Both ask whether two one-dimensional variables are independent given others. Invariance of a variable is its
independence of the setting's 0/1 label over the observational rows and those of that setting.
"""

from functools import cache

import numpy as np
import numpy.typing as npt

from baselines._ci_tests import Array, Nodes, split_by_setting
from benchmark.dataset import Dataset

# pygam's smoother, which the library's test uses: 20 cubic B-splines a variable, second differences penalised.
SPLINES = 20
SMOOTHING = 0.6
RIDGE = float(np.sqrt(np.finfo(float).eps))
# A kernel has at most this many frequencies: widths below about 1/600 of the data's range are widened to it.
FREQUENCIES = 512


class AdditiveKernelTests:
    """The test of ``conditional_independence.kci_test`` as the library calls it (regress=True), which the paper used.

    Both variables are regressed on the others by an additive spline model and the residuals tested for independence
    by HSIC with a gamma approximation (Zhang et al. 2011, Section 3.1). The statistic is the library's; instead of its
    n x n kernel matrices, Fourier features represent each kernel to about 1e-10, so a test costs O(n). Where the
    data are not additive, the residuals stay dependent and the test rejects true independence.
    """

    def __init__(self, dataset: Dataset) -> None:
        samples = split_by_setting(dataset)

        @cache
        def smoother(setting: int) -> AdditiveSmoother:
            """The variables, and the setting's label where there is one to test against."""
            if setting == 0:
                return AdditiveSmoother(samples[0])
            label = np.repeat([0.0, 1.0], [len(samples[0]), len(samples[setting])])
            return AdditiveSmoother(np.column_stack([np.vstack([samples[0], samples[setting]]), label]))

        self._smoother = smoother

    def independence(self, i: int, j: int, given: Nodes) -> float:
        """See :class:`baselines._ci_tests.Tests`."""
        return self._p_value(self._smoother(0), i, j, given)

    def invariance(self, i: int, setting: int, given: Nodes) -> float:
        """See :class:`baselines._ci_tests.Tests`."""
        return self._p_value(self._smoother(setting), i, -1, given)

    def _p_value(self, smoother: "AdditiveSmoother", i: int, j: int, given: Nodes) -> float:
        return hsic_p_value(*smoother.residuals([i, j], given).T)


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

    def residuals(self, columns: list[int], given: Nodes) -> Array:
        """Return what is left of columns after regression on others [n x columns]."""
        Y = self._X[:, columns]
        if not given:
            return Y
        width = SPLINES - 1
        picked = (np.asarray(given)[:, None] * width + np.arange(width)).ravel()
        penalty = np.kron(np.eye(len(given)), self._penalty)
        coefficients = np.linalg.solve(
            self._gram[np.ix_(picked, picked)] + penalty, self._moments[np.ix_(picked, columns)]
        )
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
        return np.where(x == values[0], 0.0, 1.0)[:, None] - np.mean(x != values[0])
    # The width is the median distance before scaling, the kernel that of the scaled variable: so does the library.
    width = max(median_distance(x), 7 * float(np.ptp(scaled)) / (2 * np.pi * FREQUENCIES))
    step = 2 * np.pi / (float(np.ptp(scaled)) + 7 * width)
    frequencies = step * np.arange(1, int(np.ceil(7 / (width * step))) + 1)
    weights = np.sqrt(2 * step * width / np.sqrt(2 * np.pi)) * np.exp(-((frequencies * width) ** 2) / 4)
    angles = np.outer(scaled, frequencies)
    features = np.hstack([np.cos(angles) * weights, np.sin(angles) * weights])
    centred: Array = features - features.mean(axis=0)
    return centred


def median_distance(x: Array) -> float:
    """Return the median of all n^2 distances between values, in O(n log n); of those above 0 where it is 0.

    >>> median_distance(np.array([0.0, 1.0, 3.0])), median_distance(np.array([0.0, 0.1, 5.0, 5.2]))
    (1.0, 2.5)
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

    zeros = up_to(0.0)
    tied = 2 * zeros >= n * n
    rank = zeros + (n * n - zeros + 1) // 2 if tied else (n * n + 1) // 2
    low, high = 0.0, float(ordered[-1] - ordered[0])
    for _ in range(45):
        middle = (low + high) / 2
        low, high = (low, middle) if up_to(middle) >= rank else (middle, high)
    if tied or n % 2 == 1 or up_to(high) > rank:
        return high
    # With an even number of distances the median is halfway to the next one. That is far where a setting's label
    # makes two clusters of one size: all distances up to here are within the clusters, all others between them.
    after = beyond(high)
    inside = after < n
    return (high + float(np.min(ordered[after[inside]] - ordered[places[inside]]))) / 2


class RandomFeatureTests:
    """RCIT (Strobl, Zhang and Visweswaran 2019), a fast approximation of the kernel conditional independence test.

    Random Fourier features of both variables are regressed on the others and on random features of them; the
    covariance of what is left is compared with its null distribution. Unlike "kci" above it lets the others act on
    any feature of a variable, its spread for example, and so keeps its level on data that are not additive.
    """

    OF_TESTED = 5
    OF_GIVEN = 100

    def __init__(self, dataset: Dataset, seed: int) -> None:
        samples = split_by_setting(dataset)
        rng = np.random.default_rng(seed)
        self._frequencies = rng.standard_normal((2, self.OF_TESTED))
        self._phases = rng.uniform(0, 2 * np.pi, (2, self.OF_TESTED))
        self._given_frequencies = rng.standard_normal((dataset.d, self.OF_GIVEN))
        self._given_phases = rng.uniform(0, 2 * np.pi, self.OF_GIVEN)

        @cache
        def rows(setting: int) -> Array:
            return samples[0] if setting == 0 else np.vstack([samples[0], samples[setting]])

        self._rows = rows
        self._observational = len(samples[0])

    def independence(self, i: int, j: int, given: Nodes) -> float:
        """See :class:`baselines._ci_tests.Tests`."""
        X = self._rows(0)
        return self._p_value(X[:, i], X[:, j], X, given)

    def invariance(self, i: int, setting: int, given: Nodes) -> float:
        """See :class:`baselines._ci_tests.Tests`."""
        X = self._rows(setting)
        return self._p_value(X[:, i], (np.arange(len(X)) >= self._observational).astype(float), X, given)

    def _p_value(self, x: Array, y: Array, X: Array, given: Nodes) -> float:
        first = self._features(x, 0)
        second = self._features(y, 1)
        if first is None or second is None:
            return 1.0
        if given:
            basis = self._given(X, given)
            both = np.hstack([first, second])
            gram = basis.T @ basis
            both = both - basis @ np.linalg.solve(gram + 1e-8 * len(x) * np.eye(len(gram)), basis.T @ both)
            first, second = both[:, : first.shape[1]], both[:, first.shape[1] :]
        n = len(x)
        statistic = np.sum((first.T @ second) ** 2) / n
        products = (first[:, :, None] * second[:, None, :]).reshape(n, -1)
        return weighted_chi_square_tail(statistic, np.linalg.eigvalsh(products.T @ products / n))

    def _features(self, x: Array, place: int) -> Array | None:
        if np.ptp(x) == 0:
            return None
        features = np.cos(np.outer(x / _width(x[:, None]), self._frequencies[place]) + self._phases[place])
        return _standardised(features)

    def _given(self, X: Array, given: Nodes) -> Array:
        """Random features of the others, and the others themselves: many linear effects need many random features."""
        Z = _standardised(X[:, list(given)])
        angles = Z @ self._given_frequencies[list(given)] / _width(Z) + self._given_phases
        return np.hstack([Z, _standardised(np.cos(angles))])


def _width(Z: Array, rows: int = 500) -> float:
    """Return the median distance between rows, of the first ones as in RCIT."""
    from scipy.spatial.distance import pdist

    distances = pdist(Z[np.linspace(0, len(Z) - 1, min(rows, len(Z))).astype(int)])
    positive = distances[distances > 0]
    return float(np.median(positive)) if len(positive) else 1.0


def _standardised(features: Array) -> Array:
    spread = features.std(axis=0)
    centred: Array = features - features.mean(axis=0)
    return centred / np.where(spread > 0, spread, 1.0)


def weighted_chi_square_tail(statistic: float, weights: Array) -> float:
    """Return P(sum of w_m Z_m^2 > statistic) by a gamma with the same first three cumulants (Hall, Buckley, Eagleson)."""
    from scipy.special import gammaincc

    weights = np.maximum(weights, 0)
    first, second, third = weights.sum(), 2 * np.sum(weights**2), 8 * np.sum(weights**3)
    if first <= 0:
        return 1.0
    freedom = 8 * second**3 / third**2
    standardised = (statistic - first) / np.sqrt(second)
    return float(gammaincc(freedom / 2, max(standardised * np.sqrt(2 * freedom) + freedom, 0) / 2))
