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
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

import daedal.kernels.compilation  # noqa: F401  stale machine code goes first
from daedal.types import Bits, Fitness

Words = NDArray[np.uint64]
"""Packed rows, shape (rows, words), slots, or hashes."""

WORD = 64
"""Bits in a word."""

_PLACE = np.uint64(2**40 - 1)
_TAG = np.uint64(2**64 - 2**40)
_START = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xD6E8FEB86659FD93)
_SHIFT = np.uint64(32)
_ONE = np.uint64(1)
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


@njit(cache=True)
def fetch_ahead(slots: Words, keys: Words, hashes: Words, r: int) -> None:
    """Fetch what the rows after row r will ask for: the slots of one, and the keys of a nearer one.

    Without this, most of the time goes by in waiting: two rows of a large table are hardly ever near each other.
    """
    mask = np.uint64(slots.size - 1)
    if r + 2 * _AHEAD < hashes.size:
        fetch(slots, np.int64(hashes[r + 2 * _AHEAD] & mask))
    if r + _AHEAD < hashes.size:
        mixed = hashes[r + _AHEAD]
        slot = slots[mixed & mask]
        if slot != 0 and (slot ^ mixed) & _TAG == 0:
            fetch(keys, (np.int64(slot & _PLACE) - 1) * keys.shape[1])


@njit(cache=True)
def pack(x: Bits, keys: Words) -> None:
    """Write rows x, shape (rows, n), as words, shape (rows, ceil(n / 64)); bit 0 of word 0 is the first.

    Any non-zero entry of x counts as a one, and the bits after the last are 0.
    """
    rows, n = x.shape
    for r in range(rows):
        for w in range(keys.shape[1]):
            word = np.uint64(0)
            start = w * WORD
            for j in range(min(WORD, n - start)):
                word |= np.uint64(x[r, start + j] != 0) << np.uint64(j)
            keys[r, w] = word


@njit(cache=True)
def hash_of(rows: Words, r: int) -> np.uint64:
    """Mix the words of one of the rows, shape (rows, words), into one in which every bit depends on all of theirs."""
    mixed = _START
    for w in range(rows.shape[1]):
        mixed ^= rows[r, w]
        mixed = (mixed ^ (mixed >> _SHIFT)) * _MIX
        mixed = (mixed ^ (mixed >> _SHIFT)) * _MIX
        mixed ^= mixed >> _SHIFT
    return mixed


@njit(cache=True)
def hash_rows(keys: Words, hashes: Words) -> None:
    """Fill hashes, shape (rows,), with those of the keys, shape (rows, words)."""
    for r in range(hashes.size):
        hashes[r] = hash_of(keys, r)


@njit(cache=True)
def slot_of(slots: Words, keys: Words, rows: Words, r: int, mixed: np.uint64) -> np.uint64:
    """Give the slot that holds rows[r], shape (rows, words), of hash `mixed`, or else the free one it would take."""
    mask = np.uint64(slots.size - 1)
    slot = mixed & mask
    while slots[slot] != 0:
        if (slots[slot] ^ mixed) & _TAG == 0:
            place = np.int64(slots[slot] & _PLACE) - 1
            same = True
            for w in range(rows.shape[1]):
                if keys[place, w] != rows[r, w]:
                    same = False
                    break
            if same:
                break
        slot = (slot + _ONE) & mask
    return slot


@njit(cache=True)
def rebuild(slots: Words, keys: Words, count: int) -> int:
    """Fill free slots with the first `count` of the keys; give how many of these are distinct."""
    distinct = 0
    for r in range(count):
        mixed = hash_of(keys, r)
        slot = slot_of(slots, keys, keys, r, mixed)
        if slots[slot] == 0:
            slots[slot] = (mixed & _TAG) | np.uint64(r + 1)
            distinct += 1
    return distinct


@njit(cache=True)
def look_up(
    slots: Words,
    keys: Words,
    values: Fitness,
    wanted: Words,
    hashes: Words,
    found: Fitness,
    known: NDArray[np.bool_],
) -> int:
    """Look for those of the wanted rows, shape (rows, words), that are not known yet.

    Of those that are in the table, `found` gets the value and `known` becomes true, both of shape (rows,).
    Gives how many these are.
    """
    total = 0
    for r in range(hashes.size):
        fetch_ahead(slots, keys, hashes, r)
        if not known[r]:
            slot = slot_of(slots, keys, wanted, r, hashes[r])
            if slots[slot] != 0:
                found[r] = values[np.int64(slots[slot] & _PLACE) - 1]
                known[r] = True
                total += 1
    return total


@njit(cache=True)
def insert(
    slots: Words,
    keys: Words,
    values: Fitness,
    count: int,
    old_slots: Words,
    old_keys: Words,
    old_values: Fitness,
    rows: Words,
    hashes: Words,
    numbers: Fitness,
    start: int,
) -> tuple[int, int, int]:
    """Put rows[start:], shape (rows, words), and their numbers into a table that holds `count` rows, until it is full.

    A row that is there keeps its value; one that is in the old table comes with the value it has there.
    Gives the new count, how many of the new rows are in the old table too, and the first row that found no place.
    """
    shared = 0
    for r in range(start, hashes.size):
        fetch_ahead(slots, keys, hashes, r)
        slot = slot_of(slots, keys, rows, r, hashes[r])
        if slots[slot] != 0:
            continue
        if count == values.size:
            return count, shared, r
        number = numbers[r]
        old_slot = slot_of(old_slots, old_keys, rows, r, hashes[r])
        if old_slots[old_slot] != 0:
            number = old_values[np.int64(old_slots[old_slot] & _PLACE) - 1]
            shared += 1
        for w in range(rows.shape[1]):
            keys[count, w] = rows[r, w]
        values[count] = number
        count += 1
        slots[slot] = (hashes[r] & _TAG) | np.uint64(count)
    return count, shared, hashes.size


@njit(cache=True)
def distinct_rows(
    slots: Words, keys: Words, first: NDArray[np.intp], inverse: NDArray[np.intp], which: NDArray[np.intp]
) -> int:
    """Find the distinct ones among keys, shape (rows, words), with the help of free slots; give their number.

    first[d], shape (rows,), becomes the first row that is the d-th distinct one, and inverse[r] the d of row r;
    `which`, shape (rows,), is overwritten.
    """
    count = 0
    for r in range(inverse.size):
        mixed = hash_of(keys, r)
        slot = slot_of(slots, keys, keys, r, mixed)
        if slots[slot] == 0:
            slots[slot] = (mixed & _TAG) | np.uint64(r + 1)
            first[count] = r
            which[r] = count
            count += 1
        inverse[r] = which[np.int64(slots[slot] & _PLACE) - 1]
    return count
