"""What the sort-and-regress controls share: variables in some order, each regressed sparsely on those before it."""

import numpy as np
import numpy.typing as npt

from baselines._shared.gaussian import heldout_nll
from benchmark.dataset import Dataset, Fit

PENALTIES = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3]
TIES = 9  # decimals


def fit_sorted(dataset: Dataset, criterion: npt.NDArray[np.float64], penalty: float, seed: int) -> Fit:
    """Order variables by a criterion, smallest first, and keep those parents that the regressions keep."""
    # Rounding makes equal values tie; ties are broken by the seed, not by the column's place.
    tie_break = np.random.default_rng(seed).random(dataset.d)
    order = np.lexsort((tie_break, np.round(criterion, TIES)))
    X = centred(dataset)
    graph = np.zeros((dataset.d, dataset.d), dtype=np.int8)
    for place, j in enumerate(order[1:], start=1):
        before = order[:place]
        graph[before, j] = adaptive_lasso(X[:, before], X[:, j], penalty) != 0
    return Fit(graph, heldout_nll=heldout_nll(dataset, graph))


def centred(dataset: Dataset) -> npt.NDArray[np.float64]:
    """Return the rows to fit on, less their mean."""
    X = dataset.X[dataset.training]
    centred: npt.NDArray[np.float64] = X - X.mean(axis=0)
    return centred


def adaptive_lasso(
    inputs: npt.NDArray[np.float64], output: npt.NDArray[np.float64], penalty: float
) -> npt.NDArray[np.float64]:
    """Lasso on inputs weighted by their least-squares coefficients, so that weak ones go first."""
    from sklearn.linear_model import Lasso

    scaled = output / (float(output.std()) or 1.0)
    weights = np.abs(np.linalg.lstsq(inputs, scaled, rcond=None)[0])
    model = Lasso(alpha=penalty, fit_intercept=False, tol=1e-6, max_iter=10_000)
    coefficients: npt.NDArray[np.float64] = model.fit(inputs * weights, scaled).coef_
    return coefficients


def warm_up() -> None:
    """Import scikit-learn."""
    import sklearn.linear_model  # noqa: F401
