"""What objectives have started in the command's own process group, and what becomes of it when a signal ends that."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_GRACE = 1.0  # seconds in which they may end by themselves
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def children_ended() -> Iterator[None]:
    """Pass requests to end on to children, as a terminal does with Ctrl-C, and kill those that stay.

    A thread does it, because Python's own handlers have to wait for calls such as `os.system`, which wait for a child.
    Workers and programs have groups of their own, and are ended by whoever started them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    over, children = threading.Event(), Children()
    thread = threading.Thread(target=_pass_on, args=(reader, children, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        over.set()
        os.close(writer)
        thread.join()
        os.close(reader)
        children.kill()


def _pass_on(reader: int, children: Children, over: threading.Event) -> None:
    while numbers := os.read(reader, 100):
        for number in _ENDINGS:
            if number in numbers:
                children.send(number)
                over.wait(_GRACE)
                children.kill()


class Children:
    """Processes that descend from this one and are in its group; each by its number and when it was started."""

    def __init__(self) -> None:
        self._found: dict[int, str] = {}

    def send(self, number: signal.Signals) -> None:
        """Send them a signal, and remember them: orphans would be found no more."""
        self._found |= _descendants()
        for pid in self._found:
            if number is not signal.SIGINT:  # which a terminal has sent them already
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)

    def kill(self) -> None:
        """Kill those that are still there."""
        for pid, started in self._found.items():
            with suppress(OSError):
                if _stat(pid)[19] == started:
                    os.kill(pid, signal.SIGKILL)
        self._found.clear()


def _descendants() -> dict[int, str]:
    """Give them, children of children included; none where there is no /proc."""
    stats: dict[int, list[str]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if b"resource_tracker" not in (folder / "cmdline").read_bytes():  # Python's own, which ends with us
                stats[int(folder.name)] = _stat(int(folder.name))
    ours, before = {os.getpid()}, 0
    while len(ours) > before:
        before = len(ours)
        ours |= {pid for pid, stat in stats.items() if int(stat[1]) in ours}
    return {pid: stats[pid][19] for pid in ours - {os.getpid()} if int(stats[pid][2]) == os.getpgrp()}


def _stat(pid: int) -> list[str]:
    """Give what Linux says of a process, from its state on; the next are parent and group, the 20th is its start."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
