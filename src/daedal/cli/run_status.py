"""What is said of a run as it goes: its heading, its last generations, how far it is, and how its best value went."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from daedal.cli.durations import duration, elapsed
from daedal.cli.sparkline import Sparkline
from daedal.result.records import Generation
from daedal.run.view import RunProgress, RunView
from daedal.settings.checks import visible

SHOWN = 12
"""Generations that are remembered for a table."""


@dataclass(frozen=True)
class Budget:
    """How much of a budget is used up: the share, and the words."""

    share: float
    text: str


class RunStatus:
    """What is known of a run: what a display may ask it, and the last records.

    To take a record is all that the run itself waits for; words are made when they are asked for, which may be in
    another thread.
    """

    def __init__(self, view: RunView, clock: Callable[[], float]) -> None:
        self.view = view
        self.clock = clock
        self.best = Sparkline()
        self._records: deque[tuple[Generation, float]] = deque(maxlen=SHOWN)  # and when they came
        self._first: tuple[float, int] | None = None  # seconds and evaluations when this process took over

    def add(self, record: Generation) -> None:
        """Take the record of a generation that is complete now."""
        self._records.append((record, self.clock()))
        self.best.add(record.best)

    def rows(self) -> list[dict[str, str]]:
        """Give what is shown of the last generations, by column, all in the same order; the seconds come last."""
        began = self.clock() - self.view.progress().seconds
        rows = [_cells(record) | {"seconds": f"{when - began:.1f}"} for record, when in self._records.copy()]
        names = sorted(dict.fromkeys(name for row in rows for name in row), key=lambda name: name == "seconds")
        return [{name: row.get(name, "") for name in names} for row in rows]

    def best_value(self) -> str | None:
        """Write the best value so far; None where no generation is complete."""
        records = self._records.copy()
        return _best(records[-1][0]) if records else None

    def heading(self) -> str:
        """Say what is run, and for what."""
        title, goal = visible(self.view.title), self.view.goal
        return title if goal is None else f"{title}, goal {goal:.10g}"

    def activity(self, progress: RunProgress, waited: float) -> str:
        """Say what goes on at the moment, and the time that has passed: since the run began, or before, so far."""
        seconds = progress.seconds if progress.has_begun else waited
        if not progress.has_begun:
            doing = "preparing kernels"
        elif progress.rows == 0:
            doing = "choosing the next rows"
        elif progress.rows == 1:
            doing = "1 row under way"
        else:
            doing = f"{progress.answered:,} of {progress.rows:,} rows of this batch"
        return f"{doing}, {elapsed(seconds)}"

    def budget(self, progress: RunProgress) -> Budget | None:
        """Say how much of the evaluations, or of the time, is used up, whichever is nearer its end; None: no limit."""
        if self._first is None and progress.has_begun:
            self._first = progress.seconds, progress.evaluations
        limits, seconds, evaluations = (
            self.view.limits,
            progress.seconds if progress.has_begun else 0.0,
            progress.evaluations,
        )
        found = []
        if (most := limits.max_evaluations) is not None:
            left = self._seconds_left(progress, most)
            about = "" if left is None else f", about {duration(left)} left"
            found.append(Budget(min(evaluations / most, 1.0), f"{evaluations:,} of {most:,} evaluations{about}"))
        if (longest := limits.max_seconds) is not None:
            left = max(math.ceil(longest - seconds), 0)
            text = f"{elapsed(seconds)} of {elapsed(longest)}, {elapsed(left)} left"
            found.append(Budget(min(seconds / longest, 1.0), text))
        return max(found, key=lambda one: one.share, default=None)

    def _seconds_left(self, progress: RunProgress, most: int) -> float | None:
        """Give the time that the evaluations that are left will take, if they take as long as those so far."""
        if self._first is None:
            return None
        seconds, evaluations = progress.seconds - self._first[0], progress.evaluations - self._first[1]
        return seconds / evaluations * max(most - progress.evaluations, 0) if evaluations else None


def _cells(record: Generation) -> dict[str, str]:
    """Give what is shown of a generation, by column."""
    cells = {
        "generation": str(record.generation),
        "evaluations": f"{record.evaluations:,}",
        "best": _best(record),
        "mean": f"{record.mean:.6g}",
    }
    return cells | {visible(name.replace("_", " ")): f"{value:.5g}" for name, value in record.info.items()}


def _best(record: Generation) -> str:
    return "none feasible" if record.info.get("violation", 0.0) > 0 else f"{record.best:g}"
