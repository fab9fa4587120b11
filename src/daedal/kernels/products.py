"""The matrix products of a neural layer on padded arrays, by register tiles or by BLAS, whichever is faster.

All matrices are C-ordered float32 with rows padded to `padded(n)` numbers. The padding is zero, and every kernel
keeps it zero, so that a product over whole rows is the product of the real columns.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from daedal.kernels.tiles import LANES, OPTIONS, tiled_product

TILED_UP_TO = 256
"""Widest matrix for the register tiles; `benchmarks/kernels.py` shows BLAS ahead at 512 and behind at 128."""

DEPTH_BLOCK = 50
"""Rows of a transposed product taken at a time, so that both operands stay in the first-level cache."""

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
        row = w.shape[1]
        tiled_product(x, 0, x.shape[1], 1, w, 0, row, bias, 0, out, row, x.shape[0], whole_vectors(m), k)
    else:
        np.dot(x, w, out)
        _add_row(bias, out)


@njit(**OPTIONS)
def affine_transposed(x: _Array, w: _Array, w_t: _Array, bias: _Array, k: int, m: int, out: _Array) -> None:
    """Set out = bias + x w^T, where w_t is what `keep_transpose` made of w.

    x (rows, padded k), w (padded m, padded k), bias (padded m), out (rows, padded m).
    """
    if _is_tiled(w):
        affine(x, w_t, bias, k, m, out)
    else:
        np.dot(x, w.T, out)
        _add_row(bias, out)


@njit(**OPTIONS)
def keep_transpose(w: _Array, w_t: _Array) -> None:
    """Copy w, shape (padded n, padded m), into w_t, shape (padded m, padded n), where the tiles need it.

    Tiles read rows only; BLAS transposes as it reads, and w_t is left alone.
    """
    if _is_tiled(w):
        for i0 in range(0, w.shape[0], LANES):
            for j0 in range(0, w.shape[1], LANES):
                for j in range(j0, j0 + LANES):
                    for i in range(i0, i0 + LANES):
                        w_t[j, i] = w[i, j]


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
        for first in range(0, a.shape[0], DEPTH_BLOCK):
            depth = min(DEPTH_BLOCK, a.shape[0] - first)
            tiled_product(
                a,
                first * a_row,
                1,
                a_row,
                b,
                first * b_row,
                b_row,
                total,
                b_row,
                total,
                b_row,
                rows,
                columns,
                depth,
            )
    else:
        np.dot(a.T, b, scratch)
        for i in range(a_row):
            for j in range(b_row):
                total[i, j] = factor * total[i, j] + scratch[i, j]
