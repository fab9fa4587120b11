"""Evaluates in this process, and notes rows down as they come."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.caller import Answers, Caller, ObjectiveMisuse
from daedal.types import Bits

SECONDS_BETWEEN_NOTES = 0.1  # where rows are evaluated here, one by one


class Serial:
    """Evaluates in this process: a batch at once, or rows one by one."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller

    def answers(self, rows: Bits, *, first_failure_only: bool) -> Iterator[tuple[NDArray[np.intp], Answers]]:
        """Evaluate rows; give indices and answers as they come."""
        everything = np.arange(len(rows))
        if self.caller.vectorized:
            yield everything, self.caller.answers(rows, first_failure_only=first_failure_only)
            return
        start = 0
        while start < len(rows):
            answers, stop, ending = self._for_a_while(rows, start, first_failure_only)
            yield everything[start:stop], answers
            if ending is not None:
                raise ending
            start = stop

    def _for_a_while(
        self, rows: Bits, start: int, first_failure_only: bool
    ) -> tuple[Answers, int, BaseException | None]:
        """Evaluate rows from start on, until it is time to note them down, or the run is broken off."""
        answers = Answers(np.full(len(rows) - start, np.nan))
        until = time.monotonic() + SECONDS_BETWEEN_NOTES
        stop, ending = start, None
        while (
            stop < len(rows)
            and (stop == start or time.monotonic() <= until)
            and not (first_failure_only and answers.errors)
        ):
            try:
                self.caller.one(rows[start:], stop - start, answers)
            except (KeyboardInterrupt, ObjectiveMisuse) as error:  # what came before it is not lost
                ending = error
                break
            stop += 1
        answers.values = answers.values[: stop - start]
        return answers, stop, ending

    def close(self) -> None:
        """End a program that is kept running."""
