"""How an objective is called, and which results count as answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from all_rows import all_rows
from evaluation_helpers import answers
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.evaluation.answers import ObjectiveError, ObjectiveMisuse
from daedal.evaluation.caller import Caller
from daedal.settings.plugins import load
from daedal.types import to_text

X = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 0]], dtype=np.uint8)
ROWS = [to_text(row) for row in X]
ONES = [2.0, 3.0, 0.0, 1.0]


class DownError(Exception):
    """Error of a simulator."""


class Fussy:
    """Counts ones, refuses some candidates, and remembers its calls."""

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


# Numbers


@pytest.mark.parametrize(
    ("vectorized", "made"),
    [(True, list), (True, np.float32), (True, np.uint8), (False, int), (False, lambda v: [v]), (False, Fraction)],
)
def test_any_container_of_one_number_per_candidate_is_fine(vectorized: bool, made: Callable[[Any], Any]) -> None:
    values = answers(Caller(lambda x: made(x.sum(axis=-1)), vectorized=vectorized), X).values
    assert values.tolist() == ONES
    assert values.dtype == np.float64


def test_truth_values_large_integers_and_differences_are_numbers() -> None:
    assert answers(Caller(lambda x: x[:, 0] == 1), X).values.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert answers(Caller(lambda x: [10**30] * len(x)), X).values.tolist() == [1e30] * 4
    assert answers(Caller(lambda x: x[:, 0] - x[:, 1]), X).values.tolist() == [1.0, 0.0, 0.0, -1.0]


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (lambda x: None, "None; does it return"),
        (lambda x: x, r"shape=\(4, 3\)"),
        (lambda x: x.sum(), r"shape=\(\); .*vectorized=False"),
        (lambda x: [], r"shape=\(0,\)"),
        (lambda x: ["1", "2", "3", "4"], r"list \['1', '2', '3', '4'\]"),
        (lambda x: ["long words"] * 1000, r"\.\.\."),
    ],
)
def test_other_results_are_an_error_of_the_function_and_not_of_a_candidate(
    returned: Callable[[Any], Any], says: str
) -> None:
    calls: list[int] = []
    with pytest.raises(ObjectiveMisuse, match=says) as caught:
        answers(Caller(lambda x: calls.append(len(x)) or returned(x)), X)
    assert calls == [4]  # it is not called again for each candidate
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250
    calls.clear()
    with pytest.raises(ObjectiveMisuse):
        answers(Caller(lambda row: calls.append(1) or X[0], vectorized=False), X)
    assert calls == [1]


# Failures


@pytest.mark.parametrize("vectorized", [True, False])
def test_candidates_that_raise_are_found_and_their_errors_are_one_line(vectorized: bool) -> None:
    fussy = Fussy("111", "010")
    came = answers(Caller(fussy, vectorized=vectorized), X)
    assert fussy.calls == [*([ROWS] if vectorized else []), *([row] for row in ROWS)]
    assert np.array_equal(came.values, [2.0, np.nan, 0.0, np.nan], equal_nan=True)
    assert set(came.errors) == set(came.causes) == {1, 3}
    for index in (1, 3):
        assert f"DownError: no {ROWS[index]} for the candidate {ROWS[index]}" in came.errors[index]
        assert ("(1, 3)" in came.errors[index]) == vectorized  # how it was called
        assert isinstance(came.causes[index], DownError)


def test_the_first_failure_may_be_the_last_answer() -> None:
    fussy = Fussy("111", "010")
    came = answers(Caller(fussy), X, first_failure_only=True)
    assert fussy.calls == [ROWS, ["101"], ["111"]]
    assert (came.values[:1].tolist(), len(came.values), set(came.errors)) == ([2.0], 2, {1})


def test_a_function_that_raises_for_several_candidates_only_is_an_error_if_failures_are() -> None:
    caller = Caller(Fussy(batches=False))
    came = answers(caller, X)
    assert (came.values.tolist(), came.errors) == (ONES, {})
    with pytest.raises(ObjectiveError, match=r"one at a time for a batch of shape \(4, 3\)") as caught:
        answers(caller, X, first_failure_only=True)
    assert isinstance(caught.value.__cause__, DownError)


def test_an_error_of_a_program_keeps_its_text_and_gets_the_candidate() -> None:
    def program(x: np.ndarray) -> np.ndarray:
        if (x.sum(axis=1) == 3).any():
            raise ObjectiveError(f"the program ended with {len(x)} rows")
        return x.sum(axis=1)

    came = answers(Caller(program), X)
    assert came.errors[1].startswith("the program ended with 1 rows")
    assert "the candidate 111" in came.errors[1]


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(0, 1), min_size=5, max_size=5), min_size=1, max_size=12),
    modulus=st.integers(1, 6),
    vectorized=st.booleans(),
    raises=st.booleans(),
    sign=st.sampled_from([1, -1]),
    most=st.sampled_from([10**6, 100, 1]),
)
def test_exactly_the_candidates_that_fail_fail(
    rows: list[list[int]], modulus: int, vectorized: bool, raises: bool, sign: int, most: int
) -> None:
    """If some raise, or return nan or infinity on the good side, the others have the values of plain Python."""
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
    came = answers(Caller(objective, vectorized=vectorized, sign=sign, most_bytes=most), x)
    expected = [plain(row) for row in rows]
    assert [None if np.isnan(value) else value for value in came.values] == expected
    assert sorted(came.errors) == [index for index, value in enumerate(expected) if value is None]
    for index, error in came.errors.items():
        assert f"for the candidate {to_text(x[index])}" in error
        assert raises or f"return {-sign * np.inf:g} for infeasible" in error


class Base(BaseException):
    """An error that no `except Exception` catches."""


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), asyncio.CancelledError(), Base()], ids=repr)
@pytest.mark.parametrize("vectorized", [True, False])
def test_any_exception_is_a_failure_except_an_interrupt(error: BaseException, vectorized: bool) -> None:
    def raising(x: Any) -> Any:
        raise error

    def pressed(x: Any) -> Any:
        raise KeyboardInterrupt

    came = answers(Caller(raising, vectorized=vectorized), X)
    assert len(came.errors) == 4
    assert type(error).__name__ in came.errors[0]
    with pytest.raises(KeyboardInterrupt):
        answers(Caller(pressed, vectorized=vectorized), X)


def test_an_error_in_a_users_file_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import math\n\ndef f(x):\n    return math.log(-1)\n")
    came = answers(Caller(load(f"{tmp_path / 'mine.py'}:f"), vectorized=False), X[:1])
    assert "(mine.py, line 4)" in came.errors[0]


# Arrays


@pytest.mark.parametrize(("vectorized", "dtype"), [(True, np.int64), (True, np.uint8), (False, np.uint8)])
def test_arrays_that_go_in_and_come_out_are_copies(vectorized: bool, dtype: type) -> None:
    """The objective may change the candidates that it gets, and, later, the array that it returned."""
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
    came = answers(Caller(spoil, vectorized=vectorized, dtype=dtype), x)
    kept[:] = -1
    assert came.values.tolist() == ONES
    assert np.array_equal(x, X)
    assert kinds == {(np.dtype(dtype), 2 if vectorized else 1)}


@pytest.mark.parametrize(("most", "sizes"), [(10**6, [4]), (96, [4]), (95, [3, 1]), (48, [2, 2]), (1, [1, 1, 1, 1])])
def test_candidates_come_in_parts_of_bounded_size(most: int, sizes: list[int]) -> None:
    """An array of int64 takes eight times the memory of the candidates, of which there may be gigabytes."""
    fussy = Fussy()
    assert answers(Caller(fussy, most_bytes=most), X).values.tolist() == ONES
    assert [len(rows) for rows in fussy.calls] == sizes
    assert [row for rows in fussy.calls for row in rows] == ROWS


# Constraints

CUBE = all_rows(3)
COUNT = CUBE.sum(axis=1).astype(float)


def pair(x: Any) -> Any:
    return x.sum(axis=1), np.column_stack([x.sum(axis=1) - 2, -x[:, 0]])


def test_pairs_and_functions_have_the_same_constraint_values() -> None:
    def spoiling(x: Any) -> Any:
        outputs = x.sum(axis=1) - 2
        x[:] = 7
        return outputs

    def row(x: Any) -> Any:
        return x.sum(), [x.sum() - 2, -x[0]]

    both = answers(Caller(pair, violations=True), CUBE)
    apart = answers(Caller(lambda x: x.sum(axis=1), constraints=(spoiling, lambda x: -x[:, 0])), CUBE)
    singly = answers(Caller(row, vectorized=False, violations=True), CUBE)
    for came in (both, apart, singly):
        assert came.outputs is not None
        assert np.array_equal(came.outputs, np.column_stack([COUNT, COUNT - 2, -CUBE[:, 0].astype(float)]))
        assert np.array_equal(came.values[COUNT <= 2], COUNT[COUNT <= 2])
        assert (came.values[COUNT > 2] < -1e200).all()


@pytest.mark.parametrize(
    ("objective", "vectorized", "size"),
    [
        (pair, True, 2),
        (lambda x: (x.sum(axis=1), [0.0] * len(x)), True, 2),
        (lambda row: (float(row.sum()), -3.0), False, 2),
        (lambda row: (float(row.sum()), -3.0, 1.0), False, 3),
    ],
)
@pytest.mark.parametrize("constraints", [(), (lambda x: x.sum(axis=-1),)])
def test_a_tuple_that_was_not_announced_is_refused_with_both_ways_out(
    objective: Any, vectorized: bool, size: int, constraints: Any
) -> None:
    caller = Caller(objective, vectorized=vectorized, constraints=constraints)
    with pytest.raises(ObjectiveMisuse, match=rf"tuple of {size}; return .* value alone, or.* violations=True \(--v"):
        answers(caller, CUBE)


def test_two_numbers_for_two_candidates_are_no_pair() -> None:
    came = answers(Caller(lambda x: tuple(x.sum(axis=1).tolist())), CUBE[1:3])
    assert (came.outputs, came.values.tolist()) == (None, COUNT[1:3].tolist())


@pytest.mark.parametrize(
    ("objective", "says"),
    [
        (lambda x: x.sum(axis=1), "pair .* got ndarray"),
        (lambda x: (x.sum(axis=1),), "pair .* got a tuple of 1"),
        (lambda x: (x.sum(axis=1), None), "pair .* got None as violations"),
        (lambda x: (x.sum(axis=1), np.zeros(len(x) + 1)), r"violations.*got shape=\(9,\)"),
        (lambda x: (x.sum(axis=1), np.zeros((len(x), 2, 2))), r"got shape=\(8, 2, 2\)"),
        (lambda x: (x.sum(axis=1), np.zeros((len(x), 0))), r"got shape=\(8, 0\)"),
        (lambda x: (x.sum(axis=1), "no"), "as violations"),
    ],
)
def test_announced_violations_have_to_come(objective: Callable[[Any], Any], says: str) -> None:
    with pytest.raises(ObjectiveMisuse, match=says):
        answers(Caller(objective, violations=True), CUBE)


def test_a_constraint_that_raises_or_is_not_finite_is_a_failure_of_the_candidate() -> None:
    def raising(row: Any) -> float:
        if row.sum() == 3:
            raise ZeroDivisionError("three")
        return np.inf if row.sum() == 0 else -1.0

    came = answers(Caller(lambda row: float(row.sum()), vectorized=False, constraints=(raising,)), CUBE)
    assert set(came.errors) == {0, 7}
    assert "constraint 1 raised ZeroDivisionError: three for the candidate 111" in came.errors[7]
    assert "expected a finite number from constraint 1, got inf" in came.errors[0]
    assert came.outputs is not None
    assert np.isnan(came.outputs[[0, 7]]).all()
    large = answers(Caller(lambda row: (1e200, -1.0), vectorized=False, violations=True), CUBE[:1])
    assert "between -1e+200 and 1e+200" in large.errors[0]


def test_the_number_of_constraints_may_not_change() -> None:
    with pytest.raises(ObjectiveMisuse, match="1 violations after 2"):
        answers(Caller(lambda row: (0, [0] * (2 - row[0])), vectorized=False, violations=True), CUBE)
