"""The figures that the paper publishes (``resources/paper/results.csv``)."""

from functools import cache
from typing import Any

import pandas as pd

from benchmark.methods import ROOT
from benchmark.plan import Experiment

FILE = ROOT / "resources" / "paper" / "results.csv"
DATASETS = 10  # per condition
ROWS = 10_000
DEFAULT_ALPHA = "1e-3"


@cache
def load_published() -> pd.DataFrame:
    """Return all figures; ``alpha``, ``test`` and ``edges_per_node`` are text, empty where the paper names none."""
    text = {"alpha": str, "test": str, "edges_per_node": str}
    return pd.read_csv(FILE, dtype=text, keep_default_na=False, na_values={"std": [""]})


def drawn_as_published(simulation: dict[str, Any]) -> bool:
    """Say whether data are drawn as the paper's tables: 10,000 rows, a setting per node, 1 to d / 10 targets."""
    if not simulation:
        return True  # Sachs
    nodes = simulation["nodes"]
    usual = [1, max(1, nodes // 10)]
    drawn = simulation.get("n", ROWS), simulation.get("settings", nodes), simulation.get("targets_per_setting", usual)
    return drawn == (ROWS, nodes, usual)


def tailored_test(mechanism: str) -> str:
    """Return the test that the paper uses where it names none: partial correlation for linear data, else KCI."""
    return "gauss" if mechanism == "linear" else "kci"


def condition_figures(experiment: str, setting: str, simulation: dict[str, Any]) -> pd.DataFrame:
    """Return the figures of one condition, of methods without a score those with the usual alpha."""
    published = load_published() if drawn_as_published(simulation) else load_published().iloc[:0]
    mechanism = simulation.get("mechanism", "sachs")
    keep = (published["experiment"] == experiment) & (published["setting"] == setting)
    keep &= published["mechanism"] == mechanism
    if simulation:
        keep &= published["nodes"] == simulation["nodes"]
        keep &= published["edges_per_node"] == f"{simulation['edges_per_node']:g}"
    return published[keep & published["alpha"].isin(["", DEFAULT_ALPHA])]


def main_figures(experiment: str, setting: str, simulation: dict[str, Any]) -> pd.DataFrame:
    """Return the figures of one condition that stand in the paper's main text: one row per method and metric."""
    found = condition_figures(experiment, setting, simulation)
    tailored = found["test"].isin(["", tailored_test(simulation.get("mechanism", "sachs"))])
    # JCI-PC is published with partial correlations alone, on all data.
    return found[tailored | ~found["method"].isin(found.loc[tailored, "method"])]


def published_means(experiment: Experiment) -> dict[tuple[str, str, str], float]:
    """Return the published means that stand for the selected results of an experiment: (condition, row, metric)."""
    if experiment.paper is None:
        return {}
    means = {}
    for condition in experiment.conditions:
        figures = condition_figures(experiment.paper, experiment.setting(condition), condition.simulation)
        for row in experiment.rows:
            test = row.hyperparameters.get("test")
            mine = figures[figures["method"] == row.method.label]
            tests = ["", *([test] if test else mine["test"])]
            for metric, mean in mine.loc[mine["test"].isin(tests), ["metric", "mean"]].itertuples(index=False):
                means[condition.name, row.name, metric] = float(mean)
    return means
