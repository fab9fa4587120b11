"""Candidates for many workers: sent singly or in chunks, answered in any order, and sent again when a worker dies.

Chunks are sized by the time that evaluations took so far: about a tenth of a second each, and less if few candidates
are queued, but never so small that sending them would matter. So neither sending nor the last chunk costs much.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol, TypeAlias

import numpy as np

from daedal.evaluation.answers import Answers, Came, ObjectiveError, side_by_side
from daedal.evaluation.caller import Caller
from daedal.evaluation.options import EvaluationOptions
from daedal.evaluation.signals import signal_name
from daedal.evaluation.worker import Event, Message, PoolLost
from daedal.types import Bits, to_text

SECONDS_A_PIECE = 0.1
"""Seconds after which a worker sends the answers that it has, a thousand times as long as sending takes."""

_CHUNK_SECONDS = 0.1
"""Seconds that a chunk should take: long compared with the milliseconds of sending it, short compared with a batch."""

_OVERHEADS_A_CHUNK = 4  # the least that a chunk takes, in multiples of the time of sending one

_TRIES_ALONE = 2  # of a candidate whose process was killed: once may be chance, or the fault of another candidate

Piece: TypeAlias = tuple[Answers, float] | ObjectiveError
"""Answers for the next candidates of a chunk and the seconds that they took, or the error that ends the run."""


class Pool(Protocol):
    """Workers that apply a function to payloads: `ProcessPool`, or the slots of an executor, `ExecutorPool`."""

    @property
    def size(self) -> int:
        """Number of workers."""

    @property
    def idle(self) -> int:
        """Number of workers that have nothing to do."""

    def start(self, ticket: Hashable, payload: object) -> None:
        """Send a payload to an idle worker; messages about it carry the ticket."""

    def wait(self, timeout: float | None = None) -> list[Message]:
        """Wait for messages, or until the timeout; raise `PoolLost` if none can come any more."""

    def stop(self, ticket: Hashable) -> None:
        """Give up what a worker does for a ticket."""

    def close(self) -> None:
        """End all workers."""


# ------------------------------------------------------------ in the workers


@dataclass(frozen=True)
class ChunkFunction:
    """The function of worker processes: it evaluates a chunk, and yields answers in pieces of 0.1 s.

    Parameters
    ----------
    caller
        The objective.
    timed
        If True, candidates are evaluated singly, and the parent is told when the first one begins (by None) and when
        each has its answer, so that it knows which one hangs.
    first_failure_only
        If True, the rest of a chunk is skipped after a failure.
    """

    caller: Caller
    timed: bool = False
    first_failure_only: bool = False

    def __call__(self, rows: Bits) -> Iterator[Piece | None]:
        """Evaluate a chunk, shape (candidates, n)."""
        if self.timed:
            yield None
        try:
            yield from self._pieces(rows)
        except ObjectiveError as error:
            yield error

    def _pieces(self, rows: Bits) -> Iterator[Piece]:
        piece: list[Answers] = []
        began = time.perf_counter()
        try:
            for answers in self.caller.pieces(rows, singly=self.timed, first_failure_only=self.first_failure_only):
                answers.causes = {}  # exceptions may not travel
                piece.append(answers)
                if self.timed or time.perf_counter() - began >= SECONDS_A_PIECE:
                    yield side_by_side(piece), time.perf_counter() - began
                    piece, began = [], time.perf_counter()
        except ObjectiveError:
            if piece:
                yield side_by_side(piece), time.perf_counter() - began
            raise
        if piece:
            yield side_by_side(piece), time.perf_counter() - began


@dataclass(frozen=True)
class WholeChunkFunction:
    """The function of an executor's workers, which return one thing for each task: all answers for a chunk.

    With a timeout each candidate is evaluated in a thread. A thread that does not end in time is left alone, because
    daedal cannot end an external worker.
    """

    caller: Caller
    timeout: float | None = None
    first_failure_only: bool = False

    def __call__(self, rows: Bits) -> Piece:
        """Evaluate a chunk, shape (candidates, n)."""
        began = time.perf_counter()
        try:
            if self.timeout is None:
                answers = list(self.caller.pieces(rows, first_failure_only=self.first_failure_only))
            else:
                answers = [self._in_time(row[None], self.timeout) for row in rows]
            for one in answers:
                one.causes = {}  # exceptions may not travel
            return side_by_side(answers), time.perf_counter() - began
        except ObjectiveError as error:
            return error

    def _in_time(self, row: Bits, timeout: float) -> Answers:
        came: list[Answers | ObjectiveError] = []

        def evaluate() -> None:
            try:
                came.append(self.caller.single(row))
            except ObjectiveError as error:
                came.append(error)

        thread = threading.Thread(target=evaluate, daemon=True)
        thread.start()
        thread.join(timeout)
        if not came:
            return Answers.failed(1, _too_slow(self.caller.shown(row[0]), timeout))
        if isinstance(came[0], ObjectiveError):
            raise came[0]
        return came[0]


def _too_slow(candidate: str, timeout: float) -> str:
    return f"the objective took longer than timeout={timeout:g} s for the candidate {candidate}"


# ------------------------------------------------------------ in this process


def workers_for(caller: Caller, options: EvaluationOptions, *, first_failure_only: bool) -> Workers:
    """Start the workers that the options describe."""
    timeout = options.timeout
    if options.executor is not None:
        from daedal.evaluation.executor_pool import ExecutorPool

        whole = WholeChunkFunction(caller, timeout, first_failure_only)
        pool: Pool = ExecutorPool(options.executor, whole, timeout=options.executor_timeout)
        return Workers(pool, timeout=timeout, lost_after=options.executor_timeout, shown=caller.shown)
    from daedal.evaluation.process_pool import ProcessPool

    function = ChunkFunction(caller, timed=timeout is not None, first_failure_only=first_failure_only)
    return Workers(ProcessPool(options.workers, function), timeout=timeout, shown=caller.shown)


@dataclass
class _Chunk:
    """Candidates that were sent together."""

    tickets: list[int]
    rows: Bits
    sent: float = 0.0
    began: float | None = None  # when the worker began with the next candidate
    answered: int = 0
    seconds: float = 0.0  # that the answered ones took
    lost_at: float = np.inf  # when it counts as lost by the executor


class Workers:
    """Backend that evaluates candidates with a pool of workers.

    Parameters
    ----------
    pool
        The workers. They return answers for whole chunks (`WholeChunkFunction`) or in pieces (`ChunkFunction`).
    timeout
        Seconds per candidate. The pool has to report each candidate (`ChunkFunction` with `timed`).
    lost_after
        Seconds beyond its own time after which a chunk without any answer counts as lost, so that it is sent again.
        It needs a timeout, which the workers watch then. Default: never.
    shown
        Writes a candidate for messages.
    clock
        Returns seconds that never go back.

    Attributes
    ----------
    came
        Answers that were not taken yet. They stay here if `wait` is interrupted.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        timeout: float | None = None,
        lost_after: float | None = None,
        shown: Callable[[Bits], str] = to_text,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.pool = pool
        self.timeout = timeout
        self.lost_after = lost_after
        self.shown = shown
        self.clock = clock
        self.came: list[Came] = []
        self._fresh: deque[tuple[list[int], Bits]] = deque()  # to be sent, singly or in chunks
        self._at = 0  # how many of the first entry were sent
        self._queued = 0  # how many there are
        self._alone: deque[tuple[int, Bits]] = deque()  # to be sent singly
        self._suspects: deque[tuple[int, Bits]] = deque()  # to be sent when nothing else is under way
        self._isolating = False  # whether it is the suspects' turn
        self._deaths: dict[int, int] = {}  # by ticket
        self._sent: dict[Hashable, _Chunk] = {}
        self._numbers = count()
        self._seconds: float | None = None  # of one candidate, approximately
        self._overhead = _CHUNK_SECONDS / _OVERHEADS_A_CHUNK  # of sending a chunk, at most, until one has come back
        self._problem: ObjectiveError | None = None  # raised when the answers next to it are taken
        self._lost: str | None = None  # why no answer will come any more

    @property
    def size(self) -> int:
        """Number of workers."""
        return self.pool.size

    def submit(self, tickets: list[int], rows: Bits) -> None:
        """Queue candidates, rows of shape (tickets, n)."""
        self._fresh.append((tickets, rows))
        self._queued += len(tickets)

    def wait(self, timeout: float | None = None) -> None:
        """Send the next candidates to idle workers, and wait until there are answers in `came`, or until the timeout.

        Raises
        ------
        ObjectiveError
            If the objective does not return numbers, or if the workers are lost. There may be answers in `came` too.
        """
        until, is_late = np.inf if timeout is None else self.clock() + timeout, False
        try:
            while self._lost is None:
                self._send()
                if self.came or self._problem is not None or not self._sent or is_late:
                    break
                arrived = self.pool.wait(self._until_next_deadline(until))
                now = self.clock()  # before the answers are read, because those that arrive meanwhile are not late
                for message in arrived:
                    self._take_message(message)
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
        """Take the answers that are there, without waiting and without sending candidates."""
        try:
            for message in self.pool.wait(0.0) if self._sent else ():
                self._take_message(message)
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
            self.pool.start(number, chunk.rows)

    def _next(self) -> _Chunk | None:
        """Return the next candidates to be sent; None if there are none at the moment."""
        if self._isolating and (self._suspects or self._sent):
            return None if self._sent else _one(self._suspects.popleft())
        self._isolating = False
        if self._alone:
            return _one(self._alone.popleft())
        if self._fresh:
            return self._take(self._chunk_size())
        if self._suspects:  # candidates that are queued from now on have to wait for them
            self._isolating = True
            return self._next()
        return None

    def _take(self, size: int) -> _Chunk:
        """Take a number of candidates from the queue, or all that are left."""
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

    # ------------------------------------------------------------ messages

    def _take_message(self, message: Message) -> None:
        chunk = self._sent.get(message.ticket)
        if chunk is None:
            return  # it was given up
        if message.event is Event.PART:
            self._take_piece(chunk, message.value)
            return
        if message.event is Event.DONE:
            if message.value is not None:
                self._take_piece(chunk, message.value)
            self._overhead = min(self._overhead, max(0.0, self.clock() - chunk.sent - chunk.seconds))
        del self._sent[message.ticket]
        tickets, rows = chunk.tickets[chunk.answered :], chunk.rows[chunk.answered :]
        if message.event is Event.DIED:
            self._after_death(tickets, rows, message.value)
        elif message.event is Event.RAISED and tickets:
            answers = [
                Answers.failed(1, f"the worker failed: {message.value}; its candidate was {self.shown(row)}")
                for row in rows
            ]
            self.came.append(Came(tickets, rows, side_by_side(answers), 0.0))
        elif message.event is Event.RAISED:
            self._problem = ObjectiveError(str(message.value))
        else:  # some may have been skipped because of an earlier failure
            self._alone.extend((ticket, rows[i : i + 1]) for i, ticket in enumerate(tickets))

    def _take_piece(self, chunk: _Chunk, piece: Piece | None) -> None:
        """Take the answers for the next candidates of a chunk, or the message that the worker begins."""
        chunk.began = self.clock()
        if piece is None:
            return
        if isinstance(piece, ObjectiveError):
            self._problem = piece
            return
        answers, seconds = piece
        size = len(answers.values)
        chunk.seconds += seconds
        each = seconds / size
        self._seconds = each if self._seconds is None else 0.5 * (self._seconds + each)
        part = slice(chunk.answered, chunk.answered + size)
        chunk.answered += size
        longest = max(each, seconds - SECONDS_A_PIECE)  # a piece ends with the candidate that takes longer than that
        self.came.append(Came(chunk.tickets[part], chunk.rows[part], answers, longest))

    def _after_death(self, tickets: Sequence[int], rows: Bits, how: object) -> None:
        """Send the candidates of a dead worker again, singly; one that kills its worker when it is alone has failed."""
        for index, ticket in enumerate(tickets):
            row = rows[index : index + 1]
            if len(tickets) == 1:
                self._deaths[ticket] = self._deaths.get(ticket, 0) + 1
            deaths = self._deaths.get(ticket, 0)
            ended_itself = isinstance(how, int) and how >= 0  # and would do so again
            if deaths >= (1 if ended_itself else _TRIES_ALONE):
                self._deaths.pop(ticket)
                error = f"the worker process ended ({_ending(how)}) with the candidate {self.shown(row[0])}"
                self.came.append(Came([ticket], row, Answers.failed(1, error), 0.0))
            elif deaths and (how == -signal.SIGKILL or not isinstance(how, int)):
                self._suspects.append((ticket, row))  # memory may be short for several at the same time, or an
                # executor blames everything that was under way for one death
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
            return np.inf  # its worker is starting, or only the message that it is done is missing
        return chunk.began + self.timeout

    def _give_up(self, now: float) -> None:
        """End workers whose candidate takes too long: it has failed, and those after it are sent again."""
        for number, chunk in list(self._sent.items()):
            if now < self._deadline(chunk):
                continue
            self.pool.stop(number)
            del self._sent[number]
            tickets, rows = chunk.tickets[chunk.answered :], chunk.rows[chunk.answered :]
            if self.lost_after is not None:
                how = f"the executor returned no answer within {now - chunk.sent:.0f} s and may have lost it"
                self._after_death(tickets, rows, how)
                continue
            assert self.timeout is not None
            error = _too_slow(self.shown(rows[0]), self.timeout)
            self.came.append(Came(tickets[:1], rows[:1], Answers.failed(1, error), self.timeout))
            self._alone.extend((ticket, rows[i : i + 1]) for i, ticket in enumerate(tickets) if i)


def _one(candidate: tuple[int, Bits]) -> _Chunk:
    ticket, row = candidate
    return _Chunk([ticket], row)


def _ending(how: object) -> str:
    if isinstance(how, int):
        return f"killed by {signal_name(-how)}" if how < 0 else f"exit code {how}"
    return str(how)
