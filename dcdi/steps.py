"""The training iterations of the cpu engine (paper Section 3 and Appendix B.3), compiled.

Rows of a minibatch are sorted by setting, so that those of one setting are neighbours. Each variable's base network is
evaluated on all of them; a network of an intervention only on the rows that use it.
"""

from typing import Any, NamedTuple

import numpy as np

from dcdi.constraint import trace_violation
from dcdi.densities import flow, gaussian
from dcdi.kernels import (
    HALF,
    LARGEST_LOGIT,
    ONE,
    RMSPROP_DECAY,
    SMALLEST_LOGIT,
    ZERO,
    backward,
    exp,
    exp_above,
    forward,
    idle_decay,
    jit,
    loop,
    rmsprop,
    sample_masks,
    sigmoids,
    uniform,
)
from dcdi.simd import LANES, STANDARD_ARITHMETIC, dot, fma, set_arithmetic

# How a targeted variable is modelled.
LEFT_OUT = 0  # its term is dropped (perfect, known), or there is no target (DCD)
OWN_NETWORK = 1  # a network of its own per setting, with the parents as inputs (imperfect, known)
LEARNED_PERFECT = 2  # targets are learned; the network of a setting has all its inputs masked
LEARNED_IMPERFECT = 3  # targets are learned; the network of a setting has the parents as inputs


class Shape(NamedTuple):
    """Sizes that the compiled code needs."""

    mode: int
    layers: int
    units: int
    outputs: int
    flow_layers: int
    flow_units: int


class Parameters(NamedTuple):
    """What is learned; also used for gradients and for running squares.

    ``weights`` [network][weight]: network j < d is the base network of variable j. ``logits`` [d][d] are Lambda,
    ``target_logits`` [settings][d] those of "not targeted".
    """

    weights: Any
    log_sd: Any
    logits: Any
    target_logits: Any


class Rows(NamedTuple):
    """Data: X [n][d], setting [n], targets [settings][d] as known, network [settings][d] of a target or -1."""

    X: Any
    setting: Any
    targets: Any
    network: Any


class Buffers(NamedTuple):
    """Scratch memory of one fit, aligned to the processor's cache lines."""

    x: Any
    masked: Any
    slope: Any
    free: Any
    other_inputs: Any
    gradient_inputs: Any
    hidden: Any
    work: Any
    outputs: Any
    gradient_outputs: Any
    single: Any
    ones: Any
    flow_work: Any
    flow_points: Any
    flow_sums: Any
    flow_gradients: Any
    odds: Any
    setting: Any
    columns: Any
    indices: Any
    counts: Any
    touched: Any
    matrices: Any


class Penalties(NamedTuple):
    """Coefficients of the augmented Lagrangian at present (paper, Equation of the augmented Lagrangian)."""

    sparsity: float
    target_sparsity: float
    gamma: float
    mu: float
    normalisation: float


# Rows of Buffers.single.
_NLL, _OTHER_X, _OTHER_WEIGHT, _OTHER_NLL, _D_FREE, _FREE_SLOPE = range(6)


@jit
def _column_gradient(gradient, child, gradient_inputs, slope, m):
    """Gradient of a column of Lambda: that by the masked inputs, through the straight-through slopes."""
    for j in range(len(slope)):
        gradient[j, child] = dot(gradient_inputs[j], slope[j], m)


@loop
def _mask_gradient(d_free, gradient_inputs, masked, m):
    """Gradient by the mask of all inputs of a variable."""
    for j in range(len(masked)):
        for b in range(m):
            d_free[b] = fma(gradient_inputs[j, b], masked[j, b], d_free[b])


