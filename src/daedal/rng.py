"""Independent streams of random numbers from one seed, and random words for kernels."""

from __future__ import annotations

import secrets
from enum import IntEnum
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit

Words = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_11, _27, _30, _31, _32 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


class Stream(IntEnum):
    """Purpose of a stream. Results depend on these numbers, so do not change or reuse them."""

    MASK = 0
    START = 1
    SELECT = 2
    FIT = 3
    SAMPLE = 4
    SHUFFLE = 5
    REPLACE = 6
    SEARCH = 7
    RESTART = 8
    CONTEST = 20


def stream(seed: int, purpose: Stream, generation: int = 0) -> np.random.Generator:
    """Return the generator of one purpose in one generation, the same in every process.

    SFC64 is NumPy's fastest bit generator. Most of the random numbers of a run are noise for the autoencoder.
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(int(purpose), generation))
    return np.random.Generator(np.random.SFC64(sequence))


def words16(rng: np.random.Generator, count: int) -> NDArray[np.uint16]:
    """Draw at least count uniform 16-bit words, four from each raw word of the generator."""
    return np.asarray(rng.bit_generator.random_raw(-(-count // 4)), dtype=np.uint64).view(np.uint16)


def words32(rng: np.random.Generator, count: int) -> NDArray[np.uint32]:
    """Draw at least count uniform 32-bit words, two from each raw word of the generator."""
    return np.asarray(rng.bit_generator.random_raw(-(-count // 2)), dtype=np.uint64).view(np.uint32)


def check_seed(seed: int | None) -> int:
    """Return the seed, or a random one for None."""
    if seed is None:
        return secrets.randbits(32)
    if not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"seed={seed!r} is neither None nor a whole number of at least 0")
    return int(seed)


# Kernels that cannot know how many words they need draw them themselves, by splitmix64, whose state is one word.


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
    """Return a whole number from 0 to most - 1, for most < 2^32; its bias of most / 2^32 does not matter."""
    below: int = np.int64(((draw_word(state) >> _32) * np.uint64(most)) >> _32)  # type: ignore[assignment]
    return below


@njit(**OPTIONS)
def draw_unit(state: Words) -> float:
    """Return a number of at least 0 and less than 1, uniform over the multiples of 2^-53."""
    return np.float64(draw_word(state) >> _11) * 2.0**-53
