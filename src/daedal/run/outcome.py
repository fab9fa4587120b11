"""What a run gives, and who is told of it on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from daedal.limits import StopReason
from daedal.optimizers.records import Best, Generation

Callback: TypeAlias = Callable[[Generation], object]
"""Called after each generation; returns True to stop the run."""


class Display(Protocol):
    """Shows a run as it goes."""

    def update(self, record: Generation) -> None:
        """Show one more generation."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a run ended: its best solution (in the optimizer's order and sign), why, its records, and its times."""

    best: Best
    stop: StopReason
    history: tuple[Generation, ...]
    seconds: float
    cpu_seconds: float
    cpu_seconds_to_best: float
