"""External programs as objectives: one line of 0s and 1s per candidate goes in, one line with its value comes out.

After the value, a line may contain the violations of constraints.
"""

from __future__ import annotations

import errno
import math
import os
import selectors
import shlex
import shutil
import subprocess
import time
import weakref
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.answers import ObjectiveError
from daedal.evaluation.signals import Group, interrupts_held, signal_name
from daedal.types import Fitness, Outputs

_CHUNK = 65_536  # bytes read at once, kept of standard error, and in the longest line that may be a number
_GRACE = 1.0  # seconds in which a program that should end may do so, and its pipes may run dry
_TICK = 0.05  # seconds between two looks at whether a silent program is still there


@dataclass(frozen=True)
class Program:
    """An external program as an objective. It reads one line per candidate and prints one number per line.

    After the number, a line may contain the violations of constraints, which you declare with `violations=True`
    (`--violations`). Several threads may call one program at the same time. A pickle or a copy holds the command and
    how to run it. The program itself is started where it is used. Programs need Linux or macOS.

    Parameters
    ----------
    command
        The program and its arguments, split as a shell would, but run without one. A program with a slash in its name
        is relative to the current folder, any other is looked up in PATH.
    persistent
        If True, one process is kept from batch to batch. It must answer each line at once and flush its answer. If
        False, the program is started for each batch and reads until its input ends.
    timeout
        Seconds per candidate, the start of the program included. A batch of r candidates may take r times as long, and
        each answer of a persistent program as long as this. Default: no limit.

    Raises
    ------
    ValueError
        If the command is empty or names no program that can be run.
    ObjectiveError
        When called, if the program fails, takes too long, or prints something other than one number per candidate.

    Examples
    --------
    >>> import numpy as np
    >>> ones = Program("awk '{ print gsub(/1/, 1) }'")
    >>> ones(np.array([[1, 0, 1], [1, 1, 1]]))
    array([2., 3.])
    """

    command: str
    _: KW_ONLY
    persistent: bool = False
    timeout: float | None = None
    # Processes that wait for their next batch: one, or as many as there were calls at the same time.
    _idle: list[RunningProgram] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        arguments(self.command)
        if self.timeout is not None and not 0 < self.timeout < math.inf:
            raise ValueError(f"expected a positive number of seconds, or None, as timeout, got timeout={self.timeout}")
        self._close_with_the_last_reference()

    def __getstate__(self) -> dict[str, object]:
        return {"command": self.command, "persistent": self.persistent, "timeout": self.timeout}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in {**state, "_idle": []}.items():
            object.__setattr__(self, name, value)
        self._close_with_the_last_reference()

    def _close_with_the_last_reference(self) -> None:
        weakref.finalize(self, _close_all, self._idle).atexit = False  # at exit, all groups are ended at once

    @property
    def label(self) -> str:
        """Name in messages and results."""
        return f"cmd:{self.command}"

    def __call__(self, rows: NDArray[Any]) -> Fitness | tuple[Fitness, Outputs]:
        """Return the numbers, shape (candidates,), that the program prints for candidates, shape (candidates, n).

        If it prints several numbers per line, they are a pair: the first ones, and the others, shape (candidates,
        constraints).
        """
        return self.answers(_lines(rows), len(rows))

    def answers(self, text: bytes, rows: int) -> Fitness | tuple[Fitness, Outputs]:
        """Return the same for a number of lines."""
        table = np.empty((0, 1)) if rows == 0 else None
        while table is None:
            table = self._answers(text, rows)
        return table[:, 0] if table.shape[1] == 1 else (table[:, 0], table[:, 1:])

    def _answers(self, text: bytes, rows: int) -> NDArray[np.float64] | None:
        """Let one process answer; None if it had ended, in good order, since the last batch."""
        running: RunningProgram | None = None
        try:
            with interrupts_held():  # so that `finally` knows every process that was started
                try:
                    running = self._idle.pop()
                except IndexError:
                    running = RunningProgram(self)
            table = running.answers(text, rows)
            if self.persistent and table is not None:
                self._idle.append(running)
                running = None
            return table
        finally:
            if running is not None:
                running.end()  # with everything that it left in the background

    def close(self) -> None:
        """End the process that is kept, if any: end its input, wait for a second, then kill its process group."""
        _close_all(self._idle)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _lines(rows: NDArray[Any]) -> bytes:
    """Return candidates, shape (candidates, n), as lines of 0s and 1s."""
    array = np.asarray(rows)
    if array.ndim != 2 or not np.isin(array, (0, 1)).all():
        raise ValueError(f"a program takes 0 and 1 in an array of shape (candidates, n), got shape={array.shape}")
    text = np.full((array.shape[0], array.shape[1] + 1), ord("\n"), dtype=np.uint8)
    text[:, :-1] = array.astype(np.uint8) + ord("0")
    return text.tobytes()


