"""Whether values scatter: one row is evaluated again, and beside it stands how much values differ from row to row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.types import Bits, Fitness, State, StateError, is_feasible

MATTERS = 0.02
"""Share of the spread of values, above which their scatter is not to be neglected."""

_ROUNDING = 1e-9  # share of a value by which it may differ from call to call


class Scatter:
    """The first feasible row with all values that it had, and the spread of the first values.

    Attributes
    ----------
    row
        The row, shape (1, n), or none yet, shape (0, n).
    values
        What it had, shape (times,).
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.row = np.empty((0, n), np.uint8)
        self.values = np.empty(0)
        self._moments = np.zeros(3)  # count, sum and sum of squares, all beside the first value

    def watch(self, rows: Bits, fitness: Fitness) -> None:
        """Take rows, shape (rows, n), each another one, with their fitness, shape (rows,)."""
        feasible = is_feasible(fitness)
        if not feasible.any():
            return
        if not len(self.row):
            first = int(feasible.argmax())
            self.row, self.values = rows[first : first + 1].copy(), fitness[first : first + 1].copy()
        with np.errstate(over="ignore"):  # of values near the largest float
            beside = fitness[feasible] - self.values[0]
            self._moments += len(beside), beside.sum(), np.square(beside).sum()

    def repeat(self, fitness: Fitness) -> None:
        """Take values, shape (times,), that the row had again."""
        self.values = np.append(self.values, fitness)

    @property
    def deviation(self) -> float:
        """Standard deviation of the values that one row had; inf where one of them was -inf."""
        return float(self.values.std(ddof=1)) if is_feasible(self.values).all() else np.inf

    @property
    def spread(self) -> float:
        """Standard deviation of the values of different rows."""
        count, total, squares = self._moments
        if not count:
            return 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            variance = squares / count - np.square(total / count)
        return float(np.sqrt(max(0.0, variance))) if np.isfinite(variance) else np.inf

    @property
    def is_none(self) -> bool:
        """Whether the row had the same value each time, but for rounding."""
        return self.deviation <= _ROUNDING * max(self.spread, abs(float(self.values[0])))

    @property
    def matters(self) -> bool:
        """Whether values scatter so much that it matters beside how they differ from row to row."""
        return self.deviation > MATTERS * self.spread

    def state(self) -> dict[str, NDArray[Any]]:
        """Give all of it as arrays."""
        return {"row": self.row, "values": self.values, "moments": self._moments.copy()}

    def restore(self, state: State) -> None:
        """Take what `state` gave, among other arrays."""
        self.row, self.values = state.bits("row", self.n), state.floats("values")
        self._moments = state.floats("moments").copy()
        if len(self._moments) != 3 or len(self.row) > 1 or len(self.row) > len(self.values):
            raise StateError("expected a row and the values that it had, got something else")
