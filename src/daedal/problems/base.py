"""What a problem is, and what several of them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from daedal.types import Bits, Fitness, check_bits


@runtime_checkable
class Problem(Protocol):
    """A function of n bits, to be maximized."""

    @property
    def n(self) -> int:
        """Number of variables."""

    @property
    def optimum(self) -> float | None:
        """Largest fitness there is, or None where it is unknown."""

    def evaluate(self, x: Bits) -> Fitness:
        """Return the fitness, shape (rows,), of each row of x, shape (rows, n)."""


def fill_fitness(kernel: Callable[..., None], x: Bits, n: int, *settings: object) -> Fitness:
    """Return the fitness, shape (rows,), that a kernel computes of each row of x, shape (rows, n)."""
    check_bits(x, n)
    out = np.empty(len(x))
    kernel(np.ascontiguousarray(x), *settings, out)
    return out
