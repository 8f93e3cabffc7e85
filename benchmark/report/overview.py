"""The picture on the first screen: ours against the paper, method x condition, coloured by standard errors."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Any

import pandas as pd

from benchmark.paper.published import DEFAULT_ALPHA
from benchmark.paper.reproduction import HIGHER_IS_BETTER, WITHHELD
from benchmark.plan import Plan
from benchmark.report.results import paper_text
from benchmark.tables import METRIC_NAMES

MECHANISMS = {"linear": "linear", "anm": "ANM", "nn": "NN", "x": "X", "dna": "DNA"}
STEPS = (1.0, 2.0, 3.0, 4.0)  # standard errors at which the colour deepens
WIDEST_ROW = 36  # tiles side by side on a screen of 1,400 pixels: the paper's three main experiments


@dataclass(frozen=True)
class Tile:
    """One comparison: the class that colours it, what it says, and the row of the full table it leads to."""

    shade: str
    text: str
    anchor: str


@dataclass(frozen=True)
class Panel:
    """One experiment: nested headings of the columns, and a line of tiles per method."""

    name: str
    title: str
    headings: list[list[tuple[str, int]]]
    lines: list[tuple[str, list[list[Tile]]]]
    halves: bool


def panels(plan: Plan, comparison: pd.DataFrame) -> list[Panel]:
    """Return a panel per experiment of the paper that was run."""
    figures = comparison.assign(anchor=[anchor(number) for number in range(len(comparison))])
    figures = figures[figures["alpha"].isin(["", DEFAULT_ALPHA])]
    found = []
    for experiment in plan.experiments.values():
        settings = {experiment.setting(condition) for condition in experiment.conditions}
        labels = {row.name: row.label for row in experiment.rows}
        mine = figures[
            (figures["experiment"] == experiment.paper)
            & figures["setting"].isin(settings)
            & figures["row"].isin(list(labels))
        ]
        if len(mine):
            single = bool(mine["paper_std"].isna().all())
            found.append(_panel(experiment.name, experiment.title, mine, labels, single=single))
    return found


def first_row(shown: list[Panel]) -> int:
    """Return how many panels fit beside one another; the others are folded."""
    widths = accumulate(len(panel.lines[0][1]) for panel in shown)
    return max(1, sum(width <= WIDEST_ROW for width in widths))


def anchor(number: int) -> str:
    """Return the id of a row of the full comparison."""
    return f"figure-{number}"


def shade(metric: str, errors: float, verdict: str) -> str:
    """Return the classes that colour a tile: blue where ours is better, orange where it is worse.

    >>> shade("shd", 3.4, "worse"), shade("f1", 0.4, "agrees"), shade("shd", -9.0, "too few")
    ('worse-3', 'better-0', 'better-4 pale')
    """
    if math.isnan(errors):
        return "none pale" if verdict in WITHHELD else verdict.replace(" ", "-")
    better = (errors > 0) == (metric in HIGHER_IS_BETTER)
    step = sum(abs(errors) > bound for bound in STEPS)
    return f"{'better' if better else 'worse'}-{step}" + (" pale" if verdict in WITHHELD else "")


def ours_text(figure: dict[str, Any]) -> str:
    """Return our side of a comparison as the tables write numbers."""
    if math.isnan(figure["ours_mean"]):
        text = "–"
    elif math.isnan(figure["paper_std"]):
        whole = figure["ours_mean"] == round(figure["ours_mean"])
        text = f"{figure['ours_mean']:.0f}" if whole else f"{figure['ours_mean']:.2f}"
    else:
        spread = "" if math.isnan(figure["ours_std"]) else f" ± {figure['ours_std']:.1f}"
        text = f"{figure['ours_mean']:.1f}{spread}"
    return text if figure["n_ok"] == figure["n"] else f"{text} ({figure['n_ok']}/{figure['n']})"


def _panel(name: str, title: str, figures: pd.DataFrame, labels: dict[str, str], *, single: bool) -> Panel:
    """Lay out one experiment; without spreads (one data set, as Sachs) the columns are the metrics."""
    place = ["metric"] if single else ["mechanism", "nodes", "edges_per_node"]
    tiles: dict[tuple[Any, ...], list[Tile]] = {}
    for figure in figures.to_dict("records"):
        tiles.setdefault((figure["row"], *(figure[key] for key in place)), []).append(_tile(figure, labels))
    columns = list(dict.fromkeys(tuple(one) for one in figures[place].to_numpy().tolist()))
    columns.sort(key=lambda column: [list(MECHANISMS).index(column[0]), *column[1:]] if not single else 0)
    headings = [[(METRIC_NAMES[metric], 1) for (metric,) in columns]] if single else _headings(columns)
    rows = [row for row in labels if row in set(figures["row"])]
    lines = [(labels[row], [tiles.get((row, *column), []) for column in columns]) for row in rows]
    return Panel(name, title, headings, lines, halves=not single)


def _headings(columns: list[tuple[Any, ...]]) -> list[list[tuple[str, int]]]:
    """Return the levels of headings, each as text and how many columns it spans."""
    texts = [(MECHANISMS[mechanism], f"{nodes}", f"{edges}") for mechanism, nodes, edges in columns]
    return [[(part[-1], count) for part, count in _runs(text[: level + 1] for text in texts)] for level in range(3)]


def _runs(values: Iterable[tuple[str, ...]]) -> list[tuple[tuple[str, ...], int]]:
    return [(value, len(list(run))) for value, run in groupby(values)]


def _tile(figure: dict[str, Any], labels: dict[str, str]) -> Tile:
    where = f"{MECHANISMS.get(figure['mechanism'], 'Sachs')}, {figure['nodes']} nodes" + (
        f", e = {figure['edges_per_node']}" if figure["edges_per_node"] else ""
    )
    errors = figure["standard_errors"]
    apart = "" if math.isnan(errors) else f", {errors:+.1f} standard errors"
    return Tile(
        shade(figure["metric"], errors, figure["verdict"]),
        f"{labels[figure['row']]}, {where}: {METRIC_NAMES[figure['metric']]} {ours_text(figure)}, "
        f"paper {paper_text(figure)}{apart}: {figure['verdict']}",
        figure["anchor"],
    )
