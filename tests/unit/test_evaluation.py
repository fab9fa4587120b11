"""The one place where objectives are called."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from daedal.evaluation import Evaluator, ObjectiveError

X = np.array([[1, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 0]], dtype=np.uint8)
ONES = [2.0, 3.0, 0.0, 1.0]


def fails(objective: Callable[[Any], Any], says: str, evaluated: int = 0, **how: Any) -> ObjectiveError:
    """An evaluation of X fails and says so, with so many rows evaluated before."""
    evaluate = Evaluator(objective, **how)
    with pytest.raises(ObjectiveError, match=says) as caught:
        evaluate(X)
    assert evaluate.evaluations == evaluate.carried_out == evaluated
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "objective",
    [
        lambda x: x.sum(axis=1),
        lambda x: x.sum(axis=1).tolist(),
        lambda x: tuple(x.sum(axis=1)),
        lambda x: x.sum(axis=1).astype(np.float32),
        lambda x: x.sum(axis=1).astype(np.uint8),
        lambda x: [Fraction(int(v)) for v in x.sum(axis=1)],
        lambda x: [Decimal(int(v)) for v in x.sum(axis=1)],
        lambda x: np.ma.array(x.sum(axis=1)),
    ],
)
def test_whatever_holds_one_number_a_row_is_fine(objective: Callable[[Any], Any]) -> None:
    fitness = Evaluator(objective)(X)
    assert fitness.tolist() == ONES
    assert fitness.dtype == np.float64


def test_truth_values_and_large_whole_numbers_are_numbers() -> None:
    assert Evaluator(lambda x: x[:, 0] == 1)(X).tolist() == [1.0, 1.0, 0.0, 0.0]
    assert Evaluator(lambda x: [10**30] * len(x))(X).tolist() == [1e30] * 4


@pytest.mark.parametrize("returned", [int, float, np.float64, np.array, lambda v: [v], Fraction])
def test_a_function_of_one_row_gives_the_same(returned: Callable[[int], Any]) -> None:
    assert Evaluator(lambda row: returned(int(row.sum())), vectorized=False)(X).tolist() == ONES


def test_a_function_of_one_row_gets_rows() -> None:
    seen: list[np.ndarray] = []
    Evaluator(lambda row: seen.append(row.copy()) or 0.0, vectorized=False)(X)
    assert np.array_equal(seen, X)
    assert all(row.shape == (3,) for row in seen)


def test_subtraction_means_what_it_says() -> None:
    assert Evaluator(lambda x: x[:, 0] - x[:, 1])(X).tolist() == [1.0, 0.0, 0.0, -1.0]
    assert Evaluator(lambda x: (2 * x - 1).sum(axis=1))(X).tolist() == [1.0, 3.0, -3.0, -1.0]


def test_a_problem_may_have_uint8() -> None:
    kinds = []
    Evaluator(lambda x: kinds.append(x.dtype) or x.sum(axis=1), dtype=np.uint8)(X)
    assert kinds == [np.uint8]


def test_minimising_turns_the_sign() -> None:
    assert Evaluator(lambda x: x.sum(axis=1), sign=-1)(X).tolist() == [-2.0, -3.0, 0.0, -1.0]
    assert Evaluator(lambda row: row.sum(), sign=-1, vectorized=False)(X).tolist() == [-2.0, -3.0, 0.0, -1.0]


def test_rows_are_counted() -> None:
    evaluate = Evaluator(lambda x: x.sum(axis=1))
    evaluate(X)
    evaluate(X[:1])
    assert evaluate.evaluations == 5


def test_what_the_objective_does_to_its_rows_stays_there() -> None:
    x = X.copy()

    def spoil(rows: np.ndarray) -> np.ndarray:
        ones = rows.sum(axis=1)
        rows[...] = 9
        return ones

    assert Evaluator(spoil)(x).tolist() == ONES
    assert Evaluator(spoil, dtype=np.uint8)(x).tolist() == ONES
    assert np.array_equal(x, X)


def test_an_objective_may_keep_and_change_what_it_returned() -> None:
    kept = np.zeros(4)

    def reuse(rows: np.ndarray) -> np.ndarray:
        kept[...] = rows.sum(axis=1)
        return kept

    fitness = Evaluator(reuse)(X)
    kept[...] = -1
    assert fitness.tolist() == ONES


@pytest.mark.parametrize("vectorized", [True, False])
def test_what_the_objective_raises_is_chained(vectorized: bool) -> None:
    own = ZeroDivisionError("by\nzero")

    def broken(x: np.ndarray) -> None:
        raise own

    where = r"for the row 101; .*, here of shape \(1, 3\) \(for a function" if vectorized else "for the row 101$"
    error = fails(broken, f"the objective raised ZeroDivisionError: by zero {where}", vectorized=vectorized)
    assert error.__cause__ is own
    assert isinstance(error, ValueError)


def test_an_exception_without_words_is_named() -> None:
    def broken(x: np.ndarray) -> None:
        raise KeyError

    fails(broken, "the objective raised KeyError for the row 101")


def test_an_interrupt_passes() -> None:
    def interrupted(x: np.ndarray) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Evaluator(interrupted)(X)


def test_an_objective_that_exits_does_not_end_the_program_in_silence() -> None:
    def leaving(x: np.ndarray) -> None:
        sys.exit(0)

    with pytest.raises(ObjectiveError, match="the objective raised SystemExit: 0"):
        Evaluator(leaving)(X)


@pytest.mark.parametrize(
    ("objective", "says"),
    [
        (lambda x: None, "expected numbers from the objective, got None; does it return its result"),
        (lambda x: x, r"expected one number a row, shape \(4,\), from the objective, got shape=\(4, 3\)"),
        (lambda x: x.sum(), r"shape \(4,\), from the objective, got shape=\(\); .*vectorized=False"),
        (lambda x: x.sum(axis=0), r"got shape=\(3,\)"),
        (lambda x: x.sum(axis=1)[:, None], r"got shape=\(4, 1\)"),
        (lambda x: [], r"got shape=\(0,\)"),
        (lambda x: ["a", "b", "c", "d"], r"expected numbers from the objective, got list \['a', 'b', 'c', 'd'\]"),
        (lambda x: ["1", "2", "3", "4"], "expected numbers from the objective, got list"),
        (lambda x: "1234", "got str '1234'"),
        (lambda x: x.sum(axis=1) * 1j, "got ndarray array"),
        (lambda x: [1, [2, 3], 4, 5], "expected numbers from the objective, got list"),
        (lambda x: [object()] * 4, "got list"),
        (lambda x: {"a": 1}, "got dict {'a': 1}"),
        (lambda x: (v for v in x), "got generator"),
        (
            lambda x: [10**400] * len(x),
            "expected numbers from the objective, got numbers beyond those of a float in list",
        ),
        (lambda x: np.array(["2020-01-01"] * 4, dtype="M8[D]"), "got ndarray"),
    ],
)
def test_what_is_not_one_number_a_row_is_refused(objective: Callable[[Any], Any], says: str) -> None:
    fails(objective, says)


def test_text_in_an_array_of_objects_is_text_still() -> None:
    fails(lambda x: np.array(["1", "2", "3", "4"], dtype=object), "expected numbers from the objective")


@pytest.mark.parametrize(
    ("objective", "says"),
    [
        (lambda row: row, r"expected one number for a row from the objective, got shape=\(3,\)"),
        (lambda row: None, "got None"),
        (lambda row: "1", "got str '1'"),
        (lambda row: [[1.0]], r"got shape=\(1, 1\)"),
    ],
)
def test_what_is_not_one_number_for_a_row_is_refused(objective: Callable[[Any], Any], says: str) -> None:
    fails(objective, says, vectorized=False)


@pytest.mark.parametrize("vectorized", [True, False])
def test_nan_is_refused_with_the_row_it_came_for(vectorized: bool) -> None:
    def f(x: np.ndarray) -> Any:
        ones = np.asarray(x.sum(axis=-1), dtype=float)
        return np.where(ones <= 1, np.nan, ones)

    so_far = r" \(2 of 4 rows failed so far\)" if vectorized else ""  # one by one, the first is the last
    says = "expected finite numbers from the objective, got nan for the row 000; use -inf for what is infeasible"
    fails(f, f"{says}{so_far}$", vectorized=vectorized, evaluated=2)


def test_infinity_is_refused_on_the_good_side_only() -> None:
    def f(value: float) -> Callable[[np.ndarray], Any]:
        return lambda x: np.where(x[:, 0] == 1, value, 0.0)

    so_far = r"what is infeasible \(2 of 4 rows failed so far\)$"
    fails(f(np.inf), f"got inf for the row 101; use -inf for {so_far}", evaluated=2)
    fails(f(-np.inf), f"got -inf for the row 101; use inf for {so_far}", evaluated=2, sign=-1)
    assert Evaluator(f(-np.inf))(X).tolist() == [-np.inf, -np.inf, 0.0, 0.0]
    assert Evaluator(f(np.inf), sign=-1)(X).tolist() == [-np.inf, -np.inf, 0.0, 0.0]


def test_a_long_answer_is_shortened() -> None:
    error = fails(lambda x: ["long words"] * 1000, re.escape("..."))
    assert len(str(error)) < 120
