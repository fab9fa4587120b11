"""Codes of variables in bits, and the repair of bits that are no code.

Each value of a variable has one code. The fields of all variables stand side by side in a row.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import EXACT, njit
from daedal.rng import Words, draw_below, draw_word
from daedal.types import Bits, check_bits

Integers = NDArray[np.int64]

FREE, ONE_HOT, BINARY, GRAY, SUBSET, PERMUTATION = -1, 0, 1, 2, 3, 4
"""Kinds of fields. Any bits of a free field are a code."""

MANY = 2**63
"""Number of values that stands for any larger one."""

_MOST_AT_ONCE = 2**22  # random numbers


# ---------------------------------------------------------------- fields


class Field(ABC):
    """Code of one variable. Values are numbers here; the variable knows their meaning.

    Attributes
    ----------
    kind
        One of the constants above.
    count
        Number of values, members or items.
    width
        Bits of a number.
    least, most
        Numbers of members of a subset.
    """

    kind: ClassVar[int] = FREE
    count: int
    width: int = 1
    least: int = 0
    most: int = 0

    @property
    def size(self) -> int:
        """Number of values."""
        return self.count

    @property
    def bits(self) -> int:
        """Number of bits."""
        return self.count

    @property
    def unit_widths(self) -> list[int]:
        """Numbers of adjacent bits that belong together: by default all bits."""
        return [self.bits] if self.bits else []

    def sample(self, rows: int, *, rng: np.random.Generator) -> Integers:
        """Draw values, all with the same probability."""
        return rng.integers(0, self.count, rows)

    @abstractmethod
    def encode(self, values: Integers) -> Bits:
        """Return the codes, shape (rows, bits), of values."""

    @abstractmethod
    def decode(self, bits: Bits) -> Integers:
        """Return the values of codes, shape (rows, bits)."""


@dataclass(frozen=True)
class OneHotField(Field):
    """One of `count` values, shape (rows,), with a bit for each."""

    kind: ClassVar[int] = ONE_HOT
    count: int

    def encode(self, values: Integers) -> Bits:
        """Return the codes."""
        codes: Bits = (values[:, None] == np.arange(self.count)).astype(np.uint8)
        return codes

    def decode(self, bits: Bits) -> Integers:
        """Return the values."""
        values: Integers = np.argmax(bits, axis=1)
        return values


@dataclass(frozen=True)
class NumberField(Field):
    """A number from 0 to count - 1, shape (rows,), in binary or Gray code, the lowest bit first.

    If not every code is that of a number, codes beyond lose their highest bit. So no number has more than two codes.
    """

    count: int
    gray: bool = False

    @property
    def kind(self) -> int:  # type: ignore[override]
        """The code, or FREE if every code is that of a number."""
        if self.count == 1 << self.width:
            return FREE
        return GRAY if self.gray else BINARY

    @property
    def width(self) -> int:  # type: ignore[override]
        """Number of bits."""
        return (self.count - 1).bit_length()

    @property
    def bits(self) -> int:
        """Number of bits."""
        return self.width

    def encode(self, values: Integers) -> Bits:
        """Return the codes."""
        return _to_bits(values ^ (values >> 1) if self.gray else values, self.width)

    def decode(self, bits: Bits) -> Integers:
        """Return the numbers."""
        if self.gray:  # a bit of the number is the parity of this one and all above
            bits = np.bitwise_xor.accumulate(bits[:, ::-1], axis=1)[:, ::-1]
        return _to_numbers(bits)


@dataclass(frozen=True)
class SubsetField(Field):
    """Some of `count` members, as 0 and 1, shape (rows, count), a bit for each: from least to most of them."""

    kind: ClassVar[int] = SUBSET
    count: int
    least: int
    most: int

    @cached_property
    def size(self) -> int:
        """Number of subsets."""
        if self._logs.max() > math.log(MANY):
            return MANY
        return min(MANY, sum(math.comb(self.count, k) for k in range(self.least, self.most + 1)))

    @cached_property
    def _logs(self) -> NDArray[np.float64]:
        """Logarithms of the numbers of subsets with each number of members."""
        n = self.count
        logs = [math.lgamma(k + 1) + math.lgamma(n - k + 1) for k in range(self.least, self.most + 1)]
        return math.lgamma(n + 1) - np.array(logs)

    @property
    def unit_widths(self) -> list[int]:
        """One bit for each member."""
        return [1] * self.count

    def sample(self, rows: int, *, rng: np.random.Generator) -> Integers:
        """Draw subsets: first the number of members, in proportion to the number of such subsets, then the members."""
        shares = np.exp(self._logs - self._logs.max())
        sizes = rng.choice(np.arange(self.least, self.most + 1), size=rows, p=shares / shares.sum())
        members = np.zeros((rows, self.count), np.int64)
        for part, orders in _random_orders(rows, self.count, rng):
            chosen = np.arange(self.count) < sizes[part, None]
            np.put_along_axis(members[part], orders, chosen.astype(np.int64), axis=1)
        return members

    def encode(self, values: Integers) -> Bits:
        """Return the codes, which are the values."""
        return values.astype(np.uint8)

    def decode(self, bits: Bits) -> Integers:
        """Return the subsets, which are the codes."""
        return bits.astype(np.int64)


@dataclass(frozen=True)
class PermutationField(Field):
    """An order of `count` items, shape (rows, count): the numbers of the first, the second, ... item.

    The code is the place of each item, in binary. If two items have the same place, repair moves them apart.
    """

    kind: ClassVar[int] = PERMUTATION
    count: int

    @property
    def width(self) -> int:  # type: ignore[override]
        """Bits of a place."""
        return (self.count - 1).bit_length()

    @property
    def size(self) -> int:
        """Number of orders."""
        return min(MANY, math.factorial(min(self.count, 25)))

    @property
    def bits(self) -> int:
        """Number of bits."""
        return self.count * self.width

    @property
    def unit_widths(self) -> list[int]:
        """The bits of each item's place."""
        return [self.width] * self.count if self.width else []

    def sample(self, rows: int, *, rng: np.random.Generator) -> Integers:
        """Draw orders, all with the same probability."""
        parts = [orders for _, orders in _random_orders(rows, self.count, rng)]
        return np.concatenate([np.empty((0, self.count), np.int64), *parts])

    def encode(self, values: Integers) -> Bits:
        """Return the codes: the places of items."""
        return _to_bits(np.argsort(values, axis=1), self.width).reshape(len(values), self.bits)

    def decode(self, bits: Bits) -> Integers:
        """Return the orders."""
        return np.argsort(_to_numbers(bits.reshape(len(bits), self.count, self.width)), axis=1, kind="stable")


