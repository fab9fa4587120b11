"""Deceptive blocks: their published values, their optima by enumeration, and sizes that do not fit."""

from __future__ import annotations

import numpy as np
import pytest
from all_rows import all_rows

from daedal.problems import Bimodal, CyclicTrap, LeadingOnes, Problem, StepTrap, Trap
from daedal.problems.registry import find_problem
from daedal.types import from_text


def trap(ones: int, k: int) -> int:
    return k if ones == k else k - 1 - ones


def twin(spec: str, row: list[int]) -> float:
    """Give the value of a row, one block after another."""
    name, _, words = spec.partition(":")
    given = {key: int(value) for key, value in (word.split("=") for word in words.split(","))}
    n, k = given["n"], given.get("k", 0)
    if name == "leadingones":
        return [*row, 0].index(0)
    if name == "cyclictrap":
        return sum(trap(sum(row[(at + i) % n] for i in range(k)), k) for at in range(0, n, k - 1))
    blocks = [sum(row[at : at + k]) for at in range(0, n, k)]
    if name == "bimodal":
        return sum(k / 2 if ones in (0, k) else k / 2 - abs(ones - k / 2) - 1 for ones in blocks)
    return sum(((k - given["s"]) % given["s"] + trap(ones, k)) // given["s"] for ones in blocks)


@pytest.mark.parametrize(
    "spec",
    [
        "leadingones:n=1",
        "leadingones:n=7",
        "bimodal:k=4,n=4",
        "bimodal:k=4,n=12",
        "bimodal:k=6,n=12",
        "steptrap:k=5,s=2,n=10",
        "steptrap:k=4,s=3,n=12",
        "steptrap:k=6,s=3,n=12",
        "cyclictrap:k=3,n=4",
        "cyclictrap:k=3,n=10",
        "cyclictrap:k=5,n=12",
    ],
)
def test_every_row_has_the_value_of_a_slow_twin_and_the_best_is_the_optimum(spec: str) -> None:
    problem = find_problem(spec)
    x = all_rows(problem.n)
    values = problem.evaluate(x)
    assert values.tolist() == [twin(spec, row) for row in x.tolist()]
    assert values.max() == problem.optimum
    assert problem.evaluate(problem.solution[None])[0] == problem.optimum  # type: ignore[attr-defined]


def test_blocks_have_the_published_values() -> None:
    ones = np.tril(np.ones((11, 10), dtype=np.uint8), -1)  # row i has i ones
    assert StepTrap(k=5, s=2, n=5).evaluate(ones[:6, :5]).tolist() == [2, 2, 1, 1, 0, 3]
    assert Bimodal(k=6, n=6).evaluate(ones[:7, :6]).tolist() == [3, 0, 1, 2, 1, 0, 3]
    assert Bimodal(k=10, n=10).evaluate(ones).tolist() == [5, 0, 1, 2, 3, 4, 3, 2, 1, 0, 5]


def test_a_step_of_one_is_the_plain_trap() -> None:
    x = all_rows(10)
    assert StepTrap(k=5, s=1, n=10).evaluate(x).tolist() == Trap(k=5, n=10).evaluate(x).tolist()


def test_any_entry_that_is_not_zero_is_a_one() -> None:
    x = from_text("10110")[None]
    problems: list[Problem] = [StepTrap(k=5, s=2, n=5), LeadingOnes(n=5)]
    for problem in problems:
        assert problem.evaluate(x * np.uint8(255)) == problem.evaluate(x)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("bimodal:k=5,n=10", "even, got k=5; try 4 or 6"),
        ("bimodal:k=2,n=10", "k=2"),
        ("bimodal:k=6,n=10", "k=6, got n=10; try 6 or 12"),
        ("steptrap:k=5,s=5,n=10", "s < k, got s=5, k=5; try s=4"),
        ("steptrap:k=5,s=0,n=10", "s=0"),
        ("steptrap:k=5,s=2,n=11", "try 10 or 15"),
        ("cyclictrap:k=5,n=10", "k - 1 = 4, got n=10; try 8 or 12"),
        ("cyclictrap:k=5,n=4", "at least 8, got n=4"),
        ("cyclictrap:k=2,n=4", "k=2"),
        ("leadingones:n=0", "n=0"),
        ("labs:n=1", "n=1"),
        ("labs:n=10001", "at most 10000, got n=10001"),
        ("knapsack:n=1000000000000,seed=1", "at most 10000000, got n=1000000000000"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(spec: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        find_problem(spec)


def test_a_ring_of_traps_needs_at_least_two() -> None:
    assert CyclicTrap(k=5, n=8).optimum == 10
