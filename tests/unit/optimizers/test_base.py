"""What every heir of BaseOptimizer has without doing anything for it; the contract suite has the rest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from daedal.limits import Limits, StopReason
from daedal.optimizers.base import BaseOptimizer
from daedal.optimizers.records import Info
from daedal.types import Bits, Fitness


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


def test_what_somebody_else_pays_for_is_settled_before_it_is_told() -> None:
    """Rows are cut by who counts, those that cost nothing leave more for others, and without a word each row counts."""
    limits = Limits(max_evaluations=7)
    optimizer = fresh(limits=limits)
    optimizer.metered = True
    for rows, calls in ((4, 2), (4, 0), (3, 3)):
        assert len(optimizer.ask()) == 4
        optimizer.settle(rows, calls=calls)
        optimizer.tell(np.zeros(rows))
    assert (optimizer.evaluations, optimizer.calls, optimizer.rows_left(9), optimizer.stop) == (11, 5, 2, None)
    again = fresh(limits=limits)
    again.metered = True
    again.restore(optimizer.state())
    for one in (optimizer, again):
        assert len(one.ask()) == 4
        one.settle(2, calls=2)
        record = one.tell(np.ones(2))
        assert record is not None
        assert (one.evaluations, one.calls, one.stop) == (13, 7, StopReason.EVALUATIONS)
    alone = fresh(limits=limits)
    alone.tell(np.zeros(len(alone.ask())))
    assert (alone.calls, len(alone.ask())) == (4, 3)


@pytest.mark.parametrize(("rows", "calls"), [(0, 0), (5, 1), (3, 4), (2, -1)])
def test_nobody_settles_what_was_not_asked_for(rows: int, calls: int) -> None:
    optimizer = fresh()
    with pytest.raises(ValueError, match="asked for"):
        optimizer.settle(1, calls=1)
    optimizer.ask()
    with pytest.raises(ValueError, match=f"rows={rows}, calls={calls}"):
        optimizer.settle(rows, calls=calls)
    assert len(optimizer.ask()) == 4


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
    optimizer.tell((1, True, 2.5, np.float32(3)))  # type: ignore[arg-type]  # numbers of any kind are one
    assert optimizer.best is not None
    assert optimizer.best.fitness == 3.0


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


@pytest.mark.parametrize(
    ("name", "wrong"), [("n", 0), ("n", 2.0), ("n", True), ("n", "60"), ("seed", -1), ("seed", 1.5)]
)
def test_what_makes_no_optimizer_is_refused(name: str, wrong: Any) -> None:
    with pytest.raises(ValueError, match=f"{name}={wrong!r}"):
        fresh(**{name: wrong})
    rows = np.eye(2, 6, dtype=np.uint8)
    for odd in (rows[:, :5], rows.astype(float), rows[0], rows.tolist()):
        with pytest.raises(ValueError, match=r"\(rows, 6\)"):
            fresh(initial=odd)
    assert fresh(initial=rows[:0]).initial is None


def test_without_a_seed_each_has_a_fresh_one_that_gives_it_again() -> None:
    one, other = fresh(seed=None), fresh(seed=None)
    assert one.seed != other.seed
    assert np.array_equal(one.ask(), fresh(seed=one.seed).ask())


BEST = {"fitness": 1.0, "generation": 0, "evaluations": 4}
ROWS = np.zeros((9, 6), np.uint8)
IMPOSSIBLE: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("fresh", {"evaluations": 1}, {}),
    ("fresh", {"generation": 1}, {}),
    ("fresh", {"stop": "target"}, {}),
    ("told", {"best": None}, {}),
    ("told", {"evaluations": 3}, {}),
    ("told", {"evaluations": 8, "calls": 8}, {}),  # of 8
    ("told", {"calls": 5}, {}),
    ("told", {"calls": -1}, {}),
    ("told", {"stop": "bored"}, {}),
    ("told", {"best": BEST | {"generation": 1}}, {}),
    ("told", {"best": BEST | {"evaluations": 5}}, {}),
    ("told", {"best": BEST | {"evaluations": 0}}, {}),
    ("told", {"rng": [1, 2, 3]}, {}),
    ("asked", {"stop": "target", "best": BEST}, {"best": ROWS[0]}),  # nobody asks after the end
    ("asked", {}, {"asked": ROWS[:0]}),
    ("asked", {}, {"asked": ROWS}),  # more than are left
    ("asked", {}, {"asked": 2 + ROWS[:4]}),
]


@pytest.mark.parametrize(("moment", "fields", "arrays"), IMPOSSIBLE, ids=str)
def test_a_state_that_no_run_has_is_refused(moment: str, fields: dict[str, Any], arrays: dict[str, Any]) -> None:
    limits = Limits(max_evaluations=8)
    optimizer = fresh(limits=limits)
    if moment != "fresh":
        optimizer.ask()
    if moment == "told":
        optimizer.tell(np.array([0.0, 0.0, 1.0, 0.0]))
    state = optimizer.state()
    fresh(limits=limits).restore(state)
    with pytest.raises(ValueError):  # noqa: PT011  in whatever words
        fresh(limits=limits).restore(state.extend(fields=fields, arrays=arrays))
