"""Run one method on one data set, over its whole grid, within limits; every outcome becomes a record.

The fits run in a child process, so that one that takes too long or too much memory can be ended without losing
those already done. A method sees neither the true graph nor hidden targets.
"""

import contextlib
import ctypes
import multiprocessing
import os
import resource
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import psutil

from benchmark.dataset import Dataset, Fit
from benchmark.methods import Grid, Method, run_grid
from benchmark.records import Record, Status, failed, succeeded

# Forking is cheap and shares the data set; the parent has started no threads.
_FORK = multiprocessing.get_context("fork")
_POLL_SECONDS = 0.05
_WARM_UP_SECONDS = 600.0
_READY = "ready"
_MISSING = object()
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


@dataclass(frozen=True)
class Limits:
    """What one fit may use. A sweep may use the sum of its fits' seconds."""

    seconds: float
    memory_mb: float


def run(method: Method, dataset: Dataset, grid: Grid, *, seed: int, limits: Limits, hide_targets: bool) -> list[Record]:
    """Return one record per combination of the grid, in its order."""
    shown = dataset.blind(hide_targets=hide_targets)
    records: list[Record] = []
    while len(records) < len(grid):
        rest = grid[len(records) :]
        seconds = limits.seconds * len(rest) if method.sweep is not None else limits.seconds
        done, status, reason, spent, memory = _attempt(method, shown, rest, seed, seconds, limits.memory_mb)
        records += done
        if status is not None:
            # A sweep that fails fails for all it had still to deliver; a single fit only for itself.
            lost = rest[len(done) :] if method.sweep is not None else rest[len(done) : len(done) + 1]
            records += [failed(status, reason, combination, spent, memory) for combination in lost]
    return records


def _attempt(
    method: Method, dataset: Dataset, grid: Grid, seed: int, seconds: float, memory_mb: float
) -> tuple[list[Record], Status | None, str, float, float]:
    """Run the grid in a child process until it ends or a fit fails.

    Returns the records done, and the status, reason, seconds and memory of the failure, if there was one.
    """
    receiver, sender = _FORK.Pipe(duplex=False)
    child = _FORK.Process(target=_fit_all, args=(sender, method, dataset, grid, seed), daemon=False)
    child.start()
    sender.close()
    process = psutil.Process(child.pid)
    records: list[Record] = []
    started = time.monotonic()
    peak = 0.0
    allowed = max(seconds, _WARM_UP_SECONDS)
    try:
        while True:
            # A process that the fit forked may hold the pipe open after the fit has died.
            gone = not child.is_alive()
            if receiver.poll(0 if gone else _POLL_SECONDS) or gone:
                try:
                    if not receiver.poll():
                        raise EOFError
                    message = receiver.recv()
                except (EOFError, OSError):
                    child.join()
                    spent = time.monotonic() - started
                    return records, *_explain_exit(child.exitcode, peak), spent, peak
                if message == _READY:
                    started, allowed = time.monotonic(), seconds
                    continue
                if message is None:
                    return records, None, "", 0.0, peak
                if isinstance(message, tuple):
                    status, reason = message
                    return records, status, reason, time.monotonic() - started, peak
                records.append(message)
                if method.sweep is None:
                    started = time.monotonic()
            peak = max(peak, _memory_mb(process))
            spent = time.monotonic() - started
            if peak > memory_mb:
                return records, "memory", f"it used {peak:.0f} MB; the limit is {memory_mb:.0f} MB", spent, peak
            if spent > allowed:
                return records, "timeout", f"it ran for {spent:.0f} s; the limit is {allowed:.0f} s", spent, peak
    finally:
        _end(process)
        child.join()
        receiver.close()


def _fit_all(sender: Connection, method: Method, dataset: Dataset, grid: Grid, seed: int) -> None:
    """In the child: send a record per fit, then None; or the status and reason of the fit that failed."""
    os.setpgid(0, 0)  # whatever the fit starts belongs to this group and ends with it
    _die_with_parent()
    try:
        method.warm_up()
        sender.send(_READY)
        fits = iter(run_grid(method, dataset, seed, grid))
        for combination in grid:
            started, cpu_before = time.perf_counter(), _own_cpu_seconds()
            fit: Any = next(fits, _MISSING)
            seconds, cpu_seconds = time.perf_counter() - started, _own_cpu_seconds() - cpu_before
            if fit is _MISSING:
                raise ValueError(f"sweep returned fewer fits than the {len(grid)} combinations of its grid")
            if isinstance(fit, Exception):
                reason = f"{type(fit).__name__}: {fit}"
                sender.send(failed("error", reason, combination, seconds, _own_peak_mb(), cpu_seconds))
                continue
            _check_fit(fit, dataset)
            sender.send(succeeded(fit, combination, dataset.names, seconds, _own_peak_mb(), cpu_seconds))
        sender.send(None)
    except MemoryError as error:
        sender.send(("memory", f"an allocation was refused: {error}"))
    except Exception as error:
        traceback.print_exc()
        sender.send(("error", f"{type(error).__name__}: {error}"))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sender.close()


def _die_with_parent() -> None:
    """Ask Linux to end this process when the runner is killed, so that kill -9 leaves no fit behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _check_fit(fit: Any, dataset: Dataset) -> None:
    if not isinstance(fit, Fit):
        raise TypeError(f"the method returned {type(fit).__name__}; expected benchmark.dataset.Fit")
    if fit.graph.shape != (dataset.d, dataset.d):
        raise ValueError(f"the graph has shape {fit.graph.shape}; the data set has {dataset.d} variables")


def _explain_exit(exitcode: int | None, peak: float) -> tuple[Status, str]:
    if exitcode == -9:
        return "memory", f"the process was killed from outside, at {peak:.0f} MB: most likely the machine ran out"
    return "error", f"the process ended without a result (exit code {exitcode})"


def _memory_mb(process: psutil.Process) -> float:
    total = 0.0
    with contextlib.suppress(psutil.NoSuchProcess):
        for member in [process, *process.children(recursive=True)]:
            total += member.memory_info().rss / 2**20
    return total


def _own_peak_mb() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def _own_cpu_seconds() -> float:
    """CPU time of this process, of all its threads, and of the children that it has waited for."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _end(process: psutil.Process) -> None:
    """End the child and whatever it started."""
    try:
        members = [*process.children(recursive=True), process]
    except psutil.NoSuchProcess:
        members = []
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for member in members:
        with contextlib.suppress(psutil.NoSuchProcess):
            member.kill()
