"""The estimation of distribution algorithm: Algorithm 1 of the paper, with selection and replacement."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.archive import to_candidates
from daedal.compilation import OPTIONS, njit
from daedal.engine import Engine
from daedal.models.base import Fitted, Model
from daedal.rng import Stream, stream, words32
from daedal.searches.algorithm import Insight
from daedal.searches.presets import default_popsize, fits_memory
from daedal.types import Bits, Fitness

POPULATION_GENERATIONS, POPULATION_PATIENCE = 150, 50
"""When one of several populations ends, if nothing else is set: the authors' later settings of 2016."""

FIRST_POPSIZE = 16
LAST_POPSIZE = 2**16
"""Where doubling ends: no budget, target or time has ended the run, and this is large enough."""

_IDLE_GENERATIONS = 3  # generations in a row without a new candidate, after which one of several populations ends

Population: TypeAlias = tuple[Bits, Fitness]
"""Rows, shape (rows, n), and their values, shape (rows,)."""


async def eda(
    f: Engine,
    *,
    model: Model,
    popsize: int,
    selection: str = "tournament",
    replacement: str = "parents",
    seed: int | None = None,
    initial: Bits | None = None,
    max_generations: int | None = None,
    patience: int | None = None,
    max_idle: int | None = None,
    info: Mapping[str, float] | None = None,
) -> None:
    """Run Algorithm 1: select parents, fit the model to them, sample candidates, and replace, until all are equal.

    The model sees rows that are XORed with a random mask, so that no model profits from a bias towards 0 or 1.

    Parameters
    ----------
    f
        The engine.
    model
        Fitted to the parents of each generation.
    popsize
        Parents and candidates together.
    selection, replacement
        How parents are chosen, and how candidates enter the population; see `SELECTIONS` and `REPLACEMENTS`.
    seed
        Where the random streams come from. Default: the seed of the run.
    initial
        Rows to begin with, at most popsize; random ones fill up the first population.
    max_generations, patience, max_idle
        Generations, generations without a better solution, and generations without a new candidate, after which this
        population ends. Default: no limit of its own.
    info
        Figures to show in each record.
    """
    seed = f.seed if seed is None else seed
    mask = stream(seed, Stream.MASK).integers(0, 2, f.n, dtype=np.uint8)
    fitted: Fitted | None = None
    population: Population = (np.empty((0, f.n), np.uint8), np.empty(0))
    parents = population
    f.insight = lambda: Insight.of_model(population[0] ^ mask, population[1], fitted)
    f.contenders = lambda: to_candidates(majority(population[0])[None] ^ mask) if len(population[0]) else []
    f.popsize = popsize
    info = {} if info is None else info
    f.report(**info)

    rows = f.random_rows(popsize, stream(seed, Stream.START))
    if f.encoding is None:
        rows ^= mask
    if initial is not None:
        rows[: len(initial)] = initial
    best, found, idle, generation = -np.inf, 0, 0, 0
    while True:
        known = len(f.archive)
        rows = f.repaired_rows(rows)
        candidates = rows ^ mask, await f(rows)
        idle = 0 if len(f.archive) > known or f.repeat else idle + 1
        improved = generation == 0 or candidates[1].max() > best
        best, found = (candidates[1].max(), generation) if improved else (best, found)
        if generation == 0:
            population = candidates
        else:
            rng = stream(seed, Stream.REPLACE, generation)
            population = REPLACEMENTS[replacement](population, parents, candidates, rng)
        parents = _select(population, selection, stream(seed, Stream.SELECT, generation))
        await f.generation()
        if (
            ((parents[0] == parents[0][0]).all() and not improved)
            or (max_generations is not None and generation >= max_generations)
            or (patience is not None and generation - found >= patience)
            or (max_idle is not None and idle >= max_idle)
        ):
            return
        generation += 1
        fitted = model.fit(parents[0], rng=stream(seed, Stream.FIT, generation), previous=fitted)
        f.report(**info, **fitted.info)
        rows = fitted.sample(popsize - popsize // 2, rng=stream(seed, Stream.SAMPLE, generation)) ^ mask


async def doubled_populations(
    f: Engine,
    *,
    model: Model,
    selection: str = "tournament",
    replacement: str = "parents",
    max_generations: int | None = None,
    patience: int | None = None,
) -> None:
    """Run one population after the other, each twice as large as the one before.

    A population ends when it has converged, samples nothing but known candidates for some generations, or reaches
    `max_generations` or `patience`. Nothing but the archive is kept of it.
    """
    if max_generations is None and patience is None:
        max_generations, patience = POPULATION_GENERATIONS, POPULATION_PATIENCE
    popsize = min(FIRST_POPSIZE, default_popsize(f.n, f.left, slowness=model.slowness))
    while f.initial is not None and popsize < len(f.initial):
        popsize *= 2
    initial, seed, restarts = f.initial, f.seed, 0
    while True:
        await eda(
            f,
            model=model,
            popsize=popsize,
            selection=selection,
            replacement=replacement,
            seed=seed,
            initial=initial,
            max_generations=max_generations,
            patience=patience,
            max_idle=_IDLE_GENERATIONS,
            info={"popsize": popsize},
        )
        if 2 * popsize > LAST_POPSIZE or not fits_memory(2 * popsize, f.n):
            return
        popsize *= 2
        restarts += 1
        initial, seed = None, int(f.stream(Stream.RESTART, restarts).integers(2**63))


def majority(rows: Bits) -> Bits:
    """Return the row, shape (n,), on each bit of which most rows agree."""
    agreed: Bits = (2 * rows.sum(axis=0, dtype=np.int64) > len(rows)).astype(np.uint8)
    return agreed


# ---------------------------------------------------------------- selection


def _select(population: Population, selection: str, rng: np.random.Generator) -> Population:
    """Return the parents, the best first."""
    rows, values = population
    chosen = SELECTIONS[selection](values, rng)
    if len(chosen) == 0:  # a population of one
        chosen = np.array([0])
    chosen = chosen[np.argsort(-values[chosen], kind="stable")]
    return rows[chosen], values[chosen]


def tournament(values: Fitness, rng: np.random.Generator) -> NDArray[np.intp]:
    """Pair all rows at random; the better one of each pair wins, and the second one of equals.

    This is tournament selection of size two without replacement: every row competes once. If their number is odd, one
    row is left out.
    """
    order = rng.permutation(len(values))
    pairs = len(values) // 2
    first, second = order[: 2 * pairs : 2], order[1 : 2 * pairs : 2]
    return np.where(values[first] > values[second], first, second)


def truncation(values: Fitness, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the better half; of equal rows the first."""
    return np.argsort(-values, kind="stable")[: len(values) // 2]


SELECTIONS: dict[str, Callable[[Fitness, np.random.Generator], NDArray[np.intp]]] = {
    "tournament": tournament,
    "truncation": truncation,
}
"""Ways to choose parents, by name: values, shape (rows,), and a generator -> indices of the parents."""


# ---------------------------------------------------------------- replacement


def keep_parents(
    population: Population, parents: Population, candidates: Population, rng: np.random.Generator
) -> Population:
    """Return parents and candidates as the next population (Algorithm 1, line 6)."""
    return np.vstack([parents[0], candidates[0]]), np.concatenate([parents[1], candidates[1]])


def restricted_tournament(
    population: Population, parents: Population, candidates: Population, rng: np.random.Generator
) -> Population:
    """Return the population after restricted tournament replacement, the niching of hierarchical BOA.

    Each candidate replaces the most similar of some random members, if it is better than that one. There are
    min(n, popsize / 20) of them, at least one. So different good solutions survive next to each other.
    """
    rows, values = population[0].copy(), population[1].copy()
    window = max(1, min(rows.shape[1], len(rows) // 20))
    words = words32(rng, len(candidates[0]) * window)
    replace_nearest(rows, values, candidates[0], candidates[1], words, window)
    return rows, values


@njit(**OPTIONS)
def distance(a: Bits, b: Bits) -> int:
    """Count the places, shape (n,), in which two rows differ."""
    total = np.int32(0)
    for j in range(a.size):
        total += np.int32(a[j] ^ b[j])
    return int(total)


@njit(**OPTIONS)
def replace_nearest(
    population: Bits, fitness: Fitness, rows: Bits, values: Fitness, words: NDArray[np.uint32], window: int
) -> None:
    """Let each row, in turn, replace the nearest of `window` members drawn at random, if it is better.

    population (popsize, n) and fitness (popsize,) are changed in place; rows (k, n), values (k,), words (k * window,).
    Members are drawn with replacement. Of equally near ones, the first one drawn competes.
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


REPLACEMENTS: dict[str, Callable[[Population, Population, Population, np.random.Generator], Population]] = {
    "parents": keep_parents,
    "rtr": restricted_tournament,
}
"""Ways to replace, by name: population, parents, candidates and a generator -> the next population."""


@cache
def load_replacement(name: str) -> None:
    """Compile or load the kernel of a replacement, by a population of two."""
    two = np.zeros((2, 3), dtype=np.uint8), np.zeros(2)
    REPLACEMENTS[name](two, two, two, np.random.default_rng(0))
