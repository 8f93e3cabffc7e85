"""GIES: greedy interventional equivalence search (Hauser and Buehlmann 2012), as in the paper's Appendix C.1."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from baselines._shared.gaussian import heldout_nll
from baselines._shared.variants import SOUND, Variant, is_published
from baselines.gies.essential_graphs import EssentialGraph, draw_dag
from baselines.gies.greedy_search import GreedySearch
from baselines.gies.interventional_score import InterventionalScore
from baselines.gies.published import heldout_errors
from benchmark.dataset import Dataset, Fit

LABEL = "GIES"
SUPPORTS = ("observational", "perfect", "imperfect")
SELECTION = "heldout"
R_ENGINES = ("pcalg",)
DRAWS = 50

Engine = Literal["python", "pcalg"]


def space(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Draw the paper's random search over lambda."""
    return [{"penalty": float(10**exponent)} for exponent in rng.uniform(-4, 4, size=DRAWS)]


def fit(dataset: Dataset, *, seed: int, penalty: float, engine: Engine = "python", variant: Variant = SOUND) -> Fit:
    """Return the class of DAGs with the best penalised likelihood that greedy search finds.

    Parameters
    ----------
    dataset
        Its targets must be known.
    seed
        Draws the member of the class that is returned as ``graph``.
    penalty
        What a parameter costs (lambda), in units of log-likelihood; 0.5 log n is BIC.
    engine
        "python", or "pcalg" for the R package of that name.
    variant
        "sound", or "published" for the held-out score that the paper's authors selected by (:mod:`.published`).
    """
    return next(sweep(dataset, seed=seed, grid=[{"penalty": penalty, "engine": engine, "variant": variant}]))


def sweep(dataset: Dataset, *, seed: int, grid: list[dict[str, Any]]) -> Iterator[Fit]:
    """Yield one fit per penalty; the search remembers its steps, which are the same for all of them."""
    fits = _search(dataset, seed, grid)
    published = [is_published(combination.get("variant", SOUND)) for combination in grid]
    if dataset.heldout is None or not any(published):
        yield from fits
        return
    found = list(fits)
    errors = heldout_errors(dataset, [fit.graph for fit in found])
    for fit, error, as_published in zip(found, errors, published, strict=True):
        yield replace(fit, heldout_nll=error) if as_published else fit


def _search(dataset: Dataset, seed: int, grid: list[dict[str, Any]]) -> Iterator[Fit]:
    search: GreedySearch | None = None
    score = InterventionalScore(dataset)
    for combination in grid:
        penalty, engine = _checked(**combination)
        if engine == "pcalg":
            graph = _with_pcalg(dataset, penalty)
        else:
            search = search or GreedySearch(score)
            graph = search.run(penalty)
        member = draw_dag(graph, np.random.default_rng(seed))
        parents = EssentialGraph.from_matrix(member).parents
        info = {
            "cpdag": graph.to_matrix(),
            "engine": engine,
            "score": sum(score.local(j, parents[j], penalty) for j in range(dataset.d)),
        }
        yield Fit(member, "cpdag", heldout_nll(dataset, member), info=info)


def _checked(penalty: float, engine: Engine = "python", variant: str = SOUND) -> tuple[float, Engine]:
    if engine not in ("python", "pcalg"):
        raise ValueError(f"engine is {engine!r}; expected 'python' or 'pcalg'")
    if not 0 <= penalty < np.inf:
        raise ValueError(f"penalty is {penalty}; expected a number of 0 or more")
    return penalty, engine


def _with_pcalg(dataset: Dataset, penalty: float) -> EssentialGraph:
    from baselines._shared.r_bridge import call

    targets, target_index = _target_sets(dataset)
    X = dataset.X[dataset.training]
    found = call(
        "gies/gies.R", "fit_gies", packages=("pcalg",), X=X, targets=targets, target_index=target_index, penalty=penalty
    )
    return EssentialGraph.from_matrix(found["essential_graph"])


def _target_sets(dataset: Dataset) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the distinct target sets of the rows to fit on and the number of each row's, from 1 as R counts."""
    assert dataset.targets is not None  # the score has refused unknown targets
    rows = dataset.targets[dataset.setting[dataset.training]]
    targets, index = np.unique(rows, axis=0, return_inverse=True)
    return targets.astype(np.int32), np.ravel(index).astype(np.int32) + 1
