"""How candidates enter the population: beside the parents, or by restricted tournaments."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

import daedal
from daedal.kernels.replacement import distance, restricted_tournament
from daedal.limits import Limits, StopReason
from daedal.models import UMDA, BayesNet
from daedal.models.base import Model
from daedal.optimizers.eda import EDA
from daedal.optimizers.replacement import REPLACEMENTS, Scored, keep_parents, rtr
from daedal.problems import HIFF
from daedal.rng import words32
from daedal.types import Bits, Fitness


def scored(rng: np.random.Generator, rows: int, n: int, levels: int = 5) -> Scored:
    """Random rows with few different values, so that many are equal."""
    return rng.integers(0, 2, (rows, n), dtype=np.uint8), rng.integers(0, levels, rows).astype(np.float64)


def slow_tournament(
    population: Bits, fitness: Fitness, rows: Bits, values: Fitness, words: NDArray[np.uint32], window: int
) -> Scored:
    """The kernel's twin: what it says, with whole numbers and lists."""
    population, fitness = population.copy(), fitness.copy()
    for r, (row, value) in enumerate(zip(rows, values, strict=True)):
        drawn = [int(word) * len(population) // 2**32 for word in words[r * window : (r + 1) * window]]
        nearest = min(drawn, key=lambda member: np.count_nonzero(population[member] != row))  # the first of equals
        if value > fitness[nearest]:
            population[nearest], fitness[nearest] = row, value
    return population, fitness


def copies(both: Scored) -> Scored:
    return both[0].copy(), both[1].copy()


def same(one: Scored, other: Scored) -> bool:
    return np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1])


def word(member: int, size: int) -> int:
    """Give a word that draws this member."""
    return -(-member * 2**32 // size)


# The kernel


def test_the_distance_counts_the_places_that_differ() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 8, 31, 300, 70_000):
        a, b = rng.integers(0, 2, (2, n), dtype=np.uint8)
        assert distance(a, b) == np.count_nonzero(a != b)
        assert distance(a, a) == 0
        assert distance(a, a ^ 1) == n


def test_the_kernel_agrees_with_its_slow_twin() -> None:
    rng = np.random.default_rng(1)
    changed = 0
    for _ in range(400):
        size, n, k, window = (int(rng.integers(1, most)) for most in (40, 12, 40, 9))
        population, candidates = scored(rng, size, n), scored(rng, k, n)
        words = rng.integers(0, 2**32, k * window, dtype=np.uint32)
        expected = slow_tournament(*population, *candidates, words, window)
        done = copies(population)
        restricted_tournament(*done, *candidates, words, window)
        assert same(done, expected)
        changed += not same(done, population)
    assert changed > 200


def test_the_lowest_and_the_highest_word_draw_the_first_and_the_last_member() -> None:
    for size in (1, 2, 3, 7, 1000, 65_537):
        population, fitness = np.zeros((size, 1), dtype=np.uint8), np.zeros(size)
        words = np.array([0, 2**32 - 1], dtype=np.uint32)
        restricted_tournament(population, fitness, np.ones((2, 1), dtype=np.uint8), np.array([1.0, 2.0]), words, 1)
        assert (fitness[0], fitness[-1]) == ((1.0, 2.0) if size > 1 else (2.0, 2.0))
        assert np.count_nonzero(fitness) == min(size, 2)


@pytest.mark.parametrize(("value", "enters"), [(0.9, False), (1.0, False), (1.0 + 1e-15, True), (-np.inf, False)])
def test_only_a_strictly_better_row_replaces(value: float, enters: bool) -> None:
    population, fitness = np.zeros((1, 3), dtype=np.uint8), np.ones(1)
    row = np.array([[1, 0, 1]], dtype=np.uint8)
    restricted_tournament(population, fitness, row, np.array([value]), np.zeros(4, dtype=np.uint32), 4)
    assert population.tolist() == (row if enters else np.zeros((1, 3))).tolist()
    assert fitness[0] == (value if enters else 1.0)


def test_anything_feasible_replaces_what_is_not() -> None:
    population, fitness = np.zeros((1, 2), dtype=np.uint8), np.array([-np.inf])
    row, words = np.ones((1, 2), dtype=np.uint8), np.zeros(1, dtype=np.uint32)
    restricted_tournament(population, fitness, row, np.array([-np.inf]), words, 1)
    assert population.tolist() == [[0, 0]]
    restricted_tournament(population, fitness, row, np.array([-1e300]), words, 1)
    assert (population.tolist(), fitness.tolist()) == ([[1, 1]], [-1e300])


