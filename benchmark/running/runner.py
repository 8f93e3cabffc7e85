"""Run one method on one data set, over its whole grid, within limits; every outcome becomes a record.

The fits run in processes of their own (:mod:`benchmark.running.worker`), which have neither the true graph nor hidden
targets. One that takes too long or too much memory is ended without losing those already done, and nothing that it
started outlives it. What comes back is plain data, checked here.
"""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmark.dataset import Dataset
from benchmark.methods import Grid, Method, MethodError
from benchmark.records import Record, failed, succeeded
from benchmark.running.delivery import DeliveryError, unpack
from benchmark.running.plain import clean, plain
from benchmark.running.supervisor import Confinement, Failure, Limits, Supervisor

__all__ = ["Confinement", "Limits", "run"]

# A fit has one core. Clocks are coarse, and a little work of a helper is none of this.
_CORES = 1.25
_SECONDS = 2.0


def run(
    method: Method,
    dataset: Dataset,
    grid: Grid,
    *,
    seed: int,
    limits: Limits,
    hide_targets: bool,
    scratch: Path | None = None,
    confinement: Confinement | None = None,
    known: dict[int, Record] | None = None,
    keep: Callable[[Record], None] = lambda record: None,
) -> list[Record]:
    """Return one record per combination of the grid, in its order.

    Parameters
    ----------
    method, dataset, grid, seed
        What to run. The process of the fits imports the method's file; this one calls nothing of it.
    limits
        What a fit may use.
    hide_targets
        Whether the method is not told the targets.
    scratch
        The working folder of the fits, removed afterwards; a temporary one where not given.
    confinement
        What the file system shows to them; everything where not given.
    known
        Records of an earlier run by their place in the grid, which are not made again.
    keep
        Called with each new record as soon as its fit has ended.
    """
    if method.file.suffix != ".py":
        raise MethodError(f"method {method.name!r} is an external program; only its rule in {method.file} runs it")
    shown = dataset.blind(hide_targets=hide_targets)
    combinations: Grid = plain(grid, finite=False)
    records: dict[int, Record] = dict(known or {})
    folder = _empty_folder(scratch)
    processes: Supervisor | None = None

    def note(place: int, record: Record) -> None:
        records[place] = record
        keep(record)

    try:
        while left := [place for place in range(len(grid)) if place not in records]:
            if processes is None:
                processes = Supervisor(method, shown, seed, folder, confinement)
                problem = processes.wait_for_start(limits)
                if problem is not None:
                    # What fails before the first fit would fail before each of them.
                    for place in left:
                        note(place, _failed(problem, combinations[place]))
                    break
            seconds = limits.seconds * len(left) if processes.is_sweep else limits.seconds
            waiting = iter(left)
            for outcome in processes.fit([combinations[place] for place in left], seconds, limits.memory_mb):
                if isinstance(outcome, Failure):
                    # A sweep that fails fails for all it had still to deliver; a single fit only for itself.
                    for place in list(waiting) if processes.is_sweep else [next(waiting)]:
                        note(place, _failed(outcome, combinations[place]))
                else:
                    place = next(waiting)
                    note(place, _delivered(outcome, combinations[place], shown))
            if not processes.is_usable():
                processes.close()
                processes = None
    finally:
        if processes is not None:
            processes.close()
        shutil.rmtree(folder, ignore_errors=True)
    return [records[place] for place in range(len(grid))]


def _empty_folder(scratch: Path | None) -> Path:
    if scratch is None:
        return Path(tempfile.mkdtemp(prefix="fit-"))
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    return scratch.resolve()


def _failed(failure: Failure, combination: dict[str, Any]) -> Record:
    cost = (failure.seconds, failure.peak_memory_mb, failure.cpu_seconds)
    return failed(failure.status, clean(failure.reason), combination, *cost)


def _delivered(outcome: dict[str, Any], combination: dict[str, Any], shown: Dataset) -> Record:
    seconds, memory, cpu = outcome["seconds"], outcome["peak_memory_mb"], outcome["cpu_seconds"]
    if "failed" in outcome:
        return failed("error", clean(outcome["failed"]), combination, seconds, memory, cpu)
    try:
        fit = unpack(outcome["fit"], shown.d, shown.settings)
    except DeliveryError as error:
        return failed("error", clean(str(error)), combination, seconds, memory, cpu)
    record = succeeded(fit, combination, shown.names, seconds, memory, cpu)
    if cpu > _CORES * seconds + _SECONDS:
        record["reason"] = f"it took {cpu:.1f} CPU seconds in {seconds:.1f} s; a fit has one core"
    return record
