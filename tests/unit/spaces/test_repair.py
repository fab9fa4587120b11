"""Repair of rows that are no codes: equal to a reference implementation, idempotent, local."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from all_rows import all_rows

from daedal.spaces.encoding import Encoding, Field, NumberField, OneHotField, PermutationField, SubsetField
from daedal.types import Bits

FIELDS: dict[str, list[Field]] = {
    "one-hot": [OneHotField(4)],
    "binary": [NumberField(5)],
    "gray": [NumberField(6, gray=True)],
    "exactly": [SubsetField(5, 2, 2)],
    "at most": [SubsetField(5, 0, 2)],
    "at least": [SubsetField(5, 4, 5)],
    "none": [SubsetField(3, 0, 0)],
    "permutation": [PermutationField(4)],
    "odd permutation": [PermutationField(3)],
    "free": [NumberField(2), NumberField(8)],
    "all": [OneHotField(3), NumberField(2), PermutationField(3), NumberField(3, gray=True), SubsetField(3, 1, 2)],
}


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


def slow_repair(encoding: Encoding, row: Sequence[int], parent: Sequence[int] | None) -> list[int]:
    """Return the repaired row, which is a change of the parent, if there is one: a reference, for one row."""
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


def repaired(encoding: Encoding, row: Bits, parent: Bits | None) -> Bits:
    return encoding.repair(row[None], parent=parent)[0]


@pytest.mark.parametrize("fields", FIELDS.values(), ids=FIELDS)
def test_every_row_is_repaired_as_by_the_reference(fields: list[Field]) -> None:
    encoding = Encoding(fields)
    rng = np.random.default_rng(1)
    parents = encoding.sample(7, rng=rng)
    rows = all_rows(encoding.n)
    for row in rows if len(rows) <= 256 else rng.permutation(rows)[:300]:
        for parent in (None, *parents):
            assert repaired(encoding, row, parent).tolist() == slow_repair(encoding, row, parent)


@pytest.mark.parametrize("fields", FIELDS.values(), ids=FIELDS)
def test_rows_of_codes_stay_and_all_others_become_such(fields: list[Field]) -> None:
    encoding = Encoding(fields)
    rows = all_rows(encoding.n)
    came = encoding.repair(rows)
    valid = {row.tobytes() for row in came}
    assert len(valid) == encoding.size
    assert (encoding.repair(came) == came).all()
    assert (encoding.encode(encoding.decode(came)) == came).all()
    unchanged = [(one == two).all() for one, two in zip(rows, came, strict=True)]
    assert sum(unchanged) == encoding.size


def test_a_flip_reaches_every_other_value_of_a_choice() -> None:
    encoding = Encoding([OneHotField(5)])
    for parent in encoding.encode([np.arange(5)]):
        reached = {tuple(repaired(encoding, parent ^ np.eye(5, dtype=np.uint8)[i], parent)) for i in range(5)}
        assert len(reached) == 5  # the value itself, where its bit is flipped


def test_a_flip_of_a_full_subset_is_an_exchange() -> None:
    encoding = Encoding([SubsetField(6, 3, 3)])
    parent = encoding.sample(1, rng=np.random.default_rng(0))[0]
    for i in range(6):
        row = repaired(encoding, parent ^ np.eye(6, dtype=np.uint8)[i], parent)
        assert row[i] == 1 - parent[i]
        assert (row != parent).sum() == 2


def test_a_new_place_is_an_insertion() -> None:
    """Whoever moves gets the place asked for, and the others keep their order."""
    field = PermutationField(8)
    encoding = Encoding([field])
    parent = encoding.sample(1, rng=np.random.default_rng(0))[0]
    order = field.decode(parent[None])[0].tolist()
    for item, place in itertools.product(range(8), range(8)):
        row = parent.copy().reshape(8, 3)
        row[item] = (place >> np.arange(3)) & 1
        moved = field.decode(repaired(encoding, row.reshape(-1), parent)[None])[0].tolist()
        assert moved.index(item) == place
        assert [one for one in moved if one != item] == [one for one in order if one != item]


def test_the_same_row_is_repaired_alike_wherever_it_stands() -> None:
    encoding = Encoding([SubsetField(20, 5, 5), PermutationField(9), OneHotField(7)])
    rows = np.random.default_rng(3).integers(0, 2, (50, encoding.n), dtype=np.uint8)
    together = encoding.repair(rows)
    assert all((encoding.repair(rows[i : i + 1])[0] == together[i]).all() for i in range(50))
