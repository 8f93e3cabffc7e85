"""IGSP and UT-IGSP: the library's graphs, hidden targets, shared p-values, odd data."""

import random
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from baselines import igsp as igsp_method
from baselines import ut_igsp as ut_igsp_method
from baselines._shared.ci_tests import Memo
from baselines.igsp.search import RUNS, Dag, Search, all_arcs, covered_arcs, igsp, size, subsets, ut_igsp
from benchmark.dataset import Dataset, DatasetError, Fit
from benchmark.graphs import find_cycle
from benchmark.metrics import shd
from benchmark.simulate import Convention, simulate

METHODS = pytest.mark.parametrize("method", [igsp_method, ut_igsp_method], ids=["igsp", "ut-igsp"])
TESTS = ("gauss", "kci", "rcit")


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The library, made to try arcs in the order of their nodes: its own order is that of a hash table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import graphical_model_learning
        import graphical_models
    unordered = graphical_models.DAG.reversible_arcs
    monkeypatch.setattr(graphical_models.DAG, "reversible_arcs", lambda dag: sorted(unordered(dag)))
    return graphical_model_learning


def assert_equal(one: Fit, other: Fit) -> None:
    np.testing.assert_array_equal(one.graph, other.graph)
    assert (one.targets is None) == (other.targets is None)
    if one.targets is not None and other.targets is not None:
        np.testing.assert_array_equal(one.targets, other.targets)


# --- parity with the library


@METHODS
@pytest.mark.parametrize(
    ("nodes", "edges", "convention", "several"),
    [(5, 1, "released", False), (8, 2, "as_written", False), (8, 1, "as_written", True), (9, 2, "released", True)],
)
def test_the_librarys_graphs(
    method: Any, nodes: int, edges: float, convention: Convention, several: bool, library: Any
) -> None:
    """Tests and searches of both, for the same seed."""
    chosen = (1, 2) if several else None
    for seed in range(2):
        data = simulate(
            "linear", nodes, edges, "imperfect", 1500, seed, convention=convention, targets_per_setting=chosen
        )
        for alpha in (0.1, 1e-3, 1e-7):
            ours = method.fit(data, seed=seed, alpha=alpha)
            assert ours.info["engine"] == "python"
            theirs = method.fit(data, seed=seed, alpha=alpha, engine="causaldag")
            assert theirs.info["engine"] == "causaldag"
            assert_equal(ours, theirs)


@METHODS
def test_false_arcs_are_no_more_than_the_level_allows(method: Any) -> None:
    alpha, d, repeats = 0.2, 6, 40
    arcs = 0
    for seed in range(repeats):
        X = np.random.default_rng(seed).normal(size=(600, d))
        data = Dataset(X, np.arange(600) % 2, [[0] * d, [1] + [0] * (d - 1)])
        arcs += int(method.fit(data, seed=seed, alpha=alpha).graph.sum())
    pairs = repeats * d * (d - 1) / 2
    assert 0.3 * alpha < arcs / pairs < 1.1 * alpha


class Arbitrary:
    """P-values drawn once per question, which no data would give: they lead the searches everywhere."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def independence(self, i: int, j: int, given: tuple[int, ...]) -> float:
        return random.Random(f"{self._seed} {i} {j} {given}").random()

    def invariance(self, i: int, setting: int, given: tuple[int, ...]) -> float:
        return random.Random(f"{self._seed} {i} {setting} {given} invariance").random()


class Tester:
    """A search's decisions as the library asks for them."""

    __test__ = False

    def __init__(self, search: Search) -> None:
        self._search = search

    def is_ci(self, i: int, j: int, cond_set: Any = ()) -> bool:
        return self._search.independent(i, j, sum(1 << node for node in cond_set))

    def is_invariant(self, node: int, context: int, cond_set: Any = ()) -> bool:
        return self._search.invariant(node, context + 1, sum(1 << other for other in cond_set))


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_searches_decide_as_the_librarys(seed: int, several: bool, library: Any) -> None:
    """Whatever the tests say: every branch of the searches."""
    d = 6
    pick = np.random.default_rng(seed)
    targets = [frozenset(pick.choice(d, size=1 + several * (k % 2), replace=False).tolist()) for k in range(4)]
    alpha = float(pick.choice([0.3, 0.6, 0.8]))
    state = random.getstate()
    try:
        tester = Tester(search := new_search(d, seed, alpha))
        random.seed(seed)
        settings = [{"interventions": set(nodes)} for nodes in targets]
        theirs = library.igsp(settings, set(range(d)), tester, tester, nruns=RUNS)
        assert set(all_arcs(igsp(search, targets))) == theirs.arcs

        random.seed(seed)
        unknown = [{"known_interventions": set[int]()} for _ in targets]
        theirs, learned = library.unknown_target_igsp(unknown, set(range(d)), tester, tester, nruns=RUNS)
        dag, estimated = ut_igsp(new_search(d, seed, alpha), len(targets) + 1)
        assert set(all_arcs(dag)) == theirs.arcs
        assert [set(np.flatnonzero(row)) for row in estimated[1:]] == learned
    finally:
        random.setstate(state)


