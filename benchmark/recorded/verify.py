"""Fit a random sample of recorded fits again and compare: ``python -m benchmark.recorded.verify``, ``make verify``."""

import argparse
import random
import sys
import time
from typing import Any, NamedTuple

import numpy as np

from benchmark.config import ConfigError, load_config
from benchmark.dataset import Dataset, DatasetError, Fit
from benchmark.evaluation import describe
from benchmark.methods import run_grid
from benchmark.metrics import shd
from benchmark.plan import Condition, Plan
from benchmark.recorded.provenance import data_fingerprint
from benchmark.recorded.recall import Recall
from benchmark.recorded.store import Cell, Entry, RecordedFit, Store, StoreError, combination_text
from benchmark.records import to_graph
from benchmark.sachs import load_sachs
from benchmark.simulate import simulate


class Sampled(NamedTuple):
    """A recorded fit and its cell."""

    entry: Entry
    cell: Cell
    fit: RecordedFit

    @property
    def name(self) -> str:
        """Where it stands, for people."""
        entry = self.entry
        place = f"{entry.targets}/{entry.condition}/{entry.dataset}/{entry.row}"
        return f"{place} ({describe(self.fit['hyperparameters'])})" if self.fit["hyperparameters"] else place


class Comparison(NamedTuple):
    """A recorded fit beside the same one made now."""

    name: str
    same_data: bool
    distance: int | None  # SHD between the two graphs; None where one of them failed
    score_difference: float | None
    recorded_seconds: float
    seconds: float
    remark: str

    @property
    def is_same(self) -> bool:
        """Whether the graphs are equal."""
        return self.distance == 0

    def text(self) -> str:
        """Return it as a line."""
        parts = ["same graph" if self.is_same else self.remark or f"SHD {self.distance} between the two"]
        if self.score_difference is not None:
            parts.append(f"held-out score differs by {self.score_difference:.1e}")
        if not self.same_data:
            parts.append("the data differ")
        parts.append(f"{self.seconds:.1f} CPU s, recorded {self.recorded_seconds:.1f}")
        return f"{self.name}: {', '.join(parts)}"


def sample(plan: Plan, store: Store, count: int, seed: int, rows: list[str] | None = None) -> list[Sampled]:
    """Draw recorded fits that succeeded and whose data the plan knows how to make, each as likely as the others."""
    recall = Recall(plan, store)
    entries = [
        entry
        for experiment in plan.experiments.values()
        for condition in experiment.conditions
        if condition.source != "file"
        for index in condition.indices
        for row in experiment.rows
        if (not rows or row.name in rows)
        and (entry := recall.recalled(experiment.targets, condition.name, index, row.name).entry) is not None
    ]
    places = [(entry, number) for entry in dict.fromkeys(entries) for number in range(entry.ok)]
    drawn = random.Random(seed).sample(places, min(count, len(places)))
    found = []
    for entry, number in drawn:
        cell = store.read(entry)
        succeeded = [fit for fit in cell["fits"] if fit["status"] == "ok"]
        found.append(Sampled(entry, cell, succeeded[number]))
    return found


def compare(plan: Plan, sampled: Sampled) -> Comparison:
    """Fit again and compare."""
    entry, cell, fit = sampled
    method = plan.rows[entry.row].method
    dataset = make_dataset(plan, plan.conditions[entry.condition], entry.dataset, twin=method.data == "twin")
    shown = dataset.blind(hide_targets=entry.targets == "unknown")
    grid = plan.grid(entry.row, entry.targets, entry.condition, entry.dataset)
    text = combination_text(fit["hyperparameters"])
    combination = next(one for one in grid if combination_text(one) == text)
    method.warm_up()
    started = time.process_time()
    made: Any
    try:
        (made,) = run_grid(method, shown, entry.seed, [combination])
    except Exception as error:  # whatever the method raises is the answer
        made = error
    seconds = time.process_time() - started
    distance, difference, remark = None, None, ""
    if isinstance(made, Fit):
        recorded = to_graph(fit["edges"] or [], tuple(cell["names"]))
        same = np.array_equal(recorded, made.graph)
        distance = 0 if same else shd(recorded, made.graph)
        if fit["heldout_nll"] is not None and made.heldout_nll is not None:
            difference = abs(fit["heldout_nll"] - made.heldout_nll)
    else:
        remark = f"it failed now ({type(made).__name__}: {made})"
    before = fit.get("cpu_seconds") or fit["seconds"] or 0.0
    return Comparison(
        sampled.name, data_fingerprint(shown) == entry.data, distance, difference, before, seconds, remark
    )


def make_dataset(plan: Plan, condition: Condition, index: str, *, twin: bool) -> Dataset:
    """Return a data set of a plan, made as the workflow makes it."""
    seed = plan.data_seed(condition.name, index)
    if condition.source == "sachs":
        return load_sachs(heldout=plan.config["heldout"], seed=seed)
    if condition.source == "published":
        from benchmark.paper import data as paper  # the suite works without the paper

        paper.bring()
        return Dataset.load(paper.imported_file(condition.simulation, index, twin=twin))
    return simulate(**(condition.simulation | ({"intervention": "none"} if twin else {})), seed=seed)


def main(arguments: list[str] | None = None) -> int:
    """Verify a sample; 1 where a graph is another one now."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.recorded.verify", description=__doc__)
    parser.add_argument("count", type=int, help="how many fits")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--rows", nargs="*", help="only of these rows, such as dcdi-g gies")
    parser.add_argument("--preset", default="recorded", help="whose conditions and rows the sample is drawn from")
    options = parser.parse_args(arguments)
    try:
        plan = Plan(load_config(options.preset) | {"records": "only"})
        drawn = sample(plan, Store(), options.count, options.seed, options.rows)
        expected = sum(one.fit.get("cpu_seconds") or one.fit["seconds"] or 0.0 for one in drawn)
        print(f"{len(drawn)} recorded fits are made again; when recorded they took {expected:.0f} CPU s", flush=True)
        comparisons = []
        for one in drawn:
            comparisons.append(compare(plan, one))
            print(comparisons[-1].text(), flush=True)
    except (ConfigError, StoreError, DatasetError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    same = sum(comparison.is_same for comparison in comparisons)
    print(f"{same} of {len(comparisons)} have the same graph as recorded")
    return 0 if same == len(comparisons) else 1


if __name__ == "__main__":
    sys.exit(main())
