"""One process of a pool, seen from its parent: how it is started, heard, and ended with all that it has started."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing import spawn
from multiprocessing.connection import Connection
from typing import Any

from daedal.evaluation.guard import above_standard, guard
from daedal.evaluation.pool import Event
from daedal.evaluation.worker import COMMAND


class WorkerProcess:
    """A process that does `work`, in a session and process group of its own.

    Not one of `multiprocessing`: there a process cannot lead a group before it loads what its user wrote, daemonic
    processes may have none, and one whose children keep its descriptors open has not ended.
    """

    def __init__(self, main: dict[str, Any], packed: bytes) -> None:
        self.ticket: Any = None
        self.ready = False
        self._lost = False  # its side of the connection is closed
        ours, theirs = (Connection(above_standard(one.detach())) for one in socket.socketpair())
        try:
            self.process = guard.start(partial(_start, theirs.fileno()))
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()  # so that the end of the process is the end of the connection
        self.connection = ours
        self._pidfd: int | None = None
        with suppress(AttributeError, OSError):  # where there are none, the end of the connection has to do
            self._pidfd = os.pidfd_open(self.process.pid)
        with suppress(BrokenPipeError, ConnectionResetError):  # it died just now, which will be found
            ours.send(main["sys_path"])
            ours.send(main)
            ours.send_bytes(packed)

    def watched(self) -> list[Connection | int]:
        """Give what is ready when there is something to hear, or the process has ended."""
        return [self.connection] if self._pidfd is None else [self.connection, self._pidfd]

    def sent(self) -> Iterator[tuple[Event, Any]]:
        """Give all that it has sent."""
        try:
            while self.connection.poll():
                yield self.connection.recv()
        except (EOFError, OSError):
            self._lost = True

    def has_ended(self) -> bool:
        """Whether it is gone; one that has closed its connection will never be heard again."""
        return self._lost or (self._pidfd is not None and _is_ready(self._pidfd, 0.0))

    def wait(self, seconds: float) -> None:
        """Wait for its end, which is not asked for yet: so long nobody else can have its number."""
        if self._pidfd is not None:
            _is_ready(self._pidfd, seconds)
        else:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)

    def send_signal(self, number: signal.Signals, *, to_group: bool = False) -> None:
        """Send a signal to it, or to all that belongs to it."""
        with suppress(ProcessLookupError, PermissionError):  # macOS says the latter of a group of zombies
            (os.killpg if to_group else os.kill)(self.process.pid, number)

    def end(self) -> None:
        """Kill it and its process group, and forget it."""
        self.send_signal(signal.SIGKILL, to_group=True)
        guard.remove(self.process.pid)
        self.process.wait()
        self.connection.close()
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None


def end_workers(workers: Sequence[WorkerProcess], grace: float, *, politely: bool = True) -> None:
    """End processes: politely, so that they can end what they have started, then by force, with all that is left."""
    left = [worker for worker in workers if worker.process.returncode is None or not worker.connection.closed]
    for worker in left:
        if politely:
            worker.send_signal(signal.SIGTERM)
    until = time.monotonic() + grace
    for worker in left:
        worker.wait(max(0.0, until - time.monotonic()))
    for worker in left:
        worker.end()


def _start(descriptor: int, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    # What objectives print, in Python or C, is not for standard output; where standard error is closed, for nobody.
    shown = 2 if _is_open(2) else subprocess.DEVNULL
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return subprocess.Popen(
        [os.fsdecode(spawn.get_executable()), *flags, "-c", COMMAND.format(descriptor)],
        stdin=subprocess.DEVNULL,
        stdout=shown,
        stderr=shown,
        pass_fds=[descriptor],
        env=environment,
        start_new_session=True,
    )


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _is_ready(descriptor: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(1000 * seconds))
