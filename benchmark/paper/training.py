"""The paper's figures of one fit: how a graph is learned, and which targets are found."""

from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmark.dataset import Dataset
from benchmark.figures import STYLE, WIDTH
from benchmark.records import Record

CURVES = {
    "NLL": ("train_nll", "#56B4E9"),
    "NLL on held-out rows": ("heldout_nll", "#0072B2"),
    "AL": ("augmented_lagrangian", "#E69F00"),
    "AL on held-out rows": ("heldout_augmented_lagrangian", "#D55E00"),
}
PENALTY = ("AL minus NLL", "#777777")
PRESENT, ABSENT = "#009E73", "#CC3311"
SNAPSHOTS = (20 / 62, 30 / 62, 1.0)  # the paper shows iterations 20,000, 30,000 and 62,000, the second stop


def learning_dynamic(record: Record, dataset: Dataset) -> Figure:
    """Draw learning curves with both stops, the edge probabilities, and them as matrices beside the truth."""
    history, info, truth = _history(record), record["info"], dataset.graph
    if truth is None:
        raise ValueError("the data set has no true graph to compare with")
    iterations = [one["iteration"] for one in history]
    probabilities = np.array([one["edge_probabilities"] for one in history])
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 5.6), layout="constrained")
        parts: Any = figure.subfigures(3, 1, height_ratios=(1.15, 1.0, 0.95))
        top, middle, panels = parts[0].subplots(), parts[1].subplots(), parts[2].subplots(1, 1 + len(SNAPSHOTS))
        for label, (name, colour) in CURVES.items():
            top.plot(iterations, [one[name] for one in history], label=label, color=colour, linewidth=0.7)
        penalty = [one["augmented_lagrangian"] - one["train_nll"] for one in history]
        top.plot(iterations, penalty, label=PENALTY[0], color=PENALTY[1], linewidth=0.7)
        top.set_ylim(*_most([[one[name] for one in history] for name, _ in CURVES.values()] + [penalty]))
        # Above the panel, where it covers neither a curve nor a stop.
        top.legend(
            frameon=False, ncols=len(CURVES) + 1, loc="lower center", bbox_to_anchor=(0.5, 1.0), columnspacing=1.2,
            handlelength=1.4,
        )  # fmt: skip
        top.set_ylabel("loss")
        for i, j in np.argwhere(~np.eye(len(truth), dtype=bool)):
            style: Any = {"color": PRESENT, "zorder": 3} if truth[i, j] else {"color": ABSENT, "alpha": 0.5}
            middle.plot(iterations, probabilities[:, i, j], linewidth=0.6, **style)
        middle.set_ylabel("σ(Λ)")
        middle.set_xlabel("iteration (green: edge of the true graph, red: no edge of it)")
        for axes in (top, middle):
            for stop in (info["first_stop"], info["second_stop"]):
                axes.axvline(stop, color="black", linewidth=0.7, linestyle="--")
            axes.set_xlim(0, iterations[-1])
            axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        _matrix(panels[0], truth, "true graph", "Blues_r")
        for axes, share in zip(panels[1:], SNAPSHOTS, strict=True):
            place = int(np.argmin(np.abs(np.array(iterations) - share * info["second_stop"])))
            _matrix(axes, probabilities[place], f"iteration {iterations[place]:,}", "Blues_r")
    return figure


def learning_targets(record: Record, dataset: Dataset) -> Figure:
    """Draw learned beside true targets: a column per interventional setting, a row per variable."""
    learned = record.get("targets")
    if learned is None or dataset.targets is None:
        raise ValueError("the record has no learned targets, or the data set no true ones")
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH * 0.6, 1.9), layout="constrained")
        left, right = figure.subplots(1, 2)
        _matrix(left, np.array(learned)[1:].T, "learned, σ(β)", "Greys")
        _matrix(right, dataset.targets[1:].T, "true", "Greys")
        left.set_ylabel("variable")
        for axes in (left, right):
            axes.set_xlabel("setting")
    return figure


FIGURES = {"learning_dynamic": learning_dynamic, "learning_targets": learning_targets}


def _history(record: Record) -> list[dict[str, Any]]:
    if record["status"] != "ok":
        raise ValueError(f"the fit has the status {record['status']}: {record['reason']}")
    history: list[dict[str, Any]] | None = record["info"].get("history")
    if not history:
        raise ValueError("the record has no history; expected a row with the hyperparameter history: true")
    if not all(isinstance(step, dict) for step in history):
        raise ValueError(f"the history was cut after {len(history) - 1:,} steps, because it is too long for a record")
    return history


def _most(series: list[list[float]]) -> tuple[float, float]:
    """Return limits that show all curves but their first, steepest part."""
    values = np.array(series)
    low, high = values.min(), np.quantile(values[:, max(1, values.shape[1] // 100) :], 0.999)
    margin = 0.05 * (high - low)
    return float(low - margin), float(high + margin)


def _matrix(axes: Axes, values: npt.ArrayLike, title: str, colours: str) -> None:
    axes.imshow(np.asarray(values), cmap=colours, vmin=0, vmax=1, interpolation="nearest")
    axes.set_title(title)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(True)
