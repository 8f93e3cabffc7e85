"""The learned graphs of data sets that are shown one by one: pictures, and links to the files beside the report."""

from dataclasses import dataclass
from pathlib import Path

from benchmark.graph_files import folder_path, shown_one_by_one
from benchmark.plan import Experiment
from benchmark.report.images import Picture, picture

KINDS = {"csv": "edges (CSV)", "graphml": "GraphML", "png": "PNG", "targets.csv": "learned targets (CSV)"}


@dataclass(frozen=True)
class ShownGraph:
    """A drawing with its files, as pairs of a text and a path below the results."""

    label: str
    image: Picture
    files: list[tuple[str, str]]


@dataclass(frozen=True)
class ShownDataSet:
    """The graphs of one data set; the consensus of the methods where there is one."""

    title: str
    consensus: ShownGraph | None
    graphs: list[ShownGraph]


def shown_graphs(experiment: Experiment, results: Path) -> list[ShownDataSet]:
    """Return the graphs that a run has drawn of an experiment."""
    shown = []
    for condition, index in shown_one_by_one(experiment):
        folder = folder_path(experiment.name, condition.name, index)
        rows = [_graph(folder, row.name, row.label, results) for row in experiment.rows]
        graphs = [graph for graph in rows if graph is not None]
        if graphs:
            title = condition.name.removeprefix("file-")
            shown.append(ShownDataSet(title, _graph(folder, "consensus", "Consensus of the methods", results), graphs))
    return shown


def _graph(folder: str, name: str, label: str, results: Path) -> ShownGraph | None:
    """Return a drawing, or None where the fit failed."""
    drawing = results / folder / f"{name}.png"
    if not drawing.exists():
        return None
    paths = {text: f"{folder}/{name}.{kind}" for kind, text in KINDS.items()}
    return ShownGraph(
        label, picture(drawing), [(text, path) for text, path in paths.items() if (results / path).exists()]
    )
