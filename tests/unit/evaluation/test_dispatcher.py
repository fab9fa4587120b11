"""Rows for many workers: chunks, their sizes, their answers in any order, and what becomes of rows that are lost."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.evaluation.caller import Answers, Caller, ObjectiveMisuse
from daedal.evaluation.dispatcher import ChunkFunction, Dispatcher, RowsFunction, TimedFunction
from daedal.evaluation.process_pool import Event, Message
from daedal.types import Bits, to_text

N = 12


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    perf_counter = monotonic


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("daedal.evaluation.dispatcher.time", clock)
    return clock


def numbered(count: int) -> Bits:
    """Give rows that are the numbers from 0 on."""
    return np.array([[number >> bit & 1 for bit in range(N)] for number in range(count)], dtype=np.uint8)


def number_of(row: Bits) -> int:
    return int(sum(int(bit) << place for place, bit in enumerate(row)))


def score(number: int) -> float:
    return number * 1.5 - 7


@dataclass
class Sent:
    ticket: Hashable
    numbers: list[int]
    began: float
    done_at: float
    beside: list[int]  # other rows under way at the same time


@dataclass
class FakeCrew:
    """Workers that need as long as they are told to, in time that only the test's clock has.

    Each thing sent takes its overhead, then so many seconds for each row. What `fate` says of a row happens: it dies
    with an exit code or a word, or raises.
    """

    clock: Clock
    size: int = 2
    a_row: Callable[[int], float] = lambda number: 2**-10
    overhead: float = 2**-11
    fate: Callable[[Sent], Message | None] = lambda sent: None
    shuffle: Random | None = None
    sent: list[Sent] = field(default_factory=list)
    under_way: list[Sent] = field(default_factory=list)
    stopped: list[Hashable] = field(default_factory=list)
    closed: bool = False
    waits: list[float | None] = field(default_factory=list)

    @property
    def idle(self) -> int:
        return self.size - len(self.under_way)

    def start(self, ticket: Hashable, payload: Any) -> None:
        assert self.idle > 0
        rows, _ = payload
        numbers = [number_of(row) for row in rows]
        took = self.overhead + sum(map(self.a_row, numbers))
        beside = [number for other in self.under_way for number in other.numbers]
        for other in self.under_way:
            other.beside += numbers
        sent = Sent(ticket, numbers, self.clock.now, self.clock.now + took, beside)
        self.sent.append(sent)
        self.under_way.append(sent)

    def wait(self, timeout: float | None = None) -> list[Message]:
        self.waits.append(timeout)
        assert timeout is not None
        first = min((sent.done_at for sent in self.under_way), default=np.inf)
        self.clock.now = min(max(first, self.clock.now), self.clock.now + timeout)
        done = [sent for sent in self.under_way if sent.done_at <= self.clock.now]
        if self.shuffle is not None:
            self.shuffle.shuffle(done)
        self.under_way = [sent for sent in self.under_way if sent not in done]
        return [self._news(sent) for sent in done]

    def _news(self, sent: Sent) -> Message:
        news = self.fate(sent)
        if news is not None:
            return news
        seconds = sum(map(self.a_row, sent.numbers))
        return Message(sent.ticket, Event.DONE, (np.array([score(number) for number in sent.numbers]), {}, seconds))

    def stop(self, ticket: Hashable) -> None:
        self.stopped.append(ticket)

    def close(self) -> None:
        self.closed = True

    @property
    def sizes(self) -> list[int]:
        return [len(sent.numbers) for sent in self.sent]


def gathered(answers: Iterator[tuple[Any, Answers]], count: int) -> tuple[list[float], dict[int, str]]:
    """Put answers together: each row has exactly one, a value or an error."""
    values, errors = np.full(count, np.nan), {}
    seen: list[int] = []
    for indices, came in answers:
        assert len(indices) == len(came.values)
        values[indices] = came.values
        errors |= {int(indices[index]): error for index, error in came.errors.items()}
        seen += map(int, indices)
    assert sorted(seen) == list(range(count))
    assert sorted(errors) == np.flatnonzero(np.isnan(values)).tolist()
    return values.tolist(), errors


def scores(count: int, without: set[int] = frozenset()) -> list[float]:  # type: ignore[assignment]
    return [np.nan if number in without else score(number) for number in range(count)]


def same(values: list[float], expected: list[float]) -> None:
    assert np.array_equal(values, expected, equal_nan=True)


# Sizes


def expected_sizes(count: int, workers: int, a_row: float, overhead: float) -> list[int]:
    """Cut a batch as the documentation says, where each row takes the same: in plain Python."""
    sizes = [1] * min(workers, count)
    left = count - len(sizes)
    while left:
        tenth_of_a_second = int(0.1 / a_row)
        fair = left // (2 * workers)
        some_overheads = 1 + int(4 * overhead / a_row)
        sizes.append(min(left, max(some_overheads, min(tenth_of_a_second, fair))))
        left -= sizes[-1]
    return sizes


@pytest.mark.parametrize(
    ("count", "workers", "a_row", "overhead", "second"),
    [
        (1000, 2, 2**-10, 2**-13, 102),  # a hundred rows of a millisecond
        (1000, 2, 2**-6, 2**-13, 6),  # six of sixteen
        (60, 3, 1.0, 2**-9, 1),  # one of a second
        (2000, 4, 2**-13, 2**-9, 249),  # an eighth of the rest, though there would be time for eight hundred
        (4000, 8, 2**-13, 2**-7, 257),  # sending costs as much as 64 rows: four times that, and one
        (3, 8, 2**-10, 2**-10, 1),  # more workers than rows
        (1, 1, 2**-10, 2**-10, 1),
    ],
)
def test_chunks_are_sized_by_the_time_that_rows_take(
    clock: Clock, count: int, workers: int, a_row: float, overhead: float, second: int
) -> None:
    """All times are powers of two: no sum of them is rounded."""
    crew = FakeCrew(clock, size=workers, a_row=lambda number: a_row, overhead=overhead)
    values, errors = gathered(Dispatcher(crew).answers(numbered(count)), count)
    same(values, scores(count))
    assert errors == {}
    assert crew.sizes == expected_sizes(count, workers, a_row, overhead)
    assert crew.sizes[:workers] == [1] * min(workers, count)
    assert crew.sizes[min(workers, count - 1)] == second


def test_chunks_get_smaller_towards_the_end_but_not_smaller_than_some_overheads(clock: Clock) -> None:
    crew = FakeCrew(clock, size=2, a_row=lambda number: 2**-10, overhead=2**-10)
    gathered(Dispatcher(crew).answers(numbered(1000)), 1000)
    sizes = crew.sizes[2:]
    assert sizes[0] == 102
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] <= 5
    assert all(size >= 5 for size in sizes[:-1])  # the last may be what is left
    spread = [sent.done_at for sent in crew.sent[-2:]]
    assert abs(spread[0] - spread[1]) < 0.02  # nobody waits long for the last


def test_sizes_are_learned_once_for_all_batches(clock: Clock) -> None:
    crew = FakeCrew(clock)
    spread = Dispatcher(crew)
    gathered(spread.answers(numbered(400)), 400)
    first = len(crew.sent)
    gathered(spread.answers(numbered(400)), 400)
    assert crew.sizes[0] == 1
    assert crew.sizes[first] == 100  # a fourth of all, for two workers


def test_sizes_follow_rows_that_become_slow(clock: Clock) -> None:
    crew = FakeCrew(clock, a_row=lambda number: 0.001 if number < 300 else 0.05)
    gathered(Dispatcher(crew).answers(numbered(600)), 600)
    late = [len(sent.numbers) for sent in crew.sent if sent.numbers[0] > 400]
    assert late
    assert max(late) <= 4


def test_a_first_row_that_takes_long_does_not_set_the_size_for_ever(clock: Clock) -> None:
    crew = FakeCrew(clock, a_row=lambda number: 2.0 if number < 2 else 0.001)  # a compiler, an import
    gathered(Dispatcher(crew).answers(numbered(2000)), 2000)
    assert max(crew.sizes) >= 50


def test_clocks_can_be_read_while_nothing_comes(clock: Clock) -> None:
    crew = FakeCrew(clock, a_row=lambda number: 5.0)
    ticks = [len(indices) for indices, _ in Dispatcher(crew).answers(numbered(2))]
    assert sum(ticks) == 2
    assert ticks.count(0) >= 5 / 0.25  # four times a second


def test_no_rows_are_no_work(clock: Clock) -> None:
    crew = FakeCrew(clock)
    assert list(Dispatcher(crew).answers(numbered(0))) == []
    assert crew.sent == []


def test_closing_closes_the_crew(clock: Clock) -> None:
    crew = FakeCrew(clock)
    Dispatcher(crew).close()
    assert crew.closed


# Any order


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(0, 120), workers=st.integers(1, 5), deadly=st.booleans())
def test_the_order_of_answers_does_not_matter(seed: int, count: int, workers: int, deadly: bool) -> None:
    clock, random = Clock(), Random(seed)
    times = {number: random.choice([0.0005, 0.01, 0.4]) for number in range(count)}
    dead = {number for number in range(count) if deadly and random.random() < 0.1}

    def fate(sent: Sent) -> Message | None:
        return Message(sent.ticket, Event.DIED, 3) if dead & set(sent.numbers) else None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("daedal.evaluation.dispatcher.time", clock)
        crew = FakeCrew(clock, workers, times.__getitem__, random.choice([0.0, 0.02]), fate, random)
        values, errors = gathered(Dispatcher(crew).answers(numbered(count)), count)
    same(values, scores(count, without=dead))
    assert set(errors) == dead


# The dead


def test_the_rows_of_a_dead_chunk_are_sent_alone_and_the_deadly_one_has_failed(clock: Clock) -> None:
    def fate(sent: Sent) -> Message | None:
        return Message(sent.ticket, Event.DIED, 7) if 250 in sent.numbers else None

    crew = FakeCrew(clock, fate=fate)
    values, errors = gathered(Dispatcher(crew).answers(numbered(500)), 500)
    same(values, scores(500, without={250}))
    assert errors == {250: f"the worker process ended (exit code 7) with the row {to_text(numbered(251)[250])}"}
    died = next(sent for sent in crew.sent if 250 in sent.numbers)
    assert len(died.numbers) > 1
    again = [sent.numbers for sent in crew.sent[crew.sent.index(died) + 1 :]]
    assert all([number] in again for number in died.numbers)
    counts = {number: sum(number in sent.numbers for sent in crew.sent) for number in range(500)}
    assert counts == {number: 2 if number in died.numbers else 1 for number in range(500)}


@pytest.mark.parametrize("how", [-9, -11, "KilledWorker: too many died"])
def test_a_row_whose_worker_was_killed_has_another_chance(clock: Clock, how: int | str) -> None:
    deaths: list[int] = []

    def fate(sent: Sent) -> Message | None:
        if 3 in sent.numbers and len(deaths) < 1:
            deaths.append(3)
            return Message(sent.ticket, Event.DIED, how)
        return None

    crew = FakeCrew(clock, a_row=lambda number: 1.0, fate=fate)  # so that each row is a chunk of its own
    values, errors = gathered(Dispatcher(crew).answers(numbered(8)), 8)
    same(values, scores(8))
    assert errors == {}


@pytest.mark.parametrize(
    ("how", "says"),
    [
        (-9, "killed by SIGKILL"),
        (-40, "killed by signal 40"),  # a real-time signal has no name
        ("KilledWorker: too many died", "KilledWorker: too many died"),
    ],
)
def test_a_row_that_is_killed_twice_by_itself_has_failed(clock: Clock, how: int | str, says: str) -> None:
    def fate(sent: Sent) -> Message | None:
        return Message(sent.ticket, Event.DIED, how) if 3 in sent.numbers else None

    crew = FakeCrew(clock, a_row=lambda number: 1.0, fate=fate)
    values, errors = gathered(Dispatcher(crew).answers(numbered(8)), 8)
    same(values, scores(8, without={3}))
    assert errors == {3: f"the worker process ended ({says}) with the row {to_text(numbered(4)[3])}"}
    assert [sent.numbers for sent in crew.sent].count([3]) == 2
    assert crew.sent[-1].numbers == [3]
    assert crew.sent[-1].beside == []


def test_no_row_fails_because_of_the_row_beside_it(clock: Clock) -> None:
    """Where a scheduler blames everything that was sent to a worker for its death, the death of one is that of all."""
    deadly = {5, 6, 17}

    def fate(sent: Sent) -> Message | None:
        return Message(sent.ticket, Event.DIED, "KilledWorker") if deadly & {*sent.numbers, *sent.beside} else None

    crew = FakeCrew(clock, size=4, a_row=lambda number: 0.06, fate=fate)
    values, errors = gathered(Dispatcher(crew).answers(numbered(40)), 40)
    assert set(errors) == deadly
    same(values, scores(40, without=deadly))


def test_a_worker_that_raises_fails_its_chunk_in_words(clock: Clock) -> None:
    def fate(sent: Sent) -> Message | None:
        return Message(sent.ticket, Event.RAISED, "MemoryError: no room") if 1 in sent.numbers else None

    values, errors = gathered(Dispatcher(FakeCrew(clock, fate=fate)).answers(numbered(10)), 10)
    assert errors == {1: "the worker failed: MemoryError: no room"}
    same(values, scores(10, without={1}))


def test_errors_of_rows_come_with_the_chunk(clock: Clock) -> None:
    def fate(sent: Sent) -> Message | None:
        if 40 not in sent.numbers:
            return None
        place = sent.numbers.index(40)
        values = np.array([np.nan if number == 40 else score(number) for number in sent.numbers])
        return Message(sent.ticket, Event.DONE, (values, {place: "forty"}, 0.1))

    values, errors = gathered(Dispatcher(FakeCrew(clock, fate=fate)).answers(numbered(200)), 200)
    assert errors == {40: "forty"}
    same(values, scores(200, without={40}))


def test_a_function_that_is_none_ends_it_all(clock: Clock) -> None:
    def fate(sent: Sent) -> Message | None:
        return Message(sent.ticket, Event.DONE, (np.array([np.nan]), {-1: "expected numbers, got None"}, 0.0))

    with pytest.raises(ObjectiveMisuse, match="expected numbers, got None"):
        list(Dispatcher(FakeCrew(clock, fate=fate)).answers(numbered(3)))


def test_what_comes_for_a_batch_that_was_given_up_is_not_taken_for_an_answer(clock: Clock) -> None:
    crew = FakeCrew(clock, a_row=lambda number: 1.0)
    spread = Dispatcher(crew)
    next(spread.answers(numbered(9)))
    assert len(crew.under_way) == 2
    values, errors = gathered(spread.answers(numbered(4)[::-1]), 4)
    same(values, scores(4)[::-1])
    assert errors == {}


# Row by row, with a timeout


@dataclass
class TellingCrew(FakeCrew):
    """Workers that tell of each row, and begin after a while."""

    start_seconds: float = 0.0
    told: dict[Hashable, int] = field(default_factory=dict)
    late_done: float = 0.0

    def wait(self, timeout: float | None = None) -> list[Message]:
        assert timeout is not None
        events = sorted(self._events(), key=lambda event: event[0])
        if events and events[0][0] <= self.clock.now + timeout:
            self.clock.now = max(self.clock.now, events[0][0])
        else:
            self.clock.now += timeout
        news: list[Message] = []
        for at, one in events:
            if at <= self.clock.now:
                news.append(one)
                self.told[one.ticket] = self.told.get(one.ticket, 0) + 1
                if one.event is Event.DONE:
                    self.under_way = [sent for sent in self.under_way if sent.ticket != one.ticket]
        return news

    def _events(self) -> Iterator[tuple[float, Message]]:
        for sent in self.under_way:
            at = sent.began + self.start_seconds
            events = [(at, Message(sent.ticket, Event.PART, None))]
            for number in sent.numbers:
                at += self.a_row(number)
                events.append((at, Message(sent.ticket, Event.PART, (score(number), None))))
            events.append((at + self.late_done, Message(sent.ticket, Event.DONE, None)))
            yield from events[self.told.get(sent.ticket, 0) :]

    def stop(self, ticket: Hashable) -> None:
        super().stop(ticket)
        self.under_way = [sent for sent in self.under_way if sent.ticket != ticket]


def test_a_row_that_hangs_has_failed_and_those_behind_it_are_sent_again(clock: Clock) -> None:
    hanging = {100, 102, 333}
    crew = TellingCrew(clock, a_row=lambda number: np.inf if number in hanging else 0.001)
    values, errors = gathered(Dispatcher(crew, timeout=2.0, in_parts=True).answers(numbered(400)), 400)
    same(values, scores(400, without=hanging))
    for number, error in errors.items():
        row = to_text(numbered(400)[number])
        assert error == f"the objective took longer than timeout=2 s for the row {row}"
    assert len(crew.stopped) == 3
    assert len(set(crew.stopped)) == 3


def test_the_time_of_a_row_begins_when_its_worker_does(clock: Clock) -> None:
    """A worker may take long to start, and a chunk is longer than a row."""
    crew = TellingCrew(clock, a_row=lambda number: 0.09, start_seconds=30.0)
    spread = Dispatcher(crew, timeout=0.1, in_parts=True)
    values, errors = gathered(spread.answers(numbered(30)), 30)
    assert errors == {}
    same(values, scores(30))
    assert crew.stopped == []
    assert max(crew.sizes) > 1


def test_an_answer_that_came_while_nobody_looked_is_not_late(clock: Clock) -> None:
    """Whoever takes the answers may have to wait for a disk, or for another program that has the cache."""
    crew = TellingCrew(clock, a_row=lambda number: 0.01)
    count, errors, seen = 50, {}, 0
    for indices, answers in Dispatcher(crew, timeout=1.0, in_parts=True).answers(numbered(count)):
        errors |= answers.errors
        if seen < 10 <= seen + len(indices):  # in the middle of two chunks
            assert all(len(sent.numbers) > 5 for sent in crew.under_way)
            clock.now += 30.0
        seen += len(indices)
    assert (errors, seen, crew.stopped) == ({}, count, [])


def test_a_worker_that_is_slow_to_say_that_it_is_done_is_not_ended(clock: Clock) -> None:
    crew = TellingCrew(clock, a_row=lambda number: 0.01, late_done=3.0)
    values, errors = gathered(Dispatcher(crew, timeout=1.0, in_parts=True).answers(numbered(20)), 20)
    assert errors == {}
    same(values, scores(20))
    assert crew.stopped == []


# What workers do


def odd(row: np.ndarray) -> float:
    if row.sum() == 2:
        raise ValueError("two")
    return float(row.sum())


X = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=np.uint8)


def test_the_functions_of_workers_travel_and_agree() -> None:
    caller = Caller(odd, vectorized=False)
    error = "the objective raised ValueError: two for the row 110"
    chunk, rows = ChunkFunction(caller), RowsFunction(caller)
    timed = TimedFunction(caller, 20.0)
    for function in (chunk, timed):
        values, errors, seconds = pickle.loads(pickle.dumps(function))((X, False))
        assert np.array_equal(values, [1.0, np.nan, 3.0], equal_nan=True)
        assert errors == {1: error}
        assert 0 <= seconds < 20
    began, one, two, three = pickle.loads(pickle.dumps(rows))((X, False))
    assert began is None
    assert (one, three) == ((1.0, None), (3.0, None))
    assert np.isnan(two[0])
    assert two[1] == error


def test_a_chunk_may_end_with_its_first_failure() -> None:
    values, errors, _ = ChunkFunction(Caller(odd, vectorized=False))((X[[1, 0, 1]], True))
    assert list(errors) == [0]
    assert np.isnan(values).all()


def test_a_function_that_gives_no_number_is_not_the_fault_of_a_row() -> None:
    nothing = Caller(lambda x: None)
    values, errors, _ = ChunkFunction(nothing)((X, False))
    assert list(errors) == [-1]
    assert np.isnan(values).all()
    assert [part[1] for part in list(RowsFunction(nothing)((X, False)))[1:]] == [errors[-1]] * 3


def test_a_row_that_hangs_in_somebody_elses_worker_is_left_alone() -> None:
    released = threading.Event()

    def hangs(row: np.ndarray) -> float:
        if row.sum() == 2:
            released.wait(60)
        return float(row.sum())

    try:
        values, errors, seconds = TimedFunction(Caller(hangs, vectorized=False), 0.3)((X, False))
    finally:
        released.set()
    assert np.array_equal(values, [1.0, np.nan, 3.0], equal_nan=True)
    assert errors == {1: "the objective took longer than timeout=0.3 s for the row 110"}
    assert 0.3 <= seconds < 30
