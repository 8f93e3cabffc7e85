"""DCDI-linear: DCDI-G without hidden layers (paper, Appendix C.4)."""

from collections.abc import Iterable
from typing import Any

from benchmark.dataset import Dataset, Fit
from dcdi.methods import _common

LABEL = "DCDI-linear"
SUPPORTS = _common.INTERVENTIONAL
SPACE = {"sparsity": _common.SPARSITIES}
SELECTION = "heldout"
ENVIRONMENT = "dcdi"
PACKAGES = ("numba", "torch")
OPTIONS: dict[str, Any] = {"density": "gaussian", "hidden_layers": 0}


def warm_up() -> None:
    """Compile."""
    _common.warm_up("gaussian")


def fit(
    dataset: Dataset,
    *,
    seed: int,
    sparsity: float,
    target_sparsity: float = 1e-3,
    mu: float = 1e-8,
    engine: str = "auto",
) -> Fit:
    """Learn a DAG with linear means."""
    combination = {"sparsity": sparsity, "target_sparsity": target_sparsity, "mu": mu, "engine": engine}
    (result,) = sweep(dataset, seed=seed, grid=[combination])
    if isinstance(result, Exception):
        raise result
    return result


def sweep(dataset: Dataset, *, seed: int, grid: list[dict[str, Any]]) -> Iterable[Fit | Exception]:
    """Fit each combination."""
    return _common.sweep(dataset, seed, grid, **OPTIONS)
