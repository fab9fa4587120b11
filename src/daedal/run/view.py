"""What is told on the way: records for callbacks and displays, and how far a run is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from daedal.limits import Limits
from daedal.result.records import Generation

Callback: TypeAlias = Callable[[Generation], object]
"""Called after each generation; returns True to stop the run."""


def asks_to_stop(answer: object) -> bool:
    """Whether a callback's answer is True itself, or NumPy's; anything else that is not empty does not count."""
    return isinstance(answer, bool | np.bool_) and bool(answer)


class Display(Protocol):
    """Shows a run as it goes."""

    def update(self, record: Generation) -> None:
        """Show one more generation."""


@dataclass(frozen=True, kw_only=True)
class RunProgress:
    """How far a run is, also in the middle of a batch.

    Attributes
    ----------
    has_begun
        Whether all is prepared: kernels are compiled or loaded, and the clock runs.
    seconds
        Time on the clock, with that of the parts before.
    evaluations
        Calls of the objective so far, one per candidate; failed ones are included.
    rows, answered
        Candidates of the batch under way, and how many of them have a value; 0 between batches.
    best
        Best objective value so far, infinite if no feasible candidate is known; None before the first evaluation.
    """

    has_begun: bool = False
    seconds: float = 0.0
    evaluations: int = 0
    rows: int = 0
    answered: int = 0
    best: float | None = None


@dataclass(frozen=True, kw_only=True)
class RunView:
    """What a display knows of a run: what is run, the value to reach, what ends it, and, at any time, how far it is.

    `progress` may be called from another thread: the run itself need not say anything, and does not wait.
    """

    title: str
    goal: float | None
    limits: Limits
    progress: Callable[[], RunProgress]
