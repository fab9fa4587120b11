"""External programs as objectives: one line of 0s and 1s per candidate goes in, one line with its value comes out.

After the value, a line may contain the violations of constraints.
"""

from __future__ import annotations

import atexit
import errno
import math
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.answers import ObjectiveError
from daedal.evaluation.guard import guard
from daedal.evaluation.signals import interrupts_held, signal_name
from daedal.types import Fitness, Outputs

_CHUNK = 65_536  # bytes read at once, kept of standard error, and in the longest line that may be a number
_GRACE = 1.0  # seconds in which a program that should end may do so, and its pipes may run dry
_TICK = 0.05  # seconds between two looks at whether a silent program is still there


class ProgramTimeout(ObjectiveError):  # noqa: N818 - like TimeoutError, but of a program
    """Error of an external program that took too long."""


@dataclass(frozen=True)
class Program:
    """An external program as an objective: one line of 0s and 1s per candidate in, one number per line out.

    After the number, a line may contain the violations of constraints, which you declare with `violations=True`
    (`--violations`). Several threads may call one program at the same time. A pickle or a copy holds the command and
    how to run it. The program itself is started where it is used.

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
        When called, if the program fails or prints something other than one number per candidate.
    ProgramTimeout
        When called, if it takes too long.

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
        weakref.finalize(self, _close_all, self._idle).atexit = False  # at exit, `_end_all` is faster

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
                    running = RunningProgram(self.command)
            if running.kept and not running.is_ready():
                return None
            table = Exchange(running, text, rows, persistent=self.persistent, timeout=self.timeout).run()
            if self.persistent and table is not None:
                running.kept = True
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
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype.kind not in "iub":
        came = f"shape={rows.shape}, dtype={rows.dtype}" if isinstance(rows, np.ndarray) else type(rows).__name__
        raise ValueError(f"expected an integer array of shape (candidates, n) for a program, got {came}")
    if rows.size and (rows.min() < 0 or rows.max() > 1):
        raise ValueError(f"expected 0 and 1 for a program, got numbers from {rows.min()} to {rows.max()}")
    text = np.full((rows.shape[0], rows.shape[1] + 1), ord("\n"), dtype=np.uint8)
    text[:, :-1] = rows
    text[:, :-1] += ord("0")
    return text.tobytes()


def _close_all(idle: list[RunningProgram]) -> None:
    with suppress(IndexError):  # not `while idle`: another thread may take the last one
        while True:
            idle.pop().close()


# ------------------------------------------------------------ a process


class RunningProgram:
    """A process of a program, in a session and process group of its own, with the end of its standard error."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.kept = False  # for another batch, after an earlier one
        self.stderr_end = bytearray()
        with interrupts_held():
            self.process = _start(command)
            guard.add(self.process.pid)
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
        """Return whether it waits for its next batch; it may have ended since the last one."""
        if self.process.poll() is not None or self.stdin.closed or self.stdout.closed:
            return False
        data: bytes | None = self.stdout.read(_CHUNK)
        if data and data.strip():  # it would be taken for the next answer
            raise self.error(
                f"expected one number for each line from {self}, but {_quoted(data)} came after the last one; print one"
                " line for each line that it reads, and nothing else, to standard output"
            )
        return data != b""

    def read_stderr(self) -> bool:
        """Read standard error, keep its end, and return whether there can be more."""
        data: bytes | None = self.stderr.read(_CHUNK)
        self.stderr_end += data or b""
        del self.stderr_end[:-_CHUNK]
        return data != b""

    def error(self, text: str, kind: type[ObjectiveError] = ObjectiveError) -> ObjectiveError:
        """Return an error that quotes the last two lines of standard error, if there are any."""
        if not self.stderr.closed:
            self.read_stderr()
        lines = [" ".join(line.split()) for line in self.stderr_end.decode(errors="replace").splitlines()]
        last = " / ".join([line for line in lines if line][-2:])
        if len(last) > 200:
            last = "..." + last[-197:]
        return kind(f"{text}; its standard error ends with {last!r}" if last else text)

    def kill(self) -> None:
        """Kill its process group."""
        with suppress(ProcessLookupError, PermissionError):  # the latter is how macOS refuses a group of zombies
            os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill the rest of its process group, wait for its end, and close its pipes; can be repeated."""
        with interrupts_held():
            if self in _live:
                self.kill()
                guard.remove(self.process.pid)
                with suppress(subprocess.TimeoutExpired):  # SIGKILL has to wait for a disk that does not answer
                    self.process.wait(5.0)
            for stream in (self.stdin, self.stdout, self.stderr):
                stream.close()
            _live.discard(self)

    def close(self) -> None:
        """End its input, wait for a moment, then kill what is left."""
        try:
            self.stdin.close()
            if self in _live:
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(_GRACE)
        finally:
            self.end()

    def __str__(self) -> str:
        return f"the program {self.command!r}"


def arguments(command: str) -> list[str]:
    """Split a command; refuse one that names no program."""
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
            hint = "it is not in PATH; for a file write its path, as in ./score"
        raise ValueError(f"expected a program that can be run, got {program!r} in the command {command!r}: {hint}")
    return arguments


def _start(command: str) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            arguments(command),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        # A machine without room for one more process may have it later. A program that cannot be run stays so.
        passing = error.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
        raise (ObjectiveError if passing else ValueError)(
            f"the program {command!r} could not be started: {error.strerror}"
            + ("" if passing else "; does its first line, such as #!/bin/sh, name an interpreter that exists?")
        ) from error


_live: set[RunningProgram] = set()
"""Every running program of this process."""


@atexit.register
def _end_all() -> None:
    for running in _live.copy():
        running.kill()  # all at once, before the first is waited for
    for running in _live.copy():
        running.end()


def _forget_all() -> None:
    """Forget, in a forked process, the programs of its parent: it must neither wait for them nor kill them."""
    for running in _live:
        running.process.returncode = 0
    _live.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)


# ------------------------------------------------------------ a batch on its way through a process


class Exchange:
    """A batch on its way through a running program.

    One loop over three pipes writes candidates, reads answers and reads standard error, so that neither side ever waits
    for the other with a full pipe. `Popen.communicate` would not do, even for a program that is started for each batch:
    it reads until no process holds the pipes any more, including those left in the background, and it keeps everything
    that is printed, even without an end.
    """

    def __init__(
        self,
        running: RunningProgram,
        text: bytes,
        rows: int,
        *,
        persistent: bool,
        timeout: float | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.running = running
        self.unsent = memoryview(text)
        self.rows = rows
        self.persistent = persistent
        self.timeout = timeout
        self.clock = clock
        self.lines: list[bytes] = []
        self.rest = b""  # the beginning of a line
        self.numbers: list[list[float]] = []  # of each line: a value, and maybe violations
        self.leaving = False  # it ended, or closed a pipe too early
        self.deadline = math.inf

    def run(self) -> NDArray[np.float64] | None:
        """Return the numbers, shape (candidates, 1 + constraints).

        None if a program that was kept ended in good order before it answered anything, between two batches.
        """
        self._allow(1 if self.persistent else self.rows)
        self._transfer()
        if self.running.kept and not self.lines and self.running.process.returncode == 0:
            return None
        return self._table()

    def _allow(self, rows: int) -> None:
        if self.timeout is not None and not self.leaving:
            self.deadline = self.clock() + rows * self.timeout

    def _transfer(self) -> None:
        """Move bytes until every answer is there, or none can come any more."""
        running = self.running
        with selectors.DefaultSelector() as selector:
            for stream, event, move in (
                (running.stdin, selectors.EVENT_WRITE, self._write),
                (running.stdout, selectors.EVENT_READ, self._read),
                (running.stderr, selectors.EVENT_READ, running.read_stderr),
            ):
                if not stream.closed:
                    selector.register(stream, event, move)
            while not self._is_over():
                now = self.clock()
                if now < self.deadline:
                    self._move(selector, min(_TICK, self.deadline - now))
                elif self.leaving:
                    return
                else:
                    raise self._too_late()

    def _is_over(self) -> bool:
        running = self.running
        if self.persistent and not self.unsent and len(self.lines) >= self.rows:
            return True
        ended = running.process.poll() is not None
        if ended and running.stdout.closed:
            return True
        if not self.leaving and (ended or (self.persistent and (running.stdin.closed or running.stdout.closed))):
            # Other processes may still hold its pipes. Those that print on its behalf get a moment, and no more.
            self.leaving, self.deadline = True, self.clock() + _GRACE
        return False

    def _move(self, selector: selectors.BaseSelector, seconds: float) -> None:
        """Write and read what is possible within some seconds."""
        if not selector.get_map():  # all pipes are closed, so only the end can come
            with suppress(subprocess.TimeoutExpired):
                self.running.process.wait(seconds)
            return
        for key, _ in selector.select(seconds):
            if not key.data():
                selector.unregister(key.fileobj)
                if not (self.persistent and key.fileobj is self.running.stdin):
                    key.fileobj.close()  # type: ignore[union-attr]

    def _write(self) -> bool:
        """Write what the pipe takes; return whether there is more to write."""
        try:
            self.unsent = self.unsent[self.running.stdin.write(self.unsent) or 0 :]
        except BrokenPipeError:  # it reads no more; its output and exit code will show whether that is right
            self.running.stdin.close()
            return False
        return bool(self.unsent)

    def _read(self) -> bool:
        """Read answers; return whether there can be more.

        Output that cannot become right is refused at once: any wrong line of a persistent program, and floods of lines.
        """
        data: bytes | None = self.running.stdout.read(_CHUNK)
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

    def _table(self) -> NDArray[np.float64]:
        """Return the numbers of all lines, or refuse them."""
        code = self.running.process.returncode
        if not self.persistent and code != 0:
            raise self.running.error(
                f"expected exit code 0 from {self.running}, but it {_ending(code)}; run it by hand to see why"
            )
        if self.persistent and len(self.lines) < self.rows:  # where the rest may be half a number
            raise self._left_alone()
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
                raise self.running.error(
                    f"expected as many numbers per line from {self.running} as in line 1, {len(self.numbers[0])}, but "
                    f"line {number} is {_quoted(line)}; print 0 for a constraint that is not violated"
                )
            self.numbers.append(found)

    @property
    def _wanted(self) -> str:
        return f"{self.rows:,} {'number' if self.rows == 1 else 'numbers'} from {self.running}"

    def _not_a_number(self, number: int, line: bytes) -> ObjectiveError:
        return self.running.error(
            f"expected one number per line, and then violations, if any, from {self.running}, but line {number} is "
            f"{_quoted(line)}; print nothing else to standard output: messages belong on standard error"
        )

    def _wrong_number(self, came: str) -> ObjectiveError:
        return self.running.error(
            f"expected {self._wanted}, got {came}; print one line for each line that it reads, and nothing else, to "
            "standard output"
        )

    def _left_alone(self) -> ObjectiveError:
        """Return the error of a persistent program that ended, or closed a pipe, in the middle of a batch."""
        code = self.running.process.returncode
        if code is not None:
            how = _ending(code)
        else:
            how = f"closed its standard {'output' if self.running.stdout.closed else 'input'}"
        return self.running.error(
            f"expected {self._wanted}, got {len(self.lines) or 'nothing'} before it {how}; "
            "a persistent program has to answer line by line until its input ends"
        )

    def _too_late(self) -> ObjectiveError:
        assert self.timeout is not None
        if self.persistent:
            expected = f"an answer from {self.running} within {self.timeout:g} s"
            advice = "does it flush its standard output after each line, or does it need"
        else:
            expected = f"{self._wanted} within {self.rows * self.timeout:g} s, {self.timeout:g} s for each"
            advice = "does it end when its input ends, or does it need"
        return self.running.error(
            f"expected {expected}, got {len(self.lines)} of {self.rows}; {advice} a longer timeout (--timeout)?",
            ProgramTimeout,
        )


def _quoted(line: bytes) -> str:
    """Quote a line, or its beginning; as bytes if it is not UTF-8."""
    try:
        text = repr(line.decode().strip())
    except UnicodeDecodeError:
        text = repr(line.strip())
    return text if len(text) <= 60 else text[:57] + "..."


def _ending(code: int) -> str:
    return f"exited with code {code}" if code >= 0 else f"was ended by {signal_name(-code)}"
