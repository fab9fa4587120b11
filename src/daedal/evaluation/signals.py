"""Ctrl-C and other requests to end, and child processes that end with everything they started."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

ENDINGS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that ask a process to end; Windows has no SIGHUP."""


class Interrupts:
    """Ctrl-C and other requests to end, under control for a while.

    Only Python handlers of the main thread are replaced, because handlers run there. A signal mask would not do:
    another thread would get the signal, and the handler would run in the main thread all the same.
    """

    def __init__(self, *, held: bool = False) -> None:
        self._held = held  # whether requests wait
        self._kept = False  # and for good
        self._arrived: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        try:
            if threading.current_thread() is threading.main_thread():
                for number in ENDINGS:
                    if callable(handler := signal.getsignal(number)):
                        self._before[number] = handler
                        signal.signal(number, self._handle)
        except BaseException:  # a request that came meanwhile
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._held = True  # a request that comes meanwhile arrives when all handlers are back
        for number in reversed(self._before):
            if signal.getsignal(number) == self._handle:  # no other handler was set since
                signal.signal(number, self._before[number])
        while self._arrived and not self._kept:
            signal.raise_signal(self._arrived.pop(0))

    def keep(self) -> list[int]:
        """Hold requests back from now on, without an end, because a finished result has to be handed over.

        Returns
        -------
        list
            The signals that have come. Those that come later are added.
        """
        self._held = self._kept = True
        return self._arrived

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self._held:
            self._before[number](number, frame)
        elif number not in self._arrived:
            self._arrived.append(number)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold requests to end back until the block is done."""
    with Interrupts(held=True):
        yield


class EndRequest(KeyboardInterrupt):
    """A request to end other than Ctrl-C, with the same meaning."""


@contextmanager
def ended_properly() -> Iterator[list[int]]:
    """Let SIGTERM and a closed terminal end the block as Ctrl-C does, and yield the list of signals that came."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return

    def leave(number: int, _: object) -> None:
        came.append(number)
        raise EndRequest(signal_name(number))

    ours = [one for one in ENDINGS[1:] if signal.getsignal(one) is signal.SIG_DFL]  # nohup ignores SIGHUP
    for one in ours:
        signal.signal(one, leave)
    try:
        yield came
    finally:
        for one in ours:
            signal.signal(one, signal.SIG_DFL)


def signal_name(number: int) -> str:
    """Return the name of a signal; most real-time signals have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


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


_TOKEN = "DAEDAL_COMMAND"
"""An environment variable that identifies a descendant whose parent has ended."""

_ENDINGS = set(ENDINGS) - {signal.SIGINT}
_DONE = b"\0"  # no signal has this number


@contextmanager
def children_ended() -> Iterator[None]:
    """Kill the command's descendants when SIGTERM or SIGHUP arrives, and at the end if Ctrl-C arrived.

    A thread does it, because handlers written in Python do not run while `os.system` waits for a child. Ctrl-C reaches
    the whole group by itself, so only those that ignored it are left at the end. On Windows nothing is done.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(os, "killpg"):
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    previous = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    thread = threading.Thread(target=_kill_on_signals, args=(reader,), daemon=True)
    thread.start()
    os.environ[_TOKEN] = uuid.uuid4().hex
    try:
        yield
    finally:
        handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not interrupt this
        signal.set_wakeup_fd(previous)
        os.write(writer, _DONE)  # closing it is not enough, because a fork of the objective may hold it open
        thread.join()
        os.close(writer)
        os.close(reader)
        signal.signal(signal.SIGINT, handler)


def _kill_on_signals(reader: int) -> None:
    came: set[int] = set()
    while 0 not in came:
        new = set(os.read(reader, 100))
        if new & _ENDINGS:
            kill_children()
        came |= new
    if signal.SIGINT in came:
        kill_children()


def kill_children() -> None:
    """Kill the descendants of this process that are in its group, on systems with /proc.

    Workers and programs have groups of their own and are ended elsewhere. All descendants are stopped before the first
    is killed, so none can start another one unseen.
    """
    stopped: set[int] = set()
    while new := _descendants() - stopped:
        for pid in new:
            _send(pid, signal.SIGSTOP)
        stopped |= new
    for pid in stopped:
        _send(pid, signal.SIGKILL)


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _environment(folder: Path) -> list[bytes]:
    """Return the environment of a process, which is empty for a moment while it starts a program."""
    for _ in range(5):
        if data := (folder / "environ").read_bytes():
            return data.split(b"\0")
        time.sleep(0.002)
    return []


def _descendants() -> set[int]:
    """Return the children of this process, their children, and those with its token, if they are in its group."""
    own, group, token = os.getpid(), os.getpgrp(), f"{_TOKEN}={os.environ.get(_TOKEN)}".encode()
    parents, found = {}, {own}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            state, parent, its_group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            if int(its_group) != group or state in "ZX" or b"resource_tracker" in (folder / "cmdline").read_bytes():
                continue  # the resource tracker is Python's own, and ends by itself
            parents[int(folder.name)] = int(parent)
            if token in _environment(folder):
                found.add(int(folder.name))
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {own}
