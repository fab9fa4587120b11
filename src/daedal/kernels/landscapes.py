"""Fitness of a batch of rows, one function per problem, and the two inner loops of variable elimination.

Fitness takes x, shape (rows, n), and fills out, shape (rows,). Any non-zero entry of x counts as a one, so
that no entry, however wrong, can lead an index out of its table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import EXACT, njit
from daedal.types import Bits, Fitness

_Floats = NDArray[np.float64]


@njit(**EXACT)
def onemax(x: Bits, out: Fitness) -> None:
    """Count the ones of each row."""
    rows, n = x.shape
    for r in range(rows):
        ones = 0
        for i in range(n):
            if x[r, i]:
                ones += 1
        out[r] = ones


@njit(**EXACT)
def trap(x: Bits, k: int, out: Fitness) -> None:
    """Sum the deceptive traps over blocks of k neighbouring bits."""
    rows, n = x.shape
    for r in range(rows):
        total = 0
        for start in range(0, n, k):
            ones = 0
            for i in range(start, start + k):
                if x[r, i]:
                    ones += 1
            total += k if ones == k else k - 1 - ones
        out[r] = total


@njit(**EXACT)
def hiff(x: Bits, work: Bits, out: Fitness) -> None:
    """Sum the sizes of all uniform blocks, single bits included; work, shape (n,), is overwritten."""
    rows, n = x.shape
    for r in range(rows):
        total = n
        for i in range(n):
            work[i] = 1 if x[r, i] else 0
        blocks, size = n // 2, 2
        while blocks > 0:
            # work[b] is the common bit of block b of the level below, or 2 where its bits differ.
            for b in range(blocks):
                left = work[2 * b]
                if left != work[2 * b + 1]:
                    left = 2
                work[b] = left
                if left != 2:
                    total += size
            blocks //= 2
            size *= 2
        out[r] = total


@njit(**EXACT)
def nk(x: Bits, neighbours: NDArray[np.int64], tables: _Floats, out: Fitness) -> None:
    """Sum one table entry per variable; the first neighbour is the most significant bit of the index."""
    rows = x.shape[0]
    n, width = neighbours.shape
    for r in range(rows):
        total = 0.0
        for i in range(n):
            index = 0
            for j in range(width):
                index = 2 * index + (1 if x[r, neighbours[i, j]] else 0)
            total += tables[i, index]
        out[r] = total


@njit(**EXACT)
def add_factor(table: _Floats, base: int, step: int, low: NDArray[np.int64], zero: _Floats, one: _Floats) -> None:
    """Add to zero[r] and one[r] the table's entry for row r with the eliminated bit 0 and 1.

    Row r reads table[base + low[r]], and `step` entries further where the bit is one.
    """
    for r in range(low.shape[0]):
        i = base + low[r]
        zero[r] += table[i]
        one[r] += table[i + step]


@njit(**EXACT)
def keep_better(zero: _Floats, one: _Floats, message: _Floats, choice: NDArray[np.uint8]) -> None:
    """Store the larger of zero[r] and one[r], and which it was in bit r of choice; empty zero and one."""
    for r in range(zero.shape[0]):
        if one[r] > zero[r]:
            message[r] = one[r]
            choice[r >> 3] |= np.uint8(1 << (r & 7))
        else:
            message[r] = zero[r]
        zero[r] = one[r] = 0.0