def _close_all(idle: list[RunningProgram]) -> None:
    with suppress(IndexError):  # not `while idle`: another thread may take the last one
        while True:
            idle.pop().close()


def arguments(command: str) -> list[str]:
    """Split a command; refuse one that names no program."""
    if not isinstance(command, str):
        raise TypeError(f"expected a command as text, as in './score --fast', got {command!r}")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"the command {command!r} cannot be split as in a shell: {error}") from error
    if not words:
        raise ValueError(f"no program is named in the command {command!r}")
    if not hasattr(os, "killpg"):
        raise ValueError("external programs need Linux or macOS; call the program from a Python function instead")
    if shutil.which(words[0]) is None:
        has_slash, exists = os.sep in words[0], os.path.isfile(words[0])
        if not has_slash:
            why = f"is not in PATH; for a file in this folder write ./{words[0]}"
        elif exists:
            why = f"may not be executed; run chmod +x {words[0]}, or put its interpreter in front"
        else:
            why = "does not exist: no such file; a relative path is relative to the current folder"
        raise ValueError(f"the program {words[0]!r} in the command {command!r} {why}")
    return words


# ------------------------------------------------------------ a process


class RunningProgram:
    """A process of a program, and the batch that is on its way through it.

    One loop over three pipes writes candidates, reads answers and reads standard error, so that neither side ever waits
    for the other with a full pipe. `Popen.communicate` would not do, even for a program that is started for each batch:
    it reads until no process holds the pipes any more, including those left in the background, and it keeps everything
    that came.
    """

    def __init__(self, program: Program) -> None:
        self.command = program.command
        self.persistent = program.persistent
        self.timeout = program.timeout
        self.group = _start(program.command)
        self.process = self.group.process
        self.stdin, self.stdout, self.stderr = (
            _unblocked(self.process, name) for name in ("stdin", "stdout", "stderr")
        )
        self.stderr_end = bytearray()
        self.kept = False  # for another batch, after an earlier one
        self.unsent = memoryview(b"")
        self.rows = 0
        self.lines: list[bytes] = []
        self.rest = b""  # the beginning of a line
        self.numbers: list[list[float]] = []  # of each line: a value, and maybe violations
        self.deadline = math.inf

    def __str__(self) -> str:
        return f"the program {self.command!r}"

    def answers(self, text: bytes, rows: int) -> NDArray[np.float64] | None:
        """Return the numbers for candidates, shape (candidates, 1 + constraints).

        None if a process that was kept ended in good order before it answered anything, between two batches.
        """
        if self.kept and not self._is_ready():
            return None
        self.unsent, self.rows, self.lines, self.rest, self.numbers = memoryview(text), rows, [], b"", []
        self._allow(1 if self.persistent else rows)
        self._transfer()
        if self.kept and not self.lines and self.process.returncode == 0:
            return None
        table = self._table()
        self.kept = True
        return table

    def end(self) -> None:
        """Kill the rest of its process group, and close its pipes; can be repeated."""
        self.group.end()

    def close(self) -> None:
        """End its input, wait for a moment, then kill what is left."""
        try:
            self.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_GRACE)
        finally:
            self.end()

    def _is_ready(self) -> bool:
        """Return whether it waits for its next batch; it may have ended since the last one."""
        if self.process.poll() is not None or self.stdin.closed or self.stdout.closed:
            return False
        data: bytes | None = self.stdout.read(_CHUNK)
        if data and data.strip():  # it would be taken for the next answer
            raise self._error(
                f"printed {_quoted(data)} after its last answer; print one line for each line that it reads"
            )
        return data != b""

    def _allow(self, rows: int) -> None:
        if self.timeout is not None:
            self.deadline = time.monotonic() + rows * self.timeout

    # ------------------------------------------------------------ bytes

    def _transfer(self) -> None:
        """Move bytes until every answer is there, or none can come any more."""
        leave_at = None  # when to leave a program that has ended, or closed a pipe too early
        with selectors.DefaultSelector() as selector:
            for stream, event, move in (
                (self.stdin, selectors.EVENT_WRITE, self._write),
                (self.stdout, selectors.EVENT_READ, self._read),
                (self.stderr, selectors.EVENT_READ, self._read_stderr),
            ):
                if not stream.closed:
                    selector.register(stream, event, move)
            while not (self.persistent and not self.unsent and len(self.lines) >= self.rows):
                has_ended, now = self.process.poll() is not None, time.monotonic()
                if has_ended and self.stdout.closed:
                    return
                if leave_at is None and (has_ended or (self.persistent and (self.stdin.closed or self.stdout.closed))):
                    # Other processes may still hold its pipes. Those that print on its behalf get a moment.
                    leave_at = now + _GRACE
                if leave_at is not None and now >= leave_at:
                    return
                if leave_at is None and now >= self.deadline:
                    raise self._too_late()
                self._move(selector, min(_TICK, (self.deadline if leave_at is None else leave_at) - now))

    def _move(self, selector: selectors.BaseSelector, seconds: float) -> None:
        """Write and read what is possible within some seconds."""
        if not selector.get_map():  # all pipes are closed, so only the end can come
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
            return
        for key, _ in selector.select(seconds):
            if not key.data():
                selector.unregister(key.fileobj)
                if not (self.persistent and key.fileobj is self.stdin):
                    key.fileobj.close()  # type: ignore[union-attr]

    def _write(self) -> bool:
        """Write what the pipe takes; return whether there is more to write."""
        try:
            self.unsent = self.unsent[self.stdin.write(self.unsent) or 0 :]
        except BrokenPipeError:  # it reads no more; its output and exit code will show whether that is right
            self.stdin.close()
            return False
        return bool(self.unsent)

    def _read_stderr(self) -> bool:
        """Read standard error, keep its end, and return whether there can be more."""
        data: bytes | None = self.stderr.read(_CHUNK)
        self.stderr_end += data or b""
        del self.stderr_end[:-_CHUNK]
        return data != b""

    def _read(self) -> bool:
        """Read answers; return whether there can be more.

        Output that cannot become right is refused at once: any wrong line of a persistent program, and floods of lines.
        """
        data: bytes | None = self.stdout.read(_CHUNK)
        if not data:
            return data is None
        *complete, self.rest = (self.rest + data).split(b"\n")
        self.lines += complete
        if self.persistent:
            self._convert()
            if complete:
                self._allow(1)
        bearable = self.rows if self.persistent else 3 * self.rows + 1000
        if any(line.strip() for line in self.lines[bearable:]):
            raise self._wrong_number(f"at least {len(self.lines)}")
        del self.lines[bearable:]  # blank lines
        if len(self.rest) > _CHUNK:
            raise self._not_a_number(len(self.lines) + 1, self.rest)
        return True

    # ------------------------------------------------------------ numbers

    def _table(self) -> NDArray[np.float64]:
        """Return the numbers of all lines, or refuse them."""
        if not self.persistent and self.process.returncode != 0:
            raise self._error(f"{self._ending()}; run it by hand to see why")
        if self.persistent and len(self.lines) < self.rows:  # where the rest may be half a number
            raise self._error(
                f"{self._ending()} after {len(self.lines)} of {self.rows:,} answers; a persistent program has to "
                "answer line by line until its input ends"
            )
        self.lines.append(self.rest)  # the last line may lack its end
        while self.lines and not self.lines[-1].strip():
            self.lines.pop()
        self._convert()
        if len(self.lines) != self.rows:
            raise self._wrong_number(str(len(self.lines) or "nothing"))
        return np.array(self.numbers, dtype=np.float64).reshape(self.rows, -1)

    def _convert(self) -> None:
        for line in self.lines[len(self.numbers) : self.rows]:
            number = len(self.numbers) + 1
            try:
                found = [float(word) for word in line.split()]
            except ValueError:
                found = []
            if not found or b"_" in line:  # only Python reads 1_000 as a number
                raise self._not_a_number(number, line)
            if self.numbers and len(found) != len(self.numbers[0]):
                raise self._error(
                    f"printed lines with different counts of numbers: line {number} is {_quoted(line)}, line 1 has "
                    f"{len(self.numbers[0])}; print 0 for a constraint that is not violated"
                )
            self.numbers.append(found)

    # ------------------------------------------------------------ errors

    def _error(self, text: str) -> ObjectiveError:
        """Return an error that quotes the last two lines of standard error, if there are any."""
        if not self.stderr.closed:
            self._read_stderr()
        lines = [" ".join(line.split()) for line in self.stderr_end.decode(errors="replace").splitlines()]
        last = " / ".join([line for line in lines if line][-2:])
        if len(last) > 200:
            last = "..." + last[-197:]
        return ObjectiveError(f"{self} {text}" + (f"; its standard error ends with {last!r}" if last else ""))

    def _not_a_number(self, number: int, line: bytes) -> ObjectiveError:
        return self._error(
            f"printed something other than numbers: line {number} is {_quoted(line)}; messages belong on standard error"
        )

    def _wrong_number(self, came: str) -> ObjectiveError:
        return self._error(
            f"printed {came} for {self.rows:,} candidates; print one line for each line that it reads, and nothing "
            "else, to standard output"
        )

    def _too_late(self) -> ObjectiveError:
        assert self.timeout is not None
        if self.persistent:
            limit, advice = f"{self.timeout:g} s", "does it flush its standard output after each line, or does it need"
        else:
            limit = f"{self.rows * self.timeout:g} s, {self.timeout:g} s for each"
            advice = "does it end when its input ends, or does it need"
        came = f"{len(self.lines)} of {self.rows:,} answers"
        return self._error(f"printed {came} within {limit}; {advice} a longer timeout (--timeout)?")

    def _ending(self) -> str:
        code = self.process.returncode
        if code is None:
            return f"closed its standard {'output' if self.stdout.closed else 'input'}"
        return f"exited with code {code}" if code >= 0 else f"was ended by {signal_name(-code)}"


def _start(command: str) -> Group:
    try:
        pipe = subprocess.PIPE
        return Group(arguments(command), bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe)
    except OSError as error:
        # A machine without room for one more process may have it later. A program that cannot be run stays so.
        passing = error.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
        raise (ObjectiveError if passing else ValueError)(
            f"the program {command!r} could not be started: {error.strerror}"
            + ("" if passing else "; does its first line, such as #!/bin/sh, name an interpreter that exists?")
        ) from error


def _unblocked(process: subprocess.Popen[bytes], name: str) -> IO[bytes]:
    stream: IO[bytes] = getattr(process, name)
    os.set_blocking(stream.fileno(), False)
    return stream


def _quoted(line: bytes) -> str:
    """Quote a line, or its beginning; as bytes if it is not UTF-8."""
    try:
        text = repr(line.decode().strip())
    except UnicodeDecodeError:
        text = repr(line.strip())
    return text if len(text) <= 60 else text[:57] + "..."
