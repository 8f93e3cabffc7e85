"""The processes of the fits, seen from outside: start them, hear what they say, hold them to their limits, end them."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.dataset import Dataset
from benchmark.methods import ROOT, Grid, Method
from benchmark.records import Status
from benchmark.running.delivery import share
from benchmark.running.processes import children, cpu_seconds, descendants, end_all, memory_mb

_POLL_SECONDS = 0.05
_GRACE_SECONDS = 2.0
_MOST_PROCESSES = 500
_LONGEST_MESSAGE = 2**27
_LONGEST_LOG = 2**20
_COSTS = ("seconds", "cpu_seconds", "peak_memory_mb")

_ENDED: tuple[Status, str] = ("error", "the processes of the fits were ended")

Message = dict[str, Any]


@dataclass(frozen=True)
class Limits:
    """What one fit may use. A sweep may use the sum of its fits' seconds; import and warm-up have their own."""

    seconds: float
    memory_mb: float
    start_seconds: float = 600.0


@dataclass(frozen=True)
class Confinement:
    """What the file system shows to a fit: nothing of ``hidden``, and all but ``writable`` only to read."""

    hidden: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Failure:
    """Why a fit has no result, and what it cost."""

    status: Status
    reason: str
    seconds: float
    peak_memory_mb: float
    cpu_seconds: float | None = None


