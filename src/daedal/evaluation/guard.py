"""Process groups that end with this process, be it killed in the middle of a call that never gives Python back."""

from __future__ import annotations

import fcntl
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_SCRIPT = """\
trap '' INT TERM HUP
groups=' '
while read -r what group; do
    case $what in
        +) groups="$groups$group " ;;
        -) groups="${groups%% $group *} ${groups#* $group }" ;;
    esac
done
set -- $groups
[ $# = 0 ] && exit
for group; do kill -s TERM -- "-$group"; done
sleep 1
for group; do kill -s KILL -- "-$group"; done
"""
"""Reads which groups to guard until nobody can write any more, because the process that did is gone."""


class Guard:
    """A small process that outlives this one by a moment, and ends what it left behind; there while it has to be.

    The kernel's own way, a parent-death signal, would reach a child but not the children of that, and comes already
    when the thread ends that started the child. Callers hold interrupts back, so that no handler comes in between.
    """

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget_in_child)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1

    def _forget_in_child(self) -> None:
        """In a forked process: what its parent has is not its own, and the parent's end must be seen."""
        if self._process is not None:
            os.close(self._pipe)
            self._process.returncode = 0  # not ours to wait for
        self._forget()

    @contextmanager
    def started(self) -> Iterator[Callable[[int], None]]:
        """Be there before a group is started, and be told of it in the same moment: give what to call with it.

        From then on the group ends should this process end without a word.
        """
        with self._lock:
            if self._process is None:
                self._start()
            try:
                yield self._add
            finally:
                self._leave_if_idle()

    def _add(self, group: int) -> None:
        self._groups.add(group)
        self._tell(f"+ {group}\n")

    def remove(self, group: int) -> None:
        """Do so no more: it has been ended."""
        with self._lock:
            if group not in self._groups:
                return
            self._groups.remove(group)
            self._tell(f"- {group}\n")
            self._leave_if_idle()

    def _tell(self, line: str) -> None:
        if self._process is None:
            return
        try:
            os.write(self._pipe, line.encode())
        except BrokenPipeError:  # somebody has killed it
            self._leave()
            self._start()

    def _leave_if_idle(self) -> None:
        if not self._groups and self._process is not None:
            self._leave()

    def _leave(self) -> None:
        assert self._process is not None
        os.close(self._pipe)
        self._process.wait()
        self._process = None

    def _start(self) -> None:
        with suppress(OSError):  # where there is no shell, or no room for one more process, it has to go without
            self._open()

    def _open(self) -> None:
        reader, writer = map(above_standard, os.pipe())
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=reader,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # Ctrl-C, and whoever ends our group, are not for it
            )
            os.write(writer, "".join(f"+ {one}\n" for one in self._groups).encode())
            self._pipe = writer
        except BaseException:
            os.close(writer)
            raise
        finally:
            os.close(reader)


def above_standard(descriptor: int) -> int:
    """Move a descriptor away from the places of standard input, output and error, where these are closed."""
    if descriptor > 2:
        return descriptor
    moved: int = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return moved


guard = Guard()
"""The one of this process."""
