"""Columns of sets and correlations of pairs, against their definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.models.walsh_equations import Equations, Sets, arrange


def make(n: int, count: int, held_out: int, seed: int, *, differences: bool) -> Equations:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, (count, n), dtype=np.uint8)
    d = (rng.random((count, n)) < rng.random()).astype(np.uint8) if differences else None
    return arrange(x, d, rng.normal(size=count), held_out, np.arange(n))


def slow_column(equations: Equations, members: tuple[int, ...]) -> np.ndarray:
    """The column as a vector of -1, 0, 1."""
    column = np.zeros(len(equations.y))
    for e, row in enumerate(equations.x):
        filling = equations.used <= e < equations.train
        flipped = 1 if equations.d is None else sum(int(equations.d[e, i]) for i in members)
        if flipped % 2 and not filling:
            column[e] = (-1) ** sum(int(row[i]) for i in members)
    return column


cases = st.tuples(st.integers(1, 7), st.integers(1, 200), st.floats(0, 0.9), st.integers(0, 999), st.booleans())


@settings(max_examples=60, deadline=None)
@given(cases)
def test_columns_follow_the_definition(case: tuple[int, int, float, int, bool]) -> None:
    n, count, share, seed, differences = case
    equations = make(n, count, int(share * count), seed, differences=differences)
    sets = [
        s for size in range(0 if not differences else 1, min(n, 5) + 1) for s in itertools.combinations(range(n), size)
    ]
    columns = equations.columns(Sets.from_tuples(sets))
    chosen = np.random.default_rng(seed).permutation(len(sets))[: 1 + len(sets) // 2]
    for part, names in ((columns, sets), (columns[chosen], [sets[c] for c in chosen])):
        for members, bounds in zip(names, part.bounds.tolist(), strict=True):
            found = np.zeros(len(equations.y))
            for q, sign in enumerate((1, -1, 1, -1)):
                listed = part.entries[bounds[q] : bounds[q + 1]]
                assert (np.diff(listed.astype(np.int64)) > 0).all()
                assert ((listed < equations.train) == (q < 2)).all()
                found[listed] = sign
            assert (found == slow_column(equations, members)).all()


@settings(max_examples=60, deadline=None)
@given(cases)
def test_pairs_correlate_as_their_columns_do(case: tuple[int, int, float, int, bool]) -> None:
    n, count, share, seed, differences = case
    equations = make(n, count, int(share * count), seed, differences=differences)
    residual = equations.y.copy()
    singles, half = np.empty(n, dtype=np.float32), np.empty((n, n), dtype=np.float32)
    equations.correlate_pairs(residual, singles, half)
    prices = equations.prices
    for i in range(n):
        for j in range(i, n):
            column = slow_column(equations, (i,) if i == j else (i, j))[: equations.train]
            value = singles[i] if i == j else half[i, j] + half[j, i]
            assert value == pytest.approx(column @ residual[: equations.train], abs=1e-4)
            entries = np.count_nonzero(column)
            if differences:
                assert prices[i, j] == prices[j, i] == pytest.approx(entries**-0.5 if entries >= 3 else 0.0)
            else:
                assert prices[i, j] == pytest.approx(equations.used**-0.5)
    sets = Sets.from_tuples(list(itertools.combinations(range(n), min(n, 3))))
    wanted = [slow_column(equations, s)[: equations.train] for s in sets.tuples()]
    strengths = [abs(c @ residual[: equations.train]) / max(1, np.count_nonzero(c)) ** 0.5 for c in wanted]
    expected = np.where([np.count_nonzero(c) >= 3 for c in wanted], strengths, 0.0)
    members = sets.members[:, : min(n, 3)].copy()
    np.testing.assert_allclose(equations.strengths(members, residual), expected, atol=1e-4)
