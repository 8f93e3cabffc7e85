"""Compiled arithmetic of the cpu engine: networks, masks and the optimiser, with hand-derived gradients.

Samples are the contiguous axis (arrays are [row][sample]), so that every inner loop runs over the minibatch and
everything that one variable needs stays in the first-level cache. Single precision.

Every function has one result, bit for bit, on every processor (see ``dcdi.simd``): products and sums are fused where
``fma`` is written, sums over samples go through ``dot``, exp and log are defined here, and no number out of range is
converted to an integer. Tiny numbers are kept as IEEE 754 has them; because each can cost a hundred cycles, exponents
are cut off where their products would become tiny.
"""

import math

import numba
import numpy as np

from dcdi.simd import (
    LANES,
    ROWS,
    NoAlias,
    bits_of,
    bits_of_double,
    combine_row,
    combine_rows,
    correlate_row,
    correlate_rows,
    double_of,
    float_of,
    fma,
    rmsprop_vectors,
)

ZERO, HALF, ONE, TWO = np.float32(0), np.float32(0.5), np.float32(1), np.float32(2)
SLOPE = np.float32(0.01)  # of the leaky ReLU
SMALLEST_LOGIT, LARGEST_LOGIT = np.float32(-30), np.float32(60)
INFINITY = np.float32(np.inf)
RMSPROP_DECAY, RMSPROP_FRESH = np.float32(0.99), np.float32(0.01)
RMSPROP_EPSILON = np.float32(1e-8)
SMALLEST_GRADIENT = np.float32(1e-15)  # to RMSprop: its square is a normal number, its root nothing beside epsilon
LONGEST_IDLE = 4096  # 0.99 to this power is 1e-18

LOG2_E, LN2_HIGH, LN2_LOW = np.float32(1.44269504), np.float32(0.693359375), np.float32(-2.12194440e-4)
SMALLEST_EXPONENT, LARGEST_EXPONENT = np.float32(-87.0), np.float32(88.0)
LN2 = np.float32(0.69314718)
SQRT2 = np.float32(1.41421356)
# Adding it rounds to a whole number n and leaves n + 127, the biased exponent of 2**n, in the last bits.
ROUND = np.float32(1.5 * 2.0**23 + 127)
SIXTH, TWENTYFOURTH, C120, C720 = (np.float32(1 / n) for n in (6, 24, 120, 720))
THIRD, FIFTH, SEVENTH, NINTH = (np.float32(2 / n) for n in (3, 5, 7, 9))

# The same in double precision.
LOG2_E_DOUBLE, LN2_HIGH_DOUBLE, LN2_LOW_DOUBLE = 1.4426950408889634, 0.6931471805599453, 2.3190468138462996e-17
ROUND_DOUBLE = 1.5 * 2.0**52 + 1023
F4, F5, F6, F7, F8, F9, F10, F11, F12, F13 = (1 / math.factorial(n) for n in range(4, 14))

# Nothing here allocates, so arrays need no reference counts, which would cost as much as the arithmetic (_nrt).
_OPTIONS = {"error_model": "numpy", "cache": True, "_nrt": False}
jit = numba.njit(**_OPTIONS)
loop = numba.njit(**_OPTIONS, pipeline_class=NoAlias)  # for innermost loops: their array arguments never overlap


@jit
def exp_above(x, smallest):
    """e**x to 3e-7, without a call, so that loops over samples become vector instructions; x <= 88.

    Below ``smallest``, which is at least -87, it is constant.
    """
    x = max(x, smallest)
    shifted = fma(x, LOG2_E, ROUND)
    n = shifted - ROUND
    r = fma(-n, LN2_LOW, fma(-n, LN2_HIGH, x))
    p = fma(fma(fma(fma(C720, r, C120), r, TWENTYFOURTH), r, SIXTH), r, HALF)
    return fma(fma(p, r, ONE), r, ONE) * float_of(bits_of(shifted) << np.int32(23))


@jit
def exp(x):
    """e**x for all x, cut off at e**-87 and e**88."""
    return exp_above(min(x, LARGEST_EXPONENT), SMALLEST_EXPONENT)


