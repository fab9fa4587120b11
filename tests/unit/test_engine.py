"""The engine: searches side by side, and values that come in any order, also of candidates that nobody asked for."""

from __future__ import annotations

import gc
import random
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from engine_helpers import run_in_batches
from hypothesis import given, settings
from hypothesis import strategies as st

import daedal
from daedal.archive import to_rows
from daedal.engine import Engine, Task
from daedal.rng import Stream
from daedal.searches.algorithm import Algorithm
from daedal.types import Bits, Fitness


def ones(x: Bits) -> Fitness:
    return x.sum(axis=1) * 1.0


def value(candidate: int) -> float:
    return float(candidate.bit_count())


def tell(engine: Engine, *candidates: int) -> None:
    engine.tell(candidates, [value(c) for c in candidates])


async def ask_for(f: Engine, *steps: list[int]) -> list[list[float]]:
    """Evaluate lists of candidates, one list after the other."""
    return [await f(step) for step in steps]


# One search


def test_a_search_goes_on_when_all_of_its_values_are_there_in_their_order() -> None:
    engine = Engine(3)
    task = engine.start(ask_for(engine, [1, 3, 7], [0]))
    assert engine.ask() == [1, 3, 7]
    assert engine.ask() == []  # no candidate twice
    tell(engine, 7)
    tell(engine, 1)
    assert engine.ask() == []
    assert not engine.is_over
    tell(engine, 3)
    assert engine.ask() == [0]
    tell(engine, 0)
    assert engine.ask() == []
    assert engine.is_over
    assert task.result == [[1.0, 2.0, 3.0], [0.0]]
    assert engine.archive.order == [7, 1, 3, 0]
    assert (engine.best, engine.best_value, engine.answered) == (7, 3.0, 4)


def test_a_repeated_candidate_is_free_and_has_its_parent_from_the_first_time() -> None:
    async def search(f: Engine) -> list[float]:
        await f([1, 1], parent=0)
        return await f([2, 1, 3, 2], parent=1)

    engine = Engine(2)
    task = engine.start(search(engine))
    assert run_in_batches(engine, ones) == [[1], [2, 3]]
    assert task.result == [1.0, 1.0, 2.0, 1.0]
    assert dict(zip(engine.archive.order, engine.archive.parents, strict=True)) == {1: 0, 2: 1, 3: 1}
    assert engine.answered == 6
    assert engine.told == [1.0, 1.0, 1.0, 1.0, 2.0, 1.0]


def test_rows_come_back_as_an_array() -> None:
    async def search(f: Engine) -> Fitness:
        return await f(np.array([[0, 1], [1, 1]], np.uint8))

    engine = Engine(2)
    task = engine.start(search(engine))
    assert run_in_batches(engine, ones) == [[2, 3]]
    assert isinstance(task.result, np.ndarray)
    assert task.result.tolist() == [1.0, 2.0]


def test_what_is_measured_is_evaluated_each_time() -> None:
    async def search(f: Engine) -> list[float]:
        await f([5])
        return await f.measure([5, 5, 1])

    engine = Engine(3)
    task = engine.start(search(engine))
    assert engine.ask() == [5]
    engine.tell([5], [10.0])
    assert engine.ask() == [5, 5, 1]
    engine.tell([5, 1], [11.0, 2.0])
    engine.tell([5], [12.0])
    engine.ask()
    assert task.result == [11.0, 12.0, 2.0]
    assert engine.archive[5] == 10.0


@pytest.mark.parametrize("together", [False, True])
def test_without_deduplication_all_is_measured(together: bool) -> None:
    engine = Engine(3, repeat=True)
    engine.start(ask_for(engine, [1, 1], [1]))
    if together:
        engine.start(ask_for(engine, [1]))
    assert [len(batch) for batch in run_in_batches(engine, ones)] == ([3, 1] if together else [2, 1])


def test_an_exception_of_a_search_comes_out_of_ask() -> None:
    async def fails(f: Engine) -> None:
        await f([1])
        raise ZeroDivisionError

    engine = Engine(3)
    engine.start(fails(engine))
    engine.ask()
    tell(engine, 1)
    with pytest.raises(ZeroDivisionError):
        engine.ask()


def test_a_search_that_goes_round_in_circles_is_stopped() -> None:
    async def forever(f: Engine) -> None:
        while True:
            await f(list(range(8)))

    async def waits_for_nothing(f: Engine) -> None:
        while True:
            await f.values_arrive()

    for search in (forever, waits_for_nothing):
        engine = Engine(3)
        engine.start(search(engine))
        assert len(run_in_batches(engine, ones)) <= 1
        assert engine.ask() == []


def test_generations_are_told_and_may_end_the_search() -> None:
    async def search(f: Engine) -> None:
        for candidate in range(4):
            await f([candidate])
            f.report(candidate=candidate)
            await f.generation()

    engine, seen = Engine(2), []

    def enough() -> bool:
        seen.append(dict(engine.info))
        return len(seen) == 3

    engine.on_generation = enough
    task = engine.start(search(engine))
    assert run_in_batches(engine, ones) == [[0], [1], [2]]
    assert not task.finished
    assert seen == [{"candidate": 0}, {"candidate": 1}, {"candidate": 2}]


