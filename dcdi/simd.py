"""Vector instructions for the cpu engine, as numba intrinsics.

Arrays are [row][sample]; an instruction treats LANES samples of up to ROWS rows at once and keeps the sums in
registers, which loops that numba compiles from Python cannot do. LLVM breaks vectors down to what the processor has.

The bits of a result are the same on every processor: a product is fused with a sum where ``fma`` says so and nowhere
else, a sum over samples has LANES partial sums, added in one order, whatever the width of the processor's vectors, and
no instruction carries a flag that would let LLVM do otherwise.
"""

import platform
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.extending import intrinsic

from dcdi.cache import use_own_cache

use_own_cache()

LANES = 16
DOUBLES = LANES // 2
# Rows at once, as many as there are registers for their sums. It is of no account to results.
ROWS = 8 if llvm.get_host_cpu_features().get("avx512f") else 4

MACHINE = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
# What the register that controls arithmetic must be for IEEE 754: round to nearest, keep tiny numbers, do not trap.
STANDARD_ARITHMETIC = 0x1F80 if MACHINE == "x86_64" else 0


class NoAlias(CompilerBase):
    """A numba compiler that may take for granted that the array arguments of a function do not overlap.

    Without it LLVM guards every loop over several arrays with comparisons of their addresses, or does not vectorise it.
    """

    def define_pipelines(self) -> list[Any]:
        """Return numba's own pipeline, with the flag set."""
        self.state.flags.noalias = True
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, LANES)
_DOUBLES = ir.VectorType(ir.DoubleType(), DOUBLES)
_INT = ir.IntType(64)
_BITS = ir.VectorType(ir.IntType(32), LANES)


def _matrix_types(*arguments: Any, dtype: Any = types.float32) -> bool:
    return all(isinstance(a, types.Array) and a.dtype is dtype and a.layout == "C" for a in arguments)


