"""Workers in time that only the test has: chunks, answers in any order, deaths, candidates that hang or are lost."""

from __future__ import annotations

import math
import pickle
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import pytest
from evaluation_helpers import ROWS, check, collected, number_of, score
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.evaluation.answers import Answers, ObjectiveError, ObjectiveMisuse
from daedal.evaluation.caller import Caller
from daedal.evaluation.evaluation import Evaluation
from daedal.evaluation.options import EvaluationOptions
from daedal.evaluation.worker import Event, Message, PoolLost
from daedal.evaluation.workers import ChunkFunction, Workers
from daedal.types import to_text


@dataclass
class Sent:
    ticket: Hashable
    numbers: list[int]
    began: float
    beside: list[int]  # others under way at the same time


Fate = Callable[[Sent], tuple[Event, Any] | None]


@dataclass
class FakePool:
    """Workers that need as long as they are told to. Each thing sent takes its overhead, then each row its seconds.

    What `fate` says of a chunk happens at its end.
    """

    size: int = 2
    seconds: Callable[[int], float] = lambda number: 2**-10
    overhead: float = 2**-11
    fate: Fate = lambda sent: None
    shuffle: Random | None = None
    now: float = 100.0
    sent: list[Sent] = field(default_factory=list)
    under_way: list[Sent] = field(default_factory=list)
    stopped: list[Hashable] = field(default_factory=list)

    @property
    def idle(self) -> int:
        return self.size - len(self.under_way)

    def start(self, ticket: Hashable, payload: Any) -> None:
        assert self.idle > 0
        numbers = [number_of(row) for row in payload]
        sent = Sent(ticket, numbers, self.now, [number for other in self.under_way for number in other.numbers])
        for other in self.under_way:
            other.beside += numbers
        self.sent.append(sent)
        self.under_way.append(sent)

    def end(self, sent: Sent) -> tuple[float, Event, Any]:
        seconds = sum(map(self.seconds, sent.numbers))
        values = np.array([score(ROWS[number]) for number in sent.numbers])
        return (sent.began + self.overhead + seconds, *(self.fate(sent) or (Event.DONE, (Answers(values), seconds))))

    def wait(self, timeout: float | None = None) -> list[Message]:
        ends = [(self.end(sent), sent) for sent in self.under_way]
        first = min(end[0] for end, _ in ends)
        self.now = max(self.now, min(first, self.now + (math.inf if timeout is None else timeout)))
        assert self.now < math.inf, "it would wait for ever"
        arrived = [(end, sent) for end, sent in ends if end[0] <= self.now]
        if self.shuffle is not None:
            self.shuffle.shuffle(arrived)
        for _, sent in arrived:
            self.under_way.remove(sent)
        return [Message(sent.ticket, *end[1:]) for end, sent in arrived]

    def stop(self, ticket: Hashable) -> None:
        self.stopped.append(ticket)
        self.under_way = [sent for sent in self.under_way if sent.ticket != ticket]

    def close(self) -> None:
        self.under_way = []

    def evaluation(self, on_error: str = "worst", **how: Any) -> Evaluation:
        workers = Workers(self, clock=lambda: self.now, **how)
        return Evaluation(Caller(score), options=EvaluationOptions(on_error=on_error), backend=workers)


def dies(how: int | str, *numbers: int, beside: bool = False, times: float = math.inf) -> Fate:
    """Give the fate of chunks with some rows, or with some beside them: a death, so many times."""
    dead: list[Hashable] = []

    def fate(sent: Sent) -> tuple[Event, Any] | None:
        if sent.ticket not in dead:
            if len(dead) >= times or not set(numbers) & {*sent.numbers, *(sent.beside if beside else ())}:
                return None
            dead.append(sent.ticket)
        return Event.DIED, how

    return fate


@pytest.mark.parametrize(
    ("count", "workers", "seconds", "overhead", "second"),
    [
        (1000, 2, 2**-10, 2**-13, 102),  # a hundred rows of a millisecond
        (60, 3, 1.0, 2**-9, 1),  # one of a second
        (2000, 4, 2**-13, 2**-9, 249),  # an eighth of the rest, though there would be time for eight hundred
        (4000, 8, 2**-13, 2**-7, 257),  # sending costs as much as 64 rows: four times that, and one
    ],
)
def test_chunks_are_sized_by_the_time_that_rows_take(
    count: int, workers: int, seconds: float, overhead: float, second: int
) -> None:
    pool = FakePool(size=workers, seconds=lambda number: seconds, overhead=overhead)
    check(pool.evaluation(), count)
    sizes = [len(sent.numbers) for sent in pool.sent]
    assert sizes[: workers + 1] == [1] * workers + [second]  # the first show how long it takes
    assert pool.now - 100 <= 1.1 * count * seconds / workers + 8 * overhead + seconds


