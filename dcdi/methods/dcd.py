"""DCD: DCDI-G with a loss that ignores which rows are interventional (paper, Appendix C.4)."""

from collections.abc import Iterable
from typing import Any

from benchmark.dataset import Dataset, Fit
from dcdi.methods import _common

LABEL = "DCD"
SUPPORTS = _common.INTERVENTIONAL
SPACE = {"sparsity": _common.SPARSITIES}
SELECTION = "heldout"
ENVIRONMENT = "dcdi"
PACKAGES = ("numba", "torch")
OPTIONS: dict[str, Any] = {"density": "gaussian", "intervention": "none", "targets": "known"}


def warm_up() -> None:
    """Compile."""
    _common.warm_up("gaussian")


def fit(
    dataset: Dataset,
    *,
    seed: int,
    sparsity: float,
    units: int = 16,
    hidden_layers: int = 2,
    mu: float = 1e-8,
    engine: str = "auto",
) -> Fit:
    """Learn a DAG from all rows alike."""
    combination = {"sparsity": sparsity, "units": units, "hidden_layers": hidden_layers, "mu": mu, "engine": engine}
    (result,) = sweep(dataset, seed=seed, grid=[combination])
    if isinstance(result, Exception):
        raise result
    return result


def sweep(dataset: Dataset, *, seed: int, grid: list[dict[str, Any]]) -> Iterable[Fit | Exception]:
    """Fit each combination."""
    return _common.sweep(dataset, seed, grid, **OPTIONS)
