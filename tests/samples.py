"""Configurations, methods, experiments and metrics to test with, none of which needs a run."""

import copy
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from snakemake.common.configfile import load_configfile
from snakemake.utils import update_config

from benchmark.dataset import Dataset, Fit
from benchmark.evaluation import METRIC_COLUMNS
from benchmark.methods import SETTINGS, Grid, Method, product
from benchmark.plan import Condition, Experiment, Plan, Row, Targets
from benchmark.selection import Selection
from tests.project import ROOT

PRESETS = ("quick", "figures", "measured", "small", "paper", "recorded")


def configuration(preset: str = "paper", /, **changes: Any) -> dict[str, Any]:
    """Return config.yaml with a preset and changes on top, merged as Snakemake merges them."""
    config = copy.deepcopy(_file("config.yaml"))
    if preset != "paper":
        update_config(config, copy.deepcopy(_file(f"presets/{preset}.yaml")))
    update_config(config, changes)
    return config


@cache
def _file(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = load_configfile(str(ROOT / name))
    return loaded


def own_configuration(rows: list[str] | None = None, /, **changes: Any) -> dict[str, Any]:
    """Return a small configuration with one experiment, ``mine``."""
    experiment = {
        "title": "Mine",
        "data": {"mechanism": "linear", "nodes": 5, "edges_per_node": 1, "intervention": "perfect"},
        "methods": rows or ["empty", "sortnregress"],
    }
    config = configuration(run=["mine"], convention="released")
    config["experiments"] = {"mine": experiment}
    update_config(config, changes)
    return config


def put(config: dict[str, Any], key: str, value: Any) -> None:
    """Set a value by its dotted key; ``...`` removes it."""
    *folders, last = key.split(".")
    for folder in folders:
        config = config.setdefault(folder, {})
    if value is ...:
        del config[last]
    else:
        config[last] = value


def no_edges(dataset: Dataset, *, seed: int, **_: Any) -> Fit:
    return Fit(np.zeros((dataset.d, dataset.d), dtype=np.int8))


def method(
    name: str,
    space: dict[str, list[Any]] | Callable[[np.random.Generator], Grid] | None = None,
    selection: Selection = "heldout",
    **attributes: Any,
) -> Method:
    """Return a method that has no file."""
    chosen = space or {}
    draw = chosen if callable(chosen) else lambda rng: product(chosen)
    described: dict[str, Any] = {
        "label": name,
        "file": Path(f"{name}.py"),
        "supports": frozenset(SETTINGS),
        "fit": no_edges,
    }
    return Method(name=name, selection=selection, space=draw, **(described | attributes))


def row(name: str, label: str | None = None, selection: Selection = "heldout", **attributes: Any) -> Row:
    """Return a row of the tables."""
    shown = method(name, selection=selection, label=label or name, **attributes)
    return Row(name, shown.label, shown, {}, selection, 3600.0, 1024.0)


def condition(
    mechanism: str = "linear",
    nodes: int = 10,
    edges_per_node: float = 1,
    intervention: str = "perfect",
    datasets: int = 3,
    convention: str = "released",
    **simulation: Any,
) -> Condition:
    """Return a condition as the plan makes it."""
    data = {"mechanism": mechanism, "nodes": nodes, "edges_per_node": edges_per_node, "intervention": intervention}
    entry = {"title": "", "methods": ["empty"], "data": data | simulation}
    config = own_configuration(datasets=datasets, convention=convention, experiments={"mine": entry})
    (made,) = Plan(config).experiments["mine"].conditions
    return made


SACHS = Condition("sachs", "sachs", 1, {})


def experiment(
    conditions: list[Condition],
    rows: list[Row],
    name: str = "perfect",
    paper: str | None = None,
    targets: Targets = "known",
) -> Experiment:
    """Return an experiment."""
    return Experiment(name, f"Title of {name}", tuple(conditions), tuple(rows), targets, paper)


def metric_rows(
    shown: Experiment,
    place: Condition,
    by: Row,
    values: dict[str, list[float | None]],
    choice: str = "selected",
    hyperparameters: str = "",
    engine: str = "python",
) -> list[dict[str, Any]]:
    """Return rows of metrics, one per metric and data set; None stands for a failed fit."""
    simulation = place.simulation
    nodes = simulation.get("nodes", 11)
    shared = {
        "experiment": shown.name,
        "condition": place.name,
        "setting": shown.setting(place),
        "mechanism": simulation.get("mechanism", place.name),
        "nodes": nodes,
        "edges_per_node": simulation.get("edges_per_node"),
        "n": simulation.get("n", 5846),
        "settings": simulation.get("settings", nodes),
        "convention": simulation.get("convention", "as given"),
        "row": by.name,
        "method": by.label,
        "engine": engine,
        "choice": choice,
        "hyperparameters": hyperparameters,
    }
    return [
        shared
        | {
            "dataset": f"{index:02d}",
            "status": "error" if value is None else "ok",
            "recorded": "",
            "metric": metric,
            "value": value,
        }
        for metric, series in values.items()
        for index, value in enumerate(series)
    ]


def metric_frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return rows of metrics as ``metrics.csv`` has them."""
    frame = pd.DataFrame(rows, columns=METRIC_COLUMNS)
    return frame.astype({"value": float, "edges_per_node": float})
