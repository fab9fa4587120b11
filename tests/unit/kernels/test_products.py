"""Matrix products on padded arrays, by tiles and by BLAS, against NumPy in float64."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from daedal.kernels.products import (
    TILED_UP_TO,
    accumulate_outer_products,
    affine,
    affine_transposed,
    keep_transpose,
    padded,
    whole_vectors,
)
from daedal.kernels.tiles import LANES, tiled_product

WIDTHS = [1, 7, 8, 9, 20, 34, 64, 128, 129, 255, 256, 257, 300]
BLAS = TILED_UP_TO + 1
SHAPES = [*itertools.product(WIDTHS, WIDTHS), (BLAS, 1), (1, BLAS), (BLAS, 20), (20, BLAS), (BLAS, BLAS + 50)]
ROWS = [1, 4, 7, 51]
GARBAGE = np.float32(7)


def matrix(rng: np.random.Generator, rows: int, n: int, *, pad_rows: bool = False) -> np.ndarray:
    """Draw a normal (rows, n) matrix, padded with zeros."""
    out = np.zeros((padded(rows) if pad_rows else rows, padded(n)), dtype=np.float32)
    out[:rows, :n] = rng.standard_normal((rows, n))
    return out


def to_be_written(rows: int, n: int) -> np.ndarray:
    """Garbage that a kernel must overwrite, beside padding that it must leave at zero."""
    out = np.zeros((rows, padded(n)), dtype=np.float32)
    out[:, :n] = GARBAGE
    return out


def assert_product(got: np.ndarray, start: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    """Compare with start + a b; no order of k float32 additions can be off by more than k eps sum |a||b|."""
    start, a, b = (np.asarray(v, dtype=np.float64) for v in (start, a, b))
    bound = (a.shape[1] + 2) * np.finfo(np.float32).eps * (np.abs(start) + np.abs(a) @ np.abs(b))
    assert (np.abs(got - (start + a @ b)) <= bound).all()


def assert_zero_padding(got: np.ndarray, n: int, m: int) -> None:
    assert not got[n:].any()
    assert not got[:, m:].any()


def test_padded_rows_hold_n_numbers_in_whole_vectors() -> None:
    for n in range(1, 600):
        width = padded(n)
        assert width % LANES == 0
        assert n <= width < n + 2 * LANES
        assert whole_vectors(n) == -(-n // LANES) * LANES <= width
        if width < TILED_UP_TO:
            assert width * 4 % 256 != 0, "a column in few sets of the cache"


def test_padded_widths_by_hand() -> None:
    assert [padded(n) for n in (1, 8, 9, 20, 56, 57, 64, 65, 128, 192)] == [8, 8, 16, 24, 56, 72, 72, 72, 136, 200]
    assert [padded(n) for n in (248, 300, 1024)] == [248, 304, 1024]


@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_affine(n: int, m: int) -> None:
    rng = np.random.default_rng(n * 1000 + m)
    w, bias = matrix(rng, n, m, pad_rows=True), matrix(rng, 1, m)[0]
    for rows in ROWS:
        x, out = matrix(rng, rows, n), to_be_written(rows, m)
        affine(x, w, bias, n, m, out)
        assert_product(out[:, :m], bias[:m], x[:, :n], w[:n, :m])
        assert_zero_padding(out, rows, m)


@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_affine_transposed(n: int, m: int) -> None:
    rng = np.random.default_rng(n * 1000 + m)
    w, bias = matrix(rng, n, m, pad_rows=True), matrix(rng, 1, n)[0]
    w_t = np.full((padded(m), padded(n)), GARBAGE)
    keep_transpose(w, w_t)
    np.testing.assert_array_equal(w_t, w.T if max(w.shape) <= TILED_UP_TO else np.full_like(w_t, GARBAGE))
    for rows in ROWS:
        x, out = matrix(rng, rows, m), to_be_written(rows, n)
        affine_transposed(x, w, w_t, bias, m, n, out)
        assert_product(out[:, :n], bias[:n], x[:, :m], w[:n, :m].T)
        assert_zero_padding(out, rows, n)


@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_accumulate_outer_products(n: int, m: int) -> None:
    rng = np.random.default_rng(n * 1000 + m)
    scratch = np.zeros((padded(n), padded(m)), dtype=np.float32)
    for rows, factor in [(1, 0.0), (7, 0.3), (50, 1.0), (103, 0.9)]:
        a, b = matrix(rng, rows, n), matrix(rng, rows, m)
        total = matrix(rng, n, m, pad_rows=True)
        before = total.copy()
        accumulate_outer_products(a, b, n, m, np.float32(factor), total, scratch)
        assert_product(total[:n, :m], np.float32(factor) * before[:n, :m], a[:, :n].T, b[:, :m])
        assert_zero_padding(total, n, m)


@pytest.mark.parametrize("depth", [1, 2, 13])
@pytest.mark.parametrize("vectors", range(1, 10))
@pytest.mark.parametrize("rows", range(1, 10))
def test_tiled_product_reads_by_its_strides_and_writes_only_its_cells(rows: int, vectors: int, depth: int) -> None:
    """All mixtures of the tiles: 4 rows and 1, and 3, 2 and 1 vectors."""
    rng = np.random.default_rng(rows * 100 + vectors)
    columns = vectors * LANES
    # a stands transposed at row 1, column 2 of a larger array, b at row 3 of one; c has two rows and vectors too many.
    a_in = rng.standard_normal((depth + 2, rows + 5)).astype(np.float32)
    b_in = rng.standard_normal((depth + 4, columns + LANES)).astype(np.float32)
    start = rng.standard_normal((rows, columns)).astype(np.float32)
    c = np.full((rows + 2, columns + 2 * LANES), GARBAGE)
    width = a_in.shape[1]
    tiled_product(
        a_in, width + 2, 1, width, b_in, 3 * b_in.shape[1], b_in.shape[1], start, columns, c, c.shape[1],
        rows, columns, depth,
    )  # fmt: skip
    assert_product(c[:rows, :columns], start, a_in[1 : depth + 1, 2 : rows + 2].T, b_in[3 : depth + 3, :columns])
    assert (c[rows:] == GARBAGE).all()
    assert (c[:, columns:] == GARBAGE).all()
