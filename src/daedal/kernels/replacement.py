"""Restricted tournament replacement on plain arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit
from daedal.types import Bits, Fitness


@njit(**OPTIONS)
def distance(a: Bits, b: Bits) -> int:
    """Count the places, shape (n,), in which two rows differ."""
    total = np.int32(0)
    for j in range(a.size):
        total += np.int32(a[j] ^ b[j])
    return int(total)


@njit(**OPTIONS)
def restricted_tournament(
    population: Bits, fitness: Fitness, rows: Bits, values: Fitness, words: NDArray[np.uint32], window: int
) -> None:
    """Let each row, in turn, replace the nearest of `window` members drawn at random, if it is better.

    population (popsize, n) and fitness (popsize,) are changed in place; rows (k, n), values (k,), words (k * window,).
    Members are drawn with replacement; of equally near ones the first drawn competes.
    """
    size = np.uint64(fitness.size)
    for r in range(values.size):
        nearest, least = np.int64(0), rows.shape[1] + 1
        for w in range(window):
            member = np.int64((np.uint64(words[r * window + w]) * size) >> np.uint64(32))
            apart = distance(rows[r], population[member])
            if apart < least:
                nearest, least = member, apart
        if values[r] > fitness[nearest]:
            fitness[nearest] = values[r]
            population[nearest] = rows[r]
