"""Repair: makes any bits those of a value, where the bits of a row are the codes of variables.

A variable has its bits side by side, and a code for each of its values. Bits that are no code become one, as near as
can be: what was changed in the row, compared with the one that it is a change of, stays, and the rest gives way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import EXACT, njit
from daedal.kernels.counting import WORD
from daedal.kernels.field_kinds import GRAY, ONE_HOT, PERMUTATION, SUBSET
from daedal.rng import draw_below, draw_word

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]

_ONE = np.uint64(1)


class Code(NamedTuple):
    """How rows are made up; the arrays of variables are empty where every row is as good as any other."""

    kinds: Integers  # see `daedal.kernels.field_kinds`, shape (variables,)
    starts: Integers  # their first bits
    counts: Integers  # values, members or items
    widths: Integers  # bits of a number
    least: Integers  # members of a subset
    most: Integers
    units: Integers  # which bits belong together, shape (n,): a number for each bit; empty where none do


def no_code() -> Code:
    """Give the code of plain bits."""
    return Code(*(np.zeros(0, np.int64) for _ in Code._fields))


@njit(**EXACT)
def get_bit(row: Words, i: int) -> int:
    """Give bit i of a packed row."""
    bit: int = np.int64((row[i // WORD] >> np.uint64(i % WORD)) & _ONE)  # type: ignore[assignment]
    return bit


@njit(**EXACT)
def put_bit(row: Words, i: int, bit: int) -> None:
    """Set bit i of a packed row."""
    mask = _ONE << np.uint64(i % WORD)
    row[i // WORD] = row[i // WORD] | mask if bit else row[i // WORD] & ~mask


@njit(**EXACT)
def repair_row(code: Code, row: Words, parent: Words, state: Words) -> None:
    """Make a packed row one of codes alone; parent is the row that it is a change of, or has no words.

    state (1,) gives random words where several ways are equally good.
    """
    for v in range(code.kinds.size):
        kind, start, count = code.kinds[v], code.starts[v], code.counts[v]
        if kind == ONE_HOT:
            _repair_one_hot(row, parent, start, count, state)
        elif kind == SUBSET:
            _repair_subset(row, parent, start, count, code.least[v], code.most[v], state)
        elif kind == PERMUTATION:
            _repair_permutation(row, parent, start, count, code.widths[v], state)
        else:
            width = code.widths[v]
            if read_number(row, start, width, kind == GRAY) >= count:
                put_bit(row, start + width - 1, 0)


@njit(**EXACT)
def repair_rows(code: Code, rows: Words, parent: Words) -> None:
    """Repair packed rows, shape (rows, words), all changes of one parent, or of none.

    The same row always becomes the same.
    """
    state = np.empty(1, np.uint64)
    for r in range(len(rows)):
        state[0] = 0
        for w in range(rows.shape[1]):
            state[0] ^= rows[r, w]
            draw_word(state)
        repair_row(code, rows[r], parent, state)


@njit(**EXACT)
def read_number(row: Words, start: int, width: int, gray: bool) -> int:
    """Read a number, the lowest bit first, from a packed row."""
    number = last = 0
    for b in range(width - 1, -1, -1):
        bit = get_bit(row, start + b)
        last = last ^ bit if gray else bit
        number = 2 * number + last
    return number


@njit(**EXACT)
def write_number(row: Words, start: int, width: int, number: int) -> None:
    """Write a number, the lowest bit first, into a packed row."""
    for b in range(width):
        put_bit(row, start + b, (number >> b) & 1)


@njit(**EXACT)
def _nth(row: Words, other: Words, start: int, count: int, bit: int, there: int, n: int) -> int:
    """Give the nth place, from 0 on, whose bit is `bit` and, in the other row, `there` (-1: any)."""
    for i in range(start, start + count):
        if get_bit(row, i) == bit and (there < 0 or get_bit(other, i) == there):
            if n == 0:
                return i
            n -= 1
    return -1


@njit(**EXACT)
def _tally(row: Words, other: Words, start: int, count: int, bit: int, there: int) -> int:
    """Count the places whose bit is `bit` and, in the other row, `there` (-1: any)."""
    total = 0
    for i in range(start, start + count):
        total += get_bit(row, i) == bit and (there < 0 or get_bit(other, i) == there)
    return total


@njit(**EXACT)
def _repair_one_hot(row: Words, parent: Words, start: int, count: int, state: Words) -> None:
    """Keep one of the bits that are new, or of those that are there; where there is none, that of the parent."""
    ones = _tally(row, row, start, count, 1, -1)
    if ones == 1:
        return
    kept = -1
    if parent.size:
        fresh = _tally(row, parent, start, count, 1, 0)
        if fresh:
            kept = _nth(row, parent, start, count, 1, 0, draw_below(state, fresh))
        elif ones == 0:
            kept = _nth(parent, parent, start, count, 1, -1, 0)
    if kept < 0 and ones:
        kept = _nth(row, row, start, count, 1, -1, draw_below(state, ones))
    if kept < 0:
        kept = start + draw_below(state, count)
    for i in range(start, start + count):
        put_bit(row, i, i == kept)


@njit(**EXACT)
def _repair_subset(
    row: Words, parent: Words, start: int, count: int, least: int, most: int, state: Words
) -> None:  # fmt: skip
    """Take members out, or in, at random until their number fits; those that have just come, or gone, are left."""
    ones = _tally(row, row, start, count, 1, -1)
    while ones > most or ones < least:
        bit = 1 if ones > most else 0
        there = bit if parent.size else -1  # unchanged since the parent
        choices = _tally(row, parent, start, count, bit, there)
        if choices == 0:
            there = -1
            choices = _tally(row, row, start, count, bit, there)
        put_bit(row, _nth(row, parent, start, count, bit, there, draw_below(state, choices)), 1 - bit)
        ones += 1 - 2 * bit


@njit(**EXACT)
def _repair_permutation(row: Words, parent: Words, start: int, count: int, width: int, state: Words) -> None:
    """Rank the places: of two items with the same one, that which has moved there takes it."""
    places, taken, valid = np.empty(count, np.int64), np.zeros(count, np.bool_), True
    for item in range(count):
        place = read_number(row, start + item * width, width, False)
        places[item] = place
        if place >= count or taken[place]:
            valid = False
        else:
            taken[place] = True
    if valid:
        return
    for item in range(count):
        side = 1
        if parent.size:
            before = read_number(parent, start + item * width, width, False)
            side = 0 if places[item] < before else 2 if places[item] > before else 1
        places[item] = ((3 * places[item] + side) << 32) + draw_below(state, 2**31)
    order = np.argsort(places, kind="mergesort")
    for place in range(count):
        write_number(row, start + order[place] * width, width, place)
