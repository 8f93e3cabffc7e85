"""GIES as the paper's authors selected it: by the held-out error of a linear fit without intercepts and variances.

GIES itself is the same. The published choice among the 50 penalties does not rest on the held-out likelihood of a
linear Gaussian model but on its squared error, every variable weighing the same whatever its noise; and the
coefficients come from Adagrad on random batches, stopped when the held-out error no longer falls. ``heldout_nll`` of
such a fit is that error: it ranks the penalties of one data set and is no likelihood.
"""

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


def heldout_errors(dataset: Dataset, graphs: list[npt.NDArray[np.int8]]) -> list[float]:
    """Return the lowest held-out error that training reaches with each graph; all see the same batches."""
    assert dataset.heldout is not None
    distinct = list({graph.tobytes(): graph for graph in graphs}.values())
    edges = np.stack(distinct).astype(np.float64)
    X, free = dataset.X[dataset.training], ~dataset.targeted[dataset.training]
    heldout = _moments(dataset.X[dataset.heldout], ~dataset.targeted[dataset.heldout])
    rng = np.random.default_rng(SEED)
    weights, squares = np.zeros_like(edges), np.zeros_like(edges)
    lowest, left = np.full(len(edges), np.inf), np.full(len(edges), PATIENCE)
    for _ in range(LONGEST):
        rows = rng.choice(len(X), size=min(BATCH, len(X)), replace=False, shuffle=False)
        gradient = -edges * _products(_moments(X[rows], free[rows]), weights)[0]
        squares += gradient**2
        weights -= RATE * gradient / (np.sqrt(squares) + STABLE)
        errors = _products(heldout, weights)[1]
        better = (left > 0) & (errors < lowest - IMPROVEMENT)
        lowest, left = np.where(better, errors, lowest), np.where(better, PATIENCE, left - 1)
        if left.max() <= 0:
            break
    of_graph = {graph.tobytes(): float(error) for graph, error in zip(distinct, lowest, strict=True)}
    return [of_graph[graph.tobytes()] for graph in graphs]


def _moments(X: Array, free: npt.NDArray[np.bool_]) -> Array:
    """Return the mean products [j x d x d] of all variables over the rows in which j is no target, divided by d."""
    n, d = X.shape
    shares = free / np.maximum(free.sum(axis=0), 1) / d
    products: Array = (X.T @ (shares[:, :, None] * X[:, None, :]).reshape(n, d * d)).reshape(d, d, d)
    return products.transpose(1, 0, 2)


def _products(moments: Array, weights: Array) -> tuple[Array, Array]:
    """Return for each graph the mean products of variables and residuals [graphs x d x d], and half the mean square."""
    residual = np.eye(weights.shape[-1]) - weights
    with_residual = np.matmul(moments, residual.transpose(2, 1, 0)).transpose(2, 1, 0)
    return with_residual, 0.5 * np.sum(residual * with_residual, axis=(1, 2))
