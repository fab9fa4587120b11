"""What a run knows of rows: in its own memory, and in a cache that others share."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.batch import AnsweredRows, Batch
from daedal.evaluation.caller import Places
from daedal.evaluation.memory_cache import Lookup, MemoryCache
from daedal.types import Bits, Fitness, State, check_bits


class RowCache(Protocol):
    """What remembers the values of rows: `SQLiteCache`, or any other."""

    def find(self, rows: Bits) -> tuple[Fitness, NDArray[np.bool_]]:
        """Give the values, nan where unknown, and whether they are known."""

    def add(self, rows: Bits, values: Fitness) -> None:
        """Take the values of rows."""


class LayeredCache:
    """A run's own memory, in the optimizer's order of variables, over a cache that others share, in the objective's.

    `order`, shape (n,), is which variable of the optimizer each variable of the objective is; None: the same. Without
    `deduplicate` what was evaluated is not remembered; what is added otherwise is known in any case.
    """

    def __init__(
        self, n: int, *, order: NDArray[np.intp] | None, sign: int, deduplicate: bool, shared: RowCache | None
    ) -> None:
        self.n = n
        self.order = order
        self.sign = sign
        self.deduplicate = deduplicate
        self.shared = shared
        self._memory = MemoryCache(n) if deduplicate else None

    def to_objective(self, x: Bits) -> Bits:
        """Give rows in the order of the objective's own variables."""
        return x if self.order is None else x.take(self.order, axis=1)

    def look_up(self, x: Bits, *, apart_from: AnsweredRows | None = None) -> Lookup:
        """Look rows up, in memory, then, apart from those that this run has put there itself, in the shared cache."""
        if self._memory is None:
            check_bits(x, self.n)
            return Lookup.all_new(len(x))
        lookup = self._memory.look_up(x)
        if not self.deduplicate:
            return lookup.with_duplicates()
        if self.shared is None or not len(lookup.first):
            return lookup
        new = x[lookup.first]
        values, known = self.shared.find(self.to_objective(new))
        known &= values != self.sign * np.inf  # infeasible to who has looked for the other side
        if apart_from is not None:
            known &= ~apart_from.hold(new)
        self._memory.add(new[known], values[known])
        return lookup.with_known(known, values)

    def share(self, rows: Bits, places: Places, values: Fitness) -> None:
        """Give others the values of some rows, in the objective's order, as they come."""
        if self.shared is not None:
            self.shared.add(rows[places], values)

    def add(self, x: Bits, values: Fitness) -> None:
        """Take values of rows that need not be evaluated."""
        if self._memory is None:
            self._memory = MemoryCache(self.n)
        self._memory.add(x, values)

    def remember(self, batch: Batch) -> None:
        """Take the values of a batch, also of rows that failed: what hangs or dies once will do so again."""
        if self._memory is None or not self.deduplicate or not len(batch.lookup.keys):
            return  # nothing is remembered, or nothing of this batch
        places = batch.answered_places()
        self._memory.add_new(batch.lookup, places, batch.values[places])
        if len(batch.failed):
            self._memory.add_new(batch.lookup, batch.failed, batch.values[batch.failed])

    def state(self) -> dict[str, NDArray[Any]]:
        """Give what is in memory as plain arrays."""
        memory = {} if self._memory is None else self._memory.state()
        return {f"memory/{name}": array for name, array in memory.items()}

    def restore(self, state: State) -> None:
        """Take what `state` gave, among other arrays."""
        prefix = "memory/"
        memory = {name.removeprefix(prefix): array for name, array in state.arrays.items() if name.startswith(prefix)}
        if memory:
            self._memory = MemoryCache.from_state(self.n, memory)
