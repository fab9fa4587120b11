"""What every optimizer must do: those of all registered algorithms, the examples, and one made of two others."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from run_helpers import OWN_ALGORITHM, OWN_MODEL

import daedal
from daedal.limits import Limits, StopReason
from daedal.models import PBIL
from daedal.optimizers.base import BaseOptimizer, Optimizer
from daedal.optimizers.configuration import Algorithm
from daedal.optimizers.records import Generation, Info
from daedal.optimizers.registry import find_algorithm
from daedal.run.checkpoint import load_checkpoint
from daedal.storage.checkpoint_file import write_checkpoint_file
from daedal.types import Bits, Fitness, State

N = 12
DOUBLED = "doubled"


class Alternating(BaseOptimizer):
    """Asks a hill climber and an EDA in turn; a generation is a batch of each."""

    reproducible: ClassVar[bool] = True

    def __init__(
        self, *, n: int, seed: int | None = None, limits: Limits | None = None, initial: Bits | None = None
    ) -> None:
        super().__init__(n=n, seed=seed, limits=limits, initial=initial)
        climber = find_algorithm(OWN_ALGORITHM).configuration
        eda = daedal.EDA(n=n, model=PBIL(), popsize=30, seed=self.seed, limits=Limits())
        self.inner: tuple[Optimizer, Optimizer] = (climber.build(n=n, seed=self.seed, initial=initial), eda)
        self.turn = 0

    def propose(self) -> Bits:
        return self.inner[self.turn].ask()

    def learn(self, rows: Bits, fitness: Fitness) -> Info | None:
        if self.rows_left(1) < 1:  # some rows may have been cut off
            return {}
        inner = self.inner[self.turn]
        inner.tell(fitness)
        self.stop = inner.stop
        self.turn = 1 - self.turn
        return {} if self.turn == 0 else None

    def state(self) -> State:
        own = super().state().extend(arrays={}, fields={"turn": self.turn})
        return State.join({"own": own, "climber": self.inner[0].state(), "eda": self.inner[1].state()})

    def restore(self, state: State) -> None:
        super().restore(state.part("own"))
        self.turn = state.part("own").whole("turn") % 2
        for name, inner in zip(("climber", "eda"), self.inner, strict=True):
            inner.restore(state.part(name))


def cases() -> dict[str, Algorithm]:
    """Give the algorithms under contract; a new one is in by being registered."""
    given = [*daedal.algorithms().values(), *map(find_algorithm, (OWN_ALGORITHM, OWN_MODEL, Alternating))]
    sized = [one for one in given if "popsize" in one.settings()]
    small = {one.name: one.with_settings({"popsize": 30}) for one in sized}
    doubled = {f"{one.name} {DOUBLED}": one.with_settings({"popsize": "auto"}) for one in sized}
    wide = {f"{one.name} wide": one.with_settings({"min_batch": 5}) for one in given if "min_batch" in one.settings()}
    return {one.name: one for one in given} | small | doubled | wide


def built(algorithm: Algorithm, *, seed: int = 1, n: int = N, initial: Bits | None = None, **limits: Any) -> Optimizer:
    return algorithm.configuration.build(n=n, seed=seed, limits=Limits(**limits), initial=initial)


def value(x: Bits) -> Fitness:
    """Something with many values and many local optima."""
    return np.asarray((x * np.sqrt(np.arange(1, x.shape[1] + 1))).sum(axis=1) % 5)


def batches(optimizer: Optimizer, most: int = 30) -> Iterator[tuple[Bits, Fitness, Generation | None]]:
    """Run an optimizer; give the rows, the fitness and the record of each batch."""
    for _ in range(most):
        if optimizer.stop is not None:
            return
        rows = optimizer.ask()
        fitness = value(rows)
        yield rows, fitness, optimizer.tell(fitness)


# The contract


def asks_for_bits_and_for_the_same_again(algorithm: Algorithm, _: Path) -> None:
    optimizer = built(algorithm)
    optimizer.prepare()
    assert (optimizer.n, optimizer.evaluations, optimizer.best, optimizer.stop) == (N, 0, None, None)
    batches_told = 0
    while batches_told < 8 and optimizer.stop is None:  # small populations may converge
        rows = optimizer.ask()
        assert (rows.dtype, rows.ndim, rows.shape[1]) == (np.uint8, 2, N)
        assert len(rows) >= 1
        assert rows.max() <= 1
        kept = rows.copy()
        rows[...] = 7  # the caller's own
        assert np.array_equal(optimizer.ask(), kept)
        optimizer.tell(value(kept))
        batches_told += 1
    assert batches_told >= 4


def counts_and_keeps_the_best(algorithm: Algorithm, _: Path) -> None:
    optimizer, told, best = built(algorithm), 0, -np.inf
    for rows, fitness, record in batches(optimizer):
        told += len(rows)
        best = max(best, fitness.max())
        assert optimizer.evaluations == told
        assert optimizer.best is not None
        assert optimizer.best.fitness == best == value(optimizer.best.x[None])[0]
        assert 0 < optimizer.best.evaluations <= told
        assert record is None or (record.best, record.evaluations) == (best, told)


def ends_where_its_evaluations_do(algorithm: Algorithm, _: Path) -> None:
    for most in (1, 2, 30, 31, 45, 50):
        optimizer = built(algorithm, max_evaluations=most)
        done = list(batches(optimizer, most=most))  # of one row each, maybe
        assert sum(len(rows) for rows, *_ in done) == most
        assert (optimizer.evaluations, optimizer.stop) == (most, StopReason.EVALUATIONS)
        assert done[-1][2] is not None
        assert done[-1][2].evaluations == most


def ends_at_its_target_and_asks_no_more(algorithm: Algorithm, _: Path) -> None:
    optimizer = built(algorithm, target=0.0)
    (_, _, record), *more = batches(optimizer)
    assert (optimizer.stop, more) == (StopReason.TARGET, [])
    assert record is not None
    with pytest.raises(ValueError, match="target"):
        optimizer.ask()
    with pytest.raises(ValueError, match="ask"):
        optimizer.tell(np.zeros(1))


def gives_a_record_for_each_generation(algorithm: Algorithm, _: Path) -> None:
    """Also where one needs many batches: limits on generations wait for its end."""

    def records(optimizer: Optimizer) -> list[Generation]:
        return [record for *_, record in batches(optimizer, 400) if record is not None]

    for most in (0, 1, 4):
        optimizer = built(algorithm, max_generations=most)
        found = records(optimizer)
        assert optimizer.stop is StopReason.GENERATIONS
        assert [record.generation for record in found] == list(range(most + 1))
        assert found[-1].evaluations == optimizer.evaluations
        assert list(map(repr, found)) == list(map(repr, records(built(algorithm))))[: most + 1]
        assert all(np.diff([record.evaluations for record in found]) > 0)
        assert all(np.isfinite([record.mean, *record.info.values()]).all() for record in found)


def has_patience(algorithm: Algorithm, _: Path) -> None:
    optimizer = built(algorithm, patience=2)
    records = [record for *_, record in batches(optimizer, 1000) if record is not None]
    bests = [record.best for record in records]
    assert optimizer.stop in (StopReason.PATIENCE, StopReason.CONVERGED)
    if optimizer.stop is StopReason.PATIENCE:
        assert bests[-3] == bests[-1]
        assert all(early < late for early, late in zip(bests[:-3], bests[2:-1], strict=True))


def is_the_same_with_the_same_seed(algorithm: Algorithm, _: Path) -> None:
    def drawn(seed: int) -> bytes:
        return b"".join(rows.tobytes() for rows, *_ in batches(built(algorithm, seed=seed), 8))

    assert drawn(1) == drawn(1) != drawn(2)


def goes_on_from_its_state_at_any_moment(algorithm: Algorithm, folder: Path) -> None:
    """Before rows are asked for, meanwhile, and after they are told; through a file, without what it began with."""
    initial = np.eye(4, N, dtype=np.uint8)
    limits = {"max_evaluations": 200, "max_generations": 30}

    def copied(optimizer: Optimizer) -> Optimizer:
        state = optimizer.state()
        write_checkpoint_file(folder / "run.ckpt", arrays=state.arrays, fields=state.fields)
        other = built(algorithm, **limits)
        other.restore(load_checkpoint(folder / "run.ckpt"))
        return other

    one = built(algorithm, initial=initial, **limits)
    other = copied(one)
    for moment in range(9):
        other = copied(other) if moment % 3 == 0 else other
        rows = other.ask()
        other = copied(other) if moment % 3 == 1 else other
        assert np.array_equal(one.ask(), rows)
        assert np.array_equal(other.ask(), rows)
        assert repr(other.tell(value(rows))) == repr(one.tell(value(rows)))
        other = copied(other) if moment % 3 == 2 else other
        assert (other.stop, other.evaluations, repr(other.best)) == (one.stop, one.evaluations, repr(one.best))
        if one.stop is not None:
            break


def refuses_what_is_not_its_state(algorithm: Algorithm, _: Path) -> None:
    wider = built(algorithm, n=N + 1)
    list(batches(wider, 2))
    fields: dict[str, Any] = {"generation": 3, "evaluations": 40, "stop": None, "best": None}
    for state in (State(arrays={}, fields={}), State(arrays={"told": np.empty(0)}, fields=fields), wider.state()):
        with pytest.raises(ValueError):  # noqa: PT011  in whatever words
            built(algorithm).restore(state)


def awaits_a_fitness_that_is_one(algorithm: Algorithm, _: Path) -> None:
    optimizer = built(algorithm)
    rows = optimizer.ask()
    for wrong in (np.zeros(len(rows) + 1), np.full(len(rows), np.nan), ["much"] * len(rows)):
        with pytest.raises(ValueError):  # noqa: PT011
            optimizer.tell(wrong)  # type: ignore[arg-type]
    assert (optimizer.evaluations, optimizer.best) == (0, None)
    assert np.array_equal(optimizer.ask(), rows)
    fitness = np.full(len(rows), -np.inf)  # nothing is feasible, and that is no error
    optimizer.tell(fitness)
    assert optimizer.best is not None
    assert optimizer.evaluations == len(rows)


Check = Callable[[Algorithm, Path], None]
CHECKS: list[Check] = [
    asks_for_bits_and_for_the_same_again,
    counts_and_keeps_the_best,
    ends_where_its_evaluations_do,
    ends_at_its_target_and_asks_no_more,
    gives_a_record_for_each_generation,
    has_patience,
    is_the_same_with_the_same_seed,
    goes_on_from_its_state_at_any_moment,
    refuses_what_is_not_its_state,
    awaits_a_fitness_that_is_one,
]


OF_A_POPULATION = (gives_a_record_for_each_generation, has_patience)
"""Limits that end one population, and not the run, where populations are doubled: tests/unit/.../test_restarts.py."""


@pytest.mark.parametrize(
    ("name", "check"),
    [
        pytest.param(name, check, id=f"{name}-{check.__name__}")
        for name in sorted(cases())
        for check in CHECKS
        if not (name.endswith(DOUBLED) and check in OF_A_POPULATION)
    ],
)
def test_every_optimizer(name: str, check: Check, tmp_path: Path) -> None:
    check(cases()[name], tmp_path)


# The suite itself


class RandomSearch(BaseOptimizer):
    """The least there can be; a generation is two batches."""

    def propose(self) -> Bits:
        return self.rng.integers(0, 2, (5, self.n), dtype=np.uint8) if self.initial is None else self.initial

    def learn(self, rows: Bits, fitness: Fitness) -> Info | None:
        self.initial = None
        self.odd = not getattr(self, "odd", False)
        return None if self.odd else {"top": float(fitness.max())}

    def state(self) -> State:
        return super().state().extend(arrays={}, fields={"odd": getattr(self, "odd", False)})

    def restore(self, state: State) -> None:
        super().restore(state)
        self.odd = state.truth("odd")


def restless(self: Any) -> Bits:
    self._asked = None
    return RandomSearch.ask(self)


def lending(self: Any) -> Bits:
    RandomSearch.ask(self)
    asked: Bits = self._asked
    return asked


def undead(self: Any) -> Bits:
    self.stop = None
    return RandomSearch.ask(self)


def wishful(self: Any, rows: Bits, fitness: Fitness) -> Info | None:
    self.best = dataclasses.replace(self.best, evaluations=0)
    return RandomSearch.learn(self, rows, fitness)


def impatient(self: Any, rows: Bits, fitness: Fitness) -> Info | None:
    if self.generation == self.limits.max_generations:
        self.stop = StopReason.GENERATIONS
    return RandomSearch.learn(self, rows, fitness)


def stuttering(self: Any, rows: Bits, fitness: Fitness) -> Info:
    self.generation -= self.generation > 1
    return RandomSearch.learn(self, rows, fitness) or {}


def silent(self: Any, fitness: Fitness) -> None:
    RandomSearch.tell(self, fitness)


def forgetful(self: Any) -> State:
    state = RandomSearch.state(self)
    return State(arrays={name: array for name, array in state.arrays.items() if name != "asked"}, fields=state.fields)


def seedless(self: Any, **how: Any) -> None:
    RandomSearch.__init__(self, **how | {"seed": 1})


def test_the_least_that_there_can_be_keeps_the_contract(tmp_path: Path) -> None:
    for check in CHECKS:
        check(find_algorithm(RandomSearch), tmp_path)


@pytest.mark.parametrize(
    ("method", "broken", "check"),
    [
        ("ask", restless, asks_for_bits_and_for_the_same_again),
        ("ask", lending, asks_for_bits_and_for_the_same_again),
        ("learn", wishful, counts_and_keeps_the_best),
        ("rows_left", lambda self, rows: rows, ends_where_its_evaluations_do),
        ("ask", undead, ends_at_its_target_and_asks_no_more),
        ("tell", silent, gives_a_record_for_each_generation),
        ("learn", stuttering, gives_a_record_for_each_generation),
        ("learn", impatient, gives_a_record_for_each_generation),
        ("__init__", seedless, is_the_same_with_the_same_seed),
        ("state", forgetful, goes_on_from_its_state_at_any_moment),
        ("restore", lambda self, state: None, refuses_what_is_not_its_state),
    ],
)
def test_the_contract_has_teeth(method: str, broken: Any, check: Check, tmp_path: Path) -> None:
    optimizer = type("Broken", (RandomSearch,), {method: broken})
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check(find_algorithm(optimizer), tmp_path)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Forgetful(PBIL):
    """A model that lives on, and does not say so."""

    def memory(self, fitted: Any) -> dict[str, Any]:
        return {}


def test_the_contract_sees_a_model_without_memory(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        goes_on_from_its_state_at_any_moment(find_algorithm(Forgetful()).with_settings({"popsize": 30}), tmp_path)