def _random_orders(rows: int, count: int, rng: np.random.Generator) -> Iterator[tuple[slice, Integers]]:
    """Draw orders of `count` items, shape (some, count), part by part, each with the rows that it is for."""
    step = max(1, _MOST_AT_ONCE // count)
    for start in range(0, rows, step):
        part = slice(start, min(rows, start + step))
        yield part, np.argsort(rng.random((part.stop - start, count)), axis=1)


def _to_bits(numbers: Integers, width: int) -> Bits:
    """Write numbers, any shape, in binary, shape (..., width), the lowest bit first."""
    return ((numbers[..., None] >> np.arange(width)) & 1).astype(np.uint8)


def _to_numbers(bits: Bits) -> Integers:
    """Read numbers in binary, shape (..., width), the lowest bit first."""
    numbers: Integers = (bits.astype(np.int64) << np.arange(bits.shape[-1])).sum(axis=-1)
    return numbers


# ---------------------------------------------------------------- all fields of a space


class Code(NamedTuple):
    """The fields that may need repair, as arrays for kernels, shape (fields,)."""

    kinds: Integers
    starts: Integers  # their first bits
    counts: Integers
    widths: Integers
    least: Integers
    most: Integers


@dataclass(frozen=True)
class Encoding:
    """Fields side by side.

    Parameters
    ----------
    fields
        Code of each variable, in the order of the variables.

    Examples
    --------
    >>> encoding = Encoding([OneHotField(3), NumberField(4)])
    >>> encoding.n, encoding.size
    (5, 12)
    >>> encoding.repair(np.array([[0, 1, 0, 1, 1]], np.uint8))
    array([[0, 1, 0, 1, 1]], dtype=uint8)
    """

    fields: Sequence[Field]

    @cached_property
    def n(self) -> int:
        """Number of bits."""
        return sum(field.bits for field in self.fields)

    @cached_property
    def size(self) -> int:
        """Number of rows that are made of codes alone; MANY if there are more."""
        size = 1
        for field in self.fields:
            size = min(MANY, size * field.size)
        return size

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The first bit of each field."""
        ends = np.cumsum([0, *(field.bits for field in self.fields)])
        return tuple(ends[:-1].tolist())

    @cached_property
    def _code(self) -> Code:
        rows = [
            (field.kind, start, field.count, field.width, field.least, field.most)
            for start, field in zip(self.starts, self.fields, strict=True)
            if field.kind != FREE
        ]
        return Code(*np.array(rows, dtype=np.int64).reshape(-1, len(Code._fields)).T.copy())

    @cached_property
    def units(self) -> Integers:
        """Unit of each bit, shape (n,): bits that belong together have the same number."""
        widths = [width for field in self.fields for width in field.unit_widths]
        return np.repeat(np.arange(len(widths)), widths)

    def repair(self, rows: Bits, *, parent: Bits | None = None) -> Bits:
        """Return rows, shape (rows, n), of codes alone; those that are valid already stay the same.

        If all rows are changes of one row, `parent`, shape (n,), the changed bits are kept, and others are adapted.
        """
        check_bits(rows, self.n)
        if not len(self._code.kinds):
            return rows
        repaired = np.array(rows, dtype=np.uint8, order="C")
        repair_rows(self._code, repaired, np.empty(0, np.uint8) if parent is None else np.ascontiguousarray(parent))
        return repaired

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Draw rows, shape (rows, n), in which every value of every variable is equally likely."""
        parts = [field.encode(field.sample(rows, rng=rng)) for field in self.fields]
        return np.concatenate([np.empty((rows, 0), np.uint8), *parts], axis=1)

    def decode(self, rows: Bits) -> list[Integers]:
        """Return the values of each field, for rows of codes, shape (rows, n)."""
        return [
            field.decode(rows[:, start : start + field.bits])
            for start, field in zip(self.starts, self.fields, strict=True)
        ]

    def encode(self, values: Sequence[Integers]) -> Bits:
        """Return the rows of codes, shape (rows, n), of the values of each field."""
        return np.concatenate([field.encode(value) for field, value in zip(self.fields, values, strict=True)], axis=1)


# ---------------------------------------------------------------- repair


@njit(**EXACT)
def repair_rows(code: Code, rows: Bits, parent: Bits) -> None:
    """Repair rows, shape (rows, n), in place, all changes of one parent, or of none if that is empty.

    Choices between equally good repairs are random, but equal rows are always repaired to the same row.
    """
    state = np.empty(1, np.uint64)
    for r in range(len(rows)):
        row = rows[r]
        state[0] = 0
        for start in range(0, row.size, 64):
            word = np.uint64(0)
            for i in range(start, min(start + 64, row.size)):
                word |= np.uint64(row[i]) << np.uint64(i - start)
            state[0] ^= word
            draw_word(state)
        for v in range(code.kinds.size):
            kind, start, count, width = code.kinds[v], code.starts[v], code.counts[v], code.widths[v]
            if kind == ONE_HOT:
                _repair_one_hot(row, parent, start, count, state)
            elif kind == SUBSET:
                _repair_subset(row, parent, start, count, code.least[v], code.most[v], state)
            elif kind == PERMUTATION:
                _repair_permutation(row, parent, start, count, width, state)
            elif _read_number(row, start, width, kind == GRAY) >= count:
                row[start + width - 1] = 0


@njit(**EXACT)
def _read_number(row: Bits, start: int, width: int, gray: bool) -> int:
    """Return a number of a row, the lowest bit first."""
    number = last = 0
    for b in range(width - 1, -1, -1):
        bit = int(row[start + b])
        last = last ^ bit if gray else bit
        number = 2 * number + last
    return number


@njit(**EXACT)
def _nth(row: Bits, other: Bits, start: int, count: int, bit: int, there: int, n: int) -> int:
    """Return the nth place, from 0 on, with `bit`, and with `there` in the other row (-1: any bit)."""
    for i in range(start, start + count):
        if row[i] == bit and (there < 0 or other[i] == there):
            if n == 0:
                return i
            n -= 1
    return -1


@njit(**EXACT)
def _tally(row: Bits, other: Bits, start: int, count: int, bit: int, there: int) -> int:
    """Count the places with `bit`, and with `there` in the other row (-1: any bit)."""
    total = 0
    for i in range(start, start + count):
        total += row[i] == bit and (there < 0 or other[i] == there)
    return total


@njit(**EXACT)
def _repair_one_hot(row: Bits, parent: Bits, start: int, count: int, state: Words) -> None:
    """Keep one of the ones that are new, else one of the ones, else that of the parent, else a random one."""
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
        row[i] = i == kept


@njit(**EXACT)
def _repair_subset(row: Bits, parent: Bits, start: int, count: int, least: int, most: int, state: Words) -> None:
    """Remove or add random members until their number fits, first those that are as in the parent."""
    ones = _tally(row, row, start, count, 1, -1)
    while ones > most or ones < least:
        bit = 1 if ones > most else 0
        there = bit if parent.size else -1
        choices = _tally(row, parent, start, count, bit, there)
        if choices == 0:
            there = -1
            choices = _tally(row, row, start, count, bit, there)
        row[_nth(row, parent, start, count, bit, there, draw_below(state, choices))] = 1 - bit
        ones += 1 - 2 * bit


@njit(**EXACT)
def _repair_permutation(row: Bits, parent: Bits, start: int, count: int, width: int, state: Words) -> None:
    """Rank the places; of two items with the same place, the one that has moved there gets it."""
    keys, taken, valid = np.empty(count, np.int64), np.zeros(count, np.bool_), True
    for item in range(count):
        place = _read_number(row, start + item * width, width, False)
        keys[item] = place
        if place >= count or taken[place]:
            valid = False
        else:
            taken[place] = True
    if valid:
        return
    order = np.empty(count, np.int64)
    for item in range(count):
        side = 1
        if parent.size:
            before = _read_number(parent, start + item * width, width, False)
            side = 0 if keys[item] < before else 2 if keys[item] > before else 1
        keys[item] = ((3 * keys[item] + side) << 32) + draw_below(state, 2**31)
        at = item  # insertion sort, because np.argsort takes seconds to compile
        while at > 0 and keys[order[at - 1]] > keys[item]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = item
    for place in range(count):
        for b in range(width):
            row[start + order[place] * width + b] = (place >> b) & 1