# Searches side by side


def test_a_candidate_that_two_searches_wait_for_is_asked_for_once() -> None:
    engine = Engine(3)
    tasks = [engine.start(ask_for(engine, step)) for step in ([1, 2], [2, 4])]
    assert engine.ask() == [1, 2, 4]
    tell(engine, 2, 1)
    engine.ask()
    assert [task.finished for task in tasks] == [True, False]
    tell(engine, 4)
    engine.ask()
    assert [task.result for task in tasks] == [[[1.0, 1.0]], [[1.0, 1.0]]]


@pytest.mark.parametrize("width", [1, 2, 9])
def test_together_runs_as_many_as_are_wanted_and_returns_results_in_order(width: int) -> None:
    async def climb(f: Engine, number: int) -> int:
        await f([number])
        await f([8 + number])
        return number

    async def search(f: Engine) -> Any:
        return await f.together((climb(f, number) for number in range(5)), lambda: width)

    engine = Engine(4)
    task = engine.start(search(engine))
    batches = run_in_batches(engine, ones)
    assert task.result == [0, 1, 2, 3, 4]
    assert max(map(len, batches)) == min(width, 5)
    assert sum(map(len, batches)) == 10


def test_together_starts_the_next_as_soon_as_one_has_finished() -> None:
    engine = Engine(4)

    async def search(f: Engine) -> None:
        await f.together([ask_for(f, [1], [2]), ask_for(f, [3]), ask_for(f, [4])], lambda: 2)

    engine.start(search(engine))
    assert engine.ask() == [1, 3]
    tell(engine, 3)
    assert engine.ask() == [4]
    tell(engine, 4, 1)
    assert engine.ask() == [2]


def test_searches_that_never_begin_are_closed() -> None:
    """Or Python would warn that they were never awaited, which is an error here."""

    async def search(f: Engine) -> None:
        await f.together([ask_for(f, [number]) for number in range(5)], lambda: 2)

    engine = Engine(3)
    engine.start(search(engine))
    engine.ask()
    engine.close()
    gc.collect()


def test_an_error_in_one_of_those_together_ends_the_others() -> None:
    closed = []

    async def fails(f: Engine) -> None:
        await f([1])
        raise ZeroDivisionError

    async def waits(f: Engine) -> None:
        try:
            await f([2])
        finally:
            closed.append(True)

    async def search(f: Engine) -> None:
        await f.together([fails(f), waits(f)], lambda: 2)

    engine = Engine(3)
    engine.start(search(engine))
    engine.ask()
    tell(engine, 1)
    with pytest.raises(ZeroDivisionError):
        engine.ask()
    engine.close()
    assert closed == [True]


def test_until_ends_a_search_when_the_condition_holds_or_when_it_returns() -> None:
    async def search(f: Engine, most: float) -> Any:
        return await f.until(ask_for(f, [1], [3], [7]), lambda: f.best_value >= most)

    for most, batches in ((2.0, [[1], [3]]), (9.0, [[1], [3], [7]])):
        engine = Engine(3)
        task = engine.start(search(engine, most))
        assert run_in_batches(engine, ones) == batches
        assert task.finished
        assert task.result == (None if most == 2.0 else [[1.0], [2.0], [3.0]])


def test_a_search_that_is_ended_waits_for_nothing_and_takes_its_candidates_along() -> None:
    engine = Engine(3)
    one, other = engine.start(ask_for(engine, [1, 2])), engine.start(ask_for(engine, [2, 4]))
    engine.start(ask_for(engine, [7]))
    assert engine.ask() == [1, 2, 4, 7]
    engine.end(one)
    engine.end(one)
    tell(engine, 1, 2, 4, 7)
    engine.ask()
    assert (one.result, other.result) == (None, [[1.0, 1.0]])

    async def ends_others(f: Engine, *tasks: Task) -> None:
        for task in tasks:
            f.end(task)

    engine = Engine(3)
    one, other = engine.start(ask_for(engine, [1, 2])), engine.start(ask_for(engine, [2, 4]))
    engine.start(ends_others(engine, one))
    assert engine.ask() == [2, 4]


def test_values_arrive_wakes_up_those_that_watch() -> None:
    seen: list[int] = []

    async def watch(f: Engine) -> None:
        while len(f.archive) < 3:
            await f.values_arrive()
            seen.append(len(f.archive))

    engine = Engine(3)
    engine.start(watch(engine))
    engine.start(ask_for(engine, [1, 2], [4]))
    run_in_batches(engine, ones)
    assert seen == [2, 3]


