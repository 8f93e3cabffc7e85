"""The paper's figures of scalability: runtime, SHD and SID against the number of examples or of variables."""

from collections.abc import Mapping

import matplotlib
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.ticker import NullFormatter

from benchmark.figures import AXIS_NAMES, STYLE
from benchmark.plan import SECONDS_PER_HOUR, Experiment
from benchmark.styles import Style

MARKERS = "osD^vP*X"
BOOTSTRAPS = 1000
Values = npt.NDArray[np.float64]


def data_scale(
    experiment: Experiment, metrics: pd.DataFrame, costs: pd.DataFrame, along: str, style: Mapping[str, Style]
) -> Figure:
    """Draw means over data sets with 95 % bootstrap intervals; time-outs lie on the line of the limit."""
    rows = [row for row in experiment.rows if not row.method.is_control]
    hours = max(row.seconds for row in rows) / SECONDS_PER_HOUR
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(2.75, 4.6), layout="constrained")
        panels = figure.subplots(3, 1, sharex=True)
        for number, row in enumerate(rows):
            look = {
                "color": style[row.name].colour,
                "marker": MARKERS[number % len(MARKERS)],
                "label": row.label,
            }
            spent = costs[costs["row"] == row.name]
            runtime = {place: _runtime(fits, row.seconds) for place, fits in spent.groupby(along)}
            _curve(panels[0], runtime, look)
            out = [float(place) for place, fits in spent.groupby(along) if (fits["status"] == "memory").any()]
            if out:
                _out_of_memory(panels[0], min(out), hours, f"{row.label} ≥ {row.memory_mb / 1024:g} GB")
            chosen = metrics[(metrics["row"] == row.name) & (metrics["choice"] == "selected")]
            for axes, metric in zip(panels[1:], ("shd", "sid"), strict=True):
                cells = chosen[chosen["metric"] == metric].groupby(along)["value"]
                _curve(axes, {place: values.dropna().to_numpy(float) for place, values in cells}, look)
        panels[0].axhline(hours, color="black", linestyle="--", linewidth=0.7)
        panels[0].set_yscale("log")
        panels[0].set_ylim(top=2.5 * hours)
        _plain_numbers(panels[0].yaxis)
        for axes, name in zip(panels, ("runtime (hours)", "SHD", "SID"), strict=True):
            axes.set_ylabel(name)
            axes.grid(True, linewidth=0.3, color="#cccccc")
            axes.set_axisbelow(True)
        _places(panels[-1], sorted({float(place) for place in costs[along]}), along)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def interval(values: Values, draws: int = BOOTSTRAPS) -> tuple[float, float]:
    """Return a 95 % bootstrap interval of the mean.

    >>> interval(np.array([2.0, 2.0, 2.0]))
    (2.0, 2.0)
    """
    picks = np.random.default_rng(0).integers(len(values), size=(draws, len(values)))
    low, high = np.quantile(values[picks].mean(axis=1), [0.025, 0.975])
    return float(low), float(high)


def _runtime(fits: pd.DataFrame, limit: float) -> Values:
    """Return hours per data set: what fits took, and the limit where they ran out of time."""
    seconds = fits["seconds"].where(fits["status"] != "timeout", limit)
    kept = seconds[fits["status"].isin(["ok", "timeout"])].dropna()
    return np.asarray(kept, dtype=np.float64) / SECONDS_PER_HOUR


def _curve(axes: Axes, cells: Mapping[float, Values], look: dict[str, str]) -> None:
    known = {float(place): values for place, values in sorted(cells.items()) if len(values)}
    means = np.array([values.mean() for values in known.values()])
    bounds = np.array([interval(values) for values in known.values()]).reshape(-1, 2)
    errors = np.abs(bounds.T - means)
    axes.errorbar(list(known), means, yerr=errors, capsize=1.5, linewidth=0.9, markersize=2.8, **look)  # type: ignore[arg-type]


def _out_of_memory(axes: Axes, place: float, hours: float, text: str) -> None:
    """Name a method under the limit's line, at the first size whose memory it did not have."""
    line = 1 + sum(label.xy[0] == place for label in axes.texts if isinstance(label, Annotation))
    axes.annotate(
        text, (place, hours), (0, -8 * line), textcoords="offset points", fontsize=6, ha="center", va="bottom"
    )  # fmt: skip


def _places(axes: Axes, places: list[float], along: str) -> None:
    axes.set_xlabel(AXIS_NAMES[along])
    if places[-1] >= 50 * places[0]:
        axes.set_xscale("log")
        _plain_numbers(axes.xaxis)
        return
    axes.set_xticks(places, [f"{place:g}" for place in places])


def _plain_numbers(axis: Axis) -> None:
    """Write 1,000 and 0.01 where a logarithmic axis would have powers of ten."""
    axis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else f"{value:g}")
    axis.set_minor_formatter(NullFormatter())
