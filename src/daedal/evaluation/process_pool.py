"""Processes that work side by side, where one that dies or hangs takes nothing else with it."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Hashable
from contextlib import suppress
from multiprocessing import current_process, get_all_start_methods, spawn
from multiprocessing.connection import wait
from typing import Any

from daedal.evaluation.pickling import pack
from daedal.evaluation.pool import Event, Message
from daedal.evaluation.signals import interrupts_held
from daedal.evaluation.worker_process import WorkerProcess, end_workers

_KILLED_EARLY = 10  # workers that may be killed while they start, before it must have a reason
_OWN_CALLS = 'a script that uses workers has to keep its own calls under `if __name__ == "__main__":`'


class ProcessPool:
    """A number of processes, each doing one thing at a time.

    They apply `function` to what they are sent; a generator function gives its answer in parts. Before they end because
    somebody ends them or their parent is gone, they call `on_exit`, which can be pickled, in a signal handler or in a
    thread of its own. One that should end has `grace` seconds before it is killed; whatever it has started ends with
    it. With a `spare`, one more is kept ready, to take the place of one that is ended.
    """

    def __init__(
        self,
        count: int,
        function: Callable[[Any], Any],
        *,
        on_exit: Callable[[], object] | None = None,
        grace: float = 1.0,
        spare: bool = False,
    ) -> None:
        self._packed = pack((function, on_exit), "the objective")
        self._main = _main_module()
        self._grace = grace
        self._keeps_spare = spare
        self._spare: WorkerProcess | None = None
        self._workers: list[WorkerProcess] = []
        self._killed_early = 0
        self._owner = os.getpid()
        atexit.register(self.close)
        for _ in range(count):
            self._workers.append(self._start_one())

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def size(self) -> int:
        """How many there are, but for the spare one."""
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
        if self._keeps_spare and self._spare is None and all(worker.ready for worker in self._workers):
            self._spare = self._start_one()  # now, not earlier: the others are waited for
        everyone = [*self._workers, *([] if self._spare is None else [self._spare])]
        watched = {thing: worker for worker in everyone for thing in worker.watched()}
        ready = wait(list(watched), timeout)
        messages: list[Message] = []
        for worker in dict.fromkeys(watched[thing] for thing in ready):  # type: ignore[index]
            if worker is self._spare:
                self._look_after_spare(worker)
                continue
            messages += self._listen(worker)
            if worker.has_ended():
                messages += self._bury(worker)
        return messages

    def stop(self, ticket: Hashable) -> None:
        """End the process that works on a ticket, and start another; no message about the ticket will come."""
        for index, worker in enumerate(self._workers):
            if worker.ticket == ticket:
                end_workers([worker], self._grace)
                self._workers[index] = self._replacement()

    def close(self) -> None:
        """End all processes, at once."""
        if os.getpid() == self._owner:  # and not in a process that was forked off it
            end_workers([*self._workers, *([] if self._spare is None else [self._spare])], self._grace)
        self._workers, self._spare = [], None
        atexit.unregister(self.close)

    def _start_one(self) -> WorkerProcess:
        with interrupts_held():
            return WorkerProcess(self._main, self._packed)

    def _replacement(self) -> WorkerProcess:
        spare, self._spare = self._spare, None
        return self._start_one() if spare is None else spare

    def _listen(self, worker: WorkerProcess) -> list[Message]:
        """Take all that a worker has sent."""
        messages: list[Message] = []
        for event, value in worker.sent():
            if event is Event.READY:
                worker.ready = True
                continue
            if not worker.ready and _OWN_CALLS in str(value):
                raise ValueError(_OWN_CALLS)
            if not worker.ready:
                raise ValueError(f"the objective was sent to another process, but cannot be loaded there: {value}")
            messages.append(Message(worker.ticket, event, value))
            if event is not Event.PART:
                worker.ticket = None
        return messages

    def _look_after_spare(self, spare: WorkerProcess) -> None:
        """Hear that it is ready; where it is of no use, do without one: a worker that is missed will say why."""
        events = [event for event, _ in spare.sent()]
        spare.ready |= Event.READY in events
        if Event.RAISED in events or spare.has_ended():
            end_workers([spare], 0.0)
            self._spare, self._keeps_spare = None, False

    def _bury(self, worker: WorkerProcess) -> list[Message]:
        """Replace a worker that died, and end what it has left behind."""
        end_workers([worker], self._grace, politely=False)
        code = worker.process.returncode
        if not worker.ready and code < 0 and self._killed_early < _KILLED_EARLY:
            self._killed_early += 1  # from outside: another one will do
        elif not worker.ready:
            raise ValueError(f"a worker process could not start (exit code {code}); {_OWN_CALLS}")
        messages = [] if worker.ticket is None else [Message(worker.ticket, Event.DIED, code)]
        self._workers[self._workers.index(worker)] = self._replacement()
        return messages


def check_main_is_loaded() -> None:
    """Refuse to go on where this is a worker that is loading the script which has started it."""
    if getattr(current_process(), "_inheriting", False):  # as `multiprocessing` itself knows it
        raise RuntimeError(_OWN_CALLS)


def _main_module() -> dict[str, Any]:
    """Say what a new process makes the main module from; not where that came from standard input."""
    check_main_is_loaded()
    data = spawn.get_preparation_data("worker")
    data["authkey"] = bytes(data["authkey"])  # which refuses to be sent as it is
    if data.get("start_method") not in get_all_start_methods():
        data.pop("start_method", None)  # joblib's own, in one of its workers: a new process knows nothing of it
    if not os.path.isfile(data.get("init_main_from_path", __file__)):
        del data["init_main_from_path"]
    return data
