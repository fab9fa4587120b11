"""Candidates for many workers: sent singly or in chunks, answered in any order, and sent again when a worker dies.

Chunks are sized by the time that candidates were seen to take: about a tenth of a second each, and smaller when few are
queued, though never so small that sending them would count. So neither the sending nor the last to finish costs much.
"""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from daedal.evaluation.answers import Answers, Came, ObjectiveError, ObjectiveMisuse
from daedal.evaluation.chunks import MISUSE, SECONDS_A_PIECE, Chunk, too_slow
from daedal.evaluation.pool import Event, Message, Pool, PoolLost
from daedal.evaluation.signals import signal_name
from daedal.types import Bits, to_text

_CHUNK_SECONDS = 0.1
"""What a chunk should take: long beside the milliseconds of sending it, short beside a batch."""

_OVERHEADS_A_CHUNK = 4  # what a chunk takes at least, measured in what sending one takes

_TRIES_ALONE = 2  # of a candidate whose process was killed: once may be chance, or the fault of another one beside it


@dataclass
class _Chunk:
    """Candidates that were sent together."""

    tickets: list[int]
    rows: Bits
    sent: float = 0.0
    began: float | None = None  # when the worker began with the next one of them
    answered: int = 0
    seconds: float = 0.0  # that these took
    lost_at: float = np.inf  # when the executor must have lost it


