"""ECGA: the merges against brute force, the description length, samples."""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from daedal.models.ecga import ECGA, MarginalProduct
from daedal.models.tree import GRID


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@st.composite
def populations(draw: st.DrawFn) -> np.ndarray:
    """Up to 8 bits: few rows drawn freely, or many of a law with dependent blocks, copies and constants."""
    n = draw(st.integers(1, 8))
    if draw(st.booleans()):
        return draw(arrays(np.uint8, (draw(st.integers(1, 40)), n), elements=st.integers(0, 1)))
    seeded = rng(draw(st.integers(0, 2**32 - 1)))
    rows, blocks = draw(st.integers(1, 300)), draw(st.integers(1, 4))
    x = (seeded.random((rows, n)) < seeded.random(n)).astype(np.uint8)
    block = seeded.integers(blocks, size=n)
    common, kept = seeded.integers(0, 2, (rows, blocks), dtype=np.uint8), seeded.random((rows, blocks)) < 0.7
    x = np.where(kept[:, block], common[:, block], x)
    if n > 2 and draw(st.booleans()):
        x[:, 0], x[:, 1] = 1 - x[:, 2], draw(st.integers(0, 1))
    return np.ascontiguousarray(x)


def slow_length(x: np.ndarray, groups: list[list[int]]) -> float:
    """Combined complexity, from its definition."""
    return math.fsum(term for group in groups for term in slow_terms(x.tobytes(), x.shape, tuple(group)))


@lru_cache(maxsize=10_000)
def slow_terms(data: bytes, shape: tuple[int, int], group: tuple[int, ...]) -> list[float]:
    """What one group adds: its table, and each row given the table."""
    x = np.frombuffer(data, dtype=np.uint8).reshape(shape)
    counts = Counter(map(tuple, x[:, group].tolist()))
    table = math.log2(len(x) + 1) * (2 ** len(group) - 1)
    return [table, *(-c * math.log2(c / len(x)) for c in counts.values())]


def slow_groups(x: np.ndarray, max_group: int) -> list[list[int]]:
    """Try every merge by computing the whole length; round gains to the grid; take the first of the best."""
    groups = [[i] for i in range(x.shape[1])]
    while True:
        now = slow_length(x, groups)
        best = (0.0, -1, -1)
        for i in range(len(groups)):
            for j in range(i + 1, len(groups)):
                if len(groups[i]) + len(groups[j]) > max_group:
                    continue
                rest = [group for k, group in enumerate(groups) if k not in (i, j)]
                gain = round((now - slow_length(x, [*rest, groups[i] + groups[j]])) * GRID) / GRID
                if gain > best[0]:
                    best = (gain, i, j)
        gain, i, j = best
        if i < 0:
            return groups
        groups[i] = sorted(groups[i] + groups.pop(j))


def groups_of(fitted: MarginalProduct) -> list[list[int]]:
    return [np.flatnonzero(fitted.group == g).tolist() for g in range(fitted.group.max() + 1)]


@settings(max_examples=150, deadline=None)
@given(populations(), st.sampled_from([None, None, 1, 2, 3]))
def test_groups_and_length_are_those_of_brute_force(x: np.ndarray, max_group: int | None) -> None:
    fitted = ECGA(max_group=max_group).fit(x, rng=rng())
    groups = groups_of(fitted)
    assert groups == slow_groups(x, max_group or x.shape[1])
    assert fitted.info["groups"] == len(groups)
    assert fitted.info["largest_group"] == max(map(len, groups)) <= (max_group or x.shape[1])
    assert fitted.info["score"] == pytest.approx(slow_length(x, groups), abs=1e-6)


def test_equal_gains_are_merged_in_the_order_of_names() -> None:
    # Columns 1, 3, 4 and 0, 2, 5 are copies and complements with the same frequency: six equal gains at the start.
    a, b = (rng(seed).permutation(300) < 90 for seed in range(2))
    x = np.stack([b, a, ~b, ~a, a, ~b], axis=1).astype(np.uint8)
    assert groups_of(ECGA(max_group=2).fit(x, rng=rng())) == [[0, 2], [1, 3], [4], [5]]
    assert groups_of(ECGA(max_group=6).fit(x, rng=rng())) == slow_groups(x, 6)


def test_large_groups_stay_within_their_cells() -> None:
    # Twelve copies make a group of far more possible than seen configurations; noise makes the numbers grow.
    seeded = rng(1)
    for rows in (2, 3, 17, 500, 5000):
        bit = seeded.integers(0, 2, (rows, 3), dtype=np.uint8)
        x = np.repeat(bit, 8, axis=1) ^ (seeded.random((rows, 24)) < 0.02)
        fitted = ECGA().fit(x, rng=rng())
        assert fitted.info["score"] == pytest.approx(slow_length(x, groups_of(fitted)), rel=1e-12)


@pytest.mark.parametrize("k", [4, 5])
def test_the_blocks_of_a_half_converged_trap_are_found(k: int) -> None:
    seeded = rng(k)
    blocks, rows = 100 // k, 4000
    kind = seeded.random((rows, blocks))
    x = seeded.integers(0, 2, (rows, blocks, k), dtype=np.uint8)
    x[kind < 0.7] = 0
    x[kind < 0.4] = 1
    place = seeded.permutation(100)
    fitted = ECGA().fit(np.ascontiguousarray(x.reshape(rows, 100)[:, place]), rng=rng())
    found = {frozenset((place[group] // k).tolist()) for group in groups_of(fitted)}
    assert found == {frozenset([block]) for block in range(blocks)}
    assert fitted.info["groups"] == blocks
    assert fitted.info["largest_group"] == k


def test_equal_parents_are_as_many_groups_as_variables_and_constant_columns_stay_single() -> None:
    equal = ECGA().fit(np.tile(rng(7).integers(0, 2, 7, dtype=np.uint8), (6, 1)), rng=rng())
    assert equal.info == {"groups": 7, "largest_group": 1, "score": pytest.approx(7 * math.log2(7))}
    x = np.repeat(rng(5).integers(0, 2, (200, 1), dtype=np.uint8), 6, axis=1)
    x[:, 2], x[:, 4] = 0, 1
    assert groups_of(ECGA().fit(x, rng=rng())) == [[0, 1, 3, 5], [2], [4]]
