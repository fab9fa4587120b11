"""Variable elimination: its plan tells the truth, and is made before anything is built."""

from __future__ import annotations

import itertools
import random
import tracemalloc

import numpy as np
import pytest

from daedal.problems import NK
from daedal.problems.exact import maximize, plan


def brute_force(n: int, scopes: list[list[int]], tables: list[np.ndarray]) -> float:
    def value(row: tuple[int, ...]) -> float:
        pairs = zip(scopes, tables, strict=True)
        return sum(float(t[int("".join(str(row[v]) for v in s) or "0", 2)]) for s, t in pairs)

    return max(value(row) for row in itertools.product((0, 1), repeat=n))


@pytest.mark.parametrize("seed", range(12))
def test_tables_of_any_shape_agree_with_brute_force(seed: int) -> None:
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    n = draw.randint(1, 8)
    scopes = [draw.sample(range(n), draw.randint(1, n)) for _ in range(draw.randint(0, 6))]
    tables = [rng.integers(-4, 5, size=2 ** len(scope)).astype(float) for scope in scopes]
    row, value = maximize(n, scopes, tables)
    assert row.shape == (n,)
    assert row.dtype == np.uint8
    assert value == brute_force(n, scopes, tables)
    at_row = [t[int("".join(str(row[v]) for v in s), 2)] for s, t in zip(scopes, tables, strict=True)]
    assert value == sum(at_row)


def test_messages_longer_than_one_chunk() -> None:
    # All pairs of 16 variables, so that the first message has 2^15 rows: four chunks.
    n, rng = 16, np.random.default_rng(1)
    scopes = [list(pair) for pair in itertools.combinations(range(n), 2)]
    tables = list(rng.integers(-9, 10, size=(len(scopes), 4)).astype(float))
    x = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    totals = sum(t[2 * x[:, s[0]] + x[:, s[1]]] for s, t in zip(scopes, tables, strict=True))
    assert plan(n, scopes).entries == 2**15
    assert maximize(n, scopes, tables)[1] == np.max(totals)


def test_a_long_chain_stays_narrow() -> None:
    n = 300
    scopes = [[i, (i + 1) % n, (i + 2) % n] for i in range(n)]
    tables = list(np.random.default_rng(0).random((n, 8)))
    assert plan(n, scopes).entries <= 2**4
    row, value = maximize(n, scopes, tables)
    flipped = row ^ np.eye(n, dtype=np.uint8)
    assert NK(np.array(scopes), np.array(tables)).evaluate(flipped).max() <= value


def test_every_variable_is_eliminated_once_and_the_plan_repeats() -> None:
    scopes = NK.random(34, 5, seed=2).neighbors.tolist()
    first = plan(34, scopes)
    assert sorted(first.order) == list(range(34))
    assert first == plan(34, scopes)
    assert first.entries <= 2**24


def test_the_predicted_memory_is_what_is_taken() -> None:
    problem = NK.random(28, 5, seed=0)
    scopes, tables = problem.neighbors.tolist(), list(problem.tables)
    planned = plan(28, scopes)
    expected = maximize(28, scopes, tables, planned=planned)[1]  # Compiling and loading kernels takes memory too.
    tracemalloc.start()
    assert maximize(28, scopes, tables, planned=planned)[1] == expected
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert planned.peak_bytes > 2**20
    assert 0.9 < peak / planned.peak_bytes < 1.1


@pytest.mark.parametrize(("n", "k"), [(200, 6), (1500, 20)])
def test_too_much_memory_is_refused_before_it_is_taken(n: int, k: int) -> None:
    neighbors = [[(i + step * step) % n for step in range(k + 1)] for i in range(n)]
    tables = [np.zeros(1)] * n  # Never looked at.
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"2\^\d+ entries and 2\^\d+ bytes"):
        maximize(n, neighbors, tables)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * 2**20
