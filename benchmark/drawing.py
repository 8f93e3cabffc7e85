"""Draw learned graphs, causes above effects; readable up to some 50 nodes.

>>> from benchmark.dataset import Fit
>>> figure = draw_graph(Fit([[0, 1], [0, 0]], names=("TP53", "MDM2")), title="An edge")
>>> figure.savefig("graph.png")  # doctest: +SKIP
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path as Curve

from benchmark.dataset import Fit
from benchmark.layout import Edge, Layout, Point, layered
from benchmark.learned_graphs import edge_table, missed_edges

# Told apart by colour (safe for the colour-blind) and by line.
VERDICTS: dict[str, tuple[str, Any]] = {
    "correct": ("#0072b2", "-"),
    "extra": ("#d55e00", (0, (4, 1.5))),
    "reversed": ("#aa3377", (0, (6, 1.5, 1, 1.5))),
    "missed": ("#999999", (0, (1, 1.8))),
    "": ("#30363d", "-"),  # the truth is not known
}
BOX_HEIGHT = 0.3
LAYER_HEIGHT = 0.75
PORT_STEP = 0.13
HEAD_LENGTH = 0.085
INCHES_PER_CHARACTER = 0.082
TITLE_CHARACTERS = 13  # per inch
STYLE: Any = {"font.size": 8, "svg.hashsalt": "benchmark"}


@dataclass(frozen=True)
class Line:
    """How one edge is drawn."""

    edge: Edge
    colour: str
    dashes: Any = "-"
    width: float = 1.4
    arrow: bool = True
    label: str = ""


def draw_graph(fit: Fit, *, truth: npt.ArrayLike | None = None, title: str = "") -> Figure:
    """Draw a learned graph.

    Where the method has probabilities of edges, lines are as thick as they are probable; an edge without an arrowhead
    has a direction that the method leaves open. With the true graph, edges are correct, extra or reversed, and
    missed ones are dotted.
    """
    place = {name: number for number, name in enumerate(fit.names)}
    lines = []
    for edge in edge_table(fit, truth).to_dict("records"):
        colour, dashes = VERDICTS[edge["verdict"]]
        width = 1.4 if pd.isna(edge["probability"]) else 0.5 + 1.3 * edge["probability"]
        lines.append(Line((place[edge["from"]], place[edge["to"]]), colour, dashes, width, not edge["undirected"]))
    found = len(lines)
    if truth is not None:
        colour, dashes = VERDICTS["missed"]
        lines += [Line(edge, colour, dashes, 1.0) for edge in missed_edges(fit.graph, truth)]
    legend = {} if truth is None else _verdict_legend(lines)
    if any(not line.arrow for line in lines):
        legend["direction left open"] = Line((0, 0), VERDICTS[""][0], arrow=False)
    return _draw(fit.names, lines, legend, title or f"{found} edges")


def draw_consensus(names: Sequence[str], consensus: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw how many methods have each edge, from the table of :func:`benchmark.learned_graphs.consensus`.

    Of three methods or more, only the edges that at least half of them have are drawn. The more methods, the thicker
    and darker the line; its number is that of the methods. With the true graph, colours are as in :func:`draw_graph`.
    """
    place = {name: number for number, name in enumerate(names)}
    lines: list[Line] = []
    legend: dict[str, Line] = {}
    for edge in consensus[consensus["methods"] >= consensus["of"] / 2].to_dict("records"):
        share = edge["methods"] / edge["of"]
        known = bool(edge["verdict"])
        colour = VERDICTS[edge["verdict"]][0] if known else matplotlib.colors.to_hex(_shade(share))
        line = Line(
            (place[edge["from"]], place[edge["to"]]),
            colour,
            VERDICTS[edge["verdict"]][1] if known else "-",
            0.5 + 2.0 * share,
            edge["forward"] > edge["backward"],
            str(edge["methods"]),
        )
        lines.append(line)
        key = f"{edge['verdict']} edge" if known else f"{edge['methods']} of {edge['of']} methods"
        legend.setdefault(key, line)
    return _draw(names, lines, legend, title)


