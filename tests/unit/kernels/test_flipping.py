"""Climbs by single flips: which one comes next, and where they end."""

from __future__ import annotations

import numpy as np
import pytest

from daedal.kernels import flipping
from daedal.optimizers.climbs import Climbs
from daedal.optimizers.row_memory import RowMemory, pack, unpack
from daedal.types import Bits, Fitness, StateError


def test_a_flip_is_chosen_by_its_worth_and_chance() -> None:
    """Of two worth 1 and 2, times uniform numbers, the second is the larger one three times of four."""
    draws, tested = np.array([5], np.uint64), np.array([0, 1, 0], np.uint8)
    worth = np.array([1.0, 100.0, 2.0])
    chosen = np.array([flipping.choose_flip(worth, tested, 0.0, draws) for _ in range(4000)])
    assert set(chosen) == {0, 2}
    assert (chosen == 2).mean() == pytest.approx(0.75, abs=0.025)
    assert flipping.choose_flip(worth, tested, 2.5, draws) == -1
    assert flipping.choose_flip(worth, np.ones(3, np.uint8), 0.0, draws) == -1
    nothing = [flipping.choose_flip(np.zeros(3), np.zeros(3, np.uint8), 0.0, draws) for _ in range(300)]
    assert set(nothing) == {0, 1, 2}


def quadratic(x: Bits) -> Fitness:
    n = x.shape[1]
    return np.asarray(((x @ np.random.default_rng(n).normal(size=(n, n))) * x).sum(axis=1))


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("n", [5, 30, 70])
def test_a_climb_goes_up_by_single_flips_and_asks_for_no_row_twice(n: int, paired: bool) -> None:
    memory, climbs = RowMemory(n), Climbs(n, 1, paired=paired)
    climbs.seed(3)
    climbs.start(0, int(memory.add(pack(np.zeros((1, n), np.uint8)))[0]), climb=True)
    assert climbs.go_on(memory, 0)
    places, previous = [], -np.inf
    while memory.waiting:
        memory.reserve(1)
        assert memory.waiting == 1
        memory.answer(quadratic(memory.waiting_rows()))
        climbs.go_on(memory, 0)
        here = memory.values(np.array([climbs.place(0)]))[0]
        assert here >= previous
        previous = here
        places.append(climbs.place(0))
    assert climbs.is_free(0)
    path = unpack(memory.keys(np.array(places)), n)
    assert set((path[1:] != path[:-1]).sum(axis=1)) <= {0, 1}
    assert previous == memory.table.values[: memory.known].max()
    flips = path[-1] ^ np.eye(n, dtype=np.uint8)
    assert (quadratic(flips) <= previous).mean() > 0.9  # a local optimum, or nearly: some flips are not worth a call


def test_a_look_takes_a_value_and_does_not_climb() -> None:
    memory, climbs = RowMemory(4), Climbs(4, 1)
    climbs.start(0, int(memory.add(pack(np.ones((1, 4), np.uint8)))[0]), climb=False)
    assert climbs.go_on(memory, 0)
    memory.answer(np.ones(1))
    assert not climbs.go_on(memory, 0)
    assert (climbs.place(0), climbs.is_free(0), memory.waiting) == (0, True, 0)


def test_every_row_is_found_once() -> None:
    memory = RowMemory(4)
    places = []
    for start in range(16):
        memory.reserve(1)
        places.append(flipping.add_unseen(memory.table, np.array([7 * start % 16], np.uint64), 16))
    assert places == list(range(16))
    assert flipping.add_unseen(memory.table, np.array([3], np.uint64), 16) == -1


def test_what_stands_nowhere_is_refused() -> None:
    climbs = Climbs(4, 2)
    state = climbs.state()
    state.arrays["asked"][1] = 9
    with pytest.raises(StateError, match="stand on known rows"):
        climbs.restore(state, 3)
    state.arrays["asked"][1] = 2
    climbs.restore(state, 3)
    state.arrays["worth"][1, 2] = np.nan
    with pytest.raises(StateError, match="worth"):
        climbs.restore(state, 3)
