"""Small matrix products in registers, for which BLAS is too large a tool.

A population's autoencoder multiplies matrices of 100 x 20 to 100 x 200 thousands of times a second. At these sizes a
BLAS call spends much of its time on copying its operands into the order it likes. The tiles here read them where
they are: R rows by C vectors of eight float32 stay in registers while k runs, which takes R*C + C + 1 <= 16 of them.
Numba cannot be asked for vectors in Python, so each tile is written as LLVM instructions, once, by `_Tile`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit

LANES = 8  # float32 numbers in one vector; rows are padded to a multiple of it, so that no loop has a slow tail

_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, LANES)
_INDEX = ir.IntType(64)
_LANE = ir.IntType(32)
_UNDEFINED = ir.Constant(_VECTOR, ir.Undefined)
_EVERY_LANE_0 = ir.Constant(ir.VectorType(_LANE, LANES), [0] * LANES)


class _Tile:
    """The code of one tile, as it is built: c[r, :] = start[r, :] + sum_k a[r, k] b[k, :].

    Matrices come as whole arrays with the offset of the tile's first element and the strides in elements:
    (a, first, per row, per k), (b, first, per k), (start, first, per row), (c, first, per row), and depth >= 1.
    """

    def __init__(self, builder: Any, rows: int, vectors: int) -> None:
        self.builder = builder
        self.rows = rows
        self.vectors = vectors
        self.cells = [(row, vector) for row in range(rows) for vector in range(vectors)]

    def emit(self, a: Any, b: Any, start: Any, c: Any, args: Any) -> None:
        """Load the start, loop over k, store the sums."""
        a_first, a_row, a_k = args[1:4]
        b_first, b_k = args[5:7]
        start_first, start_row = args[8:10]
        c_first, c_row, depth = args[11:14]
        a_rows = [self.address(a, a_first, a_row, row, 0) for row in range(self.rows)]
        initial = [self.load(self.address(start, start_first, start_row, row, v)) for row, v in self.cells]
        sums = self.loop(a_rows, a_k, b, b_first, b_k, initial, depth)
        for (row, v), total in zip(self.cells, sums, strict=True):
            self.store(total, self.address(c, c_first, c_row, row, v))

    def loop(self, a_rows: list[Any], a_k: Any, b: Any, b_first: Any, b_k: Any, initial: list[Any], depth: Any) -> Any:
        """Add a[r, k] b[k, :] to the initial vectors for k = 0 .. depth - 1; give the sums, one for each cell."""
        builder = self.builder
        entry = builder.block
        loop = builder.append_basic_block("k")
        done = builder.append_basic_block("done")
        builder.branch(loop)
        builder.position_at_end(loop)
        k = builder.phi(_INDEX)
        totals = [builder.phi(_VECTOR) for _ in self.cells]
        b_row = builder.add(b_first, builder.mul(k, b_k))
        b_vectors = [self.load(builder.gep(b, [builder.add(b_row, _INDEX(v * LANES))])) for v in range(self.vectors)]
        a_values = [self.spread(builder.gep(a_row, [builder.mul(k, a_k)])) for a_row in a_rows]
        products = [builder.fmul(a_values[row], b_vectors[v], flags=("contract",)) for row, v in self.cells]
        sums = [builder.fadd(*terms, flags=("contract",)) for terms in zip(products, totals, strict=True)]
        following = builder.add(k, _INDEX(1))
        k.add_incoming(_INDEX(0), entry)
        k.add_incoming(following, loop)
        for total, first, later in zip(totals, initial, sums, strict=True):
            total.add_incoming(first, entry)
            total.add_incoming(later, loop)
        builder.cbranch(builder.icmp_signed("<", following, depth), loop, done)
        builder.position_at_end(done)
        return sums

    def address(self, pointer: Any, first: Any, stride: Any, row: int, vector: int) -> Any:
        offset = self.builder.add(first, self.builder.mul(stride, _INDEX(row)))
        return self.builder.gep(pointer, [self.builder.add(offset, _INDEX(vector * LANES))])

    def load(self, pointer: Any) -> Any:
        vector = self.builder.load(self.builder.bitcast(pointer, _VECTOR.as_pointer()))
        vector.align = 4
        return vector

    def store(self, vector: Any, pointer: Any) -> None:
        self.builder.store(vector, self.builder.bitcast(pointer, _VECTOR.as_pointer())).align = 4

    def spread(self, pointer: Any) -> Any:
        """Load one number into every lane."""
        first_lane = self.builder.insert_element(_UNDEFINED, self.builder.load(pointer), _LANE(0))
        return self.builder.shuffle_vector(first_lane, _UNDEFINED, _EVERY_LANE_0)


def _make_tile(rows: int, vectors: int) -> Any:
    """Make the intrinsic for a tile of rows x (8 * vectors); its arguments are those of `_Tile`, in that order."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def data(k: int) -> Any:
            return context.make_array(signature.args[k])(context, builder, args[k]).data

        _Tile(builder, rows, vectors).emit(data(0), data(4), data(7), data(10), args)
        return context.get_dummy_value()

    @intrinsic
    def tile(  # type: ignore[no-untyped-def]
        typing_context, a, a_first, a_row, a_k, b, b_first, b_k, start, start_first, start_row, c, c_first, c_row, depth
    ):
        i = types.intp
        return types.void(a, i, i, i, b, i, i, start, i, i, c, i, i, i), emit

    return tile


