"""Selection against enumeration: every fitness over three values, every permutation."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from daedal.searches.eda import SELECTIONS, tournament, truncation


class Given:
    """A generator whose next permutation is known."""

    def __init__(self, order: tuple[int, ...]) -> None:
        self.order = order

    def permutation(self, rows: int) -> np.ndarray:
        assert rows == len(self.order)
        return np.array(self.order, dtype=np.intp)


def winners(fitness: tuple[float, ...], order: tuple[int, ...]) -> list[int]:
    return tournament(np.array(fitness), Given(order)).tolist()  # type: ignore[arg-type]


def slow_winners(fitness: tuple[float, ...], order: tuple[int, ...]) -> list[int]:
    chosen = []
    for first, second in zip(order[0::2], order[1::2], strict=False):  # with an odd number the last one is left out
        chosen.append(second if fitness[second] >= fitness[first] else first)
    return chosen


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5])
def test_winners_of_all_permutations_and_all_ties(rows: int) -> None:
    for fitness in itertools.product((0.0, 1.0, 2.0), repeat=rows):
        for order in itertools.permutations(range(rows)):
            assert winners(fitness, order) == slow_winners(fitness, order)


def test_the_permutation_is_uniform() -> None:
    rng = np.random.default_rng(5)
    draws = 2000
    counts = Counter(tuple(tournament(np.zeros(4), rng).tolist()) for _ in range(draws))
    # Two different rows in order: 12 outcomes of the same probability; 31.3 is the 0.1 % point of chi-square for 11.
    assert len(counts) == 12
    assert sum((count - draws / 12) ** 2 / (draws / 12) for count in counts.values()) < 31.3


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5])
def test_truncation_takes_the_better_half_and_the_first_of_equals(rows: int) -> None:
    rng = np.random.default_rng(0)
    for fitness in itertools.product((0.0, 1.0, 2.0), repeat=rows):
        expected = sorted(range(rows), key=lambda i, f=fitness: (-f[i], i))[: rows // 2]  # type: ignore[misc]
        assert truncation(np.array(fitness), rng).tolist() == expected


@pytest.mark.parametrize("name", sorted(SELECTIONS))
def test_every_strategy_gives_half_the_rows_and_leaves_the_fitness_alone(name: str) -> None:
    for rows in (2, 3, 8, 101):
        fitness = np.random.default_rng(rows).integers(0, 4, rows).astype(float)
        before = fitness.copy()
        chosen = SELECTIONS[name](fitness, np.random.default_rng(1))
        assert chosen.shape == (rows // 2,)
        assert chosen.dtype.kind == "i"
        assert len(np.unique(chosen)) == rows // 2
        assert chosen.tolist() == SELECTIONS[name](fitness, np.random.default_rng(1)).tolist()
        assert np.array_equal(fitness, before)
