"""The cost of an iteration in this checkout and in another, measured in turns: ``python -m dcdi.bench --against``."""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parents[1]
_PROGRAM = "import sys; from dcdi import bench; bench._print_iterations(bench._options(sys.argv[1:]), None)"
_LINE = re.compile(r"^(gaussian|dsf) +(\w+) +(\d+) +(\S+)", re.MULTILINE)

Case = tuple[str, str, str]  # density, mode, nodes


def compare(other: Path, arguments: Sequence[str], rounds: int) -> dict[Case, tuple[float, float]]:
    """Return the milliseconds of an iteration of the cpu engine here and there, by density, mode and nodes.

    Parameters
    ----------
    other
        The root of another checkout of this project, whose packages are the same.
    arguments
        Of ``python -m dcdi.bench``, as both know them.
    rounds
        How often each has its turn; its fastest counts.
    """
    best: dict[Case, list[float]] = {}
    for _ in range(rounds):
        for place, folder in enumerate((HERE, other)):
            for case, milliseconds in _measure(folder, arguments).items():
                fastest = best.setdefault(case, [float("inf"), float("inf")])
                fastest[place] = min(fastest[place], milliseconds)
    return {case: (here, there) for case, (here, there) in best.items()}


def _measure(folder: Path, arguments: Sequence[str]) -> dict[Case, float]:
    command = [sys.executable, "-c", _PROGRAM, "--engine", "cpu", "--rounds", "1", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{folder}: the measurement ended with exit code {done.returncode}:\n{done.stderr}")
    return {(density, mode, nodes): float(ms) for density, mode, nodes, ms in _LINE.findall(done.stdout)}
