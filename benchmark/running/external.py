"""Run an external program on one data set over its grid, within limits; every outcome becomes a record.

    python -m benchmark.running.external --job JSON --data FILE --output FILE --seconds S --memory-mb M -- program ...

The program is called once per combination, with three more arguments: the data set, without the true graph and without
hidden targets; the job, an object with ``hyperparameters`` and ``seed``; and the file to write its fit to. What it
prints goes to the log. A program that fails, hangs, takes too much memory or writes something else is a row with that
status, and the other rows go on.
"""

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from benchmark.dataset import Dataset, DatasetError
from benchmark.methods import ROOT, SETTINGS, Method
from benchmark.recorded.provenance import provenance
from benchmark.records import failed, write_records
from benchmark.running import program
from benchmark.running.kept import Kept
from benchmark.running.runner import Confinement, Limits, run


def main(arguments: list[str]) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmark.running.external", description=str(__doc__).splitlines()[0]
    )
    parser.add_argument("--job", required=True, type=json.loads, help="method, its file, grid, seed, hide_targets")
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--output", required=True, type=Path)
    parser.add_argument("--seconds", required=True, type=float, help="what one call may take")
    parser.add_argument("--memory-mb", required=True, type=float)
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the program and its own arguments, after --")
    given = parser.parse_args(arguments)
    command = given.command[1:] if given.command[:1] == ["--"] else given.command
    if not command:
        parser.error("the program is missing: name it after --")
    try:
        _run_cell(given.job, Dataset.load(given.data), given.output, Limits(given.seconds, given.memory_mb), command)
    except DatasetError as error:
        print(f"error: {error}")
        unread = [failed("error", str(error), combination, None, None) for combination in given.job["grid"]]
        write_records(given.output, unread, {})


def _run_cell(job: dict[str, Any], dataset: Dataset, output: Path, limits: Limits, command: list[str]) -> None:
    """Run the grid, and keep each fit as it ends."""
    grid, seed, hide_targets = (job[name] for name in ("grid", "seed", "hide_targets"))
    described = Method(job["method"], "", ROOT / job["file"], frozenset(SETTINGS), "heldout", fit=None)
    origin = provenance(described, seed, dataset.blind(hide_targets=hide_targets), grid)
    output.parent.mkdir(parents=True, exist_ok=True)
    kept = Kept(output, origin)
    os.environ[program.COMMAND] = json.dumps(command)
    method = Method("program", "", Path(program.__file__), frozenset(SETTINGS), "heldout", fit=None)
    records = run(
        method,
        dataset,
        grid,
        seed=seed,
        limits=limits,
        hide_targets=hide_targets,
        **_places(output),
        known=kept.take_up(grid),
        keep=kept.add,
    )
    print(dict(Counter(record["status"] for record in records)))
    write_records(output, records, origin)
    kept.remove()


def _places(output: Path) -> dict[str, Any]:
    """Return where a program of the workflow may write, and what it may not see: results, and files with a truth."""
    if "BENCHMARK_HIDDEN" not in os.environ:
        return {}
    results = Path.cwd()
    hidden = (results.parent, *map(Path, json.loads(os.environ["BENCHMARK_HIDDEN"])))
    return {
        "scratch": results / ".scratch" / "-".join(output.with_suffix("").parts),
        "confinement": Confinement(hidden),
    }


if __name__ == "__main__":
    main(sys.argv[1:])
