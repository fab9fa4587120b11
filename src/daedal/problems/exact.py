"""Exact optimum of sums of small tables over bits, by eliminating one variable after another.

Max-sum dynamic programming: to eliminate a variable, add up all tables that look at it and keep, for each
setting of the other variables they look at, the larger of its two values (a new table, the message) and which
one it was. The largest message sets the price, and the order of the variables sets the largest message,
so `plan` looks for a cheap order and states the memory before any table is built.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import EXACT, njit
from daedal.settings.checks import readable_bytes
from daedal.types import Bits

_Scopes: TypeAlias = Sequence[Sequence[int]]  # for each table the variables it looks at, all different
_Table: TypeAlias = NDArray[np.float64]
_Choices: TypeAlias = list[tuple[list[int], NDArray[np.uint8]]]

MEMORY_LIMIT = 4 * 2**30  # Bytes that `maximize` may take unless told otherwise
CHUNK_BITS = 13  # Rows of a message are worked on 2^13 at a time, so that both sums stay in the second-level cache
_FILL_EFFORT = 700_000  # A randomized min-fill order costs about n^3 steps; this many are about 0.06 s.
_FILL_MOST = 50  # Randomised orders, however small n is.
_FILL_LARGEST = 128  # Above, one min-fill order takes too long, and min-degree alone has to do.
_NOISE = 2.0  # Largest factor on a randomized score.
_WIDEST = 64  # A message over more variables fits no machine, so its order is not worth a search.

EXACT_MEMORY = 2**30
"""Bytes of tables up to which the optimum is computed when asked for: at most about ten seconds of work."""

QUICK_MEMORY = 2**26
"""Bytes of tables up to which the optimum takes no more than a few tenths of a second."""


class SumOfTables(ABC):
    """A sum of tables, each of which looks at a few variables.

    Attributes
    ----------
    n
        Number of variables.
    known_optimum
        Largest fitness, where the source of the problem states it.
    affordable
        Bytes of tables up to which the optimum is computed when asked for.
    """

    n: int
    known_optimum: float | None
    affordable = EXACT_MEMORY

    @abstractmethod
    def scopes(self) -> list[list[int]]:
        """Return for each table the variables that it looks at, all different."""

    @abstractmethod
    def factors(self) -> list[NDArray[np.float64]]:
        """Return the tables, each of shape (2^len(scope),); a scope's first variable is the most significant bit."""

    def can_be_planned(self) -> bool:
        """Whether it is small enough that looking for an order of elimination takes no more than a moment."""
        return True

    @property
    def optimum(self) -> float | None:
        """Largest fitness: as stated, or computed on first use; None where that takes more than is affordable."""
        if self.known_optimum is not None:
            return self.known_optimum
        return None if self._exact is None else self._exact[1]

    @property
    def solution(self) -> Bits | None:
        """A row, shape (n,), of the largest fitness, or None where computing it takes more than is affordable."""
        return None if self._exact is None else self._exact[0].copy()

    def maximize(self) -> tuple[Bits, float]:
        """Compute a row of the largest fitness, and that fitness, whatever time it takes.

        Raises
        ------
        ValueError
            If it is too large, or the tables would take more than `MEMORY_LIMIT`; raised before any of it
            is taken.

        Examples
        --------
        >>> from daedal.problems import NK
        >>> row, value = NK.random(n=10, k=2, seed=1).maximize()
        """
        if not self.can_be_planned():
            raise ValueError(f"{self!r} is too large for its exact optimum; take fewer variables or smaller tables")
        check_plan(self._plan)  # before the tables are made
        return maximize(self.n, self.scopes(), self.factors(), planned=self._plan)

    def quick_optimum(self) -> float | None:
        """Compute the largest fitness where that takes no more than a moment, whatever the source states."""
        quick = self.can_be_planned() and self._plan.peak_bytes <= QUICK_MEMORY
        return None if not quick or self._exact is None else self._exact[1]

    @cached_property
    def _plan(self) -> Plan:
        return plan(self.n, self.scopes())

    @cached_property
    def _exact(self) -> tuple[Bits, float] | None:
        affordable = self.can_be_planned() and self._plan.peak_bytes <= self.affordable
        return self.maximize() if affordable else None


# ------------------------------------------------------------ elimination


@dataclass(frozen=True)
class Plan:
    """In which order to eliminate, and what it takes."""

    order: tuple[int, ...]  # every variable once
    entries: int  # of the largest message
    peak_bytes: int  # memory of all tables alive at the worst moment, those of the caller not counted


