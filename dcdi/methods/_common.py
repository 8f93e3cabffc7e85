"""What the DCDI methods share."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from benchmark.dataset import Dataset, Fit

if TYPE_CHECKING:
    from dcdi.estimator import DCDI

# Paper, Table of hyperparameter search spaces.
SPARSITIES = [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0]
PENALTIES = ("sparsity", "target_sparsity")
INTERVENTIONAL = ("observational", "perfect", "imperfect", "unknown", "imperfect-unknown")


def fit(
    dataset: Dataset,
    *,
    seed: int,
    sparsity: float,
    target_sparsity: float = 1e-3,
    units: int = 16,
    hidden_layers: int = 2,
    flow_units: int = 16,
    flow_layers: int = 2,
    mu: float | None = None,
    engine: Literal["auto", "cpu", "torch"] = "auto",
    heldout_nll: Literal["best", "last"] = "best",
    history: bool = False,
    **options: str,
) -> Fit:
    """Learn a DAG, and the targets where they are hidden; with ``history``, keep the learning curves."""
    combination = {
        "sparsity": sparsity,
        "target_sparsity": target_sparsity,
        "units": units,
        "hidden_layers": hidden_layers,
        "flow_units": flow_units,
        "flow_layers": flow_layers,
        "engine": engine,
        "heldout_nll": heldout_nll,
        "history": history,
    } | ({} if mu is None else {"mu": mu})
    (result,) = sweep(dataset, seed=seed, grid=[combination], **options)
    if isinstance(result, Exception):
        raise result
    return result


def sweep(dataset: Dataset, *, seed: int, grid: list[dict[str, Any]], **options: Any) -> Iterator[Fit | Exception]:
    """Fit a grid in its order; neighbours that differ in the penalties alone are one batch on a GPU."""

    def architecture(combination: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in combination.items() if name not in PENALTIES}

    for rest, group in itertools.groupby(grid, key=architecture):
        model = estimator(dataset, seed=seed, combination=rest, **options)
        yield from model.sweep(dataset, [{name: c[name] for name in PENALTIES if name in c} for c in group])


def estimator(dataset: Dataset, *, seed: int, combination: dict[str, Any], **options: Any) -> "DCDI":
    """Return the estimator of a combination of hyperparameters."""
    from dcdi.estimator import DCDI
    from dcdi.training import Schedule

    chosen = known(dataset) | options | combination
    schedule = replace(chosen.pop("schedule", Schedule()), **{k: chosen.pop(k) for k in ("mu",) if k in chosen})
    return DCDI(**chosen, seed=seed, schedule=schedule)


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
