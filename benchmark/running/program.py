"""An external program as a method: it reads a data set and a job from files and writes its fit to a third.

The runner holds it to the limits of any other method. Rules call it through ``python -m benchmark.running.external``.
"""

import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.dataset import Dataset, Fit
from benchmark.methods import SETTINGS
from benchmark.records import to_graph

LABEL = "External program"
SUPPORTS = SETTINGS
SPACE: dict[str, list[Any]] = {}
SELECTION = "heldout"

COMMAND = "BENCHMARK_PROGRAM"  # the environment variable that has the command, as JSON
_OWN_VARIABLES = ("PYTHONPATH", COMMAND)  # of this project, which the program's own interpreter must not see
_KEYS = ("edges", "kind", "cpdag", "heldout_nll", "targets", "info")
_LONGEST_OUTPUT = 2**20


class ProgramError(RuntimeError):
    """A program that could not be started, failed, or wrote something that is no fit."""


def fit(dataset: Dataset, *, seed: int, **hyperparameters: Any) -> Fit:
    """Run the program once: ``<command> data.npz job.json fit.json``."""
    with tempfile.TemporaryDirectory() as folder:
        data, job, result = (Path(folder, name) for name in ("data.npz", "job.json", "fit.json"))
        dataset.save(data)
        job.write_text(json.dumps({"hyperparameters": hyperparameters, "seed": seed}), encoding="utf-8")
        _run([*json.loads(os.environ[COMMAND]), *map(str, (data, job, result))], Path(folder))
        return _read(result, dataset)


def _run(command: list[str], folder: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in _OWN_VARIABLES}
    # A file, because a process that the program leaves behind would hold a pipe open.
    with open(folder / "output.txt", "w+b") as output:
        try:
            code = subprocess.call(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        except OSError as error:
            raise ProgramError(f"{command[0]} cannot be started: {error.strerror}") from None
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - _LONGEST_OUTPUT))
        text = output.read().decode(errors="replace")
    print(text, flush=True)
    said = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it said nothing")
    if code == -signal.SIGKILL:
        raise MemoryError("the program was killed from outside: most likely the machine ran out of memory")
    if code != 0:
        how = f"exit code {code}" if code > 0 else f"signal {signal.Signals(-code).name}"
        raise ProgramError(f"the program failed with {how}: {said[:500]}")


def _read(path: Path, dataset: Dataset) -> Fit:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ProgramError("the program ended without writing its fit") from None
    except (ValueError, RecursionError) as error:
        raise ProgramError(f"the fit that the program wrote is not JSON ({error})") from None
    if not isinstance(content, dict):
        raise ProgramError(f"the fit that the program wrote is {type(content).__name__}; expected an object")
    if unknown := sorted(set(content) - set(_KEYS)):
        raise ProgramError(f"field {unknown[0]!r} of the fit is not known; there are {', '.join(_KEYS)}")
    if not isinstance(content.get("edges"), list):
        raise ProgramError("field 'edges' of the fit: expected a list of pairs of names [from, to]")
    info = content.get("info") or {}
    if not isinstance(info, dict):
        raise ProgramError("field 'info' of the fit: expected an object")
    described: dict[str, Any] = {"engine": "external"} | info
    if content.get("cpdag") is not None:
        described["cpdag"] = to_graph(content["cpdag"], dataset.names)
    score, targets = content.get("heldout_nll"), content.get("targets")
    if isinstance(score, bool) or not isinstance(score, int | float | None):
        raise ProgramError(f"field 'heldout_nll' of the fit is {score!r}; expected a number or null")
    if targets is not None and np.shape(targets) != (dataset.settings, dataset.d):
        raise ProgramError(f"field 'targets' of the fit: expected {dataset.settings} lists of {dataset.d} numbers")
    graph = to_graph(content["edges"], dataset.names)
    return Fit(
        graph, content.get("kind", "dag"), score, None if targets is None else np.asarray(targets, float), described
    )
