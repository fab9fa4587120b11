"""Evaluation of candidates: answers one at a time, failures, interruptions, constraints; real processes and threads."""

from __future__ import annotations

import math
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from evaluation_helpers import ROWS, check, number_of, score

from daedal.evaluation.answers import ObjectiveError, ObjectiveMisuse
from daedal.evaluation.caller import Caller
from daedal.evaluation.evaluation import HOPELESS, Evaluation, Here
from daedal.evaluation.options import EvaluationOptions


def evaluation(objective: Any = score, *, vectorized: bool = False, **options: Any) -> Evaluation:
    return Evaluation(Caller(objective, vectorized=vectorized), options=EvaluationOptions(**options))


# In this process


def test_a_function_of_batches_gets_all_that_was_submitted_in_parts_that_fit_into_memory() -> None:
    sizes: list[int] = []
    caller = Caller(lambda x: sizes.append(len(x)) or x @ (1 << np.arange(12)) * 1.5 - 7, most_bytes=8 * 12 * 10)
    evaluate = Evaluation(caller)
    evaluate.submit([0, 1], ROWS[:2])
    evaluate.submit([2], ROWS[2:3])
    assert evaluate.wait().tickets == [0, 1, 2]
    check(evaluate, 25)
    assert sizes == [3, 10, 10, 5]


@pytest.mark.parametrize("vectorized", [False, True])
def test_answers_of_slow_candidates_come_one_at_a_time_and_an_interruption_loses_none(vectorized: bool) -> None:
    """So, too, where a function of batches raises and its candidates are tried one by one."""
    now, calls = [0.0], list[int]()

    def f(x: Any) -> Any:
        if vectorized and len(x) > 1:
            raise RuntimeError("one at a time")
        number = number_of(x.reshape(-1))
        calls.append(number)
        now[0] += 0.04 if number < 6 else 5.0
        if number == 8 and calls.count(8) == 1:
            raise KeyboardInterrupt
        return np.array([score(x.reshape(-1))]) if vectorized else score(x)

    caller = Caller(f, vectorized=vectorized)
    evaluate = Evaluation(caller, backend=Here(caller, clock=lambda: now[0]))
    evaluate.submit(range(10), ROWS[:10])
    came = [evaluate.wait() for _ in range(4)]
    assert [done.tickets for done in came] == [[0, 1, 2], [3, 4, 5], [6], [7]]
    assert [round(done.seconds, 9) for done in came] == [0.04, 0.04, 5, 5]
    with pytest.raises(KeyboardInterrupt):
        evaluate.wait()
    assert evaluate.finished().tickets == []
    assert [evaluate.wait(0.0).tickets for _ in range(2)] == [[8], [9]]

    evaluate.submit(range(3), ROWS[[0, 1, 8]])
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        evaluate.wait()
    assert evaluate.finished().tickets == [0, 1]
    assert evaluate.waiting == 1


def test_a_function_that_raises_for_a_batch_but_for_no_candidate_is_an_error() -> None:
    def f(x: Any) -> Any:
        if len(x) > 1:
            raise TypeError("only one")
        return np.array([score(x[0])])

    evaluate = evaluation(f, vectorized=True)
    evaluate.submit([0, 1], ROWS[:2])
    assert evaluate.wait().tickets == [0, 1]
    with pytest.raises(ObjectiveError, match=r"only one.*vectorized=False") as caught:
        evaluate.wait()
    assert isinstance(caught.value.__cause__, TypeError)
    check(evaluation(f, vectorized=True, on_error="worst"), 5)


# Failures


@pytest.mark.parametrize(
    ("policy", "times", "tries", "value"),
    [
        ("retry:2", 0, 1, 3.0),
        ("retry:2", 2, 3, 3.0),
        ("retry:2,worst", 2, 3, 3.0),
        ("retry:2,worst", 3, 3, math.nan),
        ("worst", 1, 1, math.nan),
        ("raise", 1, 1, None),
        ("retry:2", 3, 3, None),
    ],
)
def test_a_candidate_is_tried_as_often_as_the_policy_says_and_no_answer_beside_it_is_lost(
    policy: str, times: int, tries: int, value: float | None
) -> None:
    calls: list[int] = []

    def f(row: Any) -> float:
        calls.append(number := number_of(row))
        if number == 3 and calls.count(3) <= times:
            raise RuntimeError("three")
        return float(number)

    evaluate, values = evaluation(f, on_error=policy), dict[int, float]()
    evaluate.submit([10, 30, 20], ROWS[[1, 3, 2]])
    caught: ObjectiveError | None = None
    while evaluate.waiting:
        try:
            done = evaluate.wait()
        except ObjectiveError as error:
            caught = error
        else:
            values |= dict(zip(done.tickets, done.values.tolist(), strict=True))
    assert values.pop(30, None) == pytest.approx(value, nan_ok=True)
    assert values == {10: 1.0, 20: 2.0}
    assert (calls.count(1), calls.count(3), calls.count(2)) == (1, tries, 1)
    assert (caught is None) == (value is not None)
    if caught is not None:
        assert isinstance(caught.__cause__, RuntimeError)
        assert "three for the candidate 110000000000" in str(caught)


