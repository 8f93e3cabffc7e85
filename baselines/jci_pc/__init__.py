"""JCI-PC (Mooij, Magliacane and Claassen 2020): PC on the variables and one 0/1 context variable per setting.

As in the paper's experiments: all rows, Gaussian conditional-independence tests on the pooled data, and targets unknown
also where others are told them. An edge from a context variable to a variable says that the setting intervenes on it.
"""

from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from baselines.jci_pc.pc import PartialCorrelations, extend, orient, skeleton
from benchmark.dataset import Dataset, Fit

LABEL = "JCI-PC"
SUPPORTS = ("perfect", "imperfect", "unknown", "imperfect-unknown")
SPACE = {"alpha": [2e-1, 1e-1, 1e-2, 1e-3]}
SELECTION = {"alpha": 1e-3}  # the paper's choice: there is no score to choose by


def fit(dataset: Dataset, *, seed: int, alpha: float) -> Fit:
    """Return a DAG of the class that PC finds at significance level alpha.

    Finite samples can lead to a class without any DAG. Then the skeleton is oriented along a random order, as in the
    paper; ``kind`` is "dag" and ``info["extendable"]`` False.
    """
    return next(sweep(dataset, seed=seed, grid=[{"alpha": alpha}]))


def sweep(dataset: Dataset, *, seed: int, grid: list[dict[str, Any]]) -> Iterator[Fit]:
    """Yield one fit per alpha; tests that several of them need are computed once."""
    for combination in grid:
        _check_alpha(**combination)
    contexts = dataset.setting[:, None] == np.arange(1, dataset.settings)
    tests = PartialCorrelations(np.column_stack([dataset.X, contexts]))
    for combination in grid:
        yield _fit(dataset, tests, seed, **combination)


def _fit(dataset: Dataset, tests: PartialCorrelations, seed: int, alpha: float) -> Fit:
    d = dataset.d
    context = np.arange(tests.p) >= d
    adjacent, separates = skeleton(tests, context, alpha)
    targets = np.zeros((dataset.settings, d))
    targets[1:] = adjacent[d:, :d]
    pdag = orient(adjacent, separates, context)
    dag = extend(pdag)
    if dag is None:
        return Fit(_random_orientation(adjacent[:d, :d], seed), targets=targets, info={"extendable": False})
    found, graph = pdag[:d, :d].astype(np.int8), dag[:d, :d].astype(np.int8)
    return Fit(graph, "cpdag", targets=targets, info={"cpdag": found, "extendable": True})


def _random_orientation(adjacent: npt.NDArray[np.bool_], seed: int) -> npt.NDArray[np.int8]:
    place = np.random.default_rng(seed).permutation(len(adjacent))
    oriented: npt.NDArray[np.int8] = (adjacent & (place[:, None] < place)).astype(np.int8)
    return oriented


def _check_alpha(alpha: object) -> None:
    # YAML reads 1e-3 (without a point) as text, and text compares with a number in no useful way.
    if not isinstance(alpha, Real) or not 0 < float(alpha) < 1:
        raise ValueError(f"alpha is {alpha!r}; expected a number between 0 and 1")
