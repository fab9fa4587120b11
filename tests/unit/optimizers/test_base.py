"""What every heir of BaseOptimizer has without doing anything for it; the contract suite has the rest."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from daedal.limits import Limits, StopReason
from daedal.optimizers.base import BaseOptimizer, Info
from daedal.types import Bits, Fitness, State


class Pairs(BaseOptimizer):
    """Four random rows at a time; two batches are a generation."""

    batches = 0
    interrupted = False

    def propose(self) -> Bits:
        rows = self.rng.integers(0, 2, (4, self.n), dtype=np.uint8)
        if self.interrupted:
            raise KeyboardInterrupt
        return rows if self.initial is None else np.vstack([self.initial, rows])

    def learn(self, rows: Bits, fitness: Fitness) -> Info | None:
        self.batches += 1
        return {"batches": self.batches} if self.batches % 2 == 0 else None


def fresh(**how: Any) -> Pairs:
    return Pairs(**{"n": 6, "seed": 1, **how})


def test_a_record_tells_how_all_batches_of_a_generation_went() -> None:
    """The mean is that of finite fitness; of numbers too large to add it is inf, and of none -inf."""
    optimizer, records = fresh(), []
    for fitness in ([0, 1, 2, 3], [-np.inf, 7, 1, 0], [5] * 4, [5] * 4, [-np.inf] * 4, [-np.inf] * 4, [1e308] * 4):
        optimizer.ask()
        records.append(optimizer.tell(np.array(fitness, dtype=np.float64)))
    assert records[::2] == [None] * 4
    told = [(one.generation, one.evaluations, one.best, one.mean) for one in records if one is not None]
    assert told == [(0, 8, 7.0, 2.0), (1, 16, 7.0, 5.0), (2, 24, 7.0, -np.inf)]
    optimizer.ask()
    last = optimizer.tell(np.full(4, 1e308))
    assert last is not None
    assert (last.mean, dict(last.info)) == (np.inf, {"batches": 8})


def test_a_generation_that_a_limit_cuts_short_has_a_record_too() -> None:
    optimizer = fresh(limits=Limits(max_evaluations=3, max_generations=0))
    assert len(optimizer.ask()) == 3
    record = optimizer.tell(np.arange(3.0))
    assert optimizer.stop is StopReason.EVALUATIONS
    assert record is not None
    assert (record.generation, record.evaluations, dict(record.info)) == (0, 3, {})


@pytest.mark.parametrize("kind", [list, tuple, lambda f: f.astype(np.int64), lambda f: f.astype(np.float32)])
def test_any_sequence_of_numbers_can_be_told(kind: Callable[[Fitness], Any]) -> None:
    optimizer = fresh()
    optimizer.ask()
    given = kind(np.array([1.0, 3.0, 2.0, 0.0]))
    optimizer.tell(given)
    assert optimizer.best is not None
    assert optimizer.best.fitness == 3.0
    assert list(given) == [1, 3, 2, 0]  # and is left alone


@pytest.mark.parametrize(
    ("fitness", "says"),
    [
        (np.zeros(3), r"\(4,\).*\(3,\)"),
        (np.zeros((4, 1)), r"\(4, 1\)"),
        (1.0, r"\(\)"),
        ([0.0, math.nan, 0.0, 0.0], "nan"),
        ([0.0, math.inf, 0.0, 0.0], "inf"),
        (["1", "2", "3", "4"], "numbers"),
        (np.full(4, 1j), "numbers"),
        (None, "numbers"),
    ],
)
def test_a_bad_fitness_is_refused(fitness: Any, says: str) -> None:
    optimizer = fresh()
    optimizer.ask()
    with pytest.raises(ValueError, match=says):
        optimizer.tell(fitness)


def test_proposing_that_is_broken_off_begins_anew() -> None:
    """A checkpoint may be written right then: the random numbers must not have gone on."""
    optimizer, other = fresh(), fresh()
    for one in (optimizer, other):
        one.ask()
        one.tell(np.zeros(4))
    optimizer.interrupted = True
    with pytest.raises(KeyboardInterrupt):
        optimizer.ask()
    again = fresh()
    again.restore(optimizer.state())
    assert np.array_equal(again.ask(), other.ask())


def test_rows_to_begin_with_are_checked_and_kept() -> None:
    rows = np.eye(2, 6, dtype=np.uint8)
    optimizer, other = fresh(initial=rows), fresh()
    other.restore(optimizer.state())
    assert np.array_equal(other.ask(), optimizer.ask())
    assert fresh(initial=rows[:0]).initial is None
    for wrong in (rows[:, :5], rows.astype(float), rows[0], rows.tolist()):
        with pytest.raises(ValueError, match=r"\(rows, 6\)"):
            fresh(initial=wrong)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("n", 0), ("n", 2.0), ("n", True), ("n", "60"), ("seed", -1), ("seed", 1.5)],
)
def test_what_makes_no_optimizer_is_refused(name: str, wrong: Any) -> None:
    with pytest.raises(ValueError, match=f"{name}={wrong!r}"):
        fresh(**{name: wrong})


def test_without_a_seed_each_has_a_fresh_one_that_gives_it_again() -> None:
    one, other = fresh(seed=None), fresh(seed=None)
    assert one.seed != other.seed
    assert np.array_equal(one.ask(), fresh(seed=one.seed).ask())


BEST = {"fitness": 1.0, "generation": 0, "evaluations": 8}


@pytest.mark.parametrize("moment", ["fresh", "asked", "told"])
@pytest.mark.parametrize(
    "change",
    [
        {"generation": 7},
        {"evaluations": 1},
        {"stop": "target"},
        {"stop": "bored"},
        {"best": None},
        {"best": BEST | {"generation": 2}},
        {"best": BEST | {"evaluations": 9}},
        {"best": BEST | {"evaluations": 0}},
        {"rng": [1, 2, 3]},
        {"rng": [1, 2, 3, 4, 2, 0]},
    ],
    ids=str,
)
def test_a_state_that_no_run_has_is_refused(moment: str, change: dict[str, Any]) -> None:
    """Unless the change is none at that moment."""
    optimizer = fresh()
    for _ in range(2 if moment == "told" else 0):
        optimizer.ask()
        optimizer.tell(np.array([0.0, 0.0, 1.0, 0.0]))
    if moment == "asked":
        optimizer.ask()
    state = optimizer.state()
    fresh().restore(state)
    possible = moment == "told" and (change == {"generation": 7} or change.get("stop") == "target")
    possible |= moment != "told" and change == {"best": None}
    if not possible:
        with pytest.raises(ValueError):  # noqa: PT011  in whatever words
            fresh().restore(State(arrays=state.arrays, fields={**state.fields, **change}))


@pytest.mark.parametrize("rows", [np.zeros((0, 6), np.uint8), np.zeros((9, 6), np.uint8), np.full((4, 6), 2, np.uint8)])
def test_rows_that_nobody_can_have_asked_for_are_refused(rows: Bits) -> None:
    optimizer = fresh(limits=Limits(max_evaluations=8))
    optimizer.ask()
    state = optimizer.state()
    with pytest.raises(ValueError):  # noqa: PT011
        fresh(limits=Limits(max_evaluations=8)).restore(state.extend(arrays={"asked": rows}, fields={}))
