"""Samples of small trees and groups against their exact joint law: chi-square, fixed seeds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from daedal.models.ecga import ECGA, MarginalProduct
from daedal.models.tree import Forest, Tree

DRAWS = 200_000


def every_row(n: int) -> np.ndarray:
    return np.array(list(itertools.product((0, 1), repeat=n)), dtype=np.uint8)


def check_law(sample: np.ndarray, law: np.ndarray) -> None:
    """Refuse samples that have p < 1e-3 under the law, shape (2^n,), or a row of probability zero."""
    n = sample.shape[1]
    counts = np.bincount(sample @ (1 << np.arange(n)[::-1]), minlength=2**n)
    assert law.sum() == pytest.approx(1.0)
    possible = law > 0
    assert not counts[~possible].any()
    assert law[possible].min() * len(sample) >= 5, "a cell too small for the chi-square"
    assert chisquare(counts[possible], law[possible] / law.sum() * len(sample)).pvalue > 1e-3


def tree_law(x: np.ndarray, parents: list[int]) -> np.ndarray:
    """Multiply frequencies of the data, which are counted here anew."""
    rows = every_row(x.shape[1])
    law = np.ones(len(rows))
    for i, parent in enumerate(parents):
        for k, row in enumerate(rows):
            given = x if parent < 0 else x[x[:, parent] == row[parent]]
            law[k] *= (given[:, i] == row[i]).mean() if len(given) else 0.5
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
    rng = np.random.default_rng(11)
    x = (rng.random((600, 6)) < 0.4).astype(np.uint8)
    x[:, 3] = x[:, 0] ^ (rng.random(600) < 0.2)
    x[:, 5] = x[:, 3] ^ (rng.random(600) < 0.3)
    x[:, 4] = 1 - x[:, 1] ^ (rng.random(600) < 0.15)
    return x


@pytest.mark.parametrize(("significance", "edges"), [(0.0, 0), (1e-6, 3), (1.0, 5)])
def test_forests_sample_their_law(parents: np.ndarray, significance: float, edges: int) -> None:
    fitted = Tree(significance=significance).fit(parents, rng=np.random.default_rng(0))
    assert isinstance(fitted, Forest)
    assert fitted.info["edges"] == edges
    check_law(fitted.sample(DRAWS, rng=np.random.default_rng(1)), tree_law(parents, fitted.parents.tolist()))


def test_a_tree_with_impossible_rows_never_draws_them(parents: np.ndarray) -> None:
    x = parents[:, [0, 3, 5, 1]].copy()
    x[x[:, 0] == 1, 1] = 0
    x[:, 3] = 1
    fitted = Tree(significance=1.0).fit(x, rng=np.random.default_rng(0))
    check_law(fitted.sample(DRAWS, rng=np.random.default_rng(2)), tree_law(x, fitted.parents.tolist()))


@pytest.mark.parametrize(("max_group", "largest"), [(1, 1), (2, 2), (None, 3)])
def test_groups_sample_their_law(parents: np.ndarray, max_group: int | None, largest: int) -> None:
    fitted = ECGA(max_group=max_group).fit(parents, rng=np.random.default_rng(0))
    assert isinstance(fitted, MarginalProduct)
    assert fitted.info["largest_group"] == largest
    check_law(fitted.sample(DRAWS, rng=np.random.default_rng(3)), group_law(parents, fitted.group))
