"""The functions of the benchmarks: their optima by brute force, the counting, and the parts of P3."""

from __future__ import annotations

import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from all_rows import all_rows
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from counting import Counting, Spent
from instances import from_file, make
from linkage_kernels import average_linkage, count_pairs, distances
from p3 import p3

SMALL = [
    "trap:k=4,n=12",
    "steptrap:k=5,n=10",
    "overlap:k=5,n=12",
    "bimodal:k=6,n=12",
    "bimodal:k=10,n=10",
    "onemax:n=9",
    "hiff:n=8",
    "leadingones:n=9",
    "nkring:n=12,k=4",
    "nkexact:n=12,k=3",
    "sat:n=12",
]


@pytest.mark.parametrize("instance", [0, 1])
@pytest.mark.parametrize("name", SMALL)
def test_the_optimum_is_the_largest_value_and_the_solution_has_it(name: str, instance: int) -> None:
    function = make(name, instance)
    assert function.solution is not None
    assert function.evaluate(all_rows(function.n)).max() == pytest.approx(function.optimum, abs=1e-9)
    assert function.evaluate(function.solution[None])[0] == pytest.approx(function.optimum, abs=1e-9)


def test_a_knapsack_pays_for_what_it_cannot_carry() -> None:
    rng = np.random.default_rng([zlib.crc32(b"knapsack:n=12"), 0])
    profits, weights = rng.integers(10, 101, size=12), rng.integers(10, 101, size=12)
    x = all_rows(12).astype(int)
    excess = np.maximum(0.0, x @ weights - weights.sum() // 2)
    expected = x @ profits - (profits / weights).max() * excess
    assert make("knapsack:n=12").evaluate(all_rows(12)) == pytest.approx(expected)


def test_a_quadratic_function_counts_each_pair_once() -> None:
    matrix = np.triu(np.random.default_rng([zlib.crc32(b"qubo:n=8"), 0]).normal(size=(8, 8)))
    x = all_rows(8)
    assert make("qubo:n=8").evaluate(x) == pytest.approx(np.einsum("ri,ij,rj->r", x, matrix, x))


@pytest.mark.parametrize("name", ["nk_30_4.1", "spin_36_0", "spin_64_1", "spin_100_0"])
def test_the_solution_of_a_file_has_the_optimum_it_states(name: str, data_dir: Path) -> None:
    function = from_file(name, data_dir)
    assert function.solution is not None
    assert function.evaluate(function.solution[None])[0] == pytest.approx(function.optimum, abs=1e-6)
    if name == "nk_30_4.1":
        assert function.optimum == pytest.approx(23.107466, abs=1e-6)


def test_calls_are_rows_and_marks_are_exact() -> None:
    function = Counting(make("onemax:n=8,sd=0"), 5, 10, ends=False)
    rows = np.random.default_rng(1).integers(2, size=(7, 8))
    values = np.concatenate([function(rows), function(rows[:4] ^ 1)])
    assert (function.calls, function.batches) == (11, 2)
    assert [function.best_at(mark) for mark in range(1, 11)] == np.maximum.accumulate(values)[:10].tolist()
    assert function.best == values[:10].max()  # the eleventh came after the budget
    assert function.true_value(function.best_x) == function.best


def test_the_budget_ends_a_run_that_has_no_end_of_its_own() -> None:
    function = Counting(make("trap:k=5,n=50"), 1, 200)
    p3(function, 1)
    assert function.calls == 200
    with pytest.raises(Spent):
        function.one(np.zeros(50, dtype=np.uint8))


def test_noise_is_not_in_the_true_value() -> None:
    function = Counting(make("onemax:n=8,sd=2"), 1, 100)
    x = np.zeros((50, 8), dtype=np.uint8)
    values = function(x)
    assert len(set(values.tolist())) == 50
    assert function.true_value(x[0]) in range(9)


def test_average_linkage_gives_the_clusters_of_scipy() -> None:
    points = np.random.default_rng(3).random((30, 4))
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    theirs = linkage(squareform(distance, checks=False), method="average")
    merges, heights = average_linkage(distance.copy())
    assert np.sort(heights) == pytest.approx(theirs[:, 2])
    assert clusters(merges.astype(int)) == clusters(theirs[:, :2].astype(int))


def clusters(merges: np.ndarray) -> set[frozenset[int]]:
    found = [frozenset([i]) for i in range(len(merges) + 1)]
    for a, b in merges:
        found.append(found[a] | found[b])
    return set(found)


def test_distances_are_zero_for_copies_and_one_for_independent_variables() -> None:
    x = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]], dtype=np.uint8)
    counts = np.zeros((3, 3, 4), dtype=np.int64)
    for row in x:
        count_pairs(row, counts)
    assert distances(counts, 4) == pytest.approx(np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]]))


def test_p3_solves_a_trap_in_about_as_many_calls_as_published() -> None:
    calls = []
    for seed in range(30):
        function = Counting(make("trap:k=4,n=20"), seed, 20_000)
        p3(function, seed)
        assert function.calls_to_optimum is not None
        calls.append(function.calls_to_optimum)
    assert 777 * 0.7 < np.mean(calls) < 777 * 1.3  # standard error of 30 runs: about a tenth
