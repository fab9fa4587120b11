"""Problems against slow twins over all rows: values, optima, violations, and what does not fit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from all_rows import all_rows

from daedal.problems import (
    HIFF,
    LABS,
    NK,
    QUBO,
    Bimodal,
    HardMaxSat,
    Ising,
    Knapsack,
    MaxCut,
    MaxSat,
    OneMax,
    Shuffled,
    StepTrap,
    Trap,
    shuffled,
)
from daedal.problems.maxsat import satisfying_row
from daedal.problems.registry import find_problem


def every_row_agrees(problem: Any, twin: Callable[[list[int]], float]) -> None:
    """Compare all rows with a slow twin, and the optimum with the best of those that violate nothing."""
    x = all_rows(problem.n)
    values = problem.evaluate(x)
    assert values.tolist() == [twin(row) for row in x.tolist()]
    assert problem.evaluate(x * np.uint8(255)).tolist() == values.tolist()  # any entry that is not 0 is a 1
    feasible = (problem.violations(x) <= 0).all(axis=1) if hasattr(problem, "violations") else np.ones(len(x), bool)
    assert problem.optimum == pytest.approx(values[feasible].max(), abs=1e-12)
    assert problem.evaluate(problem.solution[None])[0] == problem.optimum
    assert not hasattr(problem, "violations") or problem.violations(problem.solution[None]).max() <= 0


# Blocks


def trap(ones: int, k: int) -> int:
    return k if ones == k else k - 1 - ones


def hiff(row: list[int]) -> float:
    if len(row) == 1:
        return 1.0
    half = len(row) // 2
    return (len(row) if len(set(row)) == 1 else 0) + hiff(row[:half]) + hiff(row[half:])


def blocks(spec: str) -> Callable[[list[int]], float]:
    """Return the value of a row, one block after another."""
    name, _, words = spec.partition(":")
    given = {key: int(value) for key, value in (word.split("=") for word in words.split(","))}
    n, k, s = given["n"], given.get("k", 1), given.get("s", 1)
    worth: dict[str, Callable[[int], float]] = {
        "onemax": lambda ones: ones,
        "trap": lambda ones: trap(ones, k),
        "bimodal": lambda ones: k / 2 if ones in (0, k) else k / 2 - abs(ones - k / 2) - 1,
        "steptrap": lambda ones: ((k - s) % s + trap(ones, k)) // s,
    }
    if name == "hiff":
        return hiff
    if name == "leadingones":
        return lambda row: [*row, 0].index(0)
    if name == "cyclictrap":
        return lambda row: sum(trap(sum(row[(at + i) % n] for i in range(k)), k) for at in range(0, n, k - 1))
    return lambda row: sum(worth[name](sum(row[at : at + k])) for at in range(0, n, k))


@pytest.mark.parametrize(
    "spec",
    [
        "onemax:n=1",
        "onemax:n=7",
        "leadingones:n=1",
        "leadingones:n=7",
        "trap:k=2,n=2",
        "trap:k=3,n=9",
        "trap:k=5,n=10",
        "hiff:n=1",
        "hiff:n=2",
        "hiff:n=8",
        "hiff:n=16",
        "bimodal:k=4,n=12",
        "bimodal:k=6,n=12",
        "steptrap:k=5,s=1,n=10",
        "steptrap:k=5,s=2,n=10",
        "steptrap:k=4,s=3,n=12",
        "cyclictrap:k=3,n=4",
        "cyclictrap:k=3,n=10",
        "cyclictrap:k=5,n=12",
    ],
)
def test_blocks(spec: str) -> None:
    every_row_agrees(find_problem(spec), blocks(spec))


def test_published_values_and_optima() -> None:
    ones = np.tril(np.ones((11, 10), dtype=np.uint8), -1)  # row i has i ones
    assert StepTrap(k=5, s=2, n=5).evaluate(ones[:6, :5]).tolist() == [2, 2, 1, 1, 0, 3]
    assert Bimodal(k=10, n=10).evaluate(ones).tolist() == [5, 0, 1, 2, 3, 4, 3, 2, 1, 0, 5]
    assert (OneMax().optimum, Trap().optimum) == (100.0, 50.0)
    assert HIFF(n=64).optimum == 64 * (math.log2(64) + 1) == 448.0


# LABS

ENERGIES = """
    1 1 2 2 7 3 8 12 13 5 10 6 19 15 24 32 25 29 26 26 39 47 36 36 45 37 50 62 59 67 64 64 65 73 82 86 87 99 108 108 101
    109 122 118 131 135 140 136 153 153 166 170 175 171 192 188 197 205 218 226 235 207 208 240 257
