"""Processes that work side by side: what they tell, how they die, and that none is left."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from daedal.evaluation.process_pool import Event, Message, ProcessPool


def act(order: tuple[str, Any]) -> Any:
    """Do what a test asks for."""
    word, value = order
    match word:
        case "double":
            return 2 * value
        case "pid":
            return os.getpid()
        case "raise":
            raise value
        case "parts":
            return parts(value)
        case "exit":
            os._exit(value)
        case "signal":
            os.kill(os.getpid(), value)
        case "lock":
            return threading.Lock()
        case "hang":
            Path(value).write_text(str(os.getpid()))
    time.sleep(1000)
    return None


def parts(count: int) -> Iterator[int]:
    yield from range(count)
    if count == 3:
        raise ValueError("three is too many")


def wait_until(true: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return true()


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one whose parent did not ask for its end yet has, too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def news_of(workers: ProcessPool, count: int) -> list[Message]:
    """Wait until as many tickets have come to their end; parts come before."""
    found: list[Message] = []
    deadline = time.monotonic() + 60
    while sum(news.event is not Event.PART for news in found) < count:
        assert time.monotonic() < deadline, found
        found += workers.wait(1)
    return found


@pytest.fixture(scope="module")
def shared() -> Iterator[ProcessPool]:
    with ProcessPool(2, act) as workers:
        yield workers


@pytest.fixture
def workers(shared: ProcessPool) -> Iterator[ProcessPool]:
    """Two workers that have nothing to do, before and after."""
    assert shared.idle == 2
    yield shared
    assert shared.idle == 2


def pids(workers: ProcessPool) -> set[int]:
    for ticket in range(2):
        workers.start(ticket, ("pid", None))
    return {news.value for news in news_of(workers, 2)}


# Message


def test_answers_come_with_their_tickets(workers: ProcessPool) -> None:
    workers.start("a", ("double", 3))
    assert workers.idle == 1
    workers.start(("b", 2), ("double", [1]))
    assert workers.idle == 0
    found = news_of(workers, 2)
    assert sorted(found, key=lambda news: str(news.ticket)) == [
        Message(("b", 2), Event.DONE, [1, 1]),
        Message("a", Event.DONE, 6),
    ]
    assert workers.size == 2


def test_errors_come_in_words_and_kill_nobody(workers: ProcessPool) -> None:
    before = pids(workers)
    for error, says in (
        (ValueError("no\n  luck"), "ValueError: no luck"),
        (RuntimeError(), "RuntimeError"),
        (SystemExit(4), "SystemExit: 4"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
    ):
        workers.start("a", ("raise", error))
        assert news_of(workers, 1) == [Message("a", Event.RAISED, says)]
    workers.start("b", ("lock", None))
    (news,) = news_of(workers, 1)
    assert (news.ticket, news.event) == ("b", Event.RAISED)
    assert "cannot pickle" in news.value
    assert pids(workers) == before


def test_a_generator_gives_its_answer_in_parts(workers: ProcessPool) -> None:
    workers.start("a", ("parts", 2))
    assert news_of(workers, 1) == [Message("a", Event.PART, 0), Message("a", Event.PART, 1), Message("a", Event.DONE)]
    workers.start("b", ("parts", 3))
    assert news_of(workers, 1) == [
        *(Message("b", Event.PART, part) for part in range(3)),
        Message("b", Event.RAISED, "ValueError: three is too many"),
    ]
    workers.start("c", ("parts", 0))
    assert news_of(workers, 1) == [Message("c", Event.DONE)]


def test_without_news_the_timeout_ends_the_wait(workers: ProcessPool) -> None:
    assert workers.wait(0.01) == []
    assert workers.wait(0) == []


# Deaths


def test_whoever_dies_is_replaced(workers: ProcessPool) -> None:
    before = pids(workers)
    workers.start("a", ("exit", 3))
    workers.start("b", ("signal", signal.SIGKILL))
    assert sorted(news_of(workers, 2), key=lambda news: news.ticket) == [
        Message("a", Event.DIED, 3),
        Message("b", Event.DIED, -signal.SIGKILL),
    ]
    assert workers.idle == workers.size == 2
    after = pids(workers)
    assert len(after) == 2
    assert not after & before
    assert all(is_gone(pid) for pid in before)


def test_whoever_hangs_is_ended_and_nobody_else(workers: ProcessPool, tmp_path: Path) -> None:
    before = pids(workers)
    place = tmp_path / "pid"
    workers.start("hangs", ("hang", place))
    assert wait_until(lambda: place.exists() and place.read_text() != "")
    hung = int(place.read_text())
    workers.start("goes on", ("double", 4))
    workers.stop("nobody has it")
    workers.stop("hangs")
    assert is_gone(hung)
    assert news_of(workers, 1) == [Message("goes on", Event.DONE, 8)]
    after = pids(workers)
    assert after & before == before - {hung}
    assert len(after) == 2


def test_what_cannot_be_loaded_elsewhere_is_said_and_not_tried_for_ever() -> None:
    before = set(multiprocessing.active_children())
    with ProcessPool(1, Unloadable()) as workers, pytest.raises(ValueError, match="LookupError: not in this process"):
        news_of(workers, 1)
    assert set(multiprocessing.active_children()) <= before


class Unloadable:
    def __call__(self, _: object) -> None: ...

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        return not_here, ()


def not_here() -> None:
    raise LookupError("not in this process")


# Functions


def test_lambdas_and_closures_work_and_nobody_is_left_at_the_end() -> None:
    before = set(multiprocessing.active_children())
    factor = 7
    workers = ProcessPool(1, lambda value: (factor * value, os.getpid()))
    workers.start("a", 6)
    ((answer, pid),) = (news.value for news in news_of(workers, 1))
    assert answer == 42
    assert not is_gone(pid)
    workers.close()
    assert is_gone(pid)
    assert set(multiprocessing.active_children()) <= before
    assert workers.size == 0
    workers.close()  # once more does no harm


def test_what_cannot_be_sent_is_refused_before_anybody_is_started() -> None:
    before = set(multiprocessing.active_children())
    lock = threading.Lock()
    with pytest.raises(TypeError, match=r"^the objective cannot be sent to another process \(TypeError: cannot pickle"):
        ProcessPool(2, lambda value: lock.locked())
    assert set(multiprocessing.active_children()) <= before


# Parents

PARENT = """
import os, signal, time
from daedal.evaluation.process_pool import ProcessPool

signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell takes from what it runs in the background

def act(word):
    print("printed by the function")
    os.write(1, b"written by the function\\n")
    os.system("echo said by a program")
    if word == "hang":
        time.sleep(1000)
    return os.getpid()

def pid(ticket):
    workers.start(ticket, "pid")
    while not (news := workers.wait()):
        pass
    return news[0].value

if __name__ == "__main__":
    with ProcessPool(1, act) as workers:
        first = pid(1)
        try:
            print(first, flush=True)
            time.sleep(100)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print(pid(2), flush=True)
        workers.start(3, "hang")
        print("hangs", flush=True)
        time.sleep(1000)
"""


def test_workers_outlive_an_interrupt_but_not_their_parent(tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    with (
        errors.open("wb") as file,
        subprocess.Popen(
            [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, stderr=file, start_new_session=True
        ) as parent,
    ):
        assert parent.stdout is not None
        try:
            pid = int(parent.stdout.readline())
            os.killpg(parent.pid, signal.SIGINT)  # as the terminal does for Ctrl-C
            # What the function prints is not among what the parent does.
            assert parent.stdout.readline() == b"interrupted\n"
            assert int(parent.stdout.readline()) == pid
            assert parent.stdout.readline() == b"hangs\n"
            assert wait_until(lambda: errors.read_text().count("said by a program") == 3)
            assert not is_gone(pid)
            parent.kill()
            parent.wait()
            gone = wait_until(lambda: is_gone(pid))
            if not gone:
                os.kill(pid, signal.SIGKILL)  # nobody else would
            assert gone
            assert parent.stdout.read() == b""
        finally:
            parent.kill()  # or a failure would wait for it
    text = errors.read_text()
    for line in ("printed by the function", "written by the function", "said by a program"):
        assert text.count(line) >= 2
    assert "Traceback" not in text
