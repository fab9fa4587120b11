"""Work for an executor of somebody else: what is sent, what comes back, what stays the owner's; Dask, without Dask."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from types import SimpleNamespace
from typing import Any

import pytest

from daedal.evaluation.executor_pool import ExecutorPool, SchedulerWatch, dask_executor
from daedal.evaluation.worker import Event, Message, PoolLost, unpack


class Inline(Executor):
    """As small as an executor can be: it does at once what it is given, unless it is broken."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self.error is not None:
            raise self.error
        future: Future[Any] = Future()
        future.set_result(function(*args, **kwargs))
        return future


class Waiting(Executor):
    """An executor that never gets to it: the test says what becomes of each thing."""

    _max_workers = 3

    def __init__(self, **dask: Any) -> None:
        self.futures: list[Future[Any]] = []
        self.sent: list[tuple[Any, dict[str, Any]]] = []
        self.__dict__ |= dask

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.futures.append(Future())
        self.sent.append((args[0], kwargs))
        return self.futures[-1]


class There(str):
    """A function that is over there, until the connection is lost."""

    status = "finished"


class Client:
    """What is used of a client of Dask."""

    def __init__(self, **threads: int) -> None:
        self.nthreads = lambda: threads
        self.submitted: list[tuple[Any, ...]] = []
        self.there: list[There] = []
        self.status = "running"
        self.scheduler = SimpleNamespace(ncores="the question")
        self.answer: Callable[[], dict[str, int]] = self.nthreads

    def submit(self, *args: Any, pure: bool = True) -> There:
        assert not pure
        self.submitted.append(args)
        self.there.append(There("the function, over there"))
        return self.there[-1]

    def sync(self, question: str, *, workers: None, callback_timeout: float) -> dict[str, int]:
        assert question == "the question"
        assert callback_timeout > 0
        return self.answer()


class KilledWorker(Exception):  # noqa: N818  it has the name of Dask's
    """What Dask raises for something that several workers died of."""


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


# Slots and work


def test_there_are_as_many_slots_as_the_executor_has_workers(threads: ThreadPoolExecutor) -> None:
    assert ExecutorPool(threads, abs).size == 2
    assert ExecutorPool(Waiting(), abs).size == 3
    assert ExecutorPool(Inline(), abs).size == os.cpu_count()
    assert ExecutorPool(Waiting(_client=Client(a=2, b=1)), abs).size == 6  # one at work and one that waits, on each
    with pytest.raises(ValueError, match="no workers yet"):
        ExecutorPool(Waiting(_client=Client()), abs)


class Loaded:
    """A function that knows how often it was unpacked."""

    times = 0

    def __call__(self, value: int) -> int:
        return value + 1

    def __setstate__(self, _: object) -> None:
        Loaded.times += 1

    def __getstate__(self) -> str:
        return "something"


def test_what_is_sent_is_done_and_the_function_is_unpacked_once_in_a_process() -> None:
    with ExecutorPool(Inline(), Loaded()) as pool:
        for number in range(20):
            pool.start(number, number)
        assert {message.ticket: message.value for message in pool.wait()} == {k: k + 1 for k in range(20)}
    assert Loaded.times == 1


def test_threads_share_what_the_function_holds_and_others_refuse_what_cannot_be_sent(
    threads: ThreadPoolExecutor,
) -> None:
    """Threads are in this process: nothing has to be sent, so anything may be held, and it is the caller's own."""
    lock, seen = threading.Lock(), []

    def locked(value: int) -> int:
        with lock:
            seen.append(value)
        return value

    pool = ExecutorPool(threads, locked)
    pool.start("a", 5)
    assert pool.wait(60) == [Message("a", Event.DONE, 5)]
    assert seen == [5]
    with pool:
        pool.start("b", 6)
    assert threads.submit(pow, 2, 5).result(60) == 32  # it is still its owner's
    for executor in (Inline(), Waiting()):
        with pytest.raises(TypeError, match="the objective cannot be sent"):
            ExecutorPool(executor, locked)


def test_to_dask_the_function_goes_once_and_as_something_that_can_be_made_again() -> None:
    """As a task: data that is only scattered is lost with the last worker that has it."""
    client = Client(a=2, b=1)
    executor = Waiting(_client=client)
    pool = ExecutorPool(executor, abs)
    for number in range(3):
        pool.start(number, number)
    ((make, packed),) = client.submitted
    assert unpack(make(packed)) is abs
    assert executor.sent == [("the function, over there", {"pure": False})] * 3  # the same rows again, and mean it


# Trouble


