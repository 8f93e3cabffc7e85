"""The paper's figures of learned joint densities of two variables, with and without an intervention on the effect."""

from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmark.dataset import Dataset
from benchmark.figures import PANEL_NAMES, STYLE, WIDTH

POINTS = 300
STEPS = 160
EDGES = (0.001, 0.999)  # quantiles of the data that panels reach to
LogDensity = Callable[[npt.ArrayLike, int], npt.NDArray[np.float64]]  # rows, setting -> [n x d]


def density_figure(columns: dict[str, tuple[Dataset, LogDensity]]) -> Figure:
    """Draw a column per mechanism: observational above, intervention on the effect below; dots are data."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH * 0.6, WIDTH * 0.6), layout="constrained")
        panels: Any = figure.subplots(2, len(columns), squeeze=False)
        for column, (mechanism, (dataset, density)) in enumerate(columns.items()):
            cause, effect = direction(dataset)
            for line, setting in enumerate((0, setting_on(dataset, effect))):
                _panel(panels[line, column], dataset, density, setting, cause, effect)
            panels[0, column].set_title(PANEL_NAMES.get(mechanism, mechanism))
            panels[-1, column].set_xlabel("cause")
        for line, name in enumerate(("no intervention", "intervention on the effect")):
            panels[line, 0].set_ylabel(f"effect\n({name})")
    return figure


def direction(dataset: Dataset) -> tuple[int, int]:
    """Return cause and effect of the one edge of a two-node data set."""
    if dataset.graph is None or dataset.graph.shape != (2, 2) or dataset.graph.sum() != 1:
        raise ValueError("expected a data set of two variables whose true graph has one edge")
    ((cause, effect),) = np.argwhere(dataset.graph)
    return int(cause), int(effect)


def setting_on(dataset: Dataset, variable: int) -> int:
    """Return the setting that targets a variable alone."""
    wanted = np.arange(dataset.d) == variable
    assert dataset.targets is not None
    (found, *_) = [k for k in range(1, dataset.settings) if (dataset.targets[k] == wanted).all()]
    return found


def _panel(axes: Axes, dataset: Dataset, density: LogDensity, setting: int, cause: int, effect: int) -> None:
    shown_settings = np.isin(dataset.setting, (0, setting_on(dataset, effect)))
    low, high = np.quantile(dataset.X[shown_settings], EDGES, axis=0)
    x, y = np.linspace(low[cause], high[cause], STEPS), np.linspace(low[effect], high[effect], STEPS)
    grid = np.empty((STEPS * STEPS, 2))
    grid[:, cause], grid[:, effect] = (part.ravel() for part in np.meshgrid(x, y))
    joint = np.exp(density(grid, setting).sum(axis=1)).reshape(STEPS, STEPS)
    extent = (float(x[0]), float(x[-1]), float(y[0]), float(y[-1]))
    axes.imshow(joint, origin="lower", extent=extent, aspect="auto", cmap="viridis")
    shown = dataset.X[dataset.setting == setting][:POINTS]
    axes.plot(shown[:, cause], shown[:, effect], ".", color="white", markersize=1.6, alpha=0.7, markeredgewidth=0)
    axes.set_xlim(extent[:2])
    axes.set_ylim(extent[2:])
    axes.set_xticks([])
    axes.set_yticks([])
