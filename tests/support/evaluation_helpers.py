"""Helpers of tests of evaluations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from all_rows import all_rows

from daedal.evaluation.answers import Answers, side_by_side
from daedal.evaluation.caller import Caller
from daedal.evaluation.evaluation import Evaluation
from daedal.types import Bits


def rows_of(*texts: str) -> Bits:
    """Return candidates from texts of 0 and 1."""
    return np.array([[int(bit) for bit in text] for text in texts], dtype=np.uint8)


def answers(caller: Caller, x: Bits, *, first_failure_only: bool = False) -> Answers:
    """Return the answers of an objective for candidates, as one."""
    return side_by_side([Answers(np.empty(0)), *caller.pieces(x, first_failure_only=first_failure_only)])


ROWS = all_rows(12)  # the numbers from 0 on


def number_of(row: Any) -> int:
    return int(row @ (1 << np.arange(12)))


def score(row: Any) -> float:
    return number_of(row) * 1.5 - 7


def collected(evaluate: Evaluation) -> tuple[dict[int, float], dict[int, str]]:
    """Wait for all that waits: each candidate has exactly one answer."""
    values, errors = dict[int, float](), dict[int, str]()
    while evaluate.waiting:
        done = evaluate.wait()
        assert not values.keys() & set(done.tickets)
        values |= dict(zip(done.tickets, done.values.tolist(), strict=True))
        errors |= done.errors
    assert evaluate.wait(0.0).tickets == []
    assert set(errors) == {ticket for ticket, value in values.items() if math.isnan(value)}
    return values, errors


def check(evaluate: Evaluation, count: int, failing: set[int] | frozenset[int] = frozenset()) -> dict[int, str]:
    """The first numbers have their values, apart from some that fail."""
    evaluate.submit(range(count), ROWS[:count])
    values, errors = collected(evaluate)
    assert {number: value for number, value in values.items() if number not in failing} == {
        number: score(ROWS[number]) for number in range(count) if number not in failing
    }
    assert set(errors) == failing
    return errors
