"""UT-IGSP: IGSP that learns the targets of the interventions, too (Squires, Wang and Uhler 2020)."""

from collections.abc import Iterator
from typing import Any

from baselines._shared.variants import SOUND, Variant
from baselines.igsp.fits import ALPHAS, Engine, Test, sweep_alphas
from baselines.igsp.published import ut_igsp_of_2020
from baselines.igsp.search import ut_igsp
from benchmark.dataset import Dataset, Fit

LABEL = "UT-IGSP"
SUPPORTS = ("perfect", "imperfect", "unknown", "imperfect-unknown")
SPACE = {"alpha": ALPHAS}
SELECTION = {"alpha": 1e-3}  # there is no held-out score; the paper reports this level
ENVIRONMENT = "igsp"
PACKAGES = ("scipy",)


def warm_up() -> None:
    """Import SciPy."""
    import scipy.interpolate
    import scipy.special  # noqa: F401


def fit(
    dataset: Dataset,
    *,
    seed: int,
    alpha: float,
    test: Test = "gauss",
    engine: Engine = "python",
    variant: Variant = SOUND,
) -> Fit:
    """Search with tests of independence and of invariance at one level; targets are never looked at.

    ``test`` is "gauss", "kci" or "rcit" (docs/ci-tests.md); ``engine`` "python", or "causaldag" for the library itself;
    ``variant`` "published" is :mod:`baselines.igsp.published`, which is told the targets.
    """
    combination = {"alpha": alpha, "test": test, "engine": engine, "variant": variant}
    return next(sweep(dataset, seed=seed, grid=[combination]))


def sweep(dataset: Dataset, *, seed: int, grid: list[dict[str, Any]]) -> Iterator[Fit]:
    """Share the p-values, which do not depend on the level."""
    yield from sweep_alphas(
        dataset,
        seed,
        grid,
        lambda search: ut_igsp(search, dataset.settings),
        lambda: ut_igsp_of_2020(dataset),
    )
