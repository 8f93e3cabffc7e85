"""What a run will cost, from what its fits cost before: ``python -m benchmark.recorded.cost PRESET``, or ``make plan``.

A fit's cost is that of the recorded or finished fits most like it: of the same row on the same condition, else on data
of as many nodes, else of the nearest size of the same row, else of other rows of its method. A cost grows from one size
to another as those of the method's rows do that are known at both. Costs are CPU seconds: one fit uses one core.
"""

import argparse
import math
import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmark.config import ConfigError, load_config
from benchmark.methods import ROOT, MethodError
from benchmark.plan import MB_PER_GB, Plan, fit_path
from benchmark.recorded.recall import Recall
from benchmark.recorded.store import Store, StoreError
from benchmark.records import RecordError, read_records

SECONDS_PER_JOB = 1.5  # a job's own start, beside its fits
SECONDS_PER_HOUR = 3600
MANY_FITS = 1_000_000
USUAL_NODES = 10  # of data whose name does not say it
USUAL_GROWTH = 1.5  # power of the number of nodes with which a cost grows, where no row of a method tells: DCDI-G's


class Job(NamedTuple):
    """The fits of one cell that a plan still needs."""

    experiment: str
    targets: str
    condition: str
    dataset: str
    row: str
    method: str
    fits: int
    is_recorded: bool
    is_done: bool


class Line(NamedTuple):
    """One line of the plan: what an experiment needs of a row."""

    experiment: str
    row: str
    recorded: int
    done: int
    jobs: int
    fits: int
    hours: float | None  # None: nothing like it was ever fitted


class Spent:
    """CPU seconds and fits of what has something in common, by the number of nodes."""

    def __init__(self) -> None:
        self._sums: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def add(self, nodes: int, seconds: float, fits: int) -> None:
        """Take a cell's fits into account."""
        self._sums[nodes][0] += seconds
        self._sums[nodes][1] += fits

    def mean(self, nodes: int, growth: float) -> float:
        """Return the cost of a fit, from the nearest size."""
        nearest = min(self._sums, key=lambda known: (abs(math.log(known / nodes)), known))
        seconds, fits = self._sums[nearest]
        return seconds / fits * math.pow(nodes / nearest, growth)

    def growth(self) -> float | None:
        """Return the power of the number of nodes by which costs grow from the smallest size to the largest."""
        first, last = min(self._sums), max(self._sums)
        costs = self.mean(first, 0.0), self.mean(last, 0.0)
        return math.log(costs[1] / costs[0]) / math.log(last / first) if last > first and min(costs) > 0 else None


class UnitCosts:
    """CPU seconds of a fit, from cells whose cost is known."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], Spent] = defaultdict(Spent)
        self._rows: dict[str, dict[tuple[str, ...], None]] = defaultdict(dict)

    def add(self, row: str, method: str, targets: str, condition: str, seconds: float, fits: int) -> None:
        """Take a cell's fits into account."""
        for place in _places(row, method, targets, condition):
            self._known[place].add(_nodes(condition), seconds, fits)
        self._rows[method]["row", row, targets] = None

    def seconds(self, row: str, method: str, targets: str, condition: str) -> float | None:
        """Return the mean cost of the fits that are most like one; None where there are none."""
        for place in _places(row, method, targets, condition):
            if place in self._known:
                return self._known[place].mean(_nodes(condition), self._growth(method))
        return None

    def _growth(self, method: str) -> float:
        growths = [growth for row in self._rows[method] if (growth := self._known[row].growth()) is not None]
        return math.fsum(growths) / len(growths) if growths else USUAL_GROWTH


def _places(row: str, method: str, targets: str, condition: str) -> list[tuple[str, ...]]:
    """Return what fits can have in common with one, the most telling first."""
    parts = condition.split("-")
    size = "-".join(part for part in parts if re.fullmatch(r"[dn]\d+", part))
    density = "-".join(part for part in parts if re.fullmatch(r"[dne]\d+(\.\d+)?", part))
    return [
        ("condition", row, targets, condition),
        ("density", row, targets, density),
        ("size", row, targets, size),
        ("row", row, targets),
        ("size", method, targets, size),
        ("size", method, "any", size),
        ("method", method),
    ]


