"""How candidates enter the population: next to the parents, or by restricted tournaments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from engine_helpers import run_in_batches
from numpy.typing import NDArray

from daedal.engine import Engine
from daedal.models import UMDA, BayesNet
from daedal.problems import HIFF
from daedal.rng import words32
from daedal.searches.eda import REPLACEMENTS, eda, replace_nearest, restricted_tournament
from daedal.types import Bits, Fitness

Scored = tuple[Bits, Fitness]


def scored(rng: np.random.Generator, rows: int, n: int, levels: int = 5) -> Scored:
    """Random rows with few different values, so that many are equal."""
    return rng.integers(0, 2, (rows, n), dtype=np.uint8), rng.integers(0, levels, rows).astype(np.float64)


def slow_tournament(
    population: Bits, fitness: Fitness, rows: Bits, values: Fitness, words: NDArray[np.uint32], window: int
) -> Scored:
    """The kernel's twin: what it says, with whole numbers and lists."""
    population, fitness = population.copy(), fitness.copy()
    for r, (row, value) in enumerate(zip(rows, values, strict=True)):
        drawn = [int(word) * len(population) // 2**32 for word in words[r * window : (r + 1) * window]]
        nearest = min(drawn, key=lambda member: np.count_nonzero(population[member] != row))  # the first of equals
        if value > fitness[nearest]:
            population[nearest], fitness[nearest] = row, value
    return population, fitness


def copies(both: Scored) -> Scored:
    return both[0].copy(), both[1].copy()


def same(one: Scored, other: Scored) -> bool:
    return np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1])


# The kernel


def test_the_kernel_agrees_with_its_slow_twin() -> None:
    rng = np.random.default_rng(1)
    changed = 0
    for _ in range(400):
        size, n, k, window = (int(rng.integers(1, most)) for most in (40, 12, 40, 9))
        population, candidates = scored(rng, size, n), scored(rng, k, n)
        words = rng.integers(0, 2**32, k * window, dtype=np.uint32)
        expected = slow_tournament(*population, *candidates, words, window)
        done = copies(population)
        replace_nearest(*done, *candidates, words, window)
        assert same(done, expected)
        changed += not same(done, population)
    assert changed > 200


@pytest.mark.parametrize(
    ("values", "drawn", "value", "enters"),
    [
        ([0, 5, 0, 0], (0, 2, 1), 4.0, None),  # its neighbor is better, and the far ones are safe from it
        ([0, 5, 0, 0], (0, 2, 1), 6.0, 1),
        ([0, 5, 0, 0], (0, 2, 1), 5.0, None),  # it has to be strictly better
        ([0, 5, 0, 0], (0, 2, 0), 1.0, 2),  # who is not drawn does not compete
        ([0, 0, 0, 0], (1, 3, 0), 1.0, 1),  # of equally near ones the first drawn
        ([0, 0, 0, 0], (3, 1, 0), 1.0, 3),
        ([0, -np.inf, 0, 0], (1, 1, 1), -1e300, 1),  # anything feasible replaces what is not
        ([0, -np.inf, 0, 0], (1, 1, 1), -np.inf, None),
    ],
)
def test_a_better_row_replaces_the_nearest_of_those_drawn(
    values: list[float], drawn: tuple[int, ...], value: float, enters: int | None
) -> None:
    """By hand, so that the twin is right."""
    members = np.array([[0, 0, 0, 0], [1, 1, 1, 0], [1, 0, 0, 0], [0, 1, 1, 1]], dtype=np.uint8)
    row, fitness = np.ones((1, 4), dtype=np.uint8), np.array(values, dtype=np.float64)
    words = np.array([member * 2**30 for member in drawn], dtype=np.uint32)
    done = slow_tournament(members, fitness, row, np.array([value]), words, 3)
    replace_nearest(members, fitness, row, np.array([value]), words, 3)
    assert same(done, (members, fitness))
    assert np.flatnonzero(members.all(axis=1)).tolist() == ([] if enters is None else [enters])
    assert fitness.tolist() == [value if member == enters else values[member] for member in range(4)]


# The strategies


SIZES = [(2, 9, 1), (19, 9, 1), (39, 9, 1), (40, 9, 2), (179, 9, 8), (180, 9, 9), (4000, 1, 1), (900, 300, 45)]


@pytest.mark.parametrize(("popsize", "n", "window"), SIZES)
def test_the_window_is_n_or_a_twentieth_of_the_population(popsize: int, n: int, window: int) -> None:
    rng = np.random.default_rng(popsize + n)
    population, candidates = scored(rng, popsize, n), scored(rng, 30, n)
    words = words32(np.random.default_rng(3), 30 * window)
    done = restricted_tournament(population, population, candidates, np.random.default_rng(3))
    assert same(done, slow_tournament(*population, *candidates, words, window))


@pytest.mark.parametrize("name", sorted(REPLACEMENTS))
def test_nothing_that_is_given_is_changed_or_given_back(name: str) -> None:
    rng = np.random.default_rng(4)
    given = [scored(rng, 60, 6), scored(rng, 30, 6), scored(rng, 30, 6)]
    given[2] = given[2][0], given[2][1] + 10.0  # better than all
    before = [copies(both) for both in given]
    done = REPLACEMENTS[name](given[0], given[1], given[2], rng)
    done[0][...], done[1][...] = 7, 7.0
    assert all(same(now, then) for now, then in zip(given, before, strict=True))


# The loop


def populations(f: Callable[[Bits], Fitness], *, n: int, **how: Any) -> list[Scored]:
    """Run to the end; return the population of each generation with its values."""
    found: list[Scored] = []
    engine = Engine(n, seed=how.pop("seed"))

    def look() -> bool:
        shown = engine.insight()
        assert shown is not None
        found.append((shown.rows, shown.fitness))
        return False

    engine.on_generation = look
    engine.start(eda(engine, replacement=how.pop("replacement", "rtr"), **how))
    run_in_batches(engine, f)
    return found


def two_peaks(x: Bits) -> Fitness:
    return np.abs(x.sum(axis=1) - x.shape[1] / 2.0)


@pytest.mark.parametrize("popsize", [2, 3, 7, 50, 101])
def test_the_population_keeps_its_size_and_its_best(popsize: int) -> None:
    best = -np.inf
    for rows, values in populations(two_peaks, n=9, model=UMDA(), popsize=popsize, seed=7, max_generations=25):
        assert rows.shape == (popsize, 9)
        assert np.array_equal(two_peaks(rows), values)  # rows and values move together
        assert values.max() >= best
        best = values.max()


def test_niching_keeps_both_optima_of_hiff() -> None:
    """Both have the same value: without niching, drift takes one of them."""

    def rarer_optimum(replacement: str, seed: int) -> int:
        how = {"popsize": 200, "max_generations": 40, "replacement": replacement, "seed": seed}
        *_, (last, _) = populations(HIFF(n=16).evaluate, n=16, model=BayesNet(), **how)
        ones = last.sum(axis=1)
        return min(np.count_nonzero(ones == 0), np.count_nonzero(ones == 16))

    assert all(rarer_optimum("rtr", seed) >= 40 for seed in range(5))
    assert sum(rarer_optimum("parents", seed) >= 40 for seed in range(5)) < 3
    assert sum(rarer_optimum("parents", seed) == 0 for seed in range(5)) > 0