def new_search(d: int, seed: int, alpha: float) -> Search:
    return Search(d, Memo(Arbitrary(seed)), alpha, random.Random(seed))


def test_the_engine_refuses_what_the_library_gets_wrong(library: Any) -> None:
    data = simulate("linear", 3, 1, "perfect", n=302, seed=0)  # settings of 75 and 76 rows
    with pytest.raises(ValueError, match="engine 'causaldag' has no test 'rcit'"):
        igsp_method.fit(data, seed=0, alpha=0.1, test="rcit", engine="causaldag")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="has no p-value where a setting has not as many rows"):
            igsp_method.fit(data, seed=0, alpha=1e-9, test="kci", engine="causaldag")


# --- what is shared, what is seen


@METHODS
@pytest.mark.parametrize("test", TESTS)
def test_sweep_is_a_loop(method: Any, test: str) -> None:
    data = simulate("nn", 4, 1, "perfect", n=500, seed=3)
    grid = [{"alpha": alpha, "test": test} for alpha in method.SPACE["alpha"][1::2]]
    for combination, swept in zip(grid, method.sweep(data, seed=7, grid=grid), strict=True):
        assert_equal(swept, method.fit(data, seed=7, **combination))


@METHODS
def test_deterministic_and_the_global_streams_stay(method: Any) -> None:
    data = simulate("linear", 8, 2, "perfect", n=1000, seed=1)
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    one = method.fit(data, seed=2, alpha=0.1)
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # type: ignore[index]  # noqa: NPY002
    assert_equal(one, method.fit(data, seed=2, alpha=0.1))


def test_ut_igsp_sees_no_targets() -> None:
    data = simulate("linear", 6, 1, "perfect", n=1400, seed=6)
    assert data.targets is not None
    wrong = np.roll(data.targets, 1, axis=1)
    fits = [
        ut_igsp_method.fit(Dataset(data.X, data.setting, targets), seed=0, alpha=1e-3)
        for targets in (data.targets, wrong, None)
    ]
    for other in fits[1:]:
        assert_equal(fits[0], other)


def test_igsp_uses_targets() -> None:
    """As written, marginal distributions tell directions; under wrong targets they tell wrong ones."""
    different = 0
    for seed in range(5):
        data = simulate("linear", 6, 1, "perfect", n=2100, seed=seed, convention="as_written")
        assert data.targets is not None
        wrong = Dataset(data.X, data.setting, np.roll(data.targets, 1, axis=1))
        right = igsp_method.fit(data, seed=0, alpha=1e-3).graph
        different += not np.array_equal(right, igsp_method.fit(wrong, seed=0, alpha=1e-3).graph)
    assert different >= 3


def test_igsp_needs_targets() -> None:
    data = simulate("linear", 4, 1, "perfect", n=500, seed=0).blind(hide_targets=True)
    with pytest.raises(DatasetError, match="field 'targets': IGSP needs to know them"):
        igsp_method.fit(data, seed=0, alpha=0.1)


def test_all_rows_are_used() -> None:
    data = simulate("linear", 5, 1, "perfect", n=600, seed=2)
    whole = Dataset(data.X, data.setting, data.targets)
    assert data.heldout is not None
    assert_equal(igsp_method.fit(data, seed=0, alpha=0.1), igsp_method.fit(whole, seed=0, alpha=0.1))


