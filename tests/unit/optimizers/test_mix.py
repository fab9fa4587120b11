"""`mix` on functions whose optimum is known, and what its model learns on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import daedal
from daedal.limits import Limits, StopReason
from daedal.optimizers.mix import Mix, MixConfiguration
from daedal.types import Bits, Fitness


def run(optimizer: Mix, function: Any, target: float, most: int = 20_000) -> int:
    """Give the rows told until the target is reached."""
    while optimizer.stop is None and optimizer.evaluations < most:
        optimizer.tell(function(optimizer.ask()))
        if optimizer.best is not None and optimizer.best.fitness >= target - 1e-9:
            return optimizer.evaluations
    raise AssertionError(f"not solved: {optimizer.best}")


def deceptive(x: Bits) -> Fitness:
    ones = x.reshape(len(x), -1, 5).sum(axis=2)
    return np.where(ones == 5, 5, 4 - ones).sum(axis=1).astype(float)


def test_deceptive_blocks_are_solved() -> None:
    """P3 needs 1,798 calls on average; the bound is for five seeds, not their mean."""
    calls = [run(Mix(n=25, seed=seed), deceptive, 25) for seed in range(5)]
    assert np.mean(calls) < 1_400


def test_the_model_finds_the_maximum_of_a_quadratic_function() -> None:
    rng = np.random.default_rng(1)
    weights = np.triu(rng.normal(size=(14, 14)))
    everything = (np.arange(2**14)[:, None] >> np.arange(14) & 1).astype(np.uint8)

    def function(x: Bits) -> Fitness:
        return np.asarray(np.einsum("ri,ij,rj->r", x, weights, x, dtype=float))

    optimizer = Mix(n=14, seed=1)
    run(optimizer, function, function(everything).max())
    while optimizer.surrogate is not None and optimizer.surrogate.r2 < 1 - 1e-6:
        optimizer.tell(function(optimizer.ask()))
    assert optimizer.surrogate is not None
    assert optimizer.surrogate.function is not None
    assert optimizer.surrogate.function.terms.orders.max() == 2


def test_where_nothing_can_be_learned_little_is_spent_on_the_model() -> None:
    def noise(x: Bits) -> Fitness:
        """A function without structure: each row has a random value of its own."""
        return np.array([np.random.default_rng(list(row.tobytes())).random() for row in x])

    optimizer = Mix(n=24, seed=1)
    while optimizer.evaluations < 3000:
        optimizer.tell(noise(optimizer.ask()))
    assert optimizer.surrogate is not None
    assert 2 <= optimizer.surrogate.fits <= 12  # of eight rows each
    assert optimizer.surrogate.r2 < 0.5


def test_rows_that_are_infeasible_are_no_equations() -> None:
    def function(x: Bits) -> Fitness:
        return np.where(x.sum(axis=1) % 4 == 0, -np.inf, x.sum(axis=1).astype(float))

    optimizer = Mix(n=22, seed=3)
    for _ in range(60):
        optimizer.tell(function(optimizer.ask()))
    assert optimizer.best is not None
    assert optimizer.best.fitness == 22


def test_all_infeasible_is_no_reason_to_fail() -> None:
    optimizer = Mix(n=9, seed=1)
    while optimizer.stop is None:
        optimizer.tell(np.full(len(optimizer.ask()), -np.inf))
    assert (optimizer.stop, optimizer.evaluations) == (StopReason.EXHAUSTED, 512)


@pytest.mark.parametrize("min_batch", [17, 64, 300])
def test_batches_are_wider_where_that_is_wanted(min_batch: int) -> None:
    """The first climb is alone, and merging takes one row a climb: the others have to make up for that."""
    sizes: dict[int, list[int]] = {1: [], min_batch: []}
    for wanted, found in sizes.items():
        optimizer = Mix(n=30, seed=1, min_batch=wanted)
        for _ in range(60):
            rows = optimizer.ask()
            found.append(len(rows))
            optimizer.tell(np.asarray((rows * np.sqrt(np.arange(30))).sum(axis=1) % 7))
    assert np.mean(sizes[min_batch]) >= 1.2 * np.mean(sizes[1])
    assert max(sizes[min_batch]) >= min_batch


def test_few_workers_change_nothing_and_many_widen_the_batches() -> None:
    for workers in (1, 2, 16):
        assert MixConfiguration().resolved(20, workers=workers).min_batch == 1
    assert MixConfiguration().resolved(20, workers=1000).min_batch == 1000
    assert MixConfiguration(min_batch=3).resolved(20, workers=1000).min_batch == 3


def test_records_tell_the_size_of_the_population_and_of_the_model() -> None:
    result = daedal.maximize(deceptive, n=25, algorithm="mix", seed=1, target=25)
    assert result.success
    assert result.cached == 0
    assert any({"members", "r2", "terms"} <= set(record.info) for record in result.history)


@pytest.mark.parametrize("settings", [{"members": 1}, {"min_batch": 0}, {"min_batch": 10**9}, {"members": 2.5}])
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError), match=next(iter(settings))):
        MixConfiguration(**settings)


def test_a_population_that_fits_into_no_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="members"):
        Mix(n=8, seed=1, members=10**12)


def test_a_large_number_of_variables_is_no_problem() -> None:
    optimizer = Mix(n=3000, seed=1, limits=Limits(max_evaluations=3500))
    while optimizer.stop is None:
        optimizer.tell(optimizer.ask().sum(axis=1).astype(float))
    assert optimizer.best is not None
    assert optimizer.best.fitness == 3000
