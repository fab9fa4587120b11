"""Processes that work side by side, where one that dies or hangs takes nothing else with it."""

from __future__ import annotations

import atexit
import inspect
import io
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Any

from daedal.evaluation.pickling import pack, unpack
from daedal.evaluation.signals import interrupts_ignored
from daedal.evaluation.words import named

_KILLED_EARLY = 10  # workers that may be killed while they start, before it must have a reason

_GRACE_SECONDS = 1.0  # between the polite signal and the one that cannot be refused


class Event(Enum):
    """What a worker has to tell."""

    READY = "ready"
    PART = "part"
    DONE = "done"
    RAISED = "raised"
    DIED = "died"


@dataclass(frozen=True)
class Message:
    """One thing that happened to a ticket: a part of its answer, the answer, an error, or the death of its process.

    Attributes
    ----------
    value
        The part or the answer; the error in words; or the exit code, negative for a signal.
    """

    ticket: Any
    event: Event
    value: Any = None


@dataclass(eq=False)
class _Worker:
    process: BaseProcess
    connection: Connection
    ticket: Any = None
    ready: bool = False


class ProcessPool:
    """A number of spawned processes, each doing one thing at a time.

    Parameters
    ----------
    count
        How many.
    function
        What they do with what they are sent. A generator function gives its answer in parts.

    Examples
    --------
    >>> with ProcessPool(1, abs) as workers:
    ...     workers.start("a", -3)
    ...     while not (news := workers.wait()):  # first it may only say that it is ready
    ...         pass
    ...     news[0].value
    3
    """

    def __init__(self, count: int, function: Callable[[Any], Any]) -> None:
        self._packed = pack(function, "the objective")
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[_Worker] = []
        self._killed_early = 0
        atexit.register(self.close)  # before multiprocessing waits for its children: these would never end
        with interrupts_ignored():  # which the processes, started here, inherit: Ctrl-C is the parent's business
            for _ in range(count):
                self._workers.append(self._spawn())

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self._workers)

    @property
    def idle(self) -> int:
        """How many have nothing to do."""
        return sum(worker.ticket is None for worker in self._workers)

    def start(self, ticket: Hashable, payload: object) -> None:
        """Give an idle worker something to do; the ticket comes back with the news of it."""
        worker = next(worker for worker in self._workers if worker.ticket is None)
        worker.ticket = ticket
        with suppress(BrokenPipeError, ConnectionResetError):  # it died just now, which `wait` will find
            worker.connection.send(payload)

    def wait(self, timeout: float | None = None) -> list[Message]:
        """Wait for news, or until the timeout; a worker that died is replaced."""
        by_connection: dict[object, _Worker] = {worker.connection: worker for worker in self._workers}
        by_sentinel = {worker.process.sentinel: worker for worker in self._workers}
        ready = wait([*by_connection, *by_sentinel], timeout)  # type: ignore[list-item]
        news: list[Message] = []
        for thing in ready:
            if thing in by_connection:
                news += self._listen(by_connection[thing])
        for thing in ready:
            if isinstance(thing, int) and thing in by_sentinel:
                news += self._bury(by_sentinel[thing])
        return news

    def stop(self, ticket: Hashable) -> None:
        """End the process that works on a ticket, and start another; no news will come of the ticket."""
        for index, worker in enumerate(self._workers):
            if worker.ticket == ticket:
                _end([worker])
                with interrupts_ignored():
                    self._workers[index] = self._spawn()

    def close(self) -> None:
        """End all processes, at once."""
        _end(self._workers)
        self._workers = []
        atexit.unregister(self.close)

    def _spawn(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(theirs, self._packed))
        process.start()
        theirs.close()  # so that the end of the process is the end of the pipe
        return _Worker(process, ours)

    def _listen(self, worker: _Worker) -> list[Message]:
        """Take all that a worker has sent."""
        news: list[Message] = []
        with suppress(EOFError, OSError):  # its end is found by its sentinel
            while worker.connection.poll():
                event, value = worker.connection.recv()
                if event is Event.READY:
                    worker.ready = True
                    continue
                if not worker.ready:
                    raise ValueError(f"the objective was sent to another process, but cannot be loaded there: {value}")
                news.append(Message(worker.ticket, event, value))
                if event is not Event.PART:
                    worker.ticket = None
        return news

    def _bury(self, worker: _Worker) -> list[Message]:
        """Replace a worker that died."""
        news = self._listen(worker)
        worker.process.join()
        code = worker.process.exitcode
        if not worker.ready and code is not None and code < 0 and self._killed_early < _KILLED_EARLY:
            self._killed_early += 1  # from outside: another one will do
        elif not worker.ready:
            raise ValueError(
                f"a worker process could not start (exit code {code}); a script that uses workers has to keep its own "
                'calls under `if __name__ == "__main__":`'
            )
        if worker.ticket is not None:
            news.append(Message(worker.ticket, Event.DIED, code))
        worker.connection.close()
        with interrupts_ignored():
            self._workers[self._workers.index(worker)] = self._spawn()
        return news


def _end(workers: list[_Worker]) -> None:
    """End processes: politely, so that they can end what they have started, then by force."""
    for worker in workers:
        worker.process.terminate()
    until = time.monotonic() + _GRACE_SECONDS
    for worker in workers:
        worker.process.join(max(0.0, until - time.monotonic()))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.connection.close()


def _work(connection: Connection, packed: bytes) -> None:
    """Be a worker: take what is sent, send the answer, until the parent is gone."""
    signal.signal(signal.SIGTERM, _leave_by_signal)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    sys.stdout.flush()
    os.dup2(2, 1)  # what objectives print, in Python or C, is not for standard output
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Line by line: not later, or it would be lost with a worker that is killed, nor in pieces, which mingle.
            stream.reconfigure(line_buffering=True, write_through=False)
    try:
        function = unpack(packed)
    except Exception as error:  # noqa: BLE001  whatever it is, the parent has to know
        connection.send((Event.RAISED, named(error)))
        return
    connection.send((Event.READY, None))
    while True:
        try:
            payload = connection.recv()
        except (EOFError, OSError):
            return
        _answer(connection, function, payload)


def _answer(connection: Connection, function: Callable[[Any], Any], payload: object) -> None:
    try:
        answer = function(payload)
        if inspect.isgenerator(answer):
            for part in answer:
                connection.send((Event.PART, part))
            answer = None
        connection.send((Event.DONE, answer))
    except BaseException as error:  # noqa: BLE001  whatever it is, the parent decides
        connection.send((Event.RAISED, named(error)))


def _leave(*_: object) -> None:
    import daedal.objectives.process

    daedal.objectives.process.kill_programs()
    os._exit(128 + signal.SIGTERM)


def _leave_by_signal(*_: object) -> None:
    """End as SIGTERM would have it, so that the parent sees that it came from outside."""
    import daedal.objectives.process

    daedal.objectives.process.kill_programs()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


def _leave_with_parent() -> None:
    """End this process when its parent does, be it in the middle of a computation that would never end."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    _leave()