def test_the_nearest_competes_and_not_the_worst() -> None:
    population = np.array([[0, 0, 0, 0], [1, 1, 1, 0], [1, 0, 0, 0]], dtype=np.uint8)
    row = np.ones((1, 4), dtype=np.uint8)
    words = np.array([word(member, 3) for member in (0, 2, 1)], dtype=np.uint32)
    fitness = np.array([0.0, 5.0, 0.0])
    restricted_tournament(population, fitness, row, np.array([4.0]), words, 3)
    assert fitness.tolist() == [0.0, 5.0, 0.0]  # its neighbour is better, and the far ones are safe from it
    restricted_tournament(population, fitness, row, np.array([6.0]), words, 3)
    assert fitness.tolist() == [0.0, 6.0, 0.0]
    assert population.tolist() == [[0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]]


@pytest.mark.parametrize("drawn", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (3, 2, 0)])
def test_of_equally_near_members_the_first_drawn_competes(drawn: tuple[int, ...]) -> None:
    population = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], dtype=np.uint8)  # members 0 to 2: 1 from 000
    fitness = np.zeros(4)
    words = np.array([word(member, 4) for member in drawn], dtype=np.uint32)
    restricted_tournament(population, fitness, np.zeros((1, 3), dtype=np.uint8), np.ones(1), words, 3)
    assert np.flatnonzero(fitness).tolist() == [next(member for member in drawn if member != 3)]


def test_rows_come_one_after_the_other() -> None:
    """The second row meets the first one, which has entered, and not the member that it replaced."""
    population, fitness = np.zeros((1, 2), dtype=np.uint8), np.zeros(1)
    rows = np.array([[1, 1], [0, 1]], dtype=np.uint8)
    restricted_tournament(population, fitness, rows, np.array([2.0, 1.0]), np.zeros(2, dtype=np.uint32), 1)
    assert (population.tolist(), fitness.tolist()) == ([[1, 1]], [2.0])


# The strategies


def test_parents_and_candidates_follow_each_other() -> None:
    rng = np.random.default_rng(2)
    population, parents, candidates = scored(rng, 8, 5), scored(rng, 4, 5), scored(rng, 3, 5)
    rows, fitness = keep_parents(population, parents, candidates, rng)
    assert rows.tolist() == parents[0].tolist() + candidates[0].tolist()
    assert fitness.tolist() == parents[1].tolist() + candidates[1].tolist()


@pytest.mark.parametrize(
    ("popsize", "n", "window"),
    [
        (2, 9, 1),
        (19, 9, 1),
        (39, 9, 1),
        (40, 9, 2),
        (179, 9, 8),
        (180, 9, 9),
        (4000, 9, 9),
        (4000, 1, 1),
        (900, 300, 45),
    ],
)
def test_the_window_is_n_or_a_twentieth_of_the_population(popsize: int, n: int, window: int) -> None:
    rng = np.random.default_rng(popsize + n)
    population, candidates = scored(rng, popsize, n), scored(rng, 30, n)
    words = words32(np.random.default_rng(3), 30 * window)
    done = rtr(population, population, candidates, np.random.default_rng(3))
    assert same(done, slow_tournament(*population, *candidates, words, window))


@pytest.mark.parametrize("name", sorted(REPLACEMENTS))
def test_nothing_that_is_given_is_changed_or_given_back(name: str) -> None:
    rng = np.random.default_rng(4)
    given = [scored(rng, 60, 6), scored(rng, 30, 6), scored(rng, 30, 6)]
    given[2] = given[2][0], given[2][1] + 10.0  # better than all
    before = [copies(both) for both in given]
    done = REPLACEMENTS[name](given[0], given[1], given[2], rng)
    done[0][...], done[1][...] = 7, 7.0
    assert all(same(now, then) for now, then in zip(given, before, strict=True))


def test_rtr_does_not_look_at_the_parents() -> None:
    rng = np.random.default_rng(5)
    population, candidates = scored(rng, 40, 6), scored(rng, 20, 6)
    done = [rtr(population, parents, candidates, np.random.default_rng(6)) for parents in (population, candidates)]
    assert same(*done)


# The loop


