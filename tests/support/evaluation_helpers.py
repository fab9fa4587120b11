"""What tests of evaluations share."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from daedal.evaluation.evaluation import Evaluation
from daedal.types import Bits


def rows_of(*texts: str) -> Bits:
    """Give rows that are written as texts of 0 and 1."""
    return np.array([[int(bit) for bit in text] for text in texts], dtype=np.uint8)


def every(n: int) -> Bits:
    """Give all rows of n bits, the first of which counts one."""
    return ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.uint8)


def found(cache: Any, rows: Bits) -> list[float | None]:
    """Give what a cache knows of rows, in plain Python."""
    values, known = cache.find(rows)
    assert values.shape == known.shape == (len(rows),)
    assert (values.dtype, known.dtype) == (np.float64, np.bool_)
    assert np.isnan(values[~known]).all()
    return [float(value) if is_known else None for value, is_known in zip(values, known, strict=True)]


def wait_until(is_true: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Wait for something that has to happen some time."""
    deadline = time.monotonic() + seconds
    while not is_true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return is_true()


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one whose parent did not ask for its end yet has, too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


ROWS = every(12)  # the numbers from 0 on


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
