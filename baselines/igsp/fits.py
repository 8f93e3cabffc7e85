"""What the methods IGSP and UT-IGSP share: from a data set to searches, and from their DAGs to fits."""

import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from baselines._shared.ci_tests import make_tests
from baselines.igsp.search import Dag, Search, all_arcs
from benchmark.dataset import Dataset, DatasetError, Fit

ALPHAS = [2e-1, 1e-1, 1e-2, 1e-3, 1e-5, 1e-7, 1e-9]  # paper, Appendix C.3
ENGINES = ("python", "causaldag")

Learned = tuple[Dag, npt.NDArray[np.float64] | None]


def sweep_alphas(
    dataset: Dataset,
    seed: int,
    grid: list[dict[str, Any]],
    solve: Callable[[Search], Learned],
    known_targets: list[frozenset[int]] | None = None,
) -> Iterator[Fit]:
    """Yield the fit of each combination of ``alpha``, ``test`` and ``engine``.

    All rows are used, held-out ones too: there is no score (paper, Appendix C.3). Combinations share their p-values.
    ``solve`` is the search of engine "python"; without ``known_targets`` engine "causaldag" runs UT-IGSP.
    """
    if dataset.settings < 2:
        raise DatasetError("field 'setting': all rows are observational; IGSP and UT-IGSP need interventional data")
    tests = cache(lambda name: make_tests(dataset, name, seed))
    for combination in grid:
        alpha, test = float(combination["alpha"]), combination.get("test", "gauss")
        engine = combination.get("engine", "python")
        if not 0 < alpha < 1:
            raise ValueError(f"alpha is {alpha}; expected a level between 0 and 1")
        if engine not in ENGINES:
            raise ValueError(f"engine is {engine!r}; expected one of {', '.join(ENGINES)}")
        if engine == "causaldag":
            from baselines.igsp.causaldag import library_fit

            yield library_fit(dataset, seed, alpha, test, known_targets)
            continue
        search = Search(dataset.d, tests(test), alpha, random.Random(seed))
        dag, targets = solve(search)
        graph = np.zeros((dataset.d, dataset.d), dtype=np.int8)
        for i, j in all_arcs(dag):
            graph[i, j] = 1
        yield Fit(graph, targets=targets, info={"engine": engine, "test": test})
