"""Independent streams of random numbers from one seed."""

from __future__ import annotations

import secrets
from enum import IntEnum
from numbers import Integral

import numpy as np
from numpy.typing import NDArray


class Stream(IntEnum):
    """What a stream is for. The numbers are part of every result: never change or reuse one."""

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
    """Give the stream of one purpose in one generation.

    Nothing has to be remembered between generations: seed and generation say where a run stands, in any process.
    SFC64 is the fastest bit generator that NumPy has; noise for the autoencoder is most of what a run draws.
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
    """Give the seed, or a fresh one for None."""
    if seed is None:
        return secrets.randbits(32)
    if not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:
        raise ValueError(f"expected a seed that is a whole number of at least 0, or none, got seed={seed!r}")
    return int(seed)
