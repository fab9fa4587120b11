"""The two inner loops of variable elimination, over flat tables."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from daedal.kernels.compilation import EXACT

_Floats = NDArray[np.float64]


@njit(**EXACT)
def add_factor(table: _Floats, base: int, step: int, low: NDArray[np.int64], zero: _Floats, one: _Floats) -> None:
    """Add to zero[r] and one[r] the table's entry for row r with the eliminated bit 0 and 1.

    Row r reads table[base + low[r]], and `step` entries further where the bit is one.
    """
    for r in range(low.shape[0]):
        i = base + low[r]
        zero[r] += table[i]
        one[r] += table[i + step]


@njit(**EXACT)
def keep_better(zero: _Floats, one: _Floats, message: _Floats, choice: NDArray[np.uint8]) -> None:
    """Store the larger of zero[r] and one[r], and which it was in bit r of choice; empty zero and one."""
    for r in range(zero.shape[0]):
        if one[r] > zero[r]:
            message[r] = one[r]
            choice[r >> 3] |= np.uint8(1 << (r & 7))
        else:
            message[r] = zero[r]
        zero[r] = one[r] = 0.0
