"""DCD-no-interv: DCDI-G on the purely observational twin of a data set (paper, Appendix C.4)."""

from functools import partial

from dcdi.methods import _common

LABEL = "DCD-no-interv"
SUPPORTS = _common.INTERVENTIONAL
SPACE = {"sparsity": _common.SPARSITIES}
SELECTION = "heldout"
ENVIRONMENT = "dcdi"
PACKAGES = ("numba", "torch")
DATA = "twin"

fit = partial(_common.fit, density="gaussian", intervention="none")
sweep = partial(_common.sweep, density="gaussian", intervention="none")
warm_up = partial(_common.warm_up, "gaussian")
