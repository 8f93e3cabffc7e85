"""Which part of a run each table and figure of the paper needs, so that one piece can be made on its own."""

from collections.abc import Iterable
from dataclasses import replace

import pandas as pd

from benchmark.paper.published import drawn_as_published, load_published, tailored_test
from benchmark.plan import Condition, Experiment, Plan, Row

PREFIX = "tab:"
SACHS_NODES = 11
PLACE = ["experiment", "setting", "mechanism", "nodes", "edges_per_node"]


def table_pieces(plan: Plan) -> dict[str, list[Experiment]]:
    """Return, for each table of the paper that a run has part of, the experiments behind it, cut to what it shows."""
    pieces: dict[str, list[Experiment]] = {}
    for label, figures in load_published().groupby("table", sort=False):
        cut = [_cut(experiment, figures) for experiment in plan.experiments.values()]
        found = [experiment for experiment in cut if experiment.conditions and experiment.rows]
        if found:
            pieces[str(label).removeprefix(PREFIX)] = found
    return pieces


def figure_pieces(plan: Plan) -> dict[str, list[Experiment]]:
    """Return the same for the figures of metrics and costs: a part per experiment and mechanism."""
    pieces: dict[str, list[Experiment]] = {}
    for experiment in plan.experiments.values():
        for label, parts in _figures(experiment).items():
            pieces[label] = pieces.get(label, []) + [part for part in parts if part.rows]
    return {label: parts for label, parts in pieces.items() if parts}


def one_fit_pieces(plan: Plan) -> dict[str, Experiment]:
    """Return the first cell of the experiments whose figures show one fit."""
    labels = ("learning_dynamic", "learning_targets")
    return {
        e.paper: replace(e, conditions=(replace(e.conditions[0], datasets=1),), rows=e.rows[:1])
        for e in plan.experiments.values()
        if e.paper is not None and e.paper in labels
    }


def unseen_pieces(plan: Plan) -> dict[str, Experiment]:
    """Return the experiments of the figures of unseen interventions."""
    labels = ("nn_unseen", "sachs_unseen")
    return {e.paper: e for e in plan.experiments.values() if e.paper is not None and e.paper in labels}


def density_pieces(plan: Plan) -> dict[str, Experiment]:
    """Return the conditions and the row of the figures of learned densities."""
    pieces = {}
    for experiment in plan.experiments.values():
        for label, method in (("naf_density", "dcdi-dsf"), ("gd_density", "dcdi-g")):
            rows = tuple(row for row in experiment.rows if row.method.name == method)[:1]
            if experiment.paper == "densities" and rows:
                pieces[label] = replace(experiment, rows=rows)
    return pieces


def _figures(experiment: Experiment) -> dict[str, list[Experiment]]:
    if experiment.paper == "main" and all(condition.simulation for condition in experiment.conditions):
        label = f"results_{experiment.setting(experiment.conditions[0])}"
        return {label: _of_nodes(experiment, 20), f"{label}_10_nodes": _of_nodes(experiment, 10)}
    if experiment.paper in ("nbinterv", "data_scale_examples", "data_scale_variables"):
        rows = tuple(row for row in experiment.rows if not row.method.is_control)
        return {experiment.paper: [replace(experiment, rows=rows)]}
    return {}


def _of_nodes(experiment: Experiment, nodes: int) -> list[Experiment]:
    """Return a part per mechanism with the methods of the paper, each with the test that suits the data."""
    parts = []
    places = [condition for condition in experiment.conditions if condition.simulation["nodes"] == nodes]
    for mechanism in dict.fromkeys(condition.simulation["mechanism"] for condition in places):
        mine = tuple(condition for condition in places if condition.simulation["mechanism"] == mechanism)
        parts.append(replace(experiment, conditions=mine, rows=tuple(tailored(experiment.rows, mechanism).values())))
    return parts


def tailored(rows: Iterable[Row], mechanism: str) -> dict[str, Row]:
    """Return the row that stands for each method of the paper on data of a mechanism, by the method's name.

    Of several rows of a method it is the first that has no test, or the test that the paper uses on such data.
    """
    chosen: dict[str, Row] = {}
    for row in rows:
        suits = row.hyperparameters.get("test") in (None, tailored_test(mechanism))
        if suits and not row.method.is_control:
            chosen.setdefault(row.method.name, row)
    return chosen


def _cut(experiment: Experiment, figures: pd.DataFrame) -> Experiment:
    """Return an experiment with those conditions and rows alone that published figures stand for."""
    places = set(figures[PLACE].itertuples(index=False, name=None))
    conditions = [condition for condition in experiment.conditions if _place(experiment, condition) in places]
    tests = {
        test or tailored_test(mechanism) for test in set(figures["test"]) for mechanism in set(figures["mechanism"])
    }
    rows: dict[tuple[str, str | None], Row] = {}
    for row in experiment.rows:
        if row.method.label in set(figures["method"]) and _uses(row, tests):
            # Of rows that differ in something else the first is shown, so no other is needed.
            rows.setdefault((row.method.name, row.hyperparameters.get("test")), row)
    return replace(experiment, conditions=tuple(conditions), rows=tuple(rows.values()))


def _place(experiment: Experiment, condition: Condition) -> tuple[str | int, ...] | None:
    """Return where published figures of a condition are found; nothing where its data are drawn otherwise."""
    simulation = condition.simulation
    if experiment.paper is None or not drawn_as_published(simulation):
        return None
    if not simulation:
        return experiment.paper, experiment.setting(condition), condition.name, SACHS_NODES, ""
    return (
        experiment.paper,
        experiment.setting(condition),
        simulation["mechanism"],
        simulation["nodes"],
        f"{simulation['edges_per_node']:g}",
    )


def _uses(row: Row, tests: set[str]) -> bool:
    return row.hyperparameters.get("test") is None or row.hyperparameters["test"] in tests
