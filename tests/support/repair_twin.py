"""Reference implementation of `Encoding.repair`, for one row at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from daedal.spaces.encoding import Encoding, NumberField, OneHotField, PermutationField, SubsetField


class Splitmix:
    """Random words by splitmix64, seeded with the bits of a row."""

    def __init__(self, row: Sequence[int]) -> None:
        self.state = 0
        for start in range(0, len(row), 64):
            self.state ^= sum(int(bit) << i for i, bit in enumerate(row[start : start + 64]))
            self.word()

    def word(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        word = (self.state ^ (self.state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        word = (word ^ (word >> 27)) * 0x94D049BB133111EB % 2**64
        return word ^ (word >> 31)

    def below(self, most: int) -> int:
        return ((self.word() >> 32) * most) >> 32


def repair(encoding: Encoding, row: Sequence[int], parent: Sequence[int] | None) -> list[int]:
    """Return the repaired row, which is a change of the parent, if there is one."""
    draws, repaired = Splitmix(row), list(row)
    for start, field in zip(encoding.starts, encoding.fields, strict=True):
        part = slice(start, start + field.bits)
        above = None if parent is None else list(parent[part])
        if isinstance(field, OneHotField):
            repaired[part] = one_hot(repaired[part], above, draws)
        elif isinstance(field, SubsetField):
            repaired[part] = subset(field, repaired[part], above, draws)
        elif isinstance(field, PermutationField):
            repaired[part] = permutation(field, repaired[part], above, draws)
        elif isinstance(field, NumberField) and field.decode(np.array([repaired[part]], np.uint8))[0] >= field.count:
            repaired[part.stop - 1] = 0
    return repaired


def one_hot(bits: list[int], parent: list[int] | None, draws: Splitmix) -> list[int]:
    ones = [i for i, bit in enumerate(bits) if bit]
    if len(ones) == 1:
        return bits
    new = [i for i in ones if parent is not None and not parent[i]]
    if new:
        kept = new[draws.below(len(new))]
    elif not ones and parent is not None and any(parent):
        kept = parent.index(1)
    elif ones:
        kept = ones[draws.below(len(ones))]
    else:
        kept = draws.below(len(bits))
    return [int(i == kept) for i in range(len(bits))]


def subset(field: SubsetField, bits: list[int], parent: list[int] | None, draws: Splitmix) -> list[int]:
    while not field.least <= sum(bits) <= field.most:
        bit = int(sum(bits) > field.most)
        places = [i for i, there in enumerate(bits) if there == bit and (parent is None or parent[i] == bit)]
        places = places or [i for i, there in enumerate(bits) if there == bit]
        bits[places[draws.below(len(places))]] = 1 - bit
    return bits


def permutation(field: PermutationField, bits: list[int], parent: list[int] | None, draws: Splitmix) -> list[int]:
    def places(of: list[int]) -> list[int]:
        numbers = np.array(of).reshape(field.count, field.width) @ (1 << np.arange(field.width))
        return [int(number) for number in numbers]

    here = places(bits)
    if sorted(here) == list(range(field.count)):
        return bits
    before = here if parent is None else places(parent)
    keys = [(place, np.sign(place - old), draws.below(2**31)) for place, old in zip(here, before, strict=True)]
    ranks = np.argsort(np.array(sorted(range(field.count), key=keys.__getitem__)))
    return [int(bit) for rank in ranks for bit in (rank >> np.arange(field.width)) & 1]
