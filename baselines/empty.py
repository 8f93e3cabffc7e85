"""Control: the graph without edges. A method worth its cost beats it."""

import numpy as np

from benchmark.dataset import Dataset, Fit

LABEL = "Empty graph"
SUPPORTS = ("observational", "perfect", "imperfect", "unknown", "imperfect-unknown")
SPACE: dict[str, list[float]] = {}
SELECTION: dict[str, float] = {}
IS_CONTROL = True


def fit(dataset: Dataset, *, seed: int) -> Fit:
    """Return no edge at all."""
    return Fit(np.zeros((dataset.d, dataset.d), dtype=np.int8))
