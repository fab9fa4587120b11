"""What random words do to rows: they shuffle them, and corrupt them by salt+pepper noise.

Rows are padded as `products` says. A word corrupts an entry where it is below the entry's limit, and its lowest bit is
the noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal.kernels.compilation import OPTIONS, njit
from daedal.kernels.products import whole_vectors

_Floats = NDArray[np.float32]
_Bytes = NDArray[np.uint8]
_Words = NDArray[np.uint16]
_Index = NDArray[np.int64]
_f = np.float32
_i = np.int32


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
