"""External programs as objectives: one line of 0s and 1s per row goes in, one number per line comes out.

Behind the number there may be others: by how much each constraint is violated.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.signals import interrupts_held
from daedal.objectives.exchange import Exchange
from daedal.objectives.process import RunningProgram, arguments, kill_programs
from daedal.types import Amounts, Fitness


@dataclass(frozen=True)
class Program:
    """An external program as an objective: one line of 0s and 1s per row in, one number per line out.

    Calls from several threads do not disturb each other. A pickle or a copy holds the command and how to run it; the
    program itself is started where it is used.

    Parameters
    ----------
    command
        The program and its arguments, split as a shell would, but run without one. A program with a slash in its name
        is relative to the current folder, any other is looked for in PATH.
    persistent
        Whether one process is kept from batch to batch. It has to answer each line at once, and to flush its answer.
        Otherwise the program is started for each batch and reads until its input ends.
    timeout
        Seconds per row: a batch of r rows may take r times as long; a persistent program may take so long for each
        answer. The start of the program counts. None: no limit.

    Raises
    ------
    ValueError
        For a command that is empty or names no program that can be run.
    ObjectiveError
        When called: the program failed, or printed something other than one number per row.
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
    def on_exit(self) -> Callable[[], None]:
        """What a process that uses it has to do before it ends."""
        return kill_programs

    @property
    def label(self) -> str:
        """Its name in messages and results."""
        return f"cmd:{self.command}"

    def __call__(self, rows: NDArray[Any]) -> Fitness | tuple[Fitness, Amounts]:
        """Give the numbers, shape (rows,), that the program prints for rows of 0s and 1s, shape (rows, n).

        With violations behind them it is a pair of these numbers and of the violations, shape (rows, constraints).
        """
        return self.answers(_lines(rows), len(rows))

    def answers(self, text: bytes, rows: int) -> Fitness | tuple[Fitness, Amounts]:
        """Give the same that the program prints for so many lines."""
        fitness: Fitness | tuple[Fitness, Amounts] | None = None if rows else np.empty(0)
        while fitness is None:
            fitness = self._answers(text, rows)
        return fitness

    def _answers(self, text: bytes, rows: int) -> Fitness | tuple[Fitness, Amounts] | None:
        """Give one process a batch; None where it ended, in good order, since the last one."""
        running: RunningProgram | None = None
        try:
            with interrupts_held():  # so that nothing comes between a start and the `finally` that answers for it
                try:
                    running = self._idle.pop()
                except IndexError:
                    running = RunningProgram(self.command)
            if running.kept and not running.is_ready():
                return None
            fitness = Exchange(running, text, rows, persistent=self.persistent, timeout=self.timeout).run()
            if self.persistent and fitness is not None:
                running.kept = True
                self._idle.append(running)
                running = None
            return fitness
        finally:
            if running is not None:
                running.end()  # with whatever it left in the background

    def close(self) -> None:
        """End the process that is kept, if any: end its input, wait one second, kill what is left of its group."""
        _close_all(self._idle)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _lines(rows: NDArray[Any]) -> bytes:
    """Write rows of 0s and 1s, shape (rows, n), as lines."""
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
    with suppress(IndexError):  # not `while idle`: another thread may take the last one
        while True:
            idle.pop().close()
