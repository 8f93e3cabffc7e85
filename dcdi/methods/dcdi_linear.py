"""DCDI-linear: DCDI-G without hidden layers (paper, Appendix C.4)."""

from functools import partial

from dcdi.methods import _common

LABEL = "DCDI-linear"
SUPPORTS = _common.INTERVENTIONAL
SPACE = {"sparsity": _common.SPARSITIES}
SELECTION = "heldout"
ENVIRONMENT = "dcdi"
PACKAGES = ("numba", "torch")

fit = partial(_common.fit, density="gaussian", hidden_layers=0)
sweep = partial(_common.sweep, density="gaussian", hidden_layers=0)
warm_up = partial(_common.warm_up, "gaussian")
