"""Tables of the report: our number and the published one in the same cell."""

import math
import re
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchmark.paper.published import DATASETS, drawn_as_published
from benchmark.plan import Condition, Experiment
from benchmark.tables import BEST, CONTROLS, SELECTED, Table, cell_text

NOT_RUN = "Published, but not run here"
KEY = ["experiment", "setting", "mechanism", "nodes", "edges_per_node", "row", "metric"]


@dataclass(frozen=True)
class Cell:
    """One number of ours, with the published one and the verdict on the two, where there is one."""

    text: str = ""
    paper: str = ""
    verdict: str = ""


@dataclass(frozen=True)
class Line:
    """One row of a table: a method, the engine that ran it, and a note in small print."""

    label: str
    engine: str
    note: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Part:
    """Rows that belong together; those of second interest are folded."""

    title: str
    lines: tuple[Line, ...]
    folded: bool


class Published:
    """The comparison with the paper, to be asked for the figure that belongs to a cell."""

    def __init__(self, comparison: pd.DataFrame) -> None:
        self._figures: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for figure in comparison.to_dict("records"):
            self._figures.setdefault(tuple(str(figure[name]) for name in KEY), []).append(figure)

    def find(
        self, experiment: Experiment, condition: Condition, row: str, metric: str, section: str, hyperparameters: str
    ) -> dict[str, Any] | None:
        """Return the comparison of one cell, or None where the paper has no such figure."""
        simulation = condition.simulation
        if experiment.paper is None or not drawn_as_published(simulation):
            return None
        place = [str(simulation[name]) for name in ("mechanism", "nodes")] if simulation else ["sachs", "11"]
        edges = f"{simulation['edges_per_node']:g}" if simulation else ""
        key = (experiment.paper, experiment.setting(condition), *place, edges, row, metric)
        alpha = re.search(r"alpha=([^,]+)", hyperparameters)
        for figure in self._figures.get(key, []):
            if figure["alpha"] in ("", "best"):
                wanted = SELECTED if figure["alpha"] == "" else BEST
                if section == wanted:
                    return figure
            elif section != BEST and alpha and math.isclose(float(alpha[1]), float(figure["alpha"])):
                return figure
        return None


def report_parts(table: Table, experiment: Experiment, published: Published) -> list[Part]:
    """Return the rows of a table, part by part, each of our numbers with the published one."""
    conditions = {condition.name: condition for condition in experiment.conditions}
    values = table.values.to_dict("records")
    parts: list[Part] = []
    compared: set[str] = set()
    for section, rows in table.sections.items():
        lines = []
        ours = [value for value in values if value["section"] == section]
        for place, (label, texts) in enumerate(rows):
            if not ours:  # a section of published figures
                if label.removesuffix(" (paper)") not in compared:
                    cells = tuple(Cell(paper=text) for text in texts)
                    lines.append(Line(label.removesuffix(" (paper)"), "", "", cells))
                continue
            cells_of_line = []
            for value, text in zip(ours[place * len(texts) : (place + 1) * len(texts)], texts, strict=True):
                figure = published.find(
                    experiment,
                    conditions[value["condition"]],
                    value["row"],
                    value["metric"],
                    section,
                    value["hyperparameters"],
                )
                if figure is not None:
                    compared.add(figure["method"])
                cells_of_line.append(
                    Cell(text) if figure is None else Cell(text, paper_text(figure), figure["verdict"])
                )
            first = ours[place * len(texts)]
            note = first["hyperparameters"] if section == SELECTED and "=" in first["hyperparameters"] else ""
            lines.append(Line(label, first["engine"], note, tuple(cells_of_line)))
        if lines:
            title = section if ours else NOT_RUN
            parts.append(Part(title, tuple(lines), folded=section not in (SELECTED, CONTROLS)))
    return parts


def paper_text(figure: dict[str, Any]) -> str:
    """Return the published side of a comparison as the tables write numbers."""
    count = 1 if math.isnan(figure["paper_std"]) else DATASETS
    return cell_text(figure["paper_mean"], figure["paper_std"], count, count)
