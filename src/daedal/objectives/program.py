"""Objectives that are external programs: a line of 0 and 1 for each row goes in, a number for each line comes out."""

from __future__ import annotations

import math
import weakref
from dataclasses import KW_ONLY, dataclass, field
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.caller import ObjectiveError
from daedal.evaluation.signals import interrupts_held
from daedal.objectives.exchange import Exchange
from daedal.objectives.process import RunningProgram, arguments
from daedal.types import Fitness


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
        running: RunningProgram | None = None
        try:
            while True:
                with interrupts_held():  # so that nothing comes between a start and the `try` that answers for it
                    running = self._take()
                first = not running.batches
                exchange = Exchange(running, text, len(rows), persistent=self.persistent, timeout=self.timeout)
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

    def _take(self) -> RunningProgram:
        """Give a process that can have the next batch."""
        while True:
            try:
                running = self._idle.pop()
            except IndexError:
                return RunningProgram(self.command)
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


def _close_all(idle: list[RunningProgram]) -> None:
    while True:
        try:
            running = idle.pop()
        except IndexError:
            return
        running.close()