def test_a_slow_candidate_holds_nobody_back_and_a_free_worker_gets_the_next_one_at_once() -> None:
    """As an asynchronous run does it: the next is submitted when an answer has come."""
    pool = FakePool(size=3, seconds=lambda number: 1000.0 if number == 0 else 1.0 + number / 1024)
    evaluate = pool.evaluation()
    evaluate.submit([0, 1, 2], ROWS[:3])
    for number in range(3, 203):
        (ticket,) = evaluate.wait().tickets
        assert ticket == number - 2
        evaluate.submit([number], ROWS[number : number + 1])
    assert pool.now < 100 + sum(1.0 + number / 1024 for number in range(1, 203)) / 2 + 1  # two workers, always busy
    assert evaluate.wait(0.001).tickets == evaluate.finished().tickets == []
    assert len(collected(evaluate)[0]) == 3


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 2**32), count=st.integers(1, 120), workers=st.integers(1, 5), how=st.sampled_from([3, -9, "x"])
)
def test_the_order_of_answers_does_not_matter(seed: int, count: int, workers: int, how: int | str) -> None:
    random = Random(seed)
    seconds = {number: random.choice([0.0005, 0.01, 0.4]) for number in range(count)}
    dead = {number for number in range(1, count) if random.random() < 0.1}
    pool = FakePool(workers, seconds.__getitem__, random.choice([0.0, 0.02]), dies(how, *dead), random)
    evaluate = pool.evaluation()
    evaluate.has_values = True
    check(evaluate, count, dead)


def test_those_of_a_dead_chunk_are_sent_alone_and_the_deadly_one_has_failed() -> None:
    pool = FakePool(fate=dies(7, 250))
    errors = check(pool.evaluation(), 500, {250})
    assert "exit code 7" in errors[250]
    assert to_text(ROWS[250]) in errors[250]
    died = next(sent for sent in pool.sent if 250 in sent.numbers)
    assert len(died.numbers) > 1
    counts = {number: sum(number in sent.numbers for sent in pool.sent) for number in range(500)}
    assert counts == {number: 2 if number in died.numbers else 1 for number in range(500)}


@pytest.mark.parametrize(
    ("how", "says", "by_itself"),
    [
        (-9, "killed by SIGKILL", True),  # there may have been too little memory for two
        (-11, "killed by SIGSEGV", False),
        ("KilledWorker: too many died", "KilledWorker: too many died", True),
    ],
)
@pytest.mark.parametrize("times", [1, 2])
def test_a_candidate_whose_worker_was_killed_has_another_chance_and_no_more(
    how: int | str, says: str, by_itself: bool, times: int
) -> None:
    """Also where something new is submitted all the time."""
    pool = FakePool(seconds=lambda number: 1.0 + number / 1024, fate=dies(how, 3, times=times))
    evaluate, values, errors = pool.evaluation(), dict[int, float](), dict[int, str]()
    evaluate.submit([0, 1], ROWS[:2])
    for number in range(2, 40):
        done = evaluate.wait()
        values, errors = values | dict(zip(done.tickets, done.values, strict=True)), errors | done.errors
        evaluate.submit([number], ROWS[number : number + 1])
    assert values.keys() >= set(range(20))
    assert all(says in error for error in errors.values())
    assert errors.keys() == (set() if times == 1 else {3})
    again = [sent for sent in pool.sent if sent.numbers == [3]]
    assert len(again) == 2
    assert (again[1].beside == []) == by_itself


def test_no_candidate_fails_because_of_the_one_beside_it() -> None:
    """Where a scheduler blames everything that was sent to a worker for its death, the death of one is that of all."""
    pool = FakePool(size=4, seconds=lambda number: 0.06, fate=dies("KilledWorker", 5, 6, 17, beside=True))
    check(pool.evaluation(), 40, {5, 6, 17})


