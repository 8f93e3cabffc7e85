"""Turn the records of an experiment into metrics and costs: long tables, one value a row."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from benchmark.dataset import Dataset, DatasetError
from benchmark.graphs import find_cycle
from benchmark.metrics import adjustment_distances, edge_counts, f1, shd, shd_cpdag, sid, target_counts
from benchmark.plan import Condition, Experiment, Row, data_path, fit_path
from benchmark.recorded.recall import Recall
from benchmark.recorded.store import RecordedFit, combination_text
from benchmark.records import Record, RecordError, checked, failed, read_records, to_graph
from benchmark.running.plain import clean
from benchmark.selection import Choice, choose

LONGEST_ENGINE = 40
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
    "parent_aid",
    "ancestor_aid",
    "oset_aid",
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

    With ``recall``, cells come from the records as it says; without, all of them from the results. A data set or a file
    of records that cannot be used makes rows without values, whose costs give the reason.
    """
    metrics: list[dict[str, Any]] = []
    costs: list[dict[str, Any]] = []
    for condition in experiment.conditions:
        for index in condition.indices:
            cells = [(experiment.targets_of(row), condition.name, index, row.name) for row in experiment.rows]
            is_needed = recall is None or any(recall.to_fit(*cell) for cell in cells)
            dataset = _dataset(results / data_path(condition.name, index)) if is_needed else None
            for row in experiment.rows:
                fits, size = _fits(experiment, condition, index, row, dataset, results, recall)
                cell = _cell(experiment, condition, size) | {"dataset": index, "row": row.name, "method": row.label}
                chosen = _choose(fits, row)
                metrics += _metric_rows(cell, chosen)
                unseen = [fit for _, fit in chosen if not any(fit is known for known in fits)]
                costs += [_cost_row(cell, fit) for fit in [*fits, *unseen]]
    return pd.DataFrame(metrics, columns=METRIC_COLUMNS), pd.DataFrame(costs, columns=COST_COLUMNS)


def _fits(
    experiment: Experiment,
    condition: Condition,
    index: str,
    row: Row,
    dataset: Dataset | DatasetError | None,
    results: Path,
    recall: Recall | None,
) -> tuple[list[Measured], Size]:
    """Return the fits of a cell: those of this run, recorded ones, or both in the order of the grid."""
    cell = (experiment.targets_of(row), condition.name, index, row.name)
    fitted: list[Measured] = []
    size = _size(condition, dataset)
    if dataset is not None and (recall is None or recall.to_fit(*cell)):
        hidden = experiment.setting(condition).endswith("unknown")
        fitted = _fitted(fit_path(*cell), results, dataset, hidden=hidden)
    entry = None if recall is None else recall.recalled(*cell).entry
    if recall is None or entry is None:
        return fitted, size
    stored = recall.read(entry)
    size = Size(stored["nodes"], stored["n"], stored["settings"])
    own = dataset if isinstance(dataset, Dataset) and row.method.data != "twin" else None
    note = recall.note(entry, own)
    every = [Measured(fit, _recorded_metrics(fit), note, f"records/{entry.shard}") for fit in stored["fits"]] + fitted
    known = {combination_text(fit.record["hyperparameters"]): fit for fit in every}
    grid = [combination_text(combination) for combination in recall.plan.grid(row.name, *cell[:3])]
    # A file that cannot be read has one failure for all that it should hold.
    others = [fit for fit in fitted if combination_text(fit.record["hyperparameters"]) not in grid]
    return [known[combination] for combination in grid if combination in known] + others, size


def _dataset(path: Path) -> Dataset | DatasetError:
    """Return a data set, or why there is none."""
    try:
        return Dataset.load(path)
    except DatasetError as error:
        return error


def _size(condition: Condition, dataset: Dataset | DatasetError | None) -> Size:
    """Return the size of a data set; of one that cannot be read, what the condition says."""
    if isinstance(dataset, Dataset):
        return Size(dataset.d, dataset.n, dataset.settings - 1)
    if dataset is None:
        return Size(0, 0, 0)
    simulation = condition.simulation
    nodes = int(simulation.get("nodes", 0))
    return Size(nodes, int(simulation.get("n", 0)), int(simulation.get("settings", nodes)))


def _fitted(path: str, results: Path, dataset: Dataset | DatasetError, *, hidden: bool) -> list[Measured]:
    """Return the fits of a file; those that cannot be used as failures with the reason."""
    try:
        records, _ = read_records(results / path)
    except (RecordError, OSError) as error:
        records = [failed("error", clean(str(error)), {}, None, None)]
    if isinstance(dataset, DatasetError):
        found = [failed("error", clean(str(dataset)), record["hyperparameters"], None, None) for record in records]
        return [Measured(record, _no_values(hidden=hidden), "", path) for record in found]
    found = [checked(record, dataset.names, dataset.settings) for record in records]
    return [Measured(record, measure(record, dataset, hidden=hidden), "", path) for record in found]


def all_failed(experiment: Experiment, reason: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the metrics and the costs of an experiment that could not be evaluated: its rows, without a value."""
    metrics: list[dict[str, Any]] = []
    costs: list[dict[str, Any]] = []
    for condition in experiment.conditions:
        hidden = experiment.setting(condition).endswith("unknown")
        size = _size(condition, DatasetError(reason))
        for index, row in itertools.product(condition.indices, experiment.rows):
            path = fit_path(experiment.targets_of(row), condition.name, index, row.name)
            failure = Measured(failed("error", reason, {}, None, None), _no_values(hidden=hidden), "", path)
            cell = _cell(experiment, condition, size) | {"dataset": index, "row": row.name, "method": row.label}
            metrics += _metric_rows(cell, [("selected", failure)])
            costs.append(_cost_row(cell, failure))
    return pd.DataFrame(metrics, columns=METRIC_COLUMNS), pd.DataFrame(costs, columns=COST_COLUMNS)


def _no_values(*, hidden: bool) -> dict[str, float | None]:
    """All metrics of a data set that cannot be read, without a value."""
    return {name: None for name in METRICS if hidden or not name.startswith("target_")}


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


def _choose(fits: list[Measured], row: Row) -> list[tuple[Choice, Measured]]:
    """Return the fits to report; one that says why none can be chosen has no values."""
    if not fits:
        return []  # neither recorded nor to be fitted
    of = {id(fit.record): fit for fit in fits}
    distances = [fit.metrics["shd"] for fit in fits] if "shd" in fits[0].metrics else None
    chosen = choose([fit.record for fit in fits], row.selection, distances)
    without = fits[0]._replace(metrics=dict.fromkeys(fits[0].metrics))
    return [(choice, of.get(id(record)) or without._replace(record=record)) for choice, record in chosen]


def _metric_rows(cell: dict[str, Any], chosen: list[tuple[Choice, Measured]]) -> list[dict[str, Any]]:
    rows = []
    for choice, fit in chosen:
        shown = cell | {
            "engine": _engine(fit.record),
            "choice": choice,
            "hyperparameters": describe(fit.record["hyperparameters"]),
            "status": fit.record["status"],
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
        # Of the class, where a method finds one; PC's may contradict itself, and then it identifies nothing.
        consistent = compared is not None and find_cycle(compared & ~compared.T & 1) is None
        wrong = adjustment_distances(truth, compared) if compared is not None and consistent else (None,) * 3
        values |= dict(zip(("parent_aid", "ancestor_aid", "oset_aid"), wrong, strict=True))
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
    """Return the engine's name, short enough for a table."""
    return " ".join(clean(str((record.get("info") or {}).get("engine", "python")), LONGEST_ENGINE).split())
