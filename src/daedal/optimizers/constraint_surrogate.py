"""What `mix` learns of a problem with constraints: the objective, and the amount of each constraint.

The maxima of the modelled problem are rows worth asking for. In a run without constraints nothing of this is used.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from daedal.models.constrained import ConstrainedModel, fit_constrained
from daedal.models.linear import is_exact
from daedal.models.walsh import Walsh
from daedal.models.walsh_function import WalshFunction
from daedal.optimizers.row_memory import RowMemory, unpack
from daedal.types import Amounts, Bits, State, StateError

FIRST = 1.3
"""Rows for each variable with which the first model is fitted."""

LEAST_R2 = 0.5
"""Share of the variance of each function that a model has to explain before it is asked for rows."""

_OFTEN, _SELDOM = 1.25, 1.6  # growth of the rows until the next fit, of a model that is exact, and of any other
_MOVES, _MOVES_A_ROW = 10_000, 500  # in the search for maxima: for each variable at least, and for each row known
_WALSH_ROWS = 4  # rows for each variable from which on functions that are not linear are looked for
_LINEAR_ROWS = 8  # rows for each variable that linear fits use, at most
_MOST_LINEAR = 2000  # variables
_PROBES = 3  # times that rows are asked for to learn what an amount is beyond 0


class ConstraintSurrogate:
    """Fits models when there are enough new rows, and gives their maxima.

    Parameters
    ----------
    n
        Number of variables.
    walsh
        How functions are fitted that are not linear.
    columns
        One for the objective, and one for each constraint.
    """

    def __init__(self, n: int, walsh: Walsh, columns: int) -> None:
        self.n = n
        self.walsh = walsh
        self.columns = columns
        self.rounds = 0
        self.r2 = 0.0  # of the last model
        self._amounts = np.empty((0, columns))  # of the rows of a memory, by place
        self._known = 0  # how many of them
        self._due = int(FIRST * n) + 12  # rows
        self._probed = 0

    def hear(self, before: int, amounts: Amounts) -> None:
        """Take the amounts, shape (rows, 1 + constraints), of the rows of a memory from a place on."""
        end = before + len(amounts)
        if end > len(self._amounts):
            longer = np.full((max(1024, 2 * end), self.columns), np.nan)
            longer[: self._known] = self._amounts[: self._known]
            self._amounts = longer
        self._amounts[before:end] = amounts
        self._known = end

    @property
    def is_due(self) -> bool:
        """Whether there are enough rows for the next model."""
        return self._known >= self._due and self.n <= _MOST_LINEAR

    def ask(self, memory: RowMemory, rows: int, best: Bits, rng: np.random.Generator) -> Bits:
        """Fit a model, and put so many of its maxima into the memory; give those that are feasible there."""
        self.rounds += 1
        places = np.flatnonzero(~np.isnan(self._amounts[: self._known]).any(axis=1))
        places = places[np.isfinite(self._amounts[places, 0])]
        model = self._fitted(memory, places, rng)
        self.r2 = 0.0 if model is None else max(0.0, model.r2)
        exact = self.r2 == 1.0
        self._due = int((_OFTEN if exact else _SELDOM) * self._known) + 1
        if not exact and self._probe(memory, places):
            return np.empty((0, self.n), np.uint8)
        if model is None or self.r2 < LEAST_R2:
            return np.empty((0, self.n), np.uint8)
        moves = max(_MOVES * self.n, _MOVES_A_ROW * self._known) if exact else _MOVES_A_ROW * self._known
        maxima = model.maxima(rows, moves=moves, rng=rng, start=best[None])
        memory.add_rows(maxima)
        return maxima

    def _fitted(
        self, memory: RowMemory, places: NDArray[np.int64], rng: np.random.Generator
    ) -> ConstrainedModel | None:
        """Fit linear functions, and, where these are not exact, others, if there are rows enough."""
        most = _LINEAR_ROWS * self.n + 100
        chosen = places if len(places) <= most else np.sort(rng.permutation(places)[:most])
        x, amounts = unpack(memory.keys(chosen), self.n), self._amounts[chosen]
        model = fit_constrained(x, amounts)
        if (model is not None and model.r2 == 1.0) or len(places) < _WALSH_ROWS * self.n:
            return model
        return fit_constrained(x, amounts, [self._walsh(memory, k, x, amounts, rng) for k in range(amounts.shape[1])])

    def _walsh(
        self, memory: RowMemory, k: int, x: Bits, amounts: Amounts, rng: np.random.Generator
    ) -> WalshFunction | None:
        """Fit a sparse Walsh function to the differences of one column between rows and those that they came from."""
        parents = memory.table.parents[: self._known]
        places = np.flatnonzero(parents >= 0)
        places = places[~np.isnan(self._amounts[places, k] - self._amounts[parents[places], k])]
        if len(places) > 2 * self.walsh.max_rows:
            places = np.sort(rng.permutation(places)[: 2 * self.walsh.max_rows])
        before = unpack(memory.keys(parents[places]), self.n)
        flipped = before ^ unpack(memory.keys(places), self.n)
        with np.errstate(invalid="ignore"):
            change = self._amounts[places, k] - self._amounts[parents[places], k]
        kept = np.isfinite(change) & (flipped.sum(axis=1) <= max(2, self.n // 4))
        if np.count_nonzero(kept) < 2 * self.n:
            return None
        function = self.walsh.fit_differences(before[kept], flipped[kept], change[kept], rng=rng)
        constant = float((amounts[:, k] - function.predict(x)).mean())
        function = dataclasses.replace(function, constant=constant)
        exact = is_exact(function.predict(x), amounts[:, k])
        return dataclasses.replace(function, r2=1.0 if exact else min(function.r2, 1 - 1e-9))

    def _probe(self, memory: RowMemory, places: NDArray[np.int64]) -> bool:
        """Ask for rows beside one that violates much, where amounts are never below 0, and too few are above it.

        What an amount would be where it is cut off at 0 can be told from rows where it is not.
        """
        amounts = self._amounts[places, 1:]
        cut = (amounts.min(axis=0, initial=0.0) >= 0) & ((amounts > 0).sum(axis=0) < FIRST * self.n + 12)
        if not cut.any() or self._probed >= _PROBES or not len(places):
            return False
        self._probed += 1
        scale = np.maximum(amounts[:, cut].max(axis=0), 1e-300)
        base = unpack(memory.keys(places[[int(np.argmax((amounts[:, cut] / scale).min(axis=1)))]]), self.n)
        shifted = np.eye(self.n, dtype=np.uint8)
        pairs = (shifted ^ np.roll(shifted, 1, axis=1))[::3] if self.n > 2 else shifted[:0]
        memory.add_rows(base ^ np.concatenate([shifted, pairs]))
        self._due = self._known + 1
        return True

    def state(self) -> State:
        """Give what is needed to go on from here."""
        fields = {"rounds": self.rounds, "due": self._due, "probed": self._probed, "r2": self.r2}
        return State(arrays={"amounts": self._amounts[: self._known].copy()}, fields={**fields})

    def restore(self, state: State, known: int) -> None:
        """Go on where another one stood, beside a memory that knows so many rows."""
        amounts = state.array("amounts")
        if amounts.dtype != np.float64 or amounts.ndim != 2 or amounts.shape[0] != known or amounts.shape[1] < 2:
            raise StateError(f"expected the amounts of {known} rows, got shape={amounts.shape}")
        self._amounts, self._known = amounts.copy(), known
        self.rounds, self._due, self._probed = map(state.whole, ("rounds", "due", "probed"))
        self.r2 = state.number("r2")
