"""Digests of what the cpu engine learns, to compare processors: ``python -m tests.dcdi_bits`` prints them as JSON.

``dcdi_bits.json`` beside this file is that output. It changes only where the arithmetic of the engine is meant to.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmark.dataset import Dataset
from dcdi import DCDI, bench
from dcdi.cpu import CpuEngine
from dcdi.model import Density
from tests.dcdi_cases import DENSITIES, MODES, SHORT, Size, a_member, a_model, an_engine

ITERATIONS = 2000
# Rows, units and outputs that fill a block of eight and leave some over.
SIZE = Size(nodes=9, units=9, flow_units=4)


def trained() -> dict[str, str]:
    """Digest of all weights and running squares after 2,000 iterations in each mode, and of the held-out likelihood."""
    digests = {}
    for density in DENSITIES:
        for intervention, targets in MODES:
            engine = an_engine(a_model(density, intervention, targets, SIZE), SIZE)
            engine.run([a_member()], ITERATIONS)
            digests[f"{density}, {intervention}, {targets}"] = _digest(_state(engine))
    return digests


def _state(engine: CpuEngine) -> Iterable[Any]:
    nll = np.array(engine.heldout_nll(0))
    assert np.isfinite(nll)
    return *engine.parameters, *engine.squares, nll


def fitted() -> dict[str, Any]:
    """Return what a whole fit of each density found."""
    return {density: fit(density) for density in DENSITIES}


def small_data() -> Dataset:
    """Three variables, rounded, so that the arithmetic that made them is of no account."""
    data = bench.a_dataset(3, 600, seed=0)
    return Dataset(data.X.round(3), data.setting, data.targets, heldout=data.heldout)


def fit(density: Density) -> dict[str, Any]:
    """Return the result of one fit."""
    model = DCDI(density, 0.1, units=SIZE.units, flow_units=SIZE.flow_units, schedule=SHORT, engine="cpu")
    found = model.fit(small_data())
    assert model.fitted is not None
    return {
        "edges": [f"{i} -> {j}" for i, j in np.argwhere(found.graph)],
        "iterations": found.info["iterations"],
        "heldout_nll": found.heldout_nll,
        "parameters": _digest(model.fitted.parameters.values()),
    }


def _digest(arrays: Iterable[Any]) -> str:
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:16]


if __name__ == "__main__":
    print(json.dumps({"trained": trained(), "fitted": fitted()}, indent=2))
