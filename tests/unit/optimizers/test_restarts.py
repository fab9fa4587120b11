"""Populations that are doubled: what ends one, what ends them all, and that nothing of them is lost."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import daedal
from daedal.limits import Limits, StopReason
from daedal.models import PBIL, UMDA
from daedal.optimizers import restarts
from daedal.optimizers.eda import EDA, EDAConfiguration
from daedal.optimizers.records import Generation
from daedal.optimizers.restarts import Restarts
from daedal.types import Bits, Fitness


def made(n: int = 20, model: Any = None, initial: Bits | None = None, **limits: Any) -> Restarts:
    configuration = EDAConfiguration(model=UMDA() if model is None else model, popsize="auto")
    built = configuration.build(n=n, seed=7, limits=Limits(**limits), initial=initial)
    assert isinstance(built, Restarts)
    return built


def value(x: Bits) -> Fitness:
    return np.asarray((x * np.sqrt(np.arange(1, x.shape[1] + 1))).sum(axis=1) % 5)


def records(optimizer: Restarts, most: int = 10_000) -> list[Generation]:
    found = []
    for _ in range(most):
        if optimizer.stop is not None:
            break
        record = optimizer.tell(value(optimizer.ask()))
        assert record is not None
        found.append(record)
    return found


def test_each_population_is_twice_as_large_and_all_of_them_count() -> None:
    optimizer = made(max_evaluations=5_000, max_generations=9)
    found = records(optimizer)
    sizes = [int(record.info["popsize"]) for record in found]
    changes = [size for size, _ in itertools.groupby(sizes)]
    assert changes == [16 * 2**i for i in range(len(changes))]
    assert len(changes) > 4
    assert (optimizer.stop, optimizer.evaluations) == (StopReason.EVALUATIONS, 5_000)
    assert [record.generation for record in found] == list(range(len(found)))
    spent = np.diff([0, *(record.evaluations for record in found)])
    firsts = [sizes.index(size) for size in changes]
    for size, first in zip(changes[:-1], firsts, strict=False):
        assert spent[first] == size
        assert set(spent[first + 1 : first + sizes.count(size)]) <= {size // 2}
        assert sizes.count(size) <= 10  # max_generations is of one population
    bests = [record.best for record in found]
    assert bests == sorted(bests)


def test_the_first_population_is_that_of_the_seed_and_the_others_are_drawn_anew() -> None:
    optimizer = made(max_generations=0)
    alone = EDA(n=20, model=UMDA(), popsize=16, seed=7)
    assert np.array_equal(optimizer.ask(), alone.ask())
    drawn = set()
    for _ in range(5):
        rows = optimizer.ask()
        drawn.add(rows[:16].tobytes())
        optimizer.tell(value(rows))
    assert len(drawn) == 5
    assert optimizer.popsize == 16 * 2**5


@pytest.mark.parametrize(
    ("limits", "generations"), [({"max_generations": 3}, 4), ({"patience": 1, "max_generations": 8}, 9)]
)
def test_generations_and_patience_end_one_population(limits: dict[str, int], generations: int) -> None:
    optimizer = made(max_evaluations=2_000, **limits)
    sizes = [int(record.info["popsize"]) for record in records(optimizer)]
    assert optimizer.stop is StopReason.EVALUATIONS
    assert max(sizes.count(size) for size in set(sizes)) <= generations
    assert len(set(sizes)) >= 3


def test_a_target_ends_the_run() -> None:
    optimizer = made(target=4.5)
    found = records(optimizer)
    assert optimizer.stop is StopReason.TARGET
    assert found[-1].best >= 4.5


def test_without_any_limit_it_ends_with_the_largest_population(monkeypatch: pytest.MonkeyPatch) -> None:
    """And EDA's own limits end each of them, so that it ends at all."""
    monkeypatch.setattr(restarts, "LAST_POPSIZE", 128)
    optimizer = made(n=10, model=PBIL())
    found = records(optimizer)
    assert (optimizer.stop, optimizer.popsize) == (StopReason.CONVERGED, 128)
    assert len(found) <= 4 * 151
    monkeypatch.setattr(restarts, "fits_memory", lambda popsize, n: popsize <= 32)
    small = made(n=10)
    records(small)
    assert (small.stop, small.popsize) == (StopReason.CONVERGED, 32)


def test_a_population_that_finds_nothing_new_is_given_up() -> None:
    """Only who knows what was free can see it: a run."""
    optimizer = made()
    optimizer.metered = True
    for generation in range(4):
        assert optimizer.popsize == 16
        rows = optimizer.ask()
        optimizer.settle(len(rows), calls=0 if generation else len(rows))
        optimizer.tell(value(rows))
    assert (optimizer.popsize, optimizer.restarts, optimizer.calls) == (32, 1, 16)


def test_it_begins_with_what_is_given_and_small_where_little_can_be_paid() -> None:
    rows = np.eye(20, dtype=np.uint8)
    optimizer = made(initial=rows)
    assert optimizer.popsize == 32
    assert np.array_equal(optimizer.ask()[:20], rows)
    assert [made(max_evaluations=most).popsize for most in (1, 12, 30, 100)] == [4, 4, 10, 16]


@pytest.mark.parametrize("wrong", [{"popsize": 0}, {"popsize": 24}, {"popsize": 2**40}, {"restarts": 5}])
def test_a_state_that_no_run_has_is_refused(wrong: dict[str, int]) -> None:
    optimizer = made(max_generations=1)
    records(optimizer, 5)
    state = optimizer.state()
    made(max_generations=1).restore(state)
    own = state.fields["own"]
    assert isinstance(own, dict)
    with pytest.raises(ValueError):  # noqa: PT011  in whatever words
        made(max_generations=1).restore(state.extend(arrays={}, fields={"own": own | wrong}))


def test_a_run_spends_its_budget_where_one_population_converges() -> None:
    run: dict[str, Any] = {"algorithm": "umda", "seed": 1, "max_evaluations": 3_000, "target": 99}
    once = daedal.maximize("onemax:n=30", **run)
    again = daedal.maximize("onemax:n=30", popsize="auto", **run)
    assert (once.stop, once.evaluated < 1_500) == (StopReason.CONVERGED, True)
    assert (again.stop, again.evaluated) == (StopReason.EVALUATIONS, 3_000)
    assert again.settings["popsize"] == "auto"
    assert again.popsize == again.history[-1].info["popsize"] > 100
