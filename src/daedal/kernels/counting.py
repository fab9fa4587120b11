"""Counts among rows of bits: of pairs, of the configurations of some columns, of ones among some rows.

Rows come in two forms. Padded, shape (rows, padded n), a byte a bit, with zeros in the padding; packed, columns of
shape (n, words), where row r is bit r % 64 of word r // 64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit
from daedal.types import Bits

LANES = 32  # Bytes in one vector; rows are padded to a multiple of it, so that no loop has a slow tail
WORD = 64  # Bits in one word of a packed column or of a set of variables
BLOCK = 256  # Words of a packed column taken at a time, so that some columns stay in the first-level cache
MOST_IN_A_BYTE = 255  # Rows that can be added up in bytes

_Bytes = NDArray[np.uint8]
_Words = NDArray[np.uint64]
_Integers = NDArray[np.int64]
_u64 = np.uint64
_u32 = np.uint32
_u8 = np.uint8


@njit(**OPTIONS)
def count_bits(word: np.uint64) -> int:
    """Count the ones of a 64-bit word; LLVM knows this formula, and makes vectors of the machine's own instruction."""
    word = word - ((word >> _u64(1)) & _u64(0x5555555555555555))
    word = (word & _u64(0x3333333333333333)) + ((word >> _u64(2)) & _u64(0x3333333333333333))
    word = (word + (word >> _u64(4))) & _u64(0x0F0F0F0F0F0F0F0F)
    ones: int = np.int64((word * _u64(0x0101010101010101)) >> _u64(56))  # type: ignore[assignment]
    return ones


@njit(**OPTIONS)
def pack(x: Bits, rows: _Bytes, columns: _Words) -> None:
    """Copy x, shape (rows, n), into padded rows and packed columns, which come as zeros."""
    count, n = x.shape
    words = np.zeros(n, dtype=np.uint64)
    for w in range(columns.shape[1]):
        words[:] = 0
        for r in range(w * WORD, min((w + 1) * WORD, count)):
            for i in range(n):
                bit = _u8(x[r, i] != 0)
                rows[r, i] = bit
                words[i] |= _u64(bit) << _u64(r % WORD)
        for i in range(n):
            columns[i, w] = words[i]


@njit(**OPTIONS)
def count_pairs(columns: _Words, counts: _Integers) -> None:
    """Add to counts[i, j], j <= i, the rows in which both columns are one."""
    n, words = columns.shape
    for first in range(0, words, BLOCK):
        last = min(first + BLOCK, words)
        for i in range(n):
            for j in range(i + 1):
                both = 0
                for w in range(first, last):
                    both += count_bits(columns[i, w] & columns[j, w])
                counts[i, j] += both


@njit(**OPTIONS)
def group_rows(columns: _Words, child: int, parents: _Integers, groups: NDArray[np.uint32]) -> None:
    """Give each row the number 2 * (parents' bits) + child's bit; the first parent is the lowest of its bits."""
    for w in range(columns.shape[1]):
        here = groups[w * WORD : (w + 1) * WORD]
        word = columns[child, w]
        for b in range(WORD):
            here[b] = _u32((word >> _u64(b)) & _u64(1))
        for k in range(parents.size):
            word = columns[parents[k], w]
            for b in range(WORD):
                here[b] |= _u32(((word >> _u64(b)) & _u64(1)) << _u64(k + 1))


@njit(**OPTIONS)
def sort_rows(groups: NDArray[np.uint32], order: NDArray[np.uint32], ends: _Integers) -> None:
    """Sort the rows by group, stably: group g is order[ends[g - 1] : ends[g]]."""
    ends[:] = 0
    for r in range(order.size):
        ends[groups[r]] += 1
    start = 0
    for g in range(ends.size):
        size = ends[g]
        ends[g] = start
        start += size
    for r in range(order.size):
        g = groups[r]
        order[ends[g]] = r
        ends[g] += 1


@njit(**OPTIONS)
def count_ones(rows: _Bytes, members: NDArray[np.uint32], small: _Bytes, ones: NDArray[np.uint32]) -> None:
    """Count the ones of each column among some rows, in bytes as long as they cannot overflow."""
    ones[:] = 0
    for first in range(0, members.size, MOST_IN_A_BYTE):
        last = min(first + MOST_IN_A_BYTE, members.size)
        fours = first + (last - first) // 4 * 4
        small[:] = 0
        for k in range(first, fours, 4):  # four rows a pass: the sums are read and written a quarter as often
            a, b, c, d = rows[members[k]], rows[members[k + 1]], rows[members[k + 2]], rows[members[k + 3]]
            for i in range(small.size):
                small[i] += (a[i] + b[i]) + (c[i] + d[i])
        for k in range(fours, last):
            a = rows[members[k]]
            for i in range(small.size):
                small[i] += a[i]
        for i in range(small.size):
            ones[i] += small[i]
