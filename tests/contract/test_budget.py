"""What every run must do with a budget: max_evaluations are calls of the objective, and what is known is free."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_helpers import OWN_ALGORITHM, OWN_MODEL, at, told

import daedal
from daedal.limits import Limits, StopReason
from daedal.optimizers.auto import PROBED
from daedal.optimizers.base import BaseOptimizer
from daedal.optimizers.records import Best, Info
from daedal.optimizers.registry import find_algorithm
from daedal.run.loop import IDLE_BATCHES, IDLE_ROWS
from daedal.types import Bits, Fitness, State

EVERYONE = [*sorted(daedal.algorithms()), OWN_ALGORITHM, OWN_MODEL]
REMEMBERING = ("auto", "ils", "mix", "neural-mix")  # who never ask for a row that they know
N = 20


class Called:
    """A function that remembers the rows that it was called for, in their order; for some of them it fails."""

    def __init__(self, failing: float = 0.0) -> None:
        self.failing = failing
        self.rows: list[bytes] = []

    def __call__(self, x: Any) -> Any:
        self.rows += [row.astype(np.uint8).tobytes() for row in x]
        value = (x * np.sqrt(np.arange(1, x.shape[1] + 1))).sum(axis=1) % 5
        return np.where(value < self.failing, np.nan, value)


def run(objective: Any, algorithm: Any, **how: Any) -> daedal.Result:
    size = {"popsize": 24} if "popsize" in find_algorithm(algorithm).settings() else {}
    return daedal.maximize(objective, N, algorithm=algorithm, seed=1, **size | how)


@pytest.mark.filterwarnings("ignore::daedal.BudgetWarning")
@pytest.mark.parametrize("most", [1, 2, 10, 24, 25, 100])
@pytest.mark.parametrize("algorithm", EVERYONE)
def test_the_objective_is_called_for_so_many_rows_and_no_more(algorithm: str, most: int) -> None:
    called = Called()
    result = run(called, algorithm, max_evaluations=most)
    again = algorithm == "auto" and most >= PROBED  # it finds out whether values scatter
    assert len(called.rows) == len(set(called.rows)) + again == result.evaluated
    assert result.evaluations == result.evaluated + result.cached
    assert result.history[-1].evaluations == result.evaluations
    if result.stop is StopReason.EVALUATIONS:
        assert result.evaluated == most
    else:
        assert (result.stop, result.evaluated < most) == (StopReason.CONVERGED, True)


@pytest.mark.filterwarnings("ignore::daedal.BudgetWarning")
@pytest.mark.parametrize("algorithm", EVERYONE)
def test_what_is_known_is_free(algorithm: str, tmp_path: Path) -> None:
    """The same run again, with what it evaluated in a cache, is on the same way and gets further."""
    cache = {"cache": tmp_path / "values.db", "name": "f"}
    first, second = Called(), Called()
    once = run(first, algorithm, max_evaluations=60, **cache)
    twice = run(second, algorithm, max_evaluations=60, **cache)
    assert not set(first.rows) & set(second.rows)
    assert twice.cached >= len(set(first.rows))
    assert twice.evaluations >= once.evaluations
    assert twice.fitness >= once.fitness
    assert len(second.rows) == twice.evaluated <= 60


@pytest.mark.filterwarnings("ignore::daedal.BudgetWarning")
@pytest.mark.parametrize("algorithm", ["umda", "pbil"])
def test_a_row_that_fails_is_a_call_and_one_that_is_tried_again_is_one(algorithm: str) -> None:
    for on_error in ("worst", "retry:2,worst"):
        called = Called(failing=1.0)
        result = run(called, algorithm, max_evaluations=90, on_error=on_error)
        assert result.failed > 5
        assert len(set(called.rows)) == result.evaluated + result.failed <= 90
        assert (result.stop is StopReason.EVALUATIONS) == (result.evaluated + result.failed == 90)


@pytest.mark.filterwarnings("ignore::daedal.BudgetWarning")
def test_values_to_begin_with_are_free() -> None:
    rows = np.unique(np.random.default_rng(1).integers(0, 2, (20, N)), axis=0)
    called = Called()
    result = run(called, "umda", initial=(rows, Called()(rows)), max_evaluations=24)
    assert (result.evaluated, result.cached >= len(rows), result.generations >= 1) == (24, True, True)


@pytest.mark.parametrize("popsize", [24, "auto"])
def test_a_budget_is_cut_alike_for_any_number_of_workers(popsize: object) -> None:
    how: dict[str, Any] = {"algorithm": "tree", "popsize": popsize, "max_evaluations": 77, "seed": 1}
    assert told(daedal.maximize("trap:k=4,n=8", workers=2, **how)) == told(daedal.maximize("trap:k=4,n=8", **how))


def test_without_memory_every_row_is_a_call() -> None:
    called = Called()
    result = run(called, "umda", max_evaluations=100, deduplicate=False)
    assert (result.evaluations, result.evaluated, len(called.rows)) == (100, 100, 100)


# Optimizers of others


class Listed:
    """Nobody's heir: asks for listed rows, in batches of nine, over and over; tells what it was told."""

    def __init__(self, *, n: int, seed: int | None = None, limits: Limits | None = None, initial: Any = None) -> None:
        self.n = n
        self.stop: StopReason | None = None
        self.best: Best | None = None
        self.evaluations = 0
        self.listed = np.random.default_rng(5).integers(0, 2, (90, 6), dtype=np.uint8)  # of 64 rows: many come again
        self.listed = np.hstack([self.listed, np.zeros((90, n - 6), np.uint8)])

    def prepare(self) -> None: ...

    def ask(self) -> Bits:
        return self.listed[self.evaluations % 90 :][:9]

    def tell(self, fitness: Fitness) -> None:
        rows, i = self.ask(), int(np.argmax(fitness))
        assert len(fitness) == len(rows)
        self.evaluations += len(rows)
        if self.best is None or fitness[i] > self.best.fitness:
            self.best = Best(x=rows[i], fitness=float(fitness[i]), generation=0, evaluations=self.evaluations)

    def state(self) -> State:
        if self.best is None:
            return State(arrays={}, fields={"evaluations": 0})
        best = {"best": self.best.fitness, "to_best": self.best.evaluations}
        return State(arrays={"x": self.best.x}, fields={**best, "evaluations": self.evaluations})

    def restore(self, state: State) -> None:
        self.evaluations = state.whole("evaluations")
        if state.given("best"):
            x, fitness = state.row("x", self.n), state.number("best")
            self.best = Best(x=x, fitness=fitness, generation=0, evaluations=state.whole("to_best"))


