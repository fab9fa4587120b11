"""Fields: how one variable is coded in bits. Values are numbers here; the variable knows what they stand for."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from daedal.kernels import field_kinds
from daedal.types import Bits

Integers = NDArray[np.int64]

_MOST_AT_ONCE = 2**22  # random numbers

MANY = 2**63
"""As which sizes beyond it are given: nobody will see so many values."""

FREE = -1
"""The kind of a field whose bits are all codes."""


class Field(ABC):
    """How one variable is coded.

    Attributes
    ----------
    kind
        One of `daedal.kernels.field_kinds`, or FREE.
    count, width, least, most
        As in `daedal.kernels.repair.Code`: values, members or items; bits of a number; members of a subset.
    """

    kind: ClassVar[int] = FREE
    count: int
    width: int = 1
    least: int = 0
    most: int = 0

    @property
    @abstractmethod
    def size(self) -> int:
        """How many values there are."""

    @property
    @abstractmethod
    def bits(self) -> int:
        """How many bits it takes."""

    @property
    def unit_widths(self) -> list[int]:
        """How many bits, one after the other, belong together: as a rule, all."""
        return [self.bits] if self.bits else []

    @abstractmethod
    def sample(self, rows: int, *, rng: np.random.Generator) -> Integers:
        """Give random values, each as likely as any other."""

    @abstractmethod
    def encode(self, values: Integers) -> Bits:
        """Give the codes, shape (rows, bits), of values."""

    @abstractmethod
    def decode(self, bits: Bits) -> Integers:
        """Give the values of codes, shape (rows, bits)."""


@dataclass(frozen=True)
class OneHotField(Field):
    """One of so many values, shape (rows,), with a bit for each; none where there is only one value."""

    kind: ClassVar[int] = field_kinds.ONE_HOT
    count: int

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.count

    @property
    def bits(self) -> int:
        """How many bits it takes."""
        return self.count

    def sample(self, rows: int, *, rng: np.random.Generator) -> Integers:
        """Give random values."""
        return rng.integers(0, self.count, rows)

    def encode(self, values: Integers) -> Bits:
        """Give the codes."""
        codes: Bits = (values[:, None] == np.arange(self.count)).astype(np.uint8)
        return codes

    def decode(self, bits: Bits) -> Integers:
        """Give the values."""
        values: Integers = np.argmax(bits, axis=1)
        return values


@dataclass(frozen=True)
class NumberField(Field):
    """A number from 0 to below count, shape (rows,), in binary or Gray code, the lowest bit first.

    Where not every code is that of a number, those beyond lose their highest bit. So no number has more than two codes.
    """

    count: int
    gray: bool = False

    @property
    def kind(self) -> int:  # type: ignore[override]
        """As in `daedal.kernels.field_kinds`; FREE where every code is that of a number."""
        if self.count == 1 << self.width:
            return FREE
        return field_kinds.GRAY if self.gray else field_kinds.BINARY

    @property
    def width(self) -> int:  # type: ignore[override]
        """How many bits it takes."""
        return (self.count - 1).bit_length()

    @property
    def bits(self) -> int:
        """How many bits it takes."""
        return self.width

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.count

    def sample(self, rows: int, *, rng: np.random.Generator) -> Integers:
        """Give random numbers."""
        return rng.integers(0, self.count, rows)

    def encode(self, values: Integers) -> Bits:
        """Give the codes."""
        return _to_bits(values ^ (values >> 1) if self.gray else values, self.width)

    def decode(self, bits: Bits) -> Integers:
        """Give the numbers."""
        if self.gray:  # a bit of the number is the parity of this one and all above
            bits = np.bitwise_xor.accumulate(bits[:, ::-1], axis=1)[:, ::-1]
        return _to_numbers(bits)


@dataclass(frozen=True)
class SubsetField(Field):
    """Some of so many members, as 0 and 1, shape (rows, count), a bit for each: from least to most of them."""

    kind: ClassVar[int] = field_kinds.SUBSET
    count: int
    least: int
    most: int

    @cached_property
    def size(self) -> int:
        """How many subsets there are."""
        if self._logs.max() > math.log(MANY):
            return MANY
        return min(MANY, sum(math.comb(self.count, k) for k in range(self.least, self.most + 1)))

    @cached_property
    def _logs(self) -> NDArray[np.float64]:
        """Logarithms of how many subsets there are of each number of members."""
        n = self.count
        logs = [math.lgamma(k + 1) + math.lgamma(n - k + 1) for k in range(self.least, self.most + 1)]
        return math.lgamma(n + 1) - np.array(logs)

    @property
    def bits(self) -> int:
        """How many bits it takes."""
        return self.count

    @property
    def unit_widths(self) -> list[int]:
        """Each member stands alone."""
        return [1] * self.count

    def sample(self, rows: int, *, rng: np.random.Generator) -> Integers:
        """Give random subsets: first how many members, by how many such subsets there are, then which."""
        shares = np.exp(self._logs - self._logs.max())
        sizes = rng.choice(np.arange(self.least, self.most + 1), size=rows, p=shares / shares.sum())
        members = np.zeros((rows, self.count), np.int64)
        for part, orders in _random_orders(rows, self.count, rng):
            chosen = np.arange(self.count) < sizes[part, None]
            np.put_along_axis(members[part], orders, chosen.astype(np.int64), axis=1)
        return members

    def encode(self, values: Integers) -> Bits:
        """Give the codes: the values themselves."""
        return values.astype(np.uint8)

    def decode(self, bits: Bits) -> Integers:
        """Give the subsets: the codes themselves."""
        return bits.astype(np.int64)


@dataclass(frozen=True)
class PermutationField(Field):
    """An order of so many items, shape (rows, count): which item comes first, second, ...

    The code is the place of each item, in binary. Where two items have the same place, both are moved apart.
    """

    kind: ClassVar[int] = field_kinds.PERMUTATION
    count: int

    @property
    def width(self) -> int:  # type: ignore[override]
        """Bits of a place."""
        return (self.count - 1).bit_length()

    @property
    def size(self) -> int:
        """How many orders there are."""
        return min(MANY, math.factorial(min(self.count, 25)))

    @property
    def bits(self) -> int:
        """How many bits it takes."""
        return self.count * self.width

    @property
    def unit_widths(self) -> list[int]:
        """The place of an item belongs together."""
        return [self.width] * self.count if self.width else []

    def sample(self, rows: int, *, rng: np.random.Generator) -> Integers:
        """Give random orders."""
        parts = [orders for _, orders in _random_orders(rows, self.count, rng)]
        return np.concatenate([np.empty((0, self.count), np.int64), *parts])

    def encode(self, values: Integers) -> Bits:
        """Give the codes: the places of items."""
        return _to_bits(np.argsort(values, axis=1), self.width).reshape(len(values), self.bits)

    def decode(self, bits: Bits) -> Integers:
        """Give the orders."""
        return np.argsort(_to_numbers(bits.reshape(len(bits), self.count, self.width)), axis=1, kind="stable")


def _random_orders(rows: int, count: int, rng: np.random.Generator) -> Iterator[tuple[slice, Integers]]:
    """Give random orders of so many items, shape (some, count), and which rows they are for, in parts."""
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
