"""How a run ended, and the interfaces of those who are told on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from daedal.limits import StopReason
from daedal.result.records import Best, Generation

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
class Outcome:
    """How a run ended, in the engine's order of variables and the objective's own sign."""

    best: Best
    stop: StopReason
    evaluations: int
    history: tuple[Generation, ...]
    seconds: float
    cpu_seconds: float
    cpu_seconds_to_best: float
    violation: float  # of constraints, in sum
    violations: tuple[float, ...]  # of each
