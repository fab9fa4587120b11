"""What workers do with the rows that they are sent."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from daedal.evaluation.answers import side_by_side
from daedal.evaluation.caller import Answers, Caller, ObjectiveError, ObjectiveMisuse
from daedal.types import Amounts, Bits, Fitness

Chunk: TypeAlias = tuple[Fitness, dict[int, str], float, Amounts | None]
"""What comes back for a chunk: values, errors by row, the seconds it took, and the amounts of constraints."""

Part: TypeAlias = tuple[float, str | None, Amounts | None]
"""The same for one row: its value, its error, its amounts, shape (1, 1 + constraints)."""

SECONDS_A_PIECE = 0.1
"""Seconds after which a worker tells what it has: long beside the tenth of a millisecond that telling takes."""

MISUSE = -1
"""In place of a row: the error is that of the objective altogether."""


@dataclass(frozen=True)
class ChunkFunction:
    """A chunk of rows in, what came for them out."""

    caller: Caller

    def __call__(self, payload: tuple[Bits, bool]) -> Chunk:
        """Evaluate a chunk."""
        rows, first_failure_only = payload
        started = time.perf_counter()
        try:
            answers = self.caller.answers(rows, first_failure_only=first_failure_only)
        except ObjectiveMisuse as error:
            return np.full(len(rows), np.nan), {MISUSE: str(error)}, 0.0, None
        return answers.values, answers.errors, time.perf_counter() - started, answers.amounts


@dataclass(frozen=True)
class RowsFunction:
    """The same row by row, each told as it comes, so that whoever waits knows which one hangs."""

    caller: Caller

    def __call__(self, payload: tuple[Bits, bool]) -> Iterator[Part | None]:
        """Evaluate rows."""
        rows, _ = payload
        yield None  # now the clock of the first row runs
        for row in rows:
            yield _one(self.caller, row[None])


@dataclass(frozen=True)
class PiecesFunction:
    """The same in pieces, so that no answer waits long for those behind it.

    A function of batches gets all rows at once, and, if it raises, one by one. With `timed`, rows are evaluated one by
    one, and the parent is told when the first begins and when each has its answer: so it knows which one hangs.
    """

    caller: Caller
    timed: bool = False

    def __call__(self, payload: tuple[Bits, bool]) -> Iterator[Chunk | None]:
        """Evaluate rows."""
        rows, first_failure_only = payload
        if self.timed:
            yield None
        whole: ObjectiveError | None = None
        piece: list[Answers] = []
        began = time.perf_counter()
        try:
            if self.caller.vectorized and not self.timed and len(rows) > 1 and self.caller.is_one_part(rows):
                try:
                    piece = [self.caller.together(rows)]
                    rows = rows[:0]
                except ObjectiveMisuse:
                    raise
                except ObjectiveError as error:
                    whole, began = error, time.perf_counter()
            for row in rows:
                piece.append(self.caller.single(row[None]))
                seconds = time.perf_counter() - began
                has_failed = first_failure_only and bool(piece[-1].errors)
                if has_failed or self.timed or seconds >= SECONDS_A_PIECE:
                    yield _chunk(piece, seconds)
                    piece, began = [], time.perf_counter()
                if has_failed:
                    return
            if piece:
                yield _chunk(piece, time.perf_counter() - began)
        except ObjectiveMisuse as error:
            if piece:
                yield _chunk(piece, time.perf_counter() - began)
            yield np.empty(0), {MISUSE: str(error)}, 0.0, None
            return
        if whole is not None and first_failure_only:
            raise self.caller.batch_error(whole, rows)


def _chunk(piece: list[Answers], seconds: float) -> Chunk:
    """Return the answers of rows as they travel."""
    try:
        answers = side_by_side(piece)
    except ObjectiveMisuse as error:
        return np.empty(0), {MISUSE: str(error)}, 0.0, None
    return answers.values, answers.errors, seconds, answers.amounts


@dataclass(frozen=True)
class TimedFunction:
    """The same where nobody can end a worker that hangs: each row in a thread, left alone if it does not end."""

    caller: Caller
    timeout: float

    def __call__(self, payload: tuple[Bits, bool]) -> Chunk:
        """Evaluate a chunk."""
        rows, _ = payload
        started = time.perf_counter()
        answers = Answers(np.full(len(rows), np.nan))
        for index, row in enumerate(rows):
            answer: list[Part] = []
            thread = threading.Thread(target=lambda row=row, into=answer: into.append(_one(self.caller, row[None])))
            thread.daemon = True
            thread.start()
            thread.join(self.timeout)
            value, error, amounts = (
                answer[0] if answer else (np.nan, too_slow(self.caller.shown(row), self.timeout), None)
            )
            came = Answers(np.array([value]), {} if error is None else {0: error}, amounts=amounts)
            try:
                answers.take(slice(index, index + 1), came)
            except ObjectiveMisuse as misuse:
                return answers.values, {MISUSE: str(misuse)}, 0.0, None
        return answers.values, answers.errors, time.perf_counter() - started, answers.amounts


def _one(caller: Caller, row: Bits) -> Part:
    try:
        answers = caller.one_by_one(row)
    except ObjectiveMisuse as error:
        return float("nan"), str(error), None
    return float(answers.values[0]), answers.errors.get(0), answers.amounts


def too_slow(row: str, timeout: float) -> str:
    """Say that a row took too long."""
    return f"the objective took longer than timeout={timeout:g} s for the row {row}"