class ListedHeir(BaseOptimizer):
    """The same rows, from an heir of BaseOptimizer."""

    def propose(self) -> Bits:
        return Listed.ask(Listed(n=self.n) if self.evaluations == 0 else self._listed())

    def _listed(self) -> Listed:
        made = Listed(n=self.n)
        made.evaluations = self.evaluations
        return made

    def learn(self, rows: Bits, fitness: Fitness) -> Info | None:
        return None


@pytest.mark.parametrize("most", [1, 5, 9, 10, 33, 40])
@pytest.mark.parametrize("optimizer", [Listed, ListedHeir])
def test_a_batch_is_cut_to_the_longest_part_that_can_be_paid(optimizer: Any, most: int, tmp_path: Path) -> None:
    """Against a slow twin: the objective sees the first so many different rows, in their order."""
    listed = [row.tobytes() for row in Listed(n=N).listed]
    distinct = list(dict.fromkeys(listed))
    assert len(distinct) > 40
    called, path = Called(), tmp_path / "run.ckpt"
    result = daedal.maximize(called, N, algorithm=optimizer, seed=1, max_evaluations=most, checkpoint=path)
    assert called.rows == distinct[:most]
    assert (result.stop, result.evaluated) == (StopReason.EVALUATIONS, most)
    values = Called()(np.array([list(row) for row in distinct[:most]]))
    assert result.fitness == values.max()
    again = daedal.resume(path, lambda x: pytest.fail("a call"), algorithm=optimizer)
    assert told(again) == told(result)
    if optimizer is ListedHeir:  # which is told of a part of a batch, to the last row that is free
        last, beyond = listed.index(distinct[most - 1]), listed.index(distinct[most])
        assert result.evaluations == min(beyond, 9 * (last // 9 + 1)) == result.history[-1].evaluations


@pytest.mark.parametrize("optimizer", [Listed, ListedHeir])
def test_who_asks_for_known_rows_alone_has_converged(optimizer: Any, tmp_path: Path) -> None:
    """A run never spins, whoever wrote the optimizer; and goes on counting after a break."""
    path = tmp_path / "run.ckpt"
    result = daedal.maximize(Called(), N, algorithm=optimizer, seed=1, max_evaluations=100, checkpoint=path)
    assert (result.stop, result.evaluated <= 64) == (StopReason.CONVERGED, True)
    assert result.batches >= IDLE_BATCHES
    assert IDLE_ROWS <= result.cached < IDLE_ROWS + 200
    again = daedal.resume(path, lambda x: pytest.fail("a call"), algorithm=optimizer)
    assert told(again) == told(result)


@pytest.mark.parametrize("algorithm", EVERYONE)
def test_a_run_with_a_budget_goes_on_from_any_generation(algorithm: str, tmp_path: Path) -> None:
    """On few bits, where many rows come again, to the same end."""
    path = tmp_path / "run.ckpt"
    size = {"popsize": 20} if "popsize" in find_algorithm(algorithm).settings() else {}
    how: dict[str, Any] = {"n": 8, "algorithm": algorithm, "seed": 3, "max_evaluations": 70, **size}
    expected = daedal.maximize(Called(), **how)
    assert expected.cached > 0 or algorithm in REMEMBERING
    given = algorithm if algorithm in (OWN_ALGORITHM, OWN_MODEL) else None
    for generation in {0, 1, expected.generations - 1} & set(range(expected.generations)):
        daedal.maximize(Called(), checkpoint=path, overwrite=True, callback=at(generation), **how)
        assert told(daedal.resume(path, Called(), algorithm=given)) == told(expected)
