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
    """Return the next word, uniform over all 64-bit words, and advance state, shape (1,)."""
    state[0] += _STEP
    word = state[0]
    word = (word ^ (word >> _30)) * _FIRST
    word = (word ^ (word >> _27)) * _SECOND
    return word ^ (word >> _31)


@njit(**OPTIONS)
def draw_below(state: Words, most: int) -> int:
    """Return a whole number from 0 to most - 1, most < 2^32; its bias, most / 2^32, is negligible."""
    below: int = np.int64(((draw_word(state) >> _32) * np.uint64(most)) >> _32)  # type: ignore[assignment]
    return below


@njit(**OPTIONS)
def draw_unit(state: Words) -> float:
    """Return a number in [0, 1), uniform over the multiples of 2^-53."""
    return np.float64(draw_word(state) >> _11) * 2.0**-53