def generations(eda: EDA, f: Callable[[Bits], Fitness]) -> Iterator[Bits]:
    """Run to the end; give the population of each generation, in the objective's coding."""
    while eda.stop is None:
        eda.tell(f(eda.ask()))
        yield eda._population[0] ^ eda._mask


def two_peaks(x: Bits) -> Fitness:
    return np.abs(x.sum(axis=1) - x.shape[1] / 2.0)


@pytest.mark.parametrize("popsize", [2, 3, 7, 50, 101])
@pytest.mark.parametrize("model", [UMDA(), BayesNet()], ids=["umda", "boa"])
def test_the_population_keeps_its_size_and_its_best(model: Model, popsize: int) -> None:
    limits = Limits(max_generations=25)
    eda = EDA(n=9, model=model, popsize=popsize, seed=7, limits=limits, replacement="rtr")
    best = -np.inf
    for population in generations(eda, two_peaks):
        assert population.shape == (popsize, 9)
        fitness = two_peaks(population)
        assert np.array_equal(fitness, eda._population[1])  # rows and values move together
        assert eda.best is not None
        assert fitness.max() == eda.best.fitness
        assert fitness.max() >= best
        best = fitness.max()


def test_the_same_seed_gives_the_same_populations() -> None:
    def populations(seed: int) -> list[bytes]:
        eda = EDA(n=12, model=UMDA(), popsize=80, seed=seed, limits=Limits(max_generations=8), replacement="rtr")
        return [population.tobytes() for population in generations(eda, two_peaks)]

    assert populations(1) == populations(1)
    assert populations(1) != populations(2)


@pytest.mark.parametrize("algorithm", sorted(daedal.algorithms()))
def test_every_algorithm_runs_with_rtr(algorithm: str) -> None:
    def run(replacement: str) -> daedal.Result:
        return daedal.maximize(
            "onemax:n=12", algorithm=algorithm, popsize=100, seed=1, patience=20, replacement=replacement
        )

    result = run("rtr")
    assert result.settings["replacement"] == "rtr"
    assert result.stop in (StopReason.TARGET, StopReason.CONVERGED, StopReason.PATIENCE)
    assert result.fitness == result.x.sum()
    assert result.fitness >= 11
    again, other = run("rtr"), run("parents")
    assert [record.mean for record in again.history] == [record.mean for record in result.history]
    assert [record.mean for record in other.history] != [record.mean for record in result.history]


def test_niching_keeps_both_optima_of_hiff() -> None:
    """Both have the same fitness: what drift takes from the one without niching, it cannot take with it."""

    def rarer_optimum(replacement: str, seed: int) -> int:
        limits = Limits(max_generations=40)
        eda = EDA(n=16, model=BayesNet(), popsize=200, seed=seed, limits=limits, replacement=replacement)
        *_, last = generations(eda, HIFF(n=16).evaluate)
        ones = last.sum(axis=1)
        return min(np.count_nonzero(ones == 0), np.count_nonzero(ones == 16))

    assert all(rarer_optimum("rtr", seed) >= 40 for seed in range(10))
    assert sum(rarer_optimum("parents", seed) >= 40 for seed in range(10)) < 5
    assert sum(rarer_optimum("parents", seed) == 0 for seed in range(10)) > 0


def test_hboa_is_boa_with_rtr() -> None:
    how = {"popsize": 200, "seed": 3, "max_generations": 5}
    hboa = daedal.maximize("hiff:n=16", algorithm="hboa", **how)  # type: ignore[arg-type]
    boa = daedal.maximize("hiff:n=16", algorithm="boa", replacement="rtr", **how)  # type: ignore[arg-type]
    assert hboa.settings == boa.settings
    assert [record.mean for record in hboa.history] == [record.mean for record in boa.history]


def test_an_unknown_replacement_is_refused_with_the_known_ones() -> None:
    says = r"expected replacement to be one of parents, rtr, got replacement='best'"
    with pytest.raises(ValueError, match=says):
        EDA(n=5, model=UMDA(), popsize=10, replacement="best")
    with pytest.raises(ValueError, match=r"expected replacement of umda to be parents or rtr, got replacement=best"):
        daedal.maximize("onemax:n=5", algorithm="umda", replacement="best")
    with pytest.raises(ValueError, match=r"expected replacement of Rules to be parents or rtr, got replacement=best"):
        daedal.Rules(replacement="best")  # type: ignore[arg-type]
