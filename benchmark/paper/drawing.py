"""Draw those figures of the paper that show metrics and costs, by their labels."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from benchmark.evaluation import evaluate
from benchmark.figures import nothing
from benchmark.paper.boxes import paper_boxplots
from benchmark.paper.scalability import data_scale
from benchmark.plan import Experiment
from benchmark.recorded.recall import Recall
from benchmark.styles import Style


def draw(
    label: str, parts: list[Experiment], style: Mapping[str, Style], results: Path, recall: Recall | None = None
) -> Figure:
    """Return a figure of :func:`benchmark.paper.pieces.figure_pieces`."""
    tables = [evaluate(part, results, recall) for part in parts]
    metrics, costs = pd.concat([one for one, _ in tables]), pd.concat([one for _, one in tables])
    if metrics.empty:
        return nothing(parts[0].title)
    if label.startswith("data_scale"):
        return data_scale(parts[0], metrics, costs, "n" if label == "data_scale_examples" else "nodes", style)
    along = "settings" if label == "nbinterv" else "edges_per_node"
    rows = {row.name: row for part in parts for row in part.rows}
    conditions = {condition.name: condition for part in parts for condition in part.conditions}
    whole = replace(parts[0], conditions=tuple(conditions.values()), rows=tuple(rows.values()))
    metrics = metrics.assign(experiment=whole.name).drop_duplicates()  # experiments may share cells
    return paper_boxplots(whole, metrics, along)
