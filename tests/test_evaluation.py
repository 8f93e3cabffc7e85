"""From records to rows of metrics and costs."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.dataset import Dataset, Fit, save_problem
from benchmark.evaluation import COST_COLUMNS, METRIC_COLUMNS, describe, evaluate, read_table
from benchmark.metrics import adjustment_distances, edge_counts, f1, shd, shd_cpdag, sid
from benchmark.plan import Condition, Experiment, Targets, data_path, fit_path
from benchmark.records import Record, failed, succeeded, write_records
from benchmark.selection import Selection
from tests.samples import SACHS, condition, experiment, row

PLACE = condition(nodes=3, edges_per_node=1, datasets=2, n=40)
TRUTH = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=np.int8)
GUESS = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]], dtype=np.int8)
NAMES = ("x", "y", "z")
TARGETS = np.array([[0, 0, 0], [1, 0, 0]])
TRUTH_METRICS = {"edges", "shd", "sid", "f1", "tp", "fn", "fp", "rev", "shd_cpdag", "heldout_nll"}
TRUTH_METRICS |= {"parent_aid", "ancestor_aid", "oset_aid"}


def dataset(graph: Any = TRUTH, n: int = 40) -> Dataset:
    X = np.random.default_rng(0).normal(size=(n, 3))
    return Dataset(X, np.arange(n) % 2, TARGETS, graph, NAMES)


def found(graph: Any = GUESS, score: float | None = 1.5, info: dict[str, Any] | None = None, **others: Any) -> Record:
    fit = Fit(np.asarray(graph, dtype=np.int8), heldout_nll=score, info=info or {}, **others)
    return succeeded(fit, {"x": 1}, NAMES, 0.25, 12.0)


def make(
    folder: Path,
    records: dict[str, list[Record]],
    selection: Selection = "heldout",
    place: Condition = PLACE,
    graph: Any = TRUTH,
    targets: Targets = "known",
) -> Experiment:
    """Write data sets and records of every row; return the experiment that they belong to."""
    shown = experiment([place], [row(name, f"Label of {name}", selection) for name in records], targets=targets)
    for index in place.indices:
        dataset(graph).save(folder / data_path(place.name, index))
        for name, of_row in records.items():
            write_records(folder / fit_path(targets, place.name, index, name), of_row, {})
    return shown


def values(metrics: pd.DataFrame, index: str = "00", choice: str = "selected") -> dict[str, float]:
    part = metrics[(metrics["dataset"] == index) & (metrics["choice"] == choice)]
    assert part["metric"].is_unique
    return dict(zip(part["metric"], part["value"], strict=True))


def test_the_metrics_are_those_of_the_library(tmp_path: Path) -> None:
    metrics, costs = evaluate(make(tmp_path, {"a": [found()]}), tmp_path)
    assert list(metrics) == METRIC_COLUMNS
    assert list(costs) == COST_COLUMNS
    counts = edge_counts(TRUTH, GUESS)
    assert values(metrics) == {
        "edges": 2,
        **dict(zip(("parent_aid", "ancestor_aid", "oset_aid"), adjustment_distances(TRUTH, GUESS), strict=True)),
        "shd": shd(TRUTH, GUESS),
        "sid": sid(TRUTH, GUESS),
        "f1": f1(TRUTH, GUESS),
        "tp": counts.tp,
        "fn": counts.fn,
        "fp": counts.fp,
        "rev": counts.rev,
        "shd_cpdag": shd_cpdag(TRUTH, GUESS),
        "heldout_nll": 1.5,
    }
    first = metrics.iloc[0]
    assert (first["condition"], first["setting"], first["mechanism"]) == (PLACE.name, "perfect", "linear")
    assert (first["nodes"], first["edges_per_node"], first["n"], first["settings"]) == (3, 1, 40, 1)
    assert (first["row"], first["method"], first["engine"]) == ("a", "Label of a", "python")
    assert (first["hyperparameters"], first["status"], first["convention"]) == ("x=1", "ok", "released")
    assert set(costs["seconds"]) == {0.25}
    assert set(costs["path"]) == {fit_path("known", PLACE.name, index, "a") for index in ("00", "01")}


def test_a_row_that_is_told_the_targets_is_compared_with_those_it_is_hidden_from(tmp_path: Path) -> None:
    shown = make(tmp_path, {"a": [found()], "told": [found()]}, targets="unknown")
    told = replace(shown, rows=(shown.rows[0], replace(shown.rows[1], targets="known")))
    for index in PLACE.indices:
        (tmp_path / fit_path("known", PLACE.name, index, "told")).parent.mkdir(parents=True)
        (tmp_path / fit_path("unknown", PLACE.name, index, "told")).rename(
            tmp_path / fit_path("known", PLACE.name, index, "told")
        )
    metrics, costs = evaluate(told, tmp_path)
    assert set(metrics["setting"]) == {"unknown"}
    assert {path.split("/")[1] for path in costs.loc[costs["row"] == "told", "path"]} == {"known"}


def test_a_failed_fit_has_every_row_and_no_value(tmp_path: Path) -> None:
    records: list[Record] = [failed("memory", "it needed more", {"x": 1}, 3.0, 900.0)]
    metrics, costs = evaluate(make(tmp_path, {"a": records, "b": [found()]}), tmp_path)
    part = metrics[metrics["row"] == "a"]
    assert set(part["metric"]) == TRUTH_METRICS
    assert len(part) == 2 * len(TRUTH_METRICS)
    assert part["value"].isna().all()
    assert set(part["status"]) == {"memory"}
    assert set(costs.loc[costs["row"] == "a", "reason"]) == {"it needed more"}
    assert metrics.loc[metrics["row"] == "b", "value"].notna().all()


def test_what_a_failed_fit_left_behind_does_not_count(tmp_path: Path) -> None:
    # An external program may write the graph and the score of a fit that it stopped.
    stopped: Any = found(TRUTH, score=-9.0) | {"status": "timeout"}
    metrics, _ = evaluate(make(tmp_path, {"a": [stopped, found(score=1.0)]}), tmp_path)
    assert values(metrics)["heldout_nll"] == 1.0
    assert values(metrics, choice="best_shd")["shd"] == shd(TRUTH, GUESS)
    metrics, _ = evaluate(make(tmp_path, {"a": [stopped]}), tmp_path)
    assert metrics["value"].isna().all()


def test_the_class_that_a_method_found_is_compared_as_a_class(tmp_path: Path) -> None:
    chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    open_chain = chain | chain.T
    # In the record, the class that the method names counts, not the one its DAG belongs to.
    record = found(chain)
    record["cpdag"] = [["x", "y"], ["y", "x"], ["y", "z"]]
    metrics, _ = evaluate(make(tmp_path, {"a": [record]}, graph=chain), tmp_path)
    assert values(metrics)["shd"] == 0
    assert values(metrics)["shd_cpdag"] == 1
    class_found = found(chain, kind="cpdag", info={"cpdag": open_chain})
    metrics, _ = evaluate(make(tmp_path, {"a": [class_found]}, graph=chain), tmp_path)
    assert values(metrics)["shd_cpdag"] == 0


def test_learned_targets_are_measured(tmp_path: Path) -> None:
    learned = np.array([[0, 0, 0], [0.9, 0.8, 0.1]])
    metrics, _ = evaluate(make(tmp_path, {"a": [found(targets=learned)]}), tmp_path)
    assert values(metrics)["target_precision"] == 0.5
    assert values(metrics)["target_recall"] == 1.0
    metrics, _ = evaluate(make(tmp_path, {"a": [found()]}), tmp_path)
    assert set(values(metrics)) == TRUTH_METRICS


def test_a_failed_fit_with_hidden_targets_counts_as_one_without_them(tmp_path: Path) -> None:
    record = failed("error", "no", {"x": 1}, 0.1, 1.0)
    metrics, _ = evaluate(make(tmp_path, {"a": [record]}), tmp_path)
    assert set(metrics["metric"]) == TRUTH_METRICS
    metrics, _ = evaluate(make(tmp_path, {"a": [record]}, targets="unknown"), tmp_path)
    assert set(metrics["metric"]) == TRUTH_METRICS | {"target_precision", "target_recall"}
    assert metrics["value"].isna().all()


def test_without_a_truth_only_edges_and_the_score_are_left(tmp_path: Path) -> None:
    records = [found(score=1.0), found(score=2.0)]
    metrics, _ = evaluate(make(tmp_path, {"a": records}, graph=None), tmp_path)
    assert values(metrics) == {"edges": 2, "heldout_nll": 1.0}
    assert set(metrics["choice"]) == {"selected"}


def test_data_that_are_not_simulated(tmp_path: Path) -> None:
    metrics, _ = evaluate(make(tmp_path, {"a": [found()]}, place=SACHS), tmp_path)
    assert set(metrics["mechanism"]) == {"sachs"}
    assert set(metrics["convention"]) == {"as given"}
    assert metrics["edges_per_node"].isna().all()


def test_the_order_of_rows_is_that_of_the_plan(tmp_path: Path) -> None:
    shown = make(tmp_path, {"b": [found()], "a": [found()]})
    first, first_costs = evaluate(shown, tmp_path)
    assert list(dict.fromkeys(first["row"])) == ["b", "a"]
    assert list(first["dataset"]) == sorted(first["dataset"])
    for age, path in enumerate(sorted(tmp_path.rglob("*.*"), reverse=True)):
        os.utime(path, (age, age))
    again, again_costs = evaluate(shown, tmp_path)
    pd.testing.assert_frame_equal(first, again)
    pd.testing.assert_frame_equal(first_costs, again_costs)


def test_choices_and_engines_are_named(tmp_path: Path) -> None:
    records = [found(score=None, info={"engine": "R"}), failed("error", "no", {"x": 2}, None, None)]
    metrics, costs = evaluate(make(tmp_path, {"a": records}, selection={"x": 1}), tmp_path)
    assert list(dict.fromkeys(metrics["choice"])) == ["selected", "best_shd", "grid"]
    assert set(metrics.loc[metrics["choice"] == "selected", "engine"]) == {"R"}
    assert list(costs["engine"]) == ["R", "python"] * 2
    assert list(costs["status"]) == ["ok", "error"] * 2


def assert_failed(metrics: pd.DataFrame, costs: pd.DataFrame, reason: str) -> None:
    """All metrics are there, none with a value, and the costs say why."""
    assert set(metrics["status"]) == {"error"}
    assert {"edges", "shd", "sid", "heldout_nll"} <= set(metrics["metric"])
    assert metrics["value"].isna().all()
    assert costs["reason"].str.contains(reason, regex=False).any()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"edges": [["x", "q"]]}, "field 'edges': 'x' -> 'q' names a variable"),
        ({"cpdag": [["x", "q"]]}, "field 'edges': 'x' -> 'q' names a variable"),
        ({"edges": [["x", "y"], ["y", "x"]]}, "not a DAG"),
        ({"edges": [["x"]]}, "pairs"),
        ({"edges": "x -> y"}, "pairs"),
        ({"edges": [7]}, "pairs"),
        ({"edges": [[["x"], "y"]]}, "TypeError"),
        ({"targets": [[0, 0]]}, "field 'targets': shape (1, 2)"),
        ({"targets": [[float("nan")] * 3] * 2}, "not all between 0 and 1"),
        ({"targets": "all"}, "ValueError"),
        ({"heldout_nll": "low"}, "field 'heldout_nll': 'low'"),
        ({"heldout_nll": True}, "field 'heldout_nll': True"),
        ({"hyperparameters": 3}, "field 'hyperparameters'"),
        ({"status": "fine"}, "field 'status': 'fine'"),
        ({"status": ["ok"]}, "status"),
        ({"info": 3}, "field 'info'"),
    ],
)
def test_a_record_that_cannot_be_used_is_a_failure_and_no_other_row_is_lost(
    tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    shown = make(tmp_path, {"a": [found()], "b": [found()]})
    alone = evaluate(shown, tmp_path)[0]
    for index in PLACE.indices:
        path = tmp_path / fit_path("known", PLACE.name, index, "a")
        path.write_text(json.dumps({"records": [found() | change]}), encoding="utf-8")
    metrics, costs = evaluate(shown, tmp_path)
    assert_failed(metrics[metrics["row"] == "a"], costs, reason)
    other = metrics["row"] == "b"
    pd.testing.assert_frame_equal(metrics[other], alone[alone["row"] == "b"], check_index_type=False)


@pytest.mark.parametrize("content", ["", "[", '{"records": []}', '{"records": [{"status": "ok"}]}', "[" * 100_000])
def test_a_file_of_records_that_cannot_be_read_is_a_failure(tmp_path: Path, content: str) -> None:
    shown = make(tmp_path, {"a": [found()]}, selection={"x": 1})
    for index in PLACE.indices:
        (tmp_path / fit_path("known", PLACE.name, index, "a")).write_text(content, encoding="utf-8")
    assert_failed(*evaluate(shown, tmp_path), "a.json: ")


def test_a_data_set_that_cannot_be_read_is_a_failure(tmp_path: Path) -> None:
    shown = make(tmp_path, {"a": [found()]})
    first, second = (tmp_path / data_path(PLACE.name, index) for index in PLACE.indices)
    save_problem(first, "own.npz: field 'X': it is complex")
    second.write_bytes(second.read_bytes()[:300])
    metrics, costs = evaluate(shown, tmp_path)
    assert_failed(metrics, costs, "own.npz: field 'X': it is complex")
    assert costs["reason"].iloc[1].startswith(str(second))


def test_unscored_fits_of_a_method_selected_by_score_are_a_failure(tmp_path: Path) -> None:
    shown = make(tmp_path, {"a": [found(score=None), found(score=None)]})
    metrics, costs = evaluate(shown, tmp_path)
    chosen = metrics[metrics["choice"] == "selected"]
    assert_failed(chosen, costs, "the method is selected by held-out score, but none of its fits has a finite one")


def test_a_bare_record_of_an_external_program_is_enough(tmp_path: Path) -> None:
    shown = make(tmp_path, {"a": [found()]})
    record: dict[str, Any] = {"hyperparameters": {}, "status": "ok", "edges": [["x", "y"]], "heldout_nll": None}
    for index in PLACE.indices:
        path = tmp_path / fit_path("known", PLACE.name, index, "a")
        path.write_text(json.dumps({"records": [record]}), encoding="utf-8")
    metrics, costs = evaluate(shown, tmp_path)
    assert values(metrics)["edges"] == 1
    assert costs["seconds"].isna().all()


def test_tables_keep_their_values_through_a_file(tmp_path: Path) -> None:
    records: list[Record] = [found(), failed("error", "NA", {"x": 2}, None, None)]
    for made, name in zip(evaluate(make(tmp_path, {"a": records}), tmp_path), ("metrics", "costs"), strict=True):
        made.to_csv(tmp_path / f"{name}.csv", index=False)
        read = read_table(tmp_path / f"{name}.csv")
        assert list(read) == list(made)
        assert list(read["dataset"]) == list(made["dataset"])
        assert list(read["hyperparameters"]) == list(made["hyperparameters"])
        for column in ("value", "seconds", "edges_per_node"):
            if column in made:
                np.testing.assert_array_equal(read[column].to_numpy(float), made[column].to_numpy(float))
    assert list(read_table(tmp_path / "costs.csv")["reason"]) == ["", "NA"] * 2


def test_hyperparameters_as_text() -> None:
    assert describe({"alpha": 1e-3, "test": "kci", "layers": 2}) == "alpha=0.001, test=kci, layers=2"
    assert describe({"alpha": 1e-9}) == "alpha=1e-09"
    assert describe({}) == ""
