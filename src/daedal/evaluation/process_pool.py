"""A pool of worker processes. If one of them dies or hangs, the others continue, and nothing is left of it.

The pools of other packages leave something. With loky, the death of one process fails everything that is under way, and
a task that hangs cannot be ended. Pebble can do both, but leaves the processes that a worker has started.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable, Hashable
from contextlib import suppress
from multiprocessing import current_process, get_all_start_methods, spawn
from multiprocessing.connection import Connection, wait
from typing import Any

from daedal.evaluation.signals import Group, keep_standard_descriptors
from daedal.evaluation.worker import COMMAND, Event, Message, pack

_KILLED_EARLY = 10  # workers that may be killed while they start, for example by a test, before it must have a reason
_OWN_CALLS = 'a script that uses workers needs its own calls under `if __name__ == "__main__":`'


class ProcessPool:
    """A number of processes, each of which does one thing at a time.

    A process that ends, or is ended, is replaced, and everything that it has started ends with it.

    Parameters
    ----------
    count
        Number of processes.
    function
        What they apply to the payloads that they are sent.
    """

    def __init__(self, count: int, function: Callable[[Any], Any]) -> None:
        if not hasattr(os, "killpg"):
            raise ValueError(
                "worker processes need Linux or macOS; pass an executor instead, such as "
                "executor=concurrent.futures.ProcessPoolExecutor(4)"
            )
        self._packed = pack(function, "the objective")
        self._main = _main_module()
        self._workers: list[_Worker] = []
        self._killed_early = 0
        try:
            for _ in range(count):
                self._workers.append(_Worker(self._main, self._packed))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def size(self) -> int:
        """Number of processes."""
        return len(self._workers)

    @property
    def idle(self) -> int:
        """Number of processes that have started and have nothing to do."""
        return sum(worker.is_idle for worker in self._workers)

    def start(self, ticket: Hashable, payload: object) -> None:
        """Send a payload to an idle process; the message about it carries the ticket."""
        worker = next(worker for worker in self._workers if worker.is_idle)
        worker.ticket = ticket
        with suppress(BrokenPipeError, ConnectionResetError):  # it has just died, and `wait` will find out
            worker.connection.send(payload)

    def wait(self, timeout: float | None = None) -> list[Message]:
        """Wait until something happens, or until the timeout in seconds, and return the messages that came.

        There may be none, for example if a process has started.
        """
        by_connection = {worker.connection: worker for worker in self._workers}
        messages: list[Message] = []
        for connection in wait(list(by_connection), timeout):
            messages += self._received(by_connection[connection])  # type: ignore[index]
        return messages

    def stop(self, ticket: Hashable) -> None:
        """End the process that works on a ticket, and replace it; no message about the ticket will come."""
        for worker in self._workers:
            if worker.ticket == ticket:
                self._replace(worker)
                return

    def close(self) -> None:
        """End all processes, at once."""
        for worker in self._workers:
            worker.group.kill()
        for worker in self._workers:
            worker.end()
        self._workers = []

    def _received(self, worker: _Worker) -> list[Message]:
        """Take what a worker has sent, and replace it if it has ended."""
        ticket = worker.ticket
        try:
            event, value = worker.connection.recv()
        except (EOFError, OSError):
            code = self._replace(worker)
            return [] if ticket is None else [Message(ticket, Event.DIED, code)]
        if event is Event.READY:
            worker.ready = True
            return []
        if not worker.ready:
            told = f"the objective was sent to another process but cannot be loaded there: {value}"
            raise ValueError(_OWN_CALLS if _OWN_CALLS in str(value) else told)
        worker.ticket = None
        return [Message(ticket, event, value)]

    def _replace(self, worker: _Worker) -> int:
        """End a worker, start another one in its place, and return its exit code."""
        code = worker.end()
        self._killed_early += not worker.ready
        if not worker.ready and (code >= 0 or self._killed_early > _KILLED_EARLY):
            raise ValueError(f"a worker process could not start (exit code {code}); {_OWN_CALLS}")
        self._workers[self._workers.index(worker)] = _Worker(self._main, self._packed)
        return code


class _Worker:
    """A process that does `work`.

    It is not a process of `multiprocessing`, because those may be daemons, which must not have children, and lead no
    group, so that daedal could not end what they have started.
    """

    def __init__(self, main: dict[str, Any], packed: bytes) -> None:
        self.ticket: Any = None
        self.ready = False
        keep_standard_descriptors()
        self.connection, theirs = (Connection(one.detach()) for one in socket.socketpair())
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
        try:
            self.group = Group(
                [os.fsdecode(spawn.get_executable()), *flags, "-c", COMMAND.format(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=2,  # text that objectives print, in Python or C, must not mix with that of the command
                pass_fds=[theirs.fileno()],
            )
        except BaseException:
            self.connection.close()
            raise
        finally:
            theirs.close()  # so that the end of the process is the end of the connection
        with suppress(BrokenPipeError, ConnectionResetError):  # it has just died, and `wait` will find out
            self.connection.send(main["sys_path"])
            self.connection.send(main)
            self.connection.send_bytes(packed)

    @property
    def is_idle(self) -> bool:
        """Whether it has started and has nothing to do."""
        return self.ready and self.ticket is None

    def end(self) -> int:
        """Kill it with everything that it has started, and return its exit code."""
        self.group.end()
        self.connection.close()
        code = self.group.process.returncode
        return 0 if code is None else code


def check_main_is_loaded() -> None:
    """Refuse to start workers in a worker that is still loading the script of its parent."""
    if getattr(current_process(), "_inheriting", False):  # as `multiprocessing` itself knows it
        raise RuntimeError(_OWN_CALLS)


def _main_module() -> dict[str, Any]:
    """Return the data from which a new process loads the main module, unless that came from standard input."""
    check_main_is_loaded()
    data = spawn.get_preparation_data("worker")
    data["authkey"] = bytes(data["authkey"])  # which cannot be pickled otherwise
    if data.get("start_method") not in get_all_start_methods():
        data.pop("start_method", None)  # that of joblib's loky, if this is one of its workers; a new process has none
    if not os.path.isfile(data.get("init_main_from_path", __file__)):
        del data["init_main_from_path"]
    return data
