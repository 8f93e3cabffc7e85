"""Products, tanh and sin with the same bits on every processor, for simulated data.

Libraries choose their order of sums and their fused instructions by the processor. Here every step is one product, sum
or quotient of whole arrays, which IEEE 754 rounds in one way.
"""

import math

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

_LOG2_HIGH, _LOG2_LOW = (
    0.693147180369123816490,
    1.90821492927058770002e-10,
)  # log(2), the first with 21 trailing zero bits
_HALF_PI = (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21)  # likewise, in three parts
_EXP = [1 / math.factorial(k) for k in range(14)]
_SIN = [(-1) ** k / math.factorial(2 * k + 1) for k in range(9)]
_COS = [(-1) ** k / math.factorial(2 * k) for k in range(10)]


def product(left: Values, right: Values) -> Values:
    """Return ``left @ right`` for a matrix [m x p] and a matrix [p x q] or vector [p], added in the order of p."""
    total = np.zeros((len(left), *right.shape[1:]))
    for column, row in zip(left.T, right, strict=True):
        total += np.multiply.outer(column, row)
    return total


def tanh(x: Values) -> Values:
    """Return the hyperbolic tangent, to about 2e-16."""
    value: Values = 1 - 2 / (_exp(np.minimum(2 * np.abs(x), 40.0)) + 1)
    return np.copysign(value, x)


def sin(x: Values) -> Values:
    """Return the sine of moderate numbers, to about 2e-16."""
    quarter = np.rint(x / (np.pi / 2))
    rest = x - quarter * _HALF_PI[0] - quarter * _HALF_PI[1] - quarter * _HALF_PI[2]
    square = rest * rest
    turn = quarter % 4
    value = np.where(turn % 2 == 1, _polynomial(_COS, square), rest * _polynomial(_SIN, square))
    return np.where(turn >= 2, -value, value)


def _exp(x: Values) -> Values:
    power = np.rint(x / math.log(2))
    rest = x - power * _LOG2_HIGH - power * _LOG2_LOW
    return np.ldexp(_polynomial(_EXP, rest), power.astype(np.int32))


def _polynomial(coefficients: list[float], x: Values) -> Values:
    value = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value *= x
        value += coefficient
    return value
