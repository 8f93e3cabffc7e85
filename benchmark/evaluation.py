"""Turn the records of an experiment into metrics and costs: long tables, one value a row."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from benchmark.dataset import Dataset
from benchmark.metrics import edge_counts, f1, shd, shd_cpdag, sid, target_counts
from benchmark.plan import Condition, Experiment, Row, data_path, fit_path
from benchmark.recall import Recall
from benchmark.records import Record, RecordError, read_records, to_graph
from benchmark.selection import choose
from benchmark.store import RecordedFit, combination_text

CELL = ["experiment", "condition", "setting", "mechanism", "nodes", "edges_per_node", "n", "settings", "convention"]
# In the order of a record's rows.
METRICS = (
    "edges",
    "shd",
    "sid",
    "f1",
    "tp",
    "fn",
    "fp",
    "rev",
    "shd_cpdag",
    "heldout_nll",
    "target_precision",
    "target_recall",
)
METRIC_COLUMNS = [
    *CELL,
    "dataset",
    "row",
    "method",
    "engine",
    "choice",
    "hyperparameters",
    "status",
    "recorded",
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
    "recorded",
    "reason",
    "path",
    "seconds",
    "cpu_seconds",
    "peak_memory_mb",
]


class Size(NamedTuple):
    """How large a data set is; ``settings`` are the interventional ones."""

    nodes: int
    n: int
    settings: int


class Measured(NamedTuple):
    """A fit with its distances; ``recorded`` is the commit where it comes from the records, or nothing."""

    record: Record
    metrics: dict[str, float | None]
    recorded: str
    path: str


def evaluate(experiment: Experiment, results: Path, recall: Recall | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the metrics and the costs of an experiment, in an order that does not depend on how it ran.

    With ``recall``, cells come from the records as it says; without, all of them from the results.
    """
    metrics: list[dict[str, Any]] = []
    costs: list[dict[str, Any]] = []
    for condition in experiment.conditions:
        for index in condition.indices:
            cells = [(experiment.targets_of(row), condition.name, index, row.name) for row in experiment.rows]
            is_needed = recall is None or any(recall.to_fit(*cell) for cell in cells)
            dataset = Dataset.load(results / data_path(condition.name, index)) if is_needed else None
            for row in experiment.rows:
                fits, size = _fits(experiment, condition, index, row, dataset, results, recall)
                cell = _cell(experiment, condition, size) | {"dataset": index, "row": row.name, "method": row.label}
                metrics += _metric_rows(cell, fits, row, results)
                costs += [_cost_row(cell, fit) for fit in fits]
    return pd.DataFrame(metrics, columns=METRIC_COLUMNS), pd.DataFrame(costs, columns=COST_COLUMNS)


def _fits(
    experiment: Experiment,
    condition: Condition,
    index: str,
    row: Row,
    dataset: Dataset | None,
    results: Path,
    recall: Recall | None,
) -> tuple[list[Measured], Size]:
    """Return the fits of a cell: those of this run, recorded ones, or both in the order of the grid."""
    cell = (experiment.targets_of(row), condition.name, index, row.name)
    fitted: list[Measured] = []
    size = Size(0, 0, 0)
    if dataset is not None:
        size = Size(dataset.d, dataset.n, dataset.settings - 1)
        if recall is None or recall.to_fit(*cell):
            hidden = experiment.setting(condition).endswith("unknown")
            fitted = _fitted(fit_path(*cell), results, dataset, hidden=hidden)
    entry = None if recall is None else recall.recalled(*cell).entry
    if recall is None or entry is None:
        return fitted, size
    stored = recall.read(entry)
    size = Size(stored["nodes"], stored["n"], stored["settings"])
    note = recall.note(entry, None if row.method.data == "twin" else dataset)
    every = [Measured(fit, _recorded_metrics(fit), note, f"records/{entry.shard}") for fit in stored["fits"]] + fitted
    known = {combination_text(fit.record["hyperparameters"]): fit for fit in every}
    grid = recall.plan.grid(row.name, *cell[:3])
    return [known[combination_text(combination)] for combination in grid], size


def _fitted(path: str, results: Path, dataset: Dataset, *, hidden: bool) -> list[Measured]:
    records, _ = read_records(results / path)
    try:
        return [Measured(record, measure(record, dataset, hidden=hidden), "", path) for record in records]
    except (RecordError, ValueError) as error:
        raise RecordError(f"{results / path}: {error}") from error


def _recorded_metrics(fit: RecordedFit) -> dict[str, float | None]:
    values = fit["metrics"] | {"heldout_nll": fit["heldout_nll"]}
    return {name: values[name] for name in METRICS if name in values}


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a table of metrics or costs; only numbers may be missing, text stays text."""
    numbers = {"value", "seconds", "cpu_seconds", "peak_memory_mb", "edges_per_node"}
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


def _cell(experiment: Experiment, condition: Condition, size: Size) -> dict[str, Any]:
    return {
        "experiment": experiment.name,
        "condition": condition.name,
        "setting": experiment.setting(condition),
        "mechanism": condition.simulation.get("mechanism", condition.name),
        "nodes": size.nodes,
        "edges_per_node": condition.simulation.get("edges_per_node"),
        "n": size.n,
        "settings": size.settings,
        "convention": condition.simulation.get("convention", "as given"),
    }


def _metric_rows(cell: dict[str, Any], fits: list[Measured], row: Row, results: Path) -> list[dict[str, Any]]:
    if not fits:
        return []  # neither recorded nor to be fitted
    of = {id(fit.record): fit for fit in fits}
    knows_truth = "shd" in fits[0].metrics
    distances = [fit.metrics["shd"] for fit in fits] if knows_truth else None
    try:
        chosen = choose([fit.record for fit in fits], row.selection, distances)
    except ValueError as error:
        raise RecordError(f"{results / fits[0].path}: {error}") from error
    rows = []
    for choice, record in chosen:
        fit = of[id(record)]
        shown = cell | {
            "engine": _engine(record),
            "choice": choice,
            "hyperparameters": describe(record["hyperparameters"]),
            "status": record["status"],
            "recorded": fit.recorded,
        }
        rows += [shown | {"metric": metric, "value": value} for metric, value in fit.metrics.items()]
    return rows


def measure(record: Record, dataset: Dataset, *, hidden: bool) -> dict[str, float | None]:
    """Return all metrics of one record; a fit that failed has them all, without a value. ``hidden``: targets were."""
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
        values |= {
            name: None if estimate is None else distance(truth, estimate) for name, distance in distances.items()
        }
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


def _cost_row(cell: dict[str, Any], fit: Measured) -> dict[str, Any]:
    record = fit.record
    return cell | {
        "engine": _engine(record),
        "hyperparameters": describe(record["hyperparameters"]),
        "status": record["status"],
        "recorded": fit.recorded,
        "reason": record.get("reason", ""),
        "path": fit.path,
        "seconds": record.get("seconds"),
        "cpu_seconds": record.get("cpu_seconds"),
        "peak_memory_mb": record.get("peak_memory_mb"),
    }


def _engine(record: Record) -> str:
    return str((record.get("info") or {}).get("engine", "python"))
