"""JCI-PC: the same answers as R's pcalg, of both engines; targets found and never read; valid graphs for odd data."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from baselines import jci_pc
from baselines._shared import r_bridge
from baselines.jci_pc.pc import Flags, PartialCorrelations, extend, orient, skeleton
from benchmark.dataset import Dataset, Fit
from benchmark.graphs import find_cycle
from benchmark.paper.data import imported_file, is_imported
from benchmark.simulate import simulate

ORACLE = Path(__file__).parent / "oracle"
ANSWERS: list[dict[str, Any]] = json.loads((ORACLE / "jci_pc.json").read_text())
CASES = [(number, alpha) for number, answer in enumerate(ANSWERS) for alpha in answer]
GRID: list[dict[str, Any]] = [{"alpha": alpha} for alpha in jci_pc.SPACE["alpha"]]
MISSING = r_bridge.available("pcalg")
needs_pcalg = pytest.mark.skipif(MISSING is not None, reason=f"pcalg: {MISSING}")
engines = pytest.mark.parametrize("engine", ["python", pytest.param("pcalg", marks=needs_pcalg)])


def oracle_data(number: int) -> Dataset:
    file = np.load(ORACLE / f"dataset{number:02d}.npz")
    return Dataset(file["X"], file["setting"], file["targets"])


def context_columns(data: Dataset) -> Flags:
    return np.equal.outer(data.setting, np.arange(1, data.settings))


def assert_same(one: Fit, other: Fit) -> None:
    np.testing.assert_array_equal(one.graph, other.graph)
    assert one.targets is not None
    assert other.targets is not None
    np.testing.assert_array_equal(one.targets, other.targets)
    assert (one.kind, one.info["extendable"]) == (other.kind, other.info["extendable"])
    if one.kind == "cpdag":
        np.testing.assert_array_equal(one.info["cpdag"], other.info["cpdag"])


# --- the answers of R


def found_by(engine: str, data: Dataset, alpha: float) -> tuple[Flags, Flags, Flags | None]:
    """Adjacencies, the partially directed graph and a DAG of it, contexts included."""
    variables = np.column_stack([data.X, context_columns(data)])
    context = np.arange(variables.shape[1]) >= data.d
    tests = PartialCorrelations(variables)
    if engine == "pcalg":
        return jci_pc._with_pcalg(tests, context, alpha)
    adjacent, separates = skeleton(tests, context, alpha)
    pdag = orient(adjacent, separates, context)
    return adjacent, pdag, extend(pdag)


@engines
@pytest.mark.parametrize(("number", "alpha"), CASES)
def test_answers_of_pcalg(engine: Any, number: int, alpha: str) -> None:
    data, answer = oracle_data(number), ANSWERS[number][alpha]
    result = jci_pc.fit(data, seed=0, alpha=float(alpha), engine=engine)
    assert result.info["engine"] == engine
    assert result.info["extendable"] == answer["extendable"]
    if answer["extendable"]:
        assert result.kind == "cpdag"
        np.testing.assert_array_equal(result.graph, answer["dag"])
        np.testing.assert_array_equal(result.info["cpdag"], answer["pdag"])
    else:
        assert result.kind == "dag"
        np.testing.assert_array_equal(
            result.graph | result.graph.T, np.maximum(answer["pdag"], np.transpose(answer["pdag"]))
        )
        _, pdag, _ = found_by(engine, data, float(alpha))
        np.testing.assert_array_equal(pdag[: data.d, : data.d], answer["pdag"])


def test_answers_have_both_outcomes() -> None:
    assert len(CASES) == 24
    assert {answer[alpha]["extendable"] for answer in ANSWERS for alpha in answer} == {True, False}


# --- the engines


def assert_engines_agree(data: Dataset, alpha: float) -> bool:
    """Return whether the class has a DAG."""
    python, pcalg = (found_by(engine, data, alpha) for engine in ("python", "pcalg"))
    for one, other in zip(python[:2], pcalg[:2], strict=True):
        np.testing.assert_array_equal(one, other)
    assert (python[2] is None) == (pcalg[2] is None)
    if python[2] is not None:
        np.testing.assert_array_equal(python[2], pcalg[2])
    return python[2] is not None


@needs_pcalg
def test_engines_agree_where_contexts_direct_edges() -> None:
    cases = [("linear", 6, 1, 0), ("linear", 8, 2, 4), ("nn", 6, 2, 1)]
    extendable, found = set(), 0
    for mechanism, nodes, edges, seed in cases:
        data = simulate(mechanism, nodes, edges, n=1_000, seed=seed, convention="as_written")
        for alpha in (0.1, 1e-3):
            extendable.add(assert_engines_agree(data, alpha))
            result = jci_pc.fit(data, seed=3, alpha=alpha, engine="pcalg")
            assert_same(result, jci_pc.fit(data, seed=3, alpha=alpha))
            assert result.targets is not None
            found += int(result.targets.sum())
    assert extendable == {True, False}
    assert found > 10


@pytest.mark.slow
@needs_pcalg
@pytest.mark.skipif(not is_imported(), reason="the paper's data sets are not imported (make published-data)")
@pytest.mark.parametrize("mechanism", ["linear", "anm", "nn"])
@pytest.mark.parametrize(("nodes", "edges"), [(10, 1), (10, 4), (20, 1), (20, 4)])
def test_engines_agree_on_data_of_the_paper(mechanism: str, nodes: int, edges: int) -> None:
    condition = {"mechanism": mechanism, "nodes": nodes, "edges_per_node": edges, "intervention": "perfect"}
    assert_engines_agree(Dataset.load(imported_file(condition, "00")), 1e-3)


def test_engines_and_variants_that_do_not_exist() -> None:
    data = oracle_data(0)
    wrong: Any = "R"
    with pytest.raises(ValueError, match=r"engine is 'R'; expected 'python' or 'pcalg'"):
        jci_pc.fit(data, seed=0, alpha=0.01, engine=wrong)
    with pytest.raises(ValueError, match=r"variant 'published' needs engine 'python'"):
        jci_pc.fit(data, seed=0, alpha=0.01, engine="pcalg", variant="published")
    late = [{"alpha": 0.01}, {"alpha": 0.01, "engine": wrong}]
    with pytest.raises(ValueError, match="engine is 'R'"):
        next(jci_pc.sweep(data, seed=0, grid=late))  # before the first fit


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(r_bridge, "available", lambda *packages: f"the R package {packages[0]} is missing")
    with pytest.raises(r_bridge.RError, match=r"jci_pc\.R cannot be run: the R package pcalg is missing"):
        jci_pc.fit(oracle_data(0), seed=0, alpha=0.01, engine="pcalg")


# --- fit and sweep


@pytest.mark.parametrize("number", [0, 2, 7, 9])
def test_sweep_equals_a_loop_of_fits(number: int) -> None:
    data = oracle_data(number)
    for order in (GRID, GRID[::-1]):
        results = list(jci_pc.sweep(data, seed=5, grid=order))
        for combination, result in zip(order, results, strict=True):
            assert_same(result, jci_pc.fit(data, seed=5, **combination))


def test_without_a_dag_the_seed_orients_the_skeleton() -> None:
    data = oracle_data(7)
    results = [jci_pc.fit(data, seed=seed, alpha=0.01) for seed in (1, 1, 2, 3)]
    assert_same(results[0], results[1])
    skeletons = [result.graph | result.graph.T for result in results]
    for other in skeletons[1:]:
        np.testing.assert_array_equal(skeletons[0], other)
    assert len({result.graph.tobytes() for result in results}) > 1


def test_targets_and_split_are_never_read() -> None:
    data = simulate("linear", 6, 1, n=1_000, seed=2, convention="as_written")
    assert data.targets is not None
    wrong = np.zeros_like(data.targets)
    wrong[1:] = 1 - data.targets[1:]
    expected = jci_pc.fit(data, seed=0, alpha=0.01)
    for targets, heldout in ((None, data.heldout), (wrong, data.heldout), (data.targets, None)):
        shown = Dataset(data.X, data.setting, targets, heldout=heldout)
        assert_same(expected, jci_pc.fit(shown, seed=0, alpha=0.01))
    assert expected.heldout_nll is None


def test_recovers_graph_and_targets() -> None:
    """A linear Gaussian model with shifted means is what JCI-PC assumes; the contexts then direct every edge."""
    rng = np.random.default_rng(0)
    setting = np.repeat(np.arange(4), [20_000, 2_000, 2_000, 2_000])
    shift = np.array([[0, 0, 0, 0], [1.1, 0, 0, 0], [0, 2.3, 0, 1.7], [0, 0, -1.3, 0]])
    X = rng.normal(size=(len(setting), 4)) + shift[setting]
    X[:, 1] += 0.9 * X[:, 0]
    X[:, 2] += 1.2 * X[:, 1]
    X[:, 3] += 0.7 * X[:, 2]
    result = jci_pc.fit(Dataset(X, setting, None), seed=0, alpha=1e-3)
    np.testing.assert_array_equal(result.graph, np.eye(4, k=1))
    np.testing.assert_array_equal(result.info["cpdag"], result.graph)
    np.testing.assert_array_equal(result.targets, shift != 0)


def test_within_setting_standardisation_hides_the_targets() -> None:
    """In the released data every setting has mean 0, so no context correlates with anything."""
    data = simulate("linear", 10, 1, seed=0, convention="released")
    result = jci_pc.fit(data, seed=0, alpha=0.2)
    assert result.targets is not None
    assert not result.targets.any()
    assert result.graph.any()


@pytest.mark.parametrize("alpha", ["1e-3", 0, 1, -0.1, 2, math.nan, None, [0.1]])
def test_alpha_is_a_number(alpha: Any) -> None:
    with pytest.raises(ValueError, match=r"alpha is .*expected a number between 0 and 1"):
        jci_pc.fit(oracle_data(0), seed=0, alpha=alpha)


def test_small_alpha_compares_as_a_number() -> None:
    """Compared as text, a p-value of "5e-324" is greater than "0.001" and the strongest edges go first."""
    data = oracle_data(3)
    edges = [int(jci_pc.fit(data, seed=0, alpha=alpha).graph.sum()) for alpha in (1e-3, 1e-30, 1e-300)]
    assert edges[0] >= edges[1] > 0
    assert edges[2] > 0


# --- odd data


def assert_valid(data: Dataset, engine: Any = "python") -> Fit:
    for alpha in (0.2, 1e-3):
        result = jci_pc.fit(data, seed=0, alpha=alpha, engine=engine)
        assert find_cycle(result.graph) is None
        assert result.targets is not None
        assert result.targets.shape == (data.settings, data.d)
        assert set(np.unique(result.targets)) <= {0, 1}
        assert not result.targets[0].any()
    return result


def chain(n: int = 600, settings: int = 3) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    rng = np.random.default_rng(7)
    setting = np.arange(n) % settings
    return np.cumsum(rng.normal(size=(n, 4)), axis=1) + setting[:, None], setting


@engines
@pytest.mark.parametrize("value", [0.0, 0.1, 1e300])
def test_constant_column(engine: str, value: float) -> None:
    X, setting = chain()
    X[:, 1] = value
    result = assert_valid(Dataset(X, setting, None), engine)
    assert not result.graph[1].any()
    assert not result.graph[:, 1].any()


@engines
def test_duplicated_columns(engine: str) -> None:
    X, setting = chain()
    X = np.column_stack([X, X[:, 1], X[:, 1], -2 * X[:, 2]])
    result = assert_valid(Dataset(X, setting, None), engine)
    assert result.graph.any()


def test_exact_sum() -> None:
    X, setting = chain()
    assert_valid(Dataset(np.column_stack([X, X[:, 0] + X[:, 1] - 3 * X[:, 2]]), setting, None))


def test_column_that_is_the_setting() -> None:
    X, setting = chain(settings=2)
    assert_valid(Dataset(np.column_stack([X, setting]), setting, None))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_extreme_scale(scale: float) -> None:
    X, setting = chain()
    expected = jci_pc.fit(Dataset(X, setting, None), seed=0, alpha=1e-3)
    assert_same(jci_pc.fit(Dataset(X * scale, setting, None), seed=0, alpha=1e-3), expected)


@engines
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8])
def test_fewer_rows_than_variables(engine: str, n: int) -> None:
    X = np.random.default_rng(n).normal(size=(n, 10))
    assert_valid(Dataset(X, np.arange(n) % 3, None), engine)


def test_setting_with_three_rows() -> None:
    X, setting = chain()
    assert_valid(Dataset(X, np.where(np.arange(len(X)) < 3, 3, setting), None))


@engines
def test_single_setting(engine: str) -> None:
    X, _ = chain(settings=1)
    result = assert_valid(Dataset(X, np.zeros(len(X), dtype=int), None), engine)
    np.testing.assert_array_equal(result.info["cpdag"], np.eye(4, k=1) + np.eye(4, k=-1))


@engines
def test_single_variable(engine: str) -> None:
    X, setting = chain()
    assert_valid(Dataset(X[:, :1], setting, None), engine)


@needs_pcalg
def test_pcalg_needs_two_variables() -> None:
    X, _ = chain(settings=1)
    with pytest.raises(r_bridge.RError, match="needs two variables or more, contexts included"):
        jci_pc.fit(Dataset(X[:, :1], np.zeros(len(X), dtype=int), None), seed=0, alpha=0.01, engine="pcalg")
