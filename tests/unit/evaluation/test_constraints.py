"""Constraints on their way: pairs, functions, and what counts as an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from evaluation_helpers import every

from daedal.evaluation.caller import Caller, ObjectiveMisuse
from daedal.evaluation.evaluation import Evaluation

X = every(3)
COUNT = X.sum(axis=1).astype(float)


def pair(x: Any) -> Any:
    return x.sum(axis=1), np.column_stack([x.sum(axis=1) - 2, -x[:, 0]])


def test_pairs_and_functions_give_the_same_amounts_from_copies_of_the_rows() -> None:
    def spoiling(x: Any) -> Any:
        amounts = x.sum(axis=1) - 2
        x[:] = 7
        return amounts

    both = Caller(pair).answers(X)
    apart = Caller(lambda x: x.sum(axis=1), constraints=(spoiling, lambda x: -x[:, 0])).answers(X)
    rows = Caller(lambda row: (row.sum(), [row.sum() - 2, -row[0]]), vectorized=False).answers(X)
    for answers in (both, apart, rows):
        assert answers.amounts is not None
        assert np.array_equal(answers.amounts, np.column_stack([COUNT, COUNT - 2, -X[:, 0].astype(float)]))
        assert np.array_equal(answers.values[COUNT <= 2], COUNT[COUNT <= 2])
        assert (answers.values[COUNT > 2] < -1e200).all()


def test_two_numbers_for_two_rows_are_no_pair() -> None:
    answers = Caller(lambda x: tuple(x.sum(axis=1).tolist())).answers(X[1:3])
    assert answers.amounts is None
    assert answers.values.tolist() == COUNT[1:3].tolist()


@pytest.mark.parametrize(
    ("objective", "said"),
    [
        (lambda x: (x.sum(axis=1), np.zeros(len(x) + 1)), r"violations.*got shape=\(9,\)"),
        (lambda x: (x.sum(axis=1), np.zeros((len(x), 2, 2))), r"got shape=\(8, 2, 2\)"),
        (lambda x: (x.sum(axis=1), None), "got None"),
        (lambda x: (x.sum(axis=1), "no"), "as violations"),
    ],
)
def test_violations_of_another_shape_are_misuse(objective: Callable[[Any], Any], said: str) -> None:
    with pytest.raises(ObjectiveMisuse, match=said):
        Caller(objective).answers(X)


def test_a_constraint_gives_one_amount_per_row() -> None:
    with pytest.raises(ObjectiveMisuse, match=r"constraint 2, got shape=\(8, 3\)"):
        Caller(lambda x: x.sum(axis=1), constraints=(lambda x: x[:, 0], lambda x: x)).answers(X)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_amount_that_is_no_number_is_a_failure(bad: float) -> None:
    caller = Caller(lambda x: x.sum(axis=1), constraints=(lambda x: np.where(x.all(axis=1), bad, -1.0),))
    answers = caller.answers(X)
    assert list(answers.errors) == [7]
    assert f"constraint 1, got {bad:g} for the row 111" in answers.errors[7]
    assert np.array_equal(answers.values[:7], COUNT[:7])


def test_feasible_values_beyond_the_largest_are_refused() -> None:
    caller = Caller(lambda x: 1e201 * x.sum(axis=1), constraints=(lambda x: x.sum(axis=1) - 1,))
    answers = caller.answers(X)
    assert set(answers.errors) == {1, 2, 4}
    assert "between -1e+200 and 1e+200" in answers.errors[1]


def test_a_number_of_constraints_that_changes_is_refused() -> None:
    def changing(x: Any) -> Any:
        return x.sum(axis=1), np.zeros((len(x), len(x)))

    for f, second, now in ((changing, X[2:5], 3), (lambda x: pair(x) if len(x) > 1 else x.sum(axis=1), X[2:3], 0)):
        evaluate = Evaluation(Caller(f))
        evaluate.submit([0, 1], X[:2])
        assert evaluate.wait().tickets == [0, 1]
        evaluate.submit(range(2, 2 + len(second)), second)
        with pytest.raises(ObjectiveMisuse, match=f"got {now} after 2"):
            evaluate.wait()
    with pytest.raises(ObjectiveMisuse, match="got 1 after 2"):
        Caller(lambda row: (0, [0] * (2 - row[0])), vectorized=False).answers(X)
