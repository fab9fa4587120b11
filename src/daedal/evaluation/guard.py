"""Process groups that end with this process, be it killed in the middle of a call that never gives Python back."""

from __future__ import annotations

import fcntl
import os
import subprocess
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress

TOKEN = "DAEDAL_GUARD"
"""The variable by which a process is known that was started a moment before its group could be told of."""

_SCRIPT = f"""\
trap '' INT TERM HUP
groups=' '
while read -r what group; do
    case $what in
        +) groups="$groups$group " ;;
        -) groups="${{groups%% $group *}} ${{groups#* $group }}" ;;
        .) exit ;;
    esac
done
for signal in TERM KILL; do
    for group in $groups $(grep -ls "{TOKEN}=$0" /proc/[0-9]*/environ | tr -dc '0-9\\n'); do
        kill -s $signal -- "-$group"
    done
    [ $signal = KILL ] || sleep 1
done
"""
"""Reads which groups to guard until told to leave, or nobody can write any more: the process that did is gone.

A group can only be told of when it runs. One that is started in the very moment in which its owner is killed is found
by its environment, where there is /proc.
"""


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
        self._token = uuid.uuid4().hex

    def _forget_in_child(self) -> None:
        """In a forked process: what its parent has is not its own, and the parent's end must be seen."""
        if self._process is not None:
            os.close(self._pipe)
            self._process.returncode = 0  # not ours to wait for
        self._forget()

    def start(self, start: Callable[[dict[str, str]], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        """Start a process that leads a group, with the environment that it has to have.

        The group ends should this process end without a word, be it before `start` has given it.
        """
        with self._lock:
            if self._process is None:
                self._start()
            try:
                process = start({**os.environ, TOKEN: self._token})
                self._groups.add(process.pid)
                self._tell(f"+ {process.pid}\n")
            finally:
                self._leave_if_idle()
            return process

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
            if self._groups:
                self._start()

    def _leave_if_idle(self) -> None:
        if not self._groups and self._process is not None:
            with suppress(BrokenPipeError):
                os.write(self._pipe, b".\n")
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
        plain = {name: value for name, value in os.environ.items() if name != TOKEN}  # of a guard of this process
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT, self._token],
                env=plain,
                stdin=reader,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # Ctrl-C, and whoever ends our group, are not for it
            )
            os.write(writer, "".join(f"+ {one}\n" for one in self._groups).encode())
            self._process, self._pipe = process, writer
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
