"""What `mix` learns of the function on the way: a sparse Walsh model, whose maxima are rows worth asking for.

Nothing is evaluated for the model's sake. Every row that came up as a small change of another one is an equation: the
difference of their values, and the variables that were flipped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.models.walsh import Walsh
from daedal.models.walsh_equations import MAX_ORDER, Sets
from daedal.models.walsh_function import WalshFunction
from daedal.optimizers.row_memory import RowMemory, unpack
from daedal.types import Bits, Json, State, StateError, is_feasible

FIRST = 4
"""Equations for each variable, with which the first model is fitted."""

LEAST_R2 = 0.05
"""Share of the variance that a model has to explain before it is asked for rows."""

_BETTER = 0.85  # share of the error that is left, where a fit has got much better
_GOOD = 0.9  # r2 of a model that may become exact any time
_SOON, _GROWTH, _LATEST, _AFTER_SUCCESS = 1.35, 1.6, 3.0, 1.15  # growth of the equations until the next fit
_MOST_ENTRIES = 2**28  # bits of all rows of a fit, some bytes each: no limit below 16,000 variables
_MANY = 40  # equations for each variable, from which on fits that do not help become rarer


class Surrogate:
    """Fits a model when there are enough new equations, and gives its maxima.

    Parameters
    ----------
    n
        Number of variables.
    model
        How it is fitted.

    Attributes
    ----------
    fits
        How often it has been fitted.
    function
        The last model that was found, or None.
    """

    def __init__(self, n: int, model: Walsh) -> None:
        self.n = n
        self.model = model
        self.fits = 0
        self.function: WalshFunction | None = None
        self._seen = 0  # rows of the memory that were looked at
        self._equations = 0
        self._due = FIRST * n  # equations
        self._in_vain = 0  # fits in a row that were not much better than the one before
        self._maxima = (0, 0)  # places of the last maxima: from, to

    @property
    def r2(self) -> float:
        """Share of the variance that the model explains, held out; 0 for none."""
        return 0.0 if self.function is None else self.function.r2

    def look(self, memory: RowMemory, best: float) -> bool:
        """Take notice of new rows, where the best value of those before is given; tell whether a fit is due."""
        known = memory.known
        self._equations += int(np.count_nonzero(memory.table.parents[self._seen : known] >= 0))
        self._seen = known
        first, last = self._maxima
        if last > first and memory.table.values[first:last].max() > best:
            self._due = min(self._due, int(_AFTER_SUCCESS * self._equations) + 1)
        self._maxima = (0, 0)
        return self._equations >= self._due

    def fit(self, memory: RowMemory, rng: np.random.Generator) -> None:
        """Fit the model to a random part of the equations."""
        before = self.r2
        x, d, df = self._gather(memory, rng)
        self.function = self.model.fit_differences(x, d, df, rng=rng, previous=self.function)
        self.fits += 1
        is_better = 1 - self.r2 < _BETTER * (1 - min(before, 0.999))
        self._in_vain = 0 if is_better else self._in_vain + 1
        promising = is_better or self.r2 >= _GOOD
        growth = _SOON if is_better else _GROWTH
        if not promising and self._equations >= _MANY * self.n:
            growth = min(_LATEST, _GROWTH + 0.2 * self._in_vain)
        self._due = int(growth * self._equations) + 1

    def ask(self, memory: RowMemory, rows: int, best: Bits, rng: np.random.Generator) -> Bits:
        """Put so many maxima of the model, near the best row and anywhere, into the memory; give them."""
        if self.function is None or self.r2 < LEAST_R2:
            return np.empty((0, self.n), np.uint8)
        before = memory.count
        maxima = self.function.maxima(rows, rng=rng, start=best[None])
        memory.add_rows(maxima)
        self._maxima = (before, memory.count)
        return maxima

    def _gather(self, memory: RowMemory, rng: np.random.Generator) -> tuple[Bits, Bits, NDArray[np.float64]]:
        """Give equations: rows, the variables flipped, shape (equations, n), and the differences."""
        table, most = memory.table, max(2, self.n // 4)
        places = np.flatnonzero(table.parents[: memory.known] >= 0)
        rows = min(2 * self.model.max_rows, max(1, _MOST_ENTRIES // self.n))
        if len(places) > rows:  # more than are needed: some will be dropped because too much is flipped
            places = np.sort(rng.permutation(places)[:rows])
        parents = table.parents[places]
        x = unpack(table.keys[parents], self.n)
        d = x ^ unpack(table.keys[places], self.n)
        feasible = is_feasible(table.values[places]) & is_feasible(table.values[parents])
        df = np.where(feasible, table.values[places], np.nan) - table.values[parents]
        kept = np.isfinite(df) & (d.sum(axis=1) <= most)
        return x[kept], d[kept], df[kept]

    def state(self) -> State:
        """Give what is needed to go on from here."""
        arrays: dict[str, NDArray[Any]] = {"maxima": np.array(self._maxima)}
        fields: dict[str, Json] = {
            "fits": self.fits,
            "seen": self._seen,
            "equations": self._equations,
            "due": self._due,
            "in_vain": self._in_vain,
        }
        if self.function is not None:
            arrays |= {"members": self.function.terms.members, "coefficients": self.function.coefficients}
            fields |= {"r2": self.function.r2, "price": self.function.price}
        return State(arrays=arrays, fields=fields)

    def restore(self, state: State) -> None:
        """Go on where another one stood."""
        self.fits, self._seen, self._equations = map(state.whole, ("fits", "seen", "equations"))
        self._due, self._in_vain = state.whole("due"), state.whole("in_vain")
        first, last = state.wholes("maxima", shape=(2,), least=0, most=2**40).tolist()
        self._maxima = (first, last)
        self.function = None
        if state.given("r2"):
            members = state.wholes("members", shape=(-1, MAX_ORDER), least=-1, most=self.n - 1)
            coefficients = state.numbers("coefficients", like="members")
            orders = (members >= 0).sum(axis=1)
            if not np.isfinite(coefficients).all() or (orders < 1).any() or not _are_sets(members):
                raise StateError("expected sets of variables with a finite coefficient each, got something else")
            self.function = WalshFunction(
                n=self.n,
                constant=0.0,
                terms=Sets(members, orders),
                coefficients=coefficients,
                r2=state.number("r2"),
                price=state.number("price"),
            )


def _are_sets(members: NDArray[np.int64]) -> bool:
    """Whether each row has its variables in ascending order, and then -1 only."""
    left, right = members[:, :-1], members[:, 1:]
    return bool(((right == -1) | ((left >= 0) & (left < right))).all())
