"""CAM: against a search with mgcv's gam, between its engines, and on data that are not as they should be."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from baselines import cam
from baselines._shared import r_bridge
from benchmark.dataset import Dataset, Fit
from benchmark.graphs import find_cycle
from benchmark.metrics import shd
from benchmark.simulate import simulate

ORACLE = Path(__file__).parent / "oracle"
ANSWERS = json.loads((ORACLE / "cam_gam.json").read_text())
MISSING = r_bridge.available("mgcv")
needs_mgcv = pytest.mark.skipif(MISSING is not None, reason=f"mgcv: {MISSING}")
engines = pytest.mark.parametrize("engine", ["python", pytest.param("mgcv", marks=needs_mgcv)])

Array = npt.NDArray[np.float64]


def oracle(name: str) -> Dataset:
    with np.load(ORACLE / f"{name}.npz") as stored:
        return Dataset(stored["X"], stored["setting"], stored["targets"])


def small(n: int = 500, **more: Any) -> Dataset:
    return simulate("anm", 4, 1, "perfect", n=n, seed=2, **more)


def grid(*cutoffs: float, engine: str = "python") -> list[dict[str, Any]]:
    return [{"cutoff": cutoff, "engine": engine} for cutoff in cutoffs]


def assert_valid(result: Fit, d: int) -> None:
    assert result.graph.shape == (d, d)
    assert find_cycle(result.graph) is None
    assert result.heldout_nll is None or np.isfinite(result.heldout_nll)


# --- against another implementation


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_search_and_pruning_against_mgcv(name: str) -> None:
    search = cam._Search(oracle(name), "python")
    answer = ANSWERS[name]
    order = [(i - 1, j - 1) for i, j in answer["order_1based"]]
    d = len(answer["full"])
    assert search.order[:6] == order[:6]
    assert len(search.order) == len(order) == d * (d - 1) // 2  # the DAG is full
    assert shd(np.array(answer["pruned_0_001"]), search.prune(0.001).graph) <= 1


@needs_mgcv
def test_engine_mgcv_is_the_search_with_gam() -> None:
    answer = ANSWERS["dataset00"]
    search = cam._Search(oracle("dataset00"), "mgcv")
    assert search.order == [(i - 1, j - 1) for i, j in answer["order_1based"]]
    np.testing.assert_array_equal(search.prune(0.001).graph, answer["pruned_0_001"])


@needs_mgcv
def test_engines_agree() -> None:
    data = small()
    for cutoff in (1e-6, 1e-2):
        python, mgcv = (cam.fit(data, seed=0, cutoff=cutoff, engine=engine) for engine in ("python", "mgcv"))
        assert python.info == {"engine": "python"}
        assert mgcv.info["engine"] == "mgcv"
        assert mgcv.info["mgcv"].startswith("1.")
        assert shd(python.graph, mgcv.graph) <= 1
        assert python.heldout_nll == pytest.approx(mgcv.heldout_nll, abs=0.01)


# --- what it promises


def test_finds_an_additive_model() -> None:
    data = simulate("anm", 6, 1, "perfect", n=3000, seed=4)
    assert data.graph is not None
    assert shd(data.graph, cam.fit(data, seed=0, cutoff=1e-5).graph) <= 1


def test_space_is_the_random_search_of_the_paper() -> None:
    cutoffs = np.array([combination["cutoff"] for combination in cam.space(np.random.default_rng(1))])
    assert len(cutoffs) == 50
    assert 1e-7 < cutoffs.min() < 1e-5
    assert 1e-2 < cutoffs.max() < 1


@engines
def test_sweep_equals_a_loop_of_fits(engine: str) -> None:
    data = small(200)
    combinations = grid(0.5, 1e-6, 0.01, engine=engine)
    for combination, result in zip(combinations, cam.sweep(data, seed=0, grid=combinations), strict=True):
        alone = cam.fit(data, seed=0, **combination)
        np.testing.assert_array_equal(result.graph, alone.graph)
        assert result.heldout_nll == alone.heldout_nll


def test_a_lower_cutoff_keeps_fewer_edges() -> None:
    first, *others = cam.sweep(small(), seed=0, grid=grid(1.0, 0.1, 1e-3, 1e-7, 0.0))
    assert first.graph.sum() == 6  # full but for p-values of exactly 1
    for result in others:
        assert np.all(result.graph <= first.graph)
        first = result
    assert first.graph.sum() == 0


def test_score_of_no_edges_is_gaussian() -> None:
    data = small()
    assert data.heldout is not None
    result = cam.fit(data, seed=0, cutoff=0.0)
    total = 0.0
    for j in range(data.d):
        used = ~data.targeted[:, j]
        train, test = data.X[data.training & used, j], data.X[data.heldout & used, j]
        total += 0.5 * np.sum(np.log(2 * np.pi * train.var()) + (test - train.mean()) ** 2 / train.var())
    assert result.heldout_nll == pytest.approx(total / (data.heldout.sum() * data.d))


@engines
def test_values_of_a_target_do_not_influence_its_own_regression(engine: str) -> None:
    data = small()
    X = data.X.copy()
    X[data.targeted] = np.random.default_rng(3).normal(5, 3, data.targeted.sum())
    changed = Dataset(X, data.setting, data.targets, heldout=data.heldout)
    for j in range(data.d):
        # The parents must not be targets of other settings, where their values do count.
        others = [i for i in range(data.d) if i != j]
        kept = np.where(np.isin(np.arange(data.d), j), changed.X, data.X)
        same = Dataset(kept, data.setting, data.targets, heldout=data.heldout)
        allowed = ~np.eye(data.d, dtype=bool)
        before, after = cam._engine(engine, data, allowed, 10), cam._engine(engine, same, allowed, 10)
        np.testing.assert_allclose(before.gains(j, [], others), after.gains(j, [], others), rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(before.p_values(j, others), after.p_values(j, others), rtol=1e-4, atol=1e-200)
        np.testing.assert_allclose(before.heldout(j, others), after.heldout(j, others), rtol=1e-6)


def test_another_draw_of_an_intervention_gives_the_same_graph() -> None:
    """A sink is targeted: were its rows used, its values there, unrelated to its causes, would weaken its edges."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    X[:, 1] += np.sin(2 * X[:, 0])
    X[:, 2] += X[:, 1] ** 2
    setting = np.repeat([0, 1], 300)
    graphs = []
    for location in (0.0, 2.0, 50.0):
        X[300:, 2] = rng.normal(location, 1, 300)
        data = Dataset(X, setting, [[0, 0, 0], [0, 0, 1]])
        graphs.append(cam.fit(data, seed=0, cutoff=1e-4).graph)
    for graph in graphs:
        np.testing.assert_array_equal(graph, [[0, 1, 0], [0, 0, 1], [0, 0, 0]])