@jit
def _network(weights, gradient, shape, x, inputs, log_sd, weight, scale, nll, buffers, learn, m):
    """Fill nll of one network on m columns; to learn, add its weighted gradient. Return the gradient by log sd.

    ``buffers.gradient_inputs`` becomes the gradient by the masked inputs.
    """
    raw, draw = buffers.outputs, buffers.gradient_outputs
    forward(weights, shape.layers, shape.units, shape.outputs, inputs, buffers.hidden, raw, m)
    dlog_sd = ZERO
    if shape.flow_layers == 0:
        dlog_sd = gaussian(raw[0], x, log_sd, weight, scale, nll, draw[0], m)
    else:
        flow(
            raw, x, shape.flow_layers, shape.flow_units, weight, scale, nll, draw, buffers.flow_work,
            buffers.flow_points, buffers.flow_sums, buffers.flow_gradients, learn, m,
        )  # fmt: skip
    if learn:
        backward(
            weights, gradient, shape.layers, shape.units, shape.outputs, inputs, buffers.hidden, draw, buffers.work,
            buffers.ones, buffers.gradient_inputs, m,
        )  # fmt: skip
    return dlog_sd


@jit
def _odds(logit):
    return exp_above(min(logit, LARGEST_LOGIT), SMALLEST_LOGIT)


@jit
def _sample_targets(state, target_logits, child, setting, free, slope, m):
    """Draw "not targeted" by sample (straight-through); setting 0 is observational and never targeted."""
    for b in range(m):
        k = setting[b]
        if k <= 0:
            free[b] = ONE if k == 0 else ZERO
            slope[b] = ZERO
        else:
            odds = _odds(target_logits[k, child])
            u = uniform(state, b)
            s = u * odds / fma(u, odds, ONE - u)
            free[b] = ONE if s > HALF else ZERO
            slope[b] = fma(-s, s, s)


@jit
def _other_networks(child, rows, parameters, gradient, shape, scale, buffers, learn, m):
    """Networks of interventions on one variable: return the sum of their nll and the gradient by log sd."""
    single, columns, setting, free = buffers.single, buffers.columns, buffers.setting, buffers.free[child]
    total, dlog_sd = ZERO, ZERO
    start = 0
    while start < m:
        k = setting[start]
        end = start
        count = 0
        while end < m and setting[end] == k:
            # A learned imperfect target needs both networks: their likelihoods are compared.
            if k > 0 and (free[end] == ZERO or shape.mode == LEARNED_IMPERFECT):
                columns[count] = end
                count += 1
            end += 1
        start = end
        if count == 0:
            continue
        net = rows.network[k, child]
        wide = (count + LANES - 1) // LANES * LANES
        single[_OTHER_X, :wide] = ZERO
        single[_OTHER_WEIGHT, :wide] = ZERO
        buffers.other_inputs[:, :wide] = ZERO
        for i in range(count):
            b = columns[i]
            single[_OTHER_X, i] = buffers.x[child, b]
            single[_OTHER_WEIGHT, i] = ONE - free[b]
            if shape.mode != LEARNED_PERFECT:
                for j in range(len(buffers.x)):
                    buffers.other_inputs[j, i] = buffers.masked[j, b]
        dlog_sd += _network(
            parameters.weights[net], gradient.weights[net], shape, single[_OTHER_X], buffers.other_inputs,
            parameters.log_sd[child], single[_OTHER_WEIGHT], scale, single[_OTHER_NLL], buffers, learn, wide,
        )  # fmt: skip
        for i in range(count):
            total = fma(single[_OTHER_WEIGHT, i], single[_OTHER_NLL, i], total)
        if not learn:
            continue
        buffers.touched[net] = True
        for i in range(count):
            b = columns[i]
            if shape.mode == LEARNED_IMPERFECT:
                single[_D_FREE, b] = scale * (single[_NLL, b] - single[_OTHER_NLL, i])
            for j in range(len(buffers.x)):
                slope = buffers.gradient_inputs[j, i]
                if shape.mode == LEARNED_PERFECT:
                    single[_D_FREE, b] = fma(slope, buffers.masked[j, b], single[_D_FREE, b])
                else:
                    gradient.logits[j, child] = fma(slope, buffers.slope[j, b], gradient.logits[j, child])
    return total, dlog_sd


