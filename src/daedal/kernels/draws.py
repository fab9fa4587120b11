"""Random words for kernels that cannot know beforehand how many they need: splitmix64, whose state is one word."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.kernels.compilation import OPTIONS, njit

Words = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_11, _27, _30, _31, _32 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


@njit(**OPTIONS)
def draw_word(state: Words) -> Any:
    """Give the next word, uniform over all 64-bit words; state, shape (1,), moves on."""
    state[0] += _STEP
    word = state[0]
    word = (word ^ (word >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return word ^ (word >> _31)


@njit(**OPTIONS)
def draw_below(state: Words, most: int) -> int:
    """Give a whole number from 0 to most - 1, most < 2^32; the bias, most / 2^32, is none that shows."""
    below: int = np.int64(((draw_word(state) >> _32) * np.uint64(most)) >> _32)  # type: ignore[assignment]
    return below


@njit(**OPTIONS)
def draw_unit(state: Words) -> float:
    """Give a number from 0 to below 1, uniform over the multiples of 2^-53."""
    return np.float64(draw_word(state) >> _11) * 2.0**-53


@njit(**OPTIONS)
def draw_row(state: Words, n: int, row: Words) -> None:
    """Fill row, shape (words,), with n uniform bits; those after the last are 0."""
    for w in range(row.size):
        row[w] = draw_word(state)
    rest = n % 64
    if rest:
        row[row.size - 1] &= (np.uint64(1) << np.uint64(rest)) - np.uint64(1)
