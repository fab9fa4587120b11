"""The linkage tree against SciPy's, and against entropies counted one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from daedal.optimizers.row_memory import pack, unpack
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from daedal.kernels.linkage import average_linkage, columns_of, information_distances, linkage_groups
from daedal.types import Bits


def entropy(symbols: list[object]) -> float:
    counts = np.array(list(Counter(symbols).values())) / len(symbols)
    return float(-(counts * np.log(counts)).sum())


def groups_of(rows: Bits, seed: int = 1) -> list[frozenset[int]]:
    n = rows.shape[1]
    masks = np.empty((2 * n, -(-n // 64)), np.uint64)
    count = linkage_groups(pack(rows), n, np.empty(0, np.int64), np.array([seed], np.uint64), masks)
    return [frozenset(np.flatnonzero(row).tolist()) for row in unpack(masks[:count], n)]


@pytest.mark.parametrize(("rows", "n"), [(1, 3), (7, 10), (64, 70), (130, 65)])
def test_distances_are_those_of_entropies(rows: int, n: int) -> None:
    x = np.random.default_rng(rows).integers(0, 2, (rows, n), dtype=np.uint8)
    x[:, 1] = 1 - x[:, 0]  # one tells the other
    distances = information_distances(columns_of(pack(x), np.arange(n)), rows)
    columns = [x[:, i].tolist() for i in range(n)]
    for i in range(n):
        for j in range(i):
            joint = entropy(list(zip(columns[i], columns[j], strict=True)))
            expected = 2 - (entropy(columns[i]) + entropy(columns[j])) / joint if joint > 1e-12 else 0.0
            assert distances[i, j] == distances[j, i] == pytest.approx(expected, abs=1e-12)
    assert distances[0, 1] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 10, 50])
def test_the_tree_is_that_of_scipy(n: int) -> None:
    for seed in range(10):
        distances = np.random.default_rng([n, seed]).random((n, n))
        distances = np.triu(distances, 1) + np.triu(distances, 1).T
        merges, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
        average_linkage(distances.copy(), merges, heights)
        assert tree(n, merges.tolist(), heights) == tree_of_scipy(n, distances)


def tree(n: int, merges: list[list[int]], heights: np.ndarray) -> dict[frozenset[int], float]:
    groups = [frozenset([i]) for i in range(n)]
    found = {}
    for (a, b), height in zip(merges, heights.tolist(), strict=True):
        groups.append(groups[a] | groups[b])
        found[groups[-1]] = round(height, 10)
    return found


def tree_of_scipy(n: int, distances: np.ndarray) -> dict[frozenset[int], float]:
    joined = linkage(squareform(distances, checks=False), "average")
    return tree(n, joined[:, :2].astype(int).tolist(), joined[:, 2])


def test_groups_come_smallest_first_without_the_whole() -> None:
    x = np.random.default_rng(3).integers(0, 2, (40, 12), dtype=np.uint8)
    groups = groups_of(x)
    sizes = [len(group) for group in groups]
    assert sizes == sorted(sizes)
    assert len(groups) == 2 * 12 - 2
    assert {frozenset([i]) for i in range(12)} <= set(groups)
    assert max(sizes) < 12


def test_what_is_never_told_apart_is_not_split() -> None:
    rng = np.random.default_rng(4)
    blocks = rng.integers(0, 2, (60, 4), dtype=np.uint8)
    order = rng.permutation(12)
    x = np.repeat(blocks, 3, axis=1)[:, order] ^ rng.integers(0, 2, 12, dtype=np.uint8)  # complements tell as much
    planted = [frozenset(np.flatnonzero(order // 3 == block).tolist()) for block in range(4)]
    groups = groups_of(x)
    assert set(planted) <= set(groups)
    assert not any(group < block for group in groups for block in planted)


def test_ties_are_broken_by_the_random_words() -> None:
    x = np.random.default_rng(5).integers(0, 2, (4, 20), dtype=np.uint8)
    assert groups_of(x, seed=1) == groups_of(x, seed=1)
    assert groups_of(x, seed=1) != groups_of(x, seed=2)


def test_one_variable_has_no_groups_and_many_are_dealt_out_to_several_trees() -> None:
    assert groups_of(np.array([[0], [1]], np.uint8)) == []
    groups = groups_of(np.random.default_rng(6).integers(0, 2, (6, 2100), dtype=np.uint8))
    assert max(map(len, groups)) <= 1050
    assert len(frozenset().union(*groups)) == 2100