class Supervisor:
    """Runs :mod:`benchmark.running.worker` for one method and one data set."""

    def __init__(
        self, method: Method, shown: Dataset, seed: int, scratch: Path, confinement: Confinement | None
    ) -> None:
        self.is_sweep = False
        self._starter: int | None = None
        self._keeper: int | None = None
        self._buffer = b""
        self._logged = 0
        self._peak = 0.0
        data, description = share(shown)
        commands, self._commands = os.pipe()
        self._results, results = os.pipe()
        self._output, output = os.pipe()
        handed_over = (commands, results, data)
        command = [sys.executable, "-P", "-m", "benchmark.running.worker", *map(str, handed_over)]
        try:
            self._guard = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=handed_over,
                cwd=scratch,
                env=_environment(scratch, confined=confinement is not None),
                start_new_session=True,
            )
        finally:
            for descriptor in (*handed_over, output):
                os.close(descriptor)
        self._send(
            {
                "method": method.name,
                "file": str(method.file),
                "seed": seed,
                "scratch": str(scratch),
                "data": description,
                "confined": _places(confinement, scratch),
            }
        )

    def wait_for_start(self, limits: Limits) -> Failure | None:
        """Wait until the method is imported and warm; return why it is not, if so."""
        started = time.monotonic()
        while True:
            for message in self._messages(_POLL_SECONDS):
                if isinstance(message.get("uncovered"), list):
                    self._find_processes(message["uncovered"])
                elif isinstance(message.get("started"), dict):
                    self.is_sweep = bool(message["started"].get("sweep"))
                    return None
                elif _is_problem(message):
                    return self._at_start(message["problem"], started)
                elif "starter_ended" in message:
                    return self._at_start(_explain_exit(message["starter_ended"], self._peak), started)
            if not self.is_usable():
                return self._at_start(("error", "the process of the fits could not be started; see the log"), started)
            if self._keeper is not None:
                self._peak = max(self._peak, memory_mb(descendants(self._keeper)))
            spent = time.monotonic() - started
            if excess := _excess(spent, limits.start_seconds, self._peak, limits.memory_mb, 0):
                return self._at_start(excess, started)

    def fit(self, grid: Grid, seconds: float, most_memory_mb: float) -> Iterator[Message | Failure]:
        """Run combinations in turn; yield what each delivered and, last, a failure, if there was one."""
        self._send(grid)
        delivered, helpers_cpu = 0, 0.0
        failure: tuple[Status, str] | None = None
        started = time.monotonic()
        self._peak = 0.0
        done = ended = False
        while not ended and failure is None:
            for message in self._messages(_POLL_SECONDS):
                if _is_outcome(message) and delivered < len(grid):
                    delivered += 1
                    used = self._cpu_of_helpers()
                    message["cpu_seconds"] += max(0.0, used - helpers_cpu)
                    message["peak_memory_mb"] = max(message["peak_memory_mb"], self._peak)
                    helpers_cpu = used
                    yield message
                    if not self.is_sweep:
                        started = time.monotonic()
                elif _is_problem(message):
                    failure = message["problem"]
                elif "done" in message:
                    done = True
                elif "starter_ended" in message:
                    failure = _ENDED
                elif isinstance(message.get("ended"), int):
                    ended = True
                    if not done and failure is None:
                        failure = _explain_exit(message["ended"], self._peak)
                else:
                    failure = ("error", "something that is no result came through the channel of the results")
            if not self.is_usable() and failure is None:
                failure = _ENDED
            if failure is None and not ended:
                members = self._members()
                self._peak = max(self._peak, memory_mb(members))
                spent = time.monotonic() - started
                failure = _excess(spent, seconds, self._peak, most_memory_mb, len(members))
        spent, used = time.monotonic() - started, self._cpu_of_helpers(everything=True)
        self._end_fits(wait=not ended)
        if failure is not None and delivered < len(grid):
            yield Failure(*failure, spent, self._peak, used or None)

    def is_usable(self) -> bool:
        """Whether more fits can be asked for."""
        return self._guard.poll() is None

    def close(self) -> None:
        """End all processes, and leave none behind."""
        with contextlib.suppress(OSError):
            os.close(self._commands)
        deadline = time.monotonic() + _GRACE_SECONDS
        if self._keeper is not None:
            end_all(self._keeper, spared=self._starter)
            while self.is_usable() and time.monotonic() < deadline:
                list(self._messages(0.01))
        if self.is_usable():
            end_all(self._guard.pid)
            self._guard.kill()
        self._guard.wait()
        list(self._messages(0))
        for descriptor in (self._results, self._output):
            os.close(descriptor)

    def _at_start(self, problem: tuple[Status, str], started: float) -> Failure:
        status, reason = problem
        return Failure(status, f"before the first fit: {reason}", time.monotonic() - started, self._peak)

    def _find_processes(self, uncovered: list[Any]) -> None:
        """Take note of the keeper and the starter, while they are the only ones."""
        for gap in uncovered:
            print(f"note: this fit is not fully confined: {gap}", flush=True)
        self._keeper = next(iter(children(self._guard.pid)), None)
        self._starter = None if self._keeper is None else next(iter(children(self._keeper)), None)

    def _members(self) -> list[int]:
        """Return the processes of the fits, without the two that look after them."""
        if self._keeper is None:
            return []
        return [pid for pid in descendants(self._keeper) if pid != self._starter]

    def _cpu_of_helpers(self, *, everything: bool = False) -> float:
        """Return the CPU seconds of processes that a fit started and has not waited for."""
        fits = children(self._starter) if self._starter is not None and not everything else []
        return cpu_seconds([pid for pid in self._members() if pid not in fits])

    def _end_fits(self, *, wait: bool) -> None:
        """End what the fits have left; where that does not work, all processes."""
        gone = self._keeper is not None and end_all(self._keeper, spared=self._starter, seconds=_GRACE_SECONDS)
        deadline = time.monotonic() + _GRACE_SECONDS
        while wait and gone and self.is_usable() and time.monotonic() < deadline:
            wait = not any("ended" in message for message in self._messages(_POLL_SECONDS))
        if wait or not gone:
            self._guard.kill()
            self._guard.wait()

    def _send(self, content: Any) -> None:
        line = json.dumps(content).encode() + b"\n"
        with contextlib.suppress(BrokenPipeError):
            while line:
                line = line[os.write(self._commands, line) :]

    def _messages(self, seconds: float) -> Iterator[Message]:
        """Yield what has come within some seconds; output goes to the log meanwhile."""
        for source in select.select([self._results, self._output], [], [], seconds)[0]:
            content = os.read(source, 2**16)
            if source == self._output:
                self._log(content)
                continue
            self._buffer += content
            *lines, self._buffer = self._buffer.split(b"\n")
            if len(self._buffer) > _LONGEST_MESSAGE:
                lines, self._buffer = [*lines, b""], b""
            yield from map(_parsed, lines)

    def _log(self, content: bytes) -> None:
        left = _LONGEST_LOG - self._logged
        self._logged += len(content)
        if left > 0:
            _write(content[:left])
            if self._logged >= _LONGEST_LOG:
                _write(b"\n(cut: a method may write %d MB here)\n" % (_LONGEST_LOG // 2**20))


def _environment(scratch: Path, *, confined: bool) -> dict[str, str]:
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    changes = {"PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(scratch)}
    if confined:
        changes |= {"MPLCONFIGDIR": str(scratch), "XDG_CACHE_HOME": str(scratch)}
    return os.environ | changes


def _places(confinement: Confinement | None, scratch: Path) -> dict[str, list[str]] | None:
    if confinement is None:
        return None
    writable = [scratch, *confinement.writable]
    return {"hidden": list(map(str, confinement.hidden)), "writable": list(map(str, writable))}


def _parsed(line: bytes) -> Message:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    return message if isinstance(message, dict) else {"garbled": True}


def _is_outcome(message: Message) -> bool:
    if not all(isinstance(message.get(cost), int | float) for cost in _COSTS):
        return False
    return isinstance(message.get("fit"), dict) or isinstance(message.get("failed"), str)


def _is_problem(message: Message) -> bool:
    match message.get("problem"):
        case ["memory" | "error", str()]:
            return True
    return False


def _excess(
    seconds: float, most_seconds: float, peak: float, most_memory_mb: float, processes: int
) -> tuple[Status, str] | None:
    if peak > most_memory_mb:
        return "memory", f"it used {peak:.0f} MB; the limit is {most_memory_mb:.0f} MB"
    if seconds > most_seconds:
        return "timeout", f"it ran for {seconds:.0f} s; the limit is {most_seconds:.0f} s"
    if processes > _MOST_PROCESSES:
        return "error", f"it started {processes} processes; the limit is {_MOST_PROCESSES}"
    return None


def _explain_exit(exitcode: Any, peak: float) -> tuple[Status, str]:
    if exitcode == -signal.SIGKILL:
        return "memory", f"the process was killed from outside, at {peak:.0f} MB: most likely the machine ran out"
    return "error", f"the process ended without a result (exit code {exitcode})"


def _write(content: bytes) -> None:
    sys.stdout.flush()
    with contextlib.suppress(OSError):
        while content:
            content = content[os.write(sys.stdout.fileno(), content) :]
