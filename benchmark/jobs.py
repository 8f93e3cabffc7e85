"""How a job speaks: everything it prints goes to its log, and an expected failure is one message."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmark.config import ConfigError
from benchmark.dataset import DatasetError
from benchmark.methods import MethodError
from benchmark.records import RecordError
from benchmark.store import StoreError


@contextmanager
def logged(log: str, title: str) -> Iterator[None]:
    """Send the output of the block, also that of compiled code and children, to a log file."""
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
