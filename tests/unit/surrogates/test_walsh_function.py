"""A Walsh function: its values by definition, its interactions, and its maxima against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from all_rows import all_rows
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.rng import words16
from daedal.surrogates import WalshFunction, walsh_function
from daedal.surrogates.walsh_function import Sets


def function(sets: list[tuple[int, ...]], coefficients: np.ndarray, n: int, constant: float = 0.0) -> WalshFunction:
    return WalshFunction(n=n, constant=constant, terms=Sets.from_tuples(sets), coefficients=coefficients, r2=1.0)


def random_function(n: int, count: int, rng: np.random.Generator) -> WalshFunction:
    sizes = rng.integers(1, min(n, 5) + 1, count)
    sets = sorted({tuple(sorted(rng.choice(n, size, replace=False).tolist())) for size in sizes})
    return function(sets, rng.normal(size=len(sets)), n, 2.0)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 10), st.integers(0, 40), st.integers(0, 10**6))
def test_values_follow_the_definition(n: int, count: int, seed: int) -> None:
    f = random_function(n, count, np.random.default_rng(seed))
    for row, value in zip(all_rows(n)[:50], f.predict(all_rows(n)[:50]), strict=True):
        terms = [c * (-1) ** sum(int(row[i]) for i in s) for s, c in zip(f.sets, f.coefficients, strict=True)]
        assert value == pytest.approx(2.0 + sum(terms))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 16), st.integers(0, 80), st.integers(0, 10**6))
def test_up_to_16_variables_the_maxima_are_the_best_of_all_rows(n: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    f = random_function(n, count, rng)
    best = np.sort(f.predict(all_rows(n)))[::-1][:5]
    maxima = f.maxima(5, rng=rng)
    assert len(np.unique(maxima, axis=0)) == len(maxima) == min(5, 2**n)
    np.testing.assert_allclose(f.predict(maxima), best, atol=1e-9)


def test_annealing_finds_the_best_of_all_rows() -> None:
    rng, found, rows = np.random.default_rng(0), 0, all_rows(18)
    for _ in range(10):
        f = random_function(18, 60, rng)
        maxima = f.maxima(4, rng=rng)
        values = f.predict(maxima)
        assert (np.diff(values) <= 1e-9).all()
        assert len(np.unique(maxima, axis=0)) == len(maxima) <= 4
        for row, value in zip(maxima, values, strict=True):  # each is a local maximum
            assert (f.predict(row ^ np.eye(18, dtype=np.uint8)) <= value + 1e-9).all()
        found += values[0] >= f.predict(rows).max() - 1e-9
    assert found >= 9


def test_a_start_is_not_lost() -> None:
    # A needle: 1 for each block of zeros, else 0, in Walsh coefficients, and a little for every one.
    rng = np.random.default_rng(1)
    blocks = [tuple(range(first, first + 4)) for first in range(0, 20, 4)]
    sets = [s for block in blocks for size in range(1, 5) for s in itertools.combinations(block, size)]
    f = function(sets, np.array([1 / 16 - 0.005 * (len(s) == 1) for s in sets]), 20)
    zeros = np.zeros((1, 20), dtype=np.uint8)
    assert f.predict(f.maxima(3, rng=rng, start=zeros))[0] >= f.predict(zeros)[0] - 1e-9


def test_maxima_of_a_function_without_sets_are_any_rows() -> None:
    f = function([], np.empty(0), 40)
    rows = f.maxima(6, rng=np.random.default_rng(2), start=np.ones((1, 40), dtype=np.uint8))
    assert rows.shape == (6, 40)


def test_chains_drawn_in_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    f = random_function(40, 100, np.random.default_rng(3))
    whole = f.maxima(8, rng=np.random.default_rng(4), chains=6, sweeps=12)
    monkeypatch.setattr(walsh_function, "_MOST_WORDS", 2 * 12 * 40)
    assert (f.maxima(8, rng=np.random.default_rng(4), chains=6, sweeps=12) == whole).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_chain_follows_the_rule_of_metropolis(seed: int) -> None:
    """A slow twin computes every gain from the function itself."""
    rng = np.random.default_rng(seed)
    n, chains, sweeps = 7, 4, 9
    f = random_function(n, 25, rng)
    x = rng.integers(0, 2, (chains, n), dtype=np.uint8)
    twin, temperatures = x.copy(), rng.random(chains) + 0.5
    words = words16(rng, chains * sweeps * n)
    logs = np.log((np.arange(4096) + 0.5) / 4096)
    values = np.empty(chains)
    terms, (starts, owners) = f.terms, f.variable_sets
    walsh_function.anneal(
        x, terms.members, terms.orders, f.coefficients, starts, owners, temperatures, sweeps, words, logs, values
    )
    drawn = iter(words.tolist())
    for row, temperature in zip(twin, temperatures, strict=True):

        def gain(i: int, row: np.ndarray = row) -> float:
            other = row.copy()
            other[i] ^= 1
            return float(f.predict(other[None])[0] - f.predict(row[None])[0])

        for sweep in range(sweeps):
            for i in range(n):
                if gain(i) > temperature * walsh_function.COLDEST ** (sweep / sweeps) * logs[next(drawn) >> 4]:
                    row[i] ^= 1
        while max(gain(i) for i in range(n)) > 1e-9:
            for i in range(n):
                if gain(i) > 1e-9:
                    row[i] ^= 1
    assert (x == twin).all()
    np.testing.assert_allclose(values + f.constant, f.predict(x), atol=1e-9)


def test_climbing_within_a_group_ends_at_a_local_maximum_and_leaves_the_others_alone() -> None:
    rng = np.random.default_rng(5)
    f, draws = random_function(12, 40, rng), np.array([6], dtype=np.uint64)
    inside = np.array([1, 4, 5, 9])
    for _ in range(20):
        x = rng.integers(0, 2, 12, dtype=np.uint8)
        before = x.copy()
        f.climb_within(x, inside, draws)
        flips = x ^ np.eye(12, dtype=np.uint8)[inside]
        assert (f.predict(flips) <= f.predict(x[None])[0] + 1e-9).all()
        assert (np.delete(x, inside) == np.delete(before, inside)).all()


def test_interactions_are_in_order() -> None:
    f = function([(0,), (1, 2), (0, 3), (0, 1, 2)], np.array([5.0, 1.0, -3.0, 2.0]), 4)
    listed = f.interactions()
    assert [i.variables for i in listed] == [(0, 3), (0, 1, 2), (1, 2)]
    assert [i.coefficient for i in listed] == [-3.0, 2.0, 1.0]
    assert [i.variables for i in f.interactions(order=1)] == [(0,)]
    assert listed[0].share == pytest.approx(9.0 / f.predict(all_rows(4)).var())  # Parseval
    expected = np.zeros((4, 4))
    expected[0, 3], expected[1, 2], expected[0, 1], expected[0, 2] = 3, 5**0.5, 2, 2
    np.testing.assert_allclose(f.pair_strengths(), expected + expected.T)
