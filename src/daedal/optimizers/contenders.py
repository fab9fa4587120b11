"""Rows that are worth measuring again: maxima of a model of all that was measured."""

from __future__ import annotations

import numpy as np

from daedal.models.walsh import Walsh
from daedal.types import Bits, Fitness, State

REMEMBERED = 5000
"""Rows that the model is learned from, the last ones."""

MODELLED = 2
"""How many of its maxima are contenders."""

_MOST_ENTRIES = 2**28  # bits of all rows that are remembered


def distinct(rows: Bits) -> Bits:
    """Give each row, shape (rows, n), once, in the order in which they come."""
    _, first = np.unique(rows, axis=0, return_index=True)
    return rows[np.sort(first)]


class Seen:
    """The last rows of a search with their values, and what a model of them takes for the best.

    Parameters
    ----------
    n
        Number of variables.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.most = max(1, min(REMEMBERED, _MOST_ENTRIES // n))
        self._parts: list[tuple[Bits, Fitness]] = []
        self._count = 0

    def add(self, rows: Bits, values: Fitness) -> None:
        """Take rows, shape (rows, n), and their values, shape (rows,)."""
        self._parts.append((rows, values))
        self._count += len(rows)
        while self._count - len(self._parts[0][0]) >= self.most:
            self._count -= len(self._parts.pop(0)[0])

    def all(self) -> tuple[Bits, Fitness]:
        """Give the rows, shape (rows, n), and their values."""
        rows = np.concatenate([np.empty((0, self.n), np.uint8), *(rows for rows, _ in self._parts)])
        values = np.concatenate([np.empty(0), *(values for _, values in self._parts)])
        return rows[-self.most :], values[-self.most :]

    def maxima(self, start: Bits, *, rng: np.random.Generator) -> Bits:
        """Give rows, shape (any, n), that are best by a model, which averages over the scatter; some near `start`."""
        rows, values = self.all()
        function = Walsh(max_rows=REMEMBERED, screened=0).fit(rows, values, rng=rng)
        return function.maxima(MODELLED, rng=rng, start=start) if function.r2 > 0 else rows[:0]

    def state(self) -> State:
        """Give all of it as arrays."""
        rows, values = self.all()
        return State(arrays={"rows": rows, "values": values}, fields={})

    def restore(self, state: State) -> None:
        """Take what `state` gave."""
        rows, values = state.bits("rows", self.n), state.numbers("values", like="rows")
        self._parts, self._count = [(rows, values)] if len(rows) else [], len(rows)
