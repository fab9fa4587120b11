"""Codes: every value comes back, and random ones are uniform."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from all_rows import all_rows
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from daedal.spaces.encoding import MANY, Encoding, Field, NumberField, OneHotField, PermutationField, SubsetField

SMALL: dict[str, tuple[Field, list[Any]]] = {
    **{f"one-hot {k}": (OneHotField(k), list(range(k))) for k in (2, 3, 5)},
    **{f"binary {k}": (NumberField(k), list(range(k))) for k in (1, 2, 3, 8, 9, 17)},
    **{f"gray {k}": (NumberField(k, gray=True), list(range(k))) for k in (1, 2, 3, 8, 9, 17)},
    **{
        f"{low} to {high} of {k}": (
            SubsetField(k, low, high),
            [bits for bits in itertools.product((0, 1), repeat=k) if low <= sum(bits) <= high],
        )
        for k, low, high in ((4, 0, 4), (4, 2, 2), (5, 0, 2), (5, 1, 3), (3, 0, 0), (3, 3, 3))
    },
    **{f"order of {k}": (PermutationField(k), list(itertools.permutations(range(k)))) for k in (1, 2, 3, 4)},
}


@pytest.mark.parametrize(("field", "values"), SMALL.values(), ids=SMALL)
def test_every_value_comes_back(field: Field, values: list[Any]) -> None:
    codes = field.encode(np.array(values))
    assert codes.shape == (len(values), field.bits)
    assert field.decode(codes).tolist() == np.array(values).tolist()
    assert len({code.tobytes() for code in codes}) == len(values) == field.size


@pytest.mark.parametrize(("field", "values"), SMALL.values(), ids=SMALL)
def test_random_values_are_uniform(field: Field, values: list[Any]) -> None:
    drawn = field.sample(200 * len(values), rng=np.random.default_rng(7)).tolist()
    keys = [tuple(value) if isinstance(value, list) else value for value in drawn]
    counts = [keys.count(value) for value in values]
    assert sum(counts) == len(keys)
    assert len(values) == 1 or stats.chisquare(counts).pvalue > 1e-3


def test_neighbors_in_gray_code_differ_in_one_bit() -> None:
    codes = NumberField(100, gray=True).encode(np.arange(100))
    assert (np.abs(np.diff(codes.astype(int), axis=0)).sum(axis=1) == 1).all()


@pytest.mark.parametrize("gray", [False, True])
@pytest.mark.parametrize("count", [3, 5, 11, 33])
def test_no_number_has_more_than_two_codes(count: int, gray: bool) -> None:
    """No value is favored more than the code forces."""
    field = NumberField(count, gray=gray)
    counts = np.bincount(field.decode(Encoding([field]).repair(all_rows(field.bits))), minlength=count)
    assert set(counts.tolist()) == {1, 2}


def test_random_bits_are_repaired_without_favor() -> None:
    """Of a choice and an order, every value is as likely, whatever its number."""
    encoding = Encoding([OneHotField(5), PermutationField(4)])
    rows = np.random.default_rng(5).integers(0, 2, (24_000, encoding.n), dtype=np.uint8)
    values, orders = encoding.decode(encoding.repair(rows))
    assert stats.chisquare(np.bincount(values)).pvalue > 1e-3
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert len(counts) == 24
    assert (
        counts.max() < 3 * counts.min()
    )  # ties are broken at random; places beside each other differ in how many codes


fields = st.one_of(
    st.builds(OneHotField, st.integers(2, 200)),
    st.builds(NumberField, st.integers(1, 2**62), gray=st.booleans()),
    st.integers(1, 150).flatmap(
        lambda k: st.tuples(st.integers(0, k), st.integers(0, k)).map(lambda ends: SubsetField(k, min(ends), max(ends)))
    ),
    st.builds(PermutationField, st.integers(1, 60)),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(fields, min_size=1, max_size=6), st.integers(0, 2**32))
def test_large_values_come_back(listed: list[Field], seed: int) -> None:
    encoding, rng = Encoding(listed), np.random.default_rng(seed)
    rows = encoding.sample(5, rng=rng)
    assert rows.shape == (5, encoding.n)
    again = encoding.encode(encoding.decode(rows))
    assert (again == rows).all()
    if encoding.n:
        assert (encoding.repair(rows) == rows).all()
        any_rows = rng.integers(0, 2, (5, encoding.n), dtype=np.uint8)
        repaired = encoding.repair(any_rows)
        assert (encoding.encode(encoding.decode(repaired)) == repaired).all()


def test_sizes_beyond_all_counting_are_cut() -> None:
    assert PermutationField(20).size == math.factorial(20)
    assert PermutationField(10_000).size == SubsetField(10_000, 0, 5_000).size == MANY
    assert SubsetField(80, 0, 3).size == 1 + 80 + 3160 + 82160
    assert Encoding([NumberField(2**62), NumberField(2**62)]).size == MANY


def test_units_are_the_bits_that_belong_together() -> None:
    encoding = Encoding([NumberField(2), OneHotField(3), SubsetField(2, 0, 1), PermutationField(3)])
    assert encoding.units.tolist() == [0, 1, 1, 1, 2, 3, 4, 4, 5, 5, 6, 6]