@jit
def _variable(child, rows, parameters, gradient, shape, frozen, state, scale, buffers, learn, m):
    """Negative log-likelihood of one variable, summed over m columns; to learn, its gradient."""
    d = len(buffers.x)
    single = buffers.single
    if frozen:
        for j in range(d):
            # A frozen graph has no edge probabilities left to draw from.
            present = ONE if parameters.logits[j, child] > ZERO and j != child else ZERO
            for b in range(m):
                buffers.masked[j, b] = present * buffers.x[j, b]
    else:
        sample_masks(state, buffers.odds, child, buffers.x, buffers.masked, buffers.slope, m)
    if shape.mode >= LEARNED_PERFECT:
        _sample_targets(
            state, parameters.target_logits, child, buffers.setting, buffers.free[child], single[_FREE_SLOPE], m
        )
        single[_D_FREE, :m] = ZERO
    free = buffers.free[child]
    dlog_sd = _network(
        parameters.weights[child], gradient.weights[child], shape, buffers.x[child], buffers.masked,
        parameters.log_sd[child], free, scale, single[_NLL], buffers, learn, m,
    )  # fmt: skip
    total = dot(single[_NLL], free, m)
    if learn:
        if not frozen:
            _column_gradient(gradient.logits, child, buffers.gradient_inputs, buffers.slope, m)
        if shape.mode == LEARNED_PERFECT:
            _mask_gradient(single[_D_FREE], buffers.gradient_inputs, buffers.masked, m)
    if shape.mode != LEFT_OUT:
        more, more_dlog_sd = _other_networks(child, rows, parameters, gradient, shape, scale, buffers, learn, m)
        total += more
        dlog_sd += more_dlog_sd
    if learn:
        gradient.log_sd[child] = dlog_sd
        if shape.mode >= LEARNED_PERFECT:
            for b in range(m):
                k = buffers.setting[b]
                slope = gradient.target_logits[k, child]
                gradient.target_logits[k, child] = fma(single[_D_FREE, b], single[_FREE_SLOPE, b], slope)
    return total


@jit
def _load(rows, indices, buffers, m):
    """Copy rows into columns of the buffers, with 1 where a variable is no known target."""
    d = len(buffers.x)
    for b in range(m):
        i = indices[b]
        k = rows.setting[i]
        buffers.setting[b] = k
        for j in range(d):
            buffers.x[j, b] = rows.X[i, j]
            buffers.free[j, b] = ZERO if rows.targets[k, j] else ONE


@jit
def _draw_rows(rows, row_state, counts, indices, drawn, m):
    """Draw m rows with replacement, in the order of their settings."""
    counts[:] = 0
    r = row_state[0]
    for b in range(m):
        r ^= r << np.uint64(13)
        r ^= r >> np.uint64(7)
        r ^= r << np.uint64(17)
        drawn[b] = np.int64(r % np.uint64(len(rows.X)))
        counts[rows.setting[drawn[b]]] += 1
    row_state[0] = r
    place = 0
    for k in range(len(counts)):
        counts[k], place = place, place + counts[k]
    for b in range(m):
        k = rows.setting[drawn[b]]
        indices[counts[k]] = drawn[b]
        counts[k] += 1


@loop
def _all_odds(logits, odds):
    for i in range(len(logits)):
        for j in range(len(logits)):
            odds[i, j] = _odds(logits[i, j])


@jit
def _penalty_gradient(parameters, gradient, penalties, matrices):
    """Add the gradients of sparsity and constraint to that of Lambda; return h."""
    d = len(parameters.logits)
    p, work, exponential = matrices[0], matrices[1:5], matrices[5]
    for i in range(d):
        sigmoids(parameters.logits[i], p[i])
        p[i, i] = 0.0
    h = trace_violation(p, work, exponential) / penalties.normalisation
    multiplier = (penalties.gamma + penalties.mu * h) / penalties.normalisation
    sparsity = penalties.sparsity / (d * d)
    for i in range(d):
        for j in range(d):
            if i != j:
                slope = p[i, j] * (1.0 - p[i, j])
                gradient.logits[i, j] += np.float32(fma(multiplier, exponential[j, i], sparsity) * slope)
    return h


