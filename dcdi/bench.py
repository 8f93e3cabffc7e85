"""Cost of training, by density, setting, size and engine: ``python -m dcdi.bench``.

An iteration costs what it does over a whole fit: sampling, gradients, constraint and optimiser, and a hundredth of an
evaluation of 2,000 held-out rows. Times are CPU time of this process; engines take turns, and the fastest of several
rounds counts, because other work on the machine can only slow one down. GFLOP/s are the products and sums of the
networks alone (not of masks, flows, constraint and optimiser), as many as the architecture and the rows ask for; beside
them their share of what the processor does at its best, measured in the same run. Last come whole fits of the smallest
size by the cpu engine. ``--against FOLDER`` compares the iterations with those of another checkout instead.
"""

import argparse
import ctypes
import functools
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmark.dataset import Dataset
from dcdi.against import compare
from dcdi.cpu import CpuEngine
from dcdi.estimator import DCDI
from dcdi.model import FIRST_TARGET_LOGIT, Density, Intervention, Model, Targets
from dcdi.peak import peak
from dcdi.training import Member, Schedule

DENSITIES: tuple[Density, ...] = ("gaussian", "dsf")
MODES: dict[str, tuple[Intervention, Targets]] = {
    "known": ("perfect", "known"),
    "imperfect": ("imperfect", "known"),
    "unknown": ("perfect", "unknown"),
}
ENGINES = ("cpu", "torch")
NODES = (10, 20, 50, 100)
ROWS = 10_000  # of which a fifth is held out
YARDSTICK_UNITS, YARDSTICK_LANES, YARDSTICK_NODES = 16, 64, 128


class Cost(NamedTuple):
    """CPU seconds, or operations."""

    iteration: float
    evaluation: float

    def over_a_fit(self, schedule: Schedule) -> float:
        """Return the mean cost of an iteration, with its share of the held-out evaluations."""
        return self.iteration + self.evaluation / schedule.check_every


