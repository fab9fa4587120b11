"""Climbing and mixing against slow twins, row by row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from search_twins import Row, SplitMix, climb, mix

from daedal import kernels
from daedal.kernels.jobs import new_jobs
from daedal.optimizers.row_memory import RowMemory, pack, unpack
from daedal.types import Bits

N = 13
Function = Callable[[Row], float]


def functions() -> dict[str, Function]:
    rng = np.random.default_rng(1)
    weights, pairs = rng.normal(size=N), rng.normal(size=(N, N))
    return {
        "additive": lambda x: float(np.dot(weights, x)),
        "quadratic": lambda x: float(np.array(x) @ pairs @ np.array(x)),
        "plateaus": lambda x: float(sum(x) // 3),
        "deceptive": lambda x: float(N if all(x) else N - 1 - sum(x)),
        "mostly -inf": lambda x: float(np.dot(weights, x)) if sum(x) % 3 else -np.inf,
        "-inf": lambda _: -np.inf,
        "constant": lambda _: 1.0,
    }


class Told:
    """Answers the rows that wait in a memory, and keeps the order in which they came."""

    def __init__(self, function: Function) -> None:
        self.memory = RowMemory(N)
        self.function = function

    def answer(self) -> bool:
        rows = self.memory.waiting_rows()
        self.memory.answer(np.array([self.function(tuple(row)) for row in rows.tolist()]))
        return len(rows) > 0

    def row(self, place: int) -> Row:
        return tuple(unpack(self.memory.keys(np.array([place])), N)[0].tolist())


class Recorded:
    """The function for a twin, which keeps the rows asked for, each once."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.asked: dict[Row, float] = {}

    def __call__(self, x: Row) -> float:
        return self.asked.setdefault(x, self.function(x))


def random_rows(count: int, seed: int) -> Bits:
    return np.random.default_rng(seed).integers(0, 2, (count, N), dtype=np.uint8)


@pytest.mark.parametrize("probes", [1, 5, N])
@pytest.mark.parametrize("name", functions())
def test_a_climb_asks_for_the_rows_of_its_twin_and_ends_where_it_does(name: str, probes: int) -> None:
    for seed in range(10):
        told, twin = Told(functions()[name]), Recorded(functions()[name])
        starts, jobs = random_rows(3, seed), new_jobs(1, N, probes)
        ends, progress, pace = np.full(3, -1), np.zeros(2, np.int64), np.array([2, 0])
        while progress[1] < 3:
            told.memory.reserve(jobs.asked.size)
            kernels.search.climb_all(told.memory.table, jobs, 1, pack(starts), ends, progress, pace)
            assert told.answer() or progress[1] == 3
        expected_pace = (2, 0)
        expected = []
        for start in starts.tolist():
            end, *expected_pace = climb(tuple(start), twin, *expected_pace)  # type: ignore[assignment]
            expected.append(end)
        assert [told.row(place) for place in ends] == expected
        assert [told.row(place) for place in range(told.memory.count)] == list(twin.asked)
        assert pace.tolist() == list(expected_pace)


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("name", functions())
def test_a_mixing_asks_for_the_rows_of_its_twin_and_ends_where_it_does(name: str, width: int) -> None:
    for seed in range(10):
        told, twin = Told(functions()[name]), Recorded(functions()[name])
        rows = random_rows(6, seed)
        population = told.memory.add(pack(rows))
        told.answer()
        groups = np.empty((2 * N, 1), np.uint64)
        count = kernels.linkage.linkage_groups(
            pack(rows), N, np.empty(0, np.int64), np.array([seed], np.uint64), groups
        )
        draws, progress, jobs = np.array([seed], np.uint64), np.zeros(2, np.int64), new_jobs(1, N, N)
        queue = np.array([2, 0, 5])
        while progress[1] < 3:
            told.memory.reserve(jobs.asked.size)
            kernels.search.mix_all(
                told.memory.table, jobs, 1, queue, population, progress, pack(rows), groups[:count], width, draws
            )
            assert told.answer() or progress[1] == 3
        donors = [tuple(row) for row in rows.tolist()]
        for row in donors:
            twin(row)
        sets = [frozenset(np.flatnonzero(mask).tolist()) for mask in unpack(groups[:count], N)]
        random = SplitMix(seed)
        expected = [mix(donors[member], twin, donors, sets, width, random) for member in queue]
        assert [told.row(place) for place in population[queue]] == expected
        assert [told.row(place) for place in range(told.memory.count)] == list(twin.asked)
        assert population[[1, 3, 4]].tolist() == [1, 3, 4]


def test_jobs_side_by_side_find_what_they_find_one_after_the_other() -> None:
    """Apart from the pace, which they share: with plain gains it does not matter."""
    function = functions()["quadratic"]
    ends = []
    for slots in (1, 7):
        told, jobs = Told(function), new_jobs(slots, N, N)
        places, progress, pace = np.full(9, -1), np.zeros(2, np.int64), np.array([1, -(10**6)])
        while progress[1] < 9:
            told.memory.reserve(jobs.asked.size)
            kernels.search.climb_all(told.memory.table, jobs, slots, pack(random_rows(9, 3)), places, progress, pace)
            told.answer()
        ends.append([told.row(place) for place in places])
    assert ends[0] == ends[1]


def test_a_row_has_one_place_and_the_parent_it_came_with() -> None:
    memory = RowMemory(N)
    first, second = pack(random_rows(2, 1))
    memory.reserve(4)
    assert kernels.jobs.place_of(memory.table, first, -1) == 0
    assert kernels.jobs.place_of(memory.table, second, 0) == 1
    assert kernels.jobs.place_of(memory.table, second, -1) == 1
    assert memory.table.parents[:2].tolist() == [-1, 0]
    assert (memory.count, memory.known, memory.waiting) == (2, 0, 2)


def test_rows_of_no_parent_get_the_nearest_that_is_known() -> None:
    memory = RowMemory(4)
    memory.add(pack(np.array([[0, 0, 0, 0], [1, 1, 1, 0]], np.uint8)))
    memory.answer(np.array([1.0, 2.0]))
    places = memory.add_rows(np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]], np.uint8))
    assert places.tolist() == [2, 3, 4, 0]
    assert memory.table.parents[:5].tolist() == [-1, -1, 0, 1, 1]
