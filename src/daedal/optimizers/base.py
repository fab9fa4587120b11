"""What an optimizer is: ask for rows, tell their fitness, until it says stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from daedal.limits import StopReason
from daedal.types import Bits, Fitness


@dataclass(frozen=True, kw_only=True)
class Best:
    """The best solution so far.

    Attributes
    ----------
    x
        Bits, shape (n,).
    fitness
        Its fitness.
    generation, evaluations
        When it was found; the whole batch it came in counts.
    """

    x: Bits
    fitness: float
    generation: int
    evaluations: int


@dataclass(frozen=True, kw_only=True)
class Generation:
    """What one generation has to tell.

    Attributes
    ----------
    generation
        0 for the first, random one.
    evaluations
        Rows evaluated so far.
    best
        Best fitness so far.
    mean
        Mean fitness of the rows evaluated in this generation, those of finite fitness.
    cpu_seconds
        CPU time of the run so far.
    info
        What the model had to tell: training epochs, error, ...
    """

    generation: int
    evaluations: int
    best: float
    mean: float
    cpu_seconds: float = 0.0
    info: Mapping[str, float] = field(default_factory=dict)


class Optimizer(Protocol):
    """Anything that can be asked for rows and told their fitness; it maximises."""

    @property
    def stop(self) -> StopReason | None:
        """Why the run has ended, or None while it goes on."""

    @property
    def best(self) -> Best | None:
        """The best solution so far, or None before the first tell."""

    @property
    def last(self) -> Generation | None:
        """The record of the last generation told."""

    def ask(self) -> Bits:
        """Give rows to evaluate, shape (rows, n)."""

    def tell(self, fitness: Fitness) -> None:
        """Take the fitness, shape (rows,), of the rows asked for."""
