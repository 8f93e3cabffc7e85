"""Conditional densities of the cpu engine: negative log-likelihood of a variable and its gradient, by sample."""

import numpy as np

from dcdi.kernels import FIFTH, HALF, NINTH, ONE, SEVENTH, THIRD, TWO, ZERO, exp, exp_above, jit, log, loop
from dcdi.simd import dot, fma

HALF_LOG_2PI = np.float32(0.9189385332)
SOFTPLUS_SHIFT = np.float32(1e-6)
CLIP = np.float32(1e-6)  # keeps the output of a flow layer off 0 and 1
TINY = np.float32(1e-30)  # below it a logarithm is cut off
BASE_PRECISION = np.float32(0.3678794412)  # exp(-1): the base density has log-variance 1
ELEVENTH, THIRTEENTH = np.float32(2 / 11), np.float32(2 / 13)
# Where exponentials are cut off: below the precision of what they are added to, and so that their products stay normal.
SMALLEST_SHARE, SMALLEST_SLOPE, SMALLEST_SIGMOID = np.float32(-20), np.float32(-20), np.float32(-50)


@jit
def gaussian(mean, x, log_sd, weight, scale, nll, dmean, m):
    """N(mean, sd): fill nll and, times weight and scale, its gradient by the mean; return that by log sd."""
    _gaussian_gradients(mean, x, exp(-log_sd - log_sd), weight, scale, nll, dmean, m)
    dlog_sd = dot(nll, weight, m) * scale
    _gaussian_nll(nll, log_sd + HALF_LOG_2PI + HALF, m)
    return dlog_sd


@loop
def _gaussian_gradients(mean, x, precision, weight, scale, dlog_sd, dmean, m):
    for b in range(m):
        residual = x[b] - mean[b]
        scaled = residual * precision
        dlog_sd[b] = fma(-residual, scaled, ONE)
        dmean[b] = -scaled * (weight[b] * scale)


@loop
def _gaussian_nll(nll, constant, m):
    """Replace the gradient by log sd, 1 - (x - mean)**2 / variance."""
    for b in range(m):
        nll[b] = fma(-HALF, nll[b], constant)


@loop
def _softmax(raw, first, units, w, largest, total, m):
    for b in range(m):
        largest[b] = raw[first, b]
        total[b] = ZERO
    for i in range(1, units):
        for b in range(m):
            largest[b] = max(largest[b], raw[first + i, b])
    for i in range(units):
        for b in range(m):
            w[i, b] = exp_above(raw[first + i, b] - largest[b], SMALLEST_SHARE)
            total[b] += w[i, b]
    for b in range(m):
        total[b] = ONE / total[b]
    for i in range(units):
        for b in range(m):
            w[i, b] *= total[b]


@loop
def _softplus(raw, first, units, a, da, m):
    """Set a = softplus(raw) + shift and its derivative; log(1 + z) = 2 artanh(z / (z + 2))."""
    for i in range(units):
        for b in range(m):
            alpha = raw[first + i, b]
            z = exp_above(-abs(alpha), SMALLEST_SLOPE)
            q = z / (z + TWO)
            r = q * q
            series = fma(fma(fma(THIRTEENTH, r, ELEVENTH), r, NINTH), r, SEVENTH)
            series = fma(fma(fma(series, r, FIFTH), r, THIRD), r, TWO)
            a[i, b] = fma(q, series, max(alpha, ZERO) + SOFTPLUS_SHIFT)
            share = ONE / (ONE + z)
            da[i, b] = share if alpha > ZERO else z * share


@loop
def _sigmoids(raw, first, units, x, a, w, s, t, inside, outside, jacobian, m):
    for b in range(m):
        inside[b] = ZERO
        outside[b] = ZERO
        jacobian[b] = ZERO
    for i in range(units):
        for b in range(m):
            p = fma(a[i, b], x[b], raw[first + i, b])
            z = exp_above(-abs(p), SMALLEST_SIGMOID)
            large = ONE / (ONE + z)
            small = z * large
            s[i, b] = large if p > ZERO else small
            t[i, b] = small if p > ZERO else large
            inside[b] = fma(w[i, b], s[i, b], inside[b])
            outside[b] = fma(w[i, b], t[i, b], outside[b])
            jacobian[b] = fma(w[i, b] * a[i, b], small * large, jacobian[b])


