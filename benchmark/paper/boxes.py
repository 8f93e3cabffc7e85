"""The paper's boxplots: its methods with the test that suits the data, one name each, controls left out."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
from matplotlib.figure import Figure

from benchmark.figures import boxplots
from benchmark.paper.pieces import tailored
from benchmark.paper.published import load_published, published_means
from benchmark.plan import Experiment
from benchmark.styles import Style, method_style


def paper_boxplots(experiment: Experiment, metrics: pd.DataFrame, along: str) -> Figure:
    """Draw SHD and SID of an experiment as the paper does, with its published means as diamonds."""
    setting = experiment.setting(experiment.conditions[0])
    chosen = {
        condition.name: tailored(experiment.rows, condition.simulation["mechanism"])
        for condition in experiment.conditions
    }
    names = {(place, row.name): method for place, rows in chosen.items() for method, row in rows.items()}
    keys = list(zip(metrics["condition"], metrics["row"], strict=True))
    shown = metrics[[key in names for key in keys]].assign(row=[names[key] for key in keys if key in names])
    published = {
        (place, names[place, row], metric): mean
        for (place, row, metric), mean in published_means(experiment).items()
        if (place, row) in names
    }
    rows = {
        method: replace(row, name=method, label=row.method.label)
        for by in chosen.values()
        for method, row in by.items()
    }
    published_rows = load_published()
    mine = (published_rows["experiment"] == experiment.paper) & (published_rows["setting"] == setting)
    order = list(published_rows.loc[mine, "method"].unique())
    kept = sorted(rows.values(), key=lambda row: order.index(row.label) if row.label in order else len(order))
    style: Mapping[str, Style] = {row.name: method_style(row.name) for row in kept}
    whole = replace(experiment, rows=tuple(kept))
    return boxplots(whole, shown, along, None, style, published, titled=False)