@jit
def log(x):
    """Natural logarithm of a positive normal number: exponent, and 2 artanh(s) of the mantissa (m - 1) / (m + 1)."""
    bits = bits_of(x)
    exponent = np.float32((bits >> np.int32(23)) - np.int32(127))
    mantissa = float_of((bits & np.int32(0x007FFFFF)) | np.int32(0x3F800000))
    large = mantissa > SQRT2
    mantissa = mantissa * HALF if large else mantissa
    exponent = exponent + ONE if large else exponent
    s = (mantissa - ONE) / (mantissa + ONE)
    q = s * s
    series = fma(fma(fma(q, NINTH, SEVENTH), q, FIFTH), q, THIRD)
    value = fma(exponent, LN2, s * fma(q, series, TWO))
    return value if x < INFINITY else x  # the bits of NaN would look like those of a number


@jit
def exp_double(x):
    """e**x in double precision, cut off at e**-708 and e**709."""
    x = min(max(x, -708.0), 709.0)
    shifted = fma(x, LOG2_E_DOUBLE, ROUND_DOUBLE)
    n = shifted - ROUND_DOUBLE
    r = fma(-n, LN2_LOW_DOUBLE, fma(-n, LN2_HIGH_DOUBLE, x))
    p = fma(fma(fma(fma(fma(F13, r, F12), r, F11), r, F10), r, F9), r, F8)
    p = fma(fma(fma(fma(fma(p, r, F7), r, F6), r, F5), r, F4), r, 1 / 6)
    return fma(fma(fma(p, r, 0.5), r, 1.0), r, 1.0) * double_of(bits_of_double(shifted) << np.int64(52))


@loop
def sigmoids(x, out):
    """Set out = 1 / (1 + e**-x) in double precision."""
    for i in range(len(x)):
        out[i] = 1.0 / (1.0 + exp_double(-np.float64(x[i])))


@jit
def affine(weights, start, inputs, outputs, x, y, m):
    """Set y = W^T x + b, with W [inputs][outputs] and then b [outputs] at ``start``."""
    bias = start + inputs * outputs
    blocks = outputs - outputs % ROWS
    for column in range(0, m, LANES):
        for h in range(0, blocks, ROWS):
            combine_rows(y, h, x, inputs, column, weights, start + h, 1, outputs, bias + h)
        for h in range(blocks, outputs):
            combine_row(y, h, x, inputs, column, weights, start + h, 1, outputs, bias + h)


@jit
def affine_inputs(weights, start, inputs, outputs, dx, dy, m):
    """Set dx = W dy."""
    blocks = inputs - inputs % ROWS
    for column in range(0, m, LANES):
        for j in range(0, blocks, ROWS):
            combine_rows(dx, j, dy, outputs, column, weights, start + j * outputs, outputs, 1, -1)
        for j in range(blocks, inputs):
            combine_row(dx, j, dy, outputs, column, weights, start + j * outputs, outputs, 1, -1)


@jit
def affine_weights(gradient, start, inputs, outputs, x, dy, ones, m):
    """Add x dy^T to the gradient of W, and the sums of dy to that of b (the weights of an input of ones)."""
    vectors = m // LANES
    if outputs == 1:
        blocks = inputs - inputs % ROWS
        for j in range(0, blocks, ROWS):
            correlate_rows(gradient, start + j, dy, 0, x, j, vectors)
        for j in range(blocks, inputs):
            correlate_row(gradient, start + j, dy, 0, x, j, vectors)
        correlate_row(gradient, start + inputs, dy, 0, ones, 0, vectors)
        return
    blocks = outputs - outputs % ROWS
    for j in range(inputs + 1):
        row, rows = (j, x) if j < inputs else (0, ones)
        o = start + j * outputs
        for h in range(0, blocks, ROWS):
            correlate_rows(gradient, o + h, rows, row, dy, h, vectors)
        for h in range(blocks, outputs):
            correlate_row(gradient, o + h, rows, row, dy, h, vectors)


@loop
def _leaky(y, units, m):
    for h in range(units):
        for b in range(m):
            y[h, b] = max(y[h, b], SLOPE * y[h, b])


