"""What the methods IGSP and UT-IGSP share: from a data set to searches, and from their DAGs to fits."""

import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from baselines._shared.ci_tests import make_tests
from baselines._shared.variants import SOUND, is_published
from baselines.igsp.published import old_search
from baselines.igsp.search import Dag, Search, all_arcs
from benchmark.dataset import Dataset, DatasetError, Fit

ALPHAS = [2e-1, 1e-1, 1e-2, 1e-3, 1e-5, 1e-7, 1e-9]  # paper, Appendix C.3
Engine = Literal["python", "causaldag"]
ENGINES = get_args(Engine)
Test = Literal["gauss", "kci", "rcit"]

Learned = tuple[Dag, npt.NDArray[np.float64] | None]
Solve = Callable[[Search], Learned]


def sweep_alphas(
    dataset: Dataset,
    seed: int,
    grid: list[dict[str, Any]],
    solve: Solve,
    as_published: Callable[[], tuple[Dataset, Solve]],
    known_targets: list[frozenset[int]] | None = None,
) -> Iterator[Fit]:
    """Yield the fit of each combination of ``alpha``, ``test``, ``engine`` and ``variant``.

    All rows are used, held-out ones too: there is no score (paper, Appendix C.3). Combinations share their p-values.
    ``solve`` is the search of engine "python", ``as_published`` gives data and search of variant "published"; without
    ``known_targets`` engine "causaldag" runs UT-IGSP.
    """
    if dataset.settings < 2:
        raise DatasetError("field 'setting': all rows are observational; IGSP and UT-IGSP need interventional data")
    prepared = cache(lambda published: as_published() if published else (dataset, solve))
    tests = cache(lambda name, published: make_tests(prepared(published)[0], name, seed))
    for combination in grid:
        alpha, test = float(combination["alpha"]), combination.get("test", "gauss")
        engine, published = combination.get("engine", "python"), is_published(combination.get("variant", SOUND))
        if not 0 < alpha < 1:
            raise ValueError(f"alpha is {alpha}; expected a level between 0 and 1")
        if engine not in ENGINES:
            raise ValueError(f"engine is {engine!r}; expected one of {', '.join(ENGINES)}")
        if engine == "causaldag" and published:
            raise ValueError("engine 'causaldag' is a later library; variant 'published' needs engine 'python'")
        if engine == "causaldag":
            from baselines.igsp.causaldag import library_fit

            yield library_fit(dataset, seed, alpha, test, known_targets)
            continue
        data, run = prepared(published)
        if published:
            search: Search = old_search(data, tests(test, True), test, alpha)
        else:
            search = Search(data.d, tests(test, False), alpha, random.Random(seed))
        dag, targets = run(search)
        graph = np.zeros((dataset.d, dataset.d), dtype=np.int8)
        for i, j in all_arcs(dag):
            graph[i, j] = 1
        yield Fit(graph, targets=targets, info={"engine": engine, "test": test})
