"""The acyclicity constraint of the paper, h = (tr exp(P) - d) / (tr exp(1 - I) - d), compiled, in double precision.

Matrices are filled up with zeros to whole blocks of DOUBLES, which changes neither the trace nor the gradient.
"""

import numpy as np
import numpy.typing as npt

from dcdi.kernels import F4, F5, F6, F7, F8, F9, F10, F11, F12, exp_double, jit
from dcdi.simd import DOUBLES, ROWS, fma, multiply_block

INVERSE_E = 0.36787944117144233
LARGEST_ORDER = 700  # beyond it the violation of the full graph is no double


@jit
def _multiply(a, b, c):
    """Set c = a b."""
    for i in range(0, len(a), ROWS):
        for j in range(0, len(a), DOUBLES):
            multiply_block(c, a, b, i, j)


@jit
def exponential(p, work, out):
    """Set out = exp(p), p >= 0: scaling to norm 1, Taylor to degree 12, squaring; ``work`` is four such matrices.

    The polynomial is evaluated in powers of p^4 (Paterson and Stockmeyer), which takes five products.
    """
    d = len(p)
    norm = 0.0
    for i in range(d):
        total = 0.0
        for j in range(d):
            total += p[i, j]
        norm = max(norm, total)
    squarings, scale = 0, 1.0
    while 1.0 < norm * scale < np.inf:
        squarings += 1
        scale *= 0.5
    a, a2, a3, a4 = work[0], work[1], work[2], work[3]
    for i in range(d):
        for j in range(d):
            a[i, j] = p[i, j] * scale
    _multiply(a, a, a2)
    _multiply(a2, a, a3)
    _multiply(a2, a2, a4)
    for i in range(d):
        for j in range(d):
            unit = 1.0 if i == j else 0.0
            top = fma(a4[i, j], F12, fma(a3[i, j], F11, fma(a2[i, j], F10, fma(a[i, j], F9, unit * F8))))
            middle = fma(a3[i, j], F7, fma(a2[i, j], F6, fma(a[i, j], F5, unit * F4)))
            low = fma(a3[i, j], 1 / 6, fma(a2[i, j], 0.5, a[i, j] + unit))
            out[i, j], a2[i, j], a[i, j] = top, middle, low
    for lower in (a2, a):
        _multiply(a4, out, a3)
        for i in range(d):
            for j in range(d):
                out[i, j] = a3[i, j] + lower[i, j]
    for _ in range(squarings):
        _multiply(out, out, a3)
        for i in range(d):
            for j in range(d):
                out[i, j] = a3[i, j]


@jit
def trace_violation(p, work, out):
    """Return tr exp(p) - d; ``out`` becomes exp(p), whose transpose is the gradient."""
    exponential(p, work, out)
    total = 0.0
    for i in range(len(p)):
        total += out[i, i] - 1.0
    return total


def violation(probabilities: npt.NDArray[np.float64]) -> float:
    """Return h of edge probabilities: 0 for a DAG, 1 for the full graph.

    >>> violation(np.array([[0.0, 1.0], [0.0, 0.0]])), round(violation(np.array([[0.0, 1.0], [1.0, 0.0]])), 8)
    (0.0, 1.0)
    """
    d = len(probabilities)
    matrices = scratch(d)
    matrices[0, :d, :d] = probabilities
    return float(trace_violation(matrices[0], matrices[1:5], matrices[5])) / normalisation(d)


def scratch(d: int) -> npt.NDArray[np.float64]:
    """Return zeros for p, four matrices of work, and exp(p)."""
    order = -(-d // DOUBLES) * DOUBLES
    return np.zeros((6, order, order))


def normalisation(d: int) -> float:
    """Return tr exp(1 - I) - d: the violation of the full graph (its eigenvalues are d - 1 and d - 1 times -1)."""
    if d > LARGEST_ORDER:
        raise ValueError(f"{d} variables: DCDI's acyclicity constraint is defined for at most {LARGEST_ORDER}")
    return float(exp_double(d - 1.0)) + (d - 1) * INVERSE_E - d if d > 1 else 1.0
