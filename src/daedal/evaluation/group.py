"""Processes that end together with all that they start, also when this process is killed."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
from contextlib import suppress
from typing import Any

from daedal.evaluation.signals import interrupts_held

_GUARD = "trap '' INT TERM HUP; read -r _ || kill -s KILL -- -{}"
"""A shell script that kills a process group if its input ends without a line, because its parent is gone."""


class Group:
    """A process in a session and process group of its own.

    A small shell process kills the group if this process ends without having done so. A parent-death signal of Linux
    would not do, because it does not reach the children of a child, and a thread in the process could not run while C
    code holds Python's lock.

    Parameters
    ----------
    arguments, **options
        What to start, as for `subprocess.Popen`.
    """

    def __init__(self, arguments: list[str], **options: Any) -> None:
        self._guard: subprocess.Popen[bytes] | None = None
        keep_standard_descriptors()
        try:
            with interrupts_held():
                self.process: subprocess.Popen[bytes] = subprocess.Popen(arguments, start_new_session=True, **options)
                _live.add(self)
                self._guard = _started_guard(self.process.pid)
        except BaseException:
            self.end()
            raise

    def kill(self) -> None:
        """Kill the group."""
        if self in _live:
            with suppress(ProcessLookupError, PermissionError):  # the latter is how macOS refuses a group of zombies
                os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill the group, wait for the end of its first process, and close its pipes; can be repeated."""
        if self not in _live:
            return
        with interrupts_held():
            self.kill()
            if self._guard is not None:
                self._guard.communicate(b"\n")  # before the number of the group can belong to another one
            with suppress(subprocess.TimeoutExpired):  # SIGKILL has to wait for a disk that does not answer
                self.process.wait(5.0)
            self._close_pipes()
            _live.discard(self)

    def forget(self) -> None:
        """Leave the group to the process that this one was forked from, whose pipes must not stay open here."""
        self.process.returncode = 0
        self._close_pipes()
        if self._guard is not None:
            self._guard.returncode = 0
            assert self._guard.stdin is not None
            self._guard.stdin.close()

    def _close_pipes(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


def _started_guard(group: int) -> subprocess.Popen[bytes] | None:
    with suppress(OSError):  # without a shell, or room for one more process, nothing is guarded
        return subprocess.Popen(
            ["/bin/sh", "-c", _GUARD.format(group)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
    return None


_live: set[Group] = set()
"""All groups that this process has started and not ended."""


@atexit.register
def _end_all() -> None:
    for group in _live:
        group.kill()  # all at once, before the first is waited for
    for group in _live.copy():
        group.end()


def _forget_all() -> None:
    for group in _live:
        group.forget()
    _live.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


def keep_standard_descriptors() -> None:
    """Open the standard descriptors that are closed on the null device, so that no pipe takes their place."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # `open` takes the lowest free number
