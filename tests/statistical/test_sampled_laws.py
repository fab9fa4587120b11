"""Samples of small models against their exact joint law over all 2^n rows: chi-square, fixed seeds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from daedal.models import ECGA, PBIL, UMDA, BayesNet, Tree
from daedal.models.bayesnet import FittedBayesNet

DRAWS = 200_000


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def every_row(n: int) -> np.ndarray:
    """All rows; the first variable is the most significant bit of their number."""
    return np.array(list(itertools.product((0, 1), repeat=n)), dtype=np.uint8)


def p_value(sample: np.ndarray, law: np.ndarray) -> float:
    """Chi-square over the rows that are possible, the rare ones as one cell; no impossible row may be there."""
    n = sample.shape[1]
    counts = np.bincount(sample @ (1 << np.arange(n)[::-1]), minlength=2**n)
    assert law.sum() == pytest.approx(1.0)
    expected = law * len(sample)
    assert not counts[expected == 0].any()
    rare = (expected > 0) & (expected < 10)
    seen, hoped = counts[expected >= 10], expected[expected >= 10]
    if expected[rare].sum() >= 10:
        seen, hoped = np.append(seen, counts[rare].sum()), np.append(hoped, expected[rare].sum())
    return float(chisquare(seen, hoped, sum_check=False).pvalue)


def product_law(probabilities: np.ndarray) -> np.ndarray:
    return np.where(every_row(len(probabilities)) == 1, probabilities, 1 - probabilities).prod(axis=1)


def conditional_law(x: np.ndarray, parents: list[list[int]]) -> np.ndarray:
    """Multiply the frequencies of each bit given its parents, counted in the data anew; one half where none is."""
    rows = every_row(x.shape[1])
    law = np.ones(len(rows))
    for i, given in enumerate(parents):
        for k, row in enumerate(rows):
            cases = x[(x[:, given] == row[given]).all(axis=1)]
            law[k] *= (cases[:, i] == row[i]).mean() if len(cases) else 0.5
    return law


def group_law(x: np.ndarray, group: np.ndarray) -> np.ndarray:
    rows = every_row(x.shape[1])
    law = np.ones(len(rows))
    for g in range(group.max() + 1):
        law *= [(x[:, group == g] == row[group == g]).all(axis=1).mean() for row in rows]
    return law


@pytest.fixture(scope="module")
def parents() -> np.ndarray:
    """Six bits: 0, 3, 5 depend on each other, so do 1 and 4, and 2 is alone."""
    draw = rng(11)
    x = (draw.random((600, 6)) < 0.4).astype(np.uint8)
    x[:, 3] = x[:, 0] ^ (draw.random(600) < 0.2)
    x[:, 5] = x[:, 3] ^ (draw.random(600) < 0.3)
    x[:, 4] = 1 - x[:, 1] ^ (draw.random(600) < 0.15)
    return x


def test_univariate_models_sample_independent_bits(parents: np.ndarray) -> None:
    """The parents are by no means independent: the models must not see that."""
    fitted = UMDA().fit(parents, rng=rng())
    assert p_value(fitted.sample(DRAWS, rng=rng(1)), product_law(parents.mean(axis=0))) > 1e-3
    model, moved = PBIL(learning_rate=0.2, best=2), None
    for generation in range(12):
        moved = model.fit(parents[generation * 20 : generation * 20 + 20], rng=rng(), previous=moved)
    assert moved is not None
    assert np.ptp(moved.probabilities) > 0.3
    assert p_value(moved.sample(DRAWS, rng=rng(5)), product_law(moved.probabilities)) > 1e-3


@pytest.mark.parametrize(("significance", "edges"), [(0.0, 0), (1e-6, 3), (1.0, 5)])
def test_forests_sample_their_law(parents: np.ndarray, significance: float, edges: int) -> None:
    fitted = Tree(significance=significance).fit(parents, rng=rng())
    assert fitted.info["edges"] == edges
    law = conditional_law(parents, [[parent] if parent >= 0 else [] for parent in fitted.parents.tolist()])
    assert p_value(fitted.sample(DRAWS, rng=rng(1)), law) > 1e-3


def test_a_tree_with_impossible_rows_never_draws_them(parents: np.ndarray) -> None:
    x = parents[:, [0, 3, 5, 1]].copy()
    x[x[:, 0] == 1, 1] = 0
    x[:, 3] = 1
    fitted = Tree(significance=1.0).fit(x, rng=rng())
    law = conditional_law(x, [[parent] if parent >= 0 else [] for parent in fitted.parents.tolist()])
    assert (law == 0).sum() > 8
    assert p_value(fitted.sample(DRAWS, rng=rng(2)), law) > 1e-3


@pytest.mark.parametrize(("max_group", "largest"), [(1, 1), (2, 2), (None, 3)])
def test_groups_sample_their_law(parents: np.ndarray, max_group: int | None, largest: int) -> None:
    fitted = ECGA(max_group=max_group).fit(parents, rng=rng())
    assert fitted.info["largest_group"] == largest
    assert p_value(fitted.sample(DRAWS, rng=rng(3)), group_law(parents, fitted.group)) > 1e-3


def learned(seed: int, rows: int, max_parents: int | None) -> tuple[np.ndarray, FittedBayesNet]:
    draw = rng(seed)
    x = draw.integers(0, 2, size=(rows, 6), dtype=np.uint8)
    x[:, 1] = x[:, 0] ^ (draw.random(rows) < 0.2)
    x[:, 4] = (x[:, 0] + x[:, 2] + x[:, 3] >= 2) ^ (draw.random(rows) < 0.1)
    x[:, 5] = x[:, 4] & (draw.random(rows) < 0.7)
    x = np.ascontiguousarray(x[:, draw.permutation(6)])
    return x, BayesNet(max_parents=max_parents).fit(x, rng=draw)


@pytest.mark.parametrize(("seed", "rows", "max_parents"), [(0, 40, None), (1, 400, None), (2, 400, 1), (3, 5000, None)])
def test_networks_sample_their_law(seed: int, rows: int, max_parents: int | None) -> None:
    x, net = learned(seed, rows, max_parents)
    assert net.info["edges"] >= 3
    law = conditional_law(x, [net.parents_of(i).tolist() for i in range(6)])
    assert p_value(net.sample(DRAWS, rng=rng(100 + seed)), law) > 1e-3


def test_the_chi_square_would_notice_a_slightly_different_law() -> None:
    x, net = learned(1, 400, None)
    drawn = net.sample(DRAWS, rng=rng(101))
    drawn[: DRAWS // 50, 0] ^= 1
    law = conditional_law(x, [net.parents_of(i).tolist() for i in range(6)])
    possible = np.where(law == 0, 1e-3, law)
    assert p_value(drawn, possible / possible.sum()) < 1e-6