@pytest.mark.parametrize(
    ("error", "event", "words"),
    [
        (ZeroDivisionError("3\nby zero"), Event.RAISED, "ZeroDivisionError: 3 by zero"),
        (KilledWorker("four died"), Event.DIED, "KilledWorker: four died"),
        (BrokenProcessPool("abruptly"), Event.DIED, "BrokenProcessPool: abruptly"),
        (BrokenExecutor(), Event.DIED, "BrokenExecutor"),
        (None, Event.DIED, "CancelledError"),
    ],
)
def test_an_error_is_told_in_words_and_the_end_of_a_worker_is_a_death(
    error: Exception | None, event: Event, words: str
) -> None:
    executor = Waiting()
    pool = ExecutorPool(executor, abs)
    pool.start("a", 3)
    if error is None:
        executor.futures[0].cancel()
        executor.futures[0].set_running_or_notify_cancel()
    else:
        executor.futures[0].set_exception(error)
    assert pool.wait(60) == [Message("a", event, words)]


def test_a_broken_executor_is_named() -> None:
    with pytest.raises(ValueError, match="BrokenProcessPool: terminated abruptly"):
        ExecutorPool(Inline(BrokenProcessPool("terminated abruptly")), abs).start("a", 1)


def test_a_slot_is_busy_until_its_message_is_taken_or_it_is_stopped_and_closing_takes_back_the_rest() -> None:
    executor = Waiting()
    with ExecutorPool(executor, abs) as pool:
        for ticket in ("a", "b", "c"):
            pool.start(ticket, -2)
        executor.futures[1].set_result(2)
        assert pool.idle == 0
        assert pool.wait(60) == [Message("b", Event.DONE, 2)]
        assert pool.idle == 1
        pool.stop("a")
        assert pool.idle == 2
        assert pool.wait(0.01) == []
    assert [future.cancelled() for future in executor.futures] == [True, False, True]


# A scheduler that is lost


class Time:
    """A clock that goes on when somebody waits, and tells what has happened by then."""

    def __init__(self, client: Client, **statuses: str) -> None:
        self.now, self.client = 0.0, client
        self.statuses = {float(at.removeprefix("at_")): status for at, status in statuses.items()}

    def clock(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.now += seconds
        for at, status in self.statuses.items():
            if self.now >= at:
                self.client.status = status


def test_a_lost_connection_is_waited_for_so_long_and_no_longer() -> None:
    client = Client(a=1)
    time = Time(client, at_3="running")
    watch = SchedulerWatch(client, 5.0, clock=time.clock, pause=time.pause)
    watch.await_connection()
    assert time.now == 0
    client.status = "connecting"
    watch.await_connection()
    assert 3 <= time.now < 4
    client.status, time.statuses = "connecting", {}
    with pytest.raises(PoolLost, match="5 s"):
        watch.await_connection()
    assert 8 <= time.now < 9
    client.status = "closed"
    with pytest.raises(PoolLost):
        watch.await_connection()
    assert time.now < 9  # nobody looks for it any more


def no_answer() -> dict[str, int]:
    raise TimeoutError("timed out")


@pytest.mark.parametrize(("answer", "says"), [(no_answer, "TimeoutError"), (dict, "no workers")])
def test_a_scheduler_without_workers_or_words_is_waited_for_so_long_and_slow_rows_for_ever(
    answer: Callable[[], dict[str, int]], says: str
) -> None:
    client = Client(a=1)
    time = Time(client)
    watch = SchedulerWatch(client, 8.0, clock=time.clock, pause=time.pause)
    for _ in range(1000):  # a slow row, for workers are there
        time.pause(1.0)
        watch.look()
    client.answer = answer
    for _ in range(7):
        time.pause(1.0)
        watch.look()
    client.answer = client.nthreads  # they are back
    for _ in range(20):
        time.pause(1.0)
        watch.look()
    client.answer = answer
    with pytest.raises(PoolLost, match=says):  # noqa: PT012
        for _ in range(12):
            time.pause(1.0)
            watch.look()


def test_what_was_sent_is_sent_again_over_a_new_connection() -> None:
    client = Client(a=2)
    executor = Waiting(_client=client)
    pool = ExecutorPool(executor, abs)
    pool.start("a", 3)
    client.there[0].status = "cancelled"
    executor.futures[0].cancel()
    executor.futures[0].set_running_or_notify_cancel()
    assert pool.wait(60) == [Message("a", Event.DIED, "CancelledError")]
    pool.start("a", 3)
    assert len(client.submitted) == 2
    client.status = "closed"
    for act in (lambda: pool.start("b", 3), pool.wait):
        with pytest.raises(PoolLost):
            act()


# Where Dask is


def nobody(address: str, timeout: float) -> None:
    assert timeout <= 30
    raise OSError("timed out")


@pytest.mark.parametrize(
    ("address", "distributed", "says"),
    [
        ("local:0", SimpleNamespace(), "local:N.* got 'local:0'"),
        ("local:two", SimpleNamespace(), "local:N.* got 'local:two'"),
        ("local:2", None, r'pip install "daedal\[dask\]"'),
        ("tcp://nowhere:1", SimpleNamespace(Client=nobody), "'tcp://nowhere:1'.*timed out"),
    ],
)
def test_a_cluster_that_is_not_there(
    address: str, distributed: object, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", distributed)
    with pytest.raises(ValueError, match=says), dask_executor(address):
        pass