def test_an_error_says_how_many_failed() -> None:
    evaluate = evaluation(lambda x: np.where(x[:, 0] > 0, np.nan, 1.0), vectorized=True)
    evaluate.submit(range(4), ROWS[:4])
    assert evaluate.wait().tickets == [0, 2]
    with pytest.raises(ObjectiveError, match=r"nan for the candidate 1000.*\(2 of 4 candidates"):
        evaluate.wait()
    assert evaluate.waiting == 0


@pytest.mark.parametrize("first_value", [None, 0, HOPELESS - 1, HOPELESS])
def test_a_run_that_tolerates_failures_ends_when_nothing_has_worked_for_long(first_value: int | None) -> None:
    def f(row: Any) -> float:
        return score(row) if number_of(row) == first_value else math.nan

    evaluate = evaluation(f, on_error="worst")
    for number in range(HOPELESS):
        evaluate.submit([number], ROWS[number : number + 1])
        assert evaluate.wait().tickets == [number]
    evaluate.submit([100], ROWS[100:101])
    if first_value in (None, HOPELESS):
        with pytest.raises(ObjectiveError, match=r"first 20 candidates failed; the first error: .*nan"):
            evaluate.wait()
        evaluate.has_values = True  # known from before
    assert evaluate.wait().errors.keys() == {100}
    with pytest.raises(ObjectiveMisuse, match="None"):  # no policy helps with that
        check(evaluation(lambda row: None, on_error="worst"), 1)


# Constraints


def test_with_constraints_outputs_come_beside_merits_and_their_number_is_checked() -> None:
    def f(row: Any) -> Any:
        if row[5]:
            raise RuntimeError("five")
        return float(row.sum()), [row[0] - 0.5] * (1 + row[4])

    evaluate = Evaluation(Caller(f, vectorized=False, violations=True), options=EvaluationOptions(on_error="worst"))
    evaluate.submit([0], ROWS[32:33])
    assert (evaluate.wait().outputs, evaluate.constraints) == (None, None)
    evaluate.submit(range(1, 4), ROWS[[6, 7, 39]])
    done = evaluate.wait()
    assert np.array_equal(done.outputs, [[2, -0.5], [3, 0.5], [np.nan, np.nan]], equal_nan=True)
    assert done.values[0] == 2 > 0 > -1e200 > done.values[1]
    assert (evaluate.constraints, done.errors.keys()) == (1, {3})
    evaluate.submit([5, 6], ROWS[[6, 16]])
    assert evaluate.wait().tickets == [5]
    with pytest.raises(ObjectiveMisuse, match="2 violations after 1"):
        evaluate.wait()


# Real workers


def difficult(row: Any) -> float:
    number = number_of(row)
    if number == 5:
        os._exit(3)
    if number == 7:
        time.sleep(1000)
    if number == 11:
        raise ValueError("eleven")
    return score(row)


def test_processes_die_and_hang_and_the_others_are_evaluated() -> None:
    with evaluation(difficult, workers=2, timeout=0.5, on_error="worst") as evaluate:
        assert evaluate.size == 2
        errors = check(evaluate, 60, {5, 7, 11})
        assert ("exit code 3" in errors[5], "timeout=0.5 s" in errors[7], "eleven" in errors[11]) == (True, True, True)
        evaluate.submit([1], ROWS[1:2])
    assert evaluate.waiting == 0


def test_threads_evaluate_and_a_candidate_that_takes_too_long_has_failed() -> None:
    released = threading.Event()

    def hangs(row: Any) -> float:
        if number_of(row) == 6:
            released.wait(60)
        return score(row)

    with ThreadPoolExecutor(2) as executor:
        with evaluation(hangs, executor=executor, timeout=0.2, on_error="worst") as evaluate:
            assert evaluate.size == 2
            assert "timeout=0.2 s" in check(evaluate, 20, {6})[6]
        released.set()
