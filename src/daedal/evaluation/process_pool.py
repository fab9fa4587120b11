"""Processes that work side by side, where one that dies or hangs takes nothing else with it."""

from __future__ import annotations

import atexit
import multiprocessing
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from daedal.evaluation.pickling import pack
from daedal.evaluation.pool import Event, Message
from daedal.evaluation.signals import interrupts_ignored
from daedal.evaluation.worker import work

_KILLED_EARLY = 10  # workers that may be killed while they start, before it must have a reason


@dataclass(eq=False)
class _Worker:
    process: BaseProcess
    connection: Connection
    ticket: Any = None
    ready: bool = False


class ProcessPool:
    """A number of spawned processes, each doing one thing at a time.

    They apply `function` to what they are sent; a generator function gives its answer in parts. Before they end because
    somebody ends them or their parent is gone, they call `on_exit`, which can be pickled, in a signal handler or in a
    thread of its own. One that should end has `grace` seconds before it is killed.
    """

    def __init__(
        self,
        count: int,
        function: Callable[[Any], Any],
        *,
        on_exit: Callable[[], object] | None = None,
        grace: float = 1.0,
    ) -> None:
        self._packed = pack((function, on_exit), "the objective")
        self._context = multiprocessing.get_context("spawn")
        self._grace = grace
        self._workers: list[_Worker] = []
        self._killed_early = 0
        atexit.register(self.close)  # before multiprocessing waits for its children: these would never end
        with interrupts_ignored():  # which the processes, started here, inherit: Ctrl-C is the parent's business
            for _ in range(count):
                self._workers.append(self._spawn())

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(self, *_: object) -> None:
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
        """Give an idle worker something to do; the ticket comes back with the messages about it."""
        worker = next(worker for worker in self._workers if worker.ticket is None)
        worker.ticket = ticket
        with suppress(BrokenPipeError, ConnectionResetError):  # it died just now, which `wait` will find
            worker.connection.send(payload)

    def wait(self, timeout: float | None = None) -> list[Message]:
        """Wait for messages, or until the timeout; a worker that died is replaced."""
        by_connection: dict[object, _Worker] = {worker.connection: worker for worker in self._workers}
        by_sentinel = {worker.process.sentinel: worker for worker in self._workers}
        ready = wait([*by_connection, *by_sentinel], timeout)  # type: ignore[list-item]
        messages: list[Message] = []
        for thing in ready:
            if thing in by_connection:
                messages += self._listen(by_connection[thing])
        for thing in ready:
            if isinstance(thing, int) and thing in by_sentinel:
                messages += self._bury(by_sentinel[thing])
        return messages

    def stop(self, ticket: Hashable) -> None:
        """End the process that works on a ticket, and start another; no message about the ticket will come."""
        for index, worker in enumerate(self._workers):
            if worker.ticket == ticket:
                _end([worker], self._grace)
                with interrupts_ignored():
                    self._workers[index] = self._spawn()

    def close(self) -> None:
        """End all processes, at once."""
        _end(self._workers, self._grace)
        self._workers = []
        atexit.unregister(self.close)

    def _spawn(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=work, args=(theirs, self._packed))
        process.start()
        theirs.close()  # so that the end of the process is the end of the pipe
        return _Worker(process, ours)

    def _listen(self, worker: _Worker) -> list[Message]:
        """Take all that a worker has sent."""
        messages: list[Message] = []
        with suppress(EOFError, OSError):  # its end is found by its sentinel
            while worker.connection.poll():
                event, value = worker.connection.recv()
                if event is Event.READY:
                    worker.ready = True
                    continue
                if not worker.ready:
                    raise ValueError(f"the objective was sent to another process, but cannot be loaded there: {value}")
                messages.append(Message(worker.ticket, event, value))
                if event is not Event.PART:
                    worker.ticket = None
        return messages

    def _bury(self, worker: _Worker) -> list[Message]:
        """Replace a worker that died."""
        messages = self._listen(worker)
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
            messages.append(Message(worker.ticket, Event.DIED, code))
        worker.connection.close()
        with interrupts_ignored():
            self._workers[self._workers.index(worker)] = self._spawn()
        return messages


def _end(workers: list[_Worker], grace: float) -> None:
    """End processes: politely, so that they can end what they have started, then by force."""
    for worker in workers:
        worker.process.terminate()
    until = time.monotonic() + grace
    for worker in workers:
        worker.process.join(max(0.0, until - time.monotonic()))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.connection.close()
