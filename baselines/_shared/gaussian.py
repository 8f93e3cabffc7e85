"""The linear Gaussian model of a given DAG, for held-out scores."""

import numpy as np
import numpy.typing as npt

from benchmark.dataset import Dataset


def heldout_nll(dataset: Dataset, graph: npt.ArrayLike) -> float | None:
    """Return the held-out negative log-likelihood per sample and variable, or None where nothing is held out.

    Each variable is regressed on its parents over the training rows in which it is no target; the terms of targeted
    variables are left out of the score too (paper, Appendix A.3), and the divisor is the number of held-out rows
    times the number of variables. Where targets are unknown, no row is left out.
    """
    if dataset.heldout is None:
        return None
    adjacency = np.asarray(graph, dtype=bool)
    targeted = np.zeros(dataset.X.shape, dtype=bool) if dataset.targets is None else dataset.targeted
    total = 0.0
    for j in range(dataset.d):
        design = np.column_stack([dataset.X[:, adjacency[:, j]], np.ones(dataset.n)])
        train = dataset.training & ~targeted[:, j]
        test = dataset.heldout & ~targeted[:, j]
        coefficients, *_ = np.linalg.lstsq(design[train], dataset.X[train, j], rcond=None)
        residuals = dataset.X[:, j] - design @ coefficients
        # A floor, so that an exact relation (a duplicated column) has a finite score.
        variance = max(float(np.mean(residuals[train] ** 2)), 1e-12)
        total += 0.5 * float(np.sum(np.log(2 * np.pi * variance) + residuals[test] ** 2 / variance))
    return total / (int(dataset.heldout.sum()) * dataset.d)