class Workers:
    """Evaluates candidates with a pool of workers.

    Parameters
    ----------
    pool
        Who does the work. It tells of whole chunks (`ChunkFunction`) or of pieces of them (`PiecesFunction`).
    timeout
        Seconds that one candidate may take. The pool has to tell of each candidate (`PiecesFunction` with `timed`).
    lost_after
        Seconds beyond its own time after which a chunk without any answer counts as lost, so that it is sent again.
        None: never. It needs a time for each candidate, `timeout`, which is not watched here then.
    first_failure_only
        If True, workers skip the rest of a chunk when one of its candidates has failed. It is sent again if more
        answers are asked for.

    Attributes
    ----------
    came
        Answers that nobody has taken yet. Whatever interrupts `wait`, they stay here.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        timeout: float | None = None,
        lost_after: float | None = None,
        first_failure_only: bool = False,
        shown: Callable[[Bits], str] = to_text,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.pool = pool
        self.timeout = timeout
        self.lost_after = lost_after
        self.first_failure_only = first_failure_only
        self.shown = shown
        self.clock = clock
        self.came: list[Came] = []
        self._fresh: deque[tuple[list[int], Bits]] = deque()  # to be sent, singly or in chunks
        self._at = 0  # how many of the first of them were sent
        self._queued = 0  # how many there are
        self._alone: deque[tuple[int, Bits]] = deque()  # to be sent by themselves
        self._suspects: deque[tuple[int, Bits]] = deque()  # to be sent when nothing else is under way
        self._isolating = False  # whether suspects have their turn
        self._deaths: dict[int, int] = {}  # by ticket
        self._sent: dict[int, _Chunk] = {}
        self._numbers = count()
        self._seconds: float | None = None  # that one candidate takes, about
        self._overhead = _CHUNK_SECONDS / _OVERHEADS_A_CHUNK  # of sending a chunk, at most, until one has come back
        self._problem: ObjectiveError | None = None  # to be raised when the answers beside it are taken
        self._lost: str | None = None  # why no answer will come any more

    @property
    def size(self) -> int:
        """Return how many workers there are."""
        return self.pool.size

    def submit(self, tickets: list[int], rows: Bits) -> None:
        """Queue candidates, rows of shape (tickets, n)."""
        self._fresh.append((tickets, rows))
        self._queued += len(tickets)

    def wait(self, timeout: float | None = None) -> None:
        """Give idle workers the next candidates, and wait until there are answers in `came`, or until the timeout.

        Raises
        ------
        ObjectiveError
            For an objective that gives no numbers, or workers that are lost; maybe beside answers in `came`.
        """
        until, is_late = np.inf if timeout is None else self.clock() + timeout, False
        try:
            while self._lost is None:
                self._send()
                if self.came or self._problem is not None or not self._sent or is_late:
                    break
                arrived = self.pool.wait(self._until_next_deadline(until))
                now = self.clock()  # before the answers are read, which takes time: what came meanwhile is not late
                for message in arrived:
                    self._hear(message)
                self._give_up(now)
                is_late = self.clock() >= until
        except PoolLost as error:
            self._lost = str(error)
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem
        if self._lost is not None and not self.came:
            raise ObjectiveError(self._lost)

    def collect(self) -> None:
        """Take what has been answered, without waiting, and without sending anything."""
        try:
            for message in self.pool.wait(0.0) if self._sent else ():
                self._hear(message)
        except PoolLost as error:
            self._lost = str(error)

    def close(self) -> None:
        """End the workers."""
        self.pool.close()

    # ------------------------------------------------------------ sending

    def _send(self) -> None:
        while self.pool.idle and (chunk := self._next()) is not None:
            number = next(self._numbers)
            chunk.sent = self.clock()
            self._sent[number] = chunk
            if self.lost_after is not None and self.timeout is not None:
                ahead = sum(len(one.rows) for one in self._sent.values())  # others may be evaluated before it
                chunk.lost_at = chunk.sent + self.lost_after + ahead * self.timeout
            self.pool.start(number, (chunk.rows, self.first_failure_only))

    def _next(self) -> _Chunk | None:
        """Return what is to be sent next, if anything can be."""
        if self._isolating and (self._suspects or self._sent):
            return None if self._sent else _one(self._suspects.popleft())
        self._isolating = False
        if self._alone:
            return _one(self._alone.popleft())
        if self._fresh:
            return self._take(self._chunk_size())
        if self._suspects:  # those that are queued from now on have to wait for them
            self._isolating = True
            return self._next()
        return None

    def _take(self, size: int) -> _Chunk:
        """Take so many candidates from the queue, or all."""
        tickets, parts = list[int](), list[Bits]()
        while self._fresh and len(tickets) < size:
            first, rows = self._fresh[0]
            part = slice(self._at, self._at + size - len(tickets))
            tickets += first[part]
            parts.append(rows[part])
            self._at = part.stop
            if self._at >= len(first):
                self._fresh.popleft()
                self._at = 0
        self._queued -= len(tickets)
        return _Chunk(tickets, parts[0] if len(parts) == 1 else np.concatenate(parts))

    def _chunk_size(self) -> int:
        if self._seconds is None:
            return 1  # to see how long it takes
        seconds = max(self._seconds, 1e-9)
        most = min(int(_CHUNK_SECONDS / seconds), self._queued // (2 * self.pool.size))
        least = 1 + int(_OVERHEADS_A_CHUNK * self._overhead / seconds)
        return max(least, most)

    # ------------------------------------------------------------ listening

    def _hear(self, message: Message) -> None:
        """Take what a worker has to tell."""
        chunk = self._sent.get(message.ticket)
        if chunk is None:
            return  # it was given up
        if message.event is Event.PART:
            self._hear_piece(chunk, message.value)
            return
        if message.event is Event.DONE:
            if message.value is not None:
                self._hear_piece(chunk, message.value)
            self._overhead = min(self._overhead, max(0.0, self.clock() - chunk.sent - chunk.seconds))
        del self._sent[message.ticket]
        tickets, rows = chunk.tickets[chunk.answered :], chunk.rows[chunk.answered :]
        if message.event is Event.DIED:
            self._after_death(tickets, rows, message.value)
        elif message.event is Event.RAISED and tickets:
            told = f"the worker failed: {message.value}"
            errors = {i: f"{told}; it had the row {self.shown(row)}" for i, row in enumerate(rows)}
            self._fail(tickets, rows, errors, 0.0)
        elif message.event is Event.RAISED:
            self._problem = ObjectiveError(str(message.value))
        else:  # some may have been skipped because of a failure before them
            self._alone.extend((ticket, rows[i : i + 1]) for i, ticket in enumerate(tickets))

    def _hear_piece(self, chunk: _Chunk, piece: Chunk | None) -> None:
        """Take the answers for the next candidates of a chunk, or the word that the worker begins."""
        chunk.began = self.clock()
        if piece is None:
            return
        values, errors, seconds, amounts = piece
        if MISUSE in errors:
            self._problem = ObjectiveMisuse(errors[MISUSE])
            return
        if errors and self.first_failure_only:  # those behind a failure may have been skipped
            rows = 1 + max([*errors, *np.flatnonzero(~np.isnan(values)).tolist()])
            values, amounts = values[:rows], None if amounts is None else amounts[:rows]
        rows = len(values)
        chunk.seconds += seconds
        each = seconds / rows
        self._seconds = each if self._seconds is None else 0.5 * (self._seconds + each)
        part = slice(chunk.answered, chunk.answered + rows)
        chunk.answered += rows
        longest = max(each, seconds - SECONDS_A_PIECE)  # a piece ends with the candidate that takes longer than that
        self.came.append(Came(chunk.tickets[part], chunk.rows[part], Answers(values, errors, amounts=amounts), longest))

    def _fail(self, tickets: list[int], rows: Bits, errors: dict[int, str], seconds: float) -> None:
        self.came.append(Came(tickets, rows, Answers(np.full(len(tickets), np.nan), errors), seconds))

    def _after_death(self, tickets: Sequence[int], rows: Bits, how: object) -> None:
        """Send the candidates of a dead worker again, each by itself; one that is deadly by itself has failed."""
        for index, ticket in enumerate(tickets):
            row = rows[index : index + 1]
            if len(tickets) == 1:
                self._deaths[ticket] = self._deaths.get(ticket, 0) + 1
            deaths = self._deaths.get(ticket, 0)
            ended_itself = isinstance(how, int) and how >= 0  # and would again
            if deaths >= (1 if ended_itself else _TRIES_ALONE):
                self._deaths.pop(ticket)
                error = f"the worker process ended ({_ending(how)}) with the row {self.shown(row[0])}"
                self._fail([ticket], row, {0: error}, 0.0)
            elif deaths and (how == -signal.SIGKILL or not isinstance(how, int)):
                self._suspects.append((ticket, row))  # there may be too little memory for several at the same time, or
                # an executor blames all that was under way for the death of one
            else:
                self._alone.append((ticket, row))

    # ------------------------------------------------------------ deadlines

    def _until_next_deadline(self, until: float) -> float | None:
        """Return the seconds until the first deadline; None without any."""
        first = min([until, *map(self._deadline, self._sent.values())])
        return None if first == np.inf else max(0.0, first - self.clock())

    def _deadline(self, chunk: _Chunk) -> float:
        """Return when to give up waiting for a chunk."""
        if self.lost_after is not None or self.timeout is None:
            return chunk.lost_at
        if chunk.began is None or chunk.answered == len(chunk.tickets):
            return np.inf  # it waits for a worker that starts; or only the word is missing that it is done
        return chunk.began + self.timeout

    def _give_up(self, now: float) -> None:
        """End workers whose candidate takes too long: it has failed, and those behind it are sent again."""
        for number, chunk in list(self._sent.items()):
            if now < self._deadline(chunk):
                continue
            self.pool.stop(number)
            del self._sent[number]
            tickets, rows = chunk.tickets[chunk.answered :], chunk.rows[chunk.answered :]
            if self.lost_after is not None:
                how = f"the executor gave no answer within {now - chunk.sent:.0f} s, and may have lost it"
                self._after_death(tickets, rows, how)
                continue
            assert self.timeout is not None
            self._fail(tickets[:1], rows[:1], {0: too_slow(self.shown(rows[0]), self.timeout)}, self.timeout)
            self._alone.extend((ticket, rows[i : i + 1]) for i, ticket in enumerate(tickets) if i)


def _one(candidate: tuple[int, Bits]) -> _Chunk:
    ticket, row = candidate
    return _Chunk([ticket], row)


def _ending(how: object) -> str:
    if isinstance(how, int):
        return f"killed by {signal_name(-how)}" if how < 0 else f"exit code {how}"
    return str(how)
