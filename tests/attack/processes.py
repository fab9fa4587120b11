"""Processes under attack: forks of one that has everything loaded, or new ones. They are watched, ended and removed."""

from __future__ import annotations

import atexit
import ctypes
import io
import json
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEMORY = 4 * 2**30
"""Address space of a process in bytes; one that wants more gets a MemoryError."""

SECONDS = 20.0
"""Seconds after which a process gets Ctrl-C, which ends a long run; a process that it does not end hangs."""

PATIENCE = 60.0
"""Seconds that ending may take on a busy machine."""

_SUBREAPER = 36  # of prctl: orphans below this process become its children


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it wrote; `answer` is what its function returned."""

    code: int
    out: str
    err: str
    long: bool = False
    hung: bool = False
    answer: Any = None

    def complaints(self, codes: Sequence[int] = (0, 2, 3)) -> list[str]:
        """Return what no command may do: hang, show a traceback, or end with an undocumented code."""
        found = ["hangs: Ctrl-C does not end it"] if self.hung else []
        if "Traceback (most recent call last)" in self.err:
            found.append(f"traceback: {self.err.strip().splitlines()[-1][:200]}")
        if not self.hung and self.code not in (*codes, *((130,) if self.long else ())):
            found.append(f"exit code {self.code}: {self.err.strip()[-200:]!r}")
        if any(odd in self.out + self.err for odd in "\x1b\x07"):
            found.append("control characters in the output")
        return found


class Launched:
    """A process that was started here, in a session of its own."""

    def __init__(self, pid: int, notes: Path) -> None:
        self.pid = pid
        self._notes = notes
        self._status: int | None = None

    def is_running(self) -> bool:
        """Return True if it has not ended yet."""
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self._status = os.waitstatus_to_exitcode(status)
        return self._status is None

    def send(self, number: int, *, to_group: bool = False) -> None:
        """Send it a signal if it is still running."""
        if self.is_running():
            (os.killpg if to_group else os.kill)(self.pid, number)

    def ends_within(self, seconds: float) -> bool:
        """Wait for its end, and return True if it came."""
        deadline, pause = time.monotonic() + seconds, 0.0005
        while self.is_running():
            if time.monotonic() > deadline:
                return False
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        return True

    def wait(self, seconds: float = SECONDS) -> Ended:
        """Wait for its end, and end it if it takes long."""
        long = not self.ends_within(seconds)
        if long:
            self.send(signal.SIGINT)
        hung = not self.ends_within(PATIENCE)
        if hung:
            self.send(signal.SIGKILL, to_group=True)
            self.ends_within(PATIENCE)
        assert self._status is not None
        answer = self._notes.with_suffix(".answer")
        return Ended(
            self._status,
            self._text(".out"),
            self._text(".err"),
            long,
            hung,
            json.loads(answer.read_text()) if answer.exists() else None,
        )

    def _text(self, ending: str) -> str:
        return self._notes.with_suffix(ending).read_bytes().decode("utf-8", "backslashreplace")


def launch(
    work: Callable[[], Any], folder: Path, *, memory: int = MEMORY, name: str = "", largest: int | None = None
) -> Launched:
    """Call a function in a fork of this process, in a folder.

    `memory` and `largest` limit its address space and the size of files that it writes, in bytes.
    """
    notes = folder.parent / f"{folder.name}{name}.notes"
    pid = os.fork()
    if pid:
        return Launched(pid, notes)
    code = 1
    try:
        os.setsid()
        _settle(folder, notes, memory, largest)
        answer = work()
        if answer is not None:
            notes.with_suffix(".answer").write_text(json.dumps(answer))
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:  # noqa: BLE001  a fork must not go on as its parent does
        traceback.print_exc()
    finally:
        try:
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _settle(folder: Path, notes: Path, memory: int, largest: int | None) -> None:
    """Become a process as a shell would start it."""
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for descriptor, path in enumerate((os.devnull, notes.with_suffix(".out"), notes.with_suffix(".err"))):
        opened = os.open(path, os.O_RDWR | os.O_CREAT | (os.O_TRUNC if descriptor else 0), 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, "r", closefd=False))  # type: ignore[arg-type]
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(io.BufferedWriter(io.FileIO(2, "w", closefd=False)), encoding="utf-8")
    sys.stderr.reconfigure(line_buffering=True, errors="backslashreplace")
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    if largest is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))


def command_line(words: Sequence[str], *, real: bool = False) -> Callable[[], None]:
    """Return a function that runs a command line of daedal, in a fork or, slower, in a new Python process."""

    def run() -> None:
        if real:
            command = [sys.executable, "-m", "daedal", *words]
            os.execve(sys.executable, [os.fsencode(word) for word in command], os.environ)
        from daedal.cli import main

        sys.argv = ["daedal", *words]
        main()

    return run


def adopt_orphans() -> None:
    """Become the parent of all orphans below this process, so that none can hide."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def children() -> list[int]:
    """Return the children of this process, adopted ones included."""
    found = []
    for task in Path("/proc/self/task").glob("*/children"):
        found += [int(word) for word in task.read_text().split()]
    return found


def clear_away(seconds: float = 5.0) -> list[str]:
    """Wait until this process has no children; kill those that are left, and return what they were."""
    deadline = time.monotonic() + seconds
    while _alive() and time.monotonic() < deadline:
        time.sleep(0.005)
    left = [_name(pid) for pid in _alive()]
    while found := _alive():
        for pid in found:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
    return left


def _alive() -> list[int]:
    """Return the children of this process that have not ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return []
    return children()


def _name(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return str(pid)
    return " ".join(word.decode(errors="replace") for word in words)[:120].strip()
