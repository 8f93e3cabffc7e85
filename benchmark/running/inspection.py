"""Whether a method's file can be used, found out in a process that may hang, crash or exit without harm.

A configuration is planned by importing the methods that it names. One that breaks there must not cost the others: its
cells become rows that say what is wrong with it.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from benchmark.files import written_whole
from benchmark.methods import ROOT, MethodError, load_method_file
from benchmark.recorded.provenance import source_fingerprint
from benchmark.running import sandbox
from benchmark.running.plain import describe_error

SECONDS = 60.0
# Where verdicts are kept from one process of a run to the next; nowhere if it is not set.
FOLDER = "BENCHMARK_CACHE"
_verdicts: dict[str, str] = {}


def problems(files: dict[str, Path], seconds: float = SECONDS) -> dict[str, str]:
    """Return what is wrong with methods, by name; nothing for those that can be used.

    Each is imported and asked for its grid, for some seconds at most. A verdict holds until a file of it changes.
    """
    prints = {name: f"{file} {source_fingerprint(file)}" for name, file in files.items() if file.suffix == ".py"}
    _verdicts.update(_stored() if any(key not in _verdicts for key in prints.values()) else {})
    unknown = [name for name, key in prints.items() if key not in _verdicts]
    if unknown:
        _verdicts.update({prints[name]: verdict for name, verdict in _inspect(unknown, files, seconds).items()})
        _store()
    return {name: _verdicts[key] for name, key in prints.items() if _verdicts[key]}


def _inspect(names: list[str], files: dict[str, Path], seconds: float) -> dict[str, str]:
    """Inspect methods in one process, or in another one after each that breaks it."""
    verdicts: dict[str, str] = {}
    while waiting := [name for name in names if name not in verdicts]:
        found, ended = _one_process(waiting, files, seconds)
        verdicts.update(found)
        if len(found) < len(waiting):
            verdicts[waiting[len(found)]] = f"{files[waiting[len(found)]]}: {ended}"
    return verdicts


def _one_process(names: list[str], files: dict[str, Path], seconds: float) -> tuple[dict[str, str], str]:
    """Return the verdicts that a process came to, in order, and how it ended before the next one."""
    receiver, sender = os.pipe()
    command = [sys.executable, "-P", "-m", "benchmark.running.inspection", str(sender)]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    }
    process = subprocess.Popen(
        [*command, *(str(part) for name in names for part in (name, files[name]))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(sender,),
        env=environment,
        start_new_session=True,
    )
    os.close(sender)
    verdicts: dict[str, str] = {}
    buffer = b""
    deadline = time.monotonic() + seconds
    try:
        while len(verdicts) < len(names):
            left = deadline - time.monotonic()
            if left <= 0:
                return verdicts, f"import or space() did not end within {seconds:.0f} s"
            if not select.select([receiver], [], [], min(left, 0.2))[0] and process.poll() is None:
                continue
            content = os.read(receiver, 2**16)
            if not content:
                return verdicts, f"import or space() ended the process (exit code {process.wait()})"
            *lines, buffer = (buffer + content).split(b"\n")
            for line in lines:
                verdicts[names[len(verdicts)]] = str(json.loads(line))
                deadline = time.monotonic() + seconds
        return verdicts, ""
    finally:
        os.close(receiver)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _verdict(name: str, file: Path) -> str:
    try:
        method = load_method_file(name, file)
        grid: Any = method.space(np.random.default_rng(0))
        if not isinstance(grid, list) or not all(isinstance(combination, dict) for combination in grid):
            return f"{file}: space() returned {type(grid).__name__}; expected a list of dicts"
        if not grid:
            return (
                f"{file}: it has no combination of hyperparameters; expected at least one ({{}} where there are none)"
            )
        method.hyperparameters()
    except MethodError as error:
        return str(error)
    except BaseException as error:
        return f"{file}: it cannot be used ({describe_error(error)})"
    return ""


def _stored() -> dict[str, str]:
    path = _path()
    try:
        content = {} if path is None else json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _store() -> None:
    path = _path()
    if path is not None:
        with contextlib.suppress(OSError), written_whole(path) as file:
            file.write(json.dumps(_stored() | _verdicts, indent=1).encode())


def _path() -> Path | None:
    folder = os.environ.get(FOLDER)
    return Path(folder, "methods.json") if folder else None


def main(sender: int, arguments: list[str]) -> NoReturn:
    """Send one line of JSON per method: what is wrong with it, or nothing."""
    sandbox.end_with_parent()
    for name, file in zip(arguments[::2], arguments[1::2], strict=True):
        os.write(sender, json.dumps(_verdict(name, Path(file))).encode() + b"\n")
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
