"""What the paper says without a table: directions on two nodes, learned targets, and how cost grows with size."""

import numpy as np
import pandas as pd
import pytest

from benchmark.evaluation import COST_COLUMNS, METRIC_COLUMNS
from benchmark.paper.untabled import directions, exponents, hidden_targets, scaling


def metric_rows(**values: object) -> pd.DataFrame:
    return pd.DataFrame([dict.fromkeys(METRIC_COLUMNS, "") | {"choice": "selected"} | values])


def cost_rows(seconds: dict[int, list[float]], method: str = "DCDI-G", along: str = "n") -> pd.DataFrame:
    experiment = "number_of_examples" if along == "n" else "number_of_variables"
    rows = [
        {along: size, "row": f"{method.lower()}-fixed", "method": method, "status": "ok", "cpu_seconds": value,
         "peak_memory_mb": 100.0 * size**0.5, "experiment": experiment}
        for size, values in seconds.items() for value in values
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=COST_COLUMNS)


def test_directions_are_counted_and_shown_data_set_by_data_set() -> None:
    found = {"00": (1, 0), "01": (0, 0), "02": (0, 1), "03": (1, 0)}
    two_nodes = {"nodes": 2, "mechanism": "x", "setting": "perfect", "row": "dcdi-dsf"}
    rows = [
        metric_rows(**two_nodes, dataset=dataset, metric=metric, value=value)
        for dataset, pair in found.items()
        for metric, value in zip(("tp", "rev"), pair, strict=True)
    ]  # fmt: skip
    larger = metric_rows(nodes=10, mechanism="nn", setting="perfect", row="gies", dataset="00", metric="tp", value=7)
    header, (row,) = directions(pd.concat([*rows, larger]))
    assert dict(zip(header, row, strict=True)) == {
        "Data": "x",
        "Interventions": "perfect",
        "Row": "dcdi-dsf",
        "Right": "2",
        "None": "1",
        "Reversed": "1",
        "Data sets in order": "→ – ← →",
    }


def test_found_targets_are_averaged_over_data_sets_each_counted_once() -> None:
    place = {"mechanism": "nn", "nodes": 10, "edges_per_node": 4.0, "setting": "unknown"}
    shares = {
        "dcdi-g-unknown": [(1.0, 0.5)] * 5 + [(0.5, 0.25)] * 5,
        "ut-igsp-gauss": [(np.nan, 0.0), (0.25, 1.0)],
        "jci-pc": [(np.nan, 0.0)] * 10,
    }
    rows = [
        metric_rows(**place, experiment=experiment, row=row, dataset=f"{index:02d}", metric=metric, value=value)
        for row, pairs in shares.items()
        for index, pair in enumerate(pairs)
        for metric, value in zip(("target_precision", "target_recall"), pair, strict=True)
        for experiment in ("unknown", "ablation_unknown")
    ]
    known = metric_rows(**place | {"setting": "perfect"}, row="cam", dataset="00", metric="target_recall", value=1.0)
    sparse = metric_rows(**place | {"edges_per_node": 1.0}, row="ut-igsp-gauss", dataset="00", metric="shd", value=1.0)
    header, (row,) = hidden_targets(pd.concat([*rows, known, sparse]))
    assert dict(zip(header, row, strict=True)) == {
        "Data": "nn",
        "Nodes": "10",
        "e": "4",
        "dcdi-g-unknown": "0.75 / 0.38",
        "ut-igsp-gauss": "0.25 / 0.50 (2 data sets)",
        "jci-pc": "– / 0.00",
    }


def test_sizes_have_their_cost_and_distances() -> None:
    costs = cost_rows({1000: [2.0, 4.0], 100_000: [600.0, 200.0]})
    costs.loc[3, "status"] = "timeout"
    fitted = {"experiment": "number_of_examples", "row": "dcdi-g-fixed", "n": 1000}
    metrics = pd.concat([metric_rows(**fitted, metric=m, value=v) for m, v in (("shd", 3), ("shd", 4), ("sid", 8))])
    header, (small, large) = scaling(metrics, pd.concat([costs, cost_rows({1000: [0.1]}, method="Empty graph")]))
    assert dict(zip(header, small, strict=True)) == {
        "Row": "dcdi-g-fixed",
        "Size": "n = 1,000",
        "Fits": "2/2",
        "CPU seconds": "3.0",
        "Longest": "4.0",
        "Memory, MB": "3,162",
        "SHD": "3.5",
        "SID": "8.0",
    }
    assert large[1:5] == ["n = 100,000", "1/2", "400.0", "600.0"]
    assert large[-2:] == ["–", "–"]


def test_exponents_are_those_of_the_power_law() -> None:
    seconds = {size: [2.0 * size**1.5] for size in (10, 20, 50)} | {100: [2.0 * 50**1.5 * 8]}
    _, (row,) = exponents(cost_rows(seconds, along="nodes"))
    assert row[:3] == ["dcdi-g-fixed", "d", "10 to 100"]
    assert float(row[4]) == pytest.approx(3.0)
    assert float(row[5]) == pytest.approx(0.5)
    assert 1.5 < float(row[3]) < 3.0
    assert exponents(cost_rows({10: [1.0]}))[1] == []
    costs = cost_rows({10: [1.0], 20: [np.nan]})
    assert exponents(costs)[1] == []
