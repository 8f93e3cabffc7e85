"""DCD: DCDI-G with a loss that ignores which rows are interventional (paper, Appendix C.4)."""

from functools import partial

from dcdi.methods import _common

LABEL = "DCD"
SUPPORTS = _common.INTERVENTIONAL
SPACE = {"sparsity": _common.SPARSITIES}
SELECTION = "heldout"
ENVIRONMENT = "dcdi"
PACKAGES = ("numba", "torch")

fit = partial(_common.fit, density="gaussian", intervention="none")
sweep = partial(_common.sweep, density="gaussian", intervention="none")
warm_up = partial(_common.warm_up, "gaussian")
