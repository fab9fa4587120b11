"""An external program while it runs: its start, its process group, its pipes, its end."""

from __future__ import annotations

import atexit
import errno
import os
import shlex
import shutil
import signal
import subprocess
from contextlib import suppress
from functools import partial
from typing import IO

from daedal.evaluation.caller import ObjectiveError
from daedal.evaluation.guard import guard
from daedal.evaluation.signals import interrupts_held

CHUNK = 65_536  # bytes read at once, the end of standard error that is kept, and the longest line that may be a number
GRACE = 1.0  # seconds in which a program that should end may do so, and its pipes may run dry


class RunningProgram:
    """A program that runs, in a session and process group of its own, with the end of its standard error."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.kept = False  # for another batch, after an earlier one
        self.killed = False
        self.stderr_end = bytearray()
        with interrupts_held():
            self.process = guard.start(partial(_start, command))
            _live.add(self)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.stdin: IO[bytes] = self.process.stdin
        self.stdout: IO[bytes] = self.process.stdout
        self.stderr: IO[bytes] = self.process.stderr
        for stream in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(stream.fileno(), False)

    def is_ready(self) -> bool:
        """Whether it waits for its next batch; False where it ended since the last."""
        if self.killed or self.process.poll() is not None or self.stdin.closed or self.stdout.closed:
            return False
        data: bytes | None = self.stdout.read(CHUNK)
        if data and data.strip():  # it would be taken for the answer to the next row
            raise self.error(
                f"expected one number for each line from {self}, but {quoted(data)} came after the last one; print one "
                "line for each line that it reads, and nothing else, to standard output"
            )
        return data != b""

    def read_stderr(self) -> bool:
        """Read what is there of standard error, keep the end of it, and give whether there can be more."""
        data: bytes | None = self.stderr.read(CHUNK)
        self.stderr_end += data or b""
        del self.stderr_end[:-CHUNK]
        return data != b""

    def error(self, text: str, kind: type[ObjectiveError] = ObjectiveError) -> ObjectiveError:
        """Give an error that quotes the last two lines of standard error, if there are any."""
        if not self.stderr.closed:
            self.read_stderr()
        lines = [" ".join(line.split()) for line in self.stderr_end.decode(errors="replace").splitlines()]
        last = " / ".join([line for line in lines if line][-2:])
        if len(last) > 200:
            last = "..." + last[-197:]
        return kind(f"{text}; its standard error ends with {last!r}" if last else text)

    def kill(self) -> None:
        """Kill its process group."""
        self.killed = True  # it may take a moment to die, in which it looks as if it waited for a batch
        with suppress(ProcessLookupError, PermissionError):  # macOS says the latter of a group of zombies
            os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill what is left of its process group, wait for its end, close its pipes; any number of times."""
        with interrupts_held():
            if self in _live:
                self.kill()
                guard.remove(self.process.pid)
                with suppress(subprocess.TimeoutExpired):  # SIGKILL has to wait for a disk that does not answer
                    self.process.wait(5.0)
            for stream in (self.stdin, self.stdout, self.stderr):
                stream.close()
            _live.discard(self)

    def close(self, grace: float = GRACE) -> None:
        """End its input and give it a moment, in seconds, before what is left of it is killed."""
        try:
            self.stdin.close()
            if self in _live:
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(grace)
        finally:
            self.end()

    def __str__(self) -> str:
        return f"the program {self.command!r}"


def arguments(command: str) -> list[str]:
    """Split a command, and refuse one that names no program."""
    if not isinstance(command, str):
        raise TypeError(f"expected a command as text, as in './score --fast', got {command!r}")
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"expected a command as in a shell, got {command!r}: {error}") from error
    if not arguments:
        raise ValueError(f"expected a command, a program with its arguments, got {command!r}")
    program = arguments[0]
    if shutil.which(program) is None:
        if os.path.isfile(program) and os.sep not in program:
            hint = f"it is not in PATH; for the file in this folder write ./{program}"
        elif os.path.isfile(program):
            hint = f"it may not be executed; run chmod +x {program}, or put its interpreter in front"
        elif os.sep in program:
            hint = "there is no such file; a relative path is relative to the current folder"
        else:
            hint = "it is not in PATH; for a file give its path, as in ./score"
        raise ValueError(f"expected a program that can be run, got {program!r} in the command {command!r}: {hint}")
    return arguments


def _start(command: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            arguments(command),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        # A machine without room for one more process may have it later; a program that cannot be run stays so.
        passing = error.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
        raise (ObjectiveError if passing else ValueError)(
            f"expected to start the program {command!r}, but: {error.strerror}"
            + ("" if passing else "; does its first line, such as #!/bin/sh, name an interpreter that is there?")
        ) from error


def quoted(line: bytes) -> str:
    """Quote a line, or its beginning; as bytes where it is not UTF-8."""
    try:
        text = repr(line.decode().strip())
    except UnicodeDecodeError:
        text = repr(line.strip())
    return text if len(text) <= 60 else text[:57] + "..."


_live: set[RunningProgram] = set()
"""Every program that this process has running; a set of plain objects is copied in one step, whoever interrupts."""


def kill_programs() -> None:
    """Kill at once every program, with its whole process group, that this process has running.

    It does not wait and takes no lock: a signal handler or another thread may call it. Calls that wait for an answer
    raise ObjectiveError.
    """
    for running in _live.copy():
        running.kill()


@atexit.register
def _end_all() -> None:
    kill_programs()  # all at once, before the first is waited for
    for running in _live.copy():
        running.end()


def _forget_all() -> None:
    """In a forked process: what its parent has running is not its own to talk to, to wait for or to kill."""
    for running in _live:
        running.process.returncode = 0
    _live.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
