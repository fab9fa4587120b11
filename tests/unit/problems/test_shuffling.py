"""Problems with their variables in another order."""

from __future__ import annotations

import numpy as np
import pytest

from daedal.problems import HIFF, Shuffled, Trap, shuffled


def test_each_variable_goes_back_to_its_place() -> None:
    order = np.array([2, 0, 3, 1])
    mixed = Shuffled(Trap(k=2, n=4), order)
    own = np.array([[1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 1]], dtype=np.uint8)
    assert np.array_equal(mixed.restore(own[:, order]), own)
    assert np.array_equal(mixed.restore(own[1][order]), own[1])
    assert mixed.evaluate(own[:, order]).tolist() == Trap(k=2, n=4).evaluate(own).tolist()
    assert mixed.restore(own).flags.c_contiguous


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
        ([0, 1, 2], r"4 integers, got shape=\(3,\)"),
        ([0.0, 1.0, 2.0, 3.0], "float64"),
        ([0, 1, 2, 2], r"got \[0, 1, 2, 2\]"),
        ([1, 2, 3, 4], r"0\.\.3"),
    ],
)
def test_what_is_no_order_is_refused(order: list[int], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Shuffled(HIFF(n=4), np.array(order))


@pytest.mark.parametrize("shape", [(5,), (1, 5)])
def test_rows_of_the_wrong_length_are_not_put_back(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"4.* got shape=\("):
        Shuffled(HIFF(n=4), np.arange(4)).restore(np.zeros(shape, np.uint8))
