"""What random words do to rows: they shuffle them, and corrupt them.

Rows are padded as `products` says. A word corrupts an entry where it is below the entry's limit, and its lowest bit is
the noise, unless a `NoiseShape` says otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit
from daedal.kernels.products import whole_vectors

_Floats = NDArray[np.float32]
_Bytes = NDArray[np.uint8]
_Words = NDArray[np.uint16]
_Index = NDArray[np.int64]
_f = np.float32
_i = np.int32

MASKED = 0.5
"""What masking puts in the place of an entry: neither bit, so that it tells the network nothing."""


class NoiseShape(NamedTuple):
    """Which noise it is: salt+pepper (fair bits, entry by entry), unless told otherwise."""

    masking: bool  # MASKED in place of a fair bit
    path: _Index  # (n,): an order of the variables in which neighbours are corrupted together; or of none
    first: int  # a word below this begins a block there
    length: int  # variables of a block


def noise_shape(
    *, masking: bool = False, path: _Index | None = None, corruption: float = 0.0, length: int = 1
) -> NoiseShape:
    """Describe a noise; in blocks along a path, each entry is corrupted with the probability `corruption`, too.

    It is not where none of `length` entries begins a block: (1 - p)^length = 1 - corruption.
    """
    if path is None:
        return NoiseShape(masking, np.empty(0, dtype=np.int64), 0, 1)
    length = min(length, path.size)
    # An even limit, as for single entries: the lowest bit of a word below it is fair.
    return NoiseShape(masking, path, 2 * round((1 - (1 - corruption) ** (1 / length)) * 2**15), length)


@njit(**OPTIONS)
def shuffle(order: _Index, words: NDArray[np.uint32]) -> None:
    """Shuffle order in place (Fisher-Yates), with one word for each entry."""
    for i in range(order.size - 1, 0, -1):
        j = np.int64((np.uint64(words[i]) * np.uint64(i + 1)) >> np.uint64(32))
        order[i], order[j] = order[j], order[i]


@njit(**OPTIONS)
def corrupt_bits(x: _Bytes, order: _Index, words: _Words, n: int, limits: NDArray[np.int32], out: _Floats) -> None:
    """Salt+pepper noise: row i of out is row order[i] of x, with a fair bit wherever the word is below the limit.

    x (any, padded n), words (rows * n + LANES,), limits (padded n,), out (rows, padded n). The words beyond a row's n
    are read for its padding, and without effect.
    """
    columns = whole_vectors(n)
    for i in range(order.size):
        row = x[order[i]]
        row_words = words[i * n : i * n + columns]
        for j in range(columns):
            word = _i(row_words[j])
            bit = word & _i(1)
            value = _i(row[j])
            out[i, j] = _f(bit if word < limits[j] else value)


@njit(**OPTIONS)
def corrupt_values(z: _Floats, words: _Words, n: int, limits: NDArray[np.int32], out: _Floats) -> None:
    """Salt+pepper noise on reconstructions: z and out (rows, padded n), the rest as for `corrupt_bits`.

    Not in place: the compiler makes vectors of this loop only when it writes elsewhere.
    """
    columns = whole_vectors(n)
    for i in range(z.shape[0]):
        row_words = words[i * n : i * n + columns]
        for j in range(columns):
            word = _i(row_words[j])
            bit = _f(word & _i(1))
            value = z[i, j]
            out[i, j] = bit if word < limits[j] else value


@njit(**OPTIONS)
def mask_bits(x: _Bytes, order: _Index, words: _Words, n: int, limits: NDArray[np.int32], out: _Floats) -> None:
    """Masking noise: as `corrupt_bits`, with MASKED wherever the word is below the limit."""
    columns = whole_vectors(n)
    for i in range(order.size):
        row = x[order[i]]
        row_words = words[i * n : i * n + columns]
        for j in range(columns):
            value = _f(_i(row[j]))
            out[i, j] = _f(MASKED) if _i(row_words[j]) < limits[j] else value


@njit(**OPTIONS)
def mask_values(z: _Floats, words: _Words, n: int, limits: NDArray[np.int32], out: _Floats) -> None:
    """Masking noise on reconstructions: as `corrupt_values`, with MASKED wherever the word is below the limit."""
    columns = whole_vectors(n)
    for i in range(z.shape[0]):
        row_words = words[i * n : i * n + columns]
        for j in range(columns):
            value = z[i, j]
            out[i, j] = _f(MASKED) if _i(row_words[j]) < limits[j] else value


@njit(**OPTIONS)
def join_blocks(words: _Words, rows: int, n: int, shape: NoiseShape) -> None:
    """Change the words of some rows so that they corrupt whole blocks along the path, whose ends meet.

    A word below shape.first begins a block. Words of a block become 0 or 1, others as large as they can be; their
    lowest bits stay.
    """
    for i in range(rows):
        row = words[i * n : (i + 1) * n]
        left = 0  # entries of the block that began last
        for p in range(n - shape.length + 1, n):
            if _i(row[shape.path[p]]) < _i(shape.first):
                left = p + shape.length - n
        for p in range(n):
            j = shape.path[p]
            if _i(row[j]) < _i(shape.first):
                left = shape.length
            bit = row[j] & np.uint16(1)
            row[j] = bit if left > 0 else bit | np.uint16(0xFFFE)
            left -= 1


@njit(**OPTIONS)
def corrupt_some_bits(
    x: _Bytes, order: _Index, words: _Words, n: int, limits: NDArray[np.int32], shape: NoiseShape, out: _Floats
) -> None:
    """Corrupt rows of bits as a shape says; blocks change the words."""
    if shape.path.size > 0:
        join_blocks(words, order.size, n, shape)
    if shape.masking:
        mask_bits(x, order, words, n, limits, out)
    else:
        corrupt_bits(x, order, words, n, limits, out)


@njit(**OPTIONS)
def corrupt_some_values(
    z: _Floats, words: _Words, n: int, limits: NDArray[np.int32], shape: NoiseShape, out: _Floats
) -> None:
    """Corrupt reconstructions as a shape says; blocks change the words."""
    if shape.path.size > 0:
        join_blocks(words, z.shape[0], n, shape)
    if shape.masking:
        mask_values(z, words, n, limits, out)
    else:
        corrupt_values(z, words, n, limits, out)
