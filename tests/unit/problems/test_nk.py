"""NK landscapes: the sum, the drawing, the exact optimum."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from daedal.problems import NK, read_nk


def every_row(n: int) -> np.ndarray:
    return np.array(list(itertools.product((0, 1), repeat=n)), dtype=np.uint8)


def slow_nk(problem: NK, row: list[int]) -> float:
    total = 0.0
    for listed, table in zip(problem.neighbors.tolist(), problem.tables.tolist(), strict=True):
        total += table[int("".join(str(row[j]) for j in listed), 2)]
    return total


@pytest.mark.parametrize(("n", "k"), [(1, 0), (5, 0), (6, 2), (8, 4), (7, 6)])
def test_fitness_is_the_plain_sum(n: int, k: int) -> None:
    problem = NK.random(n, k, seed=n)
    x = every_row(n)
    assert problem.evaluate(x).tolist() == [slow_nk(problem, row) for row in x.tolist()]


def test_the_first_neighbor_is_the_most_significant_bit() -> None:
    tables = np.array([[0.0, 1.0, 2.0, 4.0], [0.0, 0.0, 0.0, 0.0]])
    problem = NK(np.array([[1, 0], [1, 0]]), tables)
    assert problem.evaluate(every_row(2)).tolist() == [0.0, 2.0, 1.0, 4.0]


@pytest.mark.parametrize("n", range(1, 11))
def test_optimum_agrees_with_brute_force_for_every_k(n: int) -> None:
    for k, seed in itertools.product(range(n), range(3)):
        problem = NK.random(n, k, seed)
        best = problem.evaluate(every_row(n)).max()
        assert problem.optimum == pytest.approx(best, abs=1e-12)
        assert problem.solution is not None
        assert problem.evaluate(problem.solution[None])[0] == problem.optimum


@pytest.mark.parametrize("values", [1, 3], ids=["all entries equal", "three values, also negative"])
@pytest.mark.parametrize("k", [0, 1, 3, 8, 11])
def test_optimum_with_ties_at_n_12(k: int, values: int) -> None:
    drawn = NK.random(12, k, seed=5)
    problem = NK(drawn.neighbors, np.floor(values * drawn.tables) - 1)
    assert problem.optimum == problem.evaluate(every_row(12)).max()
    assert problem.solution is not None
    assert problem.evaluate(problem.solution[None])[0] == problem.optimum


def test_optimum_of_the_papers_landscape(data_dir: Path) -> None:
    given = read_nk(data_dir / "nk" / "nk_30_4.1")
    assert given.known_optimum == pytest.approx(23.107466, abs=1e-6)
    assert given.optimum == given.known_optimum
    computed = NK(given.neighbors, given.tables)
    assert computed.optimum == pytest.approx(23.107466, abs=1e-6)
    assert given.solution is not None
    assert given.evaluate(given.solution[None])[0] == computed.optimum


def test_optimum_at_the_size_of_the_papers_largest() -> None:
    problem = NK.random(30, 5, seed=0)
    x = np.random.default_rng(0).integers(0, 2, size=(20_000, 30), dtype=np.uint8)
    assert problem.optimum is not None
    assert problem.optimum > problem.evaluate(x).max()
    row = problem.solution
    assert row is not None
    flipped = row ^ np.eye(30, dtype=np.uint8)
    assert problem.evaluate(flipped).max() <= problem.optimum


def test_an_optimum_that_is_too_expensive_is_unknown_unless_it_is_stated() -> None:
    problem = NK.random(200, 6, seed=0)
    assert problem.optimum is None
    assert problem.solution is None
    assert problem.quick_optimum() is None
    assert NK(problem.neighbors, problem.tables, known_optimum=150.0).optimum == 150.0


def test_drawing_depends_on_the_seed_alone() -> None:
    first, again, other = NK.random(20, 4, 7), NK.random(20, 4, 7), NK.random(20, 4, 8)
    assert np.array_equal(first.neighbors, again.neighbors)
    assert np.array_equal(first.tables, again.tables)
    assert not np.array_equal(first.neighbors, other.neighbors)
    assert not np.array_equal(first.tables, other.tables)


def test_each_variable_comes_first_among_distinct_neighbors_drawn_from_all() -> None:
    problem = NK.random(12, 5, seed=1)
    assert problem.neighbors[:, 0].tolist() == list(range(12))
    assert all(len(set(row)) == 6 for row in problem.neighbors.tolist())
    assert set(problem.neighbors[:, 1:].ravel().tolist()) == set(range(12))
    assert problem.tables.shape == (12, 64)
    assert 0 <= problem.tables.min() < 0.02
    assert 0.98 < problem.tables.max() < 1
    assert repr(problem) == "NK(n=12, k=5)"


def test_arrays_are_copied_and_read_only() -> None:
    neighbors, tables = np.array([[0]]), np.array([[0.0, 1.0]])
    problem = NK(neighbors, tables)
    tables[0, 0] = 9.0
    neighbors[0, 0] = 99
    assert problem.optimum == 1.0
    with pytest.raises(ValueError, match="read-only"):
        problem.tables[0, 0] = 9.0
    with pytest.raises(ValueError, match="read-only"):
        problem.neighbors[0, 0] = 9


@pytest.mark.parametrize(
    ("n", "k", "seed", "says"),
    [
        (0, 0, 0, "expected n of nk .* at least 1, got n=0"),
        (5, -1, 0, "expected k of nk .* at least 0, got k=-1"),
        (5, 5, 0, "k < n, got k=5, n=5; try k=4"),
        (5, 2, -1, "expected seed of nk .* at least 0, got seed=-1"),
        (5, 2, 0.5, "got seed=0.5"),
        (40, 39, 0, "4 GiB, got n=40, k=39; try k=22"),
        (10**13, 10**12, 0, "try a smaller n"),
    ],
)
def test_bad_sizes_are_refused(n: int, k: int, seed: int, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        NK.random(n, k, seed)


@pytest.mark.parametrize(
    ("neighbors", "tables", "says"),
    [
        ([[0.0], [1.0]], np.zeros((2, 2)), "integers"),
        ([0, 1], np.zeros((2, 2)), "integers"),
        ([[0], [2]], np.zeros((2, 2)), r"0..1, got 0..2"),
        ([[0], [-1]], np.zeros((2, 2)), r"0..1, got -1..0"),
        ([[0, 1], [1, 1]], np.zeros((2, 4)), r"variable 1, got \[1, 1\]"),
        ([[0], [1]], np.zeros((2, 4)), r"shape \(2, 2\), got shape=\(2, 4\)"),
        ([[0], [1]], np.array([["a", "b"]] * 2), "tables of numbers"),
        ([[0], [1]], np.array([[0, 1], [np.nan, 1]]), "finite"),
    ],
)
def test_bad_arrays_are_refused(neighbors: list[object], tables: np.ndarray, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        NK(np.array(neighbors), tables)


def test_a_bad_known_optimum_is_refused() -> None:
    problem = NK.random(4, 1, seed=0)
    with pytest.raises(ValueError, match="nan"):
        NK(problem.neighbors, problem.tables, known_optimum=float("nan"))


def test_entries_that_are_no_bits_cannot_lead_out_of_the_tables() -> None:
    problem = NK.random(4, 3, seed=0)
    assert problem.evaluate(np.full((1, 4), 255, np.uint8)) == problem.evaluate(np.ones((1, 4), np.uint8))