@loop
def _leaky_gradient(y, slope, units, m):
    """Multiply by the derivative; input and output of the leaky ReLU have the same sign."""
    for h in range(units):
        for b in range(m):
            slope[h, b] *= ONE if y[h, b] > ZERO else SLOPE


@jit
def forward(weights, layers, units, outputs, x, hidden, y, m):
    """Evaluate a network of ``layers`` hidden layers; ``hidden`` [layer][unit][sample] keeps the activations."""
    start, width, current = 0, len(x), x
    for layer in range(layers):
        above = hidden[layer]
        affine(weights, start, width, units, current, above, m)
        _leaky(above, units, m)
        start += (width + 1) * units
        width, current = units, above
    affine(weights, start, width, outputs, current, y, m)


@jit
def backward(weights, gradient, layers, units, outputs, x, hidden, dy, work, ones, dx, m):
    """Add to the gradient of the weights, and set dx; ``work`` [2][unit][sample] is scratch."""
    start = 0 if layers == 0 else (len(x) + 1) * units + (layers - 1) * (units + 1) * units
    upper, above = dy, outputs
    for layer in range(layers - 1, -1, -1):
        below, lower = hidden[layer], work[layer % 2]
        affine_weights(gradient, start, units, above, below, upper, ones, m)
        affine_inputs(weights, start, units, above, lower, upper, m)
        _leaky_gradient(below, lower, units, m)
        upper, above = lower, units
        start -= ((len(x) if layer == 0 else units) + 1) * units
    affine_weights(gradient, 0, len(x), above, x, upper, ones, m)
    affine_inputs(weights, 0, len(x), above, dx, upper, m)


@jit
def uniform(state, b):
    """Next uniform number in (0, 1) of one of the parallel xorshift generators."""
    r = state[b]
    # numba widens uint32: without the casts the high bits would come back
    r = np.uint32(r ^ np.uint32(r << np.uint32(13)))
    r = np.uint32(r ^ np.uint32(r >> np.uint32(17)))
    r = np.uint32(r ^ np.uint32(r << np.uint32(5)))
    state[b] = r
    return fma(np.float32(np.int32(r >> np.uint32(9))), np.float32(2.0**-23), np.float32(2.0**-24))


@loop
def sample_masks(state, odds, child, x, masked, slope, m):
    """Draw the inputs of a variable: masked = M x, slope = dM/dlogit x (straight-through, paper Appendix B.3).

    With u uniform, sigmoid(a + logit(u)) = u e^a / (u e^a + 1 - u): one exponential per edge, none per sample.
    """
    for j in range(len(odds)):
        ratio = odds[j, child] if j != child else ZERO
        for b in range(m):
            u = uniform(state, b)
            s = u * ratio / fma(u, ratio, ONE - u)
            masked[j, b] = x[j, b] if s > HALF else ZERO
            slope[j, b] = fma(-s, s, s) * x[j, b]


@jit
def rmsprop(parameters, squares, gradient, rate, decay):
    """One step; ``decay`` is 0.99 to the number of steps since the last one, in which the gradient was 0.

    A gradient smaller than SMALLEST_GRADIENT counts as that in the squares, which else would decay to tiny numbers.
    """
    vectors = parameters.size // LANES
    constants = RMSPROP_FRESH, SMALLEST_GRADIENT, RMSPROP_EPSILON
    rmsprop_vectors(parameters, squares, gradient, vectors, rate, decay, *constants)
    for i in range(vectors * LANES, parameters.size):
        slope = gradient[i]
        size = max(abs(slope), SMALLEST_GRADIENT)
        square = fma(size * size, RMSPROP_FRESH, decay * squares[i])
        squares[i] = square
        parameters[i] -= rate * slope / (math.sqrt(square) + RMSPROP_EPSILON)


@jit
def idle_decay(iterations):
    """Return the decay of RMSprop's squares over a number of iterations, by repeated squaring."""
    n = min(iterations, LONGEST_IDLE)
    power, square = 1.0, np.float64(RMSPROP_DECAY)
    while n > 0:
        if n & 1:
            power *= square
        square *= square
        n >>= 1
    return np.float32(power)
