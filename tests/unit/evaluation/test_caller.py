"""How an objective is called, and what counts as an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.evaluation.caller import Caller, ObjectiveError, ObjectiveMisuse
from daedal.settings.plugins import load
from daedal.types import to_text

X = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 0]], dtype=np.uint8)
ROWS = [to_text(row) for row in X]
ONES = [2.0, 3.0, 0.0, 1.0]


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
                raise DownError(f"no\n{row}")
        if len(rows) > 1 and not self.batches:
            raise DownError("one at a time")
        return x.sum(axis=-1)


# What is an answer


ARRAYS = [np.asarray, list, tuple, np.float32, np.uint8, np.ma.array, lambda v: list(map(Fraction, v.tolist()))]
SCALARS = [int, float, np.float64, np.array, lambda v: [v], lambda v: Fraction(int(v)), lambda v: Decimal(int(v))]


@pytest.mark.parametrize(("vectorized", "made"), [*((True, one) for one in ARRAYS), *((False, one) for one in SCALARS)])
def test_whatever_holds_one_number_per_row_is_fine(vectorized: bool, made: Callable[[Any], Any]) -> None:
    values = Caller(lambda x: made(x.sum(axis=-1)), vectorized=vectorized).answers(X).values
    assert values.tolist() == ONES
    assert values.dtype == np.float64


def test_truth_values_and_large_whole_numbers_are_numbers_and_differences_may_be_negative() -> None:
    assert Caller(lambda x: x[:, 0] == 1).answers(X).values.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert Caller(lambda x: [10**30] * len(x)).answers(X).values.tolist() == [1e30] * 4
    assert Caller(lambda x: x[:, 0] - x[:, 1]).answers(X).values.tolist() == [1.0, 0.0, 0.0, -1.0]


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (lambda x: None, "None; does it return"),
        (lambda x: x, r"shape=\(4, 3\)"),
        (lambda x: x.sum(), r"shape=\(\); .*vectorized=False"),
        (lambda x: x.sum(axis=1)[:, None], r"shape=\(4, 1\)"),
        (lambda x: [], r"shape=\(0,\)"),
        (lambda x: ["1", "2", "3", "4"], r"list \['1', '2', '3', '4'\]"),
        (lambda x: np.array(["1", "2", "3", "4"], dtype=object), "ndarray"),
        (lambda x: ["long words"] * 1000, r"\.\.\."),
        (lambda x: "1234", "str '1234'"),
        (lambda x: x.sum(axis=1) * 1j, "ndarray"),
        (lambda x: [1, [2, 3], 4, 5], "list"),
        (lambda x: [object()] * 4, "list"),
        (lambda x: {"a": 1}, "dict {'a': 1}"),
        (lambda x: (v for v in x), "generator"),
        (lambda x: [10**400] * len(x), "beyond those of a float"),
        (lambda x: np.array(["2020-01-01"] * 4, dtype="M8[D]"), "ndarray"),
    ],
)
def test_what_is_not_one_number_per_row_is_no_rows_fault(returned: Callable[[Any], Any], says: str) -> None:
    calls: list[int] = []
    with pytest.raises(ObjectiveMisuse, match=says) as caught:
        Caller(lambda x: calls.append(len(x)) or returned(x)).answers(X)
    assert calls == [4]  # nobody is looked for
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("returned", [X[0], None, "1", [[1.0]]])
def test_what_is_not_one_number_for_a_row_is_told_at_the_first_row(returned: object) -> None:
    calls: list[int] = []
    with pytest.raises(ObjectiveMisuse):
        Caller(lambda row: calls.append(1) or returned, vectorized=False).answers(X)
    assert calls == [1]


# Who is to blame


@pytest.mark.parametrize("vectorized", [True, False])
def test_rows_that_raise_are_found_and_their_errors_are_one_line(vectorized: bool) -> None:
    fussy = Fussy("111", "010")
    answers = Caller(fussy, vectorized=vectorized).answers(X)
    assert fussy.calls == [*([ROWS] if vectorized else []), *([row] for row in ROWS)]
    assert np.array_equal(answers.values, [2.0, np.nan, 0.0, np.nan], equal_nan=True)
    assert set(answers.errors) == set(answers.causes) == {1, 3}
    for index in (1, 3):
        assert f"DownError: no {ROWS[index]} for the row {ROWS[index]}" in answers.errors[index]
        assert ("(1, 3)" in answers.errors[index]) == vectorized  # how it was called
        assert isinstance(answers.causes[index], DownError)


def test_where_one_failure_is_enough_the_rows_behind_it_are_left_alone() -> None:
    fussy = Fussy("111", "010")
    answers = Caller(fussy).answers(X, first_failure_only=True)
    assert fussy.calls == [ROWS, ["101"], ["111"]]
    assert set(answers.errors) == {1}
    assert answers.values[0] == 2.0
    assert np.isnan(answers.values[1:]).all()


def test_a_batch_that_fails_as_a_batch_alone() -> None:
    """Where a failure ends the run it is told; otherwise every row has its value."""
    caller = Caller(Fussy(batches=False))
    answers = caller.answers(X)
    assert answers.values.tolist() == ONES
    assert answers.errors == {}
    with pytest.raises(ObjectiveError, match=r"one at a time for a batch of shape \(4, 3\)") as caught:
        caller.answers(X, first_failure_only=True)
    assert isinstance(caught.value.__cause__, DownError)


def test_a_batch_that_goes_well_is_one_call_one_row_in_any_case_and_no_rows_by_row_are_none() -> None:
    fussy = Fussy("111")
    answers = Caller(fussy).answers(X[2:])
    assert (answers.values.tolist(), answers.errors, answers.causes) == (ONES[2:], {}, {})
    answers = Caller(fussy).answers(X[1:2])
    assert (set(answers.errors), set(answers.causes)) == ({0}, {0})
    assert Caller(fussy, vectorized=False).answers(X[:0]).values.shape == (0,)
    assert fussy.calls == [["000", "010"], ["111"]]


def test_an_error_in_our_own_words_keeps_them_and_the_row_is_named() -> None:
    """Those of programs know better what happened, but not with which row."""

    def program(x: np.ndarray) -> np.ndarray:
        if (x.sum(axis=1) == 3).any():
            raise ObjectiveError(f"the program ended with {len(x)} rows")
        if (x.sum(axis=1) == 0).any():
            raise KeyError
        return x.sum(axis=1)

    answers = Caller(program).answers(X)
    assert answers.errors[1].startswith("the program ended with 1 rows")
    assert "the row 111" in answers.errors[1]
    assert isinstance(answers.causes[1], ObjectiveError)
    assert "raised KeyError for the row 000" in answers.errors[2]


def test_a_program_that_fails_with_a_batch_alone_says_how_large_it_was() -> None:
    def program(x: np.ndarray) -> np.ndarray:
        if len(x) > 1:
            raise ObjectiveError("the program ended")
        return x.sum(axis=1)

    with pytest.raises(ObjectiveError, match=r"^the program ended.* a batch of shape \(4, 3\)"):
        Caller(program).answers(X, first_failure_only=True)


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
    """Whatever fails, raises, or gives nan or infinity on the good side: the rest has the values of plain Python."""
    x = np.array(rows, dtype=np.uint8)

    def plain(row: Any) -> float | None:
        number = int("".join(map(str, row)), 2)
        return None if number % modulus == 0 else (-sign * np.inf if number == 1 else number / 7)

    def score(row: Any) -> float:
        value = plain(row)
        if value is None and raises:
            raise DownError
        return value if value is not None else np.nan if row[-1] else sign * np.inf

    objective: Callable[[Any], Any] = (lambda batch: [score(row) for row in batch]) if vectorized else score
    answers = Caller(objective, vectorized=vectorized, sign=sign).answers(x)
    expected = [plain(row) for row in rows]
    assert [None if np.isnan(value) else value for value in answers.values] == expected
    assert sorted(answers.errors) == [index for index, value in enumerate(expected) if value is None]
    for index, error in answers.errors.items():
        assert f"for the row {to_text(x[index])}" in error
        assert raises or f"use {-sign * np.inf:g} for what is infeasible" in error


@pytest.mark.parametrize("vectorized", [True, False])
def test_leaving_is_a_failure_and_an_interrupt_is_not(vectorized: bool) -> None:
    def leaving(x: np.ndarray) -> None:
        raise SystemExit(4)

    def interrupted(x: np.ndarray) -> None:
        raise KeyboardInterrupt

    assert len(Caller(leaving, vectorized=vectorized).answers(X).errors) == 4
    with pytest.raises(KeyboardInterrupt):
        Caller(interrupted, vectorized=vectorized).answers(X)


# Whose arrays


@pytest.mark.parametrize(("vectorized", "dtype"), [(True, np.int64), (True, np.uint8), (False, np.uint8)])
def test_what_goes_in_and_what_comes_out_are_copies(vectorized: bool, dtype: type) -> None:
    """The objective may change the rows that it gets, and, later, what it returned."""
    kinds: set[tuple[Any, int]] = set()
    kept = np.zeros(4)

    def spoil(x: np.ndarray) -> Any:
        kinds.add((x.dtype, x.ndim))
        ones = x.sum(axis=-1)
        x[...] = 7
        if not vectorized:
            return ones
        kept[:] = ones
        return kept

    x = X.copy()
    answers = Caller(spoil, vectorized=vectorized, dtype=dtype).answers(x)
    kept[:] = -1
    assert answers.values.tolist() == ONES
    assert np.array_equal(x, X)
    assert kinds == {(np.dtype(dtype), 2 if vectorized else 1)}


# What is masked


@pytest.mark.parametrize("vectorized", [True, False])
def test_what_is_masked_has_failed_and_the_row_is_named(vectorized: bool) -> None:
    """It is that row's failure, as nan is, for which there are policies, and no misuse of the others."""

    def objective(x: np.ndarray) -> Any:
        ones = x.sum(axis=-1)
        return np.ma.masked_where(ones == 3, np.where(ones == 3, 1e9, ones))

    answers = Caller(objective, vectorized=vectorized).answers(X)
    assert np.array_equal(answers.values, [2.0, np.nan, 0.0, 1.0], equal_nan=True)
    assert set(answers.errors) == {1}
    assert "for the row 111" in answers.errors[1]


