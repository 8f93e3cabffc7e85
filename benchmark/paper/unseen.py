"""The paper's figures of unseen interventions: the log-likelihood of a setting that no method was shown."""

import json
from collections.abc import Mapping
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from benchmark.figures import STYLE, WIDTH, draw_values
from benchmark.plan import Condition, Experiment
from benchmark.styles import Style


def score_path(targets: str, condition: str, index: str, row: str) -> str:
    """Return where the score of a row's graph on the unseen setting lies within the results."""
    return f"unseen/{targets}/{condition}/{index}/{row}.json"


def unseen_figure(experiment: Experiment, style: Mapping[str, Style], results: Path) -> Figure:
    """Draw a box per method over data sets; of one data set, the mean and deviation over its rows."""
    rows = [row for row in experiment.rows if not row.method.is_control]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH * 0.6, 2.2), layout="constrained")
        axes = figure.subplots()
        for place, row in enumerate(rows):
            scores = [
                score
                for condition in experiment.conditions
                for score in _scores(experiment, condition, row.name, results)
            ]
            if not scores:
                continue
            means = np.array([mean for mean, _ in scores])
            if _single(experiment):
                axes.errorbar(
                    [place], means, yerr=[scores[0][1]], fmt="o", markersize=4, capsize=3, linewidth=0.9,
                    color="black", markerfacecolor=style[row.name].colour,
                )  # fmt: skip
            else:
                draw_values(axes, place, means, 0.6, style[row.name])
        axes.set_xticks(range(len(rows)), [row.label for row in rows])
        axes.set_xlim(-0.5, len(rows) - 0.5)
        axes.set_ylabel("log-likelihood of\nunseen interventions")
        axes.yaxis.grid(True, linewidth=0.3, color="#cccccc")
        axes.set_axisbelow(True)
    return figure


def _single(experiment: Experiment) -> bool:
    return sum(condition.datasets for condition in experiment.conditions) == 1


def _scores(experiment: Experiment, condition: Condition, row: str, results: Path) -> list[tuple[float, float]]:
    """Return mean and deviation over rows, per data set; a fit that failed has none."""
    found = []
    for index in condition.indices:
        path = results / score_path(experiment.targets, condition.name, index, row)
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["mean"] is not None:
            found.append((content["mean"], content["std"]))
    return found
