"""P-values of the tests behind IGSP and UT-IGSP: the library's where it has any, and calibrated."""

import warnings
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from baselines._shared.ci_tests import Memo, PValues, make_tests
from baselines._shared.kernel_tests import hsic_p_value, median_distance, weighted_chi_square_tail
from benchmark.dataset import Dataset
from benchmark.simulate import simulate

NAMES = ("gauss", "kci", "rcit")


@pytest.fixture(scope="module")
def library() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import conditional_independence
    return conditional_independence


def cases(d: int, count: int, seed: int = 0) -> list[tuple[int, int, tuple[int, ...]]]:
    """Pairs of variables with conditioning sets of all sizes."""
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(d).tolist() for _ in range(count)]
    return [(order[0], order[1], tuple(sorted(order[2 : 2 + k % (d - 1)]))) for k, order in enumerate(orders)]


def samples(data: Dataset) -> tuple[npt.NDArray[np.float64], list[npt.NDArray[np.float64]]]:
    return data.X[data.setting == 0], [data.X[data.setting == k] for k in range(1, data.settings)]


# --- parity with the library


@pytest.mark.parametrize("mechanism", ["linear", "nn"])
def test_gaussian_p_values_are_the_librarys(mechanism: str, library: Any) -> None:
    data = simulate(mechanism, 6, 2, "perfect", n=1400, seed=4, convention="as_written")
    tests = make_tests(data, "gauss", seed=0)
    observational, others = samples(data)
    moments = library.partial_correlation_suffstat(observational)
    contexts = library.gauss_invariance_suffstat(observational, others)
    for i, j, given in cases(6, 20):
        theirs = library.partial_correlation_test(moments, i, j, cond_set=set(given), alpha=0.1)
        assert tests.independence(i, j, given) == pytest.approx(theirs["p_value"], abs=1e-10)
        for k in range(1, data.settings):
            result = library.gauss_invariance_test(contexts, k - 1, i, cond_set=list(given), alpha=0.1)
            p = min(1.0, 2 * min(result["f_pvalue"], result["rc_pvalue"]))
            assert tests.invariance(i, k, given) == pytest.approx(p, abs=1e-10)


@pytest.mark.parametrize("mechanism", ["linear", "nn"])
def test_kernel_p_values_are_the_librarys(mechanism: str, library: Any) -> None:
    """The library computes kernels in single precision, so its own p-values are exact to about 1e-6."""
    data = simulate(mechanism, 6, 2, "perfect", n=1050, seed=4)  # 150 rows a setting
    tests = make_tests(data, "kci", seed=0)
    observational, others = samples(data)
    contexts: dict[Any, Any] = dict(enumerate(others)) | {"obs_samples": observational}
    compared = 0
    for i, j, given in cases(6, 10):
        theirs = library.kci_test(observational, i, j, cond_set=list(given))
        assert tests.independence(i, j, given) == pytest.approx(theirs["p_value"], abs=1e-5)
        result = library.kci_invariance_test(contexts, 2, i, cond_set=list(given))
        if not np.isnan(result["p_value"]):
            compared += 1
            assert tests.invariance(i, 3, given) == pytest.approx(result["p_value"], abs=1e-5)
    assert compared >= 5


