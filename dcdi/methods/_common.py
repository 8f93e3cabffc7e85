"""What the DCDI methods share."""

from collections.abc import Iterable
from typing import Any

from benchmark.dataset import Dataset, Fit

# Paper, Table of hyperparameter search spaces.
SPARSITIES = [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0]
INTERVENTIONAL = ("observational", "perfect", "imperfect", "unknown", "imperfect-unknown")


def sweep(dataset: Dataset, seed: int, grid: list[dict[str, Any]], **options: Any) -> Iterable[Fit | Exception]:
    """Fit a grid; combinations that differ in the penalties alone share one estimator (and a batch, on a GPU)."""
    from dcdi.estimator import DCDI
    from dcdi.training import Schedule

    penalties = ("sparsity", "target_sparsity")
    groups: dict[str, list[dict[str, Any]]] = {}
    for combination in grid:
        rest = {name: value for name, value in combination.items() if name not in penalties}
        groups.setdefault(repr(sorted(rest.items())), []).append(combination)
    results: dict[int, Fit | Exception] = {}
    for combinations in groups.values():
        rest = {name: value for name, value in combinations[0].items() if name not in penalties}
        schedule = Schedule(mu=rest.pop("mu", Schedule.mu))
        estimator = DCDI(**(known(dataset) | options | rest), seed=seed, schedule=schedule)
        fits = estimator.sweep(dataset, [{k: v for k, v in c.items() if k in penalties} for c in combinations])
        results |= {id(combination): fit for combination, fit in zip(combinations, fits, strict=True)}
    return [results[id(combination)] for combination in grid]


def known(dataset: Dataset) -> dict[str, Any]:
    """Return what the experimenter knows: the kind of intervention, and whether its targets are known."""
    kind = str(dataset.parameters.get("intervention", "perfect")).split("-")[0]
    return {"intervention": kind, "targets": "unknown" if dataset.targets is None else "known"}


def warm_up(density: str) -> None:
    """Compile the cpu engine (or load it from numba's cache) with a fit of a few iterations."""
    import numpy as np

    from dcdi.cpu import CpuEngine
    from dcdi.model import Model
    from dcdi.training import Member, Schedule

    X = np.random.default_rng(0).normal(size=(64, 2))
    setting, heldout = np.zeros(64, dtype=np.int64), np.arange(64) % 2 == 0
    model = Model(2, np.zeros((1, 2), dtype=np.int8), density, "perfect", "known", 1, 2, 1, 2)  # type: ignore[arg-type]
    engine = CpuEngine(model, X, setting, heldout, Schedule(), 0)
    engine.run([Member(0.1, 0.1, mu=1e-8, gamma=0.0)], 1)
    engine.heldout_nll(0)
