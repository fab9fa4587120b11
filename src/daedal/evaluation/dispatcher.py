"""Rows for many workers: cut into chunks, sent, sent again, and put together in their order."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.caller import Answers, ObjectiveError, ObjectiveMisuse
from daedal.evaluation.chunks import MISUSE, Chunk, Part, too_slow
from daedal.evaluation.pool import Event, Message, Pool, PoolLost
from daedal.evaluation.signals import signal_name
from daedal.types import Bits, to_text

_CHUNK_SECONDS = 0.1
"""What a chunk should take: long against the milliseconds of sending it, short against a batch."""

_OVERHEADS_A_CHUNK = 4  # what a chunk takes at least, measured in what sending one takes

_TICK_SECONDS = 0.25  # between two looks at deadlines
_TRIES_ALONE = 2  # of a row whose process was killed: once may be chance, or the fault of another row beside it


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

    def unanswered(self) -> NDArray[np.intp]:
        """Give the rows that wait for an answer, or have yet to be sent."""
        sent = [chunk.indices[chunk.answered :] for chunk in self.sent.values()]
        waiting = [*self.alone, *self.suspects, *range(self.next, len(self.rows))]
        return np.concatenate([*sent, np.array(waiting, dtype=np.intp)])

    @property
    def can_send(self) -> bool:
        """Whether a row waits that can be sent now."""
        return bool(self.alone or self.next < len(self.rows) or (self.suspects and not self.sent))


class Dispatcher:
    """Evaluates batches with a pool of workers.

    Chunks are sized by the time that rows were seen to take: about a tenth of a second each, and smaller towards the
    end of a batch, though never so small that sending them would count; so neither the sending nor the last to finish
    costs much. Answers may come in any order.

    Where in_parts, the workers tell of each row (`RowsFunction`), and a row may take `timeout` seconds.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        timeout: float | None = None,
        in_parts: bool = False,
        shown: Callable[[Bits], str] = to_text,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.pool = pool
        self.timeout = timeout
        self.in_parts = in_parts
        self.shown = shown  # how a row is written in messages
        self.clock = clock
        self._seconds_a_row: float | None = None
        self._overhead = _CHUNK_SECONDS / _OVERHEADS_A_CHUNK  # of sending a chunk, at most, until one has come back
        self._tickets = count()
        self._lost: str | None = None  # why no answer will come any more

    def close(self) -> None:
        """End the workers."""
        self.pool.close()

    def answers(self, rows: Bits, *, first_failure_only: bool = False) -> Iterator[tuple[NDArray[np.intp], Answers]]:
        """Evaluate rows; give indices and answers as they come, and none now and then, so that clocks can be read.

        Where the workers are lost on the way, the rows that are not answered have failed; later ones are not begun.
        """
        if self._lost is not None:
            raise ObjectiveError(self._lost)
        batch = _Batch(rows)
        try:
            yield from self._answers(batch, first_failure_only)
        except PoolLost as error:
            self._lost = str(error)
            rest = batch.unanswered()
            yield rest, Answers(np.full(len(rest), np.nan), dict.fromkeys(range(len(rest)), self._lost))

    def _answers(self, batch: _Batch, first_failure_only: bool) -> Iterator[tuple[NDArray[np.intp], Answers]]:
        while not batch.is_done:
            while self.pool.idle and batch.can_send:
                self._send(batch, first_failure_only)
            arrived = self.pool.wait(_TICK_SECONDS)
            now = self.clock()  # before whoever takes the answers takes time: rows answered meanwhile are not late
            for message in arrived:
                yield from self._take(batch, message)
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
        batch.sent[ticket] = _Chunk(indices, self.clock())
        self.pool.start(ticket, (batch.rows[indices], first_failure_only))

    def _chunk_size(self, left: int) -> int:
        if self._seconds_a_row is None:
            return 1  # to see how long it takes
        a_row = max(self._seconds_a_row, 1e-9)
        most = min(int(_CHUNK_SECONDS / a_row), left // (2 * self.pool.size))
        least = 1 + int(_OVERHEADS_A_CHUNK * self._overhead / a_row)
        return min(max(least, most), left)

    def _take(self, batch: _Batch, message: Message) -> Iterator[tuple[NDArray[np.intp], Answers]]:
        """Take what a worker has to tell."""
        chunk = batch.sent.get(message.ticket)
        if chunk is None:
            return  # of a batch that was given up
        if message.event is Event.PART:
            yield from self._part(chunk, message.value)
            return
        del batch.sent[message.ticket]
        if message.event is Event.DONE and not self.in_parts:
            yield self._whole(chunk, message.value)
        elif message.event is Event.RAISED:
            rest = chunk.indices[chunk.answered :]
            told = f"the worker failed: {message.value}"
            errors = {i: f"{told}; it had the row {self.shown(batch.rows[index])}" for i, index in enumerate(rest)}
            yield rest, Answers(np.full(len(rest), np.nan), errors)
        elif message.event is Event.DIED:
            yield from self._after_death(batch, chunk, message.value)

    def _part(self, chunk: _Chunk, part: Part | None) -> Iterator[tuple[NDArray[np.intp], Answers]]:
        """Take the answer for one row, or the word that the worker begins."""
        now = self.clock()
        if part is not None and chunk.began is not None:
            value, error, amounts = part
            index = chunk.indices[chunk.answered : chunk.answered + 1]
            chunk.answered += 1
            self._learn(now - chunk.began)
            yield index, Answers(np.array([value]), {} if error is None else {0: error}, amounts=amounts)
        chunk.began = now

    def _learn(self, seconds: float) -> None:
        """Take notice of what a row took."""
        before = self._seconds_a_row
        self._seconds_a_row = seconds if before is None else 0.5 * (before + seconds)

    def _whole(self, chunk: _Chunk, value: Chunk) -> tuple[NDArray[np.intp], Answers]:
        values, errors, seconds, amounts = value
        if MISUSE in errors:
            raise ObjectiveMisuse(errors[MISUSE])
        self._learn(seconds / len(values))
        self._overhead = min(self._overhead, max(0.0, self.clock() - chunk.sent - seconds))
        return chunk.indices, Answers(values, errors, amounts=amounts)

    def _after_death(self, batch: _Batch, chunk: _Chunk, how: Any) -> Iterator[tuple[NDArray[np.intp], Answers]]:
        """Send the rows of a dead worker again, each by itself; one that is deadly by itself has failed."""
        rest = chunk.indices[chunk.answered :]
        for index in map(int, rest):
            if len(rest) == 1:
                batch.deaths[index] = batch.deaths.get(index, 0) + 1
            by_itself = isinstance(how, int) and how >= 0  # it ended itself, and would again
            if batch.deaths.get(index, 0) >= (1 if by_itself else _TRIES_ALONE):
                error = f"the worker process ended ({_ending(how)}) with the row {self.shown(batch.rows[index])}"
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
            self.pool.stop(ticket)
            del batch.sent[ticket]
            index = int(chunk.indices[chunk.answered])
            batch.alone.extend(map(int, chunk.indices[chunk.answered + 1 :]))
            error = too_slow(self.shown(batch.rows[index]), self.timeout)
            yield np.array([index]), Answers(np.array([np.nan]), {0: error})


def _ending(how: object) -> str:
    if isinstance(how, int):
        return f"killed by {signal_name(-how)}" if how < 0 else f"exit code {how}"
    return str(how)
