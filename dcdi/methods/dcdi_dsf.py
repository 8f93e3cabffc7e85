"""DCDI-DSF: conditionals are deep sigmoidal flows (paper, Section 3.4)."""

from functools import partial

from dcdi.methods import _common

LABEL = "DCDI-DSF"
SUPPORTS = _common.INTERVENTIONAL
SPACE = {"sparsity": _common.SPARSITIES}
SELECTION = "heldout"
ENVIRONMENT = "dcdi"
PACKAGES = ("numba", "torch")

fit = partial(_common.fit, density="dsf")
sweep = partial(_common.sweep, density="dsf")
warm_up = partial(_common.warm_up, "dsf")