def _nodes(condition: str) -> int:
    return next((int(part[1:]) for part in condition.split("-") if re.fullmatch(r"d\d+", part)), USUAL_NODES)


def jobs_of(plan: Plan, recall: Recall, results: Path) -> Iterator[Job]:
    """Yield each cell of a plan once; one that is recorded, or that only records could give, has no fits."""
    for experiment, condition, index, row in plan.cells():
        cell = (experiment.targets_of(row), condition.name, index, row.name)
        recalled = recall.recalled(*cell)
        fits = len(recalled.rest)
        is_recorded = recalled.entry is not None and not fits
        is_done = fits > 0 and (results / fit_path(*cell)).exists()
        yield Job(experiment.name, *cell, row.method.name, fits, is_recorded, is_done)


def unit_costs(store: Store, results: Path, jobs: list[Job]) -> UnitCosts:
    """Return what fits cost, in the records and in the finished part of a run."""
    costs = UnitCosts()
    for entry in store.entries.values():
        costs.add(entry.row, entry.method, entry.targets, entry.condition, entry.cpu_seconds, entry.fits)
    for job in jobs:
        if job.is_done:
            try:
                records, _ = read_records(results / fit_path(*job[1:5]))
            except RecordError:
                continue  # whoever needs it will say so
            spent = sum(record.get("cpu_seconds") or record.get("seconds") or 0.0 for record in records)
            costs.add(job.row, job.method, job.targets, job.condition, spent, len(records))
    return costs


def lines_of(jobs: list[Job], costs: UnitCosts) -> list[Line]:
    """Return the plan by experiment and row."""
    grouped: dict[tuple[str, str], list[Job]] = defaultdict(list)
    for job in jobs:
        grouped[job.experiment, job.row].append(job)
    lines = []
    for (experiment, row), group in grouped.items():
        left = [job for job in group if job.fits and not job.is_done]
        hours: float | None = 0.0
        for job in left:
            unit = costs.seconds(job.row, job.method, job.targets, job.condition)
            hours = None if unit is None or hours is None else hours + (unit * job.fits + SECONDS_PER_JOB) / 3600
        recorded = sum(job.is_recorded for job in group)
        done = sum(job.is_done for job in group)
        lines.append(Line(experiment, row, recorded, done, len(left), sum(job.fits for job in left), hours))
    return lines


def describe(lines: list[Line], cores: int, finished: list[float], now: float) -> str:
    """Return the plan as a table with its sums; ``finished``: when the cells that are done were written."""
    header = ("experiment", "method", "recorded", "done", "to fit", "fits", "core-hours")
    rows: list[tuple[str, ...]] = [header]
    for line in lines:
        counts = (f"{count:,}" for count in (line.recorded, line.done, line.jobs, line.fits))
        rows.append((line.experiment, line.row, *counts, "?" if line.hours is None else f"{line.hours:.2f}"))
    known = sum(line.hours or 0.0 for line in lines)
    unknown = sorted({line.row for line in lines if line.hours is None})
    total = [sum(getattr(line, name) for line in lines) for name in ("recorded", "done", "jobs", "fits")]
    rows.append(("all", "", *(f"{count:,}" for count in total), f"{known:.2f}"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(header))]
    text = [_aligned(row, widths) for row in rows]
    text.insert(1, "  ".join("-" * width for width in widths))
    jobs = total[2]
    text.append("")
    text.append(
        f"{jobs:,} jobs with {total[3]:,} fits are left: {known:.1f} core-hours, {known / cores:.1f} hours on "
        f"{cores} core{'s' if cores > 1 else ''}."
    )
    if unknown:
        text.append(f"Not counted, because no fit like them is recorded: {', '.join(unknown)}.")
    if jobs and finished:
        ends = time.strftime("%Y-%m-%d %H:%M", time.localtime(now + known / cores * SECONDS_PER_HOUR))
        share = total[1] / (total[1] + jobs)
        last = (now - max(finished)) / 60
        text.append(
            f"{share:.0%} of the jobs are done, the last one {last:.0f} minutes ago; the rest would end {ends}."
        )
    return "\n".join(text)