# --- recovery


def clear(n: int = 2000) -> Dataset:
    """0 -> 1 -> 2 <- 3, each node once the target of a shift and a new noise, on its own scale."""
    rng = np.random.default_rng(0)
    graph = np.zeros((4, 4))
    graph[0, 1] = graph[1, 2] = graph[3, 2] = 1
    blocks = []
    for target in (None, 0, 1, 2, 3):
        X = np.zeros((n, 4))
        for j in (0, 3, 1, 2):
            X[:, j] = 2 + rng.normal(size=n) * 0.5 if j == target else X @ graph[:, j] + rng.normal(size=n)
        blocks.append(X)
    targets = np.vstack([np.zeros(4), np.eye(4)])
    return Dataset(np.vstack(blocks), np.repeat(np.arange(5), n), targets, graph)


@METHODS
@pytest.mark.parametrize("test", TESTS)
def test_recovers_a_clear_graph(method: Any, test: str) -> None:
    data = clear(2000 if test == "gauss" else 600)
    found = method.fit(data.blind(hide_targets=method is ut_igsp_method), seed=0, alpha=1e-3, test=test)
    assert data.graph is not None
    assert shd(data.graph, found.graph) <= (0 if test == "gauss" else 1)


def test_estimated_targets() -> None:
    data = clear()
    found = ut_igsp_method.fit(data.blind(hide_targets=True), seed=0, alpha=1e-5)
    assert found.targets is not None
    assert found.targets.shape == (data.settings, data.d)
    assert not found.targets[0].any()
    np.testing.assert_array_equal(found.targets, data.targets)


# --- odd data


def odd(kind: str) -> Dataset:
    rng = np.random.default_rng(5)
    d = 5
    X: npt.NDArray[np.float64] = rng.normal(size=(90, d))
    X[:, 1] += X[:, 0]
    setting = np.repeat([0, 1, 2], 30)
    if kind == "constant":
        X[:, 2] = 3.7
    elif kind == "duplicate":
        X[:, 2] = X[:, 0]
    elif kind == "few rows":
        X, setting = X[:9], np.repeat([0, 1, 2], 3)
    elif kind == "small setting":
        setting = np.repeat([0, 1, 2], [57, 30, 3])
    return Dataset(X, setting, [[0] * d, [1, 0, 0, 0, 0], [0, 1, 1, 0, 0]])


@METHODS
@pytest.mark.parametrize("kind", ["constant", "duplicate", "few rows", "small setting"])
@pytest.mark.parametrize("test", TESTS)
def test_odd_data_give_a_valid_graph(method: Any, kind: str, test: str) -> None:
    data = odd(kind)
    for alpha in (0.2, 1e-9):
        found = method.fit(data, seed=0, alpha=alpha, test=test)
        assert found.graph.shape == (data.d, data.d)
        assert find_cycle(found.graph) is None
        assert found.targets is None or np.isfinite(found.targets).all()


@METHODS
def test_observational_data_are_refused(method: Any) -> None:
    data = simulate("linear", 4, 1, "none", n=200, seed=0)
    with pytest.raises(DatasetError, match="all rows are observational; IGSP and UT-IGSP need interventional data"):
        method.fit(data, seed=0, alpha=0.1)


@METHODS
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"alpha": 0}, "alpha is 0.0; expected a level between 0 and 1"),
        ({"alpha": 0.1, "test": "z"}, "test is 'z'; expected one of gauss, kci, rcit"),
        ({"alpha": 0.1, "engine": "R"}, "engine is 'R'; expected one of python, causaldag"),
    ],
)
def test_wrong_hyperparameters(method: Any, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        method.fit(odd("constant"), seed=0, **wrong)


# --- parts


def test_parts_of_a_search() -> None:
    dag: Dag = (0b000, 0b001, 0b011)  # 0 -> 1, 0 -> 2, 1 -> 2
    assert size(dag) == 3
    assert all_arcs(dag) == [(0, 1), (0, 2), (1, 2)]
    assert covered_arcs(dag) == [(0, 1), (1, 2)]
    assert list(subsets(0b101)) == [0, 0b001, 0b100, 0b101]
