"""GIES as the paper's authors selected it: by the held-out error of a linear fit without intercepts and variances.

GIES itself is the same. The published choice among the 50 penalties does not rest on the held-out likelihood of a
linear Gaussian model but on its squared error, every variable weighing the same whatever its noise; and the
coefficients come from Adagrad on random batches, stopped when the held-out error no longer falls. ``heldout_nll`` of
such a fit is that error: it ranks the penalties of one data set and is no likelihood.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from benchmark.dataset import Dataset

SEED = 1
BATCH = 500
RATE = 0.01
STABLE = 1e-10  # added to the root of the summed squares of gradients
PATIENCE = 100  # iterations without an improvement
IMPROVEMENT = 1e-4
LONGEST = 100_000

Array = npt.NDArray[np.float64]


class HeldoutError:
    """The criterion for the graphs of one data set; a graph that several penalties share is fitted once."""

    def __init__(self, dataset: Dataset) -> None:
        assert dataset.heldout is not None
        self._X = dataset.X[dataset.training]
        self._free = (~dataset.targeted[dataset.training]).astype(np.float64)  # a variable counts where it is no target
        self._rng = np.random.default_rng(SEED)
        self._batches: list[npt.NDArray[np.int64]] = []
        X, free = dataset.X[dataset.heldout], (~dataset.targeted[dataset.heldout]).astype(np.float64)
        self._count = np.maximum(free.sum(axis=0), 1.0)
        self._gram = np.stack([X.T @ (X * free[:, j, None]) for j in range(dataset.d)])
        self._known: dict[bytes, float] = {}

    def of(self, graph: npt.ArrayLike) -> float:
        """Return the lowest held-out error of a graph that training reaches."""
        edges = np.asarray(graph, dtype=np.float64)
        key = edges.tobytes()
        if key not in self._known:
            self._known[key] = self._train(edges)
        return self._known[key]

    def _train(self, edges: Array) -> float:
        weights = np.zeros_like(edges)
        squares = np.zeros_like(edges)
        lowest, left = np.inf, PATIENCE
        for X, share in self._drawn():
            gradient = -edges * (X.T @ ((X - X @ weights) * share))
            squares += gradient**2
            weights -= RATE * gradient / (np.sqrt(squares) + STABLE)
            error = self._error(weights)
            lowest, left = (error, PATIENCE) if error < lowest - IMPROVEMENT else (lowest, left - 1)
            if left == 0:
                break
        return float(lowest)

    def _drawn(self) -> Iterator[tuple[Array, Array]]:
        """Yield batches, the same for every graph: rows, and the weight of each residual in the mean error."""
        for number in range(LONGEST):
            if number == len(self._batches):
                size = min(BATCH, len(self._X))
                self._batches.append(self._rng.choice(len(self._X), size, replace=False, shuffle=False))
            rows = self._batches[number]
            free = self._free[rows]
            yield self._X[rows], free / np.maximum(free.sum(axis=0), 1.0) / free.shape[1]

    def _error(self, weights: Array) -> float:
        """Return half the mean squared held-out error of each variable, averaged over the variables."""
        residual = np.eye(len(weights)) - weights
        squares = np.einsum("aj,jab,bj->j", residual, self._gram, residual, optimize=False)
        return float(np.mean(0.5 * squares / self._count))
