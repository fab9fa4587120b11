"""Climbs and mixings side by side: what each is at, the rows it waits for, and the memory of rows that all share.

A row has a place in the memory from the moment it is asked for. Places are given in order, so the rows that wait for
their values are the last ones, from `known` on; and every row that was first seen as a change of another one has that
one as its parent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.kernels.compilation import EXACT, njit
from daedal.kernels.counting import WORD, count_bits
from daedal.kernels.repair import Code, repair_row
from daedal.kernels.rowtable import add_rows, hash_rows
from daedal.types import INFEASIBLE, Bits

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

FREE, CLIMB, MIX = 0, 1, 2
"""Kinds of jobs."""


class Memory(NamedTuple):
    """All rows seen, see `daedal.kernels.rowtable`; counts (2,) are the rows there and those whose value is known.

    Where the bits are the codes of variables, all rows have been repaired (`daedal.kernels.repair`).
    """

    slots: Words  # shape (a power of two,)
    keys: Words  # packed rows, shape (capacity, words)
    values: Floats  # shape (capacity,)
    parents: Integers  # places, -1 for none, shape (capacity,)
    counts: Integers
    code: Code


class Jobs(NamedTuple):
    """Climbs and mixings, one a slot; all arrays begin with the number of slots."""

    kind: Integers
    stage: Integers
    member: Integers  # of the population
    at: Integers  # the place of the row it stands on
    top: Integers  # the place of the best row of the last ones asked for
    done: Integers  # variables probed, gains merged, or groups tried
    chunk: Integers  # gains that are being merged together
    improvers: Integers  # how many gains there are to merge
    tolerance: Floats  # what counts as equal
    gains: Floats  # shape (slots, n)
    order: Integers  # variables, the largest gain first, shape (slots, n)
    asked: Integers  # places waited for, shape (slots, most rows a job asks for)
    waiting: Integers  # how many


def new_jobs(slots: int, n: int, asked: int) -> Jobs:
    """Make so many slots for climbs and mixings of n variables that ask for so many rows at once at most."""

    def whole(*shape: int) -> Integers:
        return np.zeros((slots, *shape), np.int64)

    kind, stage, member, at, top, done, chunk, improvers = (whole() for _ in range(8))
    return Jobs(
        kind, stage, member, at, top, done, chunk, improvers,
        np.zeros(slots), np.zeros((slots, n)), whole(n), whole(asked), whole(),
    )  # fmt: skip


@njit(**EXACT)
def place_of(memory: Memory, row: Words, parent: int) -> int:
    """Give the place of a packed row, shape (words,), a new one behind all others where it is new.

    There has to be room for it. A row keeps the parent with which it came. Where it has to be repaired, that is done in
    a copy.
    """
    rows, hashes, places = row.reshape(1, row.size), np.empty(1, np.uint64), np.full(1, -1)
    if memory.code.kinds.size:
        rows = rows.copy()
        hashes[0] = memory.counts[0]  # so that a row that has to give way somewhere does so elsewhere the next time
        above = memory.keys[parent] if parent >= 0 else row[:0]
        repair_row(memory.code, rows[0], above, hashes)
    hash_rows(rows, hashes)
    count, _ = add_rows(memory.slots, memory.keys, memory.counts[0], rows, hashes, 0, places)
    if count > memory.counts[0]:
        memory.parents[places[0]] = parent
        memory.counts[0] = count
    place: int = places[0]
    return place


@njit(**EXACT)
def place_near(memory: Memory, row: Words) -> int:
    """Give the place of a packed row; where it is new, its parent is the nearest row whose value is known."""
    nearest, least = -1, WORD * row.size + 1
    for known in range(memory.counts[1]):
        distance = 0
        for w in range(row.size):
            distance += count_bits(memory.keys[known, w] ^ row[w])
        if distance < least:
            nearest, least = known, distance
    place: int = place_of(memory, row, nearest)
    return place


@njit(**EXACT)
def is_answered(memory: Memory, jobs: Jobs, slot: int) -> bool:
    """Whether the values of all rows that a job waits for are known."""
    for k in range(jobs.waiting[slot]):
        if jobs.asked[slot, k] >= memory.counts[1]:
            return False
    return True


@njit(**EXACT)
def gain_over(value: float, before: float) -> float:
    """Give how much better a value is than another one; both may be -inf, which is worse than anything but itself.

    What is infeasible is infinitely worse than what is not. Two such values differ by how much they are infeasible.
    """
    if value == before:
        return 0.0
    if (value <= INFEASIBLE) != (before <= INFEASIBLE):
        return np.inf if value > before else -np.inf
    return value - before


@njit(**EXACT)
def unpack_rows(keys: Words, out: Bits) -> None:
    """Write packed rows, shape (rows, words), as bits, shape (rows, n)."""
    rows, n = out.shape
    for r in range(rows):
        for i in range(n):
            out[r, i] = (keys[r, i // WORD] >> np.uint64(i % WORD)) & np.uint64(1)
