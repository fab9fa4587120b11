"""How an objective is called, and what counts as an answer."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.evaluation.caller import Caller, ObjectiveError, ObjectiveMisuse
from daedal.types import to_text

X = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 0]], dtype=np.uint8)


class DownError(Exception):
    """What a simulator raises."""


class Fussy:
    """Counts ones, refuses some rows, and remembers what it was called with."""

    def __init__(self, *refused: str, batches: bool = True) -> None:
        self.refused = refused
        self.batches = batches
        self.calls: list[list[str]] = []

    def __call__(self, x: np.ndarray) -> Any:
        rows = [to_text(row) for row in np.atleast_2d(x)]
        self.calls.append(rows)
        for row in rows:
            if row in self.refused:
                raise DownError(f"no {row}")
        if len(rows) > 1 and not self.batches:
            raise DownError("one at a time")
        return x.sum(axis=-1)


ROWS = [to_text(row) for row in X]


# Who is to blame


def test_a_batch_that_goes_well_is_one_call() -> None:
    fussy = Fussy()
    answers = Caller(fussy).answers(X)
    assert answers.values.tolist() == [2.0, 3.0, 0.0, 1.0]
    assert (answers.errors, answers.causes) == ({}, {})
    assert fussy.calls == [ROWS]


def test_a_batch_that_raises_is_tried_row_by_row() -> None:
    fussy = Fussy("111", "010")
    answers = Caller(fussy).answers(X)
    assert fussy.calls == [ROWS, *([row] for row in ROWS)]
    assert np.array_equal(answers.values, [2.0, np.nan, 0.0, np.nan], equal_nan=True)
    for index, row in ((1, "111"), (3, "010")):
        assert answers.errors[index] == (
            f"the objective raised DownError: no {row} for the row {row}; it is called with an array of 0/1 rows, here "
            "of shape (1, 3) (for a function of one row, say vectorized=False, or --by-row)"
        )
        assert isinstance(answers.causes[index], DownError)
    assert set(answers.errors) == set(answers.causes) == {1, 3}


def test_where_one_failure_is_enough_the_rows_behind_it_are_left_alone() -> None:
    fussy = Fussy("111", "010")
    answers = Caller(fussy).answers(X, first_failure_only=True)
    assert fussy.calls == [ROWS, ["101"], ["111"]]
    assert set(answers.errors) == {1}
    assert answers.values[0] == 2.0
    assert np.isnan(answers.values[1:]).all()


def test_a_batch_that_fails_as_a_batch_alone() -> None:
    """Where a failure ends the run it is told; otherwise every row has its value."""
    fussy = Fussy(batches=False)
    answers = Caller(fussy).answers(X)
    assert answers.values.tolist() == [2.0, 3.0, 0.0, 1.0]
    assert answers.errors == {}
    with pytest.raises(
        ObjectiveError, match=r"raised DownError: one at a time for a batch of shape \(4, 3\)"
    ) as caught:
        Caller(fussy).answers(X, first_failure_only=True)
    assert isinstance(caught.value.__cause__, DownError)


def test_a_batch_of_one_row_is_called_once() -> None:
    fussy = Fussy("111")
    assert set(Caller(fussy).answers(X[1:2]).errors) == {0}
    assert fussy.calls == [["111"]]


def test_no_rows_by_row_are_no_calls() -> None:
    fussy = Fussy()
    assert Caller(fussy, vectorized=False).answers(X[:0]).values.shape == (0,)
    assert fussy.calls == []


def test_a_function_of_one_row_is_called_row_by_row() -> None:
    fussy = Fussy("111")
    answers = Caller(fussy, vectorized=False).answers(X)
    assert fussy.calls == [[row] for row in ROWS]
    assert answers.errors == {1: "the objective raised DownError: no 111 for the row 111"}
    assert np.array_equal(answers.values, [2.0, np.nan, 0.0, 1.0], equal_nan=True)


def test_an_error_in_our_own_words_is_not_wrapped() -> None:
    """As those of programs are: they know better what happened."""

    def program(x: np.ndarray) -> np.ndarray:
        if (x.sum(axis=1) == 3).any():
            raise ObjectiveError(f"the program ended with {len(x)} rows")
        return x.sum(axis=1)

    answers = Caller(program).answers(X)
    assert answers.errors == {1: "the program ended with 1 rows"}
    assert isinstance(answers.causes[1], ObjectiveError)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(0, 1), min_size=5, max_size=5), min_size=1, max_size=12),
    modulus=st.integers(1, 6),
    vectorized=st.booleans(),
    raises=st.booleans(),
    sign=st.sampled_from([1, -1]),
)
def test_exactly_the_rows_that_fail_fail(
    rows: list[list[int]], modulus: int, vectorized: bool, raises: bool, sign: int
) -> None:
    """Whatever fails, and however: what is left has the values that plain Python gives."""
    x = np.array(rows, dtype=np.uint8)

    def score(row: Any) -> float:
        number = int("".join(map(str, row)), 2)
        if number % modulus == 0:
            if raises:
                raise DownError
            return float("nan") if number % 2 else sign * np.inf
        return -sign * np.inf if number == 1 else number / 7

    def plain(row: list[int]) -> float | None:
        number = int("".join(map(str, row)), 2)
        return None if number % modulus == 0 else (-sign * np.inf if number == 1 else number / 7)

    objective: Callable[[Any], Any] = (lambda batch: [score(row) for row in batch]) if vectorized else score
    answers = Caller(objective, vectorized=vectorized, sign=sign).answers(x)
    expected = [plain(row) for row in rows]
    assert [None if np.isnan(value) else value for value in answers.values] == expected
    assert sorted(answers.errors) == [index for index, value in enumerate(expected) if value is None]
    for index, error in answers.errors.items():
        assert f"for the row {to_text(x[index])}" in error


# What is no answer


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("vectorized", [True, False])
def test_nan_and_infinity_on_the_good_side_are_failures(sign: int, vectorized: bool) -> None:
    table = {"101": np.nan, "111": sign * np.inf, "000": -sign * np.inf, "010": 1.5}

    def f(x: np.ndarray) -> Any:
        return table[to_text(x)] if x.ndim == 1 else [table[to_text(row)] for row in x]

    answers = Caller(f, vectorized=vectorized, sign=sign).answers(X)
    assert np.array_equal(answers.values, [np.nan, np.nan, -sign * np.inf, 1.5], equal_nan=True)
    use = "-inf" if sign > 0 else "inf"
    assert answers.errors == {
        index: f"expected finite numbers from the objective, got {got} for the row {row}; use {use} for what is "
        "infeasible"
        for index, row, got in ((0, "101", "nan"), (1, "111", f"{sign * np.inf:g}"))
    }


@pytest.mark.parametrize(
    "returned", [None, "text", [1.0, 2.0], np.zeros((4, 2)), {"a": 1}, [[1], [2], [3], [4]], 1.0 + 1j]
)
def test_what_is_not_one_number_a_row_is_nobodys_fault_but_the_functions(returned: object) -> None:
    calls: list[int] = []
    with pytest.raises(ObjectiveMisuse):
        Caller(lambda x: calls.append(len(x)) or returned).answers(X)
    assert calls == [4]  # no row is to blame


def test_what_is_not_one_number_for_a_row_is_told_at_the_first_row() -> None:
    calls: list[int] = []
    with pytest.raises(ObjectiveMisuse, match="got None"):
        Caller(lambda row: calls.append(1), vectorized=False).answers(X)
    assert calls == [1]


@pytest.mark.parametrize("vectorized", [True, False])
def test_leaving_is_a_failure_and_an_interrupt_is_not(vectorized: bool) -> None:
    def leaving(x: np.ndarray) -> None:
        raise SystemExit(4)

    def interrupted(x: np.ndarray) -> None:
        raise KeyboardInterrupt

    assert len(Caller(leaving, vectorized=vectorized).answers(X).errors) == 4
    with pytest.raises(KeyboardInterrupt):
        Caller(interrupted, vectorized=vectorized).answers(X)


def test_rows_are_copies_of_the_kind_that_was_asked_for() -> None:
    kinds: list[np.dtype[Any]] = []

    def spoil(x: np.ndarray) -> Any:
        kinds.append(x.dtype)
        ones = x.sum(axis=-1)
        x[...] = 7
        return ones

    x = X.copy()
    assert Caller(spoil).answers(x).values.tolist() == [2.0, 3.0, 0.0, 1.0]
    assert Caller(spoil, vectorized=False, dtype=np.uint8).answers(x).values.tolist() == [2.0, 3.0, 0.0, 1.0]
    assert np.array_equal(x, X)
    assert kinds == [np.int64, *[np.uint8] * 4]


def test_a_caller_travels_with_its_function() -> None:
    caller = Caller(np.sum, vectorized=False, sign=-1, dtype=np.uint8)
    there = pickle.loads(pickle.dumps(caller))
    assert there == caller
    assert there.answers(X).values.tolist() == [2.0, 3.0, 0.0, 1.0]