@jit
def _flow_layer(raw, first, units, x, work, sums, m):
    """One sigmoidal layer (paper Appendix B.2): X = sum w sigmoid(p), 1 - X and the Jacobian J, p = a x + b.

    All three are sums of positive terms, so nothing cancels and no logarithm per unit is needed. ``raw`` rows from
    ``first``: units of a (softplus), of b, of w (softmax).
    """
    _softmax(raw, first + 2 * units, units, work[2], sums[3], sums[4], m)
    _softplus(raw, first, units, work[0], work[1], m)
    _sigmoids(raw, first + units, units, x, work[0], work[2], work[3], work[4], sums[0], sums[1], sums[2], m)


@loop
def _logit(inside, outside, jacobian, above, nll, m):
    for b in range(m):
        inside[b] = fma(inside[b], ONE - CLIP, HALF * CLIP)
        outside[b] = fma(outside[b], ONE - CLIP, HALF * CLIP)
        jacobian[b] = max(jacobian[b], TINY)
        log_in, log_out = log(inside[b]), log(outside[b])
        above[b] = log_in - log_out
        nll[b] += log_in + log_out - log(jacobian[b]) + CLIP


@loop
def _base_density(last, weight, scale, nll, dy, m):
    for b in range(m):
        scaled = last[b] * BASE_PRECISION
        nll[b] += fma(HALF * last[b], scaled, HALF_LOG_2PI + HALF)
        dy[b] = scaled * (weight[b] * scale)


@jit
def flow(raw, x, layers, units, weight, scale, nll, draw, work, points, sums, gradients, learn, m):
    """Deep sigmoidal flow: fill nll and, to learn, its gradient by ``raw`` [3 units layers][sample], weighted.

    ``work`` [layer][5][unit][sample], ``points`` [layer + 1][sample], ``sums`` [layer][5][sample] and ``gradients``
    [4][sample] are scratch.
    """
    for b in range(m):
        points[0, b] = x[b]
        nll[b] = ZERO
    for layer in range(layers):
        _flow_layer(raw, 3 * units * layer, units, points[layer], work[layer], sums[layer], m)
        _logit(sums[layer, 0], sums[layer, 1], sums[layer, 2], points[layer + 1], nll, m)
    _base_density(points[layers], weight, scale, nll, gradients[0], m)
    if not learn:
        return
    for layer in range(layers - 1, -1, -1):
        _flow_layer_gradient(layer, units, points[layer], work[layer], sums[layer], weight, scale, draw, gradients, m)


@loop
def _sum_gradients(weight, scale, inside, outside, jacobian, dy, d_in, d_out, d_jac, m):
    for b in range(m):
        c = weight[b] * scale
        d_in[b] = (dy[b] + c) * (ONE - CLIP) / inside[b]
        d_out[b] = (c - dy[b]) * (ONE - CLIP) / outside[b]
        d_jac[b] = -c / jacobian[b] if jacobian[b] > TINY else ZERO


@loop
def _unit_gradients(first, units, x, a, da, w, s, t, d_in, d_out, d_jac, dy, mean, draw, m):
    for b in range(m):
        dy[b] = ZERO
        mean[b] = ZERO
    for i in range(units):
        for b in range(m):
            st = s[i, b] * t[i, b]
            wst = w[i, b] * st
            ja = d_jac[b] * a[i, b]
            dp = wst * fma(ja, t[i, b] - s[i, b], d_in[b] - d_out[b])
            draw[first + units + i, b] = dp
            draw[first + i, b] = fma(dp, x[b], d_jac[b] * wst) * da[i, b]
            dy[b] = fma(dp, a[i, b], dy[b])
            dw = w[i, b] * fma(d_in[b], s[i, b], fma(d_out[b], t[i, b], ja * st))
            draw[first + 2 * units + i, b] = dw
            mean[b] += dw
    for i in range(units):
        for b in range(m):
            draw[first + 2 * units + i, b] = fma(-w[i, b], mean[b], draw[first + 2 * units + i, b])


@jit
def _flow_layer_gradient(layer, units, x, work, sums, weight, scale, draw, gradients, m):
    """Turn the gradient by the layer's output, gradients[0], into that by its input and its parameters."""
    dy, d_in, d_out, d_jac = gradients[0], gradients[1], gradients[2], gradients[3]
    _sum_gradients(weight, scale, sums[0], sums[1], sums[2], dy, d_in, d_out, d_jac, m)
    _unit_gradients(
        3 * units * layer,
        units,
        x,
        work[0],
        work[1],
        work[2],
        work[3],
        work[4],
        d_in,
        d_out,
        d_jac,
        dy,
        sums[3],
        draw,
        m,
    )
