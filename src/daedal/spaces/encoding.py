"""How variables are coded in bits: what optimizers know of a space.

Each value of a variable has one code, and all variables stand side by side. Bits that are no code are repaired.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.spaces.fields import MANY, Field
from daedal.types import Bits, check_bits, words_of


@dataclass(frozen=True)
class Encoding:
    """Fields side by side.

    Parameters
    ----------
    fields
        How each variable is coded, in their order.

    Examples
    --------
    >>> from daedal.spaces.fields import NumberField, OneHotField
    >>> encoding = Encoding([OneHotField(3), NumberField(4)])
    >>> encoding.n, encoding.size
    (5, 12)
    >>> encoding.repair(np.array([[0, 1, 0, 1, 1]], np.uint8))
    array([[0, 1, 0, 1, 1]], dtype=uint8)
    """

    fields: Sequence[Field]

    @cached_property
    def n(self) -> int:
        """Bits of a row."""
        return sum(field.bits for field in self.fields)

    @cached_property
    def size(self) -> int:
        """How many rows are made of codes alone, the number of different values; MANY for more."""
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
    def code(self) -> kernels.repair.Code:
        """What kernels take; fields whose bits are free need no repair."""
        which = [(start, field) for start, field in zip(self.starts, self.fields, strict=True) if field.kind >= 0]

        def column(values: Iterable[int]) -> NDArray[np.int64]:
            return np.array(list(values), dtype=np.int64)

        return kernels.repair.Code(
            kinds=column(field.kind for _, field in which),
            starts=column(start for start, _ in which),
            counts=column(field.count for _, field in which),
            widths=column(field.width for _, field in which),
            least=column(field.least for _, field in which),
            most=column(field.most for _, field in which),
            units=self.units,
        )

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """Which bits belong together, shape (n,): those of one unit have the same number."""
        widths = [width for field in self.fields for width in field.unit_widths]
        return np.repeat(np.arange(len(widths)), widths)

    def repair(self, rows: Bits, *, parent: Bits | None = None) -> Bits:
        """Return rows, shape (rows, n), of codes alone: those that are stay as they are.

        `parent`, shape (n,), is the row that all of them are changes of: what was changed stays, the rest gives way.
        """
        check_bits(rows, self.n)
        if not len(self.code.kinds):
            return rows
        words = _to_words(rows)
        before = np.empty(0, np.uint64) if parent is None else _to_words(parent[None])[0]
        kernels.repair.repair_rows(self.code, words, before)
        octets = words.astype("<u8").view(np.uint8).reshape(len(rows), -1)
        return np.unpackbits(octets, axis=1, count=self.n, bitorder="little")

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Give so many random rows, shape (rows, n), in which every value of every variable is equally likely."""
        parts = [field.encode(field.sample(rows, rng=rng)) for field in self.fields]
        return np.concatenate([np.empty((rows, 0), np.uint8), *parts], axis=1)

    def decode(self, rows: Bits) -> list[NDArray[np.int64]]:
        """Give what each field says, for rows of codes, shape (rows, n); see `Field.decode`."""
        return [
            field.decode(rows[:, start : start + field.bits])
            for start, field in zip(self.starts, self.fields, strict=True)
        ]

    def encode(self, values: Sequence[NDArray[np.int64]]) -> Bits:
        """Give rows of codes, shape (rows, n), of what each field says."""
        return np.concatenate([field.encode(value) for field, value in zip(self.fields, values, strict=True)], axis=1)


def _to_words(rows: Bits) -> NDArray[np.uint64]:
    """Return rows, shape (rows, n), as words of 64 bits, shape (rows, words)."""
    packed = np.zeros((len(rows), 8 * words_of(rows.shape[1])), np.uint8)
    octets = np.packbits(rows, axis=1, bitorder="little")
    packed[:, : octets.shape[1]] = octets
    return packed.view("<u8").astype(np.uint64)
