"""Candidates for many workers: sent singly or in chunks, answered in any order, and sent again when a worker dies.

Chunks are sized by the time that evaluations took so far: about a tenth of a second each, and less if few candidates
are queued, but never so small that sending them would matter. So neither sending nor the last chunk costs much. If
there is a timeout, each candidate is sent alone, so that its time is known.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from daedal.evaluation.answers import Answers, Came, ObjectiveError, side_by_side
from daedal.evaluation.caller import Caller
from daedal.evaluation.options import EvaluationOptions
from daedal.evaluation.signals import signal_name
from daedal.evaluation.worker import Event, Message, PoolLost
from daedal.types import Bits, to_text

if TYPE_CHECKING:
    from daedal.evaluation.executor_pool import ExecutorPool
    from daedal.evaluation.process_pool import ProcessPool

_CHUNK_SECONDS = 0.1
"""Seconds that a chunk should take: long compared with the milliseconds of sending it, short compared with a batch."""

_OVERHEADS_A_CHUNK = 4  # the least that a chunk takes, in multiples of the time of sending one

_TRIES_ALONE = 2  # of a candidate whose process was killed: once may be chance, or the fault of another candidate

_KILLED = -9  # by SIGKILL, which Windows lacks

Reply: TypeAlias = tuple[Answers, float] | ObjectiveError
"""Answers for the first candidates of a chunk and the seconds that they took, or the error that ends the run."""


# ------------------------------------------------------------ in the workers


@dataclass(frozen=True)
class ChunkFunction:
    """The function of workers: it evaluates a chunk.

    Parameters
    ----------
    caller
        The objective.
    first_failure_only
        If True, the rest of a chunk is skipped after a failure.
    timeout
        Seconds for a candidate, for workers that daedal cannot end. The objective then runs in a thread, which is left
        alone if it does not end in time.
    """

    caller: Caller
    first_failure_only: bool = False
    timeout: float | None = None

    def __call__(self, rows: Bits) -> Reply:
        """Evaluate a chunk, shape (candidates, n)."""
        began = time.perf_counter()
        replies: list[Answers | ObjectiveError] = []
        if self.timeout is None:
            self._evaluate(rows, replies)
        else:
            thread = threading.Thread(target=self._evaluate, args=(rows, replies), daemon=True)
            thread.start()
            thread.join(self.timeout)
        if not replies:
            assert self.timeout is not None
            replies = [Answers.failed(len(rows), _too_slow(self.caller.shown(rows[0]), self.timeout))]
        reply = replies[0]
        return reply if isinstance(reply, ObjectiveError) else (reply, time.perf_counter() - began)

    def _evaluate(self, rows: Bits, replies: list[Answers | ObjectiveError]) -> None:
        try:
            answers = side_by_side(list(self.caller.pieces(rows, first_failure_only=self.first_failure_only)))
        except ObjectiveError as error:
            replies.append(error)
        else:
            answers.causes = {}  # exceptions may not travel
            replies.append(answers)


def _too_slow(candidate: str, timeout: float) -> str:
    return f"the objective took longer than timeout={timeout:g} s for the candidate {candidate}"


# ------------------------------------------------------------ in this process


def workers_for(caller: Caller, options: EvaluationOptions, *, first_failure_only: bool) -> Workers:
    """Start the workers that the options describe."""
    timeout = options.timeout
    if options.executor is not None:
        from daedal.evaluation.executor_pool import ExecutorPool

        function = ChunkFunction(caller, first_failure_only, timeout)
        executor_pool = ExecutorPool(options.executor, function, timeout=options.executor_timeout)
        return Workers(executor_pool, singly=timeout is not None, shown=caller.shown)
    from daedal.evaluation.process_pool import ProcessPool

    pool = ProcessPool(options.workers, ChunkFunction(caller, first_failure_only))
    return Workers(pool, timeout=timeout, shown=caller.shown)


@dataclass
class _Chunk:
    """Candidates that were sent together."""

    tickets: list[int]
    rows: Bits
    sent: float = 0.0
    deadline: float = np.inf


class Workers:
    """Backend that evaluates candidates with a pool of workers.

    Parameters
    ----------
    pool
        The workers, whose function is a `ChunkFunction`.
    timeout
        Seconds per candidate, after which its worker is ended. Default: no limit, or the workers watch it.
    singly
        If True, each candidate is sent alone, as with a timeout.
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
        pool: ProcessPool | ExecutorPool,
        *,
        timeout: float | None = None,
        singly: bool = False,
        shown: Callable[[Bits], str] = to_text,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.pool = pool
        self.timeout = timeout
        self.singly = singly or timeout is not None
        self.shown = shown
        self.clock = clock
        self.came: list[Came] = []
        self._fresh: deque[tuple[list[int], Bits]] = deque()  # to be sent, singly or in chunks
        self._at = 0  # how many of the first entry were sent
        self._queued = 0  # how many there are
        self._alone: deque[_Chunk] = deque()  # to be sent singly
        self._suspects: deque[_Chunk] = deque()  # to be sent when nothing else is under way
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
                if self.came or self._problem is not None or is_late or not self._has_work():
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

    def _has_work(self) -> bool:
        return bool(self._sent or self._fresh or self._alone or self._suspects)

    def _send(self) -> None:
        while self.pool.idle and (chunk := self._next()) is not None:
            number, chunk.sent = next(self._numbers), self.clock()
            self._sent[number] = chunk
            if self.timeout is not None:
                chunk.deadline = chunk.sent + self.timeout
            self.pool.start(number, chunk.rows)

    def _next(self) -> _Chunk | None:
        """Return the next candidates to be sent; None if there are none at the moment."""
        if self._isolating and (self._suspects or self._sent):
            return None if self._sent else self._suspects.popleft()
        self._isolating = False
        if self._alone:
            return self._alone.popleft()
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
        if self.singly or self._seconds is None:
            return 1  # if unknown, to see how long it takes
        seconds = max(self._seconds, 1e-9)
        most = min(int(_CHUNK_SECONDS / seconds), self._queued // (2 * self.pool.size))
        least = 1 + int(_OVERHEADS_A_CHUNK * self._overhead / seconds)
        return max(least, most)

    # ------------------------------------------------------------ messages

    def _take_message(self, message: Message) -> None:
        chunk = self._sent.pop(message.ticket, None)
        if chunk is None:
            return  # it was given up
        if message.event is Event.DONE:
            self._take_reply(chunk, message.value)
        elif message.event is Event.DIED:
            self._after_death(chunk, message.value)
        else:
            for one in _singles(chunk):
                error = f"the worker failed: {message.value}; its candidate was {self.shown(one.rows[0])}"
                self._fail(one, error)

    def _take_reply(self, chunk: _Chunk, reply: Reply) -> None:
        if isinstance(reply, ObjectiveError):
            self._problem = reply
            return
        answers, seconds = reply
        self._overhead = min(self._overhead, max(0.0, self.clock() - chunk.sent - seconds))
        size = len(answers.values)
        each = seconds / size
        self._seconds = each if self._seconds is None else 0.5 * (self._seconds + each)
        self.came.append(Came(chunk.tickets[:size], chunk.rows[:size], answers, seconds))
        self._alone.extend(_singles(chunk)[size:])  # skipped because of an earlier failure

    def _after_death(self, chunk: _Chunk, how: object) -> None:
        """Send the candidates of a dead worker again, singly; one that kills its worker when it is alone has failed."""
        for one in _singles(chunk):
            (ticket,) = one.tickets
            if len(chunk.tickets) == 1:
                self._deaths[ticket] = self._deaths.get(ticket, 0) + 1
            deaths = self._deaths.get(ticket, 0)
            ended_itself = isinstance(how, int) and how >= 0  # and would do so again
            if deaths >= (1 if ended_itself else _TRIES_ALONE):
                self._deaths.pop(ticket)
                self._fail(
                    one, f"the worker process ended ({_ending(how)}) with the candidate {self.shown(one.rows[0])}"
                )
            elif deaths and (how == _KILLED or not isinstance(how, int)):
                self._suspects.append(one)  # memory may be short for several at the same time, or an executor blames
                # everything that was under way for one death
            else:
                self._alone.append(one)

    def _fail(self, one: _Chunk, error: str, seconds: float = 0.0) -> None:
        self.came.append(Came(one.tickets, one.rows, Answers.failed(1, error), seconds))

    # ------------------------------------------------------------ deadlines

    def _until_next_deadline(self, until: float) -> float | None:
        """Return the seconds until the first deadline; None without any."""
        first = min([until, *(chunk.deadline for chunk in self._sent.values())])
        return None if first == np.inf else max(0.0, first - self.clock())

    def _give_up(self, now: float) -> None:
        """End workers whose candidate takes too long."""
        for number, chunk in list(self._sent.items()):
            if now >= chunk.deadline:
                assert self.timeout is not None
                self.pool.stop(number)
                del self._sent[number]
                self._fail(chunk, _too_slow(self.shown(chunk.rows[0]), self.timeout), self.timeout)


def _singles(chunk: _Chunk) -> list[_Chunk]:
    return [_Chunk([ticket], chunk.rows[i : i + 1]) for i, ticket in enumerate(chunk.tickets)]


def _ending(how: object) -> str:
    if isinstance(how, int):
        return f"killed by {signal_name(-how)}" if how < 0 else f"exit code {how}"
    return str(how)
