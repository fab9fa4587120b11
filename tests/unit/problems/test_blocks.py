"""OneMax, Trap and HIFF against slow, transparent twins over all rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from daedal.problems import HIFF, OneMax, Problem, Trap


def every_row(n: int) -> np.ndarray:
    return np.array(list(itertools.product((0, 1), repeat=n)), dtype=np.uint8)


def slow_trap(row: list[int], k: int) -> float:
    ones = [sum(row[i : i + k]) for i in range(0, len(row), k)]
    return float(sum(k if u == k else k - 1 - u for u in ones))


def slow_hiff(row: list[int]) -> float:
    if len(row) == 1:
        return 1.0
    half = len(row) // 2
    own = len(row) if len(set(row)) == 1 else 0
    return own + slow_hiff(row[:half]) + slow_hiff(row[half:])


@pytest.mark.parametrize("n", [1, 2, 7])
def test_onemax_counts_ones(n: int) -> None:
    x = every_row(n)
    assert OneMax(n=n).evaluate(x).tolist() == [float(sum(row)) for row in x.tolist()]


@pytest.mark.parametrize(("k", "n"), [(2, 2), (2, 6), (3, 9), (4, 12), (5, 10), (7, 7)])
def test_trap_agrees_with_its_definition(k: int, n: int) -> None:
    x = every_row(n)
    assert Trap(k=k, n=n).evaluate(x).tolist() == [slow_trap(row, k) for row in x.tolist()]


@pytest.mark.parametrize("n", [1, 2, 4, 8, 16])
def test_hiff_agrees_with_its_definition(n: int) -> None:
    x = every_row(min(n, 8))
    if n == 16:
        x = np.random.default_rng(3).integers(0, 2, size=(300, 16), dtype=np.uint8)
        x[:, 4:8] = x[:, :1]  # Uniform blocks are rare among uniform rows.
    assert HIFF(n=n).evaluate(x).tolist() == [slow_hiff(row) for row in x.tolist()]


@pytest.mark.parametrize("problem", [OneMax(n=9), Trap(k=3, n=9), Trap(k=4, n=8), HIFF(n=1), HIFF(n=8)])
def test_optimum_is_the_largest_fitness_of_all_and_the_solution_has_it(problem: OneMax | Trap | HIFF) -> None:
    assert problem.evaluate(every_row(problem.n)).max() == problem.optimum
    assert problem.evaluate(problem.solution[None]).tolist() == [problem.optimum]


def test_stated_optima_of_the_papers_sizes() -> None:
    assert OneMax().optimum == 100.0
    assert Trap().optimum == 50.0
    assert HIFF(n=64).optimum == 64 * (math.log2(64) + 1) == 448.0
    assert HIFF(n=128).optimum == 1024.0


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: OneMax(n=0), "n of onemax .* at least 1, got n=0"),
        (lambda: OneMax(n=True), "got n=True"),
        (lambda: OneMax(n=3.0), "got n=3.0"),  # type: ignore[arg-type]
        (lambda: Trap(k=1, n=10), "k of trap .* at least 2, got k=1"),
        (lambda: Trap(k=5, n=-5), "n of trap .* at least 1, got n=-5"),
        (lambda: Trap(k=5, n=52), "k=5, got n=52; try 50 or 55$"),
        (lambda: Trap(k=5, n=3), "k=5, got n=3; try 5$"),
        (lambda: HIFF(n=60), "power of two, got n=60; try 32 or 64$"),
        (lambda: HIFF(n=0), "n of hiff .* at least 1, got n=0"),
        (lambda: HIFF(n="64"), "got n='64'"),  # type: ignore[arg-type]
    ],
)
def test_bad_sizes_are_refused_with_a_way_out(make: Callable[[], Problem], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()
