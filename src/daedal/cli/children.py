"""Ends the processes that objectives started in the command's own process group when a signal ends the command."""

from __future__ import annotations

import os
import signal
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from daedal.evaluation.signals import ENDINGS

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
            if token in (folder / "environ").read_bytes().split(b"\0"):
                found.add(int(folder.name))
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {own}
