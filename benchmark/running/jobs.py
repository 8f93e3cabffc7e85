"""How a job speaks and ends: its output goes to its log, an expected failure is one message, and it outlives no run."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmark.config import ConfigError
from benchmark.dataset import DatasetError
from benchmark.methods import MethodError
from benchmark.recorded.store import StoreError
from benchmark.records import RecordError

# The process that started the job and waits for it, where there is one.
RUN_PID = "BENCHMARK_RUN_PID"
_WATCH_SECONDS = 0.5


@contextlib.contextmanager
def logged(log: str, title: str) -> Iterator[None]:
    """Send the output of the block, also that of compiled code and children, to a log file."""
    _end_with_run()
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w", encoding="utf-8", buffering=1) as file:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
            os.dup2(file.fileno(), stream.fileno())
        started = time.monotonic()
        print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {title}", flush=True)
        try:
            yield
        except (ConfigError, DatasetError, MethodError, RecordError, StoreError, FileNotFoundError) as error:
            print(f"error: {error}", file=sys.stderr, flush=True)
            sys.exit(1)
        print(f"done in {time.monotonic() - started:.1f} s", flush=True)


def _end_with_run() -> None:
    """End this process when the run that it belongs to is gone: one killed with kill -9 cannot say so."""
    pid = os.environ.get(RUN_PID)
    if pid is None:
        return
    try:
        run = psutil.Process(int(pid))
    except psutil.NoSuchProcess:
        os._exit(1)

    def watch() -> None:
        with contextlib.suppress(psutil.NoSuchProcess):
            while run.is_running() and run.status() != psutil.STATUS_ZOMBIE:
                time.sleep(_WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
