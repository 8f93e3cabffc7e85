"""The processes below one: which they are, what memory they take, and how to end them all."""

import contextlib
import os
import signal
import time
from pathlib import Path

import psutil

_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 2**20


def children(pid: int) -> list[int]:
    """Return the direct children of a process; none where it has ended."""
    try:
        # Linux lists them; to look through all processes would cost more the busier the machine is.
        listed = [
            Path("/proc", str(pid), "task", thread, "children").read_text()
            for thread in os.listdir(f"/proc/{pid}/task")
        ]
        return [int(child) for text in listed for child in text.split()]
    except OSError:
        if os.path.exists("/proc/self/task"):
            return []
    with contextlib.suppress(psutil.Error):
        return [child.pid for child in psutil.Process(pid).children()]
    return []


def descendants(pid: int) -> list[int]:
    """Return all processes below one."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        below = children(waiting.pop())
        found += below
        waiting += below
    return found


def memory_mb(pids: list[int]) -> float:
    """Return the memory that processes occupy; pages that several share count once for each."""
    total = 0.0
    for pid in pids:
        with contextlib.suppress(OSError, psutil.Error, ValueError, IndexError):
            if os.path.exists("/proc/self/statm"):
                total += int(Path("/proc", str(pid), "statm").read_text().split()[1]) * _PAGE_MB
            else:
                total += psutil.Process(pid).memory_info().rss / 2**20
    return total


def cpu_seconds(pids: list[int]) -> float:
    """Return the CPU time of processes, with that of their children that have ended."""
    total = 0.0
    for pid in pids:
        with contextlib.suppress(psutil.Error):
            times = psutil.Process(pid).cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def end_all(pid: int, spared: int | None = None, seconds: float = 2.0) -> bool:
    """Kill all processes below one, but for one that is spared; return whether they are gone."""
    deadline = time.monotonic() + seconds
    while True:
        left = [child for child in descendants(pid) if child != spared and not _is_zombie(child)]
        if not left:
            return True
        if time.monotonic() > deadline:
            return False
        for child in left:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
        time.sleep(0.005)


def _is_zombie(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return True
