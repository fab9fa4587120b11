"""The loop, with a model that only remembers what it was given."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import pytest

from daedal.limits import Limits, StopReason
from daedal.models import UMDA
from daedal.models.base import Fitted, Model
from daedal.optimizers.eda import EDA, default_popsize
from daedal.optimizers.selection import SELECTIONS
from daedal.rng import Stream, stream
from daedal.types import Bits, Fitness

ENDLESS = Limits()


@dataclass(frozen=True, kw_only=True)
class Remembered(Fitted):
    draw: Callable[[int, np.random.Generator], Bits]
    samples: list[Bits]

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        self.samples.append(self.draw(rows, rng))
        return self.samples[-1].copy()


@dataclass(frozen=True, kw_only=True)
class Recorder(Model):
    """Remembers what it was fitted to; samples uniform rows, or copies of the best parent."""

    copies: bool = False
    parents: list[Bits] = field(default_factory=list)
    samples: list[Bits] = field(default_factory=list)
    previous: list[Fitted | None] = field(default_factory=list)
    fits: list[Fitted] = field(default_factory=list)

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> Fitted:
        assert x.dtype == np.uint8
        assert x.flags.c_contiguous
        self.parents.append(x.copy())
        self.previous.append(previous)

        def draw(rows: int, rng: np.random.Generator) -> Bits:
            if self.copies:
                return np.repeat(x[:1], rows, axis=0)
            return rng.integers(0, 2, (rows, x.shape[1]), dtype=np.uint8)

        self.fits.append(Remembered(draw=draw, samples=self.samples, info={"fit": float(len(self.fits))}))
        return self.fits[-1]


def value(x: Bits) -> Fitness:
    """A different value for each row: the bits as a number."""
    return (x @ (2.0 ** np.arange(x.shape[1]))).astype(np.float64)


def run(eda: EDA, f: Callable[[Bits], Fitness], tells: int = 10**6) -> list[Bits]:
    asked = []
    while eda.stop is None and len(asked) < tells:
        asked.append(eda.ask())
        eda.tell(f(asked[-1]))
    return asked


def texts(x: Iterable[Iterable[int]]) -> list[tuple[int, ...]]:
    return [tuple(int(bit) for bit in row) for row in x]


# The population


@pytest.mark.parametrize("found", range(5))
@pytest.mark.parametrize("popsize", [4, 10, 100])
def test_evaluations_to_the_best_are_p_plus_g_times_half_p(popsize: int, found: int) -> None:
    eda = EDA(n=12, model=Recorder(), popsize=popsize, seed=1, limits=Limits(max_generations=5))
    for generation in range(6):
        rows = eda.ask()
        assert len(rows) == (popsize if generation == 0 else popsize // 2)
        eda.tell(np.full(len(rows), 1.0 if generation >= found else -1.0 - generation))
    assert eda.stop is StopReason.GENERATIONS
    assert eda.best is not None
    assert eda.best.generation == found
    assert eda.best.evaluations == popsize + found * popsize // 2


@pytest.mark.parametrize(("popsize", "parents", "candidates"), [(2, 1, 1), (3, 1, 2), (5, 2, 3), (7, 3, 4), (8, 4, 4)])
def test_odd_sizes_give_one_candidate_more(popsize: int, parents: int, candidates: int) -> None:
    model = Recorder()
    asked = run(EDA(n=10, model=model, popsize=popsize, seed=3, limits=ENDLESS), value, tells=2)
    assert [len(rows) for rows in asked] == [popsize, candidates]
    assert [len(rows) for rows in model.parents] == [parents]


def test_the_first_rows_are_uniform_bits() -> None:
    rows = EDA(n=50, model=Recorder(), popsize=2000, seed=0).ask()
    assert rows.shape == (2000, 50)
    assert rows.dtype == np.uint8
    assert set(np.unique(rows)) == {0, 1}
    # 100,000 fair bits: 5 standard deviations are 0.0079 of all, 0.056 of one variable.
    assert abs(rows.mean() - 0.5) < 0.0079
    assert np.abs(rows.mean(axis=0) - 0.5).max() < 0.056
    assert len(np.unique(rows, axis=0)) == 2000


def test_parents_are_best_first() -> None:
    model = Recorder()
    eda = EDA(n=16, model=model, popsize=40, seed=5, limits=ENDLESS)
    run(eda, value, tells=6)
    for parents in model.parents:
        fitness = value(parents ^ eda._mask)
        assert np.all(np.diff(fitness) <= 0)


def test_parents_and_candidates_are_the_next_population() -> None:
    model = Recorder()
    eda = EDA(n=16, model=model, popsize=40, seed=6, limits=ENDLESS)
    run(eda, value, tells=6)
    for before, sampled, after in zip(model.parents, model.samples, model.parents[1:], strict=False):
        pool = texts(before) + texts(sampled)
        for row in texts(after):
            pool.remove(row)  # each is there, as often as it was there
        assert set(texts(before)) & set(texts(after))
        assert set(texts(sampled)) & set(texts(after))


def test_the_best_parent_survives_worse_candidates() -> None:
    model = Recorder()
    eda = EDA(n=16, model=model, popsize=20, seed=7, limits=ENDLESS)
    eda.tell(value(eda.ask()))
    for generation in range(4):
        eda.tell(np.full(len(eda.ask()), -1.0 - generation))
    best = model.parents[0][0].tolist()
    assert all(parents[0].tolist() == best for parents in model.parents)


@pytest.mark.parametrize("selection", sorted(SELECTIONS))
@pytest.mark.parametrize("popsize", [9, 20])
def test_a_run_agrees_with_algorithm_1_written_down(selection: str, popsize: int) -> None:
    n, seed, model = 14, 8, UMDA()
    mask = stream(seed, Stream.MASK).integers(0, 2, n, dtype=np.uint8)
    population = stream(seed, Stream.START).integers(0, 2, (popsize, n), dtype=np.uint8)
    expected = [population ^ mask]
    fitness = value(population ^ mask)
    for g in range(1, 6):
        chosen = SELECTIONS[selection](fitness, stream(seed, Stream.SELECT, g - 1)).tolist()
        chosen.sort(key=lambda i: -fitness[i])
        parents, parents_fitness = population[chosen], fitness[chosen]
        fitted = model.fit(parents, rng=stream(seed, Stream.FIT, g))
        candidates = fitted.sample(popsize - popsize // 2, rng=stream(seed, Stream.SAMPLE, g))
        expected.append(candidates ^ mask)
        population = np.vstack([parents, candidates])
        fitness = np.concatenate([parents_fitness, value(candidates ^ mask)])
    eda = EDA(n=n, model=model, popsize=popsize, seed=seed, limits=ENDLESS, selection=selection)
    asked = run(eda, value, tells=6)
    assert all(np.array_equal(a, b) for a, b in zip(asked, expected, strict=True))


# The mask


def test_the_model_sees_another_coding_than_the_objective() -> None:
    model = Recorder()
    eda = EDA(n=16, model=model, popsize=20, seed=9, limits=ENDLESS)
    asked = run(eda, value, tells=6)
    masks = np.vstack([inner ^ outer for inner, outer in zip(model.samples, asked[1:], strict=True)])
    assert (masks == masks[0]).all()
    assert 0 < masks[0].sum() < 16
    known = set(texts(np.vstack(asked)))
    for parents in model.parents:
        assert set(texts(parents ^ masks[0])) <= known
    assert eda.best is not None
    assert tuple(eda.best.x.tolist()) in known
    assert value(eda.best.x[None])[0] == eda.best.fitness == value(np.vstack(asked)).max()


def test_the_mask_is_drawn_from_the_seed() -> None:
    masks = np.array([EDA(n=20, model=UMDA(), popsize=2, seed=seed)._mask for seed in range(200)])
    assert len(np.unique(masks, axis=0)) == 200
    assert np.abs(masks.mean(axis=0) - 0.5).max() < 0.18  # 5 standard deviations of 200 fair bits
    assert np.array_equal(masks[3], EDA(n=20, model=Recorder(), popsize=50, seed=3)._mask)


def test_a_model_that_loves_zeros_neither_gains_nor_loses() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Zeros(Fitted):
        n: int

        def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
            return np.zeros((rows, self.n), dtype=np.uint8)

    @dataclass(frozen=True, kw_only=True)
    class LovesZeros(Model):
        def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> Fitted:
            return Zeros(n=x.shape[1])

    seen = set()
    for seed in range(40):
        eda = EDA(n=2, model=LovesZeros(), popsize=4, seed=seed, limits=ENDLESS)
        eda.tell(value(eda.ask()))
        seen |= set(texts(eda.ask()))
    assert seen == {(0, 0), (0, 1), (1, 0), (1, 1)}


# The model


def test_the_model_gets_its_previous_fit_and_its_own_streams() -> None:
    model = Recorder()
    eda = EDA(n=8, model=model, popsize=12, seed=1, limits=ENDLESS)
    run(eda, value, tells=5)
    assert len(model.fits) == 4
    assert model.previous[0] is None
    assert all(given is made for given, made in zip(model.previous[1:], model.fits, strict=False))
    assert len({rows.tobytes() for rows in model.samples}) == 4


def test_the_record_tells_how_the_generation_went() -> None:
    eda = EDA(n=8, model=Recorder(), popsize=12, seed=1, limits=ENDLESS)
    assert eda.last is None
    assert eda.best is None
    eda.ask()
    eda.tell(np.arange(12.0))
    assert eda.last is not None
    assert (eda.last.generation, eda.last.evaluations, eda.last.best, eda.last.mean) == (0, 12, 11.0, 5.5)
    assert eda.last.info == {}
    eda.ask()
    eda.tell(np.array([-np.inf, 1.0, 2.0, 3.0, 4.0, 5.0]))
    assert (eda.last.generation, eda.last.evaluations, eda.last.best, eda.last.mean) == (1, 18, 11.0, 3.0)
    assert eda.last.info == {"fit": 0.0}


# The end


def test_target() -> None:
    for short, stop in ((0.0, StopReason.TARGET), (0.9e-6, StopReason.TARGET), (1.1e-6, None)):
        eda = EDA(n=8, model=Recorder(), popsize=4, seed=1, limits=Limits(target=5.0))
        eda.ask()
        eda.tell(np.array([0.0, 5.0 - short, 1.0, 2.0]))
        assert eda.stop is stop


@pytest.mark.parametrize("patience", [1, 3])
def test_patience_counts_generations_without_a_strictly_better_solution(patience: int) -> None:
    eda = EDA(n=30, model=Recorder(), popsize=20, seed=1, limits=Limits(patience=patience))
    bests = [1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0]
    told = 0
    for best in bests:
        if eda.stop is not None:
            break
        eda.tell(np.linspace(-1.0, best, len(eda.ask())))
        told += 1
    assert eda.stop is StopReason.PATIENCE
    assert told == {1: 3, 3: 8}[patience]


@pytest.mark.parametrize("most", [0, 1, 4])
def test_generations_are_counted_after_the_first(most: int) -> None:
    eda = EDA(n=30, model=Recorder(), popsize=20, seed=1, limits=Limits(max_generations=most))
    assert len(run(eda, value)) == most + 1
    assert eda.stop is StopReason.GENERATIONS


@pytest.mark.parametrize("most", [1, 2, 7, 10, 11, 14, 15, 16, 33])
def test_evaluations_end_exactly_there(most: int) -> None:
    eda = EDA(n=30, model=Recorder(), popsize=10, seed=1, limits=Limits(max_evaluations=most))
    asked = run(eda, value)
    assert sum(map(len, asked)) == most
    assert all(len(rows) > 0 for rows in asked)
    assert eda.stop is StopReason.EVALUATIONS
    assert eda.last is not None
    assert eda.last.evaluations == most
    assert eda.best is not None
    assert eda.best.fitness == value(np.vstack(asked)).max()
    assert eda.best.evaluations <= most


def test_a_cut_batch_is_the_beginning_of_the_whole_one() -> None:
    def first(**limits: int) -> Bits:
        return EDA(n=30, model=Recorder(), popsize=10, seed=1, limits=Limits(**limits)).ask()

    assert np.array_equal(first(max_evaluations=4), first()[:4])


def test_converged_when_all_winners_are_the_same_and_nothing_improved() -> None:
    """All parents are the same from the first generation on that copies win; the run ends where no value is better."""
    model = Recorder(copies=True)
    eda = EDA(n=30, model=model, popsize=8, seed=1, limits=ENDLESS)
    eda.tell(value(eda.ask()))
    best = 1e12
    for _ in range(8):  # every generation improves: no end, however alike the parents are
        best += 1
        eda.tell(np.full(len(eda.ask()), best))
        assert eda.stop is None
    assert len(np.unique(model.parents[-1], axis=0)) == 1
    eda.tell(np.full(len(eda.ask()), best))
    assert eda.stop is StopReason.CONVERGED


def test_not_converged_while_two_winners_differ() -> None:
    eda = EDA(n=30, model=Recorder(), popsize=8, seed=1, limits=ENDLESS)
    assert len(run(eda, lambda x: np.zeros(len(x)), tells=50)) == 50
    assert eda.stop is None


def test_equal_fitness_of_different_solutions_is_no_convergence_but_equal_solutions_are() -> None:
    model = Recorder(copies=True)
    eda = EDA(n=30, model=model, popsize=8, seed=2, limits=ENDLESS)
    run(eda, lambda x: np.zeros(len(x)), tells=500)
    assert eda.stop is StopReason.CONVERGED
    assert all(len(np.unique(parents, axis=0)) > 1 for parents in model.parents)  # and at the first chance


def test_a_limit_has_the_word_before_convergence() -> None:
    eda = EDA(n=1, model=Recorder(copies=True), popsize=2, seed=2, limits=Limits(max_generations=1))
    run(eda, lambda x: np.zeros(len(x)))
    assert eda.stop is StopReason.GENERATIONS


def test_limits_unless_told() -> None:
    assert EDA(n=5, model=UMDA(), popsize=4).limits == Limits(max_generations=150, patience=50)


# Ask and tell


def test_asked_twice_the_batch_is_the_same() -> None:
    model = Recorder()
    eda = EDA(n=20, model=model, popsize=10, seed=1, limits=ENDLESS)
    for _ in range(3):
        rows = eda.ask()
        assert np.array_equal(eda.ask(), rows)
        eda.tell(value(rows))
    assert len(model.fits) == 2


def test_the_caller_may_spoil_what_was_given_to_it_and_what_it_gave() -> None:
    def careful(x: Bits) -> Fitness:
        return value(x)

    kept: list[Fitness] = []

    def careless(x: Bits) -> Fitness:
        fitness = value(x)
        x[...] = 7
        kept.append(fitness)
        for told in kept[:-1]:
            told[...] = 1e9
        return fitness

    def history(f: Callable[[Bits], Fitness]) -> tuple[list[bytes], Fitness, bytes]:
        eda = EDA(n=20, model=UMDA(), popsize=10, seed=1, limits=ENDLESS)
        asked = []
        for _ in range(6):
            rows = eda.ask()
            asked.append(rows.tobytes())
            fitness = f(rows)
            eda.tell(fitness)
            if eda.stop is not None:
                break
            if f is careless:
                fitness[...] = -1e9
        assert eda.best is not None
        return asked, eda.best.fitness, eda.best.x.tobytes()  # type: ignore[return-value]

    assert history(careful) == history(careless)


def test_tell_leaves_the_callers_array_alone() -> None:
    eda = EDA(n=20, model=Recorder(), popsize=10, seed=1, limits=ENDLESS)
    fitness = value(eda.ask())
    before = fitness.copy()
    eda.tell(fitness)
    assert np.array_equal(fitness, before)


@pytest.mark.parametrize("kind", [list, tuple, lambda f: f.astype(np.int64), lambda f: f.astype(np.float32)])
def test_any_sequence_of_numbers_can_be_told(kind: Callable[[Fitness], object]) -> None:
    eda = EDA(n=5, model=Recorder(), popsize=10, seed=1, limits=ENDLESS)
    fitness = value(eda.ask())
    eda.tell(kind(fitness))  # type: ignore[arg-type]
    assert eda.best is not None
    assert eda.best.fitness == fitness.max()


def test_tell_without_ask_is_refused() -> None:
    eda = EDA(n=5, model=Recorder(), popsize=4, seed=1, limits=ENDLESS)
    with pytest.raises(ValueError, match=r"expected ask\(\) before tell\(\)"):
        eda.tell(np.zeros(4))
    eda.tell(value(eda.ask()))
    with pytest.raises(ValueError, match=r"expected ask\(\) before tell\(\)"):
        eda.tell(np.zeros(4))


@pytest.mark.parametrize(
    ("fitness", "says"),
    [
        (np.zeros(3), r"expected a fitness of shape \(4,\), got shape=\(3,\)"),
        (np.zeros((4, 1)), r"got shape=\(4, 1\)"),
        (1.0, r"got shape=\(\)"),
        ([0.0, math.nan, 0.0, 0.0], "expected numbers as fitness, got nan; use -inf"),
        (["a", "b", "c", "d"], "expected"),
        (["1", "2", "3", "4"], "expected"),
        (np.full(4, 1j), "expected"),
        (None, "expected"),
    ],
)
def test_a_bad_fitness_is_refused_and_the_batch_still_awaited(fitness: object, says: str) -> None:
    eda = EDA(n=5, model=Recorder(), popsize=4, seed=1, limits=ENDLESS)
    rows = eda.ask()
    with pytest.raises((ValueError, TypeError), match=says):
        eda.tell(fitness)  # type: ignore[arg-type]
    assert eda.best is None
    assert np.array_equal(eda.ask(), rows)
    eda.tell(value(rows))
    assert eda.last is not None
    assert eda.last.evaluations == 4


def test_asking_after_the_end_is_refused() -> None:
    eda = EDA(n=5, model=Recorder(), popsize=4, seed=1, limits=Limits(max_generations=0))
    eda.tell(value(eda.ask()))
    with pytest.raises(ValueError, match=r"expected a run that goes on, got one that has ended \(generations\)"):
        eda.ask()
    with pytest.raises(ValueError, match=r"expected ask\(\) before tell\(\)"):
        eda.tell(np.zeros(2))


def test_when_nothing_is_feasible_there_is_still_a_best() -> None:
    eda = EDA(n=12, model=Recorder(), popsize=4, seed=1, limits=Limits(max_generations=2))
    run(eda, lambda x: np.full(len(x), -np.inf))
    assert eda.best is not None
    assert eda.best.fitness == -np.inf
    assert eda.last is not None
    assert eda.last.mean == -np.inf
    assert eda.best.generation == 0


@pytest.mark.parametrize("popsize", [2, 3, 4, 5])
@pytest.mark.parametrize("n", [1, 2])
def test_the_smallest_runs_end_by_themselves(popsize: int, n: int) -> None:
    for seed in range(10):
        eda = EDA(n=n, model=UMDA(), popsize=popsize, seed=seed)
        asked = run(eda, value)
        assert eda.stop in (StopReason.CONVERGED, StopReason.PATIENCE)
        assert eda.best is not None
        assert eda.best.x.shape == (n,)
        assert eda.best.fitness == value(np.vstack(asked)).max()


# The making


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"n": 0}, "expected n to be a whole number of at least 1, got n=0; give the number of variables"),
        ({"n": 2.0}, "got n=2.0"),
        ({"n": True}, "got n=True"),
        ({"n": "60"}, "got n='60'"),
        (
            {"popsize": 1},
            f"at least 2, got popsize=1; the default for n=5 is {default_popsize(5)}",
        ),
        ({"popsize": -5}, "got popsize=-5"),
        ({"popsize": 100.0}, "got popsize=100.0"),
        ({"popsize": 10**13}, "a population of popsize=10000000000000 with n=5 takes about .* of memory"),
        ({"seed": -1}, "expected a seed that is a whole number of at least 0, or none, got seed=-1"),
        ({"seed": 1.5}, "got seed=1.5"),
        ({"selection": "best"}, "expected selection to be one of tournament, truncation, got selection='best'"),
    ],
)
def test_what_makes_no_eda_is_refused(wrong: dict[str, object], says: str) -> None:
    given: dict[str, object] = {"n": 5, "model": UMDA(), "popsize": 10, "seed": 1}
    with pytest.raises(ValueError, match=says):
        EDA(**(given | wrong))  # type: ignore[arg-type]


def test_a_default_population_that_does_not_fit_is_refused_too() -> None:
    with pytest.raises(ValueError, match="memory"):
        EDA(n=10**10, model=UMDA(), seed=1)


@pytest.mark.parametrize("model", [UMDA, None, "umda"])
def test_what_is_no_model_is_refused(model: object) -> None:
    with pytest.raises(TypeError, match="model"):
        EDA(n=5, model=model, popsize=10, seed=1)  # type: ignore[arg-type]


def test_the_default_popsize_grows_with_n_up_to_a_bound() -> None:
    sizes = [default_popsize(n) for n in (1, 10, 50, 100, 1000, 10**6)]
    assert sizes == sorted(sizes)
    assert EDA(n=50, model=UMDA()).popsize == default_popsize(50)
    assert EDA(n=50, model=UMDA(), popsize=np.int64(7)).popsize == 7  # type: ignore[arg-type]


def test_without_a_seed_each_run_has_a_fresh_one_that_gives_it_again() -> None:
    one, other = EDA(n=20, model=UMDA(), popsize=10), EDA(n=20, model=UMDA(), popsize=10)
    assert one.seed != other.seed
    assert np.array_equal(one.ask(), EDA(n=20, model=UMDA(), popsize=10, seed=one.seed).ask())
    assert not np.array_equal(one.ask(), other.ask())
