"""Populations that climb and mix: what they ask for, where they end, and what no run can have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from daedal.optimizers.population import Population
from daedal.optimizers.row_memory import RowMemory, pack, unpack
from daedal.types import Bits, Fitness, State, StateError


def made(n: int, **how: Any) -> Population:
    return Population(**{"n": n, "members": 6, "slots": 4, "width": 2, "eager": False, "word": 7} | how)


def rugged(x: Bits) -> Fitness:
    return np.asarray((x * np.sqrt(np.arange(1, x.shape[1] + 1))).sum(axis=1) % 5)


def batches(population: Population, count: int) -> list[Bits]:
    found = []
    for _ in range(count):
        found.append(population.memory.waiting_rows())
        population.memory.answer(rugged(found[-1]))
        population.go_on()
    return found


@pytest.mark.parametrize("n", [1, 2, 20, 64, 65, 130])
def test_rows_packed_and_unpacked_are_the_same(n: int) -> None:
    rows = np.random.default_rng(n).integers(0, 2, (7, n), dtype=np.uint8)
    assert np.array_equal(unpack(pack(rows), n), rows)


def test_no_row_is_asked_for_twice() -> None:
    population = made(10)
    population.begin(None)
    rows = np.concatenate(batches(population, 60))
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert len(rows) == population.memory.known


def test_it_begins_with_one_climb_and_widens_when_gains_do_not_add_up() -> None:
    population = made(30)
    population.begin(None)
    sizes = [len(rows) for rows in batches(population, 12)]
    assert sizes[:2] == [1, 30]
    assert max(sizes[2:]) > 1


def test_where_gains_add_up_one_climb_is_enough() -> None:
    population = made(64)
    population.begin(None)
    asked = 0
    while population.memory.values(np.arange(population.memory.known)).max(initial=0) < 64:
        rows = population.memory.waiting_rows()
        asked += len(rows)
        population.memory.answer(rows.sum(axis=1).astype(float))
        population.go_on()
    assert asked <= 64 + 8  # a row, its flips, and merges of doubled size


@pytest.mark.parametrize("n", [1, 2, 3, 8])
def test_it_ends_when_every_row_is_known(n: int) -> None:
    population = made(n)
    population.begin(None)
    for _ in range(2**n + 5):
        if population.exhausted:
            break
        population.memory.answer(rugged(population.memory.waiting_rows()))
        population.go_on()
    assert population.exhausted
    assert population.memory.known == 2**n
    assert not population.memory.waiting


def test_initial_rows_are_evaluated_and_the_best_are_where_the_first_climbs_begin() -> None:
    initial = np.random.default_rng(1).integers(0, 2, (9, 12), dtype=np.uint8)
    population, again = made(12), made(12)
    population.begin(initial)
    assert np.array_equal(population.memory.waiting_rows(), initial)
    again.restore(population.state())
    for one in (population, again):
        one.memory.answer(rugged(initial))
        one.go_on()
        best = initial[np.argsort(-rugged(initial), kind="stable")[:6]]
        assert np.array_equal(unpack(one._starts, 12), best)


def test_rows_offered_begin_climbs_of_the_next_population() -> None:
    population = made(12)
    population.begin(None)
    offered = np.random.default_rng(2).integers(0, 2, (50, 12), dtype=np.uint8)
    population.offer(offered)
    members, used = population.members, None
    for _ in range(400):
        population.memory.answer(rugged(population.memory.waiting_rows()))
        population.go_on()
        if population.members > members:
            used = population._starts
            break
    assert used is not None
    half = -(-len(used) // 2)
    assert np.array_equal(unpack(used[:half], 12), offered[:half])


@pytest.mark.parametrize("done", [0, 1, 2, 5, 20, 45])
def test_it_goes_on_from_its_state_to_the_bit(done: int) -> None:
    first, second = made(11), made(11)
    first.begin(None)
    batches(first, done)
    second.restore(first.state())
    for ours, theirs in zip(batches(first, 30), batches(second, 30), strict=True):
        assert np.array_equal(ours, theirs)


def damaged(state: State) -> list[State]:
    """Every array with a number that it cannot hold, of another shape, or of another kind."""
    found = []
    for name, array in state.arrays.items():
        for value in (-2, 10**6):
            if array.size and array.dtype == np.int64:
                changed = array.copy()
                changed.flat[-1] = value
                found.append((name, changed))
        found += [(name, array[..., None]), (name, array.astype(np.float32))]
    return [State(arrays={**state.arrays, name: array}, fields=state.fields) for name, array in found]


@pytest.mark.parametrize("done", [3, 30])
def test_a_state_that_no_run_can_have_is_refused_or_harmless(done: int) -> None:
    population = made(11)
    population.begin(None)
    batches(population, done)
    cases, refused = damaged(population.state()), 0
    for state in cases:
        again = made(11)
        try:
            again.restore(state)
        except StateError:
            refused += 1
            continue
        batches(again, 20)  # some numbers are not looked at any more
    assert refused > 0.8 * len(cases)


def test_a_memory_refuses_rows_twice_and_too_long() -> None:
    memory = RowMemory(5)
    memory.add(pack(np.eye(3, 5, dtype=np.uint8)))
    memory.answer(np.arange(3.0))
    state = memory.state()
    for keys in (state.arrays["keys"][[0, 0, 1]], state.arrays["keys"] | np.uint64(32)):
        with pytest.raises(StateError, match=r"once|longer"):
            RowMemory(5).restore(State(arrays={**state.arrays, "keys": keys}, fields={}))
