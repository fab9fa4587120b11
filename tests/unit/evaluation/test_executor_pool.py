"""Work for an executor of somebody else, without a process: what is sent, what comes back, what stays the owner's."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from daedal.evaluation import executor_pool as executors
from daedal.evaluation.executor_pool import ExecutorPool, dask_executor
from daedal.evaluation.process_pool import Event


class Inline(Executor):
    """As small as an executor can be: it does at once what it is given."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  as executors do
            future.set_exception(error)
        return future


class Waiting(Executor):
    """An executor that never gets to it: the test says what becomes of each thing."""

    _max_workers = 3

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []
        self.sent: list[tuple[Any, ...]] = []
        self.options: list[dict[str, Any]] = []

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.futures.append(Future())
        self.sent.append(args)
        self.options.append(kwargs)
        return self.futures[-1]


class KilledWorker(Exception):  # noqa: N818  it has the name of Dask's
    """What Dask raises for something that several workers died of."""


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


def everything(crew: ExecutorPool, count: int) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    while len(found) < count:
        found |= {news.ticket: news.value for news in crew.wait(10)}
    return found


# Slots


def test_there_are_as_many_slots_as_the_executor_has_workers(threads: ThreadPoolExecutor) -> None:
    assert ExecutorPool(threads, abs).size == 2
    assert ExecutorPool(Waiting(), abs).size == 3
    assert ExecutorPool(Inline(), abs).size == os.cpu_count()
    assert ExecutorPool(Inline(), abs, slots=7).size == 7


def test_a_slot_is_busy_until_its_news_is_taken() -> None:
    executor = Waiting()
    crew = ExecutorPool(executor, abs)
    assert crew.idle == 3
    crew.start("a", -1)
    crew.start("b", -2)
    assert crew.idle == 1
    executor.futures[1].set_result(2)
    assert crew.idle == 1
    assert [(news.ticket, news.event, news.value) for news in crew.wait(5)] == [("b", Event.DONE, 2)]
    assert crew.idle == 2
    assert crew.wait(0.01) == []


# Work


@pytest.mark.parametrize("make", [Inline, lambda: ThreadPoolExecutor(3)], ids=["inline", "threads"])
def test_what_is_sent_is_done(make: Callable[[], Executor]) -> None:
    with make() as executor, ExecutorPool(executor, lambda value: value**2, slots=50) as crew:
        for number in range(50):
            crew.start(number, number)
        assert everything(crew, 50) == {number: number**2 for number in range(50)}


def test_the_function_is_unpacked_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked: list[int] = []
    real = executors.unpack
    monkeypatch.setattr(executors, "unpack", lambda data: unpacked.append(len(data)) or real(data))
    executors._unpacked.cache_clear()
    crew = ExecutorPool(Inline(), lambda value: value + 1, slots=20)
    for number in range(20):
        crew.start(number, number)
    assert everything(crew, 20) == {number: number + 1 for number in range(20)}
    assert len(unpacked) == 1


def test_threads_share_what_the_function_holds(threads: ThreadPoolExecutor) -> None:
    """They are in this process: nothing has to be sent, so anything may be held, and it is the caller's own."""
    lock, seen = threading.Lock(), []

    def locked(value: int) -> int:
        with lock:
            seen.append(value)
        return value

    crew = ExecutorPool(threads, locked)
    crew.start("a", 5)
    assert everything(crew, 1) == {"a": 5}
    assert seen == [5]


@pytest.mark.parametrize("executor", [Inline(), Waiting(), ProcessPoolExecutor(1)], ids=["inline", "other", "pool"])
def test_what_cannot_be_sent_is_named(executor: Executor, tmp_path: Path) -> None:
    lock = threading.Lock()
    says = (
        r"^the objective cannot be sent to another process \(.*\); does it hold an open file, a lock or a connection\?"
    )
    with pytest.raises(TypeError, match=says) as caught:
        ExecutorPool(executor, lambda value: lock.locked())
    assert "lock" in str(caught.value)
    with (tmp_path / "open").open("w") as file, pytest.raises(TypeError, match=says) as caught:
        ExecutorPool(executor, lambda value: file.write("x"))
    assert "Cannot pickle files" in str(caught.value)


# Trouble


