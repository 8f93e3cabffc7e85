"""Boxplots of SHD and SID, made for print: as wide as the text of a paper, text of 6 pt or more at that width."""

import math
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from benchmark.plan import Experiment
from benchmark.recorded.recall import brief_recorded
from benchmark.styles import Style

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
METRICS = ("shd", "sid")
WIDTH = 5.5  # inches, the text of NeurIPS and most others
FEWEST_FOR_A_BOX = 5
LEGEND_INCHES = (0.42, 0.058)  # of an entry's patch with its margins, and of a letter
TITLE_CHARACTERS = 16  # per inch
STYLE: Any = {
    "font.size": 7,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5,
    "figure.titlesize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.4,
    "pdf.fonttype": 42,  # TrueType: journals refuse Type 3
    "svg.hashsalt": "benchmark",
}

Published = Mapping[tuple[str, str, str], float]  # (condition, row, metric) -> mean


def boxplots(
    experiment: Experiment,
    metrics: pd.DataFrame,
    along: str,
    nodes: int | None,
    style: Mapping[str, Style],
    published: Published | None = None,
    *,
    titled: bool = True,
) -> Figure:
    """Draw SHD above SID, one panel per mechanism, one box per method; a diamond is a published mean."""
    shown = metrics[(metrics["experiment"] == experiment.name) & (metrics["choice"] == "selected")]
    if nodes is not None:
        shown = shown[shown["nodes"].astype(int) == nodes]
    size = "" if nodes is None else f", {nodes} nodes"
    if shown.empty:
        return nothing(f"{experiment.title}{size}")
    mechanisms = list(dict.fromkeys(shown["mechanism"]))
    rows = [row.name for row in experiment.rows]
    places = sorted({float(value) for value in shown[along]})
    marks = published or {}
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
        panels = figure.subplots(len(METRICS), len(mechanisms), squeeze=False, sharex=True)
        for (line, metric), (column, mechanism) in _pairs(METRICS, mechanisms):
            part = shown[(shown["metric"] == metric) & (shown["mechanism"] == mechanism)]
            axes = panels[line, column]
            _panel(axes, part, along, places, rows, style, marks)
            if line == 0:
                axes.set_title(PANEL_NAMES.get(mechanism, mechanism))
            if line == len(METRICS) - 1:
                axes.set_xlabel(AXIS_NAMES[along])
            if column == 0:
                axes.set_ylabel(metric.upper())
        drawn = set(zip(shown["condition"], shown["row"], strict=True))
        with_values = set(shown.loc[shown["metric"].isin(METRICS) & shown["value"].notna(), "row"])
        add_legend(figure, experiment, style, with_values, diamonds=any(key[:2] in drawn for key in marks))
        if titled:
            convention = ", ".join(dict.fromkeys(shown["convention"]))
            count = shown["dataset"].nunique()
            sets = "1 data set" if count == 1 else f"{count} data sets"
            title = f"{experiment.title}{size} ({sets}, convention {convention})"
            lines = [
                textwrap.fill(text, int(WIDTH * TITLE_CHARACTERS)) for text in (title, brief_recorded(shown)) if text
            ]
            figure.suptitle("\n".join(lines))
    return figure


def nothing(title: str) -> Figure:
    """Say that nothing of a figure was fitted or recorded."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 1.2), layout="constrained")
        figure.suptitle(title)
        figure.text(0.5, 0.35, "–  nothing of this figure is recorded", ha="center")
    return figure


def add_legend(
    figure: Figure, experiment: Experiment, style: Mapping[str, Style], with_values: set[str], *, diamonds: bool
) -> None:
    """Name the rows below the panels, with a dash where nothing of a row is in them."""
    handles: list[Patch | Line2D] = [
        Patch(
            facecolor=style[row.name].colour,
            hatch=style[row.name].hatch,
            edgecolor="black",
            linewidth=0.5,
            label=row.label if row.name in with_values else f"{row.label}: –",
        )
        for row in experiment.rows
    ]
    if diamonds:
        handles.append(Line2D([], [], **DIAMOND, label="published mean"))
    columns = legend_columns([str(handle.get_label()) for handle in handles], figure.get_figwidth())
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False, handlelength=1.6)


def legend_columns(labels: list[str], width: float) -> int:
    """Return in how many columns the entries of a legend fit, in lines of equal length as far as possible.

    >>> legend_columns(["IGSP", "GIES", "CAM", "DCDI-G", "DCDI-DSF", "published mean"], 5.5)
    6
    >>> legend_columns(["IGSP-lin, as published"] * 6, 5.5)
    3
    """
    patch, letter = LEGEND_INCHES
    columns = len(labels)
    while columns > 1 and sum(patch + letter * max(map(len, part)) for part in np.array_split(labels, columns)) > width:
        columns -= 1
    return math.ceil(len(labels) / math.ceil(len(labels) / columns))


DIAMOND: Any = {
    "marker": "D",
    "markersize": 2.8,
    "markerfacecolor": "white",
    "markeredgecolor": "black",
    "markeredgewidth": 0.6,
    "linestyle": "none",
    "zorder": 5,
}


def _panel(
    axes: Axes,
    part: pd.DataFrame,
    along: str,
    places: list[float],
    rows: list[str],
    style: Mapping[str, Style],
    published: Published,
) -> None:
    step = 0.84 / len(rows)
    for order, row in enumerate(rows):
        for group, place in enumerate(places):
            cell = part[(part["row"] == row) & (part[along].astype(float) == place)]
            x = group - 0.42 + step * (order + 0.5)
            values = pd.to_numeric(cell["value"]).dropna().to_numpy(dtype=np.float64)
            draw_values(axes, x, values, step, style[row])
            for condition, metric in dict.fromkeys(zip(cell["condition"], cell["metric"], strict=True)):
                if (condition, row, metric) in published:
                    axes.plot([x], [published[condition, row, metric]], **DIAMOND)
    axes.set_xticks(range(len(places)), [f"{place:,g}" for place in places])
    axes.set_xlim(-0.5, len(places) - 0.5)
    # A little below 0, so that a box of zeros can be seen.
    axes.set_ylim(bottom=-0.03 * max(axes.get_ylim()[1], 1.0))
    axes.yaxis.grid(True, linewidth=0.3, color="#cccccc")
    axes.set_axisbelow(True)


def draw_values(axes: Axes, x: float, values: npt.NDArray[np.float64], step: float, style: Style) -> None:
    """Draw a box with its points, or points alone where they are too few for quartiles."""
    spread = np.linspace(-0.25, 0.25, len(values)) * step if len(values) > 1 else np.zeros(len(values))
    if len(values) < FEWEST_FOR_A_BOX:
        axes.plot(
            x + spread, values, "o", color=style.colour, markersize=2.8, markeredgecolor="black", markeredgewidth=0.4
        )
        return
    axes.boxplot(
        values,
        positions=[x],
        widths=0.85 * step,
        patch_artist=True,
        showfliers=False,
        boxprops={"facecolor": style.colour, "hatch": style.hatch, "linewidth": 0.5},
        medianprops={"color": "black", "linewidth": 1.0},
        whiskerprops={"linewidth": 0.5},
        capprops={"linewidth": 0.5},
    )
    axes.plot(x + spread, values, ".", color="black", markersize=1.5, alpha=0.6, markeredgewidth=0)


def save(figure: Figure, stem: Path) -> None:
    """Write a figure as PDF and PNG, the same bytes for the same data."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    _take_literally(figure)
    with matplotlib.rc_context(STYLE):
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
