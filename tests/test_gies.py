"""GIES against pcalg's answers, and each of its steps against a search over all DAGs of a class."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from baselines.gies import fit, space, sweep
from baselines.gies.essential_graphs import EssentialGraph, draw_dag
from benchmark.dataset import Dataset, Fit
from benchmark.graphs import find_cycle
from benchmark.simulate import simulate
from tests.classes import class_of, total_score

ORACLE = Path(__file__).resolve().parent / "oracle"
ANSWERS: list[dict[str, Any]] = json.loads((ORACLE / "gies.json").read_text())
PENALTIES = ("bic", "1", "30")
every_answer = pytest.mark.parametrize(
    ("answer", "penalty"),
    [
        pytest.param(answer, penalty, id=f"{number:02d}-{penalty}")
        for number, answer in enumerate(ANSWERS)
        for penalty in PENALTIES
    ],
)


def oracle_data(answer: dict[str, Any]) -> Dataset:
    with np.load(ORACLE / answer["dataset"]) as stored:
        return Dataset(stored["X"], stored["setting"], stored["targets"])


def value_of(penalty: str, data: Dataset) -> float:
    return 0.5 * math.log(data.n) if penalty == "bic" else float(penalty)


def assert_member(result: Fit, data: Dataset) -> None:
    assert data.targets is not None
    assert result.kind == "cpdag"
    np.testing.assert_array_equal(class_of(result.graph, data.targets).to_matrix(), result.info["cpdag"])


# --- the same answers as R's pcalg


@every_answer
@pytest.mark.parametrize("engine", ["python", "pcalg"])
def test_equals_pcalg(engine: Any, answer: dict[str, Any], penalty: str) -> None:
    if engine == "pcalg":
        skip_without_pcalg()
    data = oracle_data(answer)
    value = value_of(penalty, data)
    result = fit(data, seed=0, penalty=value, engine=engine)
    assert result.info["engine"] == engine
    assert_member(result, data)
    expected = np.zeros((data.d, data.d), dtype=np.int8)
    for i, j in answer["essential_graphs"][penalty]:
        expected[i, j] = 1
    if not np.array_equal(result.info["cpdag"], expected):
        theirs = draw_dag(EssentialGraph.from_matrix(expected), np.random.default_rng(0))
        assert total_score(data, result.graph, value) >= total_score(data, theirs, value) - 1e-6


def skip_without_pcalg() -> None:
    r = pytest.importorskip("baselines._shared.r_bridge", reason="the bridge to R is not there")
    missing = r.available("pcalg")
    if missing:
        pytest.skip(missing)


def test_reported_score_is_that_of_the_graph() -> None:
    data = simulate("linear", 6, 1, n=500, seed=3)
    result = fit(data, seed=0, penalty=3.0)
    assert result.info["score"] == pytest.approx(total_score(data, result.graph, 3.0), abs=1e-6)


# --- the grid


def test_sweep_equals_a_loop_of_fits() -> None:
    data = simulate("linear", 7, 2, n=600, seed=4, settings=3, targets_per_setting=(1, 2))
    grid = space(np.random.default_rng(0))
    assert len(grid) == 50
    assert all(1e-4 <= combination["penalty"] <= 1e4 for combination in grid)
    results = list(sweep(data, seed=5, grid=grid))
    assert len({result.graph.tobytes() for result in results}) > 5
    for combination, result in zip(grid, results, strict=True):
        alone = fit(data, seed=5, **combination)
        np.testing.assert_array_equal(alone.graph, result.graph)
        np.testing.assert_array_equal(alone.info["cpdag"], result.info["cpdag"])
        assert alone.heldout_nll == result.heldout_nll


# --- what it learns


def chain(settings: list[list[int]], rows: int = 1000) -> Dataset:
    """X0 -> X1 -> X2, with these target sets after the observational one."""
    rng = np.random.default_rng(0)
    targets = np.array([[0, 0, 0], *settings])
    setting = np.repeat(np.arange(len(targets)), rows)
    X = rng.normal(size=(len(setting), 3))
    for j in (1, 2):
        X[:, j] += np.where(targets[setting, j] == 1, 2.0, 0.8 * X[:, j - 1])
    return Dataset(X, setting, targets)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ([], [[0, 1, 0], [1, 0, 1], [0, 1, 0]]),
        ([[0, 0, 1]], [[0, 1, 0], [1, 0, 1], [0, 0, 0]]),
        ([[0, 1, 0]], [[0, 1, 0], [0, 0, 1], [0, 0, 0]]),
        ([[0, 1, 1]], [[0, 1, 0], [0, 0, 1], [0, 0, 0]]),
        ([[0, 0, 1], [0, 0, 1]], [[0, 1, 0], [1, 0, 1], [0, 0, 0]]),  # a repeated target set
    ],
)
def test_targets_matter(settings: list[list[int]], expected: list[list[int]]) -> None:
    data = chain(settings)
    result = fit(data, seed=0, penalty=10.0)
    assert result.info["cpdag"].tolist() == expected
    assert_member(result, data)


def test_repeated_target_sets_count_as_one_setting() -> None:
    data = simulate("linear", 6, 2, n=700, seed=6, settings=6, targets_per_setting=(2, 2))
    assert data.targets is not None
    twice = np.concatenate([data.targets, data.targets[1:]])
    odd = np.arange(data.n) % 2 == 1
    setting = np.where(odd & (data.setting > 0), data.setting + 6, data.setting)
    split = Dataset(data.X, setting, twice, heldout=data.heldout)
    for penalty in (0.1, 3.0, 30.0):
        one, other = (fit(some, seed=0, penalty=penalty) for some in (data, split))
        np.testing.assert_array_equal(one.info["cpdag"], other.info["cpdag"])


def test_seed_draws_the_member() -> None:
    data = chain([])
    results = [fit(data, seed=seed, penalty=4.0) for seed in range(20)]
    assert len({result.graph.tobytes() for result in results}) == 3
    for result in results:
        assert_member(result, data)


# --- input that is not as it should be


def test_unknown_targets_are_refused() -> None:
    data = simulate("linear", 4, 1, n=200).blind(hide_targets=True)
    with pytest.raises(ValueError, match="targets of each setting"):
        fit(data, seed=0, penalty=1.0)


@pytest.mark.parametrize(
    ("hyperparameters", "message"),
    [
        ({"penalty": -1.0}, "penalty is -1.0"),
        ({"penalty": math.nan}, "penalty is nan"),
        ({"penalty": 1.0, "engine": "matlab"}, "engine is 'matlab'"),
    ],
)
def test_wrong_hyperparameters_are_named(hyperparameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit(simulate("linear", 4, 1, n=200), seed=0, **hyperparameters)


def awkward() -> Iterator[Any]:
    data = simulate("linear", 6, 1, n=350, seed=7)
    assert data.targets is not None
    constant, repeated, sums = (data.X.copy() for _ in range(3))
    constant[:, 2] = 0.1
    repeated[:, 4] = repeated[:, 1]
    sums[:, 5] = sums[:, 0] + sums[:, 1]
    for name, X in {"constant": constant, "duplicated": repeated, "sum of others": sums}.items():
        yield pytest.param(Dataset(X, data.setting, data.targets, heldout=data.heldout), id=name)
    small = np.random.default_rng(0).normal(size=(6, 10))
    yield pytest.param(Dataset(small, np.zeros(6, int), np.zeros((1, 10))), id="fewer rows than variables")
    kept = (data.setting != 6) | (np.cumsum(data.setting == 6) <= 3)
    few = Dataset(data.X[kept], data.setting[kept], data.targets)
    yield pytest.param(few, id="a setting of three rows")
    yield pytest.param(Dataset(data.X[:3], np.zeros(3, int), np.zeros((1, 6))), id="three rows")
    yield pytest.param(Dataset(data.X[:50], np.zeros(50, int), np.zeros((1, 6))), id="one setting")
    yield pytest.param(Dataset(data.X[:, :1], data.setting, data.targets[:, :1]), id="one variable")
    last = data.setting == 6
    yield pytest.param(Dataset(data.X, data.setting, data.targets, heldout=last), id="a setting held out as a whole")


@pytest.mark.parametrize("data", list(awkward()))
def test_awkward_data_give_a_valid_graph(data: Dataset) -> None:
    for result in sweep(data, seed=0, grid=[{"penalty": value} for value in (1e-4, 0.3, 3.0, 1e4)]):
        assert find_cycle(result.graph) is None
        assert np.array_equal(class_of(result.graph, seen_targets(data)).to_matrix(), result.info["cpdag"])
        assert math.isfinite(result.info["score"])
        assert result.heldout_nll is None or math.isfinite(result.heldout_nll)


def seen_targets(data: Dataset) -> npt.NDArray[np.int8]:
    assert data.targets is not None
    return data.targets[np.unique(data.setting[data.training])]
