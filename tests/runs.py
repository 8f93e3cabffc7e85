"""Finished runs without Snakemake: data sets and fits of a plan, written where the workflow writes them."""

from pathlib import Path
from typing import Any

from benchmark.dataset import Dataset
from benchmark.methods import run_grid
from benchmark.plan import Plan, data_path, fit_path
from benchmark.recorded.provenance import provenance
from benchmark.records import Record, failed, read_records, succeeded, write_records
from benchmark.simulate import simulate
from tests.samples import own_configuration

ROWS = ("empty", "sortnregress")
DATA = {"mechanism": "linear", "nodes": 5, "edges_per_node": 1, "intervention": "perfect", "n": 300}
COMMIT = "0123456789ab"
CELL = "fits/known/linear-d5-e1-perfect-n300/00/sortnregress.json"


def small_plan(records: str = "off", rows: tuple[str, ...] = ROWS, **changes: Any) -> Plan:
    """Return a plan of 2 data sets with 5 nodes and cheap methods."""
    experiments = {"mine": {"data": DATA}} | changes.pop("experiments", {})
    settings: dict[str, Any] = {"convention": "released", "datasets": 2, "records": records, "experiments": experiments}
    return Plan(own_configuration(list(rows), **(settings | changes)))


def finish(plan: Plan, results: Path) -> None:
    """Write all data sets and fits of a plan."""
    for experiment in plan.experiments.values():
        for condition in experiment.conditions:
            for index in condition.indices:
                data = simulate(**condition.simulation, seed=plan.data_seed(condition.name, index))
                data.save(results / data_path(condition.name, index))
                for row in experiment.rows:
                    cell = (experiment.targets_of(row), condition.name, index)
                    grid = plan.grid(row.name, *cell)
                    finish_cell(plan, results, data, row.name, cell, grid)


def finish_cell(
    plan: Plan, results: Path, data: Dataset, row: str, cell: tuple[str, str, str], grid: list[dict[str, Any]]
) -> None:
    """Write the fits of one cell."""
    method, seed = plan.rows[row].method, plan.fit_seed(row, *cell)
    shown = data.blind(hide_targets=cell[0] == "unknown")
    records: list[Record] = []
    for combination, fit in zip(grid, run_grid(method, shown, seed, grid), strict=True):
        assert not isinstance(fit, Exception)
        records.append(succeeded(fit, combination, data.names, 0.5, 100.0, 0.25))
    origin = provenance(method, seed, shown, grid) | {"commit": COMMIT}
    write_records(results / fit_path(*cell, row), records, origin)


def change(path: Path, number: int, edges: list[list[str]] | None) -> None:
    """Give a fit of a finished cell another graph, or let it fail where there is none."""
    records, origin = read_records(path)
    if edges is None:
        records[number] = failed("timeout", "too slow", records[number]["hyperparameters"], 9.0, 1.0)
    else:
        records[number]["edges"] = edges
    write_records(path, records, origin)
