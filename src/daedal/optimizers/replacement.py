"""How new solutions enter the population."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np

from daedal import kernels
from daedal.rng import words32
from daedal.types import Bits, Fitness

Scored: TypeAlias = tuple[Bits, Fitness]
"""Rows, shape (rows, n), and their fitness, shape (rows,)."""

Replacement: TypeAlias = Callable[[Scored, Scored, Scored, np.random.Generator], Scored]
"""The population, the parents chosen from it, the candidates, and a generator -> the next population."""


def keep_parents(population: Scored, parents: Scored, candidates: Scored, rng: np.random.Generator) -> Scored:
    """Take parents and candidates as the next population (Algorithm 1, line 6)."""
    return np.vstack([parents[0], candidates[0]]), np.concatenate([parents[1], candidates[1]])


def rtr(population: Scored, parents: Scored, candidates: Scored, rng: np.random.Generator) -> Scored:
    """Restricted tournament replacement, the niching of hierarchical BOA.

    Each candidate replaces the most similar of some random members, if it is better than that one. There are
    min(n, popsize / 20) of them, at least one. Different good solutions then live side by side.
    """
    rows, fitness = population[0].copy(), population[1].copy()
    window = max(1, min(rows.shape[1], len(rows) // 20))
    words = words32(rng, len(candidates[0]) * window)
    kernels.replacement.restricted_tournament(rows, fitness, candidates[0], candidates[1], words, window)
    return rows, fitness


REPLACEMENTS: dict[str, Replacement] = {"parents": keep_parents, "rtr": rtr}
"""The strategies by name."""


@cache
def load_kernels(replacement: str) -> None:
    """Compile or load what a strategy needs, by a population of two."""
    two = np.zeros((2, 3), dtype=np.uint8), np.zeros(2)
    REPLACEMENTS[replacement](two, two, two, np.random.default_rng(0))
