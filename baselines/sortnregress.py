"""Control: sort-and-regress (Reisach, Seiler and Weichwald 2021, "Beware of the simulated DAG!").

Variables are ordered by their marginal variance and each is regressed sparsely on those before it. Data simulated
from a DAG on their own scale often give the order away; here every variable is standardised, so the order carries
no information and this control must be at chance: SHD and SID no better than any other random order's. A method
that it matches has learned nothing about directions.
"""

import numpy as np
import numpy.typing as npt

from baselines._shared.gaussian import heldout_nll
from benchmark.dataset import Dataset, Fit

LABEL = "Sort-and-regress"
SUPPORTS = ("observational", "perfect", "imperfect", "unknown", "imperfect-unknown")
SPACE = {"penalty": [0.001, 0.003, 0.01, 0.03, 0.1, 0.3]}
SELECTION = "heldout"
IS_CONTROL = True
PACKAGES = ("scikit-learn",)


def warm_up() -> None:
    """Import scikit-learn."""
    import sklearn.linear_model  # noqa: F401


def fit(dataset: Dataset, *, seed: int, penalty: float) -> Fit:
    """Keep the parents whose adaptive-lasso coefficient is not 0 at this penalty."""
    X = dataset.X[dataset.training]
    X = X - X.mean(axis=0)
    # Rounding makes exactly standardised columns tie; ties are broken by the seed, not by the column's place.
    tie_break = np.random.default_rng(seed).random(dataset.d)
    order = np.lexsort((tie_break, np.round(X.var(axis=0), 9)))
    graph = np.zeros((dataset.d, dataset.d), dtype=np.int8)
    for place, j in enumerate(order[1:], start=1):
        before = order[:place]
        graph[before, j] = _adaptive_lasso(X[:, before], X[:, j], penalty) != 0
    return Fit(graph, heldout_nll=heldout_nll(dataset, graph))


def _adaptive_lasso(
    inputs: npt.NDArray[np.float64], output: npt.NDArray[np.float64], penalty: float
) -> npt.NDArray[np.float64]:
    """Lasso on inputs weighted by their least-squares coefficients, so that weak ones go first."""
    from sklearn.linear_model import Lasso

    scaled = output / (float(output.std()) or 1.0)
    weights = np.abs(np.linalg.lstsq(inputs, scaled, rcond=None)[0])
    model = Lasso(alpha=penalty, fit_intercept=False, tol=1e-6, max_iter=10_000)
    coefficients: npt.NDArray[np.float64] = model.fit(inputs * weights, scaled).coef_
    return coefficients