_tile_4x3 = _make_tile(4, 3)
_tile_4x2 = _make_tile(4, 2)
_tile_4x1 = _make_tile(4, 1)
_tile_1x3 = _make_tile(1, 3)
_tile_1x2 = _make_tile(1, 2)
_tile_1x1 = _make_tile(1, 1)

_LOW_HALVES = ir.Constant(ir.VectorType(_LANE, LANES), [0, 8, 1, 9, 2, 10, 3, 11])
_HIGH_HALVES = ir.Constant(ir.VectorType(_LANE, LANES), [4, 12, 5, 13, 6, 14, 7, 15])


def _emit_transpose(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Interleave the rows i and i + 4 of a block, three times: its transpose."""
    source = context.make_array(signature.args[0])(context, builder, args[0]).data
    target = context.make_array(signature.args[3])(context, builder, args[3]).data
    block = _Tile(builder, LANES, 1)
    vectors = [block.load(block.address(source, args[1], args[2], i, 0)) for i in range(LANES)]
    for _ in range(3):
        vectors = [
            builder.shuffle_vector(vectors[i], vectors[i + LANES // 2], halves)
            for i in range(LANES // 2)
            for halves in (_LOW_HALVES, _HIGH_HALVES)
        ]
    for i, vector in enumerate(vectors):
        block.store(vector, block.address(target, args[4], args[5], i, 0))
    return context.get_dummy_value()


@intrinsic
def transpose_block(typing_context, a, a_first, a_row, out, out_first, out_row):  # type: ignore[no-untyped-def]
    """Transpose a block of LANES x LANES: each array with the offset of the block and its row stride."""
    i = types.intp
    return types.void(a, i, i, out, i, i), _emit_transpose


_Array = NDArray[np.float32]


@njit(**OPTIONS)
def tiled_product(
    a: _Array, a_first: int, a_row: int, a_k: int,
    b: _Array, b_first: int, b_k: int,
    start: _Array, start_row: int,
    c: _Array, c_row: int,
    rows: int, columns: int, depth: int,
) -> None:  # fmt: skip
    """Set c = start + a b, for rows x columns of c, columns a multiple of LANES, depth >= 1; strides as in a tile."""
    column = 0
    while column < columns:
        left = (columns - column) // LANES
        width = 3 if left == 3 or left > 4 else min(left, 2)  # 4 vectors are better as 2 + 2 than as 3 + 1
        row = 0
        while row < rows:
            block = 4 if row + 4 <= rows else 1
            a_at = a_first + row * a_row
            b_at = b_first + column
            s_at = row * start_row + column
            c_at = row * c_row + column
            if block == 4:
                if width == 3:
                    _tile_4x3(a, a_at, a_row, a_k, b, b_at, b_k, start, s_at, start_row, c, c_at, c_row, depth)
                elif width == 2:
                    _tile_4x2(a, a_at, a_row, a_k, b, b_at, b_k, start, s_at, start_row, c, c_at, c_row, depth)
                else:
                    _tile_4x1(a, a_at, a_row, a_k, b, b_at, b_k, start, s_at, start_row, c, c_at, c_row, depth)
            elif width == 3:
                _tile_1x3(a, a_at, a_row, a_k, b, b_at, b_k, start, s_at, start_row, c, c_at, c_row, depth)
            elif width == 2:
                _tile_1x2(a, a_at, a_row, a_k, b, b_at, b_k, start, s_at, start_row, c, c_at, c_row, depth)
            else:
                _tile_1x1(a, a_at, a_row, a_k, b, b_at, b_k, start, s_at, start_row, c, c_at, c_row, depth)
            row += block
        column += width * LANES
