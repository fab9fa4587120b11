"""`auto`: what it chooses, and that it says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import daedal
from daedal.optimizers.auto import FEW, PROBED, Auto
from daedal.optimizers.ils import ILS
from daedal.optimizers.mix import Mix
from daedal.optimizers.noisy import Noisy, noisy_popsize
from daedal.types import Bits, Fitness


def ones(x: Bits) -> Fitness:
    return x.sum(axis=1).astype(float)


class Scattering:
    """Ones with noise, and a count of the calls."""

    def __init__(self, sd: float, seed: int = 1) -> None:
        self.rng = np.random.default_rng(seed)
        self.sd = sd
        self.calls = 0

    def __call__(self, x: Bits) -> Fitness:
        self.calls += len(x)
        return ones(x) + self.sd * self.rng.normal(size=len(x))


def plateau(x: Bits) -> Fitness:
    """Nothing to find, so that nothing ends early."""
    return np.zeros(len(x))


@pytest.mark.parametrize(("calls", "kind"), [(None, Mix), (FEW * 30 - 1, ILS), (FEW * 30, Mix), (1, ILS)])
def test_few_calls_are_for_local_search(calls: int | None, kind: type) -> None:
    assert type(Auto(n=30, seed=1, limits=daedal.Limits(max_evaluations=calls))._inner) is kind


def test_many_workers_are_for_a_population() -> None:
    optimizer = Auto(n=30, seed=1, limits=daedal.Limits(max_evaluations=100), min_batch=64)
    assert isinstance(optimizer._inner, Mix)
    assert optimizer._inner.min_batch == 64


@pytest.mark.parametrize("calls", [1, 2, 10, 100, 1000])
def test_the_whole_budget_is_used_and_no_more(calls: int) -> None:
    called: list[int] = []

    def function(x: Bits) -> Fitness:
        called.append(len(x))
        return np.asarray((x * np.sqrt(np.arange(1, 61))).sum(axis=1) % 5)

    result = daedal.maximize(function, n=60, max_evaluations=calls, seed=2)
    assert sum(called) == result.evaluated == calls
    assert f"{calls:,}" in result.explanation


def test_values_that_are_the_same_again_change_nothing() -> None:
    """But for one call, and one batch."""
    plain = daedal.maximize("trap:k=4,n=20", algorithm="mix", seed=5)
    chosen = daedal.maximize("trap:k=4,n=20", algorithm="auto", seed=5)
    assert np.array_equal(plain.x, chosen.x)
    assert (chosen.evaluated, chosen.batches) == (plain.evaluated + 1, plain.batches + 1)
    assert "mix" in chosen.explanation


def test_values_that_scatter_are_for_a_population() -> None:
    function = Scattering(2.0)
    result = daedal.maximize(function, n=50, max_evaluations=3000, seed=1)
    assert function.calls == result.evaluated == 3000
    assert "scatter" in result.explanation
    assert result.x.sum() >= 49
    assert abs(result.fitness - result.x.sum()) < 1.5  # a mean: the best of 3,000 values is 6 above


def test_values_that_scatter_are_never_taken_from_memory() -> None:
    """Once it is known that they do."""
    result = daedal.maximize(Scattering(3.0), n=4, max_evaluations=400, seed=1)
    assert (result.evaluated, result.cached) == (400, 0)


@pytest.mark.parametrize("sd", [1e-12, 1e-3])
def test_a_scatter_that_does_not_matter_is_neglected(sd: float) -> None:
    result = daedal.maximize(Scattering(sd), n=50, max_evaluations=6000, seed=1, target=50 - 0.5)
    assert result.success
    assert "scatter" not in result.explanation


def test_local_search_that_is_stuck_gives_way() -> None:
    optimizer = Auto(n=20, seed=1, limits=daedal.Limits(max_evaluations=1500))
    while optimizer.stop is None:
        optimizer.tell(plateau(optimizer.ask()))
    assert isinstance(optimizer._inner, Mix)
    assert "stuck" in optimizer.explanation


def test_too_few_calls_are_not_spent_on_a_question() -> None:
    seen: list[bytes] = []

    def function(x: Bits) -> Fitness:
        seen.extend(row.tobytes() for row in x)
        return ones(x)

    daedal.maximize(function, n=40, max_evaluations=PROBED - 1, seed=1)
    assert len(set(seen)) == len(seen) == PROBED - 1


@pytest.mark.parametrize("stop", [3, 40, 200, 1450, 1550])
def test_a_noisy_run_goes_on_to_the_bit(stop: int) -> None:
    """With noise that depends on how often it was asked: the same for both."""

    def value(x: Bits, calls: int) -> Fitness:
        return ones(x) + np.random.default_rng([7, calls]).normal(size=len(x))

    limits = daedal.Limits(max_evaluations=1600)
    first, second = (Auto(n=15, seed=3, limits=limits) for _ in range(2))
    while first.stop is None and first.evaluations < stop:
        first.tell(value(first.ask(), first.calls))
    second.restore(first.state())
    while first.stop is None:
        rows = first.ask()
        assert np.array_equal(rows, second.ask())
        assert first.fresh == second.fresh
        fitness = value(rows, first.calls)
        first.tell(fitness)
        second.tell(fitness)
    assert first.best is not None
    assert second.best is not None
    assert np.array_equal(first.best.x, second.best.x)
    assert (first.best.fitness, first.best.evaluations) == (second.best.fitness, second.best.evaluations)
    assert first.explanation == second.explanation


def test_without_a_limit_larger_populations_follow() -> None:
    optimizer: Any = Noisy(n=6, seed=1)
    rng = np.random.default_rng(1)
    while optimizer.restarts < 2:
        optimizer.tell(ones(optimizer.ask()) + rng.normal(size=len(optimizer.ask())))
    assert optimizer.popsize == 4 * noisy_popsize(None)
    assert optimizer.best.x.sum() == 6


def test_an_infeasible_start_is_given_up_for_a_random_row_that_is_not() -> None:
    def function(x: Bits) -> Fitness:
        return np.where(x.sum(axis=1) > 25, -np.inf, x @ np.arange(60.0))

    for seed in range(10):
        result = daedal.maximize(function, n=60, max_evaluations=100, seed=seed)
        assert result.fitness > 800
        assert result.evaluated == 100


def test_values_near_the_largest_float_are_no_problem() -> None:
    result = daedal.maximize(lambda x: ones(x) * 1e300, n=20, max_evaluations=200, seed=1)
    assert result.fitness == 20e300


def test_known_initial_rows_are_not_lost() -> None:
    rows = np.random.default_rng(1).integers(0, 2, (20, 30), dtype=np.uint8)
    rows[-1] = 1
    for algorithm in ("auto", "mix", "ils"):
        for given in (rows, (rows, ones(rows))):
            result = daedal.maximize(ones, n=30, algorithm=algorithm, max_evaluations=25, seed=1, initial=given)
            assert result.fitness == 30


def test_noise_without_a_limit_comes_to_an_end() -> None:
    result = daedal.maximize(Scattering(3.0), n=10, seed=1)
    assert result.stop is daedal.StopReason.CONVERGED
    assert result.x.sum() == 10
    assert abs(result.fitness - 10) < 2
