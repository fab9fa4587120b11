"""A hash table of rows on plain arrays: each row, packed into words, once, with one number.

The rows of a table lie in `keys`, shape (capacity, words), and their numbers in `values`, shape (capacity,), in the
order in which they came. `slots`, shape (a power of two,), says where: a row's hash names its first slot, and whoever
finds it taken takes the next free one. A slot holds 0 if free, else the row's place plus one in its lower 40 bits and
the upper 24 bits of the row's hash in the others, so that keys are looked at, far away in memory, only where they are
nearly sure to be the same. Some slot is always free: every search ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from daedal.kernels.compilation import EXACT, njit
from daedal.types import Bits, Fitness

Words = NDArray[np.uint64]
"""Packed rows, shape (rows, words), slots, or hashes."""

Table = tuple[Words, Words, Fitness]
"""Slots, keys and values."""

WORD = 64  # bits
_PLACE = np.uint64(2**40 - 1)
_TAG = np.uint64(2**64 - 2**40)
_START = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_SHIFT = np.uint64(32)
_ONE = np.uint64(1)
_KNOWN = -2  # in place of an index
_AHEAD = 8
"""So many rows before it is needed, memory is asked for: about what one access takes."""


def _emit_fetch(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, args[0]).data
    byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    function = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    address = builder.bitcast(builder.gep(data, [args[1]]), byte)
    to_read, keep_near, is_data = number(0), number(3), number(1)
    builder.call(function, [address, to_read, keep_near, is_data])
    return context.get_dummy_value()


def _fetch(typing_context, array, place):  # type: ignore[no-untyped-def]
    return types.void(array, types.intp), _emit_fetch


fetch: Any = intrinsic(_fetch)
"""fetch(array, place) asks for an element of an array in C order to be brought from memory while other work goes on."""


@njit(inline="always", **EXACT)
def mix(mixed: np.uint64, word: np.uint64) -> np.uint64:
    """Mix a word into a hash, so that every bit of it depends on all bits of both."""
    mixed ^= word
    mixed = (mixed ^ (mixed >> _SHIFT)) * _MIX
    mixed = (mixed ^ (mixed >> _SHIFT)) * _MIX
    return mixed ^ (mixed >> _SHIFT)


@njit(**EXACT)
def hash_rows(rows: Words, hashes: Words) -> None:
    """Fill hashes, shape (rows,), with those of packed rows, shape (rows, words)."""
    for r in range(hashes.size):
        mixed = _START
        for w in range(rows.shape[1]):
            mixed = mix(mixed, rows[r, w])
        hashes[r] = mixed


@njit(**EXACT)
def pack_rows(x: Bits, rows: Words, hashes: Words) -> None:
    """Write rows x, shape (rows, n), as words, shape (rows, ceil(n / 64)), and their hashes, shape (rows,).

    Bit 0 of word 0 is the first. Any non-zero entry of x counts as a one, and the bits after the last are 0.
    """
    n = x.shape[1]
    for r in range(hashes.size):
        for w in range(rows.shape[1]):
            word = np.uint64(0)
            start = w * WORD
            for j in range(min(WORD, n - start)):
                word |= np.uint64(x[r, start + j] != 0) << np.uint64(j)
            rows[r, w] = word
    hash_rows(rows, hashes)


@njit(**EXACT)
def find_rows(slots: Words, keys: Words, rows: Words, hashes: Words, start: int, places: NDArray[np.intp]) -> None:
    """Look for rows[start:], shape (rows, words), in a table: places[r] becomes the place of row r, or -1.

    What later rows will ask for, the slots of one and the keys of a nearer one, is fetched ahead. Without, most of the
    time would go by in waiting: two rows of a large table are hardly ever near each other.
    """
    mask, words = np.uint64(slots.size - 1), rows.shape[1]
    for r in range(start, hashes.size):
        if r + 2 * _AHEAD < hashes.size:
            fetch(slots, np.int64(hashes[r + 2 * _AHEAD] & mask))
        if r + _AHEAD < hashes.size:
            held = slots[hashes[r + _AHEAD] & mask]
            if held != 0 and (held ^ hashes[r + _AHEAD]) & _TAG == 0:
                fetch(keys, (np.int64(held & _PLACE) - 1) * words)
        places[r] = -1
        slot = hashes[r] & mask
        while slots[slot] != 0:
            if (slots[slot] ^ hashes[r]) & _TAG == 0:
                place = np.int64(slots[slot] & _PLACE) - 1
                w = 0
                while w < words and keys[place, w] == rows[r, w]:
                    w += 1
                if w == words:
                    places[r] = place
                    break
            slot = (slot + _ONE) & mask


@njit(**EXACT)
def add_rows(
    slots: Words, keys: Words, count: int, rows: Words, hashes: Words, start: int, places: NDArray[np.intp]
) -> tuple[int, int]:
    """Put rows[start:], shape (rows, words), into a table that holds `count` rows, until it is full.

    Only those with places[r] = -1 are put there, or found if they are there already: places[r] becomes their place.
    Gives the new count, and the first row that found no place.
    """
    mask, words = np.uint64(slots.size - 1), rows.shape[1]
    for r in range(start, hashes.size):
        if places[r] != -1:
            continue
        slot = hashes[r] & mask
        while slots[slot] != 0:  # as in `find_rows`: one function for both took up to twice the time
            if (slots[slot] ^ hashes[r]) & _TAG == 0:
                place = np.int64(slots[slot] & _PLACE) - 1
                w = 0
                while w < words and keys[place, w] == rows[r, w]:
                    w += 1
                if w == words:
                    places[r] = place
                    break
            slot = (slot + _ONE) & mask
        if slots[slot] != 0:
            continue
        if count == keys.shape[0]:
            return count, r
        for w in range(words):
            keys[count, w] = rows[r, w]
        places[r] = count
        count += 1
        slots[slot] = (hashes[r] & _TAG) | np.uint64(count)
    return count, hashes.size


@njit(**EXACT)
def rebuild(slots: Words, keys: Words, count: int) -> int:
    """Fill free slots with the first `count` of the keys; give how many of these are distinct."""
    hashes, places = np.empty(count, np.uint64), np.full(count, -1)
    hash_rows(keys, hashes)
    distinct, _ = add_rows(slots, keys, 0, keys, hashes, 0, places)
    return distinct


@njit(**EXACT)
def look_up(
    x: Bits, young: Table, old: Table, rows: Words, hashes: Words, found: Fitness, indices: NDArray[np.intp]
) -> tuple[int, int]:
    """Look for rows x, shape (rows, n), in a young table and an old one, and for equal ones among the others.

    `rows` and `hashes` get them packed, see `pack_rows`. `found`, shape (rows,), gets the values of those that are
    known, and nan for the others. `indices`, shape (3, rows), gets for each row -1 where it is known, or d where it is
    the d-th new row; then, for each d, the first row that is so; then the rows that are in the old table only.
    Gives how many rows are new, each counted once, and how many are in the old table only.
    """
    (slots, keys, values), (old_slots, old_keys, old_values) = young, old
    index, first, moving = indices[0], indices[1], indices[2]
    pack_rows(x, rows, hashes)
    find_rows(slots, keys, rows, hashes, 0, index)
    find_rows(old_slots, old_keys, rows, hashes, 0, first)
    moved = 0
    for r in range(hashes.size):
        if index[r] >= 0:
            found[r] = values[index[r]]
            index[r] = _KNOWN
        elif first[r] >= 0:
            found[r] = old_values[first[r]]
            index[r] = _KNOWN
            moving[moved] = r
            moved += 1
        else:
            found[r] = np.nan
    size = 16
    while 2 * size < 3 * hashes.size:
        size *= 2
    add_rows(np.zeros(size, np.uint64), np.empty_like(rows), 0, rows, hashes, 0, index)
    new = 0
    for r in range(hashes.size):
        if index[r] == new:
            first[new] = r
            new += 1
        elif index[r] == _KNOWN:
            index[r] = -1
    return new, moved


@njit(**EXACT)
def compare_rows(keys: Words, values: Fitness, x: Words, flips: Fitness, others: Fitness) -> None:
    """Compare packed rows, shape (rows, words), with one, shape (words,).

    flips[i] becomes the value of the row that differs in variable i alone, if there is one; others[i] the largest value
    of those that differ in it, and maybe elsewhere, if it is larger than what is there.
    """
    differing = np.empty(others.size, np.int64)
    for r in range(values.size):
        count = 0
        for w in range(x.size):
            word = keys[r, w] ^ x[w]
            j = w * WORD
            while word != 0:
                if word & np.uint64(1) != 0:
                    differing[count] = j
                    count += 1
                word >>= np.uint64(1)
                j += 1
        if count == 1:
            flips[differing[0]] = values[r]
        for d in range(count):
            if values[r] > others[differing[d]]:
                others[differing[d]] = values[r]


@njit(**EXACT)
def insert(
    young: Table, count: int, old: Table, rows: Words, hashes: Words, numbers: Fitness, start: int
) -> tuple[int, int, int]:
    """Put rows[start:], shape (rows, words), and their numbers into a young table of `count` rows, until it is full.

    A row that is there keeps its value; one that is in the old table comes with the value it has there.
    Gives the new count, how many of the new rows are in the old table too, and the first row that found no place.
    """
    (slots, keys, values), (old_slots, old_keys, old_values) = young, old
    places, old_places = np.full(hashes.size, -1), np.empty(hashes.size, np.intp)
    find_rows(old_slots, old_keys, rows, hashes, start, old_places)
    new_count, stop = add_rows(slots, keys, count, rows, hashes, start, places)
    shared = 0
    for r in range(start, stop):
        if places[r] == count:
            in_old = old_places[r] >= 0
            values[count] = old_values[old_places[r]] if in_old else numbers[r]
            shared += in_old
            count += 1
    return new_count, shared, stop
