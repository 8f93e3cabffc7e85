"""The learned graphs of a run as files, where people look for them.

Below ``results/<preset>/``::

    graphs/<experiment>.csv                          the selected graph of every data set and row, one edge a line
    graphs/<experiment>/<condition>/<index>/         of one data set:
        <row>.csv                                        the edges: from, to, probability, undirected, verdict
        <row>.graphml                                    the same for Cytoscape, Gephi, networkx, igraph
        <row>.png                                        the drawing
        <row>.targets.csv                                learned targets: a line per condition, a column per variable
        consensus.csv, .graphml, .png                    how many methods have each edge; controls do not count
        summary.csv                                      a line per row: status, edges, held-out score, verdicts

A row whose selected fit failed has a line in ``summary.csv`` and no other file. A run makes the long table of every
experiment, and the folders of the data sets that are shown one by one: files of the user's own and the Sachs data. A
folder of any other data set is made on request: ``snakemake ... -- graphs/perfect/nn-d10-e4-perfect/00``.
``python -m benchmark.fit`` writes such a folder, too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd

from benchmark.dataset import Dataset, DatasetError, Fit
from benchmark.evaluation import describe
from benchmark.files import written_whole
from benchmark.learned_graphs import consensus, edge_table, fit_of, missed_edges
from benchmark.plan import Condition, Experiment, Row, data_path, fit_path
from benchmark.recorded.recall import Recall
from benchmark.recorded.store import combination_text
from benchmark.records import Record, RecordError, checked, read_records
from benchmark.selection import select

ALL_COLUMNS = [
    "experiment",
    "condition",
    "dataset",
    "row",
    "method",
    "from",
    "to",
    "probability",
    "undirected",
    "verdict",
]
SUMMARY_COLUMNS = [
    *("row", "method", "status", "reason", "hyperparameters", "heldout_nll", "edges"),
    *("correct", "extra", "reversed", "missed"),
]


@dataclass(frozen=True)
class Selected:
    """The selected record of a row of the tables, for one data set."""

    row: str
    label: str
    is_control: bool
    record: Record

    def fit(self, names: tuple[str, ...]) -> Fit | None:
        """Return the fit, or None where it failed."""
        return fit_of(self.record, names) if self.record["status"] == "ok" else None


def folder_path(experiment: str, condition: str, index: str) -> str:
    """Return where the graphs of a data set lie within the results."""
    return f"graphs/{experiment}/{condition}/{index}"


def shown_one_by_one(experiment: Experiment) -> list[tuple[Condition, str]]:
    """Return the data sets whose graphs a run draws by itself."""
    own = [condition for condition in experiment.conditions if condition.source in ("file", "sachs")]
    return [(condition, index) for condition in own for index in condition.indices]


def selected(
    experiment: Experiment, condition: str, index: str, results: Path, recall: Recall | None = None
) -> list[Selected]:
    """Return the selected record of each row of an experiment; with ``recall``, recorded ones where it says so."""
    found = []
    for row in experiment.rows:
        records, _ = _records(experiment, condition, index, row, results, recall)
        if records:
            found.append(Selected(row.name, row.label, row.method.is_control, select(records, row.selection)))
    return found


def edges_of(experiment: Experiment, results: Path, recall: Recall | None = None) -> pd.DataFrame:
    """Return the edges of all selected graphs of an experiment, one a line.

    A data set that was not needed, because all its fits are recorded, gives no verdicts.
    """
    parts = [pd.DataFrame(columns=ALL_COLUMNS)]
    for condition in experiment.conditions:
        for index in condition.indices:
            cells = [(experiment.targets_of(row), condition.name, index, row.name) for row in experiment.rows]
            is_needed = recall is None or any(recall.to_fit(*cell) for cell in cells)
            try:
                truth = Dataset.load(results / data_path(condition.name, index)).graph if is_needed else None
            except DatasetError:
                continue  # its metrics say what is wrong with it
            for row in experiment.rows:
                try:
                    records, names = _records(experiment, condition.name, index, row, results, recall)
                except (RecordError, DatasetError, OSError):
                    continue
                chosen = select(records, row.selection) if records else None
                if chosen is not None and chosen["status"] == "ok" and chosen["edges"]:
                    cell = {"experiment": experiment.name, "condition": condition.name, "dataset": index}
                    edges = edge_table(fit_of(chosen, names), truth)
                    parts.append(edges.assign(**cell, row=row.name, method=row.label))
    return pd.concat([part[ALL_COLUMNS].astype(object) for part in parts], ignore_index=True)


def _records(
    experiment: Experiment, condition: str, index: str, row: Row, results: Path, recall: Recall | None
) -> tuple[list[Record], tuple[str, ...]]:
    """Return the records of a cell, those of this run, recorded ones or both, and the names of the variables."""
    cell = (experiment.targets_of(row), condition, index, row.name)
    names: tuple[str, ...] = ()
    fitted: list[Record] = []
    if recall is None or recall.to_fit(*cell):
        fitted, _ = read_records(results / fit_path(*cell))
        dataset = Dataset.load(results / data_path(condition, index))
        names = dataset.names
        fitted = [checked(record, names, dataset.settings) for record in fitted]
    entry = None if recall is None else recall.recalled(*cell).entry
    if recall is None or entry is None:
        return fitted, names
    stored = recall.read(entry)
    every: list[Record] = [*stored["fits"], *fitted]
    known = {combination_text(record["hyperparameters"]): record for record in every}
    grid = recall.plan.grid(row.name, *cell[:3])
    return [known[combination_text(combination)] for combination in grid], tuple(stored["names"])


def write_folder(folder: Path, dataset: Dataset, rows: Sequence[Selected], title: str) -> None:
    """Write the graphs of one data set, and their consensus where there are several.

    What other rows left in the folder stays; an old consensus does not.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("consensus.*"):
        old.unlink()
    summary: list[dict[str, Any]] = []
    compared: dict[str, Fit] = {}
    for one in rows:
        fit = one.fit(dataset.names)
        summary.append(_summary(one, fit, dataset))
        if fit is not None:
            _write_fit(folder, one, fit, dataset, title)
            if not one.is_control:
                compared[one.label if one.label not in compared else f"{one.label} ({one.row})"] = fit
    counts = dict.fromkeys(("edges", "correct", "extra", "reversed", "missed"), "Int64")
    _write_csv(pd.DataFrame(summary, columns=SUMMARY_COLUMNS).astype(counts), folder / "summary.csv")
    if len(compared) > 1:
        _write_consensus(folder, compared, dataset, title)


