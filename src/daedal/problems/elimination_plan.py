"""In which order to eliminate the variables of a sum of small tables, and what memory that takes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

CHUNK_BITS = 13
"""Rows of a message are worked on 2^13 at a time, so that both sums stay in the second-level cache."""

_FILL_EFFORT = 700_000  # A randomised min-fill order costs about n^3 steps; this many are about 0.06 s.
_FILL_MOST = 50  # Randomised orders, however small n is.
_FILL_LARGEST = 128  # Above, one min-fill order takes too long, and min-degree alone has to do.
_NOISE = 2.0  # Largest factor on a randomised score.
_WIDEST = 64  # A message over more variables fits no machine, so its order is not worth a search.


@dataclass(frozen=True)
class Plan:
    """In which order to eliminate, and what it takes.

    Attributes
    ----------
    order
        Every variable once.
    entries
        Entries of the largest message.
    peak_bytes
        Memory of all tables alive at the worst moment, those of the caller not counted.
    """

    order: tuple[int, ...]
    entries: int
    peak_bytes: int


def plan(n: int, scopes: Sequence[Sequence[int]]) -> Plan:
    """Find a cheap order of elimination; no table is built.

    Parameters
    ----------
    n
        Number of variables.
    scopes
        For each table the variables it looks at.

    Examples
    --------
    >>> plan(4, [(0, 1), (1, 2), (2, 3)]).entries
    2
    """
    masks = [sum(1 << v for v in scope) for scope in scopes]
    graph = [1 << v for v in range(n)]
    for mask in masks:
        for v in _bits(mask):
            graph[v] |= mask
    best = _price(masks, _greedy(graph, _degree, _WIDEST)[0])
    if n <= _FILL_LARGEST:
        best = min(best, _price(masks, _greedy(graph, _fill, _WIDEST)[0]), key=_cost)
        rng = random.Random(0)  # Fixed: the same problem always gets the same plan.
        for _ in range(min(_FILL_EFFORT // max(n, 1) ** 3, _FILL_MOST)):
            order, narrow = _greedy(
                graph, lambda g, v: rng.uniform(1.0, _NOISE) * _fill(g, v), best.entries.bit_length() - 1
            )
            if narrow:
                best = min(best, _price(masks, order), key=_cost)
    return best


def _greedy(
    graph: list[int],
    score: Callable[[list[int], int], float],
    widest: int,
) -> tuple[list[int], bool]:
    """Eliminate always the variable of the lowest score; whether it met no more than `widest` neighbours.

    `graph[v]` holds v and its neighbours as bits of an int.
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


def _degree(graph: list[int], v: int) -> int:
    """Count v and its neighbours."""
    return graph[v].bit_count()


def _fill(graph: list[int], v: int) -> int:
    """Count the pairs of neighbours of v that its elimination would join, twice, and one more."""
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


def _cost(candidate: Plan) -> tuple[int, int]:
    return candidate.peak_bytes, candidate.entries


def _lowest(mask: int) -> int:
    """Give the place of the lowest one of an int."""
    return (mask & -mask).bit_length() - 1


def _bits(mask: int) -> Iterator[int]:
    """Give the places of the ones of an int, lowest first."""
    while mask:
        yield _lowest(mask)
        mask &= mask - 1
