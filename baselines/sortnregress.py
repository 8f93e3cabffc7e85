"""Control: sort-and-regress (Reisach, Seiler and Weichwald 2021, "Beware of the simulated DAG!").

Variables are ordered by their marginal variance and each is regressed sparsely on those before it. Data simulated
from a DAG on their own scale often give the order away; here every variable is standardised, so the order carries
no information and this control must be at chance: SHD and SID no better than any other random order's. A method
that it matches has learned nothing about directions.
"""

from baselines._shared import sorted_regression
from benchmark.dataset import Dataset, Fit

LABEL = "Sort-and-regress"
SUPPORTS = ("observational", "perfect", "imperfect", "unknown", "imperfect-unknown")
SPACE = {"penalty": sorted_regression.PENALTIES}
SELECTION = "heldout"
IS_CONTROL = True
PACKAGES = ("scikit-learn",)
warm_up = sorted_regression.warm_up


def fit(dataset: Dataset, *, seed: int, penalty: float) -> Fit:
    """Keep the parents whose adaptive-lasso coefficient is not 0 at this penalty."""
    variance = sorted_regression.centred(dataset).var(axis=0)
    return sorted_regression.fit_sorted(dataset, variance, penalty, seed)