def summary(plan: Plan, recall: Recall, results: Path) -> str:
    """Return in one sentence what a run has to fit."""
    jobs = list(jobs_of(plan, recall, results))
    if recall.mode == "only":
        recorded = sum(job.is_recorded for job in jobs)
        return f"Cells: {recorded:,} recorded, {len(jobs) - recorded:,} not; records: only fits nothing"
    lines = lines_of(jobs, unit_costs(recall.store or Store(), results, jobs))
    recorded, done, left, fits = (sum(getattr(line, name) for line in lines) for name in Line._fields[2:6])
    unknown = sum(line.hours is None for line in lines)
    known = sum(line.hours or 0.0 for line in lines)
    more = f", and {unknown} row{'s' if unknown > 1 else ''} of unknown cost" if unknown else ""
    return (
        f"Cells: {recorded:,} recorded, {done:,} done, {left:,} to be fitted ({fits:,} fits, about {known:.1f} "
        f"core-hours{more})"
    )


def idle_cores(plan: Plan, cores: int, memory_mb: float, runner_mb: float) -> str:
    """Return a warning of cores that stay idle, because memory is set aside for each fit, or nothing."""
    largest = max(row.memory_mb for row in plan.rows.values())
    at_once = max(1, int(memory_mb / (largest + runner_mb)))
    if at_once >= cores:
        return ""
    rows = [name for name, row in plan.rows.items() if row.memory_mb == largest]
    fits = f"fit{'s' if at_once > 1 else ''}" + ("" if len(rows) == len(plan.rows) else f" of {', '.join(rows)}")
    return (
        f"Memory: {memory_mb / MB_PER_GB:.0f} GB hold {at_once} {fits} at a time, not {cores}: each may use "
        f"{largest / MB_PER_GB:g} GB. Lower limits.memory_gb to what fits need: costs.csv of a run says it."
    )


def warning(plan: Plan) -> str:
    """Return a warning of a plan that nobody may have meant, or nothing; no cell is listed for it."""
    fits = {
        name: sum(
            condition.datasets * len(plan.grid(row.name, experiment.targets_of(row), condition.name, "00"))
            for condition in experiment.conditions
            for row in experiment.rows
        )
        for name, experiment in plan.experiments.items()
    }
    if sum(fits.values()) < MANY_FITS:
        return ""
    largest = max(fits, key=lambda name: fits[name])
    return (
        f"This preset asks for {sum(fits.values()):,} fits, {fits[largest]:,} of them in experiments.{largest}. If "
        "that is not what you mean, stop here (Ctrl-C): datasets, experiments and methods say how many there are."
    )


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    justify: list[Callable[[str, int], str]] = [str.ljust, str.ljust, *[str.rjust] * 5]
    return "  ".join(put(text, width) for put, text, width in zip(justify, row, widths, strict=True)).rstrip()


def main(arguments: list[str] | None = None) -> int:
    """Print the plan of a preset."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.recorded.cost", description=__doc__.splitlines()[0])
    parser.add_argument("preset", help="paper, or the name of a file in presets/")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="how many fits run at once")
    options = parser.parse_args(arguments)
    try:
        plan = Plan(load_config(options.preset))
        results = ROOT / "results" / plan.config["preset"]
        store = Store()
        jobs = list(jobs_of(plan, Recall(plan, store), results))
        costs = unit_costs(store, results, jobs)
    except (ConfigError, MethodError, StoreError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    finished = [(results / fit_path(*job[1:5])).stat().st_mtime for job in jobs if job.is_done]
    print(describe(lines_of(jobs, costs), options.cores, finished, time.time()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
