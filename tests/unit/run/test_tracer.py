"""Looks at a search: often at first, ever more rarely, never more than fit; the same after a resume."""

from __future__ import annotations

import numpy as np
import pytest

import daedal
from daedal.run.tracer import MOST_LOOKS, Tracer
from daedal.types import Bits, State


def an_optimizer(n: int = 6) -> daedal.EDA:
    optimizer = daedal.EDA(n=n, model=daedal.models.UMDA(), popsize=20, seed=1)
    optimizer.tell(optimizer.ask().sum(axis=1))
    return optimizer


@pytest.mark.parametrize("generations", [1, MOST_LOOKS, MOST_LOOKS + 1, 1000])
def test_looks_are_even_and_never_too_many(generations: int) -> None:
    tracer, optimizer = Tracer(6), an_optimizer()
    for generation in range(generations):
        tracer.look(generation, optimizer)
        assert len(tracer.looks) <= MOST_LOOKS
    found = [look.generation for look in tracer.last(generations - 1, optimizer)]
    assert found[0] == 0
    assert found[-1] == generations - 1
    assert len(set(np.diff(found[:-1]).tolist())) <= 1
    assert generations <= MOST_LOOKS or len(found) >= MOST_LOOKS // 2


def test_a_look_has_shares_and_rows_best_first() -> None:
    tracer, optimizer = Tracer(6), an_optimizer()
    tracer.look(0, optimizer)
    rows, fitness = optimizer.population
    (look,) = tracer.looks
    assert look.fitness.tolist() == sorted(fitness.tolist(), reverse=True)
    assert np.unpackbits(look.rows, axis=1, count=6).sum(axis=1).tolist() == look.fitness.tolist()
    assert look.ones / 255 == pytest.approx(rows.mean(axis=0), abs=1 / 255)


def test_who_has_no_population_is_known_by_what_it_tries() -> None:
    class Random:
        n = 6

    tracer = Tracer(6)
    rng = np.random.default_rng(1)
    batches: list[Bits] = [rng.integers(0, 2, (7, 6), dtype=np.uint8) for _ in range(30)]
    for rows in batches:
        tracer.hear(rows, rows.sum(axis=1).astype(float))
    tracer.look(0, Random())  # type: ignore[arg-type]
    last = np.concatenate(batches)[-100:]
    assert tracer.looks[0].fitness.tolist() == sorted(last.sum(axis=1).tolist(), reverse=True)


def test_one_that_goes_on_gives_the_same() -> None:
    first, optimizer = Tracer(6), an_optimizer()
    states = []
    for generation in range(300):
        first.look(generation, optimizer)
        if generation == 150:
            states.append(first.state(generation, optimizer))
    second = Tracer(6)
    second.restore(states[0])
    for generation in range(151, 300):
        second.look(generation, optimizer)
    one, other = (tracer.state(299, optimizer) for tracer in (first, second))
    assert one.fields == other.fields
    assert {name: array.tolist() for name, array in one.arrays.items()} == {
        name: array.tolist() for name, array in other.arrays.items()
    }


def test_long_rows_are_kept_in_small_numbers() -> None:
    n = 100_000
    tracer, optimizer = Tracer(n), an_optimizer(n)
    for generation in range(3):
        tracer.look(generation, optimizer)
    state: State = tracer.state(2, optimizer)
    assert sum(array.nbytes for array in state.arrays.values()) < 2e6
    assert "linkage" not in state.arrays
