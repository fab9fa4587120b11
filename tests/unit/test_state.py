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
    (lambda state: state.whole("it", most=None), 2**100, 2**100),
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_of_another_kind_or_none_is_refused(kind: str) -> None:
    for value in KINDS[kind]:
        with pytest.raises(StateError, match=r"^expected it to be ") as caught:
            getattr(field(value), kind)("it")
        assert len(str(caught.value)) < 250
    with pytest.raises(StateError, match=r"^expected other to be .*, got None"):
        getattr(field(1), kind)("other")


@pytest.mark.parametrize("value", ["a\nb", "\x1b[2J", "long" * 1000, ["x" * 10_000], {"a\nb": "c\nd"}])
def test_what_came_is_shown_in_one_short_line_that_does_nothing_to_a_terminal(value: Json) -> None:
    with pytest.raises(StateError) as refused:
        field(value).truth("it")
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 250


# Arrays


def test_arrays_are_given_as_they_are() -> None:
    rows = np.array([[0, 1, 1], [1, 0, 0]], dtype=np.uint8)
    assert array(rows).bits("it", N) is rows
    assert array(rows[:0]).bits("it", N).shape == (0, N)
    assert array(rows[0]).row("it", N).tolist() == [0, 1, 1]
    numbers = np.array([1.0, -math.inf])
    assert array(numbers).numbers("it", like="rows") is numbers
    assert array(numbers).floats("it") is numbers
    assert array(np.ones(2, dtype=np.int8)).array("it").dtype == np.int8
    assert State(arrays={"a": np.ones(2)}, fields={"in": {"n": 1}}).inner("in").array("a").tolist() == [1.0, 1.0]


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
ODD_NUMBERS: list[Any] = [
    np.zeros((2, 1)),
    np.zeros(()),
    np.array([0.0, math.nan]),
    np.zeros(2, dtype=np.float32),
    np.zeros(2, dtype=np.int64),
]
ODD: list[tuple[Callable[[State], Any], list[Any]]] = [
    (lambda state: state.bits("it", N), [*ODD_ROWS, np.zeros(N, dtype=np.uint8)]),
    (lambda state: state.row("it", N), [*ODD_ROWS, np.zeros((1, N), np.uint8), np.zeros(N + 1, np.uint8)]),
    (lambda state: state.numbers("it", like="rows"), [*ODD_NUMBERS, np.zeros(3), np.zeros(0)]),
    (lambda state: state.floats("it"), ODD_NUMBERS),
    (lambda state: state.array("it"), [np.zeros(())]),
]


@pytest.mark.parametrize(("read", "odd"), ODD, ids=["bits", "row", "numbers", "floats", "array"])
def test_an_array_of_another_kind_or_none_is_refused(read: Callable[[State], Any], odd: list[Any]) -> None:
    for one in odd:
        with pytest.raises(StateError, match=r"^expected it to be "):
            read(array(one))
    with pytest.raises(StateError, match=r"^expected it to be an array, got none"):
        read(State(arrays={}, fields={}))


def test_numbers_for_rows_that_are_not_there_are_refused() -> None:
    for like in ({}, {"rows": np.zeros((), dtype=np.uint8)}):
        with pytest.raises(StateError, match=r"^expected rows to be an array"):
            State(arrays={"it": np.zeros(2), **like}, fields={}).numbers("it", like="rows")


# Several in one


def test_states_are_joined_and_taken_apart_also_within_each_other() -> None:
    one = State(arrays={"x": np.arange(3), "memory/x": np.arange(4)}, fields={"n": 1})
    other = State(arrays={"x": np.arange(5)}, fields={"n": 2, "more": {"deep": [None]}})
    nothing = State(arrays={}, fields={})
    whole = State.join({"one": one, "ones": nothing, "inner": State.join({"one": other, "other": one})})
    inner = whole.part("inner")
    for back, part in ((whole.part("one"), one), (inner.part("one"), other), (inner.part("other"), one)):
        assert back.fields == part.fields
        assert {key: array.tolist() for key, array in back.arrays.items()} == {
            key: array.tolist() for key, array in part.arrays.items()
        }
    assert not whole.part("ones").arrays
    with pytest.raises(StateError, match="gone"):
        whole.part("gone")


def test_a_state_that_is_extended_stays_as_it_was() -> None:
    state = State(arrays={"x": np.arange(3)}, fields={"n": 1})
    more = state.extend(arrays={"y": np.arange(2)}, fields={"n": 2})
    assert (set(more.arrays), more.fields) == ({"x", "y"}, {"n": 2})
    assert (set(state.arrays), state.fields) == ({"x"}, {"n": 1})


def test_no_run_counts_further_than_an_array_can() -> None:
    state = State(arrays={}, fields={"batches": 10**70})
    with pytest.raises(StateError, match="batches"):
        state.whole("batches")
    assert state.whole("batches", most=None) == 10**70  # a seed may be so large
