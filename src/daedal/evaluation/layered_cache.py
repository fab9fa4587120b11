"""What a run knows of rows: in its own memory, and in a cache that others share."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.batch import AnsweredRows, Batch
from daedal.evaluation.caller import Places
from daedal.evaluation.memory_cache import Lookup, MemoryCache
from daedal.evaluation.merit import merits
from daedal.evaluation.standings import Standings
from daedal.types import Amounts, Bits, Fitness, State, StateError, check_bits

MOST_RUNS = 2**62
"""The largest number of a run in a shared cache: they are drawn at random."""


class Found(NamedTuple):
    """What a cache that runs share has of some rows."""

    values: Fitness  # nan where unknown
    known: NDArray[np.bool_]
    ahead: NDArray[np.bool_]  # added by this run itself where it has yet to come again
    amounts: Amounts | None  # where any row has some; nan for those without


class RowCache(Protocol):
    """What remembers the values of rows."""

    def find(self, rows: Bits) -> tuple[Fitness, NDArray[np.bool_]]:
        """Give the values, nan where unknown, and whether they are known."""

    def add(self, rows: Bits, values: Fitness) -> None:
        """Take the values of rows."""


@runtime_checkable
class RunCache(RowCache, Protocol):
    """One that also remembers which run has added a row, and when: `SQLiteCache`."""

    run: int
    calls: int

    def find_ahead(self, rows: Bits) -> Found:
        """Find rows, and tell which of them this run itself has added where it has yet to come again."""

    def add(self, rows: Bits, values: Fitness, amounts: Amounts | None = None) -> None:
        """Take the values of rows, and the amounts of their constraints."""


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
        self.memory = MemoryCache(n) if deduplicate else None
        self._of_run = shared if isinstance(shared, RunCache) else None

    def to_objective(self, x: Bits) -> Bits:
        """Give rows in the order of the objective's own variables."""
        return x if self.order is None else x.take(self.order, axis=1)

    @property
    def run(self) -> int | None:
        """The number of this run in the shared cache, where that has numbers."""
        return None if self._of_run is None else self._of_run.run

    def begin(self, calls: int) -> None:
        """Take notice that a batch begins, and how many calls were made before it."""
        if self._of_run is not None:
            self._of_run.calls = calls

    def look_up(
        self, x: Bits, answered: AnsweredRows | None, standings: Standings
    ) -> tuple[Lookup, AnsweredRows | None]:
        """Look rows up, in memory, then in the shared cache, apart from those that were answered for this run itself.

        These are `answered`, and what a process of this run, which has ended since its last checkpoint, has added to
        the shared cache: given back, because they are new to the run, though nobody has to be called for them again.
        """
        if self.memory is None:
            check_bits(x, self.n)
            return Lookup.all_new(len(x)), answered
        lookup = self.memory.look_up(x)
        if not self.deduplicate:
            return lookup.with_duplicates(), answered
        if self.shared is None or not len(lookup.first):
            return lookup, answered
        new = x[lookup.first]
        values, known, ahead, amounts = self._judged(self._find(self.to_objective(new)), standings)
        known &= values != self.sign * np.inf  # infeasible to who has looked for the other side
        ahead &= known
        if ahead.any():
            before = AnsweredRows(new[ahead], values[ahead], None if amounts is None else amounts[ahead])
            answered = before if answered is None else answered.joined(before)
        if answered is not None:
            known &= ~answered.hold(new)
        self.memory.add(new[known], values[known])
        return lookup.with_known(known, values, amounts), answered

    def _find(self, rows: Bits) -> Found:
        assert self.shared is not None
        if self._of_run is not None:
            return self._of_run.find_ahead(rows)
        values, known = self.shared.find(rows)
        return Found(values, known, np.zeros(len(rows), np.bool_), None)

    def _judged(self, found: Found, standings: Standings) -> Found:
        """Give merits for values where there are constraints; rows without amounts are not known then."""
        values, known, ahead, amounts = found
        if amounts is None or standings.count == 0:
            known = known & (not (standings.count or standings.certain))
            return Found(values, known, ahead & known, None)
        if standings.count is not None and amounts.shape[1] != 1 + standings.count:
            raise ValueError(
                f"the cache has rows of this objective with {amounts.shape[1] - 1} constraints, and it has "
                f"{standings.count} now; give another name or version (--name, --version) to what has changed"
            )
        known = known & ~np.isnan(amounts[:, 0])
        infeasible = np.isinf(amounts[:, 0])
        return Found(np.where(infeasible, values, merits(amounts, self.sign)), known, ahead & known, amounts)

    def share(self, rows: Bits, places: Places, values: Fitness, amounts: Amounts | None = None) -> None:
        """Give others the values of some rows, in the objective's order, as they come."""
        if self.shared is None:
            return
        if amounts is None or self._of_run is None:
            self.shared.add(rows[places], values)
        else:
            self._of_run.add(rows[places], values, amounts)

    def add(self, x: Bits, values: Fitness) -> None:
        """Take values of rows that need not be evaluated."""
        if self.memory is None:
            self.memory = MemoryCache(self.n)
        self.memory.add(x, values)

    def remember(self, batch: Batch) -> None:
        """Take the values of a batch, also of rows that failed: what hangs or dies once will do so again."""
        if self.memory is None or not self.deduplicate or not len(batch.lookup.keys):
            return  # nothing is remembered, or nothing of this batch
        places = batch.answered_places()
        if isinstance(places, np.ndarray):
            places = np.sort(places)  # whoever answered first: the memory is the same for any number of workers
        self.memory.add_new(batch.lookup, places, batch.values[places])
        if len(batch.failed):
            self.memory.add_new(batch.lookup, batch.failed, batch.values[batch.failed])

    def state(self) -> State:
        """Give what is in memory, and the number of this run."""
        memory = {} if self.memory is None else self.memory.state()
        arrays: dict[str, NDArray[Any]] = {f"memory/{name}": array for name, array in memory.items()}
        return State(arrays=arrays, fields={} if self.run is None else {"cache_run": self.run})

    def restore(self, state: State) -> None:
        """Take what `state` gave, among other arrays and fields."""
        if self._of_run is not None and state.given("cache_run"):  # not in checkpoints of earlier versions
            self._of_run.run = state.whole("cache_run")
            if self._of_run.run > MOST_RUNS:
                raise StateError(f"expected the number of a run of at most {MOST_RUNS}, got {self._of_run.run}")
        prefix = "memory/"
        memory = {name.removeprefix(prefix): array for name, array in state.arrays.items() if name.startswith(prefix)}
        if memory:
            self.memory = MemoryCache.from_state(self.n, memory)
