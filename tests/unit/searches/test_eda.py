"""The estimation of distribution algorithm, with a model that only remembers what it was given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from daedal.limits import Limits, StopReason
from daedal.models import PBIL, UMDA
from daedal.models.base import Fitted, Model
from daedal.optimizers.eda import EDA, EDAConfiguration
from daedal.optimizers.popsize import default_popsize
from daedal.optimizers.records import Generation
from daedal.optimizers.selection import SELECTIONS
from daedal.rng import Stream, stream
from daedal.types import Bits, Fitness, State


@dataclass(frozen=True, kw_only=True)
class Sampled(Fitted):
    parents: Bits
    copies: bool

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        if self.copies:
            return np.repeat(self.parents[:1], rows, axis=0)
        return rng.integers(0, 2, (rows, self.parents.shape[1]), dtype=np.uint8)


@dataclass(frozen=True, kw_only=True)
class Recorder(Model):
    """Remembers what it was fitted to; samples uniform rows, or copies of the best parent."""

    copies: bool = False
    parents: list[Bits] = field(default_factory=list)

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> Fitted:
        assert x.dtype == np.uint8
        assert x.flags.c_contiguous
        self.parents.append(x.copy())
        return Sampled(parents=x, copies=self.copies, info={"fits": len(self.parents)})


def value(x: Bits) -> Fitness:
    """A different value for each row: the bits as a number."""
    return (x @ (2.0 ** np.arange(x.shape[1]))).astype(np.float64)


def made(**how: Any) -> tuple[EDA, Recorder]:
    model = Recorder(copies=how.pop("copies", False))
    return EDA(**{"n": 16, "model": model, "popsize": 20, "seed": 1, "limits": Limits(), **how}), model


def run(eda: EDA, f: Callable[[Bits], Fitness] = value, tells: int = 6) -> list[Bits]:
    asked = []
    while eda.stop is None and len(asked) < tells:
        asked.append(eda.ask())
        eda.tell(f(asked[-1]))
    return asked


# The population


def test_the_first_rows_are_uniform_bits() -> None:
    rows = made(n=50, popsize=2000, seed=0)[0].ask()
    # 100,000 fair bits: 5 standard deviations are 0.0079 of all, 0.056 of one variable.
    assert abs(rows.mean() - 0.5) < 0.0079
    assert np.abs(rows.mean(axis=0) - 0.5).max() < 0.056
    assert len(np.unique(rows, axis=0)) == 2000


@pytest.mark.parametrize(
    "model", [UMDA(), PBIL(learning_rate=0.3)], ids=["all parents alike", "the best, and the past"]
)
@pytest.mark.parametrize("selection", sorted(SELECTIONS))
@pytest.mark.parametrize("popsize", [9, 20])
def test_a_run_agrees_with_algorithm_1_written_down(model: Model, selection: str, popsize: int) -> None:
    """Parents best first, one candidate more where the size is odd, streams of their own, and the mask between."""
    n, seed, fitted = 14, 8, None
    mask = stream(seed, Stream.MASK).integers(0, 2, n, dtype=np.uint8)
    population = stream(seed, Stream.START).integers(0, 2, (popsize, n), dtype=np.uint8)
    expected = [population ^ mask]
    fitness = value(population ^ mask)
    for g in range(1, 6):
        chosen = SELECTIONS[selection](fitness, stream(seed, Stream.SELECT, g - 1)).tolist()
        chosen.sort(key=lambda i: -fitness[i])
        parents, parents_fitness = population[chosen], fitness[chosen]
        fitted = model.fit(parents, rng=stream(seed, Stream.FIT, g), previous=fitted)
        candidates = fitted.sample(popsize - popsize // 2, rng=stream(seed, Stream.SAMPLE, g))
        expected.append(candidates ^ mask)
        population = np.vstack([parents, candidates])
        fitness = np.concatenate([parents_fitness, value(candidates ^ mask)])
    asked = run(made(n=n, model=model, popsize=popsize, seed=seed, selection=selection)[0])
    assert all(np.array_equal(a, b) for a, b in zip(asked, expected, strict=True))


def test_a_model_is_fitted_once_a_generation_and_the_record_tells_of_it() -> None:
    eda, model = made()
    records: list[Generation | None] = []
    for _ in range(3):
        records += [eda.tell(value(eda.ask() & eda.ask()))]
    assert [dict(record.info) for record in records if record is not None] == [{}, {"fits": 1}, {"fits": 2}]
    assert len(model.parents) == 2


def test_the_mask_is_drawn_from_the_seed_so_that_a_love_of_zeros_neither_gains_nor_loses() -> None:
    masks = np.array([made(n=20, seed=seed)[0]._mask for seed in range(200)])
    assert len(np.unique(masks, axis=0)) == 200
    assert np.abs(masks.mean(axis=0) - 0.5).max() < 0.18  # 5 standard deviations of 200 fair bits
    assert np.array_equal(masks[3], made(n=20, model=UMDA(), popsize=50, seed=3)[0]._mask)


# The end


@pytest.mark.parametrize("patience", [1, 3])
def test_patience_counts_generations_without_a_strictly_better_solution(patience: int) -> None:
    eda, _ = made(n=30, limits=Limits(patience=patience))
    bests = iter([1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0])
    told = run(eda, lambda x: np.linspace(-1.0, next(bests), len(x)), tells=9)
    assert eda.stop is StopReason.PATIENCE
    assert len(told) == {1: 3, 3: 8}[patience]


def test_a_cut_batch_is_the_beginning_of_the_whole_one() -> None:
    assert np.array_equal(made(limits=Limits(max_evaluations=4))[0].ask(), made()[0].ask()[:4])


def test_converged_when_all_parents_are_the_same_and_nothing_improved() -> None:
    eda, model = made(copies=True, n=30, popsize=8)
    run(eda, tells=1)
    run(eda, lambda x: np.full(len(x), 1e12 + eda.generation), tells=8)
    assert eda.stop is None  # every generation improves: no end, however alike the parents are
    assert len(np.unique(model.parents[-1], axis=0)) == 1
    run(eda, lambda x: np.full(len(x), 1e12), tells=1)
    assert eda.stop is StopReason.CONVERGED


@pytest.mark.parametrize(("copies", "stop"), [(False, None), (True, StopReason.CONVERGED)])
def test_equal_fitness_of_different_solutions_is_no_convergence_but_equal_solutions_are(
    copies: bool, stop: StopReason | None
) -> None:
    eda, model = made(copies=copies, n=30, popsize=8, seed=2)
    run(eda, lambda x: np.zeros(len(x)), tells=50)
    assert eda.stop is stop
    assert all(len(np.unique(parents, axis=0)) > 1 for parents in model.parents)  # and at the first chance


def test_a_limit_has_the_word_before_convergence() -> None:
    eda, _ = made(copies=True, n=1, popsize=2, seed=2, limits=Limits(max_generations=1))
    run(eda, lambda x: np.zeros(len(x)))
    assert eda.stop is StopReason.GENERATIONS


# The making


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"popsize": 1}, f"popsize=1; .* n=16 is {default_popsize(16)}"),
        ({"popsize": -5}, "popsize=-5"),
        ({"popsize": 100.0}, "popsize=100.0"),
        ({"popsize": 10**13}, "popsize=10000000000000 with n=16 .* memory"),
        ({"popsize": None, "n": 10**10}, "memory"),
        ({"selection": "best"}, "tournament, truncation, got selection='best'"),
        ({"replacement": "best"}, "parents, rtr, got replacement='best'"),
        ({"initial": np.zeros((21, 16), np.uint8)}, "popsize=20 .* 21"),
        ({"model": UMDA}, "model="),
        ({"model": "umda"}, "model='umda'"),
    ],
)
def test_what_makes_no_eda_is_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises((ValueError, TypeError), match=says):
        made(**wrong)


def test_what_is_not_said_is_chosen() -> None:
    sizes = [default_popsize(n) for n in (1, 10, 50, 100, 1000, 6000)]
    assert sizes == sorted(sizes)
    eda = EDA(n=50, model=UMDA())
    assert (eda.popsize, eda.limits) == (default_popsize(50), Limits(max_generations=150, patience=50))
    assert EDA(n=50, model=UMDA(), popsize=np.int64(7)).popsize == 7  # type: ignore[arg-type]
    assert EDAConfiguration(model=UMDA()).resolved(50).popsize == default_popsize(50)


# A state of another


def test_a_state_is_refused_where_it_is_not_of_such_an_eda() -> None:
    """Of another size, or with a population, parents or rows to begin with that no run has."""
    size = {"n": 6, "popsize": 10}
    begin, (eda, _) = made(**size)[0].state(), made(**size)
    run(eda, tells=1)
    state = eda.state()
    made(**size)[0].restore(state)
    wrong: list[tuple[dict[str, Any], State]] = [
        ({"n": 7}, state),
        ({"popsize": 9}, state),
        ({"limits": Limits(max_evaluations=10)}, state),
        ({}, begin.extend(arrays={"initial": np.zeros((11, 6), np.uint8)}, fields={})),
        ({}, begin.extend(arrays={name: state.arrays[name] for name in ("parents", "parents_fitness")}, fields={})),
    ]
    for name in ("population", "parents"):
        for rows in (state.arrays[name][:0], np.repeat(state.arrays[name], 2, axis=0), 2 + state.arrays[name]):
            wrong += [({}, state.extend(arrays={name: rows, f"{name}_fitness": np.zeros(len(rows))}, fields={}))]
    for how, other in wrong:
        with pytest.raises(ValueError):  # noqa: PT011  in whatever words
            made(**size | how)[0].restore(other)