def test_scale_and_units_do_not_matter() -> None:
    data = small()
    scales = np.array([1e-5, 1.0, 1e4, 3.0])
    other = Dataset(data.X * scales + 7, data.setting, data.targets, heldout=data.heldout)
    one, two = (cam.fit(each, seed=0, cutoff=0.01) for each in (data, other))
    np.testing.assert_array_equal(one.graph, two.graph)
    assert one.heldout_nll is not None
    assert data.heldout is not None
    counted = (~data.targeted[data.heldout]).sum(axis=0) @ np.log(scales) / (data.heldout.sum() * data.d)
    assert two.heldout_nll == pytest.approx(one.heldout_nll + counted, abs=1e-4)


def test_many_nodes_are_given_few_candidates() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 50))
    for j in range(1, 50):
        X[:, j] += np.cos(2 * X[:, j - 1])  # a chain
    data = Dataset(X, np.zeros(300), np.zeros((1, 50)), heldout=np.arange(300) % 5 == 0)
    allowed, _ = cam._prepare(data)
    assert allowed.sum(axis=0).max() <= 10
    assert allowed[np.arange(49), np.arange(1, 50)].sum() >= 48
    result = cam.fit(data, seed=0, cutoff=1e-4)
    assert_valid(result, 50)
    assert shd(np.eye(50, k=1), result.graph) < 15


