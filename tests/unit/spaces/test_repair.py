"""Repair of rows that are no codes: equal to a reference implementation, idempotent, local."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from repair_twin import repair as slow_repair

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


def all_rows(n: int) -> Bits:
    return np.array(list(itertools.product((0, 1), repeat=n)), dtype=np.uint8)


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
