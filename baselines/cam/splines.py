r"""Thin plate regression splines of the variables that may explain a node, and the moments its models are fitted from.

The spline of a variable is that of Wood (2003, JRSS B), the default of mgcv's ``s(x)``. Among the natural cubic
splines with a knot at each of many values of the variable, and the penalty :math:`\int f''(x)^2 dx`, it spans the few
that lose least: constants, straight lines, and the leading eigenvectors of the matrix of :math:`|x_i - x_j|^3 / 12`.
Its values are those in the rows of the regression, so that each node has splines of its own. They are written in
coordinates in which, over the training rows, the functions have mean 0, are orthonormal and have a diagonal penalty:
the first is linear and free, the others are ever rougher. Least squares needs only the products of these functions, so
the rows are read once.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from baselines.cam.r_sample import r_sample
from benchmark.dataset import Dataset

Array = npt.NDArray[np.float64]
_CHUNK = 20_000  # rows evaluated at a time, so that a million rows need little memory
_KNOTS = 2000  # of more values, mgcv takes as many at random, always the same (set.seed(1)), and so does this


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
    """The splines of some variables for the regressions of one node, on the rows in which it is no target.

    ``penalties`` [variables x m] are the diagonal penalties of the m functions of each variable; ``location`` and
    ``scale`` [d] standardise the variables; ``training`` and ``heldout`` [p x p] hold the sums of products of (1, the
    node, the functions variable by variable) over rows.
    """

    penalties: Array
    location: Array
    scale: Array
    training: Array
    heldout: Array

    @classmethod
    def of(cls, dataset: Dataset, node: int, variables: list[int], size: int) -> "Splines":
        """Build splines of ``size`` functions on the training rows, or fewer where a variable has fewer values."""
        used = ~dataset.targeted[:, node]
        X = dataset.X[dataset.training & used]
        location = X.mean(axis=0)
        spread = X.std(axis=0)
        # A column that is constant but for rounding has no scale of its own.
        scale = np.where(spread > 1e-12 * np.abs(location), spread, 1.0)
        bases = {i: thin_plate((X[:, i] - location[i]) / scale[i], size) for i in variables}
        raw = [_products((rows - location) / scale, node, bases) for rows in (X, dataset.X[~dataset.training & used])]
        change, penalties = _coordinates(raw[0], list(bases.values()), size)
        training, heldout = (change.T @ products @ change for products in raw)
        return cls(penalties, location, scale, training, heldout)

    def moments(self) -> Moments:
        """Return the moments of the node over the training rows."""
        rows = round(float(self.training[0, 0]))
        means = self.training[0] / max(rows, 1)
        centred = self.training - rows * np.outer(means, means)
        return Moments(
            centred[2:, 2:], centred[2:, 1], max(float(centred[1, 1]), 0.0), means[2:], float(means[1]), rows
        )


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
        knots = knots[np.sort(r_sample(len(knots), _KNOTS, seed=1))]
    size = min(size, len(knots))
    lines = np.column_stack([np.ones(len(knots)), knots])[:, :size]
    if size < 3:
        return Basis(knots, lines, np.zeros((size, size)))
    eigenvalues, vectors = _leading(knots, size)
    # The weights of the knots must be orthogonal to straight lines, else the function would not end as one.
    free = np.linalg.qr(vectors.T @ lines, mode="complete")[0][:, 2:]
    curves = _cubic_kernel(knots, vectors @ free)
    unit = np.sqrt(np.mean(curves**2, axis=0))
    penalty = np.zeros((size, size))
    penalty[2:, 2:] = free.T @ (eigenvalues[:, None] * free) / np.outer(unit, unit)
    return Basis(knots, np.hstack([lines, curves / unit]), penalty)


def _cubic_kernel(knots: Array, weights: Array) -> Array:
    """Return the product of the matrix |x_i - x_j|^3 / 12 of ascending knots with weights [knots x columns].

    Below and above a knot the cube is a polynomial in it, whose coefficients are running sums: the work grows with the
    number of knots, not with its square.
    """
    powers = knots[:, None] ** np.arange(4)
    sums = np.cumsum(weights[:, None, :] * powers[:, :, None], axis=0)
    signed = 2 * sums - sums[-1]  # below minus above
    terms = np.array([1, -3, 3, -1])[:, None] * powers[:, ::-1, None] * signed
    product: Array = terms.sum(axis=1) / 12
    return product


def _leading(knots: Array, count: int) -> tuple[Array, Array]:
    """Return the eigenvalues of largest magnitude of the matrix of the knots, and their eigenvectors."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    n = len(knots)
    if n <= 4 * count:  # Lanczos' method wants far more rows than vectors
        values, vectors = np.linalg.eigh(_cubic_kernel(knots, np.eye(n)))
        largest = np.argsort(-np.abs(values))[:count]
        return values[largest], vectors[:, largest]
    matrix = LinearOperator((n, n), matvec=lambda v: _cubic_kernel(knots, v.reshape(n, 1))[:, 0], dtype=np.float64)
    values, vectors = eigsh(matrix, k=count, which="LM", v0=np.random.default_rng(0).normal(size=n))
    return values, vectors


def _products(X: Array, node: int, bases: dict[int, Basis]) -> Array:
    """Sum the products of (1, the node, the functions of each variable) over rows."""
    total: Array | float = 0.0
    for start in range(0, max(len(X), 1), _CHUNK):
        x = X[start : start + _CHUNK]
        values = np.hstack([np.ones((len(x), 1)), x[:, [node]], *(basis(x[:, i]) for i, basis in bases.items())])
        total = total + values.T @ values
    return np.asarray(total)


def _coordinates(products: Array, bases: list[Basis], size: int) -> tuple[Array, Array]:
    """Find the coordinates described at the top: the change from the functions of the bases, and the penalties.

    Variables with few values have fewer functions than the others; they are filled up with functions that are 0
    everywhere and have a penalty, which changes nothing and keeps all blocks alike.
    """
    width = size - 1
    rows = products[0, 0]
    change = np.zeros((len(products), 2 + len(bases) * width))
    change[:2, :2] = np.eye(2)
    penalties = np.ones((len(bases), width))
    first = 2
    for place, basis in enumerate(bases):
        block = slice(first, first + basis.size)
        means = products[0, block] / rows
        values, vectors = np.linalg.eigh(products[block, block] / rows - np.outer(means, means))
        kept = values > 1e-10 * max(values[-1], 1e-300)
        kept[0] = False  # the constant function
        whiten = vectors[:, kept] / np.sqrt(values[kept])
        penalty, turn = np.linalg.eigh(whiten.T @ basis.penalty @ whiten)
        count = len(penalty)
        start = 2 + place * width
        change[block, start : start + count] = whiten @ turn
        change[0, start : start + count] = -(means @ whiten @ turn)
        if count:
            penalties[place, 0] = 0.0
        if count > 1:
            penalties[place, 1:count] = penalty[1:] / penalty[1]
        first += basis.size
    return change, penalties
