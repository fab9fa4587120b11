"""Iterated local search for few calls: climbs by single flips that remember gains, kicks, restarts and exchanges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from daedal import kernels
from daedal.limits import Limits, StopReason
from daedal.optimizers.arms import ARMS, Arm, Shares, restart
from daedal.optimizers.base import BaseOptimizer
from daedal.optimizers.climbs import Climbs
from daedal.optimizers.configuration import BatchedConfiguration
from daedal.optimizers.records import Info
from daedal.optimizers.row_memory import RowMemory, pack, unpack
from daedal.settings.checks import check_whole
from daedal.spaces.encoding import Encoding
from daedal.types import INFEASIBLE, Bits, Fitness, State, StateError

_ROUNDS = 20  # searches in a row that lead to known rows alone, before a row is asked for because it is new
_NONE = -1  # in place of an arm, or of the place of a row


class ILS(BaseOptimizer):
    """Iterated local search: one climb to its end, then kicks of the incumbent, restarts, and exchanges.

    It is made for few calls: some n to some fifty n. No row is asked for twice. A climb flips one variable at a time,
    and which one is decided by what is known of the gains (`daedal.kernels.gains`). How the calls are shared out among
    the arms depends on what each has gained of late (`daedal.optimizers.arms`). A generation is n calls.

    Parameters
    ----------
    n
        Number of variables.
    seed
        Same seed, same run; None: a fresh one.
    limits
        What ends the run; it is better to know `max_evaluations`, because near the end no long climb is begun.
    initial
        Rows to begin with, shape (rows, n): all are evaluated, and the first climbs begin at the best of them.
    min_batch
        Searches side by side, and so rows that are asked for at once; fewer where two of them ask for the same row.
        Each begins with a climb of its own: with 16 of them, n = 60 variables take more than three times the calls of
        one to come as far.
    arms
        Ways to go on after a climb.

    Examples
    --------
    >>> import daedal
    >>> optimizer = ILS(n=20, seed=1, limits=daedal.Limits(max_evaluations=30))
    >>> while optimizer.stop is None:
    ...     record = optimizer.tell(optimizer.ask().sum(axis=1))
    >>> optimizer.best.fitness
    20.0
    """

    _prepared: ClassVar[bool] = False

    def __init__(
        self,
        *,
        n: int,
        seed: int | None = None,
        limits: Limits | None = None,
        initial: Bits | None = None,
        min_batch: int = 1,
        arms: Sequence[Arm] = ARMS,
    ) -> None:
        super().__init__(n=n, seed=seed, limits=limits, initial=initial)
        self.min_batch = check_whole("min_batch", min_batch, least=1)
        self.arms = tuple(arms)
        self._memory = RowMemory(self.n)
        self._climbs = Climbs(self.n, self.min_batch)
        self._shares = Shares(self.arms, self.n)
        self._arm_of = [_NONE] * self.min_batch  # of each search
        self._owners: list[int] = []  # arms that the rows waiting for their values come from
        self._top = -np.inf  # the best value
        self._incumbent = _NONE  # its place
        self._starts: list[int] = []  # places of rows that first climbs begin at
        self._searches = 0
        self._since = 0  # rows of this generation

    def prepare(self) -> None:
        """Compile or load the kernels, by a small run of its own."""
        if self._prepared:
            return
        ILS._prepared = True
        kernels.compilation.announce(kernels.flipping.go_on_flipping)
        small = ILS(n=6, seed=0, min_batch=2)
        while small.stop is None:
            small.tell(small.ask().sum(axis=1))
        small._memory.grow()  # as where it is full

    def encode(self, encoding: Encoding | None) -> None:
        """Hear, before the first row, what the bits are codes of."""
        super().encode(encoding)
        self._memory = RowMemory(self.n, encoding)

    def propose(self) -> Bits:
        """Give the rows that the searches wait for; at first, the initial ones, or random ones."""
        if self._memory.count == 0:
            given = self.initial if self.initial is not None else np.empty((0, self.n), np.uint8)
            missing = max(0, self.min_batch - len(given))
            drawn = self.random_rows(missing, self.rng)
            memory = RowMemory(self.n, self.encoding)
            memory.add(pack(np.concatenate([given, drawn])))
            self._memory = memory
        return self._memory.waiting_rows()

    def learn(self, rows: Bits, fitness: Fitness) -> Info | None:
        """Take values, and let every search go on to the next row whose value is not known."""
        begins = self._memory.known == 0
        self._memory.answer(fitness)
        if begins:
            self._begin(fitness)
        for arm, value in zip(self._owners, fitness.tolist(), strict=False):
            if value > self._top:
                self._shares.credit(arm, value - self._top if self._top > INFEASIBLE else np.inf)
                self._top = value
        if self._memory.waiting == 0:  # otherwise some were cut off, because the evaluations are used up
            self._go_on()
        self._since += len(rows)
        if self._since < self.n and self.stop is None:
            return None
        self._since = 0
        return {"searches": float(self._searches)}

    def state(self) -> State:
        """Give what is needed to go on from here, also while rows wait for their fitness."""
        lists = {"arm_of": self._arm_of, "owners": self._owners, "starts": self._starts}
        own = State(
            arrays={name: np.array(whole, dtype=np.int64) for name, whole in lists.items()},
            fields={
                "incumbent": self._incumbent + 1,
                "top": self._top,
                "searches": self._searches,
                "since": self._since,
            },
        )
        parts = {"memory": self._memory.state(), "climbs": self._climbs.state(), "shares": self._shares.state()}
        return State.join({"run": super().state(), "search": own, **parts})

    def restore(self, state: State) -> None:
        """Go on where another optimizer of the same kind stood when it gave its state."""
        super().restore(state.part("run"))
        own = state.part("search")
        self._memory.restore(state.part("memory"))
        if self._memory.known != self.evaluations:
            raise StateError(f"expected {self.evaluations} known rows, got {self._memory.known}")
        count = self._memory.count
        self._climbs.restore(state.part("climbs"), count)
        self._shares.restore(state.part("shares"))
        arms = len(self.arms)
        self._arm_of = own.wholes("arm_of", shape=(-1,), least=_NONE, most=arms - 1).tolist()
        self._owners = own.wholes("owners", shape=(-1,), least=_NONE, most=arms - 1).tolist()
        self._starts = own.wholes("starts", shape=(-1,), least=0, most=count - 1).tolist()
        self._incumbent = own.whole("incumbent") - 1
        self._top, self._searches, self._since = own.number("top"), own.whole("searches"), own.whole("since")
        if len(self._arm_of) != self.min_batch or not (count == 0) <= (self._incumbent < max(1, count)):
            raise StateError(f"expected {self.min_batch} searches among {count} rows, got something else")

    def _begin(self, fitness: Fitness) -> None:
        """Let the first climbs begin at the best of the first rows."""
        self.initial = None
        self._climbs.seed(int(self.rng.bit_generator.random_raw()))
        ranked = np.argsort(-fitness, kind="stable").tolist()
        self._starts = ranked[: self.min_batch]
        self._incumbent = ranked[0]
        self._top = float(fitness[ranked[0]])

    def _go_on(self) -> None:
        self._owners = []
        self._memory.reserve(self.min_batch)  # no search asks for more than one row
        counts = self._memory.table.counts
        for slot in range(self.min_batch):
            rounds, waits = 0, False
            while not waits:
                count = counts[0]
                if self._climbs.is_free(slot) and not self._start(slot, is_new=rounds >= _ROUNDS):
                    break
                waits = self._climbs.go_on(self._memory, slot)
                if counts[0] > count:
                    self._owners.append(self._arm_of[slot])
                    self._shares.count_call(self._arm_of[slot])
                if not waits:
                    self._end(slot)
                    rounds += 1
        if self._memory.waiting == 0:
            self.stop = StopReason.EXHAUSTED

    def _start(self, slot: int, *, is_new: bool) -> bool:
        """Begin a search, at a row that is new where it has to be; tell whether there is one."""
        if self._starts:
            self._arm_of[slot] = _NONE
            self._climbs.start(slot, self._starts.pop(0), climb=True)
        elif is_new or self._memory.is_full:
            place = self._unseen()
            if place == _NONE:
                return False
            self._arm_of[slot] = _NONE
            self._climbs.start(slot, place, climb=True)
        else:
            arm, row = self._choose()
            self._arm_of[slot] = arm
            place = int(kernels.jobs.place_of(self._memory.table, pack(row[None])[0], self._incumbent))
            self._climbs.start(slot, place, climb=arm == _NONE or self.arms[arm].climbs)
        self._searches += 1
        return True

    def _end(self, slot: int) -> None:
        """Go on from where a search has ended, if that is not worse."""
        place = self._climbs.place(slot)
        values = self._memory.table.values
        if values[place] >= values[self._incumbent]:
            self._incumbent = place

    def _choose(self) -> tuple[int, Bits]:
        """Give an arm and the row that it begins with; a random row where no arm has one."""
        most = self.limits.max_evaluations
        left = np.inf if most is None else (most - self.calls - self._memory.waiting) / self.n
        x = unpack(self._memory.keys(np.array([self._incumbent])), self.n)[0]
        for arm in self._shares.choose(left):
            row = self._started(self.arms[arm], x)
            if row is not None:
                return arm, row
        return _NONE, self.random_rows(1, self.rng)[0]

    def _started(self, arm: Arm, x: Bits) -> Bits | None:
        """Give the row that an arm begins with; a random one where that is what it gives."""
        if self.encoding is not None and arm.start is restart:
            drawn: Bits = self.random_rows(1, self.rng)[0]
            return drawn
        return arm.start(x, self.rng)

    def _unseen(self) -> int:
        """Give the place of a new row, or _NONE where there is none left."""
        return self._memory.add_unseen(lambda: pack(self.random_rows(1, self.rng)))


@dataclass(frozen=True, kw_only=True)
class ILSConfiguration(BatchedConfiguration):
    """What iterated local search is built from.

    Parameters
    ----------
    min_batch
        Searches side by side, and so rows that are asked for at once; None: the number of workers, from 17 on.

    Examples
    --------
    >>> ILSConfiguration(min_batch=4).build(n=20, seed=1).ask().shape
    (4, 20)
    """

    def build(
        self, *, n: int, seed: int | None = None, limits: Limits | None = None, initial: Bits | None = None
    ) -> ILS:
        """Make the optimizer."""
        return ILS(n=n, seed=seed, limits=limits, initial=initial, min_batch=self.min_batch or 1)