def test_unequal_sample_sizes(library: Any) -> None:
    """Where the library has NaN, and calls it invariant, we see the change and lack of change."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(801, 2))
    X[400:, 1] = rng.choice([-1, 1], size=401) + 0.1 * rng.normal(size=401)
    data = Dataset(X, np.repeat([0, 1], [400, 401]), None)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = library.kci_invariance_test({"obs_samples": X[:400], 0: X[400:]}, 0, 1)
    assert np.isnan(theirs["p_value"])
    assert not theirs["reject"]
    for name in ("kci", "rcit"):
        tests = make_tests(data, name, seed=0)
        assert tests.invariance(1, 1, ()) < 1e-3
        assert tests.invariance(0, 1, ()) > 0.01


def test_dropping_a_row_hardly_changes_a_p_value() -> None:
    data = simulate("nn", 4, 1, "perfect", n=2000, seed=2)
    equal = Dataset(data.X, data.setting, data.targets)
    kept = np.ones(data.n, dtype=bool)
    kept[np.flatnonzero(data.setting == 1)[0]] = False
    unequal = Dataset(data.X[kept], data.setting[kept], data.targets)
    for i in range(4):
        one, other = (make_tests(each, "kci", seed=0).invariance(i, 1, ()) for each in (equal, unequal))
        assert one == pytest.approx(other, abs=0.05)


# --- level and power


def chain(seed: int, *, additive: bool, n: int = 400) -> Dataset:
    """0 <- 2 -> 1 without interventions, and once more with 2 moved: all else is independent and invariant given 2."""
    rng = np.random.default_rng(seed)
    z = np.concatenate([rng.normal(size=n), rng.normal(0.5, 1, size=n + 1)])
    noise = rng.normal(size=(2, 2 * n + 1))
    x = np.sin(z) + noise[0] if additive else np.exp(0.7 * z) * noise[0]
    y = z**2 / 2 + noise[1] if additive else np.exp(0.7 * z) * noise[1]
    return Dataset(np.column_stack([x, y, z]), np.repeat([0, 1], [n, n + 1]), None)


def rejected(name: str, *, additive: bool, level: float, count: int = 40) -> tuple[float, float]:
    """Share of true hypotheses rejected: independence, invariance."""
    p = []
    for seed in range(count):
        tests = make_tests(chain(seed, additive=additive), name, seed=seed)
        p.append([tests.independence(0, 1, (2,)), tests.invariance(0, 1, (2,))])
    shares = np.mean(np.array(p) < level, axis=0)
    return float(shares[0]), float(shares[1])


@pytest.mark.parametrize(("name", "additive"), [("kci", True), ("rcit", True), ("rcit", False)])
def test_level_is_kept(name: str, additive: bool) -> None:
    independence, invariance = rejected(name, additive=additive, level=0.1)
    assert independence < 0.25
    assert invariance < 0.25


def test_the_papers_kernel_test_fails_on_data_that_are_not_additive() -> None:
    independence, _ = rejected("kci", additive=False, level=0.01)
    assert independence > 0.5


@pytest.mark.parametrize("name", NAMES)
def test_power(name: str) -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=1001)
    x = z + rng.normal(size=1001)
    y = x + z + rng.normal(size=1001)
    x[500:] = 3 * z[500:] + rng.normal(size=501)  # a changed effect, hard to see for kci's regression on z
    tests = make_tests(Dataset(np.column_stack([x, y, z]), np.repeat([0, 1], [500, 501]), None), name, seed=0)
    assert tests.independence(0, 1, (2,)) < 1e-6
    assert tests.invariance(0, 1, (2,)) < (0.05 if name == "kci" else 1e-6)


# --- odd data


ODD = ("constant", "constant in a setting", "duplicate", "few rows", "small setting", "discrete", "large offset")


def odd(kind: str) -> Dataset:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 5))
    X[:, 1] += X[:, 0]
    setting = np.repeat([0, 1, 2], [30, 20, 10])
    if kind == "constant":
        X[:, 2] = 3.7
    elif kind == "constant in a setting":
        X[setting == 1, 2] = 3.7
    elif kind == "duplicate":
        X[:, 2] = X[:, 0]
    elif kind == "few rows":
        X, setting = X[[0, 1, 2, 30, 31, 32, 50, 51]], setting[[0, 1, 2, 30, 31, 32, 50, 51]]
    elif kind == "small setting":
        setting = np.repeat([0, 1, 2], [30, 27, 3])
    elif kind == "discrete":
        X = np.round(X)
    elif kind == "large offset":
        X = X * 1e-3 + 1e6
    return Dataset(X, setting, None)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "kind"), list(product(NAMES, ODD)))
def test_every_p_value_is_a_probability(name: str, kind: str) -> None:
    data = odd(kind)
    tests = make_tests(data, name, seed=0)
    p = [tests.independence(i, j, given) for i, j, given in cases(5, 25)]
    p += [tests.invariance(i, k, given) for i, _, given in cases(5, 25, seed=1) for k in range(1, data.settings)]
    assert all(0 <= value <= 1 for value in p)


@pytest.mark.parametrize("name", NAMES)
def test_constants_and_copies_are_independent(name: str) -> None:
    assert make_tests(odd("constant"), name, seed=0).independence(0, 2, (1,)) == 1
    assert make_tests(odd("duplicate"), name, seed=0).independence(2, 1, (0,)) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_variable_held_constant_has_changed(name: str) -> None:
    assert make_tests(odd("constant in a setting"), name, seed=0).invariance(2, 1, ()) < 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_scale_does_not_matter(name: str) -> None:
    data = simulate("nn", 4, 1, "perfect", n=800, seed=3)
    moved = Dataset(data.X * [1, 10, 100, 0.01] + [0, 5, -3, 1], data.setting, None)
    one, other = make_tests(data, name, seed=0), make_tests(moved, name, seed=0)
    for i, j, given in cases(4, 8):
        assert one.independence(i, j, given) == pytest.approx(other.independence(i, j, given), abs=1e-5)
        if name != "gauss" or given:  # marginal means of standardised settings agree to rounding only
            assert one.invariance(i, 1, given) == pytest.approx(other.invariance(i, 1, given), abs=1e-5)


def test_unknown_test() -> None:
    with pytest.raises(ValueError, match="test is 'fisher'; expected one of gauss, kci, rcit"):
        make_tests(odd("discrete"), "fisher", seed=0)


# --- parts


class Counting:
    """Tests that count how often they are asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int, tuple[int, ...]]] = []

    def independence(self, i: int, j: int, given: tuple[int, ...]) -> float:
        self.asked.append((i, j, given))
        return 0.5

    def invariance(self, i: int, setting: int, given: tuple[int, ...]) -> float:
        self.asked.append((i, setting, given))
        return 0.5


