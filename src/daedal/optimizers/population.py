"""A population that climbs and mixes: the search of `mix` without its model, batch by batch.

Rows that have climbed are mixed, generation by generation, until none of them gets better. Then the population begins
again from the rows that had climbed, with more of them.
"""

from __future__ import annotations

import math

import numpy as np

from daedal import kernels
from daedal.optimizers.insight import Insight
from daedal.optimizers.row_memory import RowMemory, pack
from daedal.spaces.encoding import Encoding
from daedal.types import Bits, Json, State, StateError, words_of

GROWTH = 1.4
"""By how much a population grows that no longer gets better."""

_MOST_BITS = 2**22  # that the probes of one climb ask for at once
_ROUNDS = 8  # in which nothing is new, before a row is asked for because it is


class Population:
    """Climbs and mixings side by side, over one memory of rows.

    Parameters
    ----------
    n
        Number of variables.
    members
        Members of the first population.
    slots
        Most climbs or mixings at once.
    width
        Groups of variables that one mixing tries at once.
    eager
        Whether all slots are used as soon as one climb is not enough.
    word
        Where its random numbers begin: any 64-bit word.

    Attributes
    ----------
    memory
        All rows seen.
    exhausted
        Whether every row there is has been evaluated.
    """

    def __init__(self, *, n: int, members: int, slots: int, width: int, eager: bool, word: int) -> None:
        self.n = n
        self.members = members
        self.width = width
        self.eager = eager
        self.memory = RowMemory(n)
        self.exhausted = False
        self._draws = np.array([word], dtype=np.uint64)
        self._pace = np.array([2, 0])
        asked = max(min(n, _MOST_BITS // n), width)
        self._jobs = kernels.jobs.new_jobs(slots, n, asked)
        self._generation = 0  # of this population; 0 while it climbs
        self._polished = -1  # the place of the best row, while a climb from it is under way
        self._progress = np.zeros(2, np.int64)  # climbs or mixings that have begun, and ended
        self._starts = np.empty((0, words_of(n)), np.uint64)  # of the climbs of this population
        self._ends = np.empty(0, np.int64)  # places where they ended
        self._given = np.empty(0, np.int64)  # places of initial rows that wait for their values
        self._climbed = np.empty(0, np.int64)  # places of all rows that have climbed
        self._current = np.empty(0, np.int64)  # places of the members
        self._queue = np.empty(0, np.int64)  # members, in the order in which they are mixed
        self._donors = np.empty((0, words_of(n)), np.uint64)  # the members when the generation began
        self._before = np.empty(0)  # their values
        self._groups = np.empty((0, words_of(n)), np.uint64)
        self._offered = np.empty((0, words_of(n)), np.uint64)
        self._sources: kernels.donors.Sources | None = None  # of donors, beside the members

    def encode(self, encoding: Encoding | None) -> None:
        """Hear, before the first row, what the bits are codes of."""
        self.memory = RowMemory(self.n, encoding)

    def begin(self, initial: Bits | None) -> None:
        """Ask for the first rows: all the initial ones, at the best of which the first climbs will begin."""
        if initial is not None:
            self._given = self.memory.add(pack(initial))
            return
        self._start_climbs(self.members)
        self.go_on()

    def offer(self, rows: Bits) -> None:
        """Let climbs of the next population, half of them at most, begin at these rows, shape (rows, n)."""
        self._offered = pack(rows)

    def go_on(self) -> None:
        """Go on until there is a new row to ask for, or none is left."""
        rounds = 0
        if self._given.size:
            ranked = _distinct(self._given[np.argsort(-self.memory.values(self._given), kind="stable")])
            self._start_climbs(self.members, self.memory.keys(ranked[: self.members]))
            self._given = self._given[:0]
        self._advance()
        while self._is_over() and not self.exhausted:
            self._next_generation()
            self._advance()
            rounds += 1
            if rounds >= _ROUNDS:
                self._ask_unseen()
                break

    def insight(self) -> Insight | None:
        """Show the members, or the rows that have climbed, and how much pairs of variables tell of each other there."""
        places = self._current if self._current.size else self._climbed
        return Insight.of_rows(self.memory.keys(places), self.memory.values(places), self.n) if places.size else None

    def _slots(self) -> int:
        """Give how many jobs go side by side: one, until it is clear that one climb is not enough; then ever more.

        Where gains add up, one climb may find the best there is. A model learns from the first climbs what later ones
        need not find out.
        """
        if self._pace[0] > 1 and not self._climbed.size and not self._progress[1]:
            return 1
        if self.eager:
            return len(self._jobs.kind)
        return min(len(self._jobs.kind), 1 + self.memory.known // self.n)

    def _advance(self) -> None:
        self.memory.reserve(self._jobs.asked.size)
        table, slots = self.memory.table, self._slots()
        if self._generation == 0:
            kernels.search.climb_all(table, self._jobs, slots, self._starts, self._ends, self._progress, self._pace)
            return
        kernels.search.mix_all(
            table, self._jobs, slots, self._queue, self._current, self._progress, self._donors, self._groups,
            self.width, self._draws, self._sources,
        )  # fmt: skip

    def _is_over(self) -> bool:
        """Whether all climbs, or all mixings of this generation, have ended."""
        return bool(self._progress[1] == len(self._starts if self._generation == 0 else self._queue))

    def _next_generation(self) -> None:
        if self._polished >= 0:
            self._polish_on()
            return
        if self._generation == 0:
            self._climbed = _distinct(np.concatenate([self._climbed, self._ends]))
            self._current = self._climbed[: self.members].copy()
            goes_on = len(self._current) > 1
        else:
            improved = (self.memory.values(self._current) > self._before).any()
            goes_on = bool(improved) and bool((self._current != self._current[0]).any())
        if goes_on:
            self._start_mixing()
        else:
            self._polish(int(np.argmax(self.memory.table.values[: self.memory.known])))

    def _polish(self, place: int) -> None:
        """Climb from the best row: where single flips lead on, nothing else has flipped them for long enough."""
        self._polished = place
        self._start_climbs(1, self.memory.keys(np.array([place])))

    def _polish_on(self) -> None:
        """Climb on as long as that helps; then let the population grow."""
        end = int(self._ends[0])
        if self.memory.table.values[end] > self.memory.table.values[self._polished]:
            self._polish(end)
            return
        self._polished = -1
        self.members = math.ceil(GROWTH * self.members)
        count = max(0, self.members - len(self._climbed))
        self._start_climbs(count, self._offered[: -(-count // 2)])
        self._offered = self._offered[:0]

    def _start_climbs(self, count: int, rows: kernels.jobs.Words | None = None) -> None:
        """Begin so many climbs, from the rows given, then from random ones."""
        given = np.empty((0, words_of(self.n)), np.uint64) if rows is None else rows
        self._generation = 0
        self._starts = np.concatenate([given, self.memory.random_rows(count - len(given), self._draws)])
        self._ends = np.full(len(self._starts), -1)
        self._progress[:] = 0

    def _start_mixing(self) -> None:
        """Begin a generation: the best members go first, and all of them learn from how the population is now."""
        self._generation += 1
        self._before = self.memory.values(self._current)
        self._queue = np.argsort(-self._before, kind="stable")
        self._donors = self.memory.keys(self._current)
        groups, units = np.empty((2 * self.n, words_of(self.n)), np.uint64), self.memory.table.code.units
        count = kernels.linkage.linkage_groups(self._donors, self.n, units, self._draws, groups)
        self._groups = groups[:count]
        self._progress[:] = 0

    def _ask_unseen(self) -> None:
        """Ask for a row because it is new, where all that the search leads to is known."""
        self.exhausted = self.memory.add_unseen(lambda: self.memory.random_rows(1, self._draws)) < 0

    def state(self) -> State:
        """Give what is needed to go on from here."""
        arrays = {
            name: getattr(self, f"_{name}") for name in (*_PLACES, *_WORDS, "draws", "pace", "progress", "before")
        }
        arrays |= {f"jobs/{name}": array.copy() for name, array in self._jobs._asdict().items()}
        fields: dict[str, Json] = {"members": self.members, "generation": self._generation}
        fields |= {"exhausted": self.exhausted, "polished": self._polished + 1}
        own = State(arrays={name: array.copy() for name, array in arrays.items()}, fields=fields)
        return State.join({"own": own, "memory": self.memory.state()})

    def restore(self, state: State) -> None:
        """Go on where another one, made alike, stood; kernels trust what they are given, so all of it is checked."""
        self.memory.restore(state.part("memory"))
        own, count = state.part("own"), self.memory.count
        self.members, self._generation = own.whole("members"), own.whole("generation")
        self.exhausted, self._polished = own.truth("exhausted"), own.whole("polished") - 1
        for name in _PLACES:
            setattr(self, f"_{name}", own.wholes(name, shape=(-1,), least=-1, most=count - 1))
        for name in _WORDS:
            setattr(self, f"_{name}", _words(own, name, words_of(self.n)))
        self._draws = _words(own, "draws", None)
        self._before = own.floats("before")
        self._pace = own.wholes("pace", shape=(2,), least=0, most=max(self.n, 2))
        listed = len(self._starts if self._generation == 0 else self._queue)
        self._progress = own.wholes("progress", shape=(2,), least=0, most=listed)
        self._restore_jobs(own, count, listed)
        self._check(listed)

    def _restore_jobs(self, own: State, count: int, listed: int) -> None:
        most = {
            "kind": kernels.jobs.MIX,
            "stage": kernels.climbing.MERGE,
            "member": max(listed, len(self._current)) - 1,
            "done": max(self.n, len(self._groups)),
            "chunk": self.n,
            "improvers": self.n,
            "order": self.n - 1,
            "waiting": self._jobs.asked.shape[1],
        }
        for name, array in self._jobs._asdict().items():
            if array.dtype == np.float64:
                found = own.array(f"jobs/{name}")
                if found.shape != array.shape or found.dtype != array.dtype or np.isnan(found).any():
                    raise StateError(f"expected {name} of shape {array.shape} in the jobs of mix, got something else")
                array[:] = found
            else:
                most_here = most.get(name, count - 1)
                array[:] = own.wholes(f"jobs/{name}", shape=array.shape, least=0, most=max(0, most_here))

    def _check(self, listed: int) -> None:
        """Refuse what no run can have: kernels would read beyond the end of an array."""
        busy = self._jobs.kind != kernels.jobs.FREE
        kind = kernels.jobs.CLIMB if self._generation == 0 else kernels.jobs.MIX
        begun, ended = self._progress
        here = len(self._ends if self._generation == 0 else self._current)
        climbed = np.concatenate([self._climbed, self._current, self._queue, self._given])
        fits = (
            self._polished < self.memory.known
            and (self._polished < 0 or len(self._starts) == 1)
            and self._pace[0] >= 1
            and self.members >= 2
            and begun - ended == np.count_nonzero(busy)
            and (self._jobs.kind[busy] == kind).all()
            and (self._jobs.member[busy] < here).all()
            and (self._jobs.done + self._jobs.chunk <= self.n)[busy & (self._jobs.stage == 2)].all()
            and (self.memory.count > 0 or not busy.any())
            and len(self._ends) == len(self._starts)
            and len(self._donors)
            == len(self._before)
            == len(self._queue)
            == (len(self._current) if self._queue.size else 0)
            and self._queue.max(initial=-1) < max(1, len(self._current))
            and climbed.min(initial=0) >= 0
        )
        if not fits:
            raise StateError("expected climbs and mixings that fit together, got some that no run can have")


_PLACES = ("given", "ends", "climbed", "current", "queue")
_WORDS = ("starts", "donors", "groups", "offered")


def _words(own: State, name: str, words: int | None) -> kernels.jobs.Words:
    """Give packed rows of so many words, or one word."""
    array = own.array(name)
    if array.dtype != np.uint64 or (array.shape != (1,) if words is None else array.shape[1:] != (words,)):
        raise StateError(f"expected {name} to be packed rows, got shape={array.shape}, dtype={array.dtype}")
    return array.copy()


def _distinct(places: kernels.jobs.Integers) -> kernels.jobs.Integers:
    """Give places, each once, in the order in which they come first."""
    _, first = np.unique(places, return_index=True)
    return places[np.sort(first)]
