"""What comes back from a file, piece by piece: given as it should be, or refused in one line that names it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from daedal.types import Json, State, StateError

N = 3


def field(value: Json) -> State:
    return State(arrays={}, fields={"it": value})


def array(value: Any) -> State:
    return State(arrays={"it": value, "rows": np.zeros((2, N), dtype=np.uint8)}, fields={})


GIVEN: list[tuple[Callable[[State], Any], Json, Any]] = [
    (lambda state: state.whole("it"), 0, 0),
    (lambda state: state.whole("it"), 2**100, 2**100),
    (lambda state: state.number("it"), 3, 3.0),
    (lambda state: state.number("it"), -0.5, -0.5),
    (lambda state: state.number("it"), -math.inf, -math.inf),
    (lambda state: state.seconds("it"), 0, 0.0),
    (lambda state: state.seconds("it"), 1.5, 1.5),
    (lambda state: state.truth("it"), False, False),
    (lambda state: state.text("it"), "", ""),
    (lambda state: state.listed("it"), [1, "a"], [1, "a"]),
    (lambda state: state.inner("it").whole("n"), {"n": 1}, 1),
    (lambda state: state.given("it"), 0, True),
    (lambda state: state.given("it"), None, False),
    (lambda state: state.given("other"), 1, False),
]


@pytest.mark.parametrize(("read", "value", "expected"), GIVEN)
def test_a_field_is_given_as_it_is(read: Callable[[State], Any], value: Json, expected: Any) -> None:
    came = read(field(value))
    assert came == expected
    assert type(came) is type(expected)


KINDS: dict[str, list[Json]] = {
    "whole": [None, True, -1, 1.0, math.nan, "1", [], {}],
    "number": [None, True, math.nan, "1", [1.0], {}, 10**400, -(10**400)],
    "seconds": [None, True, math.nan, "1", -1e-9, math.inf, -math.inf, 10**400],
    "truth": [None, 0, 1, "true", [], {}],
    "text": [None, True, 1, ["a"], {}],
    "listed": [None, True, 1, "ab", {}],
    "inner": [None, True, 1, "ab", []],
}


@pytest.mark.parametrize(
    ("kind", "value"),
    [(kind, value) for kind, values in KINDS.items() for value in values],
    ids=lambda it: repr(it)[:20],
)
def test_a_field_of_another_kind_is_refused(kind: str, value: Json) -> None:
    with pytest.raises(StateError, match=r"^expected it in the checkpoint to be .*, got .*not made by a run") as it:
        getattr(field(value), kind)("it")
    assert len(str(it.value)) < 250


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_that_is_missing_is_refused(kind: str) -> None:
    with pytest.raises(StateError, match=r"^expected other in .*, got None"):
        getattr(field(1), kind)("other")


@pytest.mark.parametrize("value", ["a\nb", "\x1b[2J", "long" * 1000, ["x" * 10_000], {"a\nb": "c\nd"}])
def test_what_came_is_shown_in_one_short_line_that_does_nothing_to_a_terminal(value: Json) -> None:
    with pytest.raises(StateError) as refused:
        field(value).truth("it")
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 250


def test_an_inner_state_sees_the_arrays() -> None:
    state = State(arrays={"a": np.ones(2)}, fields={"in": {"n": 1}})
    assert state.inner("in").array("a").tolist() == [1.0, 1.0]


# Arrays


def test_arrays_are_given_as_they_are() -> None:
    rows = np.array([[0, 1, 1], [1, 0, 0]], dtype=np.uint8)
    assert array(rows).bits("it", N) is rows
    assert array(rows[:0]).bits("it", N).shape == (0, N)
    assert array(rows[0]).row("it", N).tolist() == [0, 1, 1]
    numbers = np.array([1.0, -math.inf])
    assert array(numbers).numbers("it", like="rows") is numbers
    assert array(np.ones(2, dtype=np.int8)).array("it").dtype == np.int8


ODD_ROWS: list[Any] = [
    np.zeros((2, N), dtype=np.int8),
    np.zeros((2, N), dtype=bool),
    np.zeros((2, N), dtype=np.float64),
    np.full((2, N), 2, dtype=np.uint8),
    np.full((2, N), 255, dtype=np.uint8),
    np.zeros((2, N + 1), dtype=np.uint8),
    np.zeros((2, 0), dtype=np.uint8),
    np.zeros((1, 2, N), dtype=np.uint8),
    np.zeros((), dtype=np.uint8),
]


@pytest.mark.parametrize("rows", [*ODD_ROWS, np.zeros(N, dtype=np.uint8)])
def test_what_is_not_rows_of_bits_is_refused(rows: Any) -> None:
    with pytest.raises(StateError, match=r"^expected it in the checkpoint to be (rows of 3 bits|an array), got"):
        array(rows).bits("it", N)


@pytest.mark.parametrize("row", [*ODD_ROWS, np.zeros((1, N), dtype=np.uint8), np.zeros(N + 1, dtype=np.uint8)])
def test_what_is_not_a_row_of_bits_is_refused(row: Any) -> None:
    with pytest.raises(StateError, match=r"^expected it in the checkpoint to be (a row of 3 bits|an array), got"):
        array(row).row("it", N)


@pytest.mark.parametrize(
    "numbers",
    [
        np.zeros(3),
        np.zeros((2, 1)),
        np.zeros(0),
        np.zeros(()),
        np.array([0.0, math.nan]),
        np.zeros(2, dtype=np.float32),
        np.zeros(2, dtype=np.int64),
    ],
)
def test_what_is_not_a_number_a_row_is_refused(numbers: Any) -> None:
    with pytest.raises(StateError, match=r"^expected it in the checkpoint to be (a number for each row|an array)"):
        array(numbers).numbers("it", like="rows")


def test_numbers_for_rows_that_are_not_there_are_refused() -> None:
    for like in (None, np.zeros((), dtype=np.uint8)):
        state = State(arrays={"it": np.zeros(2)} | ({} if like is None else {"rows": like}), fields={})
        with pytest.raises(StateError, match=r"^expected rows in the checkpoint to be an array"):
            state.numbers("it", like="rows")


def test_an_array_that_is_missing_or_has_no_dimension_is_refused() -> None:
    with pytest.raises(StateError, match=r"^expected other in the checkpoint to be an array, got none"):
        array(np.zeros(2)).array("other")
    with pytest.raises(StateError, match=r"^expected it in the checkpoint to be an array, got dtype=float64"):
        array(np.zeros(())).array("it")
