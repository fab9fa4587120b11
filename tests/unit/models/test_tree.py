"""The dependence tree: weights, the heaviest forest, the cut, frequencies, samples."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.stats import chi2

from daedal.models.tree import Forest, Tree, count_logs, pair_counts, pair_information, spanning_forest

SAFE = 1e-4
"""Distance from the cut, in the test's statistic, at which rounding cannot decide."""


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@st.composite
def populations(draw: st.DrawFn) -> np.ndarray:
    """Bits of few rows, drawn freely, or of many, drawn by a seed; half of them with copied and constant columns."""
    n = draw(st.integers(1, 9))
    if draw(st.booleans()):
        x = draw(arrays(np.uint8, (draw(st.integers(1, 12)), n), elements=st.integers(0, 1)))
    else:
        seeded = rng(draw(st.integers(0, 2**32 - 1)))
        x = (seeded.random((draw(st.integers(1, 300)), n)) < seeded.random(n)).astype(np.uint8)
        for child in range(1, n):
            parent = seeded.integers(child)
            x[:, child] ^= x[:, parent] & (seeded.random(len(x)) < seeded.random())
    if n > 2 and draw(st.booleans()):
        x[:, 0], x[:, 1] = x[:, 2], draw(st.integers(0, 1))
    return x


def slow_information(x: np.ndarray, i: int, j: int) -> float:
    """Mutual information in bits, from its definition."""
    rows = x.tolist()
    both = Counter((row[i], row[j]) for row in rows)
    a, b = Counter(row[i] for row in rows), Counter(row[j] for row in rows)
    return math.fsum(c / len(x) * math.log2(c * len(x) / (a[u] * b[v])) for (u, v), c in both.items())


def slow_weights(x: np.ndarray) -> np.ndarray:
    n = x.shape[1]
    return np.array([[slow_information(x, i, j) if i != j else 0.0 for j in range(n)] for i in range(n)])


def heaviest(weights: np.ndarray, cut: float = -1.0) -> float:
    """Total weight of SciPy's spanning tree without the edges below the cut."""
    n = len(weights)
    shift = 1.0 + weights.max()  # SciPy takes 0 for no edge.
    tree = minimum_spanning_tree(np.triu(shift - weights, 1)).tocoo() if n > 1 else None
    return 0.0 if tree is None else math.fsum(w for w in shift - tree.data if w >= cut)


def edges(fitted: Forest) -> set[tuple[int, int]]:
    pairs = ((child, parent) for child, parent in enumerate(fitted.parents.tolist()) if parent >= 0)
    return {(min(pair), max(pair)) for pair in pairs}


@settings(max_examples=150, deadline=None)
@given(populations())
def test_the_whole_tree_is_the_heaviest(x: np.ndarray) -> None:
    fitted = Tree(significance=1.0).fit(x, rng=rng())
    weights = slow_weights(x)
    assert fitted.info["edges"] == len(edges(fitted)) == x.shape[1] - 1
    assert fitted.info["information"] == pytest.approx(heaviest(weights), abs=1e-5)
    assert math.fsum(weights[e] for e in edges(fitted)) == pytest.approx(heaviest(weights), abs=1e-5)


@settings(max_examples=150, deadline=None)
@given(populations(), st.sampled_from([0.5, 0.05, 0.01, 1e-6]))
def test_the_cut_is_the_chi_square_test(x: np.ndarray, significance: float) -> None:
    fitted = Tree(significance=significance).fit(x, rng=rng())
    statistic = 2 * len(x) * math.log(2) * slow_weights(x)
    taken = edges(fitted)
    assert all(chi2.sf(statistic[e] + SAFE, 1) <= significance for e in taken)
    if np.abs(chi2.sf(statistic, 1) - significance).min() > SAFE:
        cut = float(chi2.isf(significance, 1))
        total = heaviest(statistic, cut) / (2 * len(x) * math.log(2))
        assert fitted.info["information"] == pytest.approx(total, abs=1e-5)
    # No significant edge is left between two trees.
    component = list(range(x.shape[1]))
    for child in fitted.order.tolist():
        if fitted.parents[child] >= 0:
            component[child] = component[fitted.parents[child]]
    for i in range(x.shape[1]):
        for j in range(i):
            if component[i] != component[j]:
                assert chi2.sf(statistic[i, j] - SAFE, 1) > significance


@settings(max_examples=100, deadline=None)
@given(populations(), st.sampled_from([0.05, 1.0]))
def test_probabilities_are_frequencies_and_parents_come_first(x: np.ndarray, significance: float) -> None:
    fitted = Tree(significance=significance).fit(x, rng=rng())
    place = np.argsort(fitted.order)
    assert sorted(fitted.order.tolist()) == list(range(x.shape[1]))
    for i, parent in enumerate(fitted.parents.tolist()):
        assert parent < 0 or place[parent] < place[i]
        for bit in (0, 1):
            rows = x if parent < 0 else x[x[:, parent] == bit]
            assert fitted.probabilities[i, bit] == (rows[:, i].mean() if len(rows) else 0.5)


def slow_forest(weights: list[list[float]]) -> list[int]:
    """Follow the stated rule with sorted lists."""
    n = len(weights)
    parents, placed = [-1] * n, []
    while len(placed) < n:
        ways = [(-weights[p][i], i, k) for i in range(n) if i not in placed for k, p in enumerate(placed)]
        open_ways = [way for way in ways if way[0] <= 0]
        if open_ways:
            _, chosen, k = min(open_ways)
            parents[chosen] = placed[k]
        else:
            chosen = min(set(range(n)) - set(placed))
        placed.append(chosen)
    return parents


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 9).flatmap(lambda n: arrays(np.int64, (n, n), elements=st.integers(-1, 3))))
def test_ties_follow_the_stated_rule(drawn: np.ndarray) -> None:
    weights = np.maximum(drawn, drawn.T).astype(np.float64)
    order, parents = np.empty(len(weights), dtype=np.int64), np.empty(len(weights), dtype=np.int64)
    spanning_forest(weights, order, parents)
    assert parents.tolist() == slow_forest(weights.tolist())


def test_equal_information_is_equal_to_the_last_digit() -> None:
    # The six columns are copies and complements: all weights are the same on paper.
    bit = (rng(1).random(1000) < 0.3).astype(np.uint8)
    x = np.stack([bit, 1 - bit, bit, 1 - bit, bit, 1 - bit], axis=1)
    weights = np.empty((6, 6))
    pair_information(pair_counts(x), count_logs(1000), weights)
    assert len(set(weights.ravel().tolist())) == 1
    assert Tree().fit(x, rng=rng()).parents.tolist() == [-1, 0, 0, 0, 0, 0]
