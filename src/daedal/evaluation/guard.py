"""Process groups that end with this process, even if it is killed.

Workers and programs notice the end of this process only when they next read from it. Until then they, or processes
that they have started, could run for hours.
"""

from __future__ import annotations

import os
import subprocess
import threading
from contextlib import suppress

_SCRIPT = """\
trap '' INT TERM HUP
groups=' '
while read -r what group; do
    case $what in
        +) groups="$groups$group " ;;
        -) groups="${groups%% $group *} ${groups#* $group }" ;;
        .) exit ;;
    esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
"""
"""Keeps a list of process groups, and kills them when its input ends: then the process that wrote to it is gone."""


class Guard:
    """A small shell process that kills the process groups of this process when this process ends.

    It runs while there is a group to guard. A parent-death signal of Linux would not do, because it does not reach the
    children of a child.
    """

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """Begin without a group; a forked process must not keep the pipe of its parent open."""
        if (pipe := getattr(self, "_pipe", -1)) >= 0:
            os.close(pipe)
            self._process.returncode = 0  # the parent waits for it
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._pipe = -1

    def add(self, group: int) -> None:
        """Guard a group of processes."""
        with self._lock:
            self._groups.add(group)
            if self._pipe < 0:
                with suppress(OSError):  # without a shell, or room for one more process, nothing is guarded
                    self._start()
            self._tell(f"+ {group}\n")

    def remove(self, group: int) -> None:
        """Stop guarding a group that has ended, as long as no other process can have its number."""
        with self._lock:
            if group not in self._groups:
                return
            self._groups.remove(group)
            self._tell(f"- {group}\n" if self._groups else ".\n")
            if not self._groups and self._pipe >= 0:
                os.close(self._pipe)
                self._pipe = -1
                self._process.wait()

    def _tell(self, line: str) -> None:
        if self._pipe >= 0:
            with suppress(BrokenPipeError):  # the shell was killed
                os.write(self._pipe, line.encode())

    def _start(self) -> None:
        keep_standard_descriptors()
        reader, writer = os.pipe()
        try:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", _SCRIPT],
                stdin=reader,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # so that neither Ctrl-C nor the end of our own group reaches it
            )
            self._pipe = writer
        except BaseException:
            os.close(writer)
            raise
        finally:
            os.close(reader)


def keep_standard_descriptors() -> None:
    """Open the standard descriptors that are closed on the null device, so that no pipe takes their place."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # `open` takes the lowest free number


guard = Guard()
"""The guard shared by the whole process."""
