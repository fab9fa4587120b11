"""Rows drawn from a Bayesian network against the exact law of the network, and of the data it was learned from."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from daedal.models.bayesnet import BayesNet, FittedBayesNet

ROWS = 200_000


def exact_law(net: FittedBayesNet) -> np.ndarray:
    """Probability of each of the 2^n rows; the first variable is the most significant bit."""
    law = []
    for row in itertools.product((0, 1), repeat=net.n):
        p = 1.0
        for i in range(net.n):
            configuration = sum(row[parent] << k for k, parent in enumerate(net.parents_of(i)))
            one = net.table_of(i)[configuration]
            p *= one if row[i] else 1 - one
        law.append(p)
    return np.array(law)


def counts_of(x: np.ndarray) -> np.ndarray:
    n = x.shape[1]
    return np.bincount(x @ (1 << np.arange(n)[::-1]), minlength=2**n)


def p_value(counts: np.ndarray, law: np.ndarray) -> float:
    """Chi-square over the rows that are possible; the rare ones are one cell together."""
    expected = law * counts.sum()
    assert counts[expected == 0].sum() == 0
    rare = (expected > 0) & (expected < 10)
    cells = expected >= 10
    seen, hoped = counts[cells], expected[cells]
    if expected[rare].sum() >= 10:
        seen, hoped = np.append(seen, counts[rare].sum()), np.append(hoped, expected[rare].sum())
    return float(chisquare(seen, hoped, sum_check=False).pvalue)


def learned(seed: int, rows: int, max_parents: int | None) -> tuple[np.ndarray, FittedBayesNet]:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, size=(rows, 6), dtype=np.uint8)
    x[:, 1] = x[:, 0] ^ (rng.random(rows) < 0.2)
    x[:, 4] = (x[:, 0] + x[:, 2] + x[:, 3] >= 2) ^ (rng.random(rows) < 0.1)
    x[:, 5] = x[:, 4] & (rng.random(rows) < 0.7)
    x = np.ascontiguousarray(x[:, rng.permutation(6)])
    return x, BayesNet(max_parents=max_parents).fit(x, rng=rng)


@pytest.mark.parametrize(("seed", "rows", "max_parents"), [(0, 40, None), (1, 400, None), (2, 400, 1), (3, 5000, None)])
def test_drawn_rows_follow_the_law_of_the_network(seed: int, rows: int, max_parents: int | None) -> None:
    _, net = learned(seed, rows, max_parents)
    assert net.info["edges"] >= 3
    drawn = net.sample(ROWS, rng=np.random.default_rng(100 + seed))
    law = exact_law(net)
    assert law.sum() == pytest.approx(1)
    assert p_value(counts_of(drawn), law) > 0.001


def test_the_test_itself_would_notice_a_slightly_different_law() -> None:
    _, net = learned(1, 400, None)
    drawn = net.sample(ROWS, rng=np.random.default_rng(101))
    drawn[: ROWS // 50, 0] ^= 1
    law = exact_law(net)
    possible = np.where(law == 0, 1e-3, law)
    assert p_value(counts_of(drawn), possible / possible.sum()) < 1e-6


def test_pairs_of_parent_and_child_are_as_frequent_as_in_the_data() -> None:
    """What a network keeps exactly: the joint frequencies of a child with its only parent."""
    x, net = learned(4, 1000, 1)
    law = exact_law(net)
    rows = np.array(list(itertools.product((0, 1), repeat=6)))
    checked = 0
    for child in range(6):
        for parent in net.parents_of(child):
            both = (rows[:, child] & rows[:, parent]) == 1
            assert law[both].sum() == pytest.approx((x[:, child] & x[:, parent]).mean())
            checked += 1
    assert checked >= 3
