"""The matrix products of a neural layer on padded arrays, by register tiles or by BLAS, whichever is faster.

All matrices are C-ordered float32 with rows padded to `padded(n)` numbers. The padding is zero, and every kernel
keeps it zero, so that a product over whole rows is the product of the real columns.
"""

from __future__ import annotations

import numpy as np
from numba import objmode
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit
from daedal.kernels.tiles import LANES, tiled_product, transpose_block

TILED_UP_TO = 264
"""Longest padded row for the register tiles: 256 numbers. Beyond, BLAS is faster: it copies its operands to where few
pages of memory hold them."""

DEPTH = 128  # Terms of a sum taken at a time, so that the part of w they read stays in the first-level cache
OUTER_DEPTH = 50  # The same for outer products, which read both operands column by column

_Array = NDArray[np.float32]


def padded(n: int) -> int:
    """Give the row length that holds n numbers.

    A multiple of LANES, and for the tiles never a multiple of 256 bytes, where a column's numbers would all fall
    into the same few sets of the cache.
    """
    width = -(-n // LANES) * LANES
    return width + LANES if width % 64 == 0 and width < TILED_UP_TO else width


@njit(inline="always", **OPTIONS)
def whole_vectors(n: int) -> int:
    """Round n up to a multiple of LANES."""
    return (n + LANES - 1) // LANES * LANES


@njit(inline="always", **OPTIONS)
def _is_tiled(w: _Array) -> bool:
    return bool(w.shape[0] <= TILED_UP_TO and w.shape[1] <= TILED_UP_TO)


@njit(**OPTIONS)
def _dot(a: _Array, b: _Array, out: _Array) -> None:
    """Set out = a b by NumPy's BLAS: SciPy's, which Numba would call by itself, was slower at n = 512."""
    with objmode():
        np.dot(a, b, out=out)


@njit(**OPTIONS)
def _add_row(row: _Array, out: _Array) -> None:
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] += row[j]


@njit(**OPTIONS)
def affine(x: _Array, w: _Array, bias: _Array, k: int, m: int, out: _Array) -> None:
    """Set out = bias + x w, for x of k and w of m real columns.

    x (rows, padded k), w (padded k, padded m), bias (padded m), out (rows, padded m).
    """
    if _is_tiled(w):
        rows, columns, row = x.shape[0], whole_vectors(m), w.shape[1]
        tiled_product(x, 0, x.shape[1], 1, w, 0, row, bias, 0, out, row, rows, columns, min(DEPTH, k))
        for first in range(DEPTH, k, DEPTH):
            depth = min(DEPTH, k - first)
            tiled_product(x, first, x.shape[1], 1, w, first * row, row, out, row, out, row, rows, columns, depth)
    else:
        _dot(x, w, out)
        _add_row(bias, out)


@njit(**OPTIONS)
def affine_transposed(x: _Array, w: _Array, w_t: _Array, bias: _Array, k: int, m: int, out: _Array) -> None:
    """Set out = bias + x w^T, where w_t is what `keep_transpose` made of w.

    x (rows, padded k), w (padded m, padded k), bias (padded m), out (rows, padded m).
    """
    if _is_tiled(w):
        affine(x, w_t, bias, k, m, out)
    else:
        _dot(x, w.T, out)
        _add_row(bias, out)


@njit(**OPTIONS)
def keep_transpose(w: _Array, w_t: _Array) -> None:
    """Copy w, shape (padded n, padded m), into w_t, shape (padded m, padded n), where the tiles need it.

    Tiles read rows only; BLAS transposes as it reads, and w_t is left alone.
    """
    if _is_tiled(w):
        n, m = w.shape
        for i in range(0, n, LANES):
            for j in range(0, m, LANES):
                transpose_block(w, i * m + j, m, w_t, j * n + i, n)  # type: ignore[call-arg]


@njit(**OPTIONS)
def accumulate_outer_products(
    a: _Array, b: _Array, n: int, m: int, factor: np.float32, total: _Array, scratch: _Array
) -> None:
    """Set total = factor * total + a^T b, for a of n and b of m real columns.

    a (rows, padded n), b (rows, padded m), total and scratch (padded n, padded m).
    """
    a_row, b_row = total.shape
    if _is_tiled(total):
        for i in range(a_row):
            for j in range(b_row):
                total[i, j] *= factor
        rows = (n + 3) // 4 * 4  # whole tiles: the padding has room for them
        columns = whole_vectors(m)
        for first in range(0, a.shape[0], OUTER_DEPTH):
            depth = min(OUTER_DEPTH, a.shape[0] - first)
            tiled_product(
                a, first * a_row, 1, a_row, b, first * b_row, b_row, total, b_row, total, b_row, rows, columns, depth
            )
    else:
        _dot(a.T, b, scratch)
        for i in range(a_row):
            for j in range(b_row):
                total[i, j] = factor * total[i, j] + scratch[i, j]
