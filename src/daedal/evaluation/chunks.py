"""What workers do with the rows that they are sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from daedal.evaluation.caller import Caller, ObjectiveMisuse
from daedal.types import Bits, Fitness

MISUSE = -1
"""In place of a row: the error is that of the objective altogether."""


@dataclass(frozen=True)
class ChunkFunction:
    """A chunk of rows in; values, errors by row, and the seconds it took out."""

    caller: Caller

    def __call__(self, payload: tuple[Bits, bool]) -> tuple[Fitness, dict[int, str], float]:
        """Evaluate a chunk."""
        rows, first_failure_only = payload
        started = time.perf_counter()
        try:
            answers = self.caller.answers(rows, first_failure_only=first_failure_only)
        except ObjectiveMisuse as error:
            return np.full(len(rows), np.nan), {MISUSE: str(error)}, 0.0
        return answers.values, answers.errors, time.perf_counter() - started


@dataclass(frozen=True)
class RowsFunction:
    """The same row by row, each told as it comes, so that whoever waits knows which one hangs."""

    caller: Caller

    def __call__(self, payload: tuple[Bits, bool]) -> Iterator[tuple[float, str | None] | None]:
        """Evaluate rows."""
        rows, _ = payload
        yield None  # now the clock of the first row runs
        for row in rows:
            yield _one(self.caller, row[None])


@dataclass(frozen=True)
class TimedFunction:
    """The same where nobody can end a worker that hangs: each row in a thread, left alone if it does not end."""

    caller: Caller
    timeout: float

    def __call__(self, payload: tuple[Bits, bool]) -> tuple[Fitness, dict[int, str], float]:
        """Evaluate a chunk."""
        rows, _ = payload
        started = time.perf_counter()
        values, errors = np.full(len(rows), np.nan), {}
        for index, row in enumerate(rows):
            answer: list[tuple[float, str | None]] = []
            thread = threading.Thread(target=lambda row=row, into=answer: into.append(_one(self.caller, row[None])))
            thread.daemon = True
            thread.start()
            thread.join(self.timeout)
            value, error = answer[0] if answer else (np.nan, too_slow(self.caller.shown(row), self.timeout))
            values[index] = value
            if error is not None:
                errors[index] = error
        return values, errors, time.perf_counter() - started


def _one(caller: Caller, row: Bits) -> tuple[float, str | None]:
    try:
        answers = caller.one_by_one(row)
    except ObjectiveMisuse as error:
        return float("nan"), str(error)
    return float(answers.values[0]), answers.errors.get(0)


def too_slow(row: str, timeout: float) -> str:
    """Say that a row took too long."""
    return f"the objective took longer than timeout={timeout:g} s for the row {row}"
