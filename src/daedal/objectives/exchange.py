"""One batch on its way through an external program: lines in, numbers out."""

from __future__ import annotations

import math
import selectors
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress

import numpy as np

from daedal.evaluation.caller import ObjectiveError
from daedal.evaluation.signals import signal_name
from daedal.objectives.process import CHUNK, GRACE, RunningProgram, quoted
from daedal.types import Amounts, Fitness

_TICK = 0.05  # seconds between two looks at whether a silent program is still there


class ProgramTimeout(ObjectiveError):  # noqa: N818 - as TimeoutError, but of a program
    """An external program took longer than it may."""


class Exchange:
    """One batch on its way through a running program.

    One loop over three pipes writes rows, reads answers and reads standard error, whichever is possible, so that
    neither side ever waits for the other with a full pipe. `Popen.communicate` would not do, not even for a program
    that is started for each batch: it reads until nobody holds the pipes any more, be it a process that was left in the
    background, and it keeps all that is printed, be it without end.
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
        self.values: list[list[float]] = []  # a value, and maybe violations
        self.leaving = False  # it ended, or closed a pipe too early
        self.deadline = math.inf

    def run(self) -> Fitness | tuple[Fitness, Amounts] | None:
        """Give the numbers, shape (rows,), and violations, shape (rows, constraints), where there are any.

        None where a program that was kept ended in good order before it answered anything: between two batches.
        """
        self._allow(1 if self.persistent else self.rows)
        self._transfer()
        if self.running.kept and not self.lines and self.running.process.returncode == 0:
            return None
        return self._fitness()

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
            # Others may still hold its pipes: a moment for those that print on its behalf, no more.
            self.leaving, self.deadline = True, self.clock() + GRACE
        return False

    def _move(self, selector: selectors.BaseSelector, seconds: float) -> None:
        """Write and read what is possible within some seconds."""
        if not selector.get_map():  # all pipes are closed: what is left to see is the end
            with suppress(subprocess.TimeoutExpired):
                self.running.process.wait(seconds)
            return
        for key, _ in selector.select(seconds):
            if not key.data():
                selector.unregister(key.fileobj)
                if not (self.persistent and key.fileobj is self.running.stdin):
                    key.fileobj.close()  # type: ignore[union-attr]

    def _write(self) -> bool:
        """Write what the pipe takes; give whether there is more to write."""
        try:
            self.unsent = self.unsent[self.running.stdin.write(self.unsent) or 0 :]
        except BrokenPipeError:  # it reads no more; what it printed, and its exit code, tell whether that is right
            self.running.stdin.close()
            return False
        return bool(self.unsent)

    def _read(self) -> bool:
        """Read answers; give whether there can be more.

        What cannot come right any more is refused at once: any wrong line of a persistent program, floods of others.
        """
        data: bytes | None = self.running.stdout.read(CHUNK)
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
        if len(self.rest) > CHUNK:
            raise self._not_a_number(len(self.lines) + 1, self.rest)
        return True

    def _fitness(self) -> Fitness | tuple[Fitness, Amounts]:
        """Give the numbers, shape (rows,), with violations, if any, or refuse what came."""
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
        table = np.array(self.values, dtype=np.float64).reshape(self.rows, -1)
        return table[:, 0] if table.shape[1] == 1 else (table[:, 0], table[:, 1:])

    def _convert(self) -> None:
        for line in self.lines[len(self.values) : self.rows]:
            try:
                numbers = [float(word) for word in line.split()]
            except ValueError:
                numbers = []
            if not numbers or b"_" in line:  # Python's 1_000 is nobody else's number
                raise self._not_a_number(len(self.values) + 1, line)
            if self.values and len(numbers) != len(self.values[0]):
                raise self._other_violations(len(self.values) + 1, line)
            self.values.append(numbers)

    @property
    def _wanted(self) -> str:
        return f"{self.rows:,} {'number' if self.rows == 1 else 'numbers'} from {self.running}"

    def _not_a_number(self, number: int, line: bytes) -> ObjectiveError:
        return self.running.error(
            f"expected one number per line (and violations behind it, if any) from {self.running}, but line {number} is"
            f" {quoted(line)}; print nothing else to standard output: messages belong on standard error"
        )

    def _other_violations(self, number: int, line: bytes) -> ObjectiveError:
        return self.running.error(
            f"expected as many numbers per line from {self.running} as in line 1, {len(self.values[0])}, but line "
            f"{number} is {quoted(line)}; print 0 for a constraint that is not violated"
        )

    def _wrong_number(self, came: str) -> ObjectiveError:
        return self.running.error(
            f"expected {self._wanted}, got {came}; print one line for each line that it reads, and nothing else, to "
            "standard output"
        )

    def _left_alone(self) -> ObjectiveError:
        """Give the error for a persistent program that ended, or closed a pipe, in the middle of a batch."""
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


def _ending(code: int) -> str:
    return f"exited with code {code}" if code >= 0 else f"was ended by {signal_name(-code)}"
