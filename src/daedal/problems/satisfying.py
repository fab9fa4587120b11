"""A row that satisfies all clauses, where one is found at once: depth-first search with unit propagation (DPLL)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from daedal.types import Bits

_Clauses: TypeAlias = list[tuple[int, ...]]  # literals: v + 1 for variable v, -(v + 1) for its negation

EFFORT = 3_000_000
"""Literals looked at before the search is given up: a few tenths of a second."""


def satisfying_row(n: int, clauses: Sequence[Sequence[int]], *, effort: int = EFFORT) -> Bits | None:
    """Give a row, shape (n,), that satisfies all clauses, or None where there is none or it would take too long.

    A literal is v + 1 for variable v of 0..n - 1, and -(v + 1) for its negation.

    Examples
    --------
    >>> satisfying_row(2, [(1, 2), (-1,)])
    array([0, 1], dtype=uint8)
    >>> satisfying_row(1, [(1,), (-1,)]) is None
    True
    """
    # What is still to be tried: clauses that are left, literals that hold already, one more that is to hold.
    waiting: list[tuple[_Clauses, tuple[int, ...], int]] = [([tuple(clause) for clause in clauses], (), 0)]
    while waiting:
        left, held, literal = waiting.pop()
        while True:
            effort -= sum(map(len, left)) + 1
            if effort < 0:
                return None
            if literal:
                held += (literal,)
                left = [
                    tuple(one for one in clause if one != -literal) if -literal in clause else clause
                    for clause in left
                    if literal not in clause
                ]
            if not left:
                return _row(n, held)
            shortest = min(left, key=len)
            if len(shortest) != 1:
                break
            literal = shortest[0]
        if shortest:  # otherwise nothing can satisfy it any more
            literal = _most_frequent(left, len(shortest))
            waiting += [(left, held, -literal), (left, held, literal)]
    return None


def _most_frequent(clauses: _Clauses, length: int) -> int:
    """Give the literal that is in most of the shortest clauses; the first of several."""
    counts: dict[int, int] = {}
    for clause in clauses:
        if len(clause) == length:
            for literal in clause:
                counts[literal] = counts.get(literal, 0) + 1
    return max(counts, key=counts.__getitem__)


def _row(n: int, held: tuple[int, ...]) -> Bits:
    row = np.zeros(n, dtype=np.uint8)
    for literal in held:
        row[abs(literal) - 1] = literal > 0
    return row
