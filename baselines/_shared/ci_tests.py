"""P-values of conditional independence and of invariance, the two questions that IGSP and UT-IGSP ask.

Independence is tested on the observational rows; invariance of a conditional distribution on these rows against those
of one interventional setting. A test that has nothing to decide with (a constant variable, no degrees of freedom)
returns 1: it never rejects without evidence, and no p-value is NaN.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from benchmark.dataset import Dataset

Array = npt.NDArray[np.float64]
Nodes = tuple[int, ...]

# Of a variance: what is left below this share is rounding, and the variable is taken as determined by the others.
DETERMINED = 1e-10


class PValues(Protocol):
    """What the searches need to know of a data set."""

    def independence(self, i: int, j: int, given: Nodes) -> float:
        """Return the p-value of i being independent of j given other variables, without interventions."""

    def invariance(self, i: int, setting: int, given: Nodes) -> float:
        """Return the p-value of i having the same distribution given other variables in a setting as without."""


class Memo:
    """Tests whose p-values are computed once, whatever the number of searches and levels that ask.

    Arguments are brought into one order first, so that a p-value does not depend on who asks for it first.
    """

    def __init__(self, tests: PValues) -> None:
        self._tests = tests
        self._independence: dict[tuple[int, int, Nodes], float] = {}
        self._invariance: dict[tuple[int, int, Nodes], float] = {}

    def independence(self, i: int, j: int, given: Nodes) -> float:
        """See :class:`PValues`."""
        key = (min(i, j), max(i, j), tuple(sorted(given)))
        if key not in self._independence:
            self._independence[key] = self._tests.independence(*key)
        return self._independence[key]

    def invariance(self, i: int, setting: int, given: Nodes) -> float:
        """See :class:`PValues`."""
        key = (i, setting, tuple(sorted(given)))
        if key not in self._invariance:
            self._invariance[key] = self._tests.invariance(*key)
        return self._invariance[key]

    @property
    def count(self) -> int:
        """Number of tests done."""
        return len(self._independence) + len(self._invariance)


def make_tests(dataset: Dataset, test: str, seed: int) -> Memo:
    """Return the tests of a name: "gauss", "kci" (as in the paper) or "rcit"."""
    from baselines._shared.kernel_tests import AdditiveKernelTests, RandomFeatureTests

    known: dict[str, Callable[[], PValues]] = {
        "gauss": lambda: GaussianTests(dataset),
        "kci": lambda: AdditiveKernelTests(dataset),
        "rcit": lambda: RandomFeatureTests(dataset, seed),
    }
    if test not in known:
        raise ValueError(f"test is {test!r}; expected one of {', '.join(known)}")
    return Memo(known[test]())


def split_by_setting(dataset: Dataset) -> list[Array]:
    """Return the rows of each setting, on a scale common to all: zero mean and unit variance without interventions.

    All tests are invariant to a change of scale that settings share; it keeps the arithmetic well conditioned.
    """
    observational = dataset.X[dataset.setting == 0]
    spread = observational.std(axis=0)
    overall = dataset.X.std(axis=0)
    scale = np.where(spread > 1e-12 * np.maximum(overall, np.abs(dataset.X).max(axis=0)), spread, 1.0)
    scaled: Array = (dataset.X - observational.mean(axis=0)) / scale
    return [scaled[dataset.setting == k] for k in range(dataset.settings)]


class GaussianTests:
    """Fisher's z of the partial correlation; equality of linear regressions in two samples.

    The invariance test is that of the library ``conditional_independence``: the coefficients are compared by a
    Wald-type F statistic, the residual variances by an F test, with Bonferroni's correction for two. Like there, both
    are two-sided, so that coefficients which agree better than chance allows are rejected too. That matters where
    every setting has been standardised: all marginal means agree exactly, and no marginal passes as invariant.
    """

    def __init__(self, dataset: Dataset) -> None:
        samples = split_by_setting(dataset)
        self._n = np.array([len(rows) for rows in samples])
        self._correlation, self._constant = _correlation(samples[0])
        with_intercept = [np.column_stack([rows, np.ones(len(rows))]) for rows in samples]
        self._gram = np.stack([rows.T @ rows for rows in with_intercept])
        self._by_node: dict[tuple[int, Nodes], Array] = {}

    def independence(self, i: int, j: int, given: Nodes) -> float:
        """See :class:`PValues`."""
        from scipy.special import erfc

        freedom = self._n[0] - len(given) - 3
        if freedom <= 0 or self._constant[i] or self._constant[j]:
            return 1.0
        pair, rest = [i, j], [k for k in given if not self._constant[k]]
        C = self._correlation
        left = C[np.ix_(pair, pair)]
        if rest:
            left = (
                left
                - C[np.ix_(pair, rest)] @ np.linalg.pinv(C[np.ix_(rest, rest)], hermitian=True) @ C[np.ix_(rest, pair)]
            )
        if min(left[0, 0], left[1, 1]) <= DETERMINED:
            return 1.0
        r = np.clip(left[0, 1] / np.sqrt(left[0, 0] * left[1, 1]), -1.0, 1.0)
        with np.errstate(divide="ignore"):  # a correlation of 1 has p-value 0
            return float(erfc(np.sqrt(freedom / 2) * np.abs(np.arctanh(r))))

    def invariance(self, i: int, setting: int, given: Nodes) -> float:
        """See :class:`PValues`."""
        # UT-IGSP asks for all settings at once; one batch costs little more than one setting.
        if (i, given) not in self._by_node:
            self._by_node[i, given] = self._invariance_in_all(i, given)
        return float(self._by_node[i, given][setting - 1])

    def _invariance_in_all(self, i: int, given: Nodes) -> Array:
        from scipy.special import fdtr, fdtrc

        columns = [*given, -1]
        size = len(columns)
        inverse = np.linalg.pinv(self._gram[:, columns][:, :, columns], hermitian=True)
        moments = self._gram[:, columns, i]
        coefficients = np.einsum("kab,kb->ka", inverse, moments)
        total = self._gram[:, i, i]
        squares = total - np.einsum("ka,ka->k", coefficients, moments)
        squares = np.where(squares <= DETERMINED * total, 0.0, squares)
        variance = squares / np.maximum(self._n - size, 1)

        spread = variance[:, None, None] * inverse
        difference = coefficients[1:] - coefficients[0]
        weights = np.linalg.pinv(spread[1:] + spread[0], hermitian=True)
        wald = np.einsum("ka,kab,kb->k", difference, weights, difference) / size
        n0, n = self._n[0], self._n[1:]
        p_coefficients = _two_sided(fdtr, fdtrc, size, n0 + n - size, np.maximum(wald, 0))
        v0, v = variance[0], variance[1:]
        both = (v0 > 0) & (v > 0)
        ratio = np.divide(v0, v, out=np.ones_like(v), where=both)
        p_variances = _two_sided(fdtr, fdtrc, np.maximum(n0 - 1, 1), np.maximum(n - 1, 1), ratio)
        p: Array = np.minimum(1.0, 2 * np.minimum(p_coefficients, p_variances))
        # A variable that the others determine in one sample only has changed; in both, only its coefficients can have.
        p = np.where(both, p, np.where((v0 > 0) != (v > 0), 0.0, np.where(_same(difference), 1.0, 0.0)))
        return np.where(np.minimum(n0, n) > size, p, 1.0)


def _two_sided(
    below: Callable[..., Array], above: Callable[..., Array], dfn: npt.ArrayLike, dfd: npt.ArrayLike, f: Array
) -> Array:
    return 2 * np.minimum(below(dfn, dfd, f), above(dfn, dfd, f))


def _same(difference: Array) -> npt.NDArray[np.bool_]:
    close: npt.NDArray[np.bool_] = np.all(np.abs(difference) < 1e-6, axis=1)
    return close


def _correlation(rows: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
    centred = rows - rows.mean(axis=0)
    norms = np.sqrt(np.sum(centred**2, axis=0))
    constant = norms <= 1e-12 * np.sqrt(len(rows)) * np.maximum(1.0, np.abs(rows).max(axis=0))
    unit = centred / np.where(constant, 1.0, norms)
    return unit.T @ unit, constant
