"""Rows for many workers: cut into chunks, sent, sent again, and put together in their order."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.caller import Answers, Caller, ObjectiveMisuse
from daedal.evaluation.process_pool import Event, Message
from daedal.evaluation.words import signal_name
from daedal.types import Bits, to_text

_CHUNK_SECONDS = 0.1
"""What a chunk should take: long against the milliseconds of sending it, short against a batch."""

_OVERHEADS_A_CHUNK = 4  # what a chunk takes at least, measured in what sending one takes

_TICK_SECONDS = 0.25  # between two looks at deadlines
_TRIES_ALONE = 2  # of a row whose process was killed: once may be chance, or the fault of another row beside it


class Pool(Protocol):
    """Who does the work: `ProcessPool`, or the slots of an executor."""

    @property
    def size(self) -> int:
        """How many there are."""

    @property
    def idle(self) -> int:
        """How many have nothing to do."""

    def start(self, ticket: Hashable, payload: object) -> None:
        """Give one of them something to do."""

    def wait(self, timeout: float | None = None) -> list[Message]:
        """Wait for news, or until the timeout."""

    def stop(self, ticket: Hashable) -> None:
        """Give up what is done for a ticket."""

    def close(self) -> None:
        """End all."""


@dataclass(frozen=True)
class ChunkFunction:
    """What a worker does: a chunk of rows in; values, errors by row, and the seconds it took out."""

    caller: Caller

    def __call__(self, payload: tuple[Bits, bool]) -> tuple[NDArray[np.float64], dict[int, str], float]:
        """Evaluate a chunk."""
        rows, first_failure_only = payload
        started = time.perf_counter()
        try:
            answers = self.caller.answers(rows, first_failure_only=first_failure_only)
        except ObjectiveMisuse as error:
            return np.full(len(rows), np.nan), {-1: str(error)}, 0.0
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

    def __call__(self, payload: tuple[Bits, bool]) -> tuple[NDArray[np.float64], dict[int, str], float]:
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
            value, error = answer[0] if answer else (np.nan, too_slow(row, self.timeout))
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


def too_slow(row: Bits, timeout: float) -> str:
    """Say that a row took too long."""
    return f"the objective took longer than timeout={timeout:g} s for the row {to_text(row)}"


@dataclass
class _Chunk:
    """Rows that were sent: which, when the worker began with the next one of them, how many were answered."""

    indices: NDArray[np.intp]
    sent: float
    began: float | None = None
    answered: int = 0


@dataclass
class _Batch:
    """What is known of the rows of a batch."""

    rows: Bits
    next: int = 0  # the first row that was not sent yet
    alone: deque[int] = field(default_factory=deque)  # rows to be sent by themselves
    suspects: deque[int] = field(default_factory=deque)  # the same, when nothing else is under way
    deaths: dict[int, int] = field(default_factory=dict)
    sent: dict[int, _Chunk] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        """Whether all rows are answered."""
        return not (self.sent or self.alone or self.suspects or self.next < len(self.rows))

    @property
    def can_send(self) -> bool:
        """Whether a row waits that can be sent now."""
        return bool(self.alone or self.next < len(self.rows) or (self.suspects and not self.sent))


class Dispatcher:
    """Evaluates batches with a crew.

    Chunks are sized by the time that rows were seen to take: about a tenth of a second each, and smaller towards the
    end of a batch, though never so small that sending them would count; so neither the sending nor the last to finish
    costs much. Answers may come in any order.

    Parameters
    ----------
    crew
        Who does the work, with a function that suits: `RowsFunction` where in_parts, otherwise the others.
    timeout
        Seconds that a row may take, where the crew tells of each row.
    in_parts
        Whether the crew tells of each row.
    """

    def __init__(self, crew: Pool, *, timeout: float | None = None, in_parts: bool = False) -> None:
        self.crew = crew
        self.timeout = timeout
        self.in_parts = in_parts
        self._seconds_a_row: float | None = None
        self._overhead = _CHUNK_SECONDS / _OVERHEADS_A_CHUNK  # of sending a chunk, at most, until one has come back
        self._tickets = count()

    def close(self) -> None:
        """End the crew."""
        self.crew.close()

    def answers(self, rows: Bits, *, first_failure_only: bool = False) -> Iterator[tuple[NDArray[np.intp], Answers]]:
        """Evaluate rows; give indices and answers as they come, and none now and then, so that clocks can be read."""
        batch = _Batch(rows)
        while not batch.is_done:
            while self.crew.idle and batch.can_send:
                self._send(batch, first_failure_only)
            arrived = self.crew.wait(_TICK_SECONDS)
            now = time.monotonic()  # before whoever takes the answers takes time: rows answered meanwhile are not late
            for news in arrived:
                yield from self._take(batch, news)
            yield from self._give_up(batch, now)
            yield np.empty(0, dtype=np.intp), Answers(np.empty(0))

    def _send(self, batch: _Batch, first_failure_only: bool) -> None:
        if batch.alone:
            indices = np.array([batch.alone.popleft()])
        elif batch.next == len(batch.rows):
            indices = np.array([batch.suspects.popleft()])
        else:
            size = self._chunk_size(len(batch.rows) - batch.next)
            indices = np.arange(batch.next, batch.next + size)
            batch.next += size
        ticket = next(self._tickets)
        batch.sent[ticket] = _Chunk(indices, time.monotonic())
        self.crew.start(ticket, (batch.rows[indices], first_failure_only))

    def _chunk_size(self, left: int) -> int:
        if self._seconds_a_row is None:
            return 1  # to see how long it takes
        a_row = max(self._seconds_a_row, 1e-9)
        most = min(int(_CHUNK_SECONDS / a_row), left // (2 * self.crew.size))
        least = 1 + int(_OVERHEADS_A_CHUNK * self._overhead / a_row)
        return min(max(least, most), left)

    def _take(self, batch: _Batch, news: Message) -> Iterator[tuple[NDArray[np.intp], Answers]]:
        """Take what a worker has to tell."""
        chunk = batch.sent.get(news.ticket)
        if chunk is None:
            return  # of a batch that was given up
        if news.event is Event.PART:
            yield from self._part(chunk, news.value)
            return
        del batch.sent[news.ticket]
        if news.event is Event.DONE and not self.in_parts:
            yield self._whole(chunk, news.value)
        elif news.event is Event.RAISED:
            rest = chunk.indices[chunk.answered :]
            errors = dict.fromkeys(range(len(rest)), f"the worker failed: {news.value}")
            yield rest, Answers(np.full(len(rest), np.nan), errors)
        elif news.event is Event.DIED:
            yield from self._after_death(batch, chunk, news.value)

    def _part(self, chunk: _Chunk, part: tuple[float, str | None] | None) -> Iterator[tuple[NDArray[np.intp], Answers]]:
        """Take the answer for one row, or the word that the worker begins."""
        now = time.monotonic()
        if part is not None and chunk.began is not None:
            value, error = part
            index = chunk.indices[chunk.answered : chunk.answered + 1]
            chunk.answered += 1
            self._learn(now - chunk.began)
            yield index, Answers(np.array([value]), {} if error is None else {0: error})
        chunk.began = now

    def _learn(self, seconds: float) -> None:
        """Take notice of what a row took."""
        before = self._seconds_a_row
        self._seconds_a_row = seconds if before is None else 0.5 * (before + seconds)

    def _whole(
        self, chunk: _Chunk, value: tuple[NDArray[np.float64], dict[int, str], float]
    ) -> tuple[NDArray[np.intp], Answers]:
        values, errors, seconds = value
        if -1 in errors:
            raise ObjectiveMisuse(errors[-1])
        self._learn(seconds / len(values))
        self._overhead = min(self._overhead, max(0.0, time.monotonic() - chunk.sent - seconds))
        return chunk.indices, Answers(values, errors)

    def _after_death(self, batch: _Batch, chunk: _Chunk, how: Any) -> Iterator[tuple[NDArray[np.intp], Answers]]:
        """Send the rows of a dead worker again, each by itself; one that is deadly by itself has failed."""
        rest = chunk.indices[chunk.answered :]
        for index in map(int, rest):
            if len(rest) == 1:
                batch.deaths[index] = batch.deaths.get(index, 0) + 1
            by_itself = isinstance(how, int) and how >= 0  # it ended itself, and would again
            if batch.deaths.get(index, 0) >= (1 if by_itself else _TRIES_ALONE):
                error = f"the worker process ended ({_ending(how)}) with the row {to_text(batch.rows[index])}"
                yield np.array([index]), Answers(np.array([np.nan]), {0: error})
            elif index in batch.deaths:
                batch.suspects.append(index)
            else:
                batch.alone.append(index)

    def _give_up(self, batch: _Batch, now: float) -> Iterator[tuple[NDArray[np.intp], Answers]]:
        """End workers whose row takes too long: the row has failed, those behind it are sent again."""
        for ticket, chunk in list(batch.sent.items()):
            if self.timeout is None or chunk.began is None or now < chunk.began + self.timeout:
                continue
            if chunk.answered == len(chunk.indices):
                continue  # all that is missing is the word that it is done
            self.crew.stop(ticket)
            del batch.sent[ticket]
            index = int(chunk.indices[chunk.answered])
            batch.alone.extend(map(int, chunk.indices[chunk.answered + 1 :]))
            error = too_slow(batch.rows[index], self.timeout)
            yield np.array([index]), Answers(np.array([np.nan]), {0: error})


def _ending(how: object) -> str:
    if isinstance(how, int):
        return f"killed by {signal_name(-how)}" if how < 0 else f"exit code {how}"
    return str(how)
