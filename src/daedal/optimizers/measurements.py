"""Rows that were measured more than once: how often, their means, and how sure these are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.optimizers.records import Best
from daedal.types import Bits, Fitness, State, StateError

UNSURE = 3.0
"""Standard errors below its mean at which a row is ranked: by so much the best of many single values is too good."""

_ARRAYS = ("counts", "origins", "sums", "squares")


class Measurements:
    """Different rows with all values that each of them had.

    Of the values there are sums beside the first one, so that no digit is lost where they are large and differ by
    little. A row that had -inf once has that as its mean.

    Parameters
    ----------
    n
        Number of variables.
    most
        Rows that are kept, those of the highest rank; None: all.

    Attributes
    ----------
    rows
        Shape (rows, n).
    counts
        How often each was measured, shape (rows,).
    """

    def __init__(self, n: int, most: int | None = None) -> None:
        self.n = n
        self.most = most
        self.rows: Bits = np.empty((0, n), np.uint8)
        self.counts, self._origins, self._sums, self._squares = np.empty((4, 0))
        self._places: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def expect(self, rows: Bits) -> None:
        """Take rows, shape (rows, n), that will be measured; those that are there already stay as they are."""
        new = [row for row in dict.fromkeys(map(bytes, rows)) if row not in self._places]
        if not new:
            return
        self._places |= {row: len(self.rows) + place for place, row in enumerate(new)}
        added = np.frombuffer(b"".join(new), np.uint8).reshape(len(new), self.n)
        self.rows = np.concatenate([self.rows, added])
        self.counts, self._origins, self._sums, self._squares = (
            np.append(before, np.zeros(len(new))) for before in (self.counts, self._origins, self._sums, self._squares)
        )

    def add(self, rows: Bits, values: Fitness) -> None:
        """Take values, shape (rows,), of rows, shape (rows, n), which may come more than once."""
        self.expect(rows)
        places = np.array([self._places[row] for row in map(bytes, rows)], dtype=np.intp)
        first = np.unique(places, return_index=True)[1]
        first = first[self.counts[places[first]] == 0]
        self._origins[places[first]] = values[first]
        with np.errstate(over="ignore", invalid="ignore"):
            beside = values - self._origins[places]
            for total, added in ((self.counts, 1.0), (self._sums, beside), (self._squares, np.square(beside))):
                np.add.at(total, places, added)
        self._origins[places[values == -np.inf]] = -np.inf
        if self.most is not None and len(self.rows) > 2 * self.most:
            self.keep(np.sort(self.ranked()[: self.most]))

    def keep(self, places: NDArray[np.intp]) -> None:
        """Drop all rows but those at some places."""
        self.rows, self.counts = self.rows[places], self.counts[places]
        self._origins, self._sums, self._squares = self._origins[places], self._sums[places], self._squares[places]
        self._places = {bytes(row): place for place, row in enumerate(self.rows)}

    @property
    def means(self) -> Fitness:
        """The mean of each row, shape (rows,); -inf for one that was not measured."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            means = self._origins + self._sums / self.counts
        return np.where((self.counts > 0) & (self._origins > -np.inf) & ~np.isnan(means), means, -np.inf)

    @property
    def _deviations(self) -> Fitness:
        """Sums of squares beside the mean, shape (rows,), 0 for rows that are infeasible."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            beside = self._squares - np.square(self._sums) / self.counts
        return np.where((self._origins > -np.inf) & np.isfinite(beside), np.maximum(beside, 0.0), 0.0)

    @property
    def noise(self) -> float:
        """Standard deviation of the values of one row, of all rows together; 0 where none was measured twice."""
        again = self.counts[self._origins > -np.inf] - 1
        times = float(again[again > 0].sum())
        return float(np.sqrt(self._deviations.sum() / times)) if times else 0.0

    def standard_error(self, place: int) -> float | None:
        """Give the standard error of a mean, or None where it is of less than two values, or one is -inf."""
        count = self.counts[place]
        if count < 2 or self._origins[place] == -np.inf:
            return None
        return float(np.sqrt(self._deviations[place] / (count - 1) / count))

    def best(self, place: int, *, generation: int, evaluations: int) -> Best:
        """Give a row with its mean as a best solution, found by then."""
        x = self.rows[place].copy()
        x.flags.writeable = False
        return Best(
            x=x,
            fitness=float(self.means[place]),
            generation=generation,
            evaluations=evaluations,
            standard_error=self.standard_error(place),
            measurements=max(1, int(self.counts[place])),
        )

    def ranked(self) -> NDArray[np.intp]:
        """Give the places, the row that is most surely good first; of equal ones the first to come."""
        score = self.means - UNSURE * self.noise / np.sqrt(np.maximum(self.counts, 1.0))
        return np.argsort(-score, kind="stable")

    def state(self) -> State:
        """Give all of it as arrays."""
        kept = {"counts": self.counts, "origins": self._origins, "sums": self._sums, "squares": self._squares}
        arrays: dict[str, NDArray[Any]] = {name: array.copy() for name, array in kept.items()}
        return State(arrays={"rows": self.rows, **arrays}, fields={})

    def restore(self, state: State) -> None:
        """Take what `state` gave."""
        self.rows = state.bits("rows", self.n)
        arrays = []
        for name in _ARRAYS:
            array = state.array(name)
            if array.dtype != np.float64 or array.shape != self.rows.shape[:1]:
                raise StateError(f"expected {name} of each row that was measured, got shape={array.shape}")
            arrays.append(array.copy())
        self.counts, self._origins, self._sums, self._squares = arrays
        self._places = {bytes(row): place for place, row in enumerate(self.rows)}
        if len(self._places) < len(self.rows) or not (self.counts >= 0).all() or (self.counts % 1).any():
            raise StateError("expected different rows that were measured some times, got something else")
