r"""Thin plate regression splines of all variables of a data set, and the moments that additive models are fitted from.

The spline of a variable is that of Wood (2003, JRSS B), the default of mgcv's ``s(x)``. Among the natural cubic
splines with a knot at each of many values of the variable, and the penalty :math:`\int f''(x)^2 dx`, it spans the few
that lose least: constants, straight lines, and the leading eigenvectors of the matrix of :math:`|x_i - x_j|^3 / 12`.
It is written in coordinates in which, over the training rows, the functions have mean 0, are orthonormal and have a
diagonal penalty: the first is linear and free, the others are ever rougher. Least squares needs only the products of
these functions, so the rows are read once, setting by setting; what a node must not see (settings that intervene on
it) is left out of a sum.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmark.dataset import Dataset

Array = npt.NDArray[np.float64]
_CHUNK = 20_000  # rows evaluated at a time, so that a million rows need little memory
_KNOTS = 2000  # of more values, mgcv takes as many at random with a fixed seed, and so does this


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
        """Build splines of ``size`` functions on the training rows, or fewer where a variable has fewer values."""
        X = dataset.X[dataset.training]
        location = X.mean(axis=0)
        spread = X.std(axis=0)
        # A column that is constant but for rounding has no scale of its own.
        scale = np.where(spread > 1e-12 * np.abs(location), spread, 1.0)
        bases = [thin_plate((x - center) / width, size) for x, center, width in zip(X.T, location, scale, strict=True)]
        masks = (dataset.training, ~dataset.training)
        raw = [
            [
                _products(dataset.X[mask & (dataset.setting == k)], location, scale, bases)
                for k in range(dataset.settings)
            ]
            for mask in masks
        ]
        change, penalties = _coordinates(np.sum(raw[0], axis=0), bases, size)
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


class Basis:
    """The functions of one variable: natural cubic splines by ``values`` [knots x m], with ``penalty`` [m x m]."""

    def __init__(self, knots: Array, values: Array, penalty: Array) -> None:
        from scipy.interpolate import CubicSpline

        self.size = values.shape[1]
        self.penalty = penalty
        self._ends = knots[[0, -1]]
        self._spline = None
        if len(knots) > 1:
            self._spline = CubicSpline(knots, values, bc_type="natural")
            self._slopes = self._spline(self._ends, 1)

    def __call__(self, x: Array) -> Array:
        """Return the functions [n x m]; beyond the last knots they are straight lines."""
        if self._spline is None:
            return np.ones((len(x), 1))
        first, last = self._ends
        below, above = np.minimum(x - first, 0), np.maximum(x - last, 0)
        inside: Array = self._spline(np.clip(x, first, last))
        return inside + np.outer(below, self._slopes[0]) + np.outer(above, self._slopes[1])


def thin_plate(x: Array, size: int) -> Basis:
    """Return a basis of ``size`` functions, or as many as there are distinct values."""
    knots = np.unique(x)
    if len(knots) > _KNOTS:
        knots = knots[np.sort(np.random.default_rng(1).choice(len(knots), _KNOTS, replace=False))]
    size = min(size, len(knots))
    lines = np.column_stack([np.ones(len(knots)), knots])[:, :size]
    if size < 3:
        return Basis(knots, lines, np.zeros((size, size)))
    distances = np.abs(knots[:, None] - knots)
    kernel = distances * distances * distances / 12
    eigenvalues, vectors = _leading(kernel, size)
    # The weights of the knots must be orthogonal to straight lines, else the function would not end as one.
    free = np.linalg.qr(vectors.T @ lines, mode="complete")[0][:, 2:]
    curves = kernel @ (vectors @ free)
    unit = np.sqrt(np.mean(curves**2, axis=0))
    penalty = np.zeros((size, size))
    penalty[2:, 2:] = free.T @ (eigenvalues[:, None] * free) / np.outer(unit, unit)
    return Basis(knots, np.hstack([lines, curves / unit]), penalty)


def _leading(matrix: Array, count: int) -> tuple[Array, Array]:
    """Return the eigenvalues of largest magnitude and their eigenvectors."""
    from scipy.sparse.linalg import eigsh

    if len(matrix) <= 4 * count:  # Lanczos' method wants far more rows than vectors
        values, vectors = np.linalg.eigh(matrix)
        largest = np.argsort(-np.abs(values))[:count]
        return values[largest], vectors[:, largest]
    start = np.random.default_rng(0).normal(size=len(matrix))
    values, vectors = eigsh(matrix, k=count, which="LM", v0=start)
    return values, vectors


def _products(X: Array, location: Array, scale: Array, bases: list[Basis]) -> Array:
    """Sum the products of (1, the variables, the functions of each) over rows."""
    total: Array | float = 0.0
    for start in range(0, max(len(X), 1), _CHUNK):
        x = (X[start : start + _CHUNK] - location) / scale
        values = np.hstack([np.ones((len(x), 1)), x, *(basis(x[:, i]) for i, basis in enumerate(bases))])
        total = total + values.T @ values
    return np.asarray(total)


def _coordinates(products: Array, bases: list[Basis], size: int) -> tuple[Array, Array]:
    """Find the coordinates described at the top: the change from the functions of the bases, and the penalties.

    Variables with few values have fewer functions than the others; they are filled up with functions that are 0
    everywhere and have a penalty, which changes nothing and keeps all blocks alike.
    """
    d, width = len(bases), size - 1
    rows = products[0, 0]
    change = np.zeros((len(products), 1 + d + d * width))
    change[: d + 1, : d + 1] = np.eye(d + 1)
    penalties = np.ones((d, width))
    first = d + 1
    for i, basis in enumerate(bases):
        block = slice(first, first + basis.size)
        means = products[0, block] / rows
        values, vectors = np.linalg.eigh(products[block, block] / rows - np.outer(means, means))
        kept = values > 1e-10 * max(values[-1], 1e-300)
        kept[0] = False  # the constant function
        whiten = vectors[:, kept] / np.sqrt(values[kept])
        penalty, turn = np.linalg.eigh(whiten.T @ basis.penalty @ whiten)
        count = len(penalty)
        start = d + 1 + i * width
        change[block, start : start + count] = whiten @ turn
        change[0, start : start + count] = -(means @ whiten @ turn)
        if count:
            penalties[i, 0] = 0.0
        if count > 1:
            penalties[i, 1:count] = penalty[1:] / penalty[1]
        first += basis.size
    return change, penalties