def main(arguments: list[str] | None = None) -> None:
    """Print the tables."""
    options = _options(arguments)
    if options.against:
        _print_comparison(options)
        return
    _use_one_thread(options.engine)
    yardstick = _Yardstick(options.yardstick) if options.yardstick else None
    _print_iterations(options, yardstick)
    print()
    _print_fits(options)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m dcdi.bench", description=__doc__.split("\n\n")[0])
    parser.add_argument("--density", nargs="+", choices=DENSITIES, default=DENSITIES)
    parser.add_argument("--mode", nargs="+", choices=tuple(MODES), default=tuple(MODES))
    parser.add_argument("--nodes", nargs="+", type=int, default=NODES)
    parser.add_argument("--engine", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--seconds", type=float, default=0.5, help="of iterations, per engine and round (default 0.5)")
    parser.add_argument("--rounds", type=int, default=3, help="the fastest counts (default 3)")
    parser.add_argument("--rows", type=int, default=ROWS, help=f"a fifth is held out (default {ROWS})")
    parser.add_argument(
        "--yardstick",
        metavar="LIB",
        help="a shared library whose function `steps` trains the known Gaussian case without the constraint: its time, "
        "and those of the cpu engine's iterations (constraint included), without and with held-out evaluations, to it",
    )
    parser.add_argument(
        "--against",
        type=Path,
        metavar="FOLDER",
        help="another checkout of this project: iterations of the cpu engine here and there, in turns, and their ratio",
    )
    return parser.parse_args(arguments)


def _print_comparison(options: argparse.Namespace) -> None:
    print(f"CPU time of an iteration (ms), minibatch 64, cpu engine, here and in {options.against}")
    print(_row(["density", "mode", "nodes"], ["here", "there", "here/there"]))
    chosen = ["--density", *options.density, "--mode", *options.mode, "--nodes", *map(str, options.nodes)]
    chosen += ["--seconds", str(options.seconds), "--rows", str(options.rows)]
    for case, (here, there) in compare(options.against, chosen, options.rounds).items():
        print(_row(list(case), [f"{here:.3g}", f"{there:.3g}", f"{here / there:.2f}"]))


def _use_one_thread(engines: tuple[str, ...]) -> None:
    if "torch" in engines:
        import torch

        torch.set_num_threads(1)


def _print_iterations(options: argparse.Namespace, yardstick: "_Yardstick | None") -> None:
    print("CPU time of an iteration (ms), minibatch 64")
    best = peak()
    if "cpu" in options.engine:
        print(f"Peak of this processor: {best / 1e9:.1f} GFLOP/s")
    columns = [*(f"{engine} ms" for engine in options.engine)]
    if "cpu" in options.engine:
        columns += ["cpu GFLOP/s", "of peak"]
    if len(options.engine) == 2:
        columns.append("cpu/torch")
    if yardstick is not None:
        columns += ["steps ms", "training/steps", "cpu/steps"]
    print(_row(["density", "mode", "nodes"], columns))
    for density in options.density:
        for mode in options.mode:
            for nodes in options.nodes:
                cells = _cells(options, yardstick, density, mode, nodes, best)
                print(_row([density, mode, str(nodes)], cells), flush=True)


def _cells(
    options: argparse.Namespace, yardstick: "_Yardstick | None", density: Density, mode: str, nodes: int, best: float
) -> list[str]:
    schedule = Schedule()
    data = a_dataset(nodes, options.rows, seed=0)
    engines = {name: an_engine(name, density, mode, data, schedule) for name in options.engine}
    member = Member(0.1, 1e-3, mu=schedule.mu, gamma=schedule.gamma)
    works: dict[str, Callable[[int], None]] = {
        name: functools.partial(engine.run, [member]) for name, engine in engines.items()
    }
    if yardstick is not None and (density, mode) == ("gaussian", "known") and nodes <= YARDSTICK_NODES:
        works["steps"] = yardstick.work(data)
    iteration = dict.fromkeys(works, math.inf)
    evaluation = dict.fromkeys(engines, math.inf)
    counts = {name: _calibrate(work, options.seconds) for name, work in works.items()}
    for engine in engines.values():
        engine.heldout_nll(0)  # compiles
    for _ in range(options.rounds):
        for name, work in works.items():
            iteration[name] = min(iteration[name], _cpu_seconds(work, counts[name]) / counts[name])
        for name, engine in engines.items():
            evaluation[name] = min(evaluation[name], _cpu_seconds(engine.heldout_nll, 0))
    costs = {name: Cost(iteration[name], evaluation[name]).over_a_fit(schedule) for name in engines}
    cells = [_milliseconds(costs[name]) for name in options.engine]
    if "cpu" in costs:
        speed = operations(engines["cpu"].model, data, schedule).over_a_fit(schedule) / costs["cpu"]
        cells += [f"{speed / 1e9:.1f}", f"{speed / best:.0%}"]
    if len(costs) == 2:
        cells.append(f"1/{costs['torch'] / costs['cpu']:.0f}")
    if "steps" in works:
        cells.append(_milliseconds(iteration["steps"]))
        cells += [f"{value['cpu'] / iteration['steps']:.2f}" for value in (iteration, costs) if "cpu" in engines]
    return cells


def operations(model: Model, data: Dataset, schedule: Schedule) -> Cost:
    """Return the products and sums of the networks at the start of a fit, in an iteration and in an evaluation.

    A weight costs two for each sample, and four more in its gradients. Each variable's base network sees each sample; a
    network of an intervention those of its setting, and where targets are learned and perfect those drawn as targeted.
    """
    weights = sum(inputs * outputs for inputs, outputs in model.layer_sizes)
    own = float((model.network >= 0).sum(axis=1)[data.setting].mean())
    if model.learns_targets and model.intervention == "perfect":
        own /= 1 + math.exp(FIRST_TARGET_LOGIT)
    networks = model.nodes + own
    assert data.heldout is not None
    return Cost(6 * weights * networks * schedule.batch, 2 * weights * networks * float(data.heldout.sum()))


def _calibrate(work: Callable[[int], None], seconds: float) -> int:
    """Return a number of iterations that takes about so long; the first ones compile and warm up."""
    work(2)
    count = 2
    while True:
        taken = _cpu_seconds(work, count)
        if taken > seconds / 10:
            return max(1, round(count * seconds / taken))
        count *= 4


def _cpu_seconds(work: Callable[[int], Any], argument: int) -> float:
    started = time.process_time()
    work(argument)
    return time.process_time() - started


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.3g}"


def _row(names: list[str], cells: list[str]) -> str:
    return "".join(f"{name:<11}" for name in names) + "".join(f"{cell:>16}" for cell in cells)


