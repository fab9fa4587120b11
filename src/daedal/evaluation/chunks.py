"""The work of a worker: candidates in, answers out."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from daedal.evaluation.answers import side_by_side
from daedal.evaluation.caller import Answers, Caller, ObjectiveError, ObjectiveMisuse
from daedal.types import Amounts, Bits, Fitness

Chunk: TypeAlias = tuple[Fitness, dict[int, str], float, Amounts | None]
"""Answers of the next candidates: values, errors by place, the seconds that all of them took, amounts of constraints.

Values are nan where candidates failed, and where they were skipped because one before them has failed.
"""

SECONDS_A_PIECE = 0.1
"""Seconds after which a worker tells what it has: long beside the tenth of a millisecond that telling takes."""

MISUSE = -1
"""In place of a candidate: the error is that of the objective altogether."""


@dataclass(frozen=True)
class ChunkFunction:
    """Answers for a chunk of candidates, all at the same time: for executors, which return one thing for each task."""

    caller: Caller

    def __call__(self, payload: tuple[Bits, bool]) -> Chunk:
        """Evaluate a chunk."""
        rows, first_failure_only = payload
        began = time.perf_counter()
        try:
            answers = self.caller.answers(rows, first_failure_only=first_failure_only)
        except ObjectiveMisuse as error:
            return _misuse(error)
        return answers.values, answers.errors, time.perf_counter() - began, answers.amounts


@dataclass(frozen=True)
class PiecesFunction:
    """Answers for a chunk of candidates in pieces, so that no answer waits long for those behind it.

    A function of batches gets all rows at once, and, if it raises, one by one. With `timed`, rows are evaluated one by
    one, and the parent is told when the first begins and when each has its answer: so it knows which one hangs.
    """

    caller: Caller
    timed: bool = False

    def __call__(self, payload: tuple[Bits, bool]) -> Iterator[Chunk | None]:
        """Evaluate a chunk."""
        rows, first_failure_only = payload
        if self.timed:
            yield None
        if self.timed or not self.caller.vectorized or len(rows) == 1:
            yield from self._one_by_one(rows, first_failure_only)
            return
        for part in self.caller.parts(rows):
            began = time.perf_counter()
            try:
                chunk = _chunk([self.caller.together(rows[part])], time.perf_counter() - began)
            except ObjectiveMisuse as error:
                chunk = _misuse(error)
            except ObjectiveError as error:
                has_failed = yield from self._one_by_one(rows[part], first_failure_only)
                if first_failure_only and not has_failed:
                    raise self.caller.batch_error(error, rows[part]) from None
                chunk = None
            if chunk is not None:
                yield chunk
                has_failed = bool(chunk[1])
            if has_failed and first_failure_only:
                return

    def _one_by_one(self, rows: Bits, first_failure_only: bool) -> Generator[Chunk, None, bool]:
        """Evaluate candidates singly, and return whether any has failed."""
        piece: list[Answers] = []
        have_failed = False
        began = time.perf_counter()
        for row in rows:
            try:
                piece.append(self.caller.single(row[None]))
            except ObjectiveMisuse as error:
                if piece:
                    yield _chunk(piece, time.perf_counter() - began)
                yield _misuse(error)
                return True
            seconds = time.perf_counter() - began
            have_failed |= bool(piece[-1].errors)
            is_last = have_failed and first_failure_only
            if is_last or self.timed or seconds >= SECONDS_A_PIECE:
                yield _chunk(piece, seconds)
                piece, began = [], time.perf_counter()
            if is_last:
                break
        if piece:
            yield _chunk(piece, time.perf_counter() - began)
        return have_failed


@dataclass(frozen=True)
class TimedFunction:
    """Answers for a chunk of candidates where nobody can end a worker that hangs.

    Each candidate is evaluated in a thread, which is left alone if it does not end.
    """

    caller: Caller
    timeout: float

    def __call__(self, payload: tuple[Bits, bool]) -> Chunk:
        """Evaluate a chunk."""
        rows, _ = payload
        began = time.perf_counter()
        try:
            answers = side_by_side([self._answer(row) for row in rows])
        except ObjectiveMisuse as error:
            return _misuse(error)
        return answers.values, answers.errors, time.perf_counter() - began, answers.amounts

    def _answer(self, row: Bits) -> Answers:
        came: list[Answers | ObjectiveMisuse] = []

        def evaluate() -> None:
            try:
                came.append(self.caller.single(row[None]))
            except ObjectiveMisuse as error:
                came.append(error)

        thread = threading.Thread(target=evaluate, daemon=True)
        thread.start()
        thread.join(self.timeout)
        if not came:
            return Answers(np.array([np.nan]), {0: too_slow(self.caller.shown(row), self.timeout)})
        if isinstance(came[0], ObjectiveMisuse):
            raise came[0]
        return came[0]


def _chunk(piece: list[Answers], seconds: float) -> Chunk:
    try:
        answers = side_by_side(piece)
    except ObjectiveMisuse as error:
        return _misuse(error)
    return answers.values, answers.errors, seconds, answers.amounts


def _misuse(error: ObjectiveMisuse) -> Chunk:
    return np.empty(0), {MISUSE: str(error)}, 0.0, None


def too_slow(row: str, timeout: float) -> str:
    """Return the error of a candidate that took too long."""
    return f"the objective took longer than timeout={timeout:g} s for the row {row}"
