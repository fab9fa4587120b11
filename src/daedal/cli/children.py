"""What objectives have started in the command's own process group, and what becomes of it when a signal ends that."""

from __future__ import annotations

import os
import signal
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_ENDINGS = (signal.SIGTERM, signal.SIGHUP)  # Ctrl-C reaches the whole group, which ends by itself, as a rule
_TOKEN = "DAEDAL_COMMAND"
"""The variable by which a process is known whose parent has ended before it: a shell that Ctrl-C ends while it starts
a program, say, which then is nobody's child, and knows nothing of Ctrl-C."""
_THE_END = b"\0"  # no signal has this number


@contextmanager
def children_ended() -> Iterator[None]:
    """Kill children when a request to end arrives, also where Python's own handlers have to wait for one of them.

    So they have in `os.system`, whence a thread does it. What outlives Ctrl-C is killed at the end.
    """
    handled = [number for number in _ENDINGS if callable(signal.getsignal(number))]  # under nohup one of them is not
    if threading.current_thread() is not threading.main_thread() or not handled:
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    came: set[int] = set()
    thread = threading.Thread(target=_watch, args=(reader, handled, came), daemon=True)
    thread.start()
    os.environ[_TOKEN] = uuid.uuid4().hex
    try:
        yield
    finally:
        handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C finds everything ended
        signal.set_wakeup_fd(before)
        os.write(writer, _THE_END)  # not by closing it: a fork of the objective's may hold it, too
        thread.join()
        if signal.SIGINT in came:
            kill_children()
        os.close(writer)
        os.close(reader)
        signal.signal(signal.SIGINT, handler)


def _watch(reader: int, handled: list[signal.Signals], came: set[int]) -> None:
    numbers = b""
    while _THE_END not in numbers:
        numbers = os.read(reader, 100)
        came.update(numbers)
        if any(number in numbers for number in handled):
            kill_children()


def kill_children() -> None:
    """Kill the processes that come from this one and are in its group; none where there is no /proc.

    Workers and programs have groups of their own, and are ended by whoever started them. All are stopped first: what
    one of them started in between would be found no more when that one is gone.
    """
    stopped: set[int] = set()
    while new := _descendants() - stopped:
        for pid in new:
            _send(pid, signal.SIGSTOP)
        stopped |= new
    for pid in stopped:
        _send(pid, signal.SIGKILL)


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _descendants() -> set[int]:
    """Give children, children of children, and those that have lost their parents, in this process group."""
    parents, group = {}, os.getpgrp()
    found, token = {os.getpid()}, f"{_TOKEN}={os.environ.get(_TOKEN)}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            state, parent, its_group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            ours = int(its_group) == group and state not in "ZX"
            if ours and b"resource_tracker" not in (folder / "cmdline").read_bytes():  # Python's own, ends with us
                parents[int(folder.name)] = int(parent)
                found |= {int(folder.name)} if token in (folder / "environ").read_bytes().split(b"\0") else set()
    before = 0
    while len(found) > before:
        before = len(found)
        found |= {pid for pid, parent in parents.items() if parent in found}
    return found - {os.getpid()}