def test_reserved_evaluations_are_neither_seen_nor_handed_out() -> None:
    engine = Engine(3)
    engine.left, engine.reserved = 5, 3
    engine.start(ask_for(engine, [1, 2, 3]))
    assert engine.left == 2
    assert engine.ask() == [1, 2]
    engine.left = 1
    assert engine.left == 0


# Values in any order


def test_values_of_candidates_that_were_not_asked_for_are_known_and_count_for_the_best() -> None:
    engine = Engine(3)
    task = engine.start(ask_for(engine, [1], [7]))
    tell(engine, 7)
    assert engine.ask() == [1]
    tell(engine, 1)
    assert engine.ask() == []  # 7 is known
    assert task.result == [[1.0], [3.0]]
    assert engine.best == 7


def test_values_that_no_search_has_seen_are_those_up_to_the_first_that_is_missing() -> None:
    engine = Engine(3)
    engine.start(ask_for(engine, [1, 3, 7]))
    engine.ask()
    tell(engine, 7)
    assert engine.unfinished() == []
    tell(engine, 1)
    assert engine.unfinished() == [1.0]


N = 6


async def climb(f: Engine, start: int) -> int:
    """Climb by the best flip; decisions depend on the values of the climb alone."""
    (best,) = await f([start])
    while True:
        flips = [start ^ (1 << i) for i in range(f.n)]
        values = await f(flips, parent=start)
        if max(values) <= best:
            return start
        best = max(values)
        start = flips[values.index(best)]


async def climbs(f: Engine, width: int) -> list[int]:
    starts = f.random(5, f.stream(Stream.SEARCH))
    return await f.together([climb(f, start) for start in starts], lambda: width)


def rugged(candidate: int) -> float:
    return float(candidate * 37 % 61 + 5 * candidate.bit_count())


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 5),
    width=st.integers(1, 5),
    order=st.randoms(use_true_random=False),
    foreign=st.lists(st.integers(0, 2**N - 1), max_size=20),
)
def test_any_order_and_partition_of_tells_gives_the_same_values(
    seed: int, width: int, order: random.Random, foreign: list[int]
) -> None:
    """For a search whose decisions do not depend on the order; candidates that nobody asked for are told in between."""
    whole = Engine(N, seed=seed)
    expected = whole.start(climbs(whole, width))
    run_in_batches(whole, lambda x: np.array([rugged(int(c)) for c in x @ (1 << np.arange(N))]))
    engine, out, asked = Engine(N, seed=seed), list[int](), list[int]()
    task = engine.start(climbs(engine, width))
    with closing(engine):  # Hypothesis may break off in the middle
        while True:
            new = engine.ask()
            asked += new
            out += new
            if not out:
                break
            order.shuffle(out)
            count = order.randint(1, len(out))
            told, out = out[:count], out[count:]
            told += [foreign.pop() for _ in range(min(len(foreign), order.randint(0, 2)))]
            order.shuffle(told)
            engine.tell(told, [rugged(c) for c in told])
    assert task.result == expected.result
    assert len(asked) == len(set(asked))
    assert {c: engine.archive[c] for c in whole.archive.order} == whole.archive.values
    assert all(value == rugged(c) for c, value in engine.archive.values.items())


# Spaces, streams and new candidates


def test_candidates_of_a_space_are_codes_of_values() -> None:
    space = daedal.Space(a=daedal.Integer(1, 5), b=daedal.Choice("x", "y", "z"))
    engine = Engine(space.n, seed=3, encoding=space.encoding)
    rng = engine.stream(Stream.SEARCH)
    for candidate in [*engine.random(50, rng), *engine.repaired(list(range(2**space.n)))]:
        row = to_rows([candidate], space.n)
        assert np.array_equal(engine.repaired_rows(row), row)
        space.value(row[0])
    assert engine.size == 15


@pytest.mark.parametrize("space", [None, daedal.Space(a=daedal.Integer(1, 5), b=daedal.Choice("x", "y", "z"))])
def test_new_candidates_are_found_until_there_are_none(space: daedal.Space | None) -> None:
    engine = Engine(4) if space is None else Engine(space.n, encoding=space.encoding)
    rng, found = np.random.default_rng(1), []
    while (candidate := engine.unseen(rng)) is not None:
        found.append(candidate)
        tell(engine, candidate)
    assert len(found) == len(set(found)) == engine.size


def test_random_candidates_of_plain_bits_are_fair() -> None:
    rows = to_rows(Engine(40).random(2000, np.random.default_rng(5)), 40)
    assert np.abs(rows.mean(axis=0) - 0.5).max() < 0.056  # 5 standard deviations


def test_an_algorithm_is_searched_through_the_engine_alone() -> None:
    """What a user of the engine needs: an algorithm's configuration makes the search."""
    algorithm: Algorithm = daedal.algorithms()["umda"].with_settings({"popsize": 20})
    engine = Engine(8, seed=1)
    engine.start(algorithm.configuration.search(engine, algorithm.limits))
    run_in_batches(engine, ones, most=30)
    assert engine.best_value == 8.0
