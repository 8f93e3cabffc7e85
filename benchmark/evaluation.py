"""Turn the records of an experiment into metrics and costs: long tables, one value a row."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from benchmark.dataset import Dataset
from benchmark.metrics import edge_counts, f1, shd, shd_cpdag, sid, target_counts
from benchmark.plan import Condition, Experiment, Row, data_path, fit_path
from benchmark.records import Record, RecordError, read_records, to_graph
from benchmark.selection import choose

CELL = ["experiment", "condition", "setting", "mechanism", "nodes", "edges_per_node", "n", "settings", "convention"]
METRIC_COLUMNS = [
    *CELL,
    "dataset",
    "row",
    "method",
    "engine",
    "choice",
    "hyperparameters",
    "status",
    "metric",
    "value",
]
COST_COLUMNS = [
    *CELL,
    "dataset",
    "row",
    "method",
    "engine",
    "hyperparameters",
    "status",
    "reason",
    "path",
    "seconds",
    "peak_memory_mb",
]


def evaluate(experiment: Experiment, results: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the metrics and the costs of an experiment, in an order that does not depend on how it ran."""
    metrics: list[dict[str, Any]] = []
    costs: list[dict[str, Any]] = []
    for condition in experiment.conditions:
        for index in condition.indices:
            dataset = Dataset.load(results / data_path(condition.name, index))
            for row in experiment.rows:
                path = fit_path(experiment.targets, condition.name, index, row.name)
                records, _ = read_records(results / path)
                cell = _cell(experiment, condition, dataset) | {"dataset": index, "row": row.name, "method": row.label}
                try:
                    metrics += _metric_rows(cell, records, row, dataset)
                except (RecordError, ValueError) as error:
                    raise RecordError(f"{results / path}: {error}") from error
                costs += [_cost_row(cell, record, path) for record in records]
    return pd.DataFrame(metrics, columns=METRIC_COLUMNS), pd.DataFrame(costs, columns=COST_COLUMNS)


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a table of metrics or costs; only numbers may be missing, text stays text."""
    numbers = {"value", "seconds", "peak_memory_mb", "edges_per_node"}
    table = pd.read_csv(path, keep_default_na=False, na_values={name: [""] for name in numbers}, dtype={"dataset": str})
    return table


def describe(hyperparameters: dict[str, Any]) -> str:
    """Return hyperparameters as text.

    >>> describe({"alpha": 0.001, "test": "gauss"})
    'alpha=0.001, test=gauss'
    """
    return ", ".join(
        f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in hyperparameters.items()
    )


def _cell(experiment: Experiment, condition: Condition, dataset: Dataset) -> dict[str, Any]:
    return {
        "experiment": experiment.name,
        "condition": condition.name,
        "setting": experiment.setting(condition),
        "mechanism": condition.simulation.get("mechanism", condition.name),
        "nodes": dataset.d,
        "edges_per_node": condition.simulation.get("edges_per_node"),
        "n": dataset.n,
        "settings": dataset.settings - 1,
        "convention": condition.simulation.get("convention", "as given"),
    }


def _metric_rows(cell: dict[str, Any], records: list[Record], row: Row, dataset: Dataset) -> Iterator[dict[str, Any]]:
    for choice, record in choose(records, row.selection, dataset.graph, dataset.names):
        shown = cell | {
            "engine": _engine(record),
            "choice": choice,
            "hyperparameters": describe(record["hyperparameters"]),
            "status": record["status"],
        }
        for metric, value in _values(record, dataset, hidden=cell["setting"].endswith("unknown")).items():
            yield shown | {"metric": metric, "value": value}


def _values(record: Record, dataset: Dataset, *, hidden: bool) -> dict[str, float | None]:
    """All metrics of one record; a fit that failed has them all, without a value. ``hidden``: targets were."""
    truth = dataset.graph
    edges, cpdag, score, targets = (
        (record["edges"], record.get("cpdag"), record["heldout_nll"], record.get("targets"))
        if record["status"] == "ok"
        else (None,) * 4
    )
    estimate = None if edges is None else to_graph(edges, dataset.names)
    values: dict[str, float | None] = {"edges": None if estimate is None else int(estimate.sum())}
    if truth is not None:
        distances: dict[str, Callable[..., float]] = {"shd": shd, "sid": sid, "f1": f1}
        values |= {name: None if estimate is None else measure(truth, estimate) for name, measure in distances.items()}
        names = ("tp", "fn", "fp", "rev")
        counts = (None,) * 4 if estimate is None else edge_counts(truth, estimate)
        values |= dict(zip(names, counts, strict=True))
        compared = estimate if cpdag is None else to_graph(cpdag, dataset.names)
        values["shd_cpdag"] = None if compared is None else shd_cpdag(truth, compared)
    values["heldout_nll"] = score
    if targets is not None and dataset.targets is not None:
        found = target_counts(dataset.targets, targets)
        values |= {"target_precision": found.precision, "target_recall": found.recall}
    elif hidden and record["status"] != "ok":
        values |= {"target_precision": None, "target_recall": None}
    return values


def _cost_row(cell: dict[str, Any], record: Record, path: str) -> dict[str, Any]:
    return cell | {
        "engine": _engine(record),
        "hyperparameters": describe(record["hyperparameters"]),
        "status": record["status"],
        "reason": record.get("reason", ""),
        "path": path,
        "seconds": record.get("seconds"),
        "peak_memory_mb": record.get("peak_memory_mb"),
    }


def _engine(record: Record) -> str:
    return str((record.get("info") or {}).get("engine", "python"))