def save(figure: Figure, path: Path) -> None:
    """Write a drawing, the same bytes for the same graph."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, metadata={"Software": None} if path.suffix == ".png" else {"CreationDate": None})


def _draw(names: Sequence[str], lines: list[Line], legend: dict[str, Line], title: str) -> Figure:
    widths = [max(0.35, INCHES_PER_CHARACTER * len(name) + 0.14) for name in names]
    layout = layered(widths, [line.edge for line in lines], gap=0.22, height=LAYER_HEIGHT)
    x, y = layout.centres[:, 0], layout.centres[:, 1]
    bends = [point[0] for route in layout.routes.values() for point in route]
    half = [width / 2 for width in widths]
    left, right = min([*(x - half), *bends]) - 0.15, max([*(x + half), *bends]) + 0.15
    bottom, top = y.min() - 0.3, y.max() + 0.3
    middle, wide = (left + right) / 2, max(right - left, 3.6)
    left, right = middle - wide / 2, middle + wide / 2
    with matplotlib.rc_context(STYLE):
        wrapped = textwrap.fill(title, int(wide * TITLE_CHARACTERS))
        columns = max(1, int(wide / 1.5))
        legend_lines = -(-len(legend) // columns)
        head, foot = 0.1 + 0.17 * (wrapped.count("\n") + 1), 0.05 + 0.2 * legend_lines
        tall = top - bottom + head + foot
        figure = Figure(figsize=(wide, tall))
        axes = figure.add_axes((0, foot / tall, 1, (top - bottom) / tall))
        axes.set(xlim=(left, right), ylim=(bottom, top))
        axes.axis("off")
        routes = _ended_at_boxes(layout, widths)
        for line in sorted(lines, key=lambda line: line.width):
            _draw_line(axes, line, routes[line.edge])
        for name, centre, width in zip(names, layout.centres, widths, strict=True):
            corner = (centre[0] - width / 2, centre[1] - BOX_HEIGHT / 2)
            style = "round,pad=0,rounding_size=0.08"
            box = FancyBboxPatch(
                corner,
                width,
                BOX_HEIGHT,
                boxstyle=style,
                facecolor="#f3f5f7",
                edgecolor="#30363d",
                linewidth=0.7,
                zorder=3,
            )
            axes.add_patch(box)
            axes.text(centre[0], centre[1], name, ha="center", va="center", fontsize=8, zorder=4)
        figure.text(0.5, 1 - 0.06 / tall, wrapped, ha="center", va="top", fontsize=9)
        if legend:
            handles = [
                Line2D([], [], color=line.colour, linestyle=line.dashes, linewidth=line.width, label=label)
                for label, line in legend.items()
            ]
            figure.legend(handles=handles, loc="lower center", ncols=columns, frameon=False, borderaxespad=0.1)
    return figure


def _ended_at_boxes(layout: Layout, widths: Sequence[float]) -> dict[Edge, list[Point]]:
    """Return the routes from border to border; the lines at one side of a box stand next to each other."""
    routes = {edge: list(route) for edge, route in layout.routes.items()}
    sides: dict[tuple[int, int], list[tuple[float, Edge, int]]] = {}
    for edge, route in routes.items():
        for end, other, node in ((0, 1, edge[0]), (-1, -2, edge[1])):
            side = 1 if route[other][1] > route[end][1] else -1
            sides.setdefault((node, side), []).append((route[other][0], edge, end))
    for (node, side), lines in sides.items():
        step = min(PORT_STEP, 0.8 * widths[node] / len(lines))
        for number, (_, edge, end) in enumerate(sorted(lines)):
            x, y = layout.centres[node]
            routes[edge][end] = (x + step * (number - (len(lines) - 1) / 2), y + side * BOX_HEIGHT / 2)
    return routes


def _draw_line(axes: Axes, line: Line, points: list[Point]) -> None:
    """Draw a smooth curve that leaves and arrives vertically, its arrowhead and its label."""
    (x_end, y_end), upwards = points[-1], 1 if points[-1][1] > points[-2][1] else -1
    length = HEAD_LENGTH * (0.7 + 0.3 * line.width)
    if line.arrow:
        base, half = y_end - upwards * length, 0.42 * length
        head = [(x_end, y_end), (x_end - half, base), (x_end + half, base)]
        axes.add_patch(Polygon(head, facecolor=line.colour, edgecolor="none", zorder=2))
        points = [*points[:-1], (x_end, base)]
    slopes = [0.0, *((after[0] - before[0]) / 2 for before, after in zip(points, points[2:], strict=False)), 0.0]
    vertices, codes = [points[0]], [Curve.MOVETO]
    for number, ((x0, y0), (x1, y1)) in enumerate(pairwise(points)):
        rise = (y1 - y0) / 3
        # A curve that starts or ends at a box turns within a longer stretch.
        first, last = (1.4 if number == 0 else 1.0), (1.4 if number == len(points) - 2 else 1.0)
        vertices += [
            (x0 + slopes[number] / 3, y0 + first * rise),
            (x1 - slopes[number + 1] / 3, y1 - last * rise),
            (x1, y1),
        ]
        codes += [Curve.CURVE4] * 3
    axes.add_patch(
        PathPatch(
            Curve(vertices, codes),
            facecolor="none",
            edgecolor=line.colour,
            linewidth=line.width,
            linestyle=line.dashes,
            capstyle="butt",
            zorder=2,
        )
    )
    if line.label:
        (x0, y0), (x1, y1) = points[0], points[1]
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.3}
        style: Any = {"fontsize": 6, "color": line.colour, "ha": "center", "va": "center", "bbox": box, "zorder": 2.5}
        axes.text((x0 + x1) / 2, (y0 + y1) / 2, line.label, **style)


def _verdict_legend(lines: list[Line]) -> dict[str, Line]:
    legend = {}
    for name, (colour, _) in VERDICTS.items():
        alike = [line for line in lines if line.colour == colour]
        if name and alike:
            legend[f"{len(alike)} {name}"] = alike[0]
    return legend


def _shade(share: float) -> Any:
    return matplotlib.colormaps["Blues"](0.35 + 0.6 * share)