def test_memo_asks_once_in_one_order() -> None:
    tests = Counting()
    checked: PValues = tests
    memo = Memo(checked)
    for _ in range(2):
        memo.independence(3, 1, (2, 0))
        memo.independence(1, 3, (0, 2))
        memo.invariance(3, 1, (2, 0))
        memo.invariance(1, 3, (2, 0))
    assert tests.asked == [(1, 3, (0, 2)), (3, 1, (0, 2)), (1, 3, (0, 2))]


@pytest.mark.parametrize("n", [3, 4, 51, 300])
def test_median_distance(n: int) -> None:
    rng = np.random.default_rng(n)
    clusters = np.r_[rng.normal(size=n // 2), 9 + rng.normal(size=n - n // 2)]
    for x in (rng.normal(size=n), rng.standard_cauchy(size=n), np.arange(float(n)), clusters):
        assert median_distance(x) == pytest.approx(float(np.median(np.abs(x[:, None] - x))), rel=1e-9)


def test_hsic_of_dense_kernels() -> None:
    """The Fourier features stand for the n x n kernels, also for heavy tails."""
    from scipy.stats import gamma

    rng = np.random.default_rng(0)
    x = rng.standard_t(3, size=150)
    y = np.abs(x) ** 0.3 * rng.normal(size=150) * 0.1
    n = len(x)

    def kernel(v: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        width = np.median(np.abs(v[:, None] - v))
        scaled = v / v.std()
        K = np.exp(-((scaled[:, None] - scaled) ** 2) / (2 * width**2))
        H = np.eye(n) - 1 / n
        centred: npt.NDArray[np.float64] = H @ K @ H
        return centred

    K, L = kernel(x), kernel(y)
    mean = np.trace(K) * np.trace(L) / n**2
    variance = 2 * np.sum(K**2) * np.sum(L**2) / n**4
    p = gamma.sf(np.sum(K * L) / n, mean**2 / variance, scale=variance / mean)
    assert hsic_p_value(x, y) == pytest.approx(p, rel=1e-6)


def test_weighted_chi_square_tail() -> None:
    from scipy.stats import chi2

    for freedom in (1, 5, 25):
        for q in (0.5, 0.01, 1e-6):
            assert weighted_chi_square_tail(2 * chi2.isf(q, freedom), np.full(freedom, 2.0)) == pytest.approx(q)
    draws = np.random.default_rng(0).chisquare(1, size=(100_000, 4)) @ [4, 2, 1, 0.5]
    assert weighted_chi_square_tail(float(np.quantile(draws, 0.95)), np.array([4, 2, 1, 0.5])) == pytest.approx(
        0.05, abs=0.004
    )
