"""Constraints on their way: pairs, functions, what counts as an answer, the best row, states, caches."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation_helpers import every

from daedal.evaluation.caller import Caller, ObjectiveMisuse
from daedal.evaluation.evaluator import Evaluator
from daedal.evaluation.options import EvaluationOptions
from daedal.evaluation.sqlite_cache import SQLiteCache

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
    with Evaluator(caller, n=3, options=EvaluationOptions(on_error="worst")) as evaluator:
        assert evaluator(X).tolist() == [*COUNT[:7].tolist(), -np.inf]
        assert evaluator.failed == 1


def test_feasible_values_beyond_the_largest_are_refused() -> None:
    caller = Caller(lambda x: 1e201 * x.sum(axis=1), constraints=(lambda x: x.sum(axis=1) - 1,))
    answers = caller.answers(X)
    assert set(answers.errors) == {1, 2, 4}
    assert "between -1e+200 and 1e+200" in answers.errors[1]


def test_a_number_of_constraints_that_changes_is_refused() -> None:
    def changing(x: Any) -> Any:
        return x.sum(axis=1), np.zeros((len(x), len(x)))

    with Evaluator(Caller(changing), n=3) as evaluator:
        evaluator(X[:2])
        with pytest.raises(ObjectiveMisuse, match="got 3 after 2"):
            evaluator(X[2:5])
    with Evaluator(Caller(lambda x: pair(x) if len(x) > 1 else x.sum(axis=1)), n=3) as evaluator:
        evaluator(X[:2])
        with pytest.raises(ObjectiveMisuse, match="got 0 after 2"):
            evaluator(X[2:3])
    with pytest.raises(ObjectiveMisuse, match="got 1 after 2"):
        Caller(lambda row: (0, [0] * (2 - row[0])), vectorized=False).answers(X)


def test_the_best_row_is_part_of_the_state_and_so_are_amounts_that_came_before_the_end() -> None:
    def ends(row: Any) -> Any:
        if row.all():
            raise KeyboardInterrupt
        return 9 - row.sum(), [3 - row.sum(), -1.0]

    def never(row: Any) -> Any:
        return 9 - row.sum(), [3 - row.sum(), -1.0]

    broken = Evaluator(Caller(ends, vectorized=False), n=3, seconds_between_notes=0.0)
    broken(X[:2])
    with pytest.raises(KeyboardInterrupt):
        broken.evaluate(X)
    again = Evaluator(Caller(never, vectorized=False), n=3)
    again.restore(broken.state())
    whole = Evaluator(Caller(never, vectorized=False), n=3)
    whole(X[:2])
    for evaluator in (broken, again):
        best = evaluator.standing()
        assert best is not None
        assert (best.x.tolist(), best.violations) == (X[3].tolist(), (1.0, 0.0))
    assert np.array_equal(again.evaluate(X), whole.evaluate(X))
    assert np.array_equal(again.amounts(), whole.amounts(), equal_nan=True)  # type: ignore[arg-type]
    again.commit()
    whole.commit()
    assert again.standing().x.tolist() == whole.standing().x.tolist() == [1, 1, 1]  # type: ignore[union-attr]
    assert again.evaluated == whole.evaluated


def test_values_without_violations_are_no_answer_to_who_has_constraints(tmp_path: Path) -> None:
    def opened() -> SQLiteCache:
        return SQLiteCache(tmp_path / "c", n=3, objective="f")

    with opened() as cache, Evaluator(Caller(lambda x: x.sum(axis=1)), n=3, cache=cache) as plain:
        plain(X)
    for evaluated, constrained in ((8, True), (0, True), (0, False)):
        with opened() as cache, Evaluator(Caller(pair), n=3, cache=cache, constrained=constrained) as one:
            assert one(X)[7] < -1e200
            assert one.evaluated == evaluated
            assert one.standing().amounts.tolist() == [2.0, 0.0, -1.0]  # type: ignore[union-attr]
    three = Caller(lambda x: x.sum(axis=1), constraints=(lambda x: x[:, 0],) * 3)
    with opened() as cache, Evaluator(three, n=3, cache=cache) as other:
        other._standings.count = 3  # as after a first answer
        with pytest.raises(ValueError, match="with 2 constraints, and it has 3 now"):
            other(X)


def test_a_cache_of_the_second_format_is_brought_up(tmp_path: Path) -> None:
    with SQLiteCache(tmp_path / "c", n=3, objective="f") as cache:
        cache.add(X[:2], np.array([1.5, 2.5]))
    with closing(sqlite3.connect(tmp_path / "c")) as old:
        old.executescript("ALTER TABLE evaluation DROP COLUMN amounts; PRAGMA user_version = 2;")
    with SQLiteCache(tmp_path / "c", n=3, objective="f") as cache:
        assert cache.find(X[:2])[0].tolist() == [1.5, 2.5]
        cache.add(X[:1], np.array([9.0]), np.array([[9.0, 0.5]]))
        assert cache.find_ahead(X[:1]).amounts.tolist() == [[1.5, 0.5]]  # type: ignore[union-attr]
