"""Equations of a Walsh function, laid out for the fit, and their columns, one for each set of variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.types import Bits, Fitness

MAX_ORDER = 5
"""Variables in a set, at most."""

_Integers = NDArray[np.int64]
_Singles = NDArray[np.float32]


@dataclass(frozen=True)
class Sets:
    """Sets of variables, ascending: members (sets, MAX_ORDER), filled up with -1, and how many each has."""

    members: _Integers
    orders: _Integers

    def __len__(self) -> int:
        return len(self.orders)

    def __getitem__(self, which: NDArray[np.bool_] | _Integers | slice) -> Sets:
        return Sets(self.members[which], self.orders[which])

    def __add__(self, other: Sets) -> Sets:
        return Sets(np.concatenate([self.members, other.members]), np.concatenate([self.orders, other.orders]))

    def tuples(self) -> list[tuple[int, ...]]:
        """Give each set as a tuple."""
        return [tuple(row[:k]) for row, k in zip(self.members.tolist(), self.orders.tolist(), strict=True)]

    @staticmethod
    def of(members: _Integers) -> Sets:
        """Make sets of one order from an array of shape (sets, order)."""
        count, order = members.shape
        filled = np.full((count, MAX_ORDER), -1, dtype=np.int64)
        filled[:, :order] = members
        return Sets(filled, np.full(count, order, dtype=np.int64))

    @staticmethod
    def from_tuples(sets: Sequence[Sequence[int]]) -> Sets:
        """Make sets of any orders."""
        filled = np.full((len(sets), MAX_ORDER), -1, dtype=np.int64)
        for row, members in zip(filled, sets, strict=True):
            row[: len(members)] = sorted(members)
        return Sets(filled, np.array([len(members) for members in sets], dtype=np.int64))


NOTHING = Sets.of(np.empty((0, 1), dtype=np.int64))
"""No set."""


@dataclass(frozen=True)
class Columns:
    """The columns of some sets, as `kernels.walsh` has them."""

    sets: Sets
    bounds: _Integers
    entries: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.sets)

    def __getitem__(self, which: _Integers) -> Columns:
        bounds = self.bounds[which]
        new_bounds = np.empty_like(bounds)
        entries = np.empty(int((bounds[:, 4] - bounds[:, 0]).sum()), dtype=np.uint32)
        kernels.walsh.copy_columns(bounds, self.entries, new_bounds, entries)
        return Columns(self.sets[which], new_bounds, entries)

    def __add__(self, other: Columns) -> Columns:
        bounds = np.concatenate([self.bounds, other.bounds + len(self.entries)])
        return Columns(self.sets + other.sets, bounds, np.concatenate([self.entries, other.entries]))

    @cached_property
    def prices(self) -> _Singles:
        """1 / sqrt of the number of training equations in which each set stands; 0 where they are too few."""
        counts = self.bounds[:, 2] - self.bounds[:, 0]
        return np.where(counts >= LEAST, np.maximum(counts, 1) ** -0.5, 0.0).astype(np.float32)


@dataclass(frozen=True)
class Equations:
    """Equations y = sum of w_C chi_C(x) over the sets C with |C and d| odd, the first `train` of them for training.

    `train` is a multiple of 64, the number of equations in a word of bits: `arrange` fills up with empty ones. Without
    d, every set stands in every equation, and the empty set is one of them.
    """

    x: Bits
    d: Bits | None
    y: Fitness
    train: int
    used: int  # for training, without those that fill up
    pool: _Integers  # variables of which all pairs are looked at

    @property
    def n(self) -> int:
        """Number of variables."""
        return int(self.x.shape[1])

    @cached_property
    def bits(self) -> NDArray[np.uint64]:
        """The rows x, variable by variable, 64 equations to a word."""
        return packed(self.x)

    @cached_property
    def flips(self) -> NDArray[np.uint64]:
        """The flipped variables, laid out as `bits`."""
        return np.zeros_like(self.bits) if self.d is None else packed(self.d)

    @cached_property
    def rest(self) -> NDArray[np.uint64]:
        """One bit for each equation: whether a set stands in it whatever d is."""
        stands = np.full((len(self.y), 1), self.d is None, dtype=np.uint8)
        stands[self.used : self.train] = 0
        words: NDArray[np.uint64] = packed(stands)[0]
        return words

    @cached_property
    def signs(self) -> _Singles:
        """(-1)^x of the pool's variables in the training equations."""
        return np.float32(1) - np.float32(2) * self.x[: self.train].take(self.pool, axis=1)

    @cached_property
    def _flip_lists(self) -> tuple[_Integers, _Integers, _Singles]:
        assert self.d is not None
        d = self.d[: self.train].take(self.pool, axis=1)
        rows, flipped = np.nonzero(d)
        return np.searchsorted(rows, np.arange(self.train + 1)), flipped, self.signs * (d == 0)

    @cached_property
    def prices(self) -> _Singles:
        """1 / sqrt of the number of equations of each pair in the pool, on the diagonal of each variable."""
        size = len(self.pool)
        if self.d is None:
            return np.full((size, size), self.used**-0.5, dtype=np.float32)
        starts, flipped, still = self._flip_lists
        singles = np.empty(size, dtype=np.float32)
        half, prices = np.empty((size, size), dtype=np.float32), np.empty((size, size), dtype=np.float32)
        ones = np.ones(self.train)
        kernels.walsh.correlate_pairs(
            starts, flipped, np.ones_like(still), np.abs(still), ones, self.train, singles, half
        )
        kernels.walsh.pair_prices(singles, half, LEAST, prices)
        return prices

    def correlate_pairs(self, residual: Fitness, singles: _Singles, half: _Singles) -> None:
        """Correlate the residual with the pool's variables and pairs of them, as `kernels.walsh` says."""
        if self.d is None:
            weighted = self.signs * residual[: self.train, None].astype(np.float32)
            singles[:] = weighted.sum(axis=0)
            np.dot(weighted.T, self.signs, out=half)
            half *= np.float32(0.5)
        else:
            starts, flipped, still = self._flip_lists
            kernels.walsh.correlate_pairs(starts, flipped, self.signs, still, residual, self.train, singles, half)

    @cached_property
    def base(self) -> float:
        """The squared error of the equations held out without any coefficient."""
        return float(np.square(self.y[self.train :]).sum())

    def strengths(self, members: _Integers, residual: Fitness) -> _Singles:
        """Say how well sets of one order, shape (sets, order), go with a residual: see `kernels.walsh.screen`."""
        out = np.empty(len(members), dtype=np.float32)
        members = members.copy()  # A list of all sets may not be written to, and the kernel is not compiled for such.
        kernels.walsh.screen(members, self.flips, self.rest, self.bits, self.train // 64, residual, LEAST, out)
        return out

    def columns(self, sets: Sets) -> Columns:
        """List the equations of each set."""
        bounds = np.empty((len(sets), 5), dtype=np.int64)
        words = sets.members, sets.orders, self.flips, self.rest, self.bits, self.train // 64, bounds
        entries = np.empty(kernels.walsh.count_entries(*words), dtype=np.uint32)
        kernels.walsh.fill_entries(*words, entries)
        return Columns(sets, bounds, entries)


def arrange(x: Bits, d: Bits | None, y: Fitness, held_out: int, pool: _Integers) -> Equations:
    """Lay out equations, of which the last `held_out` are not for training."""
    used = len(y) - held_out
    empty = np.zeros((-used % 64, x.shape[1]), dtype=np.uint8)

    def fill(array: NDArray[Any], gap: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([array[:used], gap, array[used:]])

    return Equations(
        x=fill(x, empty), d=None if d is None else fill(d, empty), y=fill(y, np.zeros(len(empty))),
        train=used + len(empty), used=used, pool=pool,
    )  # fmt: skip


LEAST = 3
"""Training equations that a set must stand in to be looked at."""


def packed(rows: Bits) -> NDArray[np.uint64]:
    """Pack bits, shape (rows, n), into words, shape (n, words): bit b of word w is that of row 64 w + b."""
    count, n = rows.shape
    padded = np.zeros((n, -(-count // 64) * 64), dtype=np.uint8)
    padded[:, :count] = rows.T
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