class Code:
    """The few instructions that the intrinsics below are made of."""

    def __init__(self, context: Any, builder: Any, vector: Any = _VECTOR) -> None:
        self.context, self.builder, self.vector = context, builder, vector

    def data(self, kind: Any, value: Any) -> tuple[Any, Any]:
        """Pointer to an array's first element, and the length of its rows."""
        array = self.context.make_array(kind)(self.context, self.builder, value)
        shape = cgutils.unpack_tuple(self.builder, array.shape)
        return array.data, shape[-1]

    def at(self, pointer: Any, *parts: Any) -> Any:
        """Pointer moved on by a sum of products (a, b) and single numbers."""
        total: Any = ir.Constant(_INT, 0)
        for part in parts:
            term = self.builder.mul(*part) if isinstance(part, tuple) else part
            total = self.builder.add(total, term)
        return self.builder.gep(pointer, [total])

    def load_vector(self, pointer: Any) -> Any:
        """Read a vector that begins anywhere."""
        return self.builder.load(self.builder.bitcast(pointer, self.vector.as_pointer()), align=4)

    def store_vector(self, value: Any, pointer: Any) -> None:
        """Write a vector anywhere."""
        self.builder.store(value, self.builder.bitcast(pointer, self.vector.as_pointer()), align=4)

    def broadcast(self, scalar: Any) -> Any:
        """Return a vector of one number."""
        empty = ir.Constant(self.vector, ir.Undefined)
        single = self.builder.insert_element(empty, scalar, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), self.vector.count), [0] * self.vector.count)
        return self.builder.shuffle_vector(single, empty, zeros)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        """Return a b + c, rounded once."""
        kind = a.type
        element = kind.element if isinstance(kind, ir.VectorType) else kind
        name = f"v{kind.count}{element.intrinsic_name}" if isinstance(kind, ir.VectorType) else element.intrinsic_name
        function = cgutils.get_or_insert_function(
            self.builder.module, ir.FunctionType(kind, [kind] * 3), f"llvm.fma.{name}"
        )
        return self.builder.call(function, [a, b, c])

    def totals(self, vectors: list[Any]) -> Any:
        """Return the sums of up to LANES vectors: each is halved until one number is left, two of them at a time."""
        span = LANES
        while span > 1:
            span //= 2
            pairs = list(zip(vectors[::2], vectors[1::2], strict=True)) if len(vectors) > 1 else [(vectors[0],) * 2]
            count = vectors[0].type.count * min(len(vectors), 2)
            low = [i for i in range(count) if i // span % 2 == 0]
            vectors = [self.fold(*pair, low, [i + span for i in low]) for pair in pairs]
        return vectors[0]

    def total(self, vector: Any) -> Any:
        """Return the sum of one vector."""
        return self.builder.extract_element(self.totals([vector]), ir.Constant(ir.IntType(32), 0))

    def fold(self, a: Any, b: Any, low: list[int], high: list[int]) -> Any:
        """Add the elements ``low`` of two vectors to the elements ``high``."""
        kind = ir.VectorType(ir.IntType(32), len(low))
        halves = (self.builder.shuffle_vector(a, b, ir.Constant(kind, mask)) for mask in (low, high))
        return self.builder.fadd(*halves)

    def magnitude(self, value: Any) -> Any:
        """Return the absolute values."""
        return self.builder.bitcast(
            self.builder.and_(self.builder.bitcast(value, _BITS), self.bits(0x7FFFFFFF)), _VECTOR
        )

    def inverse_root(self, value: Any) -> Any:
        """Return 1 / sqrt(value) to 1e-6: a guess from the exponent and three Newton steps, faster than dividing."""
        half = self.builder.lshr(self.builder.bitcast(value, _BITS), self.bits(1))
        guess = self.builder.bitcast(self.builder.sub(self.bits(0x5F3759DF), half), _VECTOR)
        halved = self.builder.fmul(value, self.constant(-0.5))
        for _ in range(3):
            square = self.builder.fmul(guess, guess)
            guess = self.builder.fmul(guess, self.fma(halved, square, self.constant(1.5)))
        return guess

    def inverse(self, value: Any) -> Any:
        """Return 1 / value for positive values, in the same way."""
        guess = self.builder.bitcast(
            self.builder.sub(self.bits(0x7EF311C7), self.builder.bitcast(value, _BITS)), _VECTOR
        )
        negative = self.builder.fmul(value, self.constant(-1.0))
        for _ in range(3):
            guess = self.builder.fmul(guess, self.fma(negative, guess, self.constant(2.0)))
        return guess

    def constant(self, value: float) -> Any:
        """Return a vector of one constant."""
        return ir.Constant(self.vector, [value] * self.vector.count)

    def bits(self, value: int) -> Any:
        """Return a vector of one 32-bit integer."""
        return ir.Constant(_BITS, [value] * LANES)

    def sum_loop(self, count: Any, sums: list[Any], step: Any) -> list[Any]:
        """Run ``sums = step(i, sums)`` for i below count, with the sums in registers."""
        builder = self.builder
        before = builder.block
        head, body, end = (builder.append_basic_block(name) for name in ("head", "body", "end"))
        builder.branch(head)
        builder.position_at_end(head)
        index = builder.phi(_INT)
        index.add_incoming(ir.Constant(_INT, 0), before)
        phis = []
        for value in sums:
            phi = builder.phi(self.vector)
            phi.add_incoming(value, before)
            phis.append(phi)
        builder.cbranch(builder.icmp_signed("<", index, count), body, end)
        builder.position_at_end(body)
        new = step(index, phis)
        for phi, value in zip(phis, new, strict=True):
            phi.add_incoming(value, builder.block)
        index.add_incoming(builder.add(index, ir.Constant(_INT, 1)), builder.block)
        builder.branch(head)
        builder.position_at_end(end)
        return phis


def _combine(rows: int) -> Any:
    @intrinsic
    def instruction(typing, y, row, x, count, column, weights, start, row_step, step, bias):
        """y[row + r, column:] = bias_r + sum_i weights[start + r row_step + i step] x[i, column:], a vector wide."""
        if not _matrix_types(y, x, weights):
            return None
        signature = types.void(y, types.int64, x, *(types.int64,) * 2, weights, *(types.int64,) * 4)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = Code(context, builder)
            y, row, x, count, column, weights, start, row_step, step, bias = arguments
            y_data, width = code.data(signature.args[0], y)
            x_data, _ = code.data(signature.args[2], x)
            w_data, _ = code.data(signature.args[5], weights)
            has_bias = builder.icmp_signed(">=", bias, ir.Constant(_INT, 0))
            first = []
            for r in range(rows):
                place = builder.select(has_bias, builder.add(bias, ir.Constant(_INT, r)), start)
                value = builder.load(code.at(w_data, place))
                first.append(code.broadcast(builder.select(has_bias, value, ir.Constant(_FLOAT, 0.0))))

            def add(i: Any, sums: list[Any]) -> list[Any]:
                vector = code.load_vector(code.at(x_data, (i, width), column))
                new = []
                for r, value in enumerate(sums):
                    weight = builder.load(code.at(w_data, start, (ir.Constant(_INT, r), row_step), (i, step)))
                    new.append(code.fma(code.broadcast(weight), vector, value))
                return new

            for r, value in enumerate(code.sum_loop(count, first, add)):
                place = builder.add(row, ir.Constant(_INT, r))
                code.store_vector(value, code.at(y_data, (place, width), column))
            return context.get_dummy_value()

        return signature, generate

    return instruction


def _correlate(rows: int) -> Any:
    @intrinsic
    def instruction(typing, gradient, start, x, row, dy, first, vectors):
        """gradient[start + r] += sum over samples of x[row] dy[first + r]."""
        if not _matrix_types(gradient, x, dy):
            return None
        signature = types.void(gradient, types.int64, x, types.int64, dy, *(types.int64,) * 2)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = Code(context, builder)
            gradient, start, x, row, dy, first, vectors = arguments
            g_data, _ = code.data(signature.args[0], gradient)
            x_data, width = code.data(signature.args[2], x)
            d_data, _ = code.data(signature.args[4], dy)
            lanes = ir.Constant(_INT, LANES)

            def add(i: Any, sums: list[Any]) -> list[Any]:
                vector = code.load_vector(code.at(x_data, (row, width), (i, lanes)))
                new = []
                for r, value in enumerate(sums):
                    place = builder.add(first, ir.Constant(_INT, r))
                    other = code.load_vector(code.at(d_data, (place, width), (i, lanes)))
                    new.append(code.fma(vector, other, value))
                return new

            sums = code.sum_loop(vectors, [code.constant(0.0)] * rows, add)
            pointer = code.at(g_data, start)
            if rows == 1:
                total = code.total(sums[0])
            else:
                total = code.totals(sums)
                pointer = builder.bitcast(pointer, total.type.as_pointer())
            builder.store(builder.fadd(builder.load(pointer, align=4), total), pointer, align=4)
            return context.get_dummy_value()

        return signature, generate

    return instruction


@intrinsic
def multiply_block(typing, c, a, b, row, column):
    """Set the ROWS x DOUBLES block of c = a b that begins at this row and column; matrices are square, float64."""
    if not _matrix_types(c, a, b, dtype=types.float64):
        return None
    signature = types.void(c, a, b, types.int64, types.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Code(context, builder, _DOUBLES)
        c, a, b, row, column = arguments
        c_data, width = code.data(signature.args[0], c)
        a_data, _ = code.data(signature.args[1], a)
        b_data, _ = code.data(signature.args[2], b)
        rows = [builder.add(row, ir.Constant(_INT, r)) for r in range(ROWS)]

        def add(k: Any, sums: list[Any]) -> list[Any]:
            vector = code.load_vector(code.at(b_data, (k, width), column))
            weights = [builder.load(code.at(a_data, (r, width), k)) for r in rows]
            return [
                code.fma(code.broadcast(weight), vector, value) for weight, value in zip(weights, sums, strict=True)
            ]

        for r, value in zip(rows, code.sum_loop(width, [code.constant(0.0)] * ROWS, add), strict=True):
            code.store_vector(value, code.at(c_data, (r, width), column))
        return context.get_dummy_value()

    return signature, generate


combine_rows, combine_row = _combine(ROWS), _combine(1)
correlate_rows, correlate_row = _correlate(ROWS), _correlate(1)


@intrinsic
def dot(typing, a, b, m):
    """Return the sum of a[i] b[i] over i < m, a multiple of LANES, as float32."""
    if not _matrix_types(a, b):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Code(context, builder)
        a, b, m = arguments
        a_data, _ = code.data(signature.args[0], a)
        b_data, _ = code.data(signature.args[1], b)
        lanes = ir.Constant(_INT, LANES)

        def add(i: Any, sums: list[Any]) -> list[Any]:
            x, y = (code.load_vector(code.at(data, (i, lanes))) for data in (a_data, b_data))
            return [code.fma(x, y, sums[0])]

        return code.total(code.sum_loop(builder.sdiv(m, lanes), [code.constant(0.0)], add)[0])

    return types.float32(a, b, types.int64), generate


@intrinsic
def fma(typing, a, b, c):
    """Return a b + c, rounded once; all three are float32 or all are float64."""
    if a not in (types.float32, types.float64) or not a == b == c:
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return Code(context, builder).fma(*arguments)

    return a(a, b, c), generate


def _bitcast(source: Any, target: Any) -> Any:
    @intrinsic
    def instruction(typing, value):
        """Return the number that has the same bits."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], context.get_value_type(target))

        return target(source), generate

    return instruction


bits_of, float_of = _bitcast(types.float32, types.int32), _bitcast(types.int32, types.float32)
bits_of_double, double_of = _bitcast(types.float64, types.int64), _bitcast(types.int64, types.float64)


@intrinsic
def set_arithmetic(typing, control):
    """Set the register that controls arithmetic and return what it was.

    A library that was compiled for speed may have made the processor round tiny numbers to zero, for all that follows.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if MACHINE == "x86_64":
            return _set_mxcsr(builder, arguments[0])
        return _set_fpcr(builder, arguments[0]) if MACHINE == "aarch64" else arguments[0]

    return types.uint64(types.uint64), generate


def _set_mxcsr(builder: Any, control: Any) -> Any:
    place = cgutils.alloca_once(builder, ir.IntType(32))
    pointer = builder.bitcast(place, ir.IntType(8).as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer()])
    read, write = (
        cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.sse.{name}") for name in ("stmxcsr", "ldmxcsr")
    )
    builder.call(read, [pointer])
    before = builder.load(place)
    builder.store(builder.trunc(control, ir.IntType(32)), place)
    builder.call(write, [pointer])
    return builder.zext(before, _INT)


def _set_fpcr(builder: Any, control: Any) -> Any:
    read = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_INT, []), "llvm.aarch64.get.fpcr")
    write = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(ir.VoidType(), [_INT]), "llvm.aarch64.set.fpcr"
    )
    before = builder.call(read, [])
    builder.call(write, [control])
    return before


