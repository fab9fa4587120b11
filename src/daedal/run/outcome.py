"""What a run gives: how it ended, and its records, in the objective's own sign; and who is told on the way."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Protocol, TypeAlias

import numpy as np

from daedal.evaluation.evaluator import Evaluator
from daedal.limits import StopReason
from daedal.optimizers.base import Optimizer
from daedal.optimizers.records import Best, Generation
from daedal.run.clock import Clock
from daedal.types import INFEASIBLE

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
    """How a run ended: its best solution (in the optimizer's order and sign), why, its records, and its times."""

    best: Best
    stop: StopReason
    history: tuple[Generation, ...]
    seconds: float
    cpu_seconds: float
    cpu_seconds_to_best: float
    violation: float  # of constraints, in sum
    violations: tuple[float, ...]  # of each


def own_record(record: Generation, optimizer: Optimizer, evaluator: Evaluator, clock: Clock) -> Generation:
    """Give an optimizer's record in the objective's own sign, with what the run has counted and measured.

    With constraints there is a best solution that stands: by how much it violates them is told, and what is infeasible
    has no value that could be shown.
    """
    info = {name: _number(optimizer, name, value) for name, value in record.info.items()}
    best, mean, sign, standing = record.best, record.mean, evaluator.caller.sign, evaluator.leader
    if standing is not None:
        info["violation"] = standing.violation
        best, mean = (-math.inf if one <= INFEASIBLE else one for one in (best, mean))
    return dataclasses.replace(
        record,
        best=sign * best,
        mean=sign * mean,
        batches=evaluator.batches,
        cpu_seconds=clock.cpu_seconds,
        seconds=clock.seconds,
        objective_seconds=clock.objective_seconds,
        info=info,
    )


def _number(optimizer: Optimizer, name: str, value: object) -> float:
    """Give a number of a record as a checkpoint gives it back."""
    if isinstance(value, Integral | np.bool_):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"expected {type(optimizer).__name__} to tell numbers by name, got {name}={value!r}")