# Rows in parts


@pytest.mark.parametrize(("most", "sizes"), [(10**6, [4]), (96, [4]), (95, [3, 1]), (48, [2, 2]), (1, [1, 1, 1, 1])])
def test_rows_come_in_parts_of_bounded_size_and_the_answers_are_the_same(most: int, sizes: list[int]) -> None:
    """An array of int64 takes eight times what the rows take, of which there may be gigabytes."""
    fussy = Fussy()
    answers = Caller(fussy, most_bytes=most).answers(X)
    assert [len(rows) for rows in fussy.calls] == sizes
    assert [row for rows in fussy.calls for row in rows] == ROWS
    assert answers.values.tolist() == ONES
    small = Caller(fussy, most_bytes=most, dtype=np.uint8)
    assert [part.stop - part.start for part in small.parts(X)] == ([4] if most >= 12 else [1, 1, 1, 1])


@pytest.mark.parametrize("most", [10**6, 48, 1])
@pytest.mark.parametrize("first_failure_only", [False, True])
def test_in_parts_the_same_rows_fail_for_the_same_reasons(most: int, first_failure_only: bool) -> None:
    whole, parts = (
        Caller(Fussy("010", "000"), most_bytes=size).answers(X, first_failure_only=first_failure_only)
        for size in (10**6, most)
    )
    assert parts.errors == whole.errors
    assert set(parts.causes) == set(whole.causes)
    assert np.array_equal(parts.values, whole.values, equal_nan=True)


class Base(BaseException):
    """What no `except Exception` catches."""


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), asyncio.CancelledError(), Base()], ids=repr)
def test_whatever_an_objective_raises_is_a_failure(error: BaseException) -> None:
    def raising(x: Any) -> Any:
        raise error

    answers = Caller(raising).answers(np.zeros((3, 2), np.uint8))
    assert len(answers.errors) == 3
    assert type(error).__name__ in answers.errors[0]
    with pytest.raises(KeyboardInterrupt):
        Caller(pressed).answers(np.zeros((3, 2), np.uint8))


def pressed(x: Any) -> Any:
    raise KeyboardInterrupt


def test_a_function_of_a_file_that_raises_is_told_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import math\n\ndef f(x):\n    return math.log(-1)\n")
    answers = Caller(load(f"{tmp_path / 'mine.py'}:f"), vectorized=False).answers(X[:1])
    assert "(mine.py, line 4)" in answers.errors[0]