# --- data that are not as they should be


def with_column(column: Array) -> Dataset:
    data = small(200)
    X = data.X.copy()
    X[:, 2] = column
    return Dataset(X, data.setting, data.targets, heldout=data.heldout)


@engines
def test_constant_column_gets_no_edges(engine: str) -> None:
    for result in cam.sweep(with_column(np.full(200, 0.1)), seed=0, grid=grid(0.01, 1.0, engine=engine)):
        assert_valid(result, 4)
        assert not result.graph[2].any()
        assert not result.graph[:, 2].any()


@engines
def test_duplicated_column(engine: str) -> None:
    for result in cam.sweep(with_column(small(200).X[:, 0]), seed=0, grid=grid(0.01, 1.0, engine=engine)):
        assert_valid(result, 4)
        assert result.graph[0, 2] or result.graph[2, 0]


@engines
def test_few_values(engine: str) -> None:
    for column in (np.round(small(200).X[:, 2]), (small(200).X[:, 2] > 0).astype(float)):
        for result in cam.sweep(with_column(column), seed=0, grid=grid(0.01, 1.0, engine=engine)):
            assert_valid(result, 4)


@engines
def test_fewer_rows_than_variables(engine: str) -> None:
    X = np.random.default_rng(0).normal(size=(6, 8))
    data = Dataset(X, np.zeros(6), np.zeros((1, 8)))
    with pytest.raises(ValueError, match="variable 'V0' is no target in 6 training rows; CAM needs at least 17"):
        cam.fit(data, seed=0, cutoff=0.01, engine=engine)  # type: ignore[arg-type]


@engines
@pytest.mark.parametrize("rows", [15, 20, 40])
def test_hardly_more_rows_than_variables(engine: str, rows: int) -> None:
    X = np.random.default_rng(0).normal(size=(rows, 5))
    data = Dataset(X, np.zeros(rows), np.zeros((1, 5)), heldout=np.arange(rows) % 5 == 0)
    for result in cam.sweep(data, seed=0, grid=grid(0.01, 1.0, engine=engine)):
        assert_valid(result, 5)


@engines
def test_a_setting_of_three_rows_and_a_single_setting(engine: str) -> None:
    data = small(200)
    few = np.where(np.arange(data.n) < 3, 1, 0)
    for setting, targets in ((few, [[0, 0, 0, 0], [1, 1, 0, 0]]), (np.zeros(data.n), [[0, 0, 0, 0]])):
        shown = Dataset(data.X, setting, targets, heldout=data.heldout)
        for result in cam.sweep(shown, seed=0, grid=grid(0.01, 1.0, engine=engine)):
            assert_valid(result, 4)


def test_unknown_engine_and_hidden_targets() -> None:
    with pytest.raises(ValueError, match="engine is 'julia'; expected 'python' or 'mgcv'"):
        cam.fit(small(), seed=0, cutoff=0.1, engine="julia")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="targets of this data set are unknown"):
        cam.fit(small().blind(hide_targets=True), seed=0, cutoff=0.1)


def test_engine_mgcv_without_r_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    with monkeypatch.context() as patch:
        patch.setattr(
            importlib.util, "find_spec", lambda name, *rest: None if name == "rpy2" else find_spec(name, *rest)
        )
        with pytest.raises(r_bridge.RError, match=r"rpy2 is not installed: pip install -r envs/requirements-r\.txt"):
            cam.fit(small(), seed=0, cutoff=0.1, engine="mgcv")
