"""The times of a run, all its parts together: on the clock, of the processor, and in evaluations."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daedal.result.records import Generation


class Clock:
    """Measures a run from `start` on, and continues from another one.

    Attributes
    ----------
    started
        When this part of the run began, on the monotonic clock.
    objective_seconds
        Time on the clock that evaluations took.
    cpu_seconds_to_best
        CPU time up to the batch that found the best solution.
    """

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.objective_seconds = 0.0
        self.cpu_seconds_to_best = 0.0
        self._cpu_started = time.process_time()
        self._seconds_before = 0.0  # of the parts before
        self._cpu_before = 0.0
        self._stopped: tuple[float, float] | None = None  # the two times, when the run has ended

    def start(self) -> None:
        """Let this part of the run begin now."""
        self.started, self._cpu_started = time.monotonic(), time.process_time()

    def stop(self) -> None:
        """Let both times stay as they are now."""
        self._stopped = self.seconds, self.cpu_seconds

    @property
    def seconds(self) -> float:
        """Time on the clock since the run began."""
        return self._stopped[0] if self._stopped else self._seconds_before + time.monotonic() - self.started

    @property
    def cpu_seconds(self) -> float:
        """CPU time of this process, and of the processes of the parts before."""
        return self._stopped[1] if self._stopped else self._cpu_before + time.process_time() - self._cpu_started

    def continue_from(self, record: Generation) -> None:
        """Continue from the times of a record of an earlier part of the run."""
        self._seconds_before += record.seconds - self.seconds
        self._cpu_before += record.cpu_seconds - self.cpu_seconds
        self.objective_seconds = record.objective_seconds

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Count what goes by as time of evaluations."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.objective_seconds += time.monotonic() - began
