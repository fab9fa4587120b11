"""Numbers from users: what NumPy reads as real numbers is accepted, everything else is refused in one line."""

from __future__ import annotations

import array
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from daedal.settings.checks import as_numbers


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f8", "<f8", "g", "i1", ">i8", "u8", "?", "O"])
def test_arrays_are_copied(dtype: str) -> None:
    values = np.array([[0, 1, 1]], dtype=dtype)
    came = as_numbers(values)
    assert came.dtype == np.float64
    assert came.tolist() == [[0.0, 1.0, 1.0]]
    assert not np.shares_memory(came, values)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (range(3), [0.0, 1.0, 2.0]),
        ((1, 2.5, True, np.inf), [1.0, 2.5, 1.0, np.inf]),
        (array.array("h", [3, -4]), [3.0, -4.0]),
        ([Fraction(1, 4), Decimal("0.5"), 10**30], [0.25, 0.5, 1e30]),
        ([np.float32(0.5), np.array(2)], [0.5, 2.0]),
        (7, 7.0),
        (np.ma.array([1.0, 2.0]), [1.0, 2.0]),
    ],
)
def test_numbers_of_python_and_numpy(values: object, expected: object) -> None:
    assert as_numbers(values).tolist() == expected


class Broken:
    """A class that claims to be an array and fails, even to be shown."""

    def __array__(self, *_: object, **__: object) -> Any:
        raise KeyError("no\nnumbers")

    def __repr__(self) -> str:
        raise RuntimeError("no\nwords")


NO_NUMBERS: dict[str, Callable[[], object]] = {
    "text": lambda: "12",
    "numbers as text": lambda: [1.0, "2"],
    "None among numbers": lambda: [1.0, None],
    "a generator": lambda: (i for i in (1, 2)),
    "a dict": lambda: {0: 1.0, 1: 2.0},
    "lists of different lengths": lambda: [1, [2, 3]],
    "complex numbers": lambda: np.array([1 + 0j]),
    "masked numbers": lambda: np.ma.array([1.0, 1e9], mask=[False, True]),
    "whole numbers beyond floats": lambda: [10**400],
    "a broken class": Broken,
}


@pytest.mark.parametrize("case", NO_NUMBERS)
def test_everything_else_is_refused_in_one_short_line(case: str) -> None:
    with pytest.raises(ValueError, match=r"^expected numbers as scores") as caught:
        as_numbers(NO_NUMBERS[case](), source="as scores")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


class Series:
    """A stand-in for a pandas Series, which need not be installed."""

    def __init__(self, values: Any, index: Any) -> None:
        self.values, self.index = values, index

    def to_numpy(self) -> Any:
        return np.array(self.values)

    def __array__(self, *_: object, **__: object) -> Any:
        return self.to_numpy()


def series_of(kind: str) -> Callable[..., Any]:
    return Series if kind == "stand-in" else pytest.importorskip("pandas").Series  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", ["stand-in", "pandas"])
@pytest.mark.parametrize("index", [[0, 1, 2], [7, 3, 3], [2, 3, 1], ["b", "a", "c"], [(1, 0), (0, 1), (2, 2)]])
def test_a_series_counts_in_its_order_if_the_index_says_nothing_else(kind: str, index: list[Any]) -> None:
    assert as_numbers(series_of(kind)([4.0, 5.0, 6.0], index=index)).tolist() == [4.0, 5.0, 6.0]


@pytest.mark.parametrize("kind", ["stand-in", "pandas"])
@pytest.mark.parametrize("index", [[1, 2, 0], [1.0, 0.0, 2.0]])
def test_a_series_with_a_permuted_index_is_refused(kind: str, index: list[float]) -> None:
    with pytest.raises(ValueError, match=r"sort_index\(\).*to_numpy\(\)"):
        as_numbers(series_of(kind)([4.0, 5.0, 6.0], index=index))
