"""Reuse: what is recorded is not fitted again, and gives the same metrics."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmark.dataset import Dataset
from benchmark.evaluation import evaluate
from benchmark.figures import boxplots
from benchmark.plan import Plan
from benchmark.recorded import recall as module
from benchmark.recorded.pack import pack
from benchmark.recorded.recall import Recall, data_origin, describe_recorded
from benchmark.recorded.store import Store, StoreError
from benchmark.styles import styles
from benchmark.tables import build_tables, to_markdown
from tests.runs import CELL, COMMIT, change, finish, finish_cell, small_plan

CONDITION = "linear-d5-e1-perfect-n300"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    finish(small_plan(), folder)
    change(folder / CELL, 2, None)
    return folder


@pytest.fixture(scope="module")
def store(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("records")
    pack(small_plan(), results, Store(folder))
    return Store(folder)


def counts(plan: Plan, store: Store) -> dict[tuple[str, str], int]:
    """Return how many fits each cell still needs."""
    recall = Recall(plan, store)
    (condition,) = plan.conditions
    rows, indices = plan.rows, plan.conditions[condition].indices
    return {(row, index): len(recall.to_fit("known", condition, index, row)) for row in rows for index in indices}


def measured(plan: Plan, results: Path, store: Store | None) -> pd.DataFrame:
    return evaluate(plan.experiments["mine"], results, None if store is None else Recall(plan, store))[0]


@pytest.mark.parametrize("mode", ["reuse", "exact", "only"])
def test_recorded_cells_give_the_same_metrics_without_results(
    mode: str, results: Path, store: Store, tmp_path: Path
) -> None:
    plan = small_plan(mode)
    assert set(counts(plan, store).values()) == {0}
    fresh, recalled = measured(plan, results, None), measured(plan, tmp_path / "nothing", store)
    assert set(recalled["recorded"]) == {COMMIT}
    assert set(fresh["recorded"]) == {""}
    columns = [name for name in fresh if name != "recorded"]
    pd.testing.assert_frame_equal(fresh[columns], recalled[columns])


def test_off_uses_nothing(store: Store) -> None:
    assert counts(small_plan("off"), store) == {
        ("empty", "00"): 1,
        ("empty", "01"): 1,
        ("sortnregress", "00"): 6,
        ("sortnregress", "01"): 6,
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 1},
        {"heldout": 0.3},
        {"convention": "as_written"},
        {"experiments": {"mine": {"data": {"edges_per_node": 2}}}},
        {"experiments": {"mine": {"data": {"n": 400}}}},
    ],
)
def test_other_data_or_seeds_are_not_recorded(changes: dict[str, Any], store: Store) -> None:
    assert counts(small_plan("reuse", **changes), store) == counts(small_plan("off", **changes), store)


def test_a_new_method_and_a_new_data_set_alone_are_fitted(store: Store) -> None:
    plan = small_plan("reuse", rows=("empty", "random"), datasets=3)
    assert counts(plan, store) == {
        ("empty", "00"): 0,
        ("empty", "01"): 0,
        ("empty", "02"): 1,
        ("random", "00"): 1,
        ("random", "01"): 1,
        ("random", "02"): 1,
    }


def test_part_of_a_grid_is_recorded(results: Path, store: Store, tmp_path: Path) -> None:
    smaller = {"sortnregress": {"hyperparameters": {"penalty": [0.01]}}}
    assert set(counts(small_plan("reuse", methods=smaller), store).values()) == {0}
    larger = small_plan("reuse", methods={"sortnregress": {"hyperparameters": {"penalty": [0.5, 0.01, 0.7]}}})
    place = ("known", CONDITION, "00")
    rest = Recall(larger, store).to_fit(*place, "sortnregress")
    assert [combination["penalty"] for combination in rest] == [0.5, 0.7]
    # Those that are fitted stand beside those that are recorded, in the order of the grid.
    for index in ("00", "01"):
        data = Dataset.load(results / "data" / CONDITION / f"{index}.npz")
        data.save(tmp_path / "data" / CONDITION / f"{index}.npz")
        finish_cell(larger, tmp_path, data, "sortnregress", ("known", CONDITION, index), rest)
    _, costs = evaluate(larger.experiments["mine"], tmp_path, Recall(larger, store))
    part = costs[(costs["row"] == "sortnregress") & (costs["dataset"] == "00")]
    assert list(part["hyperparameters"]) == ["penalty=0.5", "penalty=0.01", "penalty=0.7"]
    assert list(part["recorded"]) == ["", COMMIT, ""]
    # Without fitting, a selection over a part of a grid would be another method.
    only = small_plan("only", methods={"sortnregress": {"hyperparameters": {"penalty": [0.5, 0.01, 0.7]}}})
    found = measured(only, tmp_path / "nothing", store)
    assert set(found["row"]) == {"empty"}


def test_a_changed_source_is_said_and_refused_by_exact(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    real = module._source_of
    monkeypatch.setattr(module, "_source_of", lambda file: "other" if file.stem == "sortnregress" else real(file))
    assert set(counts(small_plan("reuse"), store).values()) == {0}
    metrics = measured(small_plan("reuse"), Path("nothing"), store)
    assert describe_recorded(metrics) == (
        f"From the records, not fitted in this run: Empty graph (commit {COMMIT[:7]}); "
        f"Sort-and-regress (commit {COMMIT[:7]}, source changed since)."
    )
    assert counts(small_plan("exact"), store)["sortnregress", "00"] == 6
    assert counts(small_plan("exact"), store)["empty", "00"] == 0


def test_another_simulator_makes_other_data(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_source_of_data", lambda *names: "other")
    assert counts(small_plan("reuse"), store) == counts(small_plan("off"), store)


def test_data_at_hand_that_differ_are_said_and_refused_by_exact(results: Path, store: Store, tmp_path: Path) -> None:
    """The same simulation may give other numbers on another machine."""
    plan = small_plan("reuse", rows=("empty", "random"))
    for index in ("00", "01"):
        data = Dataset.load(results / "data" / CONDITION / f"{index}.npz")
        moved = Dataset(data.X * (1 + 1e-15), data.setting, data.targets, data.graph, data.names, data.heldout)
        moved.save(tmp_path / "data" / CONDITION / f"{index}.npz")
        finish_cell(plan, tmp_path, moved, "random", ("known", CONDITION, index), [{}])
    metrics = measured(plan, tmp_path, store)
    assert set(metrics[metrics["row"] == "empty"]["recorded"]) == {f"{COMMIT}; data differ from those here"}
    with pytest.raises(StoreError, match="is not the one of the records"):
        measured(small_plan("exact", rows=("empty", "random")), tmp_path, store)


def test_what_is_not_recorded_stays_empty(store: Store) -> None:
    plan = small_plan("only", rows=("empty", "random"))
    assert set(counts(plan, store).values()) == {0}
    assert set(measured(plan, Path("nothing"), store)["row"]) == {"empty"}


def test_the_origin_of_own_files_is_their_content(tmp_path: Path) -> None:
    file = tmp_path / "mine.npz"
    data = Dataset([[0.0, 1.0], [2.0, 3.0], [1.0, 1.0]], [0, 0, 1], [[0, 0], [1, 0]])
    data.save(file)
    config = small_plan().config
    config["experiments"]["mine"]["data"] = {"files": [str(file)]}
    plan = Plan(config)
    condition = next(iter(plan.conditions.values()))
    first = data_origin(plan, condition, "00")
    Dataset(data.X + 1, data.setting, data.targets).save(file)
    assert data_origin(plan, condition, "00") not in (first, None)
    file.unlink()
    assert data_origin(plan, condition, "00") is None


# --- what tables and figures say


def test_tables_name_what_is_recorded_and_how_much_of_it(store: Store) -> None:
    plan = small_plan("only", rows=("empty", "sortnregress", "random"), datasets=3)
    (table,) = build_tables(plan.experiments["mine"], measured(plan, Path("nothing"), store))
    text = to_markdown(table)
    assert "From the records, not fitted in this run: Empty graph, Sort-and-regress (commit 0123456)." in text
    assert "| Random graph | – | – |" in text
    assert text.count("(2 of 3 recorded)") == 5 * 3  # five metrics of three rows, the starred one included


def test_figures_name_what_is_recorded(store: Store) -> None:
    plan = small_plan("only")
    metrics = measured(plan, Path("nothing"), store)
    experiment = plan.experiments["mine"]
    figure = boxplots(experiment, metrics, "edges_per_node", 5, styles(plan))
    assert "Recorded: all (commit 0123456)." in figure.get_suptitle()
    nothing = boxplots(experiment, metrics.iloc[:0], "edges_per_node", 5, styles(plan))
    assert "nothing of this figure is recorded" in nothing.texts[-1].get_text()


def test_a_table_of_nothing_is_a_table_of_dashes(store: Store) -> None:
    plan = small_plan("only", seed=9)
    (table,) = build_tables(plan.experiments["mine"], measured(plan, Path("nothing"), store))
    assert "| Empty graph | – | – |" in to_markdown(table)
    assert "SHD" in to_markdown(table)