def a_dataset(nodes: int, rows: int, seed: int) -> Dataset:
    """Linear data of a sparse DAG under perfect interventions, standardised.

    As in the paper: as many settings as nodes up to 20 nodes, else ten; each targets a tenth of the nodes.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(nodes)
    share = min(1.0, 2 / max(nodes - 1, 1))
    ordered = np.triu(rng.random((nodes, nodes)) < share, k=1)
    settings = (nodes if nodes <= 20 else 10) + 1
    targets = np.zeros((settings, nodes), dtype=np.int8)
    for k in range(1, settings):
        first = (k - 1) * max(1, nodes // 10)
        targets[k, (first + np.arange(max(1, nodes // 10))) % nodes] = 1
    setting = np.sort(np.arange(rows) % settings)
    X = rng.normal(size=(rows, nodes))
    weights = rng.uniform(0.5, 1, (nodes, nodes)) * rng.choice([-1, 1], (nodes, nodes))
    for place, j in enumerate(order):
        parents = order[np.flatnonzero(ordered[:, place])]
        hit = targets[setting, j] == 1
        X[:, j] = np.where(hit, 2 + X[:, j], X[:, j] + X[:, parents] @ weights[parents, j])
    heldout = np.zeros(rows, dtype=bool)
    heldout[rng.choice(rows, rows // 5, replace=False)] = True
    return Dataset((X - X.mean(axis=0)) / X.std(axis=0), setting, targets, heldout=heldout)


def an_engine(name: str, density: Density, mode: str, data: Dataset, schedule: Schedule) -> Any:
    """Return an engine at the start of a fit."""
    intervention, targets = MODES[mode]
    assert data.targets is not None
    assert data.heldout is not None
    known = data.targets if targets == "known" else np.zeros_like(data.targets)
    model = Model(data.d, known, density, intervention, targets, 2, 16, 2, 16)
    if name == "cpu":
        return CpuEngine(model, data.X, data.setting, data.heldout, schedule, 0)
    from dcdi.torch_engine import TorchEngine

    return TorchEngine(model, data.X, data.setting, data.heldout, schedule, 0, members=1, device="cpu")


class _Yardstick:
    """Compiled training of the known Gaussian case without the constraint, to measure the cpu engine against.

    ``double steps(int iterations, int n, int d, const float *X, const float *free, float *parameters, float *squares,
    float *gradient, uint32_t *states, uint64_t seed)`` with two hidden layers of 16 units and a minibatch of 64.
    """

    def __init__(self, path: str) -> None:
        self.steps = ctypes.CDLL(path).steps
        self.steps.restype = ctypes.c_double

    def work(self, data: Dataset) -> Callable[[int], None]:
        d, units = data.d, YARDSTICK_UNITS
        rng = np.random.default_rng(0)
        size = d * (d * units + units + units * units + units + units + 1 + 1 + d)
        parameters = (0.2 * rng.normal(size=size)).astype(np.float32)
        parameters[-d * d :] = 5
        parameters[-d * d - d : -d * d] = 0
        rows = data.training
        arrays: list[npt.NDArray[Any]] = [
            np.ascontiguousarray(data.X[rows], dtype=np.float32),
            np.ascontiguousarray(~data.targeted[rows], dtype=np.float32),
            parameters,
            np.zeros(size, dtype=np.float32),
            np.zeros(size, dtype=np.float32),
            rng.integers(1, 2**32, YARDSTICK_LANES, dtype=np.uint32),
        ]

        def run(iterations: int) -> None:
            pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]
            self.steps(iterations, len(arrays[0]), d, *pointers, ctypes.c_uint64(88172645463325252))

        return run


def _print_fits(options: argparse.Namespace) -> None:
    nodes = min(options.nodes)
    print(f"CPU time of a whole fit, {nodes} nodes, {options.rows} rows, sparsity 0.1, cpu engine")
    print(_row(["density", "mode"], ["seconds", "iterations", "ms/iteration"]))
    data = a_dataset(nodes, options.rows, seed=0)
    for density in options.density:
        for mode in options.mode:
            intervention, targets = MODES[mode]
            model = DCDI(density, 0.1, intervention=intervention, targets=targets, engine="cpu")
            started = time.process_time()
            iterations = model.fit(data).info["iterations"]
            seconds = time.process_time() - started
            cells = [f"{seconds:.1f}", str(iterations), _milliseconds(seconds / iterations)]
            print(_row([density, mode], cells), flush=True)


if __name__ == "__main__":
    main()
