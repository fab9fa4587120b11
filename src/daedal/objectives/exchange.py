"""One batch on its way through an external program: lines in, numbers out."""

from __future__ import annotations

import math
import selectors
import subprocess
import time
from contextlib import suppress

import numpy as np

from daedal.evaluation.caller import ObjectiveError
from daedal.evaluation.failures import signal_name
from daedal.objectives.process import CHUNK, GRACE, RunningProgram, shown
from daedal.types import Fitness

_TICK = 0.05  # seconds between two looks at whether a silent program is still there


class ProgramTimeout(ObjectiveError):  # noqa: N818 - as TimeoutError, but of a program
    """An external program took longer than it may.

    Examples
    --------
    >>> import numpy as np
    >>> from daedal.objectives.program import Program
    >>> try:
    ...     Program("sleep 60", timeout=0.1)(np.array([[1, 0]]))
    ... except ProgramTimeout:
    ...     print("too slow")
    too slow
    """


class Exchange:
    """One batch on its way through a running program.

    One loop over three pipes writes, reads answers and hears standard error, whichever is possible, so that neither
    side ever waits for the other with a full pipe.
    """

    def __init__(
        self, running: RunningProgram, text: bytes, rows: int, *, persistent: bool, timeout: float | None
    ) -> None:
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
                    patience = now + GRACE
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
        data: bytes | None = self.running.stdout.read(CHUNK)
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
        if len(self.rest) > CHUNK:
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

    @property
    def _wanted(self) -> str:
        return f"{self.rows:,} {'number' if self.rows == 1 else 'numbers'} from {self.running}"

    def _not_a_number(self, number: int, line: bytes) -> ObjectiveError:
        try:
            line.decode()
            expected = "one number a line"
        except UnicodeDecodeError:
            expected = "numbers as UTF-8 text, one a line,"
        return self.running.error(
            f"expected {expected} from {self.running}, but line {number} is {shown(line)}; print nothing else to "
            "standard output: messages belong to standard error"
        )

    def _wrong_number(self, came: str) -> ObjectiveError:
        return self.running.error(
            f"expected {self._wanted}, got {'nothing' if came == '0' else came}; print one "
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
            f"expected {self._wanted}, got {len(self.lines) or 'nothing'} before it {how}; "
            "a persistent program has to answer line after line until its input ends"
        )

    def _too_late(self) -> ObjectiveError:
        assert self.timeout is not None
        if self.persistent:
            expected = f"an answer from {self.running} within {self.timeout:g} s"
            advice = "does it flush its standard output after each line, or does it need"
        else:
            within = f"{self.rows * self.timeout:g} s, {self.timeout:g} s for each"
            expected = f"{self._wanted} within {within}"
            advice = "does it end when its input ends, or does it need"
        return self.running.error(
            f"expected {expected}, got {len(self.lines)} of {self.rows}; {advice} a longer timeout (--timeout)?",
            ProgramTimeout,
        )


def _ending(code: int) -> str:
    return f"exited with code {code}" if code >= 0 else f"was ended by {signal_name(-code)}"
