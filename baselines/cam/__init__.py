"""CAM, causal additive models (Bühlmann, Peters and Ernest 2014), with known interventions as in the paper.

Each node is an additive spline model of its parents with Gaussian noise. The score of a graph is the sum over nodes
of minus the logarithm of the residual variance, over the training rows in which the node is no target. Edges are added
greedily, the best gain first, until the DAG is full (the published experiments stop no earlier). Pruning then
keeps an edge when the p-value of its smooth term, in the regression of the node on all its parents, is below
``cutoff``. The search does not depend on the cutoff, so one search serves a whole grid.

From 50 nodes up, a preliminary selection gives each node at most 10 candidate parents: those that componentwise
boosting of its additive model (100 steps of 0.1, smooth terms of 4 degrees of freedom) chooses most often.

Targeted conditionals are removed from the score, the pruning, the selection and the held-out score; for imperfect
interventions too, as in the paper (Appendix C.2).

Engines: ``mgcv`` (R's ``gam`` with ``s(x, k = 10)``: thin plate regression splines of 10 functions, GCV) and ``python``
(:mod:`baselines.cam.additive`: the same splines with the same knots, made once per node and variable instead of once
per regression; in the search, a candidate's smoothing is chosen with that of the present parents held; a hundred times
faster). Both use smaller bases where there are fewer than 30 rows per possible parent: one function for every 3.
"""

from collections.abc import Iterator
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from baselines._shared import r_bridge
from baselines.cam.additive import AdditiveModel, boosted_choice
from baselines.cam.splines import Splines
from benchmark.dataset import Dataset, Fit

LABEL = "CAM"
SUPPORTS = ("observational", "perfect", "imperfect")
SELECTION = "heldout"
R_ENGINES = ("mgcv",)
PACKAGES = ("scipy",)

_DRAWS = 50
_BASIS = 10
_SELECTION_FROM = 50
_SELECTED = 10
_ROUNDS = 20  # of tuning a final model; a few are enough unless parents are nearly dependent
_VARIANCE_FLOOR = 1e-12  # as in baselines/_shared/gaussian.py: an exact relation has a finite score

Array = npt.NDArray[np.float64]


class Engine(Protocol):
    """Additive regressions on the training rows in which variable j is no target."""

    info: dict[str, Any]

    def gains(self, j: int, parents: list[int], candidates: list[int]) -> Array:
        """Return by how much each candidate would lower the logarithm of the residual variance."""

    def p_values(self, j: int, parents: list[int]) -> Array:
        """Return the p-value of each parent's term."""

    def heldout(self, j: int, parents: list[int]) -> tuple[float, float, int]:
        """Return the training residual variance, and over held-out rows the sum of squared errors and their number."""


