"""What each baseline costs: CPU seconds of its whole grid, run as one job runs it.

One linear data set per size, one core; methods with a choice of tests once with each that the paper used. The time is
that of the job's own processes, imports and compilation included, so other work on the machine hardly changes it.
"""

import os

if __name__ == "__main__":
    # Before numpy is imported, which reads them then. Threads would make the table depend on the machine's cores.
    libraries = ("OMP", "MKL", "OPENBLAS", "NUMEXPR", "NUMBA", "RAYON")
    os.environ.update({f"{library}_NUM_THREADS": "1" for library in libraries} | {"VECLIB_MAXIMUM_THREADS": "1"})

import argparse
import resource
from collections import Counter

from benchmark.dataset import Dataset
from benchmark.methods import ROOT, SETTINGS, Method, MethodError, available, load_method
from benchmark.records import Record
from benchmark.running.runner import Limits, run
from benchmark.simulate import simulate

SEED = 0
MEMORY_MB = 16 * 1024.0
TESTS = ("gauss", "kci")
COLUMNS = "{:<16} {:>5} {:>10} {:>5} {:>11}  {}"


def main(arguments: list[str] | None = None) -> None:
    """Print a row per size and method, each as soon as it is known."""
    chosen, parser = _arguments(arguments)
    try:
        methods = [load_method(name) for name in chosen.methods or baselines()]
        sizes = [(nodes, edges) for nodes in chosen.nodes for edges in chosen.edges]
        cells = [(*size, method, data_for(method, *size, chosen.rows)) for size in sizes for method in methods]
    except (MethodError, ValueError) as error:
        parser.error(str(error))
    print(COLUMNS.format("method", "nodes", "edges/node", "fits", "CPU seconds", "status"), flush=True)
    for nodes, edges, method, data in cells:
        for variant in variants(method):
            seconds, records = measure(method, data, chosen.seconds, variant)
            name = " ".join([method.name, *variant.values()])
            row = COLUMNS.format(name, nodes, f"{edges:g}", len(records), f"{seconds:.2f}", summary(records))
            print(row, flush=True)


def baselines() -> list[str]:
    """Return the names of the methods to compare: those of baselines/ in Python that are no controls."""
    files = {name: file for name, file in available().items() if file.is_relative_to(ROOT / "baselines")}
    return [name for name, file in files.items() if file.suffix == ".py" and not load_method(name).is_control]


def data_for(method: Method, nodes: int, edges: float, rows: int) -> Dataset:
    """Return the data set of a size: with perfect interventions, or of another kind that the method supports."""
    if method.fit is None:
        raise MethodError(f"method {method.name!r} is an external program; only its rule in {method.file} runs it")
    if method.data == "twin" or setting_of(method) == "observational":
        return simulate("linear", nodes, edges, "none", n=rows, seed=SEED)
    perfect = setting_of(method) in ("perfect", "unknown")
    return simulate("linear", nodes, edges, "perfect" if perfect else "imperfect", n=rows, seed=SEED)


def variants(method: Method) -> list[dict[str, str]]:
    """Return the hyperparameters to fix: each test in turn, or nothing."""
    return [{"test": test} for test in TESTS] if "test" in method.hyperparameters() else [{}]


def setting_of(method: Method) -> str:
    """Return the setting that a method is measured in."""
    return next(setting for setting in ("perfect", "unknown", *SETTINGS) if setting in method.supports)


def measure(
    method: Method, dataset: Dataset, limit: float, fixed: dict[str, str] | None = None
) -> tuple[float, list[Record]]:
    """Return the CPU seconds of the whole grid and its records; its fits share the limit of wall seconds."""
    grid = method.grid(SEED, fixed)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    hidden = setting_of(method).endswith("unknown")
    records = run(method, dataset, grid, seed=SEED, limits=Limits(limit / len(grid), MEMORY_MB), hide_targets=hidden)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, records


def summary(records: list[Record]) -> str:
    """Return how the fits ended, with the first reason of a failure."""
    counts = Counter(record["status"] for record in records)
    text = next(iter(counts)) if len(counts) == 1 else ", ".join(f"{n} {status}" for status, n in counts.items())
    reason = next((record["reason"] for record in records if record["status"] != "ok"), "")
    return f"{text} ({reason})" if reason else text


def _arguments(arguments: list[str] | None) -> tuple[argparse.Namespace, argparse.ArgumentParser]:
    first_line = str(__doc__).splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m baselines.bench", description=first_line)
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="all baselines but the controls, where not given")
    parser.add_argument("--nodes", nargs="+", type=int, default=[10, 20], help="default: 10 20")
    parser.add_argument("--edges", nargs="+", type=float, default=[1, 4], help="edges per node; default: 1 4")
    parser.add_argument("--rows", type=int, default=10_000, help="default: 10000")
    parser.add_argument("--seconds", type=float, default=900, help="limit for one grid, wall time; default: 900")
    return parser.parse_args(arguments), parser


if __name__ == "__main__":
    main()
