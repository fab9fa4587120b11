"""Objectives that are external programs: a line of 0 and 1 for each row goes in, a number for each line comes out."""

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
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field
from types import FrameType, TracebackType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from daedal.bits import Fitness
from daedal.calling import ObjectiveError

_CHUNK = 65_536  # bytes read at once, the end of standard error that is kept, and the longest line that may be a number
_TICK = 0.05  # seconds between two looks at whether a silent program is still there
_GRACE = 1.0  # seconds in which a program that should end may do so, and its pipes may run dry


class ProgramTimeout(ObjectiveError):  # noqa: N818 - as TimeoutError, but of a program
    """An external program took longer than it may.

    Examples
    --------
    >>> import numpy as np
    >>> try:
    ...     Program("sleep 60", timeout=0.1)(np.array([[1, 0]]))
    ... except ProgramTimeout:
    ...     print("too slow")
    too slow
    """


@dataclass(frozen=True)
class Program:
    """An external program as an objective: one line of 0 and 1 a row in, one number a line out.

    Calls from several threads do not disturb each other. What can be pickled and copied is the command and how it is to
    be run; the program itself is started where it is used.

    Parameters
    ----------
    command
        The program and its arguments, split as a shell would, but run without one. A program with a slash in its name
        is relative to the current folder, any other is looked for in PATH.
    persistent
        Whether one process is kept from batch to batch. It has to answer each line at once, and to flush it. Without,
        the program is started for each batch and reads until its input ends.
    timeout
        Seconds for a row: a batch of r rows may take r times as many, each answer of a persistent program no more than
        that since the last. None: any time. The start of the program counts.

    Raises
    ------
    ValueError
        For a command that is empty or names no program that can be run.
    ObjectiveError
        When called: the program failed, or gave something that is not one number a row.
    ProgramTimeout
        When called: it took too long.

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
    _idle: list[_Running] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _arguments(self.command)
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
        weakref.finalize(self, _close_all, self._idle).atexit = False  # at the very end, `_end_all` is faster

    @property
    def label(self) -> str:
        """What to call it."""
        return f"cmd:{self.command}"

    def __call__(self, rows: NDArray[Any]) -> Fitness:
        """Give the numbers, shape (rows,), that the program prints for rows of 0/1, shape (rows, n)."""
        text = _lines(rows)
        if not len(rows):
            return np.empty(0)
        running: _Running | None = None
        try:
            while True:
                with _undisturbed():  # so that nothing comes between a start and the `try` that answers for it
                    running = self._take()
                first = not running.batches
                exchange = _Exchange(running, text, len(rows), persistent=self.persistent, timeout=self.timeout)
                exchange.run()
                if first or not exchange.came_to_nothing:
                    break
                running.end()  # it was about to end, in good order, when this batch came
            fitness = exchange.fitness()
            running.batches += 1
            if self.persistent:
                self._idle.append(running)
            else:
                running.end()  # whatever it left in the background
            return fitness
        except BaseException:
            if running is not None:
                running.end()
            raise

    def _take(self) -> _Running:
        """Give a process that can have the next batch."""
        while True:
            try:
                running = self._idle.pop()
            except IndexError:
                return _Running(self.command)
            try:
                if running.is_ready():
                    return running
            except ObjectiveError:
                running.end()
                raise
            running.end()

    def close(self) -> None:
        """End the process that is kept, if any: end its input, wait one second, kill what is left of its group."""
        _close_all(self._idle)

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def kill_programs() -> None:
    """Kill at once every program, with its whole process group, that this process has running.

    It does not wait and takes no lock: a signal handler or another thread may call it. Calls that wait for an answer
    raise ObjectiveError.

    Examples
    --------
    >>> import threading
    >>> import numpy as np
    >>> threading.Timer(0.2, kill_programs).start()
    >>> try:
    ...     Program("sleep 60")(np.array([[1, 0]]))
    ... except ObjectiveError as error:
    ...     print(error)
    expected exit code 0 from the program 'sleep 60', but it was ended by SIGKILL; run it by hand to see why
    """
    for running in _live.copy():
        running.kill()


class _Running:
    """A program that runs, in a session and process group of its own, and the end of what it told standard error."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.batches = 0
        self.killed = False
        self.said = bytearray()
        with _undisturbed():
            self.process = _start(command)
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
        """Whether it waits for a batch; False where it ended since the last."""
        if self.killed or self.process.poll() is not None or self.stdin.closed or self.stdout.closed:
            return False
        data: bytes | None = self.stdout.read(_CHUNK)
        if data == b"":
            return False
        if data and data.strip():  # it would be taken for the answer to the next row
            raise self.error(
                f"expected one number for each line from {self}, but {_shown(data)} came after the last one; print one "
                "line for each line that it reads, and nothing else, to standard output"
            )
        return True

    def hear(self) -> bool:
        """Read what is there of standard error, keep the end of it, and give whether there can be more."""
        data: bytes | None = self.stderr.read(_CHUNK)
        self.said += data or b""
        del self.said[:-_CHUNK]
        return data != b""

    def error(self, text: str, kind: type[ObjectiveError] = ObjectiveError) -> ObjectiveError:
        """Give an error that quotes the last words of standard error, if there are any."""
        if not self.stderr.closed:
            self.hear()
        last = [line.strip() for line in self.said.decode(errors="replace").splitlines() if line.strip()][-2:]
        quoted = " / ".join(" ".join(line.split()) for line in last)
        if len(quoted) > 200:
            quoted = "..." + quoted[-197:]
        return kind(f"{text}; its standard error ends with {quoted!r}" if quoted else text)

    def kill(self) -> None:
        """Kill its process group."""
        self.killed = True  # it may take a moment to die, in which it looks as if it waited for a batch
        with suppress(ProcessLookupError, PermissionError):  # macOS says the latter of a group of zombies
            os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill what is left of its process group, take note of its end, close its pipes; any number of times."""
        with _undisturbed():
            if self in _live:
                self.kill()
                with suppress(subprocess.TimeoutExpired):  # SIGKILL has to wait for a disk that does not answer
                    self.process.wait(5.0)
            for stream in (self.stdin, self.stdout, self.stderr):
                stream.close()
            _live.discard(self)

    def close(self) -> None:
        """End its input and give it a moment before it is killed."""
        try:
            self.stdin.close()
            if self in _live:
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(_GRACE)
        finally:
            self.end()

    def __str__(self) -> str:
        return f"the program {self.command!r}"


class _Exchange:
    """One batch on its way through a running program.

    One loop over three pipes writes, reads answers and hears standard error, whichever is possible, so that neither
    side ever waits for the other with a full pipe.
    """

    def __init__(self, running: _Running, text: bytes, rows: int, *, persistent: bool, timeout: float | None) -> None:
        self.running = running
        self.left = memoryview(text)
        self.rows = rows
        self.persistent = persistent
        self.timeout = timeout
        self.lines: list[bytes] = []
        self.values: list[float] = []
        self.surplus = 0  # lines that are not blank, beyond one a row
        self.rest = b""  # the beginning of a line
        self.deadline = math.inf
        self._allow(1 if persistent else rows)

    def _allow(self, rows: int) -> None:
        if self.timeout is not None:
            self.deadline = time.monotonic() + rows * self.timeout

    @property
    def came_to_nothing(self) -> bool:
        """Whether a persistent program ended by itself, in good order, before it answered anything."""
        return self.persistent and not self.lines and self.running.process.returncode == 0

    def run(self) -> None:
        """Move bytes until every answer is there, or none can come any more."""
        running, now = self.running, time.monotonic()
        patience: float | None = None
        with selectors.DefaultSelector() as selector:
            for stream in (running.stdin, running.stdout, running.stderr):
                if not stream.closed:
                    writes = stream is running.stdin
                    selector.register(stream, selectors.EVENT_WRITE if writes else selectors.EVENT_READ)
            while True:
                # Asked before reading: what a program wrote before its end is in the pipes by now.
                ended = running.process.poll() is not None
                last = ended and running.stdout.closed
                until = self.deadline if patience is None else patience
                moved = self._move(selector, 0.0 if last else max(0.0, min(_TICK, until - now)))
                self._refuse_early()
                if self.persistent and not self.left and len(self.lines) == self.rows:
                    return
                if last and not moved:
                    return
                now = time.monotonic()
                if patience is not None:
                    if now >= patience:
                        return
                elif ended or (self.persistent and (running.stdin.closed or running.stdout.closed)):
                    # Others may still hold its pipes: a moment for those that print on its behalf, no more.
                    patience = now + _GRACE
                elif now >= self.deadline:
                    raise self._too_late()

    def _move(self, selector: selectors.BaseSelector, wait: float) -> bool:
        """Write and read what is possible within some seconds; give whether anything was."""
        if not selector.get_map():  # all pipes are closed: what is left to see is the end
            with suppress(subprocess.TimeoutExpired):
                self.running.process.wait(wait)
            return False
        events = selector.select(wait)
        for key, _ in events:
            stream = key.fileobj
            if stream is self.running.stdin:
                more = self._write()
            elif stream is self.running.stdout:
                more = self._read()
            else:
                more = self.running.hear()
            if not more:
                selector.unregister(stream)
                if not (stream is self.running.stdin and self.persistent):
                    stream.close()  # type: ignore[union-attr]
        return bool(events)

    def _write(self) -> bool:
        try:
            self.left = self.left[self.running.stdin.write(self.left) or 0 :]
        except BrokenPipeError:  # it reads no more; what it printed, and its exit code, tell whether that is right
            self.running.stdin.close()
            return False
        return bool(self.left)

    def _read(self) -> bool:
        data: bytes | None = self.running.stdout.read(_CHUNK)
        if data:
            self._divide(data)
        return data != b""

    def _divide(self, data: bytes) -> None:
        *complete, self.rest = (self.rest + data).split(b"\n")
        room = self.rows - len(self.lines)
        self.lines += complete[:room]
        self.surplus += sum(1 for line in complete[room:] if line.strip())
        if complete and self.persistent:
            self._allow(1)

    def _refuse_early(self) -> None:
        """Refuse what cannot become right: of a persistent program any wrong line, of others floods."""
        if self.persistent:
            self._convert()
        if self.surplus > (0 if self.persistent else 2 * self.rows + 1000):
            raise self._wrong_number(f"at least {self.rows + self.surplus}")
        if len(self.rest) > _CHUNK:
            raise self._not_a_number(len(self.lines) + 1, self.rest)

    def fitness(self) -> Fitness:
        """Give the numbers, shape (rows,), or refuse what came."""
        code = self.running.process.returncode
        if not self.persistent:
            if code != 0:
                raise self.running.error(
                    f"expected exit code 0 from {self.running}, but it {_ending(code)}; run it by hand to see why"
                )
            self._divide(b"\n")  # the last line may lack its end
            while self.lines and not self.lines[-1].strip():
                self.lines.pop()
        self._convert()
        if self.persistent and len(self.lines) < self.rows:  # where a rest may be half a number
            raise self._left_alone()
        came = len(self.lines) + self.surplus + bool(self.rest.strip())
        if came != self.rows:
            raise self._wrong_number(str(came))
        return np.array(self.values)

    def _convert(self) -> None:
        for line in self.lines[len(self.values) :]:
            try:
                value = float(line)
            except ValueError:
                value = None
            if value is None or b"_" in line:  # Python's 1_000 is nobody else's number
                raise self._not_a_number(len(self.values) + 1, line)
            self.values.append(value)

    def _not_a_number(self, number: int, line: bytes) -> ObjectiveError:
        try:
            line.decode()
            expected = "one number a line"
        except UnicodeDecodeError:
            expected = "numbers as UTF-8 text, one a line,"
        return self.running.error(
            f"expected {expected} from {self.running}, but line {number} is {_shown(line)}; print nothing else to "
            "standard output: messages belong to standard error"
        )

    def _wrong_number(self, came: str) -> ObjectiveError:
        return self.running.error(
            f"expected {_numbers(self.rows)} from {self.running}, got {'nothing' if came == '0' else came}; print one "
            "line for each line that it reads, and nothing else, to standard output"
        )

    def _left_alone(self) -> ObjectiveError:
        """Give the error for a persistent program that ended, or closed its pipes, in the middle of a batch."""
        code = self.running.process.returncode
        if code is not None:
            how = _ending(code)
        else:
            how = f"closed its standard {'output' if self.running.stdout.closed else 'input'}"
        return self.running.error(
            f"expected {_numbers(self.rows)} from {self.running}, got {len(self.lines) or 'nothing'} before it {how}; "
            "a persistent program has to answer line after line until its input ends"
        )

    def _too_late(self) -> ObjectiveError:
        assert self.timeout is not None
        if self.persistent:
            expected = f"an answer from {self.running} within {self.timeout:g} s"
            advice = "does it flush its standard output after each line, or does it need"
        else:
            within = f"{self.rows * self.timeout:g} s, {self.timeout:g} s for each"
            expected = f"{_numbers(self.rows)} from {self.running} within {within}"
            advice = "does it end when its input ends, or does it need"
        return self.running.error(
            f"expected {expected}, got {len(self.lines)} of {self.rows}; {advice} a longer timeout (--timeout)?",
            ProgramTimeout,
        )


def _arguments(command: str) -> list[str]:
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
            hint = f"it is not in PATH; for the file in this folder say ./{program}"
        elif os.path.isfile(program):
            hint = f"it may not be executed; say chmod +x {program}, or put its interpreter in front"
        elif os.sep in program:
            hint = "there is no such file; a relative path is relative to the current folder"
        else:
            hint = "it is not in PATH; for a file say where it is, as in ./score"
        raise ValueError(f"expected a program that can be run, got {program!r} in the command {command!r}: {hint}")
    return arguments


def _start(command: str) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            _arguments(command),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        # A machine without room for one more process may have it later; a program that cannot be run stays so.
        passing = error.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
        raise (ObjectiveError if passing else ValueError)(
            f"expected to start the program {command!r}, but: {error.strerror}"
            + ("" if passing else "; does its first line, as #!/bin/sh, name an interpreter that is there?")
        ) from error


def _lines(rows: NDArray[Any]) -> bytes:
    """Write rows of 0/1, shape (rows, n), as lines."""
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype.kind not in "iub":
        came = f"shape={rows.shape}, dtype={rows.dtype}" if isinstance(rows, np.ndarray) else type(rows).__name__
        raise ValueError(f"expected an integer array of shape (rows, n) for a program, got {came}")
    if rows.size and (rows.min() < 0 or rows.max() > 1):
        raise ValueError(f"expected rows of 0 and 1 for a program, got numbers from {rows.min()} to {rows.max()}")
    text = np.full((rows.shape[0], rows.shape[1] + 1), ord("\n"), dtype=np.uint8)
    text[:, :-1] = rows
    text[:, :-1] += ord("0")
    return text.tobytes()


def _ending(code: int) -> str:
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:  # a real-time signal
        return f"was ended by signal {-code}"


def _numbers(count: int) -> str:
    return "1 number" if count == 1 else f"{count} numbers"


def _shown(line: bytes) -> str:
    """Quote one line, or its beginning; what is not UTF-8 as bytes."""
    try:
        text = repr(line.decode().strip())
    except UnicodeDecodeError:
        text = repr(line.strip())
    return text if len(text) <= 60 else text[:57] + "..."


_live: set[_Running] = set()
"""Every program that this process has running. A set of plain objects is copied in one step, whoever interrupts."""


def _close_all(idle: list[_Running]) -> None:
    while True:
        try:
            running = idle.pop()
        except IndexError:
            return
        running.close()


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


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Put off the Python handlers of signals that end a process, so that no exception comes in between.

    A mask would not do: the signal would then come to another thread, and its handler to this one all the same.
    """
    if threading.current_thread() is not threading.main_thread():  # handlers run in the main thread only
        yield
        return
    before: dict[int, Any] = {}
    came: list[int] = []
    over = False

    def put_off(number: int, frame: FrameType | None) -> None:
        if over:  # an exception came while the handlers were put back
            before[number](number, frame)
        else:
            came.append(number)

    try:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and callable(handler := signal.getsignal(number)):
                before[number] = handler
                signal.signal(number, put_off)
        yield
    finally:
        over = True
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)
