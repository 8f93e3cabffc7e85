"""How long a run will still take, by what fits like its own cost, and which fits are running."""

import time
from collections.abc import Iterable
from pathlib import Path

from benchmark.plan import Plan
from benchmark.recorded.cost import SECONDS_PER_JOB, jobs_of, unit_costs
from benchmark.recorded.recall import Recall
from benchmark.recorded.store import Store

Cell = tuple[str, str, str, str]
LONGEST_LIST = 3


class Progress:
    """The fits of a run that are left, with their costs.

    Costs come from the records and from what is finished of the run; a fit like none of these counts as the mean of the
    others. This machine may be slower or faster: the fits that have ended here scale those that are left.
    """

    def __init__(self, plan: Plan, recall: Recall, results: Path, cores: int) -> None:
        jobs = list(jobs_of(plan, recall, results))
        costs = unit_costs(recall.store or Store(), results, jobs)
        known: dict[Cell, float | None] = {}
        for job in jobs:
            if job.fits:
                unit = costs.seconds(job.row, job.method, job.targets, job.condition)
                cell = (job.targets, job.condition, job.dataset, job.row)
                known[cell] = None if unit is None else unit * job.fits + SECONDS_PER_JOB
        values = [seconds for seconds in known.values() if seconds is not None]
        self._typical = sum(values) / len(values) if values else SECONDS_PER_JOB
        self._costs = {cell: self._typical if seconds is None else seconds for cell, seconds in known.items()}
        self._cores = cores
        self._running: dict[int, tuple[Cell, float]] = {}
        self._spent, self._expected = 0.0, 0.0
        self.left: dict[Cell, float] = {}
        self.total = 0

    def expect(self, cells: Iterable[Cell]) -> None:
        """Take note of the jobs that a run has: of a whole preset, or of the few that somebody asked for."""
        self.left = {cell: self._costs.get(cell, self._typical) for cell in cells}
        self.total = len(self.left)

    def start(self, number: int, *, targets: str, condition: str, index: str, row: str) -> None:
        """Take note of a job that has started."""
        self._running[number] = ((targets, condition, index, row), time.monotonic())

    def end(self, number: int) -> bool:
        """Take note of a job that has ended; return whether it was a fit."""
        if number not in self._running:
            return False
        cell, started = self._running.pop(number)
        self._spent += time.monotonic() - started
        self._expected += self.left.pop(cell, 0.0)
        return True

    def seconds(self) -> float:
        """Return the time that the fits left will take on all cores."""
        pace = self._spent / self._expected if self._expected > 0 else 1.0
        longest = max(self.left.values(), default=0.0)
        return pace * max(sum(self.left.values()) / self._cores, longest)

    def describe(self) -> str:
        """Return a line about what is done, what is left and what is running."""
        done = self.total - len(self.left)
        cells = [cell for cell, _ in self._running.values()]
        shown = ", ".join(f"{row} on {condition}/{index}" for _, condition, index, row in cells[:LONGEST_LIST])
        more = f" and {len(cells) - LONGEST_LIST} more" if len(cells) > LONGEST_LIST else ""
        running = f"; running: {shown}{more}" if cells else ""
        left = f"about {duration(self.seconds())} of fitting left" if self.left else "all fits are done"
        return f"{done:,} of {self.total:,} jobs of fits done, {left}{running}"


def duration(seconds: float) -> str:
    """Return a time as people say it.

    >>> duration(40), duration(200), duration(7800), duration(300_000)
    ('1 minute', '3 minutes', '2.2 hours', '3.5 days')
    """
    for unit, size, digits in (("day", 86_400, 1), ("hour", 3600, 1)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.{digits}f} {unit}s"
    minutes = max(1, round(seconds / 60))
    return f"{minutes} minute{'' if minutes == 1 else 's'}"
