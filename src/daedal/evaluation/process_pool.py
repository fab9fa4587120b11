"""A pool of worker processes. If one of them dies or hangs, the others go on.

It exists because of what pools of other packages lack, measured by `benchmarks/pools.py`: loky loses everything under
way when one process dies, and has no timeouts. Pebble has both, but an answer comes whole, so that a timeout for each
candidate forbids to send several at once. It also leaves behind what workers have started.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Hashable
from contextlib import suppress
from multiprocessing import current_process, get_all_start_methods, spawn
from multiprocessing.connection import Connection, wait
from typing import Any

from daedal.evaluation.guard import guard, keep_standard_descriptors
from daedal.evaluation.signals import interrupts_held
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
        What they apply to the payloads that they are sent. A generator function returns its answer in parts.
    """

    def __init__(self, count: int, function: Callable[[Any], Any]) -> None:
        self._packed = pack(function, "the objective")
        self._main = _main_module()
        self._workers: list[_Worker] = []
        self._killed_early = 0
        self._owner = os.getpid()
        atexit.register(self.close)
        for _ in range(count):
            self._workers.append(_Worker(self._main, self._packed))

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
        """Number of processes that have nothing to do."""
        return sum(worker.ticket is None for worker in self._workers)

    def start(self, ticket: Hashable, payload: object) -> None:
        """Send a payload to an idle process; messages about it carry the ticket."""
        worker = next(worker for worker in self._workers if worker.ticket is None)
        worker.ticket = ticket
        with suppress(BrokenPipeError, ConnectionResetError):  # it has just died, and `wait` will find out
            worker.connection.send(payload)

    def wait(self, timeout: float | None = None) -> list[Message]:
        """Wait for messages, or until the timeout in seconds."""
        by_connection = {worker.connection: worker for worker in self._workers}
        messages: list[Message] = []
        for connection in wait(list(by_connection), timeout):
            messages += self._received(by_connection[connection])  # type: ignore[index]
        return messages

    def stop(self, ticket: Hashable) -> None:
        """End the process that works on a ticket, and replace it; no message about the ticket will come."""
        for index, worker in enumerate(self._workers):
            if worker.ticket == ticket:
                worker.end()
                self._workers[index] = _Worker(self._main, self._packed)

    def close(self) -> None:
        """End all processes, at once."""
        if os.getpid() == self._owner:  # and not in a process that was forked from it
            for worker in self._workers:
                worker.kill()
            for worker in self._workers:
                worker.end()
        self._workers = []
        atexit.unregister(self.close)

    def _received(self, worker: _Worker) -> list[Message]:
        """Take everything that a worker has sent, and replace it if it has ended."""
        messages: list[Message] = []
        try:
            while worker.connection.poll():
                event, value = worker.connection.recv()
                if event is Event.READY:
                    worker.ready = True
                    continue
                if not worker.ready:
                    told = f"the objective was sent to another process but cannot be loaded there: {value}"
                    raise ValueError(_OWN_CALLS if _OWN_CALLS in str(value) else told)
                messages.append(Message(worker.ticket, event, value))
                if event is not Event.PART:
                    worker.ticket = None
        except (EOFError, OSError):
            messages += self._replaced(worker)
        return messages

    def _replaced(self, worker: _Worker) -> list[Message]:
        """Replace a worker that has ended, and return the message about its ticket."""
        worker.end()
        code = worker.process.returncode
        self._killed_early += not worker.ready
        if not worker.ready and (code >= 0 or self._killed_early > _KILLED_EARLY):
            raise ValueError(f"a worker process could not start (exit code {code}); {_OWN_CALLS}")
        self._workers[self._workers.index(worker)] = _Worker(self._main, self._packed)
        return [] if worker.ticket is None else [Message(worker.ticket, Event.DIED, code)]


class _Worker:
    """A process that does `work`, in a session and process group of its own.

    It is not a process of `multiprocessing`, because those may be daemons, which must not have children, and lead no
    group, so that nobody could end what they have started.
    """

    def __init__(self, main: dict[str, Any], packed: bytes) -> None:
        self.ticket: Any = None
        self.ready = False
        keep_standard_descriptors()
        with interrupts_held():
            ours, theirs = (Connection(one.detach()) for one in socket.socketpair())
            flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
            try:
                self.process = subprocess.Popen(
                    [os.fsdecode(spawn.get_executable()), *flags, "-c", COMMAND.format(theirs.fileno())],
                    stdin=subprocess.DEVNULL,
                    stdout=2,  # text that objectives print, in Python or C, must not mix with that of the command
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
                guard.add(self.process.pid)
            except BaseException:
                ours.close()
                raise
            finally:
                theirs.close()  # so that the end of the process is the end of the connection
        self.connection = ours
        with suppress(BrokenPipeError, ConnectionResetError):  # it has just died, and `wait` will find out
            ours.send(main["sys_path"])
            ours.send(main)
            ours.send_bytes(packed)

    def kill(self) -> None:
        """Kill its process group."""
        if not self.connection.closed:
            with suppress(ProcessLookupError, PermissionError):  # the latter is how macOS refuses a group of zombies
                os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill its process group, and wait for its end."""
        self.kill()
        guard.remove(self.process.pid)
        self.process.wait()
        self.connection.close()


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