@intrinsic
def rmsprop_vectors(typing, parameters, squares, gradient, vectors, rate, decay, fresh, smallest, epsilon):
    """One step of RMSprop on the first ``vectors`` * LANES parameters; see ``dcdi.kernels.rmsprop``."""
    if not _matrix_types(parameters, squares, gradient):
        return None
    signature = types.void(parameters, squares, gradient, types.int64, *(types.float32,) * 5)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = Code(context, builder)
        parameters, squares, gradient, vectors, *scalars = arguments
        p_data, _ = code.data(signature.args[0], parameters)
        s_data, _ = code.data(signature.args[1], squares)
        g_data, _ = code.data(signature.args[2], gradient)
        lanes = ir.Constant(_INT, LANES)
        rate, decay, fresh, smallest, epsilon = (code.broadcast(value) for value in scalars)

        def step(i: Any, sums: list[Any]) -> list[Any]:
            p, s, g = (code.at(data, (i, lanes)) for data in (p_data, s_data, g_data))
            slope = code.load_vector(g)
            size = code.magnitude(slope)
            size = builder.select(builder.fcmp_ordered("<", size, smallest), smallest, size)
            square = code.fma(builder.fmul(size, size), fresh, builder.fmul(code.load_vector(s), decay))
            code.store_vector(square, s)
            root = builder.fmul(square, code.inverse_root(square))
            scale = code.inverse(builder.fadd(root, epsilon))
            # Newton's steps would make NaN of an infinite square; dividing by it gives 0.
            overflows = builder.fcmp_ordered("==", square, code.constant(float("inf")))
            scale = builder.select(overflows, code.constant(0.0), scale)
            change = builder.fmul(builder.fmul(rate, scale), slope)
            code.store_vector(builder.fsub(code.load_vector(p), change), p)
            return sums

        code.sum_loop(vectors, [], step)
        return context.get_dummy_value()

    return signature, generate