@jit
def iterate(iterations, rows, parameters, gradient, squares, last, clock, shape, penalties, frozen, rate, state,
            row_state, buffers):  # fmt: skip
    """Run iterations of RMSprop on the augmented Lagrangian; return the mean training nll and the last h."""
    d, m = len(buffers.x), len(state)
    scale = ONE / np.float32(m * d)
    counts, indices, drawn = buffers.counts, buffers.indices, buffers.columns
    base = parameters.weights[:d].reshape(-1), squares.weights[:d].reshape(-1), gradient.weights[:d].reshape(-1)
    h, total = 0.0, 0.0
    control = set_arithmetic(np.uint64(STANDARD_ARITHMETIC))
    for _ in range(iterations):
        clock[0] += 1
        _draw_rows(rows, row_state, counts, indices, drawn, m)
        _load(rows, indices, buffers, m)
        _all_odds(parameters.logits, buffers.odds)
        gradient.weights[:d] = ZERO
        gradient.logits[:] = ZERO
        gradient.target_logits[:] = ZERO
        for child in range(d):
            total += _variable(child, rows, parameters, gradient, shape, frozen, state, scale, buffers, True, m)
        rmsprop(base[0], base[1], base[2], rate, RMSPROP_DECAY)
        for net in range(d, len(last)):
            if buffers.touched[net]:
                # Squares of an unused network only decay; that is made up for when it is used again.
                idle = idle_decay(clock[0] - last[net])
                rmsprop(parameters.weights[net], squares.weights[net], gradient.weights[net], rate, idle)
                last[net] = clock[0]
                buffers.touched[net] = False
                gradient.weights[net] = ZERO
        if shape.flow_layers == 0:
            rmsprop(parameters.log_sd, squares.log_sd, gradient.log_sd, rate, RMSPROP_DECAY)
        if shape.mode >= LEARNED_PERFECT:
            for k in range(1, len(parameters.target_logits)):
                for j in range(d):
                    p = ONE / (ONE + exp(-parameters.target_logits[k, j]))
                    gradient.target_logits[k, j] -= np.float32(penalties.target_sparsity) * (p * (ONE - p))
            gradient.target_logits[0] = ZERO
            rmsprop(
                parameters.target_logits.reshape(-1), squares.target_logits.reshape(-1),
                gradient.target_logits.reshape(-1), rate, RMSPROP_DECAY,
            )  # fmt: skip
        if not frozen:
            h = _penalty_gradient(parameters, gradient, penalties, buffers.matrices)
            rmsprop(
                parameters.logits.reshape(-1), squares.logits.reshape(-1), gradient.logits.reshape(-1), rate,
                RMSPROP_DECAY,
            )  # fmt: skip
    set_arithmetic(control)
    return total / (max(iterations, 1) * m * d), h


@jit
def mean_nll(rows, parameters, gradient, shape, frozen, state, buffers):
    """Return the negative log-likelihood per row and variable of rows sorted by setting, masks being drawn."""
    d, m = len(buffers.x), len(state)
    n = len(rows.X)
    indices = buffers.indices
    _all_odds(parameters.logits, buffers.odds)
    total = 0.0
    control = set_arithmetic(np.uint64(STANDARD_ARITHMETIC))
    for start in range(0, n, m):
        count = min(m, n - start)
        wide = (count + LANES - 1) // LANES * LANES
        for b in range(wide):
            indices[b] = start + min(b, count - 1)
        _load(rows, indices, buffers, wide)
        buffers.setting[count:wide] = -1  # what fills up the last vector counts for nothing
        buffers.free[:, count:wide] = ZERO
        for child in range(d):
            total += _variable(child, rows, parameters, gradient, shape, frozen, state, ONE, buffers, False, wide)
    set_arithmetic(control)
    return total / (n * d)
