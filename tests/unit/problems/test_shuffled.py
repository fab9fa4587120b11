"""Problems with their variables in another order."""

from __future__ import annotations

import numpy as np
import pytest

from daedal.problems import HIFF, NK, Problem, Shuffled, Trap, shuffled


def test_each_variable_goes_back_to_its_place() -> None:
    order = np.array([2, 0, 3, 1])
    mixed = Shuffled(Trap(k=2, n=4), order)
    own = np.array([[1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 1]], dtype=np.uint8)
    assert np.array_equal(mixed.restore(own[:, order]), own)
    assert np.array_equal(mixed.restore(own[1][order]), own[1])
    assert mixed.evaluate(own[:, order]).tolist() == Trap(k=2, n=4).evaluate(own).tolist()
    assert mixed.restore(own).flags.c_contiguous


@pytest.mark.parametrize("problem", [Trap(k=4, n=16), HIFF(n=16), NK.random(16, 3, seed=0)])
def test_any_problem_keeps_its_size_its_optimum_and_its_values(problem: Problem) -> None:
    rng = np.random.default_rng(4)
    mixed = shuffled(problem, rng=rng)
    own = rng.integers(0, 2, size=(50, 16), dtype=np.uint8)
    assert isinstance(mixed, Problem)
    assert mixed.n == 16
    assert mixed.optimum == problem.optimum
    assert mixed.evaluate(own[:, mixed.order]).tolist() == problem.evaluate(own).tolist()


def test_the_order_comes_from_the_generator_alone() -> None:
    def order(seed: int) -> list[int]:
        return list(shuffled(HIFF(n=32), rng=np.random.default_rng(seed)).order)

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert sorted(order(1)) == list(range(32))
    assert order(1) != list(range(32))


@pytest.mark.parametrize(
    ("order", "says"),
    [
        ([0, 1, 2], r"an order of 4 integers, got shape=\(3,\)"),
        ([0.0, 1.0, 2.0, 3.0], "got shape=.*float64"),
        ([0, 1, 2, 2], r"each of 0\.\.3 once, got \[0, 1, 2, 2\]"),
        ([1, 2, 3, 4], r"each of 0\.\.3 once"),
    ],
)
def test_what_is_no_order_is_refused(order: list[int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Shuffled(HIFF(n=4), np.array(order))


def test_rows_of_the_wrong_length_are_refused() -> None:
    mixed = Shuffled(HIFF(n=4), np.arange(4))
    with pytest.raises(ValueError, match=r"shape \(rows, 4\)"):
        mixed.evaluate(np.zeros((1, 5), np.uint8))
    with pytest.raises(ValueError, match="row of 4 bits"):
        mixed.restore(np.zeros(5, np.uint8))
    with pytest.raises(ValueError, match=r"shape \(rows, 4\)"):
        mixed.restore(np.zeros((1, 5), np.uint8))
