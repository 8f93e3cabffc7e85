"""The most arithmetic that this processor does: fused multiply-adds on numbers that stay in registers."""

import time
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from dcdi.kernels import jit
from dcdi.simd import LANES, ROWS, Code

CHAINS = ROWS + 1  # vectors that do not wait for each other
STEPS = 1_000_000


def peak(rounds: int = 10) -> float:
    """Return operations per second of one core in single precision, a fused one counting twice: the best of rounds."""
    best = 0.0
    for _ in range(rounds + 1):  # the first compiles
        started = time.process_time()
        _multiply_add(np.int64(STEPS), np.float32(0.5))
        best = max(best, 2 * CHAINS * LANES * STEPS / (time.process_time() - started))
    return best


@intrinsic
def _chains(typing, steps, factor):
    """Return the sum of CHAINS vectors, each multiplied by the factor and added to it again and again."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Code(context, builder)
        factor = code.broadcast(arguments[1])
        starts = [code.constant(float(i)) for i in range(CHAINS)]
        ends = code.sum_loop(arguments[0], starts, lambda _, sums: [code.fma(value, factor, factor) for value in sums])
        total = ir.Constant(ir.FloatType(), 0.0)
        for value in ends:
            total = builder.fadd(total, code.total(value))
        return total

    return types.float32(types.int64, types.float32), generate


@jit
def _multiply_add(steps, factor):
    return _chains(steps, factor)
