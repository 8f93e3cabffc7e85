"""Boxplots of SHD and SID as in the paper's Figures "Perfect", "Imperfect" and "Unknown interventions"."""

import textwrap
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.text import Text

from benchmark.plan import Experiment
from benchmark.recall import describe_recorded

AXIS_NAMES = {
    "edges_per_node": "expected edges per node $e$",
    "settings": "interventional settings",
    "n": "examples",
    "nodes": "nodes",
}
PANEL_NAMES = {
    "linear": "Linear",
    "anm": "Additive noise (ANM)",
    "nn": "Non-additive noise (NN)",
    "x": "X",
    "dna": "DNA",
}
CONTROL_GREYS = ("#d9d9d9", "#b5b5b5", "#8f8f8f", "#6b6b6b")
METRICS = ("shd", "sid")
LEGEND_INCHES = 1.35  # width of an entry
TITLE_CHARACTERS = 14  # per inch
STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "pdf.fonttype": 42,
    "svg.hashsalt": "benchmark",
}

Color = tuple[float, float, float] | str


def colours(experiments: list[Experiment]) -> dict[str, Color]:
    """Return a colour per row, the same in every figure of a run; controls are grey."""
    rows = {row.name: row for experiment in experiments for row in experiment.rows}
    methods = [name for name, row in rows.items() if not row.method.is_control]
    controls = [name for name, row in rows.items() if row.method.is_control]
    # The palette's own grey would look like a control.
    palette = [shade for shade in sns.color_palette("colorblind") if len(set(shade)) > 1]
    if len(methods) > len(palette):
        palette = sns.color_palette("husl", len(methods))
    greys = {name: CONTROL_GREYS[place % len(CONTROL_GREYS)] for place, name in enumerate(controls)}
    return dict(zip(methods, palette, strict=False)) | greys


def boxplots(
    experiment: Experiment, metrics: pd.DataFrame, along: str, nodes: int | None, colour: dict[str, Color]
) -> Figure:
    """Draw SHD above SID, one panel per mechanism, one box per method; the points are the data sets."""
    shown = metrics[(metrics["experiment"] == experiment.name) & (metrics["choice"] == "selected")]
    if nodes is not None:
        shown = shown[shown["nodes"].astype(int) == nodes]
    size = "" if nodes is None else f", {nodes} nodes"
    if shown.empty:
        return _nothing(f"{experiment.title}{size}")
    mechanisms = list(dict.fromkeys(shown["mechanism"]))
    rows = [row.name for row in experiment.rows]
    places = sorted({float(value) for value in shown[along]})
    with matplotlib.rc_context(STYLE):
        width = 0.8 + len(mechanisms) * max(2.0, 0.4 + 0.15 * len(rows) * len(places))
        figure = Figure(figsize=(min(width, 11.0), 4.4), layout="constrained")
        panels = figure.subplots(len(METRICS), len(mechanisms), squeeze=False, sharex=True)
        for (line, metric), (column, mechanism) in _pairs(METRICS, mechanisms):
            part = shown[(shown["metric"] == metric) & (shown["mechanism"] == mechanism)]
            _panel(panels[line, column], part, along, places, rows, colour)
            if line == 0:
                panels[line, column].set_title(PANEL_NAMES.get(mechanism, mechanism))
            if line == len(METRICS) - 1:
                panels[line, column].set_xlabel(AXIS_NAMES[along])
            if column == 0:
                panels[line, column].set_ylabel(metric.upper())
        labels = {row.name: row.label for row in experiment.rows}
        handles = [Patch(facecolor=colour[name], edgecolor="black", linewidth=0.5, label=labels[name]) for name in rows]
        figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=max(2, min(len(rows), int(figure.get_figwidth() / LEGEND_INCHES))),
            frameon=False,
        )
        convention = ", ".join(dict.fromkeys(shown["convention"]))
        count = shown["dataset"].nunique()
        title = f"{experiment.title}{size} ({count} data sets, convention {convention}) {describe_recorded(shown)}"
        figure.suptitle(textwrap.fill(title, int(figure.get_figwidth() * TITLE_CHARACTERS)), fontsize=9)
    return figure


def _nothing(title: str) -> Figure:
    """Say that nothing of a figure was fitted or recorded."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.4, 1.2), layout="constrained")
        figure.suptitle(title, fontsize=9)
        figure.text(0.5, 0.35, "–  nothing of this figure is recorded", ha="center")
    return figure


def _panel(
    axes: Axes, part: pd.DataFrame, along: str, places: list[float], rows: list[str], colour: dict[str, Color]
) -> None:
    step = 0.8 / len(rows)
    for order, row in enumerate(rows):
        for group, place in enumerate(places):
            cell = part[(part["row"] == row) & (part[along].astype(float) == place)]
            values = pd.to_numeric(cell["value"]).dropna().to_numpy()
            if len(values) == 0:
                continue
            x = group - 0.4 + step * (order + 0.5)
            axes.boxplot(
                values,
                positions=[x],
                widths=0.85 * step,
                patch_artist=True,
                showfliers=False,
                boxprops={"facecolor": colour[row], "linewidth": 0.6},
                medianprops={"color": "black", "linewidth": 1.0},
                whiskerprops={"linewidth": 0.6},
                capprops={"linewidth": 0.6},
            )
            spread = np.linspace(-0.2, 0.2, len(values)) * step
            axes.plot(x + spread, values, ".", color="black", markersize=1.8, alpha=0.6)
    axes.set_xticks(range(len(places)), [f"{place:g}" for place in places])
    axes.set_xlim(-0.5, len(places) - 0.5)
    # A little below 0, so that a box of zeros can be seen.
    axes.set_ylim(bottom=-0.03 * max(axes.get_ylim()[1], 1.0))
    axes.yaxis.grid(True, linewidth=0.3, color="#cccccc")
    axes.set_axisbelow(True)


def save(figure: Figure, stem: Path) -> None:
    """Write a figure as PDF and PNG, the same bytes for the same data."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    _take_literally(figure)
    figure.savefig(stem.with_name(f"{stem.name}.pdf"), metadata={"CreationDate": None})
    figure.savefig(stem.with_name(f"{stem.name}.png"), dpi=200, metadata={"Software": None})


def missing_figure(title: str, reason: str) -> Figure:
    """Return a figure that says why there is none."""
    figure = Figure(figsize=(6.0, 1.6))
    figure.text(
        0.5, 0.5, textwrap.fill(f"{title}: this figure could not be drawn ({reason})", 70), ha="center", va="center"
    )
    return figure


def _take_literally(figure: Figure) -> None:
    """Let a dollar in a title or a label be a dollar; only the names of axes have formulas."""
    for text in figure.findobj(Text):
        if isinstance(text, Text) and text.get_text() not in AXIS_NAMES.values():
            text.set_parse_math(False)


def _pairs(lines: tuple[str, ...], columns: list[str]) -> list[tuple[tuple[int, str], tuple[int, str]]]:
    return [(line, column) for line in enumerate(lines) for column in enumerate(columns)]
