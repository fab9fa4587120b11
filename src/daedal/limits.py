"""When a run ends, and what to tell the user then."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from numbers import Real

from daedal.settings.checks import check_whole

TOLERANCE = 1e-6
"""How far below a target still counts as reached: tables of real numbers do not add up to the last digit."""


def meets(fitness: float, target: float) -> bool:
    """Whether a fitness reaches a target, within TOLERANCE, or that share of a target below 1."""
    return bool(fitness >= target - TOLERANCE * min(1.0, abs(target)))


class BudgetWarning(UserWarning):
    """The budget is too small for the algorithm to learn anything."""


class TimeWarning(BudgetWarning):
    """A generation will take more than ten minutes."""


class ReplayWarning(UserWarning):
    """A resumed run does not ask for the recorded candidates, for example on another machine."""


class StopReason(Enum):
    """Why a run ended. `message` says it in a sentence, with what you can try next.

    Examples
    --------
    >>> StopReason.TARGET.message
    'The target was reached.'
    """

    TARGET = "target"
    PATIENCE = "patience"
    GENERATIONS = "generations"
    EVALUATIONS = "evaluations"
    SECONDS = "seconds"
    CONVERGED = "converged"
    EXHAUSTED = "exhausted"
    CALLBACK = "callback"
    INTERRUPTED = "interrupted"
    UNFINISHED = "unfinished"

    @property
    def message(self) -> str:
        """The sentence for the user."""
        return _MESSAGES[self]

    def __str__(self) -> str:
        return self.value


_MESSAGES = {
    StopReason.TARGET: "The target was reached.",
    StopReason.PATIENCE: (
        "No better solution was found for a long time; try another seed, a larger popsize, or more patience."
    ),
    StopReason.GENERATIONS: "The maximum number of generations was reached; try a larger max_generations.",
    StopReason.EVALUATIONS: "The evaluations are used up; try a larger max_evaluations.",
    StopReason.SECONDS: "The time is used up; try a larger max_seconds.",
    StopReason.CONVERGED: (
        "The search has converged: it found only one solution, or only known candidates; try a larger popsize, or "
        "popsize='auto', which starts over."
    ),
    StopReason.EXHAUSTED: "Every solution was evaluated, so there is no better one.",
    StopReason.CALLBACK: "The callback asked to stop.",
    StopReason.INTERRUPTED: "The run was interrupted; this is the best solution so far.",
    StopReason.UNFINISHED: "The run is not finished; this is the best solution so far. Continue with `daedal resume`.",
}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits that end a run. None means no limit.

    Parameters
    ----------
    max_evaluations
        Maximum number of candidates for which the objective is called. The last batch is cut, so it is never exceeded.
        Candidates with known values are free. A failed evaluation counts, and one that is retried counts once.
    max_generations
        Maximum number of generations after the first, random one.
    patience
        Maximum number of generations without a better candidate.
    target
        Objective value at which to stop, within 1e-6 (or 1e-6 of the target, if that is smaller).
    max_seconds
        Maximum wall-clock time. Evaluations under way in this process are completed first.

    Examples
    --------
    >>> Limits(max_generations=100, patience=20)
    Limits(max_evaluations=None, max_generations=100, patience=20, target=None, max_seconds=None)
    """

    max_evaluations: int | None = None
    max_generations: int | None = None
    patience: int | None = None
    target: float | None = None
    max_seconds: float | None = None

    def __post_init__(self) -> None:
        for name, least in (("max_evaluations", 1), ("max_generations", 0), ("patience", 1)):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), least=least)
        if self.target is not None and not _is_number(self.target):
            raise ValueError(f"target={self.target!r} is not a number")
        seconds = self.max_seconds
        if seconds is not None and not (_is_number(seconds) and seconds > 0):
            raise ValueError(f"max_seconds={seconds!r} is not a number above 0")


def _is_number(value: object) -> bool:
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return not math.isnan(value)
    except OverflowError:  # a whole number beyond all floats
        return False
