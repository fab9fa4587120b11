"""Evaluates in this process, and gives rows as they come."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

import numpy as np

from daedal.evaluation.caller import Answers, Caller, ObjectiveMisuse, Places
from daedal.types import Bits

SECONDS_BETWEEN_NOTES = 0.1


class Serial:
    """Evaluates in this process: a batch at once, or rows one by one.

    Parameters
    ----------
    caller
        Calls the objective.
    seconds_between_notes
        How long rows that are evaluated one by one are gathered before they are given.
    """

    def __init__(self, caller: Caller, *, seconds_between_notes: float = SECONDS_BETWEEN_NOTES) -> None:
        self.caller = caller
        self.seconds_between_notes = seconds_between_notes

    def answers(self, rows: Bits, *, first_failure_only: bool) -> Iterable[tuple[Places, Answers]]:
        """Evaluate rows; give which, and their answers, as they come."""
        if self.caller.vectorized:
            return [(slice(0, len(rows)), self.caller.answers(rows, first_failure_only=first_failure_only))]
        return self._one_by_one(rows, first_failure_only)

    def _one_by_one(self, rows: Bits, first_failure_only: bool) -> Iterator[tuple[Places, Answers]]:
        start = 0
        while start < len(rows):
            answers, stop, ending = self._for_a_while(rows, start, first_failure_only)
            yield slice(start, stop), answers
            if ending is not None:
                raise ending
            start = stop

    def _for_a_while(
        self, rows: Bits, start: int, first_failure_only: bool
    ) -> tuple[Answers, int, BaseException | None]:
        """Evaluate rows from start on, until it is time to give them, or the run is broken off."""
        answers = Answers(np.full(len(rows) - start, np.nan))
        until = time.monotonic() + self.seconds_between_notes
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
        """Nothing has to end."""
