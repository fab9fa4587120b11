"""The contest behind a search: who is measured, how often, and who wins."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest

from daedal.limits import Limits, StopReason
from daedal.models import UMDA
from daedal.optimizers.base import BaseOptimizer
from daedal.optimizers.contest import INTERIM, Contest
from daedal.optimizers.contest_plan import plan, search_calls
from daedal.optimizers.eda import EDA
from daedal.optimizers.records import Info
from daedal.types import Bits, Fitness, State

N = 16
BUILD = partial(EDA, model=UMDA(), popsize=20)


class Listed(BaseOptimizer):
    """Asks for random rows, ten at a time, and has converged after so many batches."""

    batches = 12

    def propose(self) -> Bits:
        return self.rng.integers(0, 2, (10, self.n), dtype=np.uint8)

    def learn(self, rows: Bits, fitness: Fitness) -> Info | None:
        if self.evaluations >= 10 * self.batches:
            self.stop = StopReason.CONVERGED
        return {}


def built(build: Any = BUILD, *, repeats: int | None = None, seed: int = 1, **limits: Any) -> Contest:
    return Contest(n=N, build=build, seed=seed, limits=Limits(**limits), repeats=repeats)


def weights(x: Bits) -> Fitness:
    return np.asarray(x @ np.sqrt(np.arange(1.0, x.shape[1] + 1)) % 7)


def noisy(x: Bits, calls: int, sd: float = 1.0) -> Fitness:
    """Noise that depends on how often it was asked: the same for all that are at the same place."""
    return x.sum(axis=1) + sd * np.random.default_rng([7, calls]).normal(size=len(x))


def search_of(contest: Contest, value: Any = weights) -> None:
    """Run it to the end of its search."""
    while contest._stage == 0 and contest.stop is None:
        contest.tell(value(contest.ask()))


@pytest.mark.parametrize("build", [BUILD, Listed])
@pytest.mark.parametrize("limits", [{"max_evaluations": 300}, {"max_evaluations": 1000}, {}])
def test_without_noise_the_best_contender_wins(build: Any, limits: dict[str, int]) -> None:
    contest = built(build, **limits)
    search_of(contest)
    best = weights(contest._contenders.rows).max()
    assert len(contest._contenders) > 1
    while contest.stop is None:
        contest.tell(weights(contest.ask()))
    assert contest.best is not None
    assert contest.best.fitness == pytest.approx(best)
    assert weights(contest.best.x[None])[0] == pytest.approx(best)
    assert contest.best.standard_error == pytest.approx(0.0, abs=1e-6)


def test_the_better_half_goes_on_and_all_measurements_add_up() -> None:
    """With values that are fixed, in rounds that cost alike, until one is left; then the rest is for that one."""
    contest = built(Listed, max_evaluations=2000)
    search_of(contest)
    spent, counts = contest.calls, Counter[bytes]()
    values = {bytes(row): float(place) for place, row in enumerate(contest._contenders.rows)}
    size = len(values)
    assert size == 8
    while size > 1:
        rows = contest.ask()
        assert {bytes(row) for row in rows} == {row for row, value in values.items() if value >= len(values) - size}
        assert len(set(Counter(map(bytes, rows)).values())) == 1
        counts.update(map(bytes, rows))
        contest.tell(np.array([values[bytes(row)] for row in rows]))
        size //= 2
        if size > 1:
            for row, count in zip(contest._contenders.rows, contest._contenders.counts, strict=True):
                assert count == counts[bytes(row)]
    rows = contest.ask()
    assert {values[bytes(row)] for row in rows} == {len(values) - 1.0}
    contest.tell(np.full(len(rows), 100.0))
    assert contest.best is not None
    assert (contest.best.measurements, contest.best.fitness) == (len(rows), 100.0)  # of these alone
    assert contest.calls == spent + sum(counts.values()) + len(rows)
    assert contest.stop is StopReason.CONVERGED


@pytest.mark.parametrize("repeats", [None, 1, 2, 5, 20, 100])
@pytest.mark.parametrize("most", [1, 2, 3, 5, 6, 7, 10, 20, 21, 50, 119, 150])
def test_a_budget_is_kept_to_the_call_and_so_are_repeats(most: int, repeats: int | None) -> None:
    contest = built(max_evaluations=most, repeats=repeats)
    while contest.stop is None:
        contest.tell(noisy(contest.ask(), contest.calls))
    assert (contest.calls, contest.stop) == (most, StopReason.EVALUATIONS)
    assert contest.best is not None
    if repeats is not None:
        assert contest.best.measurements >= min(most, repeats)
    assert (contest.best.standard_error is None) == (contest.best.measurements == 1)


def test_plans_spend_what_there_is() -> None:
    for most in [*range(1, 60), 300, 1000, 20_000]:
        for repeats in (None, 1, 5, 40, 10**6):
            search = search_calls(most, repeats)
            shared = plan(search, most - search, repeats, everything=True)
            assert 1 <= search <= most
            assert shared.total == most - search
            assert shared.final >= min(most - search, repeats or 0)
            rounds, left = shared.contenders.bit_length() - 1, shared
            if rounds:
                assert shared.contenders * rounds * left.times(shared.contenders) <= shared.halving


@pytest.mark.parametrize(
    ("build", "repeats", "limits"),
    [
        (BUILD, None, {"max_evaluations": 400}),
        (BUILD, 30, {"max_evaluations": 150, "target": 15.0}),
        (Listed, None, {}),
        (BUILD, None, {"max_generations": 60}),
    ],
)
def test_it_goes_on_to_the_bit_from_every_batch(build: Any, repeats: int | None, limits: dict[str, Any]) -> None:
    one = built(build, repeats=repeats, **limits)
    while one.stop is None:
        other = built(build, repeats=repeats, **limits)
        other.restore(one.state())
        rows = one.ask()
        assert np.array_equal(other.ask(), rows)
        asked = built(build, repeats=repeats, **limits)
        asked.restore(one.state())  # while rows wait
        assert np.array_equal(asked.ask(), rows)
        fitness = noisy(rows, one.calls, 3.0)
        record = repr(one.tell(fitness))
        for copy in (other, asked):
            assert repr(copy.tell(fitness)) == record
            assert repr((copy.best, copy.stop, copy.explanation)) == repr((one.best, one.stop, one.explanation))
            assert _same(copy.state(), one.state())


def _same(one: State, other: State) -> bool:
    arrays = all(np.array_equal(array, other.arrays[name]) for name, array in one.arrays.items())
    return arrays and one.fields == other.fields


@pytest.mark.parametrize("part", ["own", "seen", "tops", "contenders", "winner", "inner"])
def test_a_state_that_lacks_something_is_refused(part: str) -> None:
    contest = built(max_evaluations=300)
    search_of(contest)
    state = contest.state()
    arrays = {name: array for name, array in state.arrays.items() if not name.startswith(f"{part}/")}
    with pytest.raises(ValueError, match="expected"):
        built(max_evaluations=300).restore(State(arrays=arrays, fields={**state.fields, part: {}}))


def test_a_lucky_value_does_not_reach_a_target() -> None:
    """Values are 0 on average, and each second one reaches the target."""
    contest, calls = built(max_evaluations=400, target=1.0), 0
    while contest.stop is None:
        rows = contest.ask()
        values = np.where(np.arange(calls, calls + len(rows)) % 2, 1.0, -1.0)
        calls += len(rows)
        contest.tell(values)
    assert contest.stop is StopReason.EVALUATIONS
    assert contest._checks > 0


@pytest.mark.parametrize("repeats", [None, 4])
def test_a_mean_that_reaches_the_target_ends_the_run(repeats: int | None) -> None:
    contest = built(max_evaluations=4000, target=14.0, repeats=repeats)
    while contest.stop is None:
        contest.tell(noisy(contest.ask(), contest.calls))
    assert contest.stop is StopReason.TARGET
    assert contest.calls < 1000
    assert contest.best is not None
    assert contest.best.fitness >= 14
    assert contest.best.measurements == (10 if repeats is None else 4)


def test_the_mean_that_is_reported_is_not_too_good() -> None:
    """All rows are worth 0: whoever wins had luck, and the last measurements know nothing of it."""
    z, lead = [], []
    for seed in range(150):
        contest, rng = built(Listed, max_evaluations=400, seed=seed), np.random.default_rng(seed)
        while contest.stop is None:
            contest.tell(rng.normal(size=len(contest.ask())))
            if contest._stage == 2:
                assert contest.best is not None
                lead.append(contest.best.fitness)
        assert contest.best is not None
        assert contest.best.standard_error is not None
        z.append(contest.best.fitness / contest.best.standard_error)
    assert abs(np.mean(z)) < 0.2
    assert 0.85 < np.std(z) < 1.25
    assert np.mean(lead) > 0.15  # what would have been reported otherwise


def test_before_the_contest_the_best_is_what_is_most_surely_good() -> None:
    contest = built(Listed, max_evaluations=4000)
    rows = contest.ask()
    contest.tell(np.arange(10.0))
    assert contest.best is not None
    assert np.array_equal(contest.best.x, rows[9])
    assert (contest.best.measurements, contest.best.standard_error) == (1, None)


def test_without_a_limit_contests_are_held_on_the_way() -> None:
    for limits in ({}, {"max_evaluations": 5000, "max_seconds": 1000.0}):
        long = type("Long", (Listed,), {"batches": 300})
        contest, measured = built(long, **limits), []
        while contest.stop is None:
            contest.tell(noisy(contest.ask(), contest.calls))
            if contest._measured and contest._stage == 0:
                measured.append(contest.calls)
        assert INTERIM < measured[0] < 2 * INTERIM
        assert contest.best is not None
        assert contest.best.measurements >= 40


def test_limits_on_generations_are_the_search_s_and_the_contest_adds_none() -> None:
    contest = built(max_generations=5)
    records = []
    while contest.stop is None:
        record = contest.tell(noisy(contest.ask(), contest.calls))
        records += [] if record is None else [record]
    assert contest.stop is StopReason.GENERATIONS
    assert [record.generation for record in records] == list(range(6))
    assert records[-1].evaluations == contest.evaluations


@pytest.mark.parametrize("limits", [{"max_evaluations": 300}, {"max_generations": 5}])
def test_where_nothing_is_feasible_it_ends_all_the_same(limits: dict[str, int]) -> None:
    contest = built(**limits)
    while contest.stop is None:
        contest.tell(np.full(len(contest.ask()), -np.inf))
    assert contest.best is not None
    assert (contest.best.fitness, contest.best.standard_error) == (-np.inf, None)