"""
"""The lowest energies that Packebusch and Mertens list, for 2 to 66 bits."""


def energy(row: list[int]) -> int:
    signs = [2 * bit - 1 for bit in row]
    return sum(sum(a * b for a, b in zip(signs, signs[lag:], strict=False)) ** 2 for lag in range(1, len(row)))


def test_labs() -> None:
    for n in (2, 3, 7, 10):
        every_row_agrees(LABS(n=n), lambda row: len(row) ** 2 / (2 * energy(row)))
    for n, lowest in enumerate(map(int, ENERGIES.split()), start=2):
        solution = LABS(n=n).solution
        assert solution is not None
        assert (len(solution), energy(solution.tolist()), LABS(n=n).optimum) == (n, lowest, n * n / (2 * lowest))
    assert n == 66
    assert LABS(n=67).optimum is None
    assert LABS(n=67).solution is None


# Sums of tables


@pytest.mark.parametrize("n", range(1, 11))
def test_nk_for_every_k(n: int) -> None:
    for k in range(n):
        problem = NK.random(n, k, seed=n)

        def twin(row: list[int], problem: NK = problem) -> float:
            total = 0.0
            for listed, table in zip(problem.neighbors.tolist(), problem.tables.tolist(), strict=True):
                total += table[int("".join(str(row[j]) for j in listed), 2)]
            return total

        every_row_agrees(problem, twin)


@pytest.mark.parametrize("values", [1, 3], ids=["all entries equal", "three values, also negative"])
@pytest.mark.parametrize("k", [0, 3, 11])
def test_nk_with_ties(k: int, values: int) -> None:
    drawn = NK.random(12, k, seed=5)
    problem = NK(drawn.neighbors, np.floor(values * drawn.tables) - 1)
    assert problem.optimum == problem.evaluate(all_rows(12)).max()
    assert problem.evaluate(problem.solution[None])[0] == problem.optimum  # type: ignore[index]


def test_the_drawing_of_a_landscape() -> None:
    first, again, other = NK.random(12, 5, 7), NK.random(12, 5, 7), NK.random(12, 5, 8)
    assert np.array_equal(first.tables, again.tables)
    assert np.array_equal(first.neighbors, again.neighbors)
    assert not np.array_equal(first.neighbors, other.neighbors)
    assert first.neighbors[:, 0].tolist() == list(range(12))
    assert all(len(set(row)) == 6 for row in first.neighbors.tolist())
    assert set(first.neighbors[:, 1:].ravel().tolist()) == set(range(12))
    assert 0 <= first.tables.min() < 0.02 < 0.98 < first.tables.max() < 1
    assert repr(first) == "NK(n=12, k=5)"


@pytest.mark.parametrize(
    ("kind", "worth"),
    [
        (Ising, lambda a, b: (2 * a - 1) * (2 * b - 1)),
        (MaxCut, lambda a, b: int(a != b)),
        (QUBO, lambda a, b: a * b),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_pairs(kind: Any, worth: Callable[[int, int], int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(9, size=(14, 2))
    if kind is not QUBO:
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    weights = rng.integers(-9, 10, size=len(pairs))
    both = list(zip(pairs.tolist(), weights.tolist(), strict=True))
    every_row_agrees(kind(9, pairs, weights), lambda row: sum(w * worth(row[i], row[j]) for (i, j), w in both))


def holding(row: list[int], clause: list[int]) -> int:
    return sum(row[abs(literal) - 1] == (literal > 0) for literal in clause)


def drawn_clauses(rng: np.random.Generator, n: int, count: int) -> list[list[int]]:
    """Draw clauses of one to four literals, some of which come twice or with their negation."""
    variables = [rng.integers(1, n + 1, size=rng.integers(1, 5)) for _ in range(count)]
    return [(one * rng.choice([-1, 1], size=len(one))).tolist() for one in variables]


@pytest.mark.parametrize("seed", range(8))
def test_maxsat(seed: int) -> None:
    rng = np.random.default_rng(seed)
    soft, hard = [*drawn_clauses(rng, 8, 25), []], drawn_clauses(rng, 8, 4)
    weights = rng.integers(1, 10, size=len(soft)).tolist()

    def twin(row: list[int]) -> float:
        return sum(w for w, clause in zip(weights, soft, strict=True) if holding(row, clause))

    bound = HardMaxSat(8, soft, weights, hard=hard)
    every_row_agrees(MaxSat(8, soft, weights), twin)
    every_row_agrees(bound, twin)
    x = all_rows(8)
    assert bound.violations(x).tolist() == [[1 - holding(row, clause) for clause in hard] for row in x.tolist()]


def test_hard_clauses_that_nothing_satisfies_leave_no_optimum() -> None:
    for hard in ([[1], [-1]], [[]]):
        problem = HardMaxSat(2, [[1], [2]], hard=hard)
        assert problem.optimum is None
        assert problem.solution is None
        assert (problem.violations(all_rows(2)) > 0).any(axis=1).all()
        with pytest.raises(ValueError, match="no row satisfies"):
            problem.maximize()


@pytest.mark.parametrize("seed", range(10))
def test_the_search_finds_a_satisfying_row_exactly_if_there_is_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    clauses = [((rng.choice(8, 3, replace=False) + 1) * rng.choice([-1, 1], size=3)).tolist() for _ in range(44)]
    row = satisfying_row(8, clauses)
    assert (row is not None) == any(all(holding(one, clause) for clause in clauses) for one in all_rows(8).tolist())
    assert row is None or all(holding(row.tolist(), clause) for clause in clauses)


# Knapsacks


@pytest.mark.parametrize("seed", range(6))
def test_knapsacks_of_one_dimension(seed: int) -> None:
    bag = Knapsack.random(n=11, seed=seed)
    every_row_agrees(bag, lambda row: float(bag.profits @ row))


def test_loads_and_capacities() -> None:
    rng = np.random.default_rng(3)
    profits, weights, capacities = rng.integers(20, size=9), rng.integers(20, size=(3, 9)), rng.integers(60, size=3)
    bag, x = Knapsack(profits, weights, capacities), all_rows(9)
    assert bag.violations(x * np.uint8(5)).tolist() == (x.astype(int) @ weights.T - capacities).tolist()
    for capacity in (0, 1, 7, 25, 26, 1000, 2**60):
        small = Knapsack(np.array([5, 0, 7, 3]), np.array([[8, 0, 12, 6]]), np.array([capacity]))
        every_row_agrees(small, lambda row: float(np.array([5, 0, 7, 3]) @ row))


def test_a_random_knapsack_is_what_is_documented() -> None:
    bag, again, other = (Knapsack.random(500, seed) for seed in (1, 1, 2))
    for array in (bag.profits, bag.weights):
        assert (array.min(), array.max()) == (10, 100)
        assert (array == np.floor(array)).all()
    assert bag.capacities.tolist() == [bag.weights.sum() // 2]
    assert bag.profits.tolist() == again.profits.tolist() != other.profits.tolist()


# Another order


def test_each_variable_goes_back_to_its_place() -> None:
    order = np.array([2, 0, 3, 1])
    mixed = Shuffled(Trap(k=2, n=4), order)
    own = np.array([[1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 1]], dtype=np.uint8)
    assert np.array_equal(mixed.restore(own[:, order]), own)
    assert np.array_equal(mixed.restore(own[1][order]), own[1])
    orders = [shuffled(HIFF(n=32), rng=np.random.default_rng(seed)).order.tolist() for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    for shape in ((5,), (1, 5)):
        with pytest.raises(ValueError, match=r"4.* got shape=\("):
            mixed.restore(np.zeros(shape, np.uint8))


# What is too large, or does not fit


def test_an_optimum_that_is_too_expensive_is_unknown_unless_it_is_stated() -> None:
    rng = np.random.default_rng(3)
    clauses = [((rng.choice(100, 3, replace=False) + 1) * rng.choice([-1, 1], 3)).tolist() for _ in range(900)]
    landscape = NK.random(200, 6, seed=0)
    for problem in (
        landscape,
        MaxCut(200, rng.integers(200, size=(4000, 2)), np.ones(4000)),
        MaxCut(10_000, np.array([[0, 9_999]]), np.ones(1)),
        MaxSat(100, clauses),
        MaxSat(60, [range(1, 61), *([sign * v] for v in range(1, 61) for sign in (1, -1))]),
    ):
        assert problem.optimum is None
        assert problem.solution is None
        with pytest.raises(ValueError, match="optimum"):
            problem.maximize()
    assert NK(landscape.neighbors, landscape.tables, known_optimum=150.0).optimum == 150.0
    for bag in (
        Knapsack(np.ones(3), np.ones((2, 3)), np.ones(2)),
        Knapsack(np.ones(3), np.full((1, 3), 0.5), np.ones(1)),
        Knapsack(np.ones(3), np.full((1, 3), 1e14), np.full(1, 2e14)),
    ):
        assert bag.optimum is None
        assert bag.solution is None


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("onemax:n=0", "n of onemax .* at least 1, got n=0"),
        ("trap:k=1,n=10", "k of trap .* at least 2, got k=1"),
        ("trap:k=5,n=-5", "n of trap .* at least 1, got n=-5"),
        ("trap:k=5,n=52", "k=5, got n=52; try 50 or 55$"),
        ("trap:k=5,n=3", "k=5, got n=3; try 5$"),
        ("hiff:n=60", "power of two, got n=60; try 32 or 64$"),
        ("bimodal:k=5,n=10", "even, got k=5; try 4 or 6"),
        ("bimodal:k=2,n=10", "k=2"),
        ("steptrap:k=5,s=5,n=10", "s < k, got s=5, k=5; try s=4"),
        ("steptrap:k=5,s=0,n=10", "s=0"),
        ("cyclictrap:k=5,n=10", "k - 1 = 4, got n=10; try 8 or 12"),
        ("cyclictrap:k=5,n=4", "at least 8, got n=4"),
        ("labs:n=1", "n=1"),
        ("labs:n=10001", "at most 10000, got n=10001"),
        ("knapsack:n=1000000000000,seed=1", "at most 10000000, got n=1000000000000"),
        ("nk:n=5,k=-1,seed=0", "expected k of nk .* at least 0, got k=-1"),
        ("nk:n=5,k=5,seed=0", "k < n, got k=5, n=5; try k=4"),
        ("nk:n=5,k=2,seed=-1", "expected seed of nk .* at least 0, got seed=-1"),
        ("nk:n=40,k=39,seed=0", "4 GiB, got n=40, k=39; try k=22"),
        ("nk:n=10000000000000,k=1000000000000,seed=0", "try a smaller n"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(spec: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        find_problem(spec)


PAIR, WEIGHT, BAG = np.array([[0, 1]]), np.array([1.0]), (np.ones(3), np.ones((2, 3)), np.ones(2))


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (NK, (np.array([[0.0], [1.0]]), np.zeros((2, 2)))),
        (NK, (np.array([0, 1]), np.zeros((2, 2)))),
        (NK, (np.array([[0], [2]]), np.zeros((2, 2)))),
        (NK, (np.array([[0], [-1]]), np.zeros((2, 2)))),
        (NK, (np.array([[0, 1], [1, 1]]), np.zeros((2, 4)))),
        (NK, (np.array([[0], [1]]), np.zeros((2, 4)))),
        (NK, (np.array([[0], [1]]), np.array([["a", "b"]] * 2))),
        (NK, (np.array([[0], [1]]), np.array([[0, 1], [np.nan, 1]]))),
        (NK, (np.array([[0]]), np.zeros((1, 2)), np.nan)),
        (MaxCut, (0, PAIR, WEIGHT)),
        (MaxCut, (1, PAIR, WEIGHT)),
        (MaxCut, (2, PAIR - 1, WEIGHT)),
        (MaxCut, (2, PAIR[0], WEIGHT)),
        (MaxCut, (2, PAIR.astype(float), WEIGHT)),
        (MaxCut, (2, PAIR, WEIGHT[:0])),
        (MaxCut, (2, PAIR, np.array([np.nan]))),
        (MaxCut, (2, PAIR, WEIGHT, np.inf)),
        (MaxSat, (0, [[1]])),
        (MaxSat, (1, [[2]])),
        (MaxSat, (1, [[0]])),
        (MaxSat, (1, [[1]], [1, 2])),
        (MaxSat, (1, [[1]], [-1])),
        (MaxSat, (1, [[1]], [np.inf])),
        (lambda *hard: HardMaxSat(1, [[1]], hard=hard), ([2],)),
        (Knapsack, (np.ones(2), *BAG[1:])),
        (Knapsack, (BAG[0], np.ones(3), BAG[2])),
        (Knapsack, (*BAG[:2], np.ones(3))),
        (Knapsack, (-BAG[0], *BAG[1:])),
        (Knapsack, (BAG[0], np.full((2, 3), np.nan), BAG[2])),
        (Knapsack, (*BAG, np.inf)),
        (Shuffled, (HIFF(n=4), np.arange(3))),
        (Shuffled, (HIFF(n=4), np.arange(4.0))),
        (Shuffled, (HIFF(n=4), np.array([0, 1, 2, 2]))),
        (Shuffled, (HIFF(n=4), np.arange(1, 5))),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_does_not_fit_is_refused(make: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"must|expected|twice"):
        make(*arguments)


def test_arrays_are_copied_and_read_only() -> None:
    given = {"neighbors": np.array([[0]]), "tables": np.array([[0.0, 1.0]])}
    problem = NK(**given)
    for name, array in given.items():
        array[0, 0] = 9
        with pytest.raises(ValueError, match="read-only"):
            getattr(problem, name)[0, 0] = 9
    assert problem.optimum == 1.0
    assert list(itertools.chain(*problem.scopes())) == [0]
