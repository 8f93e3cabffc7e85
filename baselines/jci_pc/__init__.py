"""JCI-PC (Mooij, Magliacane and Claassen 2020): PC on the variables and one 0/1 context variable per setting.

As in the paper's experiments: all rows, Gaussian conditional-independence tests on the pooled data, and targets unknown
also where others are told them. An edge from a context variable to a variable says that the setting intervenes on it.

Engines: ``python`` (:mod:`.pc`) and ``pcalg`` (``jci_pc.R``). pcalg's ``pc`` cannot be told that context variables are
exogenous, and the JCI authors changed its sources for that; here its own skeleton search (method "stable"), Gaussian
tests, collider and Meek rules and extension are called one by one, and what is known of contexts is put in between.
Both give the same graphs, but where a column is a copy of another: then pcalg's partial correlations are rounding.
"""

from collections.abc import Iterator
from functools import cache
from numbers import Real
from typing import Any, Literal

import numpy as np

from baselines._shared.variants import SOUND, Variant, is_published, training_rows
from baselines.jci_pc.pc import Flags, PartialCorrelations, extend, independent, orient, skeleton
from baselines.jci_pc.published import independent_as_text, place_in_random_order
from benchmark.dataset import Dataset, Fit

LABEL = "JCI-PC"
SUPPORTS = ("perfect", "imperfect", "unknown", "imperfect-unknown")
SPACE = {"alpha": [2e-1, 1e-1, 1e-2, 1e-3]}
SELECTION = {"alpha": 1e-3}  # the paper's choice: there is no score to choose by
R_ENGINES = ("pcalg",)

Engine = Literal["python", "pcalg"]


def check(alpha: object, engine: Engine = "python", variant: str = SOUND) -> tuple[float, Engine, bool]:
    """Refuse what cannot be run; return the level, the engine and whether the variant is the published one."""
    # YAML reads 1e-3 (without a point) as text, and text compares with a number in no useful way.
    if not isinstance(alpha, Real) or not 0 < float(alpha) < 1:
        raise ValueError(f"alpha is {alpha!r}; expected a number between 0 and 1")
    if engine not in ("python", "pcalg"):
        raise ValueError(f"engine is {engine!r}; expected 'python' or 'pcalg'")
    published = is_published(variant)
    if engine == "pcalg" and published:
        raise ValueError("engine 'pcalg' compares p-values as numbers; variant 'published' needs engine 'python'")
    return float(alpha), engine, published


def fit(dataset: Dataset, *, seed: int, alpha: float, engine: Engine = "python", variant: Variant = SOUND) -> Fit:
    """Return a DAG of the class that PC finds at significance level alpha.

    Finite samples can lead to a class without any DAG. Then the skeleton is oriented along a random order, as in the
    paper; ``kind`` is "dag" and ``info["extendable"]`` False. ``engine`` is "python", or "pcalg" for the R package of
    that name, slower and with the same answers; ``variant`` "published" is :mod:`.published`, which only "python" has.
    """
    return next(sweep(dataset, seed=seed, grid=[{"alpha": alpha, "engine": engine, "variant": variant}]))


def sweep(dataset: Dataset, *, seed: int, grid: list[dict[str, Any]]) -> Iterator[Fit]:
    """Yield one fit per alpha; tests that several of them need are computed once, but for engine "pcalg"."""
    checked = [check(**combination) for combination in grid]
    tests = cache(lambda published: _tests(training_rows(dataset) if published else dataset))
    for alpha, engine, published in checked:
        yield _fit(dataset, tests(published), seed, alpha, engine, published)


def _tests(dataset: Dataset) -> PartialCorrelations:
    contexts = dataset.setting[:, None] == np.arange(1, dataset.settings)
    return PartialCorrelations(np.column_stack([dataset.X, contexts]))


def _fit(dataset: Dataset, tests: PartialCorrelations, seed: int, alpha: float, engine: Engine, published: bool) -> Fit:
    d = dataset.d
    context = np.arange(tests.p) >= d
    if engine == "pcalg":
        adjacent, pdag, dag = _with_pcalg(tests, context, alpha)
    else:
        adjacent, separates = skeleton(tests, context, alpha, independent_as_text if published else independent)
        pdag = orient(adjacent, separates, context)
        dag = extend(pdag)
    targets = np.zeros((dataset.settings, d))
    targets[1:] = adjacent[d:, :d]
    info = {"engine": engine, "extendable": dag is not None}
    if dag is None:
        place = place_in_random_order(tests.p) if published else np.random.default_rng(seed).permutation(d)
        graph = (adjacent[:d, :d] & (place[:d, None] < place[:d])).astype(np.int8)
        return Fit(graph, targets=targets, info=info)
    found, graph = pdag[:d, :d].astype(np.int8), dag[:d, :d].astype(np.int8)
    return Fit(graph, "cpdag", targets=targets, info=info | {"cpdag": found})


def _with_pcalg(tests: PartialCorrelations, context: Flags, alpha: float) -> tuple[Flags, Flags, Flags | None]:
    """Return which variables are adjacent, the partially directed graph, and a DAG of it where there is one."""
    from baselines._shared.r_bridge import call

    found = call(
        "jci_pc/jci_pc.R",
        "fit_pc",
        packages=("pcalg",),
        correlation=tests.correlation,
        n=tests.n,
        context=context.astype(np.int32),
        alpha=float(alpha),
    )
    adjacent, pdag, dag = (found[name].astype(bool) for name in ("adjacent", "pdag", "dag"))
    return adjacent, pdag, dag if found["extendable"][0] else None
