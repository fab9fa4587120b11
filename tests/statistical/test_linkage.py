"""What a page says of a run is true: blocks are found and named, pairs are, and where there is nothing it says so."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import daedal
from daedal.result.variables import NO_INTERACTIONS, Linkage, linkage_of

LEAST_INDEX, LEAST_SEEDS, SEEDS = 0.9, 2, range(3)


def groups_of(linkage: Linkage | None, n: int) -> NDArray[np.int64]:
    """Number the groups, shape (n,); a variable that is in none is one by itself."""
    labels = -1 - np.arange(n)
    for number, group in enumerate(() if linkage is None else linkage.groups):
        labels[list(group)] = number
    return labels


def adjusted_rand(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Give the adjusted Rand index of two partitions (Hubert and Arabie, 1985): 1 where they are the same."""
    table = np.array([[np.sum((one == a) & (other == b)) for b in np.unique(other)] for a in np.unique(one)])

    def pairs(counts: NDArray[np.int64]) -> float:
        return float((counts * (counts - 1) / 2).sum())

    both, rows, columns = pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0))
    expected = rows * columns / (len(one) * (len(one) - 1) / 2)
    return (both - expected) / ((rows + columns) / 2 - expected)


def test_the_index_is_that_of_the_literature() -> None:
    assert adjusted_rand(np.array([0, 0, 1, 1]), np.array([5, 5, 7, 7])) == 1
    assert adjusted_rand(np.array([0, 0, 1, 2]), np.array([0, 0, 1, 1])) == pytest.approx(0.5714285714)


@pytest.mark.parametrize("algorithm", ["auto", "boa", "dae"])
def test_the_blocks_of_a_trap(algorithm: str) -> None:
    """In shuffled variables, with nothing set."""
    truth, indices = np.arange(50) // 5, []
    for seed in SEEDS:
        result = daedal.maximize("trap:k=5,n=50", algorithm=algorithm, seed=seed)
        indices.append(adjusted_rand(groups_of(linkage_of(result.trace), 50), truth))
        if min(LEAST_SEEDS, len(indices)) == sum(index >= LEAST_INDEX for index in indices) == LEAST_SEEDS:
            return  # the others cannot change it
    pytest.fail(f"indices {np.round(indices, 3)}")


@pytest.mark.parametrize("algorithm", ["auto", "boa"])
def test_the_pairs_of_hiff(algorithm: str) -> None:
    result = daedal.maximize("hiff:n=64", algorithm=algorithm, seed=1)
    labels = groups_of(linkage_of(result.trace), 64)
    assert np.mean(labels[0::2] == labels[1::2]) >= 0.9


@pytest.mark.parametrize("algorithm", ["auto", "umda", "dae"])
def test_in_onemax_nothing_interacts(algorithm: str) -> None:
    linkage = linkage_of(daedal.maximize("onemax:n=50", algorithm=algorithm, seed=1).trace)
    assert linkage is not None
    assert linkage.sentences([f"x{i}" for i in range(50)]) == [NO_INTERACTIONS]
