"""Rows that are worth measuring again: maxima of models of all that was measured, which average over the scatter."""

from __future__ import annotations

import numpy as np

from daedal.models.ridge import ridge
from daedal.models.walsh import FEWEST, Walsh
from daedal.types import Bits, Fitness, State, StateError

REMEMBERED = 5000
"""Rows that models are learned from, evenly spread over the search; up to twice as many are kept."""

MODELLED = 2
"""How many maxima of the Walsh model are contenders."""

_MOST_ENTRIES = 2**28  # bits of all rows that are remembered
_MODEL = Walsh(max_rows=REMEMBERED, screened=0)


def distinct(rows: Bits) -> Bits:
    """Give each row, shape (rows, n), once, in the order in which they come."""
    _, first = np.unique(rows, axis=0, return_index=True)
    return rows[np.sort(first)]


class Seen:
    """Rows of a search with their values, and what models of them take for the best.

    When there are too many, every second row is dropped, and of the rows to come every second is not taken, and so on:
    those from the beginning of a search, which differ most, say most about single variables.

    Parameters
    ----------
    n
        Number of variables.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.most = max(1, min(REMEMBERED, _MOST_ENTRIES // n))
        self._step = 1  # of so many rows one is taken
        self._total = 0  # rows that came
        self._parts: list[tuple[Bits, Fitness]] = []
        self._count = 0

    def prepare(self) -> None:
        """Compile or load the kernels of the model."""
        _MODEL.prepare()

    def add(self, rows: Bits, values: Fitness) -> None:
        """Take rows, shape (rows, n), and their values, shape (rows,)."""
        first = -self._total % self._step
        self._total += len(rows)
        taken = rows[first :: self._step], values[first :: self._step]
        self._parts.append(taken)
        self._count += len(taken[0])
        while self._count >= 2 * self.most:
            rows, values = self.all()
            self._step *= 2
            self._parts, self._count = [(rows[::2], values[::2])], len(rows[::2])

    def all(self) -> tuple[Bits, Fitness]:
        """Give the rows, shape (rows, n), and their values."""
        rows = np.concatenate([np.empty((0, self.n), np.uint8), *(rows for rows, _ in self._parts)])
        return rows, np.concatenate([np.empty(0), *(values for _, values in self._parts)])

    def maxima(self, start: Bits, *, rng: np.random.Generator) -> Bits:
        """Give rows, shape (any, n), that are best by models; some are looked for near `start`."""
        rows, values = self.all()
        is_feasible = np.isfinite(values)
        if is_feasible.sum() < FEWEST:
            return rows[:0]
        values = np.where(is_feasible, values, values[is_feasible].min())
        found = [rows[:0]]
        weights, r2 = ridge(rows, values)
        if r2 > 0:
            found.append((weights > 0).astype(np.uint8)[None])
        function = _MODEL.fit(rows, values, rng=rng)
        if function.r2 > 0:
            found.append(function.maxima(MODELLED, rng=rng, start=start))
        return np.concatenate(found)

    def state(self) -> State:
        """Give all of it."""
        rows, values = self.all()
        return State(arrays={"rows": rows, "values": values}, fields={"step": self._step, "total": self._total})

    def restore(self, state: State) -> None:
        """Take what `state` gave."""
        rows, values = state.bits("rows", self.n), state.numbers("values", like="rows")
        self._parts, self._count = [(rows, values)] if len(rows) else [], len(rows)
        self._step, self._total = state.whole("step"), state.whole("total")
        if self._step < 1 or len(rows) >= 2 * self.most or len(rows) != -(-self._total // self._step):
            raise StateError(f"no run remembers {len(rows)} rows of {self._total}, one of {self._step}")
