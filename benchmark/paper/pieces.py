"""Which part of a run each table and figure of the paper needs, so that one piece can be made on its own."""

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


def _cut(experiment: Experiment, figures: pd.DataFrame) -> Experiment:
    """Return an experiment with those conditions and rows alone that published figures stand for."""
    places = set(figures[PLACE].itertuples(index=False, name=None))
    conditions = [condition for condition in experiment.conditions if _place(experiment, condition) in places]
    tests = {
        test or tailored_test(mechanism) for test in set(figures["test"]) for mechanism in set(figures["mechanism"])
    }
    rows = [row for row in experiment.rows if row.method.label in set(figures["method"]) and _uses(row, tests)]
    return replace(experiment, conditions=tuple(conditions), rows=tuple(rows))


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
