"""DCDI-G: Gaussian conditionals (paper, Section 3)."""

from functools import partial

from dcdi.methods import _common

LABEL = "DCDI-G"
SUPPORTS = _common.INTERVENTIONAL
SPACE = {"sparsity": _common.SPARSITIES}
SELECTION = "heldout"
ENVIRONMENT = "dcdi"
PACKAGES = ("numba", "torch")

fit = partial(_common.fit, density="gaussian")
sweep = partial(_common.sweep, density="gaussian")
warm_up = partial(_common.warm_up, "gaussian")
