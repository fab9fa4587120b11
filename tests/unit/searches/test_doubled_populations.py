"""Populations that are doubled: what ends one, what ends them all, and what they begin with."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from engine_helpers import run_in_batches

import daedal
from daedal.archive import to_candidates
from daedal.engine import Engine
from daedal.limits import StopReason
from daedal.models import UMDA
from daedal.searches import eda as module
from daedal.searches.eda import doubled_populations, eda


def value(x: Any) -> Any:
    return (x * np.sqrt(np.arange(1, x.shape[1] + 1))).sum(axis=1) % 5


def started(n: int = 20, *, initial: Any = None, left: int | None = None, **limits: int) -> tuple[Engine, Any]:
    engine = Engine(n, seed=7)
    engine.initial, engine.left = initial, left
    return engine, engine.start(doubled_populations(engine, model=UMDA(), **limits))


def test_each_population_is_twice_as_large_and_all_of_them_count() -> None:
    """And they go on where one population would have converged, to the end of the budget."""
    run: dict[str, Any] = {"algorithm": "umda", "seed": 1, "max_evaluations": 2_000, "target": 99}
    once = daedal.maximize("onemax:n=30", **run)
    result = daedal.maximize("onemax:n=30", popsize="auto", max_generations=9, **run)
    assert (once.stop, once.evaluations < 1_500) == (StopReason.CONVERGED, True)
    assert (result.stop, result.evaluations) == (StopReason.EVALUATIONS, 2_000)
    sizes = [int(record.info["popsize"]) for record in result.history]
    changes = [size for size, _ in itertools.groupby(sizes)]
    assert changes == [16 * 2**i for i in range(len(changes))]
    assert len(changes) > 4
    assert max(map(sizes.count, changes)) <= 10  # max_generations is that of one population
    spent = np.diff([0, *(record.evaluations + record.repeated for record in result.history)])
    firsts = [sizes.index(size) for size in changes]
    for size, first in zip(changes[:-1], firsts, strict=False):
        assert spent[first] == size
        assert set(spent[first + 1 : first + sizes.count(size)]) <= {size // 2}
    bests = [record.best for record in result.history]
    assert bests == sorted(bests)
    assert (result.settings["popsize"], result.popsize) == ("auto", changes[-1])


def test_the_first_population_is_that_of_the_seed_and_the_others_are_drawn_independently() -> None:
    engine, _ = started(max_generations=0)
    alone = Engine(20, seed=7)
    alone.start(eda(alone, model=UMDA(), popsize=16))
    batches = run_in_batches(engine, value, most=5)
    assert batches[0] == alone.ask()
    assert len({tuple(batch[:16]) for batch in batches}) == 5
    assert engine.popsize == 16 * 2**4


@pytest.mark.parametrize(
    ("limits", "generations"), [({"max_generations": 3}, 4), ({"patience": 1, "max_generations": 8}, 9)]
)
def test_generations_and_patience_end_one_population(limits: dict[str, int], generations: int) -> None:
    sizes: list[int] = []
    engine, _ = started(**limits)
    engine.on_generation = lambda: sizes.append(engine.popsize or 0) or False  # type: ignore[func-returns-value]
    run_in_batches(engine, value, most=20)
    assert max(map(sizes.count, sizes)) <= generations
    assert len(set(sizes)) >= 3


def test_without_any_limit_it_ends_with_the_largest_population(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LAST_POPSIZE", 128)
    engine, task = started(n=10)
    run_in_batches(engine, value)
    assert (task.finished, engine.popsize) == (True, 128)
    monkeypatch.setattr(module, "fits_memory", lambda popsize, n: popsize <= 32)
    engine, task = started(n=10)
    run_in_batches(engine, value)
    assert (task.finished, engine.popsize) == (True, 32)


def test_it_begins_with_what_is_given_and_small_if_the_budget_is_small() -> None:
    rows = np.eye(20, dtype=np.uint8)
    engine, _ = started(initial=rows)
    assert engine.ask()[:20] == to_candidates(rows)
    assert engine.popsize == 32
    for left, popsize in ((1, 4), (12, 4), (30, 10), (100, 16)):
        engine, _ = started(left=left)
        engine.ask()
        assert engine.popsize == popsize
