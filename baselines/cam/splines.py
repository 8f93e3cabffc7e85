r"""Cubic regression splines of all variables of a data set, and the moments that additive models are fitted from.

Each variable gets a natural cubic spline with knots at the quantiles of its values and the penalty
:math:`\int f''(x)^2 dx` (mgcv's ``s(x, bs="cr")``). It is written in coordinates in which, over the training rows, the
functions have mean 0, are orthonormal and have a diagonal penalty: the first is linear and free, the others are
ever rougher. Least squares needs only the products of these functions, so the rows are read once, setting by
setting; what a node must not see (settings that intervene on it) is left out of a sum.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmark.dataset import Dataset

Array = npt.NDArray[np.float64]
_CHUNK = 20_000  # rows evaluated at a time, so that a million rows need little memory


@dataclass(frozen=True)
class Moments:
    """What least squares needs to know of the rows of one variable: y and the spline functions, both about 0.

    ``gram`` [D x D] and ``cross`` [D] are sums of products, ``total`` is that of y with itself, ``mean`` and ``mean_y``
    are the means that were taken off, ``rows`` is their number.
    """

    gram: Array
    cross: Array
    total: float
    mean: Array
    mean_y: float
    rows: int


@dataclass(frozen=True)
class Splines:
    """The splines of a data set and their moments.

    ``penalties`` [d x m] are the diagonal penalties of the m functions of each variable; ``location`` and ``scale`` [d]
    standardise the variables; ``training`` and ``heldout`` [settings x p x p] hold the sums of products of (1, the d
    variables, the d m functions) over the rows of each setting.
    """

    penalties: Array
    location: Array
    scale: Array
    training: Array
    heldout: Array
    targets: npt.NDArray[np.int8]

    @classmethod
    def of(cls, dataset: Dataset, size: int) -> "Splines":
        """Build splines of ``size`` knots on the training rows, or fewer where a variable has fewer values."""
        X = dataset.X[dataset.training]
        location = X.mean(axis=0)
        spread = X.std(axis=0)
        # A column that is constant but for rounding has no scale of its own.
        scale = np.where(spread > 1e-12 * np.abs(location), spread, 1.0)
        knots = [place_knots((x - center) / width, size) for x, center, width in zip(X.T, location, scale, strict=True)]
        functions = [natural_spline(places) for places in knots]
        masks = (dataset.training, ~dataset.training)
        raw = [
            [
                _products(dataset.X[mask & (dataset.setting == k)], location, scale, functions)
                for k in range(dataset.settings)
            ]
            for mask in masks
        ]
        change, penalties = _coordinates(np.sum(raw[0], axis=0), knots, size)
        training, heldout = (np.stack([change.T @ products @ change for products in part]) for part in raw)
        assert dataset.targets is not None
        return cls(penalties, location, scale, training, heldout, dataset.targets)

    def moments(self, j: int) -> Moments:
        """Return the moments of variable j over the training rows in which it is no target."""
        d = len(self.penalties)
        products = self.products(j, self.training, np.arange(self.training.shape[1]))
        rows = round(float(products[0, 0]))
        means = products[0] / max(rows, 1)
        centred = products - rows * np.outer(means, means)
        return Moments(
            centred[d + 1 :, d + 1 :],
            centred[d + 1 :, j + 1],
            max(float(centred[j + 1, j + 1]), 0.0),
            means[d + 1 :],
            float(means[j + 1]),
            rows,
        )

    def products(self, j: int, part: Array, columns: npt.NDArray[np.int64]) -> Array:
        """Return the sums of products of these columns over the rows of a part in which variable j is no target."""
        chosen: Array = part[np.ix_(self.targets[:, j] == 0, columns, columns)].sum(axis=0)
        return chosen


def place_knots(x: Array, size: int) -> Array:
    """Return knots at the quantiles of the distinct values, fewer than ``size`` where these are fewer."""
    values = np.unique(x)
    return np.quantile(values, np.linspace(0, 1, min(size, len(values)))) if len(values) > 1 else values


def natural_spline(knots: Array) -> Callable[[Array], Array]:
    """Return the functions [n x knots] that are 1 at one knot and 0 at the others; linear beyond the last knots."""
    from scipy.interpolate import CubicSpline

    if len(knots) == 1:
        return lambda x: np.ones((len(x), 1))
    spline = CubicSpline(knots, np.eye(len(knots)), bc_type="natural")
    slopes = spline(knots[[0, -1]], 1)

    def evaluate(x: Array) -> Array:
        below, above = np.minimum(x - knots[0], 0), np.maximum(x - knots[-1], 0)
        values: Array = (
            spline(np.clip(x, knots[0], knots[-1])) + np.outer(below, slopes[0]) + np.outer(above, slopes[1])
        )
        return values

    return evaluate


def roughness(knots: Array) -> Array:
    """Return the matrix of the penalty: the integral of the products of second derivatives of the functions."""
    from scipy.interpolate import CubicSpline

    if len(knots) < 3:
        return np.zeros((len(knots), len(knots)))
    curvature = CubicSpline(knots, np.eye(len(knots)), bc_type="natural")(knots, 2)
    left, right = curvature[:-1], curvature[1:]
    widths = np.diff(knots)[:, None] / 6  # second derivatives are linear between knots
    matrix: Array = left.T @ (widths * (2 * left + right)) + right.T @ (widths * (left + 2 * right))
    return matrix


def _products(X: Array, location: Array, scale: Array, functions: list[Callable[[Array], Array]]) -> Array:
    """Sum the products of (1, the variables, the functions of each) over rows."""
    total: Array | float = 0.0
    for start in range(0, max(len(X), 1), _CHUNK):
        x = (X[start : start + _CHUNK] - location) / scale
        values = np.hstack([np.ones((len(x), 1)), x, *(evaluate(x[:, i]) for i, evaluate in enumerate(functions))])
        total = total + values.T @ values
    return np.asarray(total)


def _coordinates(products: Array, knots: list[Array], size: int) -> tuple[Array, Array]:
    """Find the coordinates described at the top: the change from the functions at knots, and the penalties.

    Variables with few values have fewer functions than the others; they are filled up with functions that are 0
    everywhere and have a penalty, which changes nothing and keeps all blocks alike.
    """
    d, width = len(knots), size - 1
    rows = products[0, 0]
    change = np.zeros((len(products), 1 + d + d * width))
    change[: d + 1, : d + 1] = np.eye(d + 1)
    penalties = np.ones((d, width))
    first = d + 1
    for i, places in enumerate(knots):
        block = slice(first, first + len(places))
        means = products[0, block] / rows
        values, vectors = np.linalg.eigh(products[block, block] / rows - np.outer(means, means))
        kept = values > 1e-10 * max(values[-1], 1e-300)
        kept[0] = False  # the constant function
        whiten = vectors[:, kept] / np.sqrt(values[kept])
        penalty, turn = np.linalg.eigh(whiten.T @ roughness(places) @ whiten)
        count = len(penalty)
        start = d + 1 + i * width
        change[block, start : start + count] = whiten @ turn
        change[0, start : start + count] = -(means @ whiten @ turn)
        if count:
            penalties[i, 0] = 0.0
        if count > 1:
            penalties[i, 1:count] = penalty[1:] / penalty[1]
        first += len(places)
    return change, penalties