def test_errors_are_those_of_the_candidates_they_came_for() -> None:
    def fate(sent: Sent) -> tuple[Event, Any] | None:
        if 1 in sent.numbers:
            return Event.RAISED, "MemoryError: no room"
        if 40 in sent.numbers:
            values = np.array([np.nan if number == 40 else score(ROWS[number]) for number in sent.numbers])
            return Event.DONE, (Answers(values, {sent.numbers.index(40): "forty"}), 0.1)
        return None

    errors = check(FakePool(fate=fate).evaluation(), 200, {1, 40})
    assert f"MemoryError: no room; its candidate was {to_text(ROWS[1])}" in errors[1]
    assert errors[40] == "forty"
    misuse = FakePool(fate=lambda sent: (Event.DONE, ObjectiveMisuse("got None")))
    with pytest.raises(ObjectiveMisuse, match="got None"):
        check(misuse.evaluation(), 3)


def test_what_a_worker_skipped_behind_a_failure_is_evaluated_if_more_is_asked_for() -> None:
    def fate(sent: Sent) -> tuple[Event, Any] | None:
        if 40 not in sent.numbers:
            return None
        at = sent.numbers.index(40)
        values = [score(ROWS[number]) for number in sent.numbers[:at]]
        return Event.DONE, (Answers(np.array([*values, np.nan]), {at: "forty"}), 0.1)

    evaluate, tickets = FakePool(fate=fate).evaluation("raise"), list[int]()
    evaluate.submit(range(200), ROWS[:200])
    with pytest.raises(ObjectiveError, match="forty"):  # noqa: PT012
        while True:
            tickets += evaluate.wait().tickets
    assert set(range(40)) - {*tickets} <= {38, 39}
    tickets += collected(evaluate)[0]
    assert sorted(tickets) == [number for number in range(200) if number != 40]


# Timeouts and lost workers


def test_a_candidate_that_hangs_has_failed_and_its_worker_is_ended() -> None:
    hanging = {100, 102, 333}
    pool = FakePool(seconds=lambda number: math.inf if number in hanging else 0.001)
    errors = check(pool.evaluation(timeout=2.0), 400, hanging)
    assert all(f"timeout=2 s for the candidate {to_text(ROWS[number])}" in error for number, error in errors.items())
    assert len(pool.stopped) == len(set(pool.stopped)) == 3


def test_candidates_of_lost_workers_wait_and_what_came_before_is_returned() -> None:
    class LostPool(FakePool):
        def wait(self, timeout: float | None = None) -> list[Message]:
            if self.now > 100.1:
                raise PoolLost("nobody is there")
            return super().wait(timeout)

    evaluate, tickets = LostPool().evaluation(), list[int]()
    evaluate.submit(range(500), ROWS[:500])
    for _ in range(2):
        with pytest.raises(ObjectiveError, match="nobody is there"):  # noqa: PT012
            while True:
                tickets += evaluate.wait().tickets
    assert 0 < len(tickets) == 500 - evaluate.waiting


# In the workers


X = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=np.uint8)


def odd(row: np.ndarray) -> float:
    if row.sum() == 2:
        raise ValueError("two")
    return float(row.sum())


@pytest.mark.parametrize("timeout", [None, 60.0])
def test_the_function_of_workers_travels(timeout: float | None) -> None:
    function = pickle.loads(pickle.dumps(ChunkFunction(Caller(odd, vectorized=False), timeout=timeout)))
    answers, seconds = pickle.loads(pickle.dumps(function(X)))
    assert np.array_equal(answers.values, [1.0, np.nan, 3.0], equal_nan=True)
    assert set(answers.errors) == {1}
    assert "ValueError: two for the candidate 110" in answers.errors[1]
    assert 0 <= seconds < 60
    misuse = ChunkFunction(Caller(lambda row: None if row.all() else 0.0, vectorized=False), timeout=timeout)
    assert isinstance(misuse(X), ObjectiveMisuse)


def test_a_chunk_may_end_with_its_first_failure() -> None:
    answers, _ = ChunkFunction(Caller(odd, vectorized=False), first_failure_only=True)(X[[1, 0, 1]])  # type: ignore[misc]
    assert len(answers.values) == len(answers.errors) == 1


def test_a_candidate_that_hangs_in_an_external_worker_is_left_alone() -> None:
    released = threading.Event()

    def hangs(row: np.ndarray) -> float:
        if row.sum() == 2:
            released.wait(60)
        return float(row.sum())

    try:
        answers, seconds = ChunkFunction(Caller(hangs, vectorized=False), timeout=2.0)(X[1:2])  # type: ignore[misc]
    finally:
        released.set()
    assert np.isnan(answers.values).all()
    assert "timeout=2 s for the candidate 110" in answers.errors[0]
    assert seconds >= 2.0
