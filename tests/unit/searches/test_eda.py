"""Algorithm 1, with models that only remember what they are given: the population, what ends it, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from engine_helpers import run_in_batches

import daedal
from daedal.archive import to_rows
from daedal.engine import Engine
from daedal.limits import Limits
from daedal.models import PBIL, UMDA
from daedal.models.base import Fitted, Model
from daedal.rng import Stream, stream
from daedal.searches.eda import REPLACEMENTS, SELECTIONS, eda
from daedal.searches.presets import EDAConfiguration
from daedal.types import Bits, Fitness


@dataclass(frozen=True, kw_only=True)
class Sampled(Fitted):
    parents: Bits
    what: str

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        shape = rows, self.parents.shape[1]
        if self.what == "copies":
            return np.repeat(self.parents[:1], rows, axis=0)
        return np.zeros(shape, np.uint8) if self.what == "zeros" else rng.integers(0, 2, shape, dtype=np.uint8)


@dataclass(frozen=True, kw_only=True)
class Recorder(Model):
    """Remembers what it was fitted to; samples uniform rows, copies of the best parent, or zeros."""

    what: str = "uniform"
    parents: list[Bits] = field(default_factory=list)

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> Fitted:
        assert x.dtype == np.uint8
        assert x.flags.c_contiguous
        self.parents.append(x.copy())
        return Sampled(parents=x, what=self.what, info={"fits": len(self.parents)})


def value(x: Bits) -> Fitness:
    """A different value for each row: the bits as a number."""
    return (x @ (2.0 ** np.arange(x.shape[1]))).astype(np.float64)


def run(
    f: Callable[[Bits], Fitness] = value, *, n: int = 16, seed: int = 1, generations: int = 6, **how: Any
) -> tuple[list[Bits], Any, Engine]:
    """Run a population that evaluates repeated candidates, too; return its batches, its task and the engine."""
    engine = Engine(n, seed=seed, repeat=True)
    task = engine.start(eda(engine, **{"model": UMDA(), "popsize": 20} | how))
    batches = run_in_batches(engine, f, most=generations)
    engine.ask()
    return [to_rows(batch, n) for batch in batches], task, engine


# The population


def test_the_first_rows_are_uniform_bits() -> None:
    rows = run(n=50, popsize=2000, seed=0, generations=1)[0][0]
    # 100,000 fair bits: 5 standard deviations are 0.0079 of all, 0.056 of one variable.
    assert abs(rows.mean() - 0.5) < 0.0079
    assert np.abs(rows.mean(axis=0) - 0.5).max() < 0.056
    assert len(np.unique(rows, axis=0)) == 2000


@pytest.mark.parametrize(
    "model", [UMDA(), PBIL(learning_rate=0.3)], ids=["all parents alike", "the best, and the past"]
)
@pytest.mark.parametrize("selection", sorted(SELECTIONS))
@pytest.mark.parametrize("replacement", sorted(REPLACEMENTS))
@pytest.mark.parametrize("popsize", [9, 20])
def test_a_run_agrees_with_algorithm_1_written_down(
    model: Model, selection: str, replacement: str, popsize: int
) -> None:
    """Parents best first, one candidate more if the size is odd, streams for each purpose, and the mask between."""
    n, seed, fitted = 14, 8, None
    mask = stream(seed, Stream.MASK).integers(0, 2, n, dtype=np.uint8)
    rows = stream(seed, Stream.START).integers(0, 2, (popsize, n), dtype=np.uint8)
    population, expected = (rows, value(rows ^ mask)), [rows ^ mask]
    for g in range(1, 6):
        chosen = SELECTIONS[selection](population[1], stream(seed, Stream.SELECT, g - 1)).tolist()
        chosen.sort(key=lambda i: -population[1][i])
        parents = population[0][chosen], population[1][chosen]
        fitted = model.fit(parents[0], rng=stream(seed, Stream.FIT, g), previous=fitted)
        rows = fitted.sample(popsize - popsize // 2, rng=stream(seed, Stream.SAMPLE, g))
        expected.append(rows ^ mask)
        candidates = rows, value(rows ^ mask)
        population = REPLACEMENTS[replacement](population, parents, candidates, stream(seed, Stream.REPLACE, g))
    asked, _, _ = run(n=n, model=model, popsize=popsize, seed=seed, selection=selection, replacement=replacement)
    assert all(np.array_equal(a, b) for a, b in zip(asked, expected, strict=True))


def test_a_repeated_candidate_is_not_asked_for_and_has_its_value() -> None:
    engine = Engine(4, seed=1)
    model = Recorder()
    engine.start(eda(engine, model=model, popsize=20))
    asked = [c for batch in run_in_batches(engine, value, most=5) for c in batch]
    assert len(set(asked)) == len(asked) <= 16
    assert engine.answered > 20


def test_a_model_is_fitted_once_a_generation_and_the_record_tells_of_it() -> None:
    records, model, engine = [], Recorder(), Engine(16, seed=1, repeat=True)
    engine.on_generation = lambda: records.append(dict(engine.info)) or False  # type: ignore[func-returns-value]
    engine.start(eda(engine, model=model, popsize=20, info={"part": 7}))
    run_in_batches(engine, value, most=3)
    engine.ask()
    assert records == [{"part": 7}, {"part": 7, "fits": 1}, {"part": 7, "fits": 2}]


def test_the_mask_is_drawn_from_the_seed_so_that_a_bias_to_zeros_neither_gains_nor_loses() -> None:
    zeros = Recorder(what="zeros")
    masks = np.array([run(n=20, seed=seed, popsize=4, model=zeros, generations=2)[0][1][0] for seed in range(200)])
    assert len(np.unique(masks, axis=0)) == 200
    assert np.abs(masks.mean(axis=0) - 0.5).max() < 0.18  # 5 standard deviations of 200 fair bits


def test_it_begins_with_what_is_given() -> None:
    initial = np.eye(5, 16, dtype=np.uint8)
    plain, given = run(generations=1)[0][0], run(initial=initial, generations=1)[0][0]
    assert np.array_equal(given, np.vstack([initial, plain[5:]]))


# The end of a population


@pytest.mark.parametrize(("patience", "generations"), [(1, 3), (3, 8)])
def test_patience_counts_generations_without_a_strictly_better_solution(patience: int, generations: int) -> None:
    bests = iter([1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0])
    asked, task, _ = run(
        lambda x: np.linspace(-1.0, next(bests), len(x)),
        n=30, model=Recorder(), patience=patience, max_generations=20, generations=9,
    )  # fmt: skip
    assert task.finished
    assert len(asked) == generations


def test_converged_when_all_parents_are_the_same_and_nothing_improved() -> None:
    values = iter([*np.arange(8.0), 7.0])
    model = Recorder(what="copies")
    asked, task, _ = run(
        lambda x: np.linspace(0.0, 1e-9, len(x)) + next(values), n=30, model=model, popsize=8, generations=20
    )
    assert task.finished
    assert len(asked) == 9  # every generation improved but for the last, however alike the parents were
    assert len(np.unique(model.parents[-1], axis=0)) == 1


@pytest.mark.parametrize(("what", "ends"), [("uniform", False), ("copies", True)])
def test_equal_values_of_different_solutions_are_no_convergence_but_equal_solutions_are(what: str, ends: bool) -> None:
    model = Recorder(what=what)
    _, task, _ = run(lambda x: np.zeros(len(x)), n=30, model=model, popsize=8, seed=2, generations=50)
    assert task.finished == ends
    assert all(len(np.unique(parents, axis=0)) > 1 for parents in model.parents)  # it ends at the first chance


def test_a_population_ends_after_generations_without_a_new_candidate() -> None:
    known, engine = [], Engine(3, seed=1)
    engine.on_generation = lambda: known.append(len(engine.archive)) or False  # type: ignore[func-returns-value]
    task = engine.start(eda(engine, model=Recorder(), popsize=8, max_idle=3))
    run_in_batches(engine, lambda x: np.zeros(len(x)))
    assert task.finished
    assert known.count(known[-1]) == 1 + 3


# The configuration


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"popsize": 1}, "popsize=1"),
        ({"popsize": -5}, "popsize=-5"),
        ({"popsize": 100.0}, "popsize=100.0"),
        ({"popsize": 10**13}, "memory"),
        ({"selection": "best"}, "selection="),
        ({"replacement": "best"}, "replacement="),
        ({"initial": np.zeros((21, 16), np.uint8)}, "popsize=20 .* 21"),
        ({"model": UMDA}, "model="),
        ({"model": "umda"}, "model="),
    ],
)
def test_what_makes_no_eda_is_refused(wrong: dict[str, Any], says: str) -> None:
    settings = {"model": UMDA(), "popsize": 20} | wrong
    initial = settings.pop("initial", None)
    with pytest.raises((ValueError, TypeError), match=says):
        daedal.maximize(
            lambda x: pytest.fail("the objective was called"), 16,
            algorithm=EDAConfiguration(**settings), initial=initial, max_generations=1,
        )  # fmt: skip


def test_limits_of_an_eda_are_those_of_the_run_unless_populations_are_doubled() -> None:
    limits = Limits(max_generations=3, patience=2, max_evaluations=9)
    assert EDAConfiguration(model=UMDA(), popsize=20).run_limits(limits) == limits
    assert EDAConfiguration(model=UMDA(), popsize="auto").run_limits(limits) == Limits(max_evaluations=9)
