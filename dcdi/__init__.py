"""Differentiable causal discovery from interventional data: ``from dcdi import DCDI``."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dcdi.estimator import DCDI

__all__ = ["DCDI"]


def __getattr__(name: str) -> Any:
    """Import the estimator on use: the methods of the workflow are described without numba."""
    if name == "DCDI":
        from dcdi.estimator import DCDI

        return DCDI
    raise AttributeError(f"module 'dcdi' has no attribute {name!r}")
