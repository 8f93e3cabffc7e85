"""Control: a random graph from the prior over graphs, drawn without looking at the data.

The density is the prior's expected number of edges per node (what the generator was told), not the number of edges
that the true graph happens to have; 1 where the data set states none.
"""

import numpy as np

from benchmark.dataset import Dataset, Fit

LABEL = "Random graph"
SUPPORTS = ("observational", "perfect", "imperfect", "unknown", "imperfect-unknown")
SPACE: dict[str, list[float]] = {}
SELECTION: dict[str, float] = {}
IS_CONTROL = True


def fit(dataset: Dataset, *, seed: int) -> Fit:
    """Draw a random order and each possible edge with probability 2 e / (d - 1)."""
    rng = np.random.default_rng(seed)
    edges_per_node = dataset.parameters.get("edges_per_node", 1.0)
    probability = min(1.0, 2 * edges_per_node / max(dataset.d - 1, 1))
    order = rng.permutation(dataset.d)
    graph = np.zeros((dataset.d, dataset.d), dtype=np.int8)
    graph[np.ix_(order, order)] = np.triu(rng.random(graph.shape) < probability, k=1)
    return Fit(graph)