def test_what_raises_is_told_in_words() -> None:
    def broken(value: int) -> int:
        raise ZeroDivisionError(f"{value}\nby zero")

    crew = ExecutorPool(Inline(), broken)
    crew.start("a", 3)
    assert [(news.ticket, news.event, news.value) for news in crew.wait(5)] == [
        ("a", Event.RAISED, "ZeroDivisionError: 3 by zero")
    ]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KilledWorker("four died"), "KilledWorker: four died"),
        (BrokenProcessPool("abruptly"), "BrokenProcessPool: abruptly"),
        (BrokenExecutor(), "BrokenExecutor"),
        (None, "CancelledError"),
    ],
)
def test_the_end_of_a_worker_is_a_death(error: Exception | None, words: str) -> None:
    executor = Waiting()
    crew = ExecutorPool(executor, abs)
    crew.start("a", 3)
    if error is None:
        executor.futures[0].cancel()
        executor.futures[0].set_running_or_notify_cancel()
    else:
        executor.futures[0].set_exception(error)
    assert [(news.ticket, news.event, news.value) for news in crew.wait(5)] == [("a", Event.DIED, words)]


def test_a_broken_executor_is_named() -> None:
    class Broken(Inline):
        def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            raise BrokenProcessPool("a child process terminated abruptly")

    says = r"^the executor is broken \(BrokenProcessPool: a child process terminated abruptly\); give a new one$"
    with pytest.raises(ValueError, match=says):
        ExecutorPool(Broken(), abs).start("a", 1)


# What stays the owner's


def test_a_ticket_that_is_stopped_is_forgotten_and_its_slot_free() -> None:
    executor = Waiting()
    crew = ExecutorPool(executor, abs)
    crew.start("a", 1)
    crew.start("b", 2)
    crew.stop("a")
    assert executor.futures[0].cancelled()
    assert crew.idle == 2
    executor.futures[1].set_result(2)
    assert [news.ticket for news in crew.wait(5)] == ["b"]


def test_closing_takes_back_what_waits_and_leaves_the_executor(threads: ThreadPoolExecutor) -> None:
    executor = Waiting()
    with ExecutorPool(executor, abs) as crew:
        crew.start("a", 1)
        crew.start("b", 2)
    assert all(future.cancelled() for future in executor.futures)
    with ExecutorPool(threads, abs) as crew:
        crew.start("a", -1)
    assert threads.submit(pow, 2, 5).result(10) == 32


# Dask, without Dask


class Client:
    """What is used of a client of Dask."""

    def __init__(self, **threads: int) -> None:
        self.threads = threads
        self.submitted: list[tuple[Any, ...]] = []

    def nthreads(self) -> dict[str, int]:
        return self.threads

    def submit(self, *args: Any, pure: bool = True) -> str:
        assert not pure
        self.submitted.append(args)
        return "the function, over there"


def test_to_dask_the_function_goes_once_and_as_something_that_can_be_made_again() -> None:
    """As a task: data that is only scattered is lost with the last worker that has it."""
    executor = Waiting()
    executor._client = client = Client(a=2, b=1)  # type: ignore[attr-defined]
    crew = ExecutorPool(executor, abs)
    assert crew.size == 6
    for number in range(3):
        crew.start(number, number)
    assert len(client.submitted) == 1
    make, packed = client.submitted[0]
    assert executors.unpack(make(packed)) is abs
    assert [args[0] for args in executor.sent] == ["the function, over there"] * 3
    assert executor.options == [{"pure": False}] * 3  # the same rows may be sent again, and mean it


def test_a_scheduler_without_workers_is_refused() -> None:
    executor = Waiting()
    executor._client = Client()  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="the Dask scheduler has no workers yet; start some with: dask worker ADDRESS"):
        ExecutorPool(executor, abs)


@pytest.mark.parametrize("address", ["local:0", "local:", "local:-1", "local:two", "local"])
def test_a_number_of_processes_is_a_number(address: str) -> None:
    with (
        pytest.raises(ValueError, match=f"expected --dask local:N with a number of processes, .* got '{address}'"),
        dask_executor(address),
    ):
        pass


def test_without_dask_its_install_line_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(ValueError, match=r'^Dask needs its own package: pip install "daedal\[dask\]"$'),
        dask_executor("local:2"),
    ):
        pass


@pytest.mark.parametrize("error", [OSError("timed out"), ValueError("unknown scheme"), TypeError("no address")])
def test_where_nobody_answers_it_says_so(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(address: str, timeout: float) -> None:
        assert timeout <= 30
        raise error

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=nobody))
    says = f"expected a Dask scheduler at 'tcp://nowhere:1', but nobody answers .*{error}"
    with pytest.raises(ValueError, match=says), dask_executor("tcp://nowhere:1"):
        pass
