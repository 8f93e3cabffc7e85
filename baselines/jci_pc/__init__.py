"""JCI-PC (Mooij, Magliacane and Claassen 2020): PC on the variables and one 0/1 context variable per setting.

As in the paper's experiments: all rows, Gaussian conditional-independence tests on the pooled data, and targets unknown
also where others are told them. An edge from a context variable to a variable says that the setting intervenes on it.
"""

from collections.abc import Iterator
from functools import cache
from numbers import Real
from typing import Any

import numpy as np

from baselines._shared.variants import SOUND, Variant, is_published, training_rows
from baselines.jci_pc.pc import PartialCorrelations, extend, independent, orient, skeleton
from baselines.jci_pc.published import independent_as_text, place_in_random_order
from benchmark.dataset import Dataset, Fit

LABEL = "JCI-PC"
SUPPORTS = ("perfect", "imperfect", "unknown", "imperfect-unknown")
SPACE = {"alpha": [2e-1, 1e-1, 1e-2, 1e-3]}
SELECTION = {"alpha": 1e-3}  # the paper's choice: there is no score to choose by


def fit(dataset: Dataset, *, seed: int, alpha: float, variant: Variant = SOUND) -> Fit:
    """Return a DAG of the class that PC finds at significance level alpha.

    Finite samples can lead to a class without any DAG. Then the skeleton is oriented along a random order, as in the
    paper; ``kind`` is "dag" and ``info["extendable"]`` False. ``variant`` "published" is :mod:`.published`.
    """
    return next(sweep(dataset, seed=seed, grid=[{"alpha": alpha, "variant": variant}]))


def sweep(dataset: Dataset, *, seed: int, grid: list[dict[str, Any]]) -> Iterator[Fit]:
    """Yield one fit per alpha; tests that several of them need are computed once."""
    for combination in grid:
        _check_alpha(combination["alpha"])
    tests = cache(lambda published: _tests(training_rows(dataset) if published else dataset))
    for combination in grid:
        published = is_published(combination.get("variant", SOUND))
        yield _fit(dataset, tests(published), seed, combination["alpha"], published)


def _tests(dataset: Dataset) -> PartialCorrelations:
    contexts = dataset.setting[:, None] == np.arange(1, dataset.settings)
    return PartialCorrelations(np.column_stack([dataset.X, contexts]))


def _fit(dataset: Dataset, tests: PartialCorrelations, seed: int, alpha: float, published: bool) -> Fit:
    d = dataset.d
    context = np.arange(tests.p) >= d
    adjacent, separates = skeleton(tests, context, alpha, independent_as_text if published else independent)
    targets = np.zeros((dataset.settings, d))
    targets[1:] = adjacent[d:, :d]
    pdag = orient(adjacent, separates, context)
    dag = extend(pdag)
    if dag is None:
        place = place_in_random_order(tests.p) if published else np.random.default_rng(seed).permutation(d)
        graph = (adjacent[:d, :d] & (place[:d, None] < place[:d])).astype(np.int8)
        return Fit(graph, targets=targets, info={"extendable": False})
    found, graph = pdag[:d, :d].astype(np.int8), dag[:d, :d].astype(np.int8)
    return Fit(graph, "cpdag", targets=targets, info={"cpdag": found, "extendable": True})


def _check_alpha(alpha: object) -> None:
    # YAML reads 1e-3 (without a point) as text, and text compares with a number in no useful way.
    if not isinstance(alpha, Real) or not 0 < float(alpha) < 1:
        raise ValueError(f"alpha is {alpha!r}; expected a number between 0 and 1")