def plan(n: int, scopes: _Scopes) -> Plan:
    """Find a cheap order of elimination; no table is built."""
    cost = attrgetter("peak_bytes", "entries")
    masks = [sum(1 << v for v in scope) for scope in scopes]
    graph = [1 << v for v in range(n)]
    for mask in masks:
        for v in _bits(mask):
            graph[v] |= mask
    best = _price(masks, _greedy(graph, lambda g, v: g[v].bit_count(), _WIDEST)[0])  # min-degree
    if n <= _FILL_LARGEST:
        best = min(best, _price(masks, _greedy(graph, _fill, _WIDEST)[0]), key=cost)
        rng = random.Random(0)  # Fixed: the same problem always gets the same plan.
        for _ in range(min(_FILL_EFFORT // max(n, 1) ** 3, _FILL_MOST)):
            widest = best.entries.bit_length() - 1
            order, narrow = _greedy(graph, lambda g, v: rng.uniform(1.0, _NOISE) * _fill(g, v), widest)
            if narrow:
                best = min(best, _price(masks, order), key=cost)
    return best


def _greedy(graph: list[int], score: Callable[[list[int], int], float], widest: int) -> tuple[list[int], bool]:
    """Eliminate always the variable of the lowest score; whether it met no more than `widest` neighbors.

    `graph[v]` holds v and its neighbors as bits of an int.
    """
    graph, order, width = graph.copy(), [], 0
    scores = {v: score(graph, v) for v in range(len(graph))}
    while len(scores) > width and width <= widest:  # With fewer left, whatever follows is no wider.
        v = min(scores, key=scores.__getitem__)
        order.append(v)
        del scores[v]
        around = graph[v] & ~(1 << v)
        width = max(width, around.bit_count())
        stale = around
        for u in _bits(around):
            graph[u] = (graph[u] | around) & ~(1 << v)
            stale |= graph[u]
        for u in _bits(stale):
            scores[u] = score(graph, u)
    return order + list(scores), width <= widest


def _fill(graph: list[int], v: int) -> int:
    """Count the pairs of neighbors of v that its elimination would join, twice, and one more."""
    around = graph[v]
    return 1 + sum((around & ~graph[u]).bit_count() for u in _bits(around))


def _price(masks: list[int], order: list[int]) -> Plan:
    """Follow an order through, sizes only."""
    when = {v: step for step, v in enumerate(order)}
    waiting: list[list[int]] = [[] for _ in order]  # Sets of steps, so that the lowest bit is the first to go.
    for mask in masks:
        steps = sum(1 << when[v] for v in _bits(mask))
        waiting[_lowest(steps)].append(steps)
    alive, peak, entries = 0, 0, 1
    arrived = [0] * len(order)  # Bytes of the messages that wait at a step.
    for step, factors in enumerate(waiting):
        union = 0
        for mask in factors:
            union |= mask
        union &= ~(1 << step)
        rows = 1 << union.bit_count()
        chunk = min(rows, 1 << CHUNK_BITS)
        scratch = 16 * chunk + 8 * len(factors) * (chunk + rows // chunk)
        alive += (rows + 7) // 8
        peak = max(peak, alive + 8 * rows + scratch)
        entries = max(entries, rows)
        alive -= arrived[step]
        if union:
            alive += 8 * rows
            waiting[_lowest(union)].append(union)
            arrived[_lowest(union)] += 8 * rows
    return Plan(tuple(order), entries, peak)


def _lowest(mask: int) -> int:
    """Return the place of the lowest one of an int."""
    return (mask & -mask).bit_length() - 1


def _bits(mask: int) -> Iterator[int]:
    """Return the places of the ones of an int, lowest first."""
    while mask:
        yield _lowest(mask)
        mask &= mask - 1


def check_plan(planned: Plan, limit: int = MEMORY_LIMIT) -> None:
    """Refuse a plan that needs more bytes than a limit."""
    if planned.peak_bytes > limit:
        raise ValueError(
            f"the exact optimum needs a table of 2^{planned.entries.bit_length() - 1} entries and "
            f"{readable_bytes(planned.peak_bytes)} of memory, more than the limit of {readable_bytes(limit)}; "
            "take fewer variables or smaller tables",
        )


def maximize(
    n: int, scopes: _Scopes, tables: Sequence[_Table], *, limit: int = MEMORY_LIMIT, planned: Plan | None = None
) -> tuple[Bits, float]:
    """Find a row, shape (n,), of the largest sum of table entries, and that sum, added up in the order of the tables.

    Tables are of shape (2^len(scope),); the first variable of a scope is the index's most significant bit. `planned`
    is the result of `plan`, where the caller has it already; one that needs more bytes than `limit` is refused.

    Examples
    --------
    >>> import numpy as np
    >>> maximize(2, [(0,), (0, 1)], [np.array([0.0, 1.0]), np.array([1.0, 4.0, 2.0, 0.0])])
    (array([0, 1], dtype=uint8), 4.0)
    """
    planned = plan(n, scopes) if planned is None else planned
    check_plan(planned, limit)
    choices = _eliminate(n, planned.order, scopes, tables)
    row, value = np.zeros(n, dtype=np.uint8), 0.0
    for v in reversed(planned.order):  # last eliminated first, each by those that decide it
        seen, choice = choices[v]
        index = sum(int(row[u]) << place for place, u in enumerate(seen))
        row[v] = choice[index >> 3] >> (index & 7) & 1
    for scope, table in zip(scopes, tables, strict=True):
        value += float(table[sum(int(row[u]) << place for place, u in enumerate(reversed(scope)))])
    return row, value


def _eliminate(n: int, order: Sequence[int], scopes: _Scopes, tables: Sequence[_Table]) -> _Choices:
    """Return for each variable the others that decide it, lowest first, and its best bit for each setting."""
    when = {v: step for step, v in enumerate(order)}
    # Each table waits at the first of its variables to go, with the weight of each variable in its index.
    waiting: list[list[tuple[_Table, dict[int, int]]]] = [[] for _ in range(n)]
    for scope, table in zip(scopes, tables, strict=True):
        weights = {u: 1 << place for place, u in enumerate(reversed(scope))}
        waiting[min(scope, key=when.__getitem__)].append((table, weights))
    choices: _Choices = [([], np.zeros(1, dtype=np.uint8)) for _ in range(n)]
    for v in order:
        # The variable that goes next is the least significant, so that its two values lie side by side.
        seen = sorted({u for _, weights in waiting[v] for u in weights} - {v}, key=when.__getitem__)
        message, choice = _message(v, seen, waiting[v])
        waiting[v] = []
        choices[v] = (seen, choice)
        if seen:
            waiting[seen[0]].append((message, {u: 1 << place for place, u in enumerate(seen)}))
    return choices


def _message(v: int, seen: list[int], factors: list[tuple[_Table, dict[int, int]]]) -> tuple[_Table, NDArray[np.uint8]]:
    """Maximize the sum of factors over v: the values, shape (2^len(seen),), and the best bits, packed."""
    rows = 1 << len(seen)
    chunk = min(rows, 1 << CHUNK_BITS)
    message, choice = np.empty(rows), np.zeros((rows + 7) // 8, dtype=np.uint8)
    zero, one = np.zeros(chunk), np.zeros(chunk)
    # A row's index in a factor is a sum over its bits, so it splits in a high part and a low part.
    parts = [
        (table, weights[v], _offsets(seen[CHUNK_BITS:], weights), _offsets(seen[:CHUNK_BITS], weights))
        for table, weights in factors
    ]
    for c, start in enumerate(range(0, rows, chunk)):
        for table, step, high, low in parts:
            add_factor(table, high[c], step, low, zero, one)
        bits = choice[start // 8 : (start + chunk + 7) // 8]
        keep_better(zero, one, message[start : start + chunk], bits)
    return message, choice


def _offsets(seen: Sequence[int], weights: dict[int, int]) -> NDArray[np.int64]:
    """Return the part of a table's index that the variables seen account for, for each of their settings."""
    offsets = np.zeros(1, dtype=np.int64)
    for u in seen:
        offsets = np.concatenate([offsets, offsets + weights.get(u, 0)])
    return offsets


# ------------------------------------------------------------ kernels


@njit(**EXACT)
def add_factor(
    table: NDArray[np.float64],
    base: int,
    step: int,
    low: NDArray[np.int64],
    zero: NDArray[np.float64],
    one: NDArray[np.float64],
) -> None:
    """Add to zero[r] and one[r] the table's entry for row r with the eliminated bit 0 and 1.

    Row r reads table[base + low[r]], and `step` entries further where the bit is one.
    """
    for r in range(low.shape[0]):
        i = base + low[r]
        zero[r] += table[i]
        one[r] += table[i + step]


@njit(**EXACT)
def keep_better(
    zero: NDArray[np.float64], one: NDArray[np.float64], message: NDArray[np.float64], choice: NDArray[np.uint8]
) -> None:
    """Store the larger of zero[r] and one[r], and which it was in bit r of choice; empty zero and one."""
    for r in range(zero.shape[0]):
        if one[r] > zero[r]:
            message[r] = one[r]
            choice[r >> 3] |= np.uint8(1 << (r & 7))
        else:
            message[r] = zero[r]
        zero[r] = one[r] = 0.0
