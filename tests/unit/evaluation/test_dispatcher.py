"""Rows for many workers: chunks, their sizes, their answers in any order, and what becomes of rows that are lost."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import pytest
from evaluation_helpers import every
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.evaluation.caller import Answers, ObjectiveError, ObjectiveMisuse
from daedal.evaluation.chunks import MISUSE
from daedal.evaluation.dispatcher import Dispatcher
from daedal.evaluation.pool import Event, Message, PoolLost
from daedal.types import Bits, to_text

ROWS = every(12)  # the numbers from 0 on


def number_of(row: Bits) -> int:
    return int(row @ (1 << np.arange(12)))


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
class FakePool:
    """Workers that need as long as they are told to, in time that only the test has.

    Each thing sent takes its overhead, then so many seconds for each row. What `fate` says of a chunk happens: it dies
    with an exit code or a word, or raises.
    """

    size: int = 2
    a_row: Callable[[int], float] = lambda number: 2**-10
    overhead: float = 2**-11
    fate: Callable[[Sent], tuple[Event, Any] | None] = lambda sent: None
    shuffle: Random | None = None
    now: float = 100.0
    sent: list[Sent] = field(default_factory=list)
    under_way: list[Sent] = field(default_factory=list)
    stopped: list[Hashable] = field(default_factory=list)
    closed: bool = False

    @property
    def idle(self) -> int:
        return self.size - len(self.under_way)

    def start(self, ticket: Hashable, payload: Any) -> None:
        assert self.idle > 0
        numbers = [number_of(row) for row in payload[0]]
        took = self.overhead + sum(map(self.a_row, numbers))
        beside = [number for other in self.under_way for number in other.numbers]
        for other in self.under_way:
            other.beside += numbers
        sent = Sent(ticket, numbers, self.now, self.now + took, beside)
        self.sent.append(sent)
        self.under_way.append(sent)

    def wait(self, timeout: float | None = None) -> list[Message]:
        assert timeout is not None
        first = min((sent.done_at for sent in self.under_way), default=np.inf)
        self.now = min(max(first, self.now), self.now + timeout)
        done = [sent for sent in self.under_way if sent.done_at <= self.now]
        if self.shuffle is not None:
            self.shuffle.shuffle(done)
        self.under_way = [sent for sent in self.under_way if sent not in done]
        return [Message(sent.ticket, *(self.fate(sent) or self.answer(sent))) for sent in done]

    def answer(self, sent: Sent) -> tuple[Event, Any]:
        return Event.DONE, (np.array(list(map(score, sent.numbers))), {}, sum(map(self.a_row, sent.numbers)), None)

    def stop(self, ticket: Hashable) -> None:
        self.stopped.append(ticket)
        self.under_way = [sent for sent in self.under_way if sent.ticket != ticket]

    def close(self) -> None:
        self.closed = True

    @property
    def sizes(self) -> list[int]:
        return [len(sent.numbers) for sent in self.sent]

    def dispatcher(self, **how: Any) -> Dispatcher:
        return Dispatcher(self, clock=lambda: self.now, **how)


def dies(how: int | str, *numbers: int, beside: bool = False) -> Callable[[Sent], tuple[Event, Any] | None]:
    """Give the fate of chunks with some rows, or with some beside them: a death."""
    return lambda sent: (Event.DIED, how) if set(numbers) & {*sent.numbers, *(sent.beside if beside else ())} else None


def check(answers: Iterator[tuple[Any, Answers]], count: int, failing: set[int] = frozenset()) -> dict[int, str]:  # type: ignore[assignment]
    """Each of so many rows has exactly one answer: the right value, or an error."""
    values, errors, seen = np.full(count, np.nan), dict[int, str](), list[int]()
    for indices, came in answers:
        assert len(indices) == len(came.values)
        values[indices] = came.values
        errors |= {int(indices[index]): error for index, error in came.errors.items()}
        seen += map(int, indices)
    assert sorted(seen) == list(range(count))
    assert set(errors) == failing
    expected = [np.nan if number in failing else score(number) for number in range(count)]
    assert np.array_equal(values, expected, equal_nan=True)
    return errors


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
        (0, 1, 2**-10, 2**-10, None),  # no rows are no work
    ],
)
def test_chunks_are_sized_by_the_time_that_rows_take(
    count: int, workers: int, a_row: float, overhead: float, second: int | None
) -> None:
    """All times are powers of two: no sum of them is rounded."""
    pool = FakePool(size=workers, a_row=lambda number: a_row, overhead=overhead)
    check(pool.dispatcher().answers(ROWS[:count]), count)
    assert pool.sizes == expected_sizes(count, workers, a_row, overhead)
    assert pool.sizes[:workers] == [1] * min(workers, count)
    assert second is None or pool.sizes[min(workers, count - 1)] == second
    if count > 100 * workers:  # nobody waits long for the last
        spread = [sent.done_at for sent in pool.sent[-workers:]]
        assert max(spread) - min(spread) < 0.02 + 5 * overhead


def test_sizes_are_learned_once_for_all_batches() -> None:
    pool = FakePool()
    dispatcher = pool.dispatcher()
    check(dispatcher.answers(ROWS[:400]), 400)
    first = len(pool.sent)
    check(dispatcher.answers(ROWS[:400]), 400)
    assert pool.sizes[0] == 1
    assert pool.sizes[first] == 100  # a fourth of all, for two workers
    dispatcher.close()
    assert pool.closed


def test_sizes_follow_rows_that_become_slow_and_forget_a_slow_beginning() -> None:
    slower = FakePool(a_row=lambda number: 0.001 if number < 300 else 0.05)
    check(slower.dispatcher().answers(ROWS[:600]), 600)
    assert 1 <= max(len(sent.numbers) for sent in slower.sent if sent.numbers[0] > 400) <= 4
    faster = FakePool(a_row=lambda number: 2.0 if number < 2 else 0.001)  # a compiler, an import
    check(faster.dispatcher().answers(ROWS[:2000]), 2000)
    assert max(faster.sizes) >= 50


def test_clocks_can_be_read_while_nothing_comes() -> None:
    pool = FakePool(a_row=lambda number: 5.0)
    ticks = [len(indices) for indices, _ in pool.dispatcher().answers(ROWS[:2])]
    assert sum(ticks) == 2
    assert ticks.count(0) >= 5 / 0.25  # four times a second


# Any order


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(0, 120), workers=st.integers(1, 5), deadly=st.booleans())
def test_the_order_of_answers_does_not_matter(seed: int, count: int, workers: int, deadly: bool) -> None:
    random = Random(seed)
    times = {number: random.choice([0.0005, 0.01, 0.4]) for number in range(count)}
    dead = {number for number in range(count) if deadly and random.random() < 0.1}
    pool = FakePool(workers, times.__getitem__, random.choice([0.0, 0.02]), dies(3, *dead), random)
    check(pool.dispatcher().answers(ROWS[:count]), count, dead)


# The dead


def test_the_rows_of_a_dead_chunk_are_sent_alone_and_the_deadly_one_has_failed() -> None:
    pool = FakePool(fate=dies(7, 250))
    errors = check(pool.dispatcher().answers(ROWS[:500]), 500, {250})
    assert "exit code 7" in errors[250]
    assert to_text(ROWS[250]) in errors[250]
    died = next(sent for sent in pool.sent if 250 in sent.numbers)
    assert len(died.numbers) > 1
    again = [sent.numbers for sent in pool.sent[pool.sent.index(died) + 1 :]]
    assert all([number] in again for number in died.numbers)
    counts = {number: sum(number in sent.numbers for sent in pool.sent) for number in range(500)}
    assert counts == {number: 2 if number in died.numbers else 1 for number in range(500)}


@pytest.mark.parametrize(
    ("how", "says"),
    [
        (-9, "killed by SIGKILL"),
        (-40, "killed by signal 40"),  # a real-time signal has no name
        ("KilledWorker: too many died", "KilledWorker: too many died"),
    ],
)
@pytest.mark.parametrize("times", [1, 2])
def test_a_row_whose_worker_was_killed_has_another_chance_and_no_more(how: int | str, says: str, times: int) -> None:
    deaths: list[int] = []

    def fate(sent: Sent) -> tuple[Event, Any] | None:
        if 3 not in sent.numbers or len(deaths) == times:
            return None
        deaths.append(3)
        return Event.DIED, how

    pool = FakePool(a_row=lambda number: 1.0, fate=fate)  # so that each row is a chunk of its own
    errors = check(pool.dispatcher().answers(ROWS[:8]), 8, set() if times == 1 else {3})
    assert [sent.numbers for sent in pool.sent].count([3]) == 2
    assert (pool.sent[-1].numbers, pool.sent[-1].beside) == ([3], [])  # by itself
    assert times == 1 or says in errors[3]


def test_no_row_fails_because_of_the_row_beside_it() -> None:
    """Where a scheduler blames everything that was sent to a worker for its death, the death of one is that of all."""
    pool = FakePool(size=4, a_row=lambda number: 0.06, fate=dies("KilledWorker", 5, 6, 17, beside=True))
    check(pool.dispatcher().answers(ROWS[:40]), 40, {5, 6, 17})


def test_errors_are_those_of_the_rows_they_came_for() -> None:
    def fate(sent: Sent) -> tuple[Event, Any] | None:
        if 1 in sent.numbers:
            return Event.RAISED, "MemoryError: no room"
        if 40 in sent.numbers:
            values = np.array([np.nan if number == 40 else score(number) for number in sent.numbers])
            return Event.DONE, (values, {sent.numbers.index(40): "forty"}, 0.1, None)
        return None

    errors = check(FakePool(fate=fate).dispatcher().answers(ROWS[:200]), 200, {1, 40})
    assert "MemoryError: no room" in errors[1]
    assert f"the row {to_text(ROWS[1])}" in errors[1]
    assert errors[40] == "forty"


def test_an_objective_that_gives_no_numbers_ends_it_all() -> None:
    pool = FakePool(fate=lambda sent: (Event.DONE, (np.array([np.nan]), {MISUSE: "got None"}, 0.0, None)))
    with pytest.raises(ObjectiveMisuse, match="got None"):
        list(pool.dispatcher().answers(ROWS[:3]))


def test_what_comes_for_a_batch_that_was_given_up_is_not_taken_for_an_answer() -> None:
    pool = FakePool(a_row=lambda number: 1.0)
    dispatcher = pool.dispatcher()
    next(dispatcher.answers(ROWS[100:109]))
    assert len(pool.under_way) == 2
    check(dispatcher.answers(ROWS[:4]), 4)


# Row by row, with a timeout


@dataclass
class TellingPool(FakePool):
    """Workers that tell of each row, and begin after a while."""

    start_seconds: float = 0.0
    late_done: float = 0.0
    told: dict[Hashable, int] = field(default_factory=dict)

    def wait(self, timeout: float | None = None) -> list[Message]:
        assert timeout is not None
        events = sorted(self._events(), key=lambda event: event[0])
        self.now = max(self.now, min([self.now + timeout, *(at for at, _ in events[:1])]))
        messages = [message for at, message in events if at <= self.now]
        for message in messages:
            self.told[message.ticket] = self.told.get(message.ticket, 0) + 1
            if message.event is Event.DONE:
                self.under_way = [sent for sent in self.under_way if sent.ticket != message.ticket]
        return messages

    def _events(self) -> Iterator[tuple[float, Message]]:
        for sent in self.under_way:
            at = sent.began + self.start_seconds
            events = [(at, Message(sent.ticket, Event.PART, None))]
            for number in sent.numbers:
                at += self.a_row(number)
                events.append((at, Message(sent.ticket, Event.PART, (score(number), None, None))))
            events.append((at + self.late_done, Message(sent.ticket, Event.DONE, None)))
            yield from events[self.told.get(sent.ticket, 0) :]


def test_a_row_that_hangs_has_failed_and_those_behind_it_are_sent_again() -> None:
    hanging = {100, 102, 333}
    pool = TellingPool(a_row=lambda number: np.inf if number in hanging else 0.001)
    errors = check(pool.dispatcher(timeout=2.0, in_parts=True).answers(ROWS[:400]), 400, hanging)
    for number, error in errors.items():
        assert "timeout=2 s" in error
        assert to_text(ROWS[number]) in error
    assert len(pool.stopped) == len(set(pool.stopped)) == 3


@pytest.mark.parametrize(
    "slow",
    [
        {"start_seconds": 30.0},  # a worker may take long to start
        {"late_done": 3.0},  # or to say that it is done
    ],
)
def test_only_the_time_of_a_row_counts(slow: dict[str, float]) -> None:
    pool = TellingPool(a_row=lambda number: 0.09, **slow)
    check(pool.dispatcher(timeout=0.1, in_parts=True).answers(ROWS[:30]), 30)
    assert pool.stopped == []


def test_an_answer_that_came_while_nobody_looked_is_not_late() -> None:
    """Whoever takes the answers may have to wait for a disk, or for another program that has the cache."""
    pool = TellingPool(a_row=lambda number: 0.01)

    def slowly() -> Iterator[tuple[Any, Answers]]:
        seen = 0
        for indices, answers in pool.dispatcher(timeout=1.0, in_parts=True).answers(ROWS[:50]):
            if seen < 10 <= seen + len(indices):  # in the middle of two chunks
                assert all(len(sent.numbers) > 5 for sent in pool.under_way)
                pool.now += 30.0
            seen += len(indices)
            yield indices, answers

    check(slowly(), 50)
    assert pool.stopped == []


# Workers that are lost


def test_rows_of_lost_workers_have_failed_and_later_ones_are_not_begun() -> None:
    @dataclass
    class LostPool(FakePool):
        def wait(self, timeout: float | None = None) -> list[Message]:
            if self.now > 100.1:
                raise PoolLost("nobody is there")
            return super().wait(timeout)

    pool = LostPool()
    dispatcher = pool.dispatcher()
    came = list(dispatcher.answers(ROWS[:500]))
    seen = sorted(int(index) for indices, _ in came for index in indices)
    assert seen == list(range(500))  # each has one answer, or one error
    errors = [error for _, answers in came for error in answers.errors.values()]
    assert 0 < len(errors) < 500
    assert set(errors) == {"nobody is there"}
    sent = len(pool.sent)
    with pytest.raises(ObjectiveError, match="nobody is there"):
        next(dispatcher.answers(ROWS[:5]))
    assert len(pool.sent) == sent
