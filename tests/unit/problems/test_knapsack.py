"""Knapsacks: profits and loads of a slow twin, exact optima of one dimension, the OR-Library's files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from all_rows import all_rows
from problem_files import write_files

from daedal.problems import Knapsack, read_mkp
from daedal.problems.registry import find_problem


def feasible_best(bag: Knapsack) -> float:
    x = all_rows(bag.n)
    return float(bag.evaluate(x)[(bag.violations(x) <= 0).all(axis=1)].max())


@pytest.mark.parametrize("m", [1, 3])
def test_profits_and_loads_are_those_of_a_slow_twin(m: int) -> None:
    rng = np.random.default_rng(m)
    profits, weights, capacities = rng.integers(20, size=9), rng.integers(20, size=(m, 9)), rng.integers(60, size=m)
    bag, x = Knapsack(profits, weights, capacities), all_rows(9)
    assert bag.evaluate(x).tolist() == [sum(p for p, bit in zip(profits, row, strict=True) if bit) for row in x]
    loads = [[sum(w for w, bit in zip(line, row, strict=True) if bit) for line in weights] for row in x]
    assert bag.violations(x).tolist() == (np.array(loads) - capacities).tolist()
    assert bag.violations(x * np.uint8(5)).tolist() == bag.violations(x).tolist()


@pytest.mark.parametrize("seed", range(10))
def test_dynamic_programming_finds_the_best_of_all_rows(seed: int) -> None:
    bag = Knapsack.random(n=11, seed=seed)
    assert bag.optimum == feasible_best(bag)
    assert bag.solution is not None
    assert bag.evaluate(bag.solution[None])[0] == bag.optimum
    assert bag.violations(bag.solution[None]).max() <= 0


@pytest.mark.parametrize("capacity", [0, 1, 7, 25, 26, 1000, 2**60])
def test_capacities_at_the_edges(capacity: int) -> None:
    bag = Knapsack(np.array([5, 0, 7, 3]), np.array([[8, 0, 12, 6]]), np.array([capacity]))
    assert bag.optimum == feasible_best(bag)


def test_a_random_knapsack_is_what_is_documented() -> None:
    bag, again, other = (find_problem(f"knapsack:n=500,seed={seed}") for seed in (1, 1, 2))
    assert isinstance(bag, Knapsack)
    assert isinstance(other, Knapsack)
    for array in (bag.profits, bag.weights):
        assert (array.min(), array.max()) == (10, 100)
        assert (array == np.floor(array)).all()
    assert bag.capacities.tolist() == [bag.weights.sum() // 2]
    assert bag.profits.tolist() == again.profits.tolist()  # type: ignore[attr-defined]
    assert bag.profits.tolist() != other.profits.tolist()
    assert repr(bag) == "Knapsack(n=500, m=1)"


def test_what_cannot_be_afforded_has_no_optimum() -> None:
    for bag in (
        Knapsack(np.ones(3), np.ones((2, 3)), np.ones(2)),
        Knapsack(np.ones(3), np.full((1, 3), 0.5), np.ones(1)),
        Knapsack(np.ones(3), np.full((1, 3), 1e14), np.full(1, 2e14)),
    ):
        assert bag.optimum is None
        assert bag.solution is None


def test_files_written_by_hand(tmp_path: Path) -> None:
    write_files(tmp_path)
    tiny = read_mkp(tmp_path / "tiny.mkp")
    assert (tiny.n, tiny.capacities.tolist(), tiny.optimum) == (4, [9, 10], 15.0)
    assert feasible_best(tiny) == 15.0
    first, second, third = (read_mkp(tmp_path / "three.mkp", problem=number) for number in (1, 2, 3))
    assert (first.n, first.optimum) == (3, 7.0)  # not stated, but one dimension
    assert second.weights.tolist() == tiny.weights.tolist() == [[2, 3, 6, 7], [7, 5, 3, 3]]
    assert (third.profits.tolist(), third.optimum) == ([1.5, 1], 1.5)


def test_best_values_are_looked_up_for_the_files_that_they_are_of(tmp_path: Path) -> None:
    text = "2\n2 2 0\n3 4\n1 1\n1 1\n1 1\n2 2 0\n5 6\n1 1\n1 1\n1 1\n"
    (tmp_path / "best-feasible-slns.txt").write_text(
        "Values\n\n2.2-00   4\n2.2-01   6\n\nLP optimal\n2.2-00  4.5e+00\n"
    )
    for name, expected in (("mknapcb1.txt", [4.0, 6.0]), ("other.txt", [None, None])):
        (tmp_path / name).write_text(text)
        assert [read_mkp(tmp_path / name, problem=number).optimum for number in (1, 2)] == expected


REFUSED = [
    ("", 1, "an empty file"),
    ("x", 1, "number of problems, got 'x'"),
    ("0", 1, "got '0'"),
    ("1\n2 1", 3, "`n m optimum`.* got the end"),
    ("1\n1000000000000000 1 0", 2, "got '1000000000000000'"),
    ("1\n10000000 99999 0", 2, "got '99999'"),
    ("1\n1 0 0", 2, "got '0'"),
    ("1\n1 1 -1", 2, "got '-1'"),
    ("1\n2 1 0\n1 -1\n1 1\n1", 3, "a profit of at least 0, got '-1'"),
    ("1\n2 1 0\n1 1\n1 x\n1", 4, "a weight of at least 0, got 'x'"),
    ("1\n2 1 0\n1 1\n1 1\n1e16", 5, "a capacity of at least 0, got '1e16'"),
    ("1\n2 1 0\n1 1\n1 1", 5, "a capacity of at least 0, got the end"),
    ("1\n2 1 0\n1 1\n1 1\n1 1", 5, "the end, got '1'"),
    ("1\n2 1 3\n1 1\n1 1\n1", 2, "an optimum of at most all profits, 2, got 3"),
]


@pytest.mark.parametrize(("text", "line", "says"), REFUSED)
def test_a_bad_file_is_refused_with_its_line(text: str, line: int, says: str, tmp_path: Path) -> None:
    (tmp_path / "it").write_text(text)
    with pytest.raises(ValueError, match=rf"it, line {line}: expected .*{says}") as caught:
        read_mkp(tmp_path / "it")
    assert "\n" not in str(caught.value)


def test_arrays_that_do_not_fit_are_refused() -> None:
    good = (np.ones(3), np.ones((2, 3)), np.ones(2))
    for place, array in (
        (0, np.ones(2)),
        (1, np.ones(3)),
        (2, np.ones(3)),
        (0, -np.ones(3)),
        (1, np.full((2, 3), np.nan)),
    ):
        arrays = list(good)
        arrays[place] = array
        with pytest.raises(ValueError, match="expected"):
            Knapsack(*arrays)
    with pytest.raises(ValueError, match="known_optimum"):
        Knapsack(*good, known_optimum=np.inf)