def space(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Draw the cutoffs of the paper's random search, 10**U[-7, 0]."""
    return [{"cutoff": float(cutoff)} for cutoff in 10 ** rng.uniform(-7, 0, _DRAWS)]


def warm_up() -> None:
    """Import SciPy."""
    import scipy.interpolate
    import scipy.special  # noqa: F401


def fit(dataset: Dataset, *, seed: int, cutoff: float, engine: Literal["python", "mgcv"] = "python") -> Fit:
    """Search, prune at the cutoff and score; the seed is not used, as nothing is random."""
    return next(sweep(dataset, seed=seed, grid=[{"cutoff": cutoff, "engine": engine}]))


def sweep(dataset: Dataset, *, seed: int, grid: list[dict[str, Any]]) -> Iterator[Fit]:
    """Search once per engine and prune at every cutoff."""
    searches: dict[str, _Search] = {}
    for combination in grid:
        engine = combination.get("engine", "python")
        if engine not in searches:
            searches[engine] = _Search(dataset, engine)
        yield searches[engine].prune(combination["cutoff"])


class _Search:
    """The greedy search of one engine and what pruning at any cutoff needs of it."""

    def __init__(self, dataset: Dataset, engine: str) -> None:
        self.dataset = dataset
        allowed, size = _prepare(dataset)
        self.engine = _engine(engine, dataset, allowed, size)
        self.order = greedy(self.engine, allowed)
        self.p_values = np.full((dataset.d, dataset.d), np.inf)
        for j in range(dataset.d):
            parents = [i for i, child in self.order if child == j]
            if parents:
                self.p_values[parents, j] = self.engine.p_values(j, parents)
        self._scores: dict[tuple[int, ...], float] = {}

    def prune(self, cutoff: float) -> Fit:
        graph = (self.p_values < cutoff).astype(np.int8)
        return Fit(graph, heldout_nll=self._heldout_nll(graph), info=self.engine.info)

    def _heldout_nll(self, graph: npt.NDArray[np.int8]) -> float | None:
        if self.dataset.heldout is None:
            return None
        total = sum(self._node_nll(j, np.flatnonzero(graph[:, j]).tolist()) for j in range(self.dataset.d))
        return total / (int(self.dataset.heldout.sum()) * self.dataset.d)

    def _node_nll(self, j: int, parents: list[int]) -> float:
        key = (j, *parents)  # neighbouring cutoffs share most of their regressions
        if key not in self._scores:
            variance, errors, rows = self.engine.heldout(j, parents)
            variance = max(variance, _VARIANCE_FLOOR)
            self._scores[key] = 0.5 * (rows * float(np.log(2 * np.pi * variance)) + errors / variance)
        return self._scores[key]


def greedy(engine: Engine, allowed: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Add the allowed edge (from, to) with the best gain until each one left would close a cycle."""
    d = len(allowed)
    parents: list[list[int]] = [[] for _ in range(d)]
    reaches = np.eye(d, dtype=bool)
    gains = np.full((d, d), -np.inf)

    def update(j: int) -> None:
        possible = np.flatnonzero(allowed[:, j] & ~reaches[j]).tolist()
        candidates = [i for i in possible if i not in parents[j]]
        gains[:, j] = -np.inf
        if candidates:
            gains[candidates, j] = engine.gains(j, parents[j], candidates)

    for j in range(d):
        update(j)
    order = []
    while np.isfinite(gains).any():
        i, j = (int(index) for index in np.unravel_index(np.argmax(gains), gains.shape))
        order.append((i, j))
        parents[j].append(i)
        reaches |= np.outer(reaches[:, i], reaches[j])
        gains[reaches.T] = -np.inf
        update(j)
    return order


def _prepare(dataset: Dataset) -> tuple[npt.NDArray[np.bool_], int]:
    """Return which edges [from, to] may be added, and the size of the spline bases."""
    allowed = ~np.eye(dataset.d, dtype=bool)
    used = dataset.training[:, None] & ~dataset.targeted
    rows = used.sum(axis=0)
    possible = dataset.d - 1 if dataset.d < _SELECTION_FROM else min(dataset.d - 1, _SELECTED)
    fewest = int(np.argmin(rows))
    needed = 2 * possible + 3  # the smallest basis has two functions per parent
    if rows[fewest] < needed:
        raise ValueError(
            f"variable {dataset.names[fewest]!r} is no target in {rows[fewest]} training rows; CAM needs at least "
            f"{needed}, as a node may have {possible} parents"
        )
    for j in range(dataset.d):
        # Where j is fitted, a constant variable is no other than the intercept, and a constant j has no causes.
        constant = np.ptp(dataset.X[used[:, j]], axis=0) == 0
        allowed[constant | constant[j], j] = False
    size = int(np.clip(np.ceil(rows[fewest] / (3 * max(possible, 1))), 3, _BASIS))
    if dataset.d >= _SELECTION_FROM:
        for j in range(dataset.d):
            candidates = np.flatnonzero(allowed[:, j])
            splines = Splines.of(dataset, j, candidates.tolist(), size)
            chosen = candidates[boosted_choice(splines.moments(), splines.penalties)[:_SELECTED]]
            allowed[:, j] = np.isin(np.arange(dataset.d), chosen)
    return allowed, size


def _engine(name: str, dataset: Dataset, allowed: npt.NDArray[np.bool_], size: int) -> Engine:
    if name == "python":
        return _PythonEngine(dataset, allowed, size)
    if name == "mgcv":
        return _MgcvEngine(dataset, size)
    raise ValueError(f"engine is {name!r}; expected 'python' or 'mgcv'")


class _PythonEngine:
    """Penalised regression on precomputed moments."""

    def __init__(self, dataset: Dataset, allowed: npt.NDArray[np.bool_], size: int) -> None:
        self.info = {"engine": "python"}
        self._nodes = [_Node(dataset, j, np.flatnonzero(allowed[:, j]).tolist(), size) for j in range(dataset.d)]
        self._models = [node.model([]) for node in self._nodes]

    def gains(self, j: int, parents: list[int], candidates: list[int]) -> Array:
        node, model = self._nodes[j], self._models[j]
        for parent in parents[len(model.terms) :]:
            model.add(node.place[parent])
            model.tune(1)
        return model.gains([node.place[i] for i in candidates])

    def p_values(self, j: int, parents: list[int]) -> Array:
        node, model = self._nodes[j], self._models[j]
        for parent in parents[len(model.terms) :]:
            model.add(node.place[parent])
        model.tune(_ROUNDS)
        return model.p_values()

    def heldout(self, j: int, parents: list[int]) -> tuple[float, float, int]:
        splines, model = self._nodes[j].splines, self._nodes[j].model(parents)
        model.tune(_ROUNDS)
        # The residual is a combination of the constant, y and the model's functions; the moments do the rest.
        intercept = model.moments.mean_y - model.coefficients @ model.moments.mean[model.columns]
        residual = np.concatenate([[-intercept, 1.0], -model.coefficients])
        columns = np.concatenate([[0, 1], 2 + model.columns])
        sums = []
        for products in (splines.training, splines.heldout):
            square = float(residual @ products[np.ix_(columns, columns)] @ residual)
            sums.append(max(square, 0.0) * float(splines.scale[j]) ** 2)
        return sums[0] / model.moments.rows, sums[1], round(float(splines.heldout[0, 0]))


class _Node:
    """What a node is fitted from: the splines of the variables that may be its parents, by their places."""

    def __init__(self, dataset: Dataset, j: int, variables: list[int], size: int) -> None:
        self.place = {variable: place for place, variable in enumerate(variables)}
        self.splines = Splines.of(dataset, j, variables, size)
        self._moments = self.splines.moments()

    def model(self, parents: list[int]) -> AdditiveModel:
        model = AdditiveModel(self._moments, self.splines.penalties)
        for parent in parents:
            model.add(self.place[parent])
        return model


class _MgcvEngine:
    """R's mgcv, through ``cam.R``."""

    def __init__(self, dataset: Dataset, size: int) -> None:
        versions = r_bridge.call("cam/cam.R", "cam_versions", packages=["mgcv"])
        self.info = {"engine": "mgcv"} | {name: str(version[0]) for name, version in versions.items()}
        self._X, self._size = dataset.X, size
        self._training = dataset.training[:, None] & ~dataset.targeted
        self._heldout = ~dataset.training[:, None] & ~dataset.targeted

    def gains(self, j: int, parents: list[int], candidates: list[int]) -> Array:
        return self._call("cam_gains", j, parents, candidates=np.array(candidates) + 1)["gains"]

    def p_values(self, j: int, parents: list[int]) -> Array:
        return self._call("cam_p_values", j, parents)["p_values"]

    def heldout(self, j: int, parents: list[int]) -> tuple[float, float, int]:
        rows = self._X[self._heldout[:, j]]
        result = self._call("cam_heldout", j, parents, X_heldout=rows)
        return float(result["variance"][0]), float(result["errors"][0]), len(rows)

    def _call(self, function: str, j: int, parents: list[int], **more: Any) -> dict[str, npt.NDArray[Any]]:
        X = self._X[self._training[:, j]]
        numbers = np.array(parents, dtype=float) + 1  # R counts from 1
        return r_bridge.call(
            "cam/cam.R", function, packages=["mgcv"], X=X, node=j + 1, parents=numbers, size=self._size, **more
        )