def _write_fit(folder: Path, one: Selected, fit: Fit, dataset: Dataset, title: str) -> None:
    from benchmark import drawing  # it is slow to import, and the workflow needs but the names of the files

    edges = edge_table(fit, dataset.graph)
    _write_csv(edges, folder / f"{one.row}.csv")
    graph = fit.to_networkx()
    if dataset.graph is not None:
        networkx.set_edge_attributes(
            graph, {(edge["from"], edge["to"]): edge["verdict"] for edge in edges.to_dict("records")}, "verdict"
        )
    _write_graphml(graph, folder / f"{one.row}.graphml")
    heading = f"{one.label} on {title}: {_count(len(edges), 'edge')}"
    chosen = describe(one.record["hyperparameters"])
    drawing.save(
        drawing.draw_graph(fit, truth=dataset.graph, title=f"{heading} ({chosen})" if chosen else heading),
        folder / f"{one.row}.png",
    )
    if fit.targets is not None:
        table = pd.DataFrame(fit.targets, columns=list(dataset.names))
        table.insert(0, "condition", list(dataset.conditions), allow_duplicates=True)
        _write_csv(table.iloc[1:], folder / f"{one.row}.targets.csv")


def _write_consensus(folder: Path, fits: dict[str, Fit], dataset: Dataset, title: str) -> None:
    from benchmark import drawing

    table = consensus(fits, dataset.graph)
    _write_csv(table, folder / "consensus.csv")
    graph = networkx.DiGraph()
    graph.add_nodes_from(dataset.names)
    for edge in table.to_dict("records"):
        graph.add_edge(edge["from"], edge["to"], **{key: edge[key] for key in table.columns[2:]})
    _write_graphml(graph, folder / "consensus.graphml")
    least = -(-len(fits) // 2)
    heading = f"{title}: edges of at least {least} of {len(fits)} methods"
    drawing.save(drawing.draw_consensus(dataset.names, table, title=heading), folder / "consensus.png")


def _summary(one: Selected, fit: Fit | None, dataset: Dataset) -> dict[str, Any]:
    record = one.record
    line: dict[str, Any] = {
        "row": one.row,
        "method": one.label,
        "status": record["status"],
        "reason": record.get("reason", ""),
        "hyperparameters": describe(record["hyperparameters"]),
        "heldout_nll": record["heldout_nll"],
    }
    if fit is not None:
        line["edges"] = int(fit.graph.sum())
        if dataset.graph is not None:
            verdicts = edge_table(fit, dataset.graph)["verdict"]
            line |= {name: int((verdicts == name).sum()) for name in ("correct", "extra", "reversed")}
            line["missed"] = len(missed_edges(fit.graph, dataset.graph))
    return line


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _write_csv(table: pd.DataFrame, path: Path) -> None:
    with written_whole(path) as file:
        table.to_csv(file, index=False)


def _write_graphml(graph: "networkx.DiGraph", path: Path) -> None:
    plain = networkx.DiGraph()
    plain.add_nodes_from(graph.nodes)
    for cause, effect, entries in graph.edges(data=True):
        # Numpy's numbers are no types of GraphML.
        plain.add_edge(
            cause, effect, **{key: v.item() if isinstance(v, np.generic) else v for key, v in entries.items()}
        )
    with written_whole(path) as file:
        networkx.write_graphml(plain, file)
