"""What a problem is."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from daedal.types import Bits, Fitness


@runtime_checkable
class Problem(Protocol):
    """A function of n bits, to be maximised."""

    @property
    def n(self) -> int:
        """Number of variables."""

    @property
    def optimum(self) -> float | None:
        """Largest fitness there is, or None where it is unknown."""

    def evaluate(self, x: Bits) -> Fitness:
        """Give the fitness, shape (rows,), of each row of x, shape (rows, n)."""
