"""What a run's memory says of the problem afterwards: the best rows, those around one, and a sample of all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.types import Bits, Fitness, is_feasible, words_of

_PIECE = 2**16  # rows that are looked at together
_PARTS = 8  # of a sample: rows that came one after the other are often changes of each other

Words = NDArray[np.uint64]


class Memory(Protocol):
    """What remembers rows: see `MemoryCache`."""

    n: int

    def parts(self) -> list[tuple[Words, Fitness]]:
        """Give packed rows and their values, oldest first."""


class Around(NamedTuple):
    """What is known around a row, both shape (n,), to be maximised, nan where nothing is."""

    flips: Fitness  # values of the rows that differ in one variable alone
    others: Fitness  # the best value of any row that differs in it


class SeenRows:
    """All rows that a run remembers, packed, with their fitness, in the order in which they came.

    Those that are infeasible, or failed, are left out. Fitness is to be maximised, and rows are in the optimizer's
    order. The memory may be large: it is gone through piece by piece, and not copied.

    Parameters
    ----------
    memory
        What remembers them.
    sign
        That of its values: 1 where larger ones are better, -1 where smaller ones are.
    """

    def __init__(self, memory: Memory, *, sign: int) -> None:
        self.n = memory.n
        self.sign = sign
        self._parts = memory.parts()

    def _pieces(self) -> Iterator[tuple[Words, Fitness]]:
        for keys, values in self._parts:
            for first in range(0, len(values), _PIECE):
                piece = slice(first, first + _PIECE)
                yield _feasible(keys[piece], self.sign * values[piece])

    def best(self, rows: int) -> tuple[Bits, Fitness]:
        """Give so many different rows, or all there are, shape (rows, n), best first, of equal ones the first."""
        kept, top = np.empty((0, words_of(self.n)), np.uint64), np.empty(0)
        for keys, fitness in self._pieces():
            if len(fitness) > rows:
                chosen = np.flatnonzero(fitness >= np.partition(fitness, -rows)[-rows])
                keys, fitness = keys[chosen], fitness[chosen]
            keys, fitness = np.concatenate([kept, keys]), np.concatenate([top, fitness])
            order = np.argsort(-fitness, kind="stable")
            order = order[_first_of_equal(keys[order])][:rows]
            kept, top = keys[order], fitness[order]
        return self._unpacked(kept), top

    def around(self, x: Bits) -> Around:
        """Say what is known around a row, shape (n,)."""
        flips, others = np.full(self.n, np.nan), np.full(self.n, -np.inf)
        packed, hashes = np.empty((1, words_of(self.n)), np.uint64), np.empty(1, np.uint64)
        kernels.rowtable.pack_rows(np.require(x[None], np.uint8, ["C", "W"]), packed, hashes)
        for keys, fitness in self._pieces():
            kernels.rowtable.compare_rows(np.require(keys, requirements=["C", "W"]), fitness, packed[0], flips, others)
        others[np.isneginf(others)] = np.nan
        return Around(flips, others)

    def sample(self, rows: int) -> tuple[Bits, Fitness]:
        """Give at most so many rows, shape (rows, n): stretches that came one after the other, from all of the run."""
        ends = np.cumsum([0, *(len(values) for _, values in self._parts)])
        places, count = np.arange(min(ends[-1], rows)), int(ends[-1])
        if count > rows:
            length = max(1, rows // _PARTS)
            starts = np.linspace(0, count - length, max(1, rows // length)).astype(np.int64)
            places = np.unique((starts[:, None] + np.arange(length)).ravel())
        found = [
            (keys[here], self.sign * values[here])
            for (keys, values), first, end in zip(self._parts, ends[:-1], ends[1:], strict=True)
            for here in [places[(places >= first) & (places < end)] - first]
        ]
        keys, fitness = (np.concatenate(one) for one in zip(*found, strict=True))
        keys, fitness = _feasible(keys, fitness)
        return self._unpacked(keys), fitness

    def _unpacked(self, keys: Words) -> Bits:
        octets = np.ascontiguousarray(keys).astype("<u8").view(np.uint8).reshape(len(keys), 8 * keys.shape[1])
        return np.unpackbits(octets, axis=1, count=self.n, bitorder="little")


def _feasible(keys: Words, fitness: Fitness) -> tuple[Words, Fitness]:
    fine = is_feasible(fitness)
    return (keys, fitness) if fine.all() else (keys[fine], fitness[fine])


def _first_of_equal(keys: Words) -> NDArray[np.bool_]:
    """Whether each packed row is the first of its kind, shape (rows,)."""
    first = {key.tobytes(): place for place, key in reversed(list(enumerate(keys)))}
    found = np.zeros(len(keys), np.bool_)
    found[list(first.values())] = True
    return found
