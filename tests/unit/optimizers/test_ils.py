"""Iterated local search: what it asks for, and that it ends where it should."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from daedal.limits import Limits, StopReason
from daedal.optimizers.arms import Arm, restart
from daedal.optimizers.ils import ILS
from daedal.types import Bits, Fitness

Function = Callable[[Bits], Any]


def run(f: Function, n: int, calls: int | None = None, **how: Any) -> tuple[ILS, list[Bits]]:
    """Run to the end; give the batches too."""
    target = how.pop("target", None)
    optimizer, asked = ILS(n=n, limits=Limits(max_evaluations=calls, target=target), **{"seed": 1} | how), []
    while optimizer.stop is None:
        asked.append(optimizer.ask())
        optimizer.tell(np.asarray(f(asked[-1]), dtype=np.float64))
    return optimizer, asked


def weights(x: Bits) -> Fitness:
    return np.asarray(x @ np.sqrt(np.arange(1, x.shape[1] + 1)) % 5)


def rugged(x: Bits) -> Fitness:
    """A dense quadratic function."""
    n = x.shape[1]
    return np.asarray(((x @ np.random.default_rng(n).normal(size=(n, n))) * x).sum(axis=1))


@pytest.mark.parametrize("n", [1, 2, 20, 100, 600])
def test_where_gains_add_up_each_variable_is_flipped_once(n: int) -> None:
    wanted = np.random.default_rng(n).integers(0, 2, n)
    for seed in range(3):
        optimizer, _ = run(lambda x: (x == wanted).sum(axis=1), n, 10 * n, seed=seed, target=float(n))
        assert optimizer.stop is StopReason.TARGET
        assert optimizer.evaluations <= n + 1


@pytest.mark.parametrize("min_batch", [1, 3, 16])
@pytest.mark.parametrize("f", [weights, rugged, lambda x: np.zeros(len(x)), lambda x: np.full(len(x), -np.inf)])
def test_no_row_is_asked_for_twice_and_all_calls_are_used(f: Function, min_batch: int) -> None:
    for calls in (1, 2, 17, 400):
        optimizer, asked = run(f, 10, calls, min_batch=min_batch)
        rows = np.concatenate(asked)
        assert len(rows) == len(np.unique(rows, axis=0)) == optimizer.evaluations == calls
        assert optimizer.stop is StopReason.EVALUATIONS


@pytest.mark.parametrize("min_batch", [1, 5])
@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_it_ends_when_every_row_is_known(n: int, min_batch: int) -> None:
    for f in (weights, lambda x: np.full(len(x), -np.inf)):
        optimizer, asked = run(f, n, None, min_batch=min_batch)
        assert optimizer.stop is StopReason.EXHAUSTED
        assert len(np.unique(np.concatenate(asked), axis=0)) == optimizer.evaluations == 2**n


def test_an_exchange_solves_what_flips_cannot() -> None:
    """A knapsack for one thing of ten, where the worst is in: no flip gains, nor do two that add or take away."""
    worth = np.arange(1.0, 11.0)

    def knapsack(x: Bits) -> Fitness:
        return np.asarray(np.where(x.sum(axis=1) == 1, x @ worth, -100.0 * abs(x.sum(axis=1) - 1.0)))

    first = np.eye(1, 10, dtype=np.uint8)
    optimizer, _ = run(knapsack, 10, 40, initial=first, target=10.0)
    assert optimizer.stop is StopReason.TARGET
    stuck = [Arm(name="again", start=lambda x, rng: x.copy(), share=1.0)]
    without, _ = run(knapsack, 10, 11, initial=first, arms=stuck)
    assert without.best is not None
    assert without.best.fitness == 1.0


def test_batches_are_as_wide_as_asked_for() -> None:
    for min_batch in (1, 4, 32):
        _, asked = run(rugged, 40, 1000, min_batch=min_batch)
        sizes = [len(rows) for rows in asked[:-1]]
        assert max(sizes) == min_batch
        assert np.mean(sizes) > 0.97 * min_batch


def test_it_begins_with_what_is_given_and_climbs_from_the_best_of_it() -> None:
    initial = np.random.default_rng(4).integers(0, 2, (6, 30), dtype=np.uint8)
    _, asked = run(rugged, 30, 20, initial=initial)
    assert np.array_equal(asked[0], initial)
    top = initial[np.argmax(rugged(initial))]
    assert (asked[1] != top).sum() == 1


def test_an_arm_of_ones_own_is_asked_and_may_have_nothing() -> None:
    """As the maxima of a model will: rows at once, and none where there are none."""
    given: list[int] = []

    def maximum(x: Bits, rng: np.random.Generator) -> Bits | None:
        given.append(1)
        return np.ones_like(x) if len(given) == 3 else None

    arms = [Arm(name="model", start=maximum, share=1e6, climbs=False), Arm(name="r", start=restart, share=1.0)]
    ones = np.ones(40, np.uint8)
    optimizer, _ = run(lambda x: np.where((x == ones).all(axis=1), 1e6, rugged(x)), 40, 2000, arms=arms)
    assert optimizer.best is not None
    assert optimizer.best.fitness == 1e6
    assert len(given) > 3


def test_a_generation_is_n_calls() -> None:
    optimizer, records = ILS(n=12, seed=1, limits=Limits(max_evaluations=60)), []
    while optimizer.stop is None:
        records.append(optimizer.tell(weights(optimizer.ask())))
    ends = [record.evaluations for record in records if record is not None]
    assert ends == [12, 24, 36, 48, 60]


@pytest.mark.parametrize("min_batch", [1, 3])
@pytest.mark.parametrize("n", [9, 520])
def test_it_goes_on_to_the_bit_after_every_batch(n: int, min_batch: int) -> None:
    how: dict[str, Any] = {"n": n, "seed": 7, "limits": Limits(max_evaluations=120), "min_batch": min_batch}
    one, other = ILS(**how), ILS(**how)
    while one.stop is None:
        copy = ILS(**how)
        copy.restore(other.state())
        other = copy
        rows = one.ask()
        assert np.array_equal(other.ask(), rows)
        assert repr(one.tell(rugged(rows))) == repr(other.tell(rugged(rows)))
    assert other.stop is one.stop
