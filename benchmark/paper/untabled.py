"""What the paper reports in words, pictures or curves instead of tables.

Directions of two-node graphs, targets that were learned, cost against size.
"""

import numpy as np
import pandas as pd

from benchmark.methods import available, load_method
from benchmark.paper.published import DATASETS
from benchmark.tables import SHARES

SIGNS = {"right": "→", "none": "–", "reversed": "←"}
SIZES = {"number_of_examples": "n", "number_of_variables": "nodes"}  # experiment -> the size that it varies
Table = tuple[list[str], list[list[str]]]


def directions(metrics: pd.DataFrame) -> Table:
    """Return what each row found on every data set of two nodes (Appendix C.2): the edge, none, or the reversed one."""
    header = ["Data", "Interventions", "Row", "Right", "None", "Reversed", "Data sets in order"]
    shown = metrics[(metrics["nodes"] == 2) & (metrics["choice"] == "selected") & metrics["metric"].isin(["tp", "rev"])]
    keys = ["mechanism", "setting", "row"]
    rows = []
    for key, cell in shown.groupby(keys, sort=False):
        counts = cell.pivot_table(index="dataset", columns="metric", values="value")
        found = [_direction(tp, rev) for tp, rev in zip(counts["tp"], counts["rev"], strict=True)]
        numbers = [str(found.count(name)) for name in SIGNS]
        rows.append([*map(str, key), *numbers, " ".join(SIGNS[name] for name in found)])
    return header, rows


def _direction(right: float, reversed_: float) -> str:
    return "right" if right else "reversed" if reversed_ else "none"


def hidden_targets(metrics: pd.DataFrame) -> Table:
    """Return how well each row found hidden targets, by condition: means of precision and recall over data sets."""
    place = ["mechanism", "nodes", "edges_per_node"]
    shown = metrics[(metrics["setting"] == "unknown") & (metrics["choice"] == "selected")]
    shown = shown[shown["metric"].isin(SHARES)].drop_duplicates([*place, "dataset", "row", "metric"])
    cells = {key: _shares(cell) for key, cell in shown.groupby([*place, "row"], sort=False)}
    rows = list(dict.fromkeys(row for *_, row in cells))
    places = list(dict.fromkeys(key[:-1] for key in cells))
    header = ["Data", "Nodes", "e", *rows]
    return header, [
        [mechanism, str(nodes), f"{edges:g}", *(cells.get((mechanism, nodes, edges, row), "–") for row in rows)]
        for mechanism, nodes, edges in places
    ]


def _shares(cell: pd.DataFrame) -> str:
    """Write precision and recall; precision is that of the data sets on which a target was named."""
    means = cell.groupby("metric")["value"].mean()
    datasets = cell["dataset"].nunique()
    few = "" if datasets == DATASETS else f" ({datasets} data sets)"
    return " / ".join("–" if pd.isna(means[share]) else f"{means[share]:.2f}" for share in SHARES) + few


def scaling(metrics: pd.DataFrame, costs: pd.DataFrame) -> Table:
    """Return time, memory and distances of each row by the size that an experiment varies (Appendix C.3)."""
    header = ["Row", "Size", "Fits", "CPU seconds", "Longest", "Memory, MB", "SHD", "SID"]
    rows = []
    for experiment, along in SIZES.items():
        distances = metrics[(metrics["experiment"] == experiment) & (metrics["choice"] == "selected")]
        for (row, size), fits in _of_methods(costs, experiment).groupby(["row", along], sort=False):
            own = distances[(distances["row"] == row) & (distances[along] == size)].groupby("metric")["value"].mean()
            rows.append(
                [
                    str(row),
                    f"{'n' if along == 'n' else 'd'} = {size:,}",
                    f"{(fits['status'] == 'ok').sum()}/{len(fits)}",
                    f"{fits['cpu_seconds'].mean():,.1f}",
                    f"{fits['cpu_seconds'].max():,.1f}",
                    f"{fits['peak_memory_mb'].max():,.0f}",
                    *(f"{own[metric]:.1f}" if metric in own else "–" for metric in ("shd", "sid")),
                ]
            )
    return header, rows


def exponents(costs: pd.DataFrame) -> Table:
    """Return the powers of the size that time and memory grow with, by least squares over logarithms."""
    header = ["Row", "Against", "Sizes", "CPU seconds", "From the last size but one", "Memory"]
    rows = []
    for experiment, along in SIZES.items():
        shown = _of_methods(costs, experiment)
        for row, fits in shown[shown["status"] == "ok"].groupby("row", sort=False):
            sizes = sorted(fits[along].unique())
            if len(sizes) < 2:
                continue
            last = fits[fits[along] >= sizes[-2]]
            powers = [
                power(fits[along], fits["cpu_seconds"]),
                power(last[along], last["cpu_seconds"]),
                power(fits[along], fits["peak_memory_mb"]),
            ]
            span = f"{sizes[0]:,} to {sizes[-1]:,}"
            rows.append([str(row), "n" if along == "n" else "d", span, *(f"{value:.2f}" for value in powers)])
    return header, rows


def power(sizes: "pd.Series[float]", values: "pd.Series[float]") -> float:
    """Return the exponent of the power law nearest to the values.

    >>> power(pd.Series([1, 10, 100]), pd.Series([2.0, 200.0, 20000.0])).__round__(6)
    2.0
    """
    slope, _ = np.polyfit(np.log(sizes.to_numpy(float)), np.log(values.to_numpy(float)), 1)
    return float(slope)


def _of_methods(costs: pd.DataFrame, experiment: str) -> pd.DataFrame:
    """Return the costs of an experiment without those of the controls, and without what was never fitted."""
    chosen = costs[(costs["experiment"] == experiment) & costs["cpu_seconds"].notna()]
    controls = [method.label for method in map(load_method, available()) if method.is_control]
    return chosen[~chosen["method"].isin(controls)]
