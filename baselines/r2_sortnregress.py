"""Control: sort-and-regress by R² (Reisach et al. 2023, "A scale-invariant sorting criterion").

Variables are ordered by the share of their variance that all others explain linearly, and each is regressed sparsely on
those before it. In many simulated models this share grows along the causal order, and standardising, which makes
variances equal, leaves it as it is: what this control finds, a simulation gives away without any intervention.
"""

import numpy as np
import numpy.typing as npt

from baselines._shared import sorted_regression
from benchmark.dataset import Dataset, Fit

LABEL = "R² sort-and-regress"
SUPPORTS = ("observational", "perfect", "imperfect", "unknown", "imperfect-unknown")
SPACE = {"penalty": sorted_regression.PENALTIES}
SELECTION = "heldout"
IS_CONTROL = True
PACKAGES = ("scikit-learn",)
warm_up = sorted_regression.warm_up


def fit(dataset: Dataset, *, seed: int, penalty: float) -> Fit:
    """Keep the parents whose adaptive-lasso coefficient is not 0 at this penalty."""
    return sorted_regression.fit_sorted(dataset, explained(sorted_regression.centred(dataset)), penalty, seed)


def explained(X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return R² of each column's linear regression on all others; X is centred.

    >>> explained(np.array([[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]])).round(6)
    array([1., 1.])
    """
    shares = np.zeros(X.shape[1])
    for j, output in enumerate(X.T):
        others = np.delete(X, j, axis=1)
        total = float(output @ output)
        if others.shape[1] and total > 0:
            residual = output - others @ np.linalg.lstsq(others, output, rcond=None)[0]
            shares[j] = 1 - float(residual @ residual) / total
    return shares
