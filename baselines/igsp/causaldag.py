"""The library behind causaldag, its tests and its searches: the engine "causaldag" of IGSP and UT-IGSP.

The default engine gives the same graphs faster. This one is the original to compare it with.
"""

import random
import warnings
from typing import Any

import numpy as np

from baselines.igsp.search import RUNS
from benchmark.dataset import Dataset, Fit

ENGINE = "causaldag"


def library_fit(
    dataset: Dataset, seed: int, alpha: float, test: str, known_targets: list[frozenset[int]] | None
) -> Fit:
    """Run the library's IGSP, or its UT-IGSP where no targets are given."""
    with warnings.catch_warnings():  # the imports take ten seconds and warn of deprecated dependencies
        warnings.simplefilter("ignore")
        import conditional_independence
        from graphical_model_learning import igsp, unknown_target_igsp

    independence, invariance = _testers(conditional_independence, dataset, alpha, test)
    nodes = set(range(dataset.d))
    state = random.getstate()  # the library draws from the global stream
    random.seed(seed)
    try:
        if known_targets is not None:
            settings = [{"interventions": set(nodes)} for nodes in known_targets]
            graph, learned = igsp(settings, nodes, independence, invariance, nruns=RUNS), None
        else:
            unknown = [{"known_interventions": set[int]()} for _ in range(1, dataset.settings)]
            graph, learned = unknown_target_igsp(unknown, nodes, independence, invariance, nruns=RUNS)
    finally:
        random.setstate(state)
    targets = None
    if learned is not None:
        targets = np.zeros((dataset.settings, dataset.d))
        for k, changed in enumerate(learned, start=1):
            targets[k, list(changed)] = 1
    return Fit(graph.to_amat(node_list=sorted(nodes))[0], targets=targets, info={"engine": ENGINE})


def _testers(library: Any, dataset: Dataset, alpha: float, test: str) -> tuple[Any, Any]:
    observational = dataset.X[dataset.setting == 0]
    others = [dataset.X[dataset.setting == k] for k in range(1, dataset.settings)]
    if test == "gauss":

        def calibrated(*arguments: Any, **keywords: Any) -> Any:
            """Run the library's test; under its own name searches start at twice the level (docs/ci-tests.md)."""
            return library.partial_correlation_test(*arguments, **keywords)

        independence = calibrated, library.partial_correlation_suffstat(observational)
        invariance = library.gauss_invariance_test, library.gauss_invariance_suffstat(observational, others)
    elif test == "kci":

        def never_nan(*arguments: Any, **keywords: Any) -> Any:
            result = library.kci_invariance_test(*arguments, **keywords)
            if np.isnan(result["p_value"]):
                raise ValueError(
                    "the library's kci_invariance_test has no p-value where a setting has not as many rows as the "
                    "observational one, and would pass as 'invariant'; use engine 'python'"
                )
            return result

        independence = library.kci_test, observational
        invariance = never_nan, {**dict(enumerate(others)), "obs_samples": observational}
    else:
        raise ValueError(f"engine 'causaldag' has no test {test!r}; it has 'gauss' and 'kci'")
    return (
        library.MemoizedCI_Tester(*independence, alpha=alpha),
        library.MemoizedInvarianceTester(*invariance, alpha=alpha),
    )
