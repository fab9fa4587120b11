"""Processes that work side by side: what they tell, how they die, and that none is left."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from evaluation_helpers import is_gone, wait_until
from process_helpers import MARK, children, marked

from daedal.evaluation.process_pool import Event, Message, ProcessPool


def raise_it(error: BaseException) -> None:
    raise error


def kill_it(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(1000)


def hang(place: Path) -> None:
    place.write_text(str(os.getpid()))
    time.sleep(1000)


def parts(count: int) -> Iterator[int]:
    yield from range(count)
    if count == 3:
        raise ValueError("three is too many")


def act(order: tuple[str, Any]) -> Any:
    """Do what a test asks for."""
    what = {"double": lambda value: 2 * value, "pid": lambda _: os.getpid(), "lock": lambda _: threading.Lock()}
    what |= {"raise": raise_it, "parts": parts, "exit": os._exit, "signal": kill_it, "hang": hang}
    return what[order[0]](order[1])


def messages_of(pool: ProcessPool, count: int) -> list[Message]:
    """Wait until as many tickets have come to their end; parts come before."""
    found: list[Message] = []
    deadline = time.monotonic() + 60
    while sum(message.event is not Event.PART for message in found) < count:
        assert time.monotonic() < deadline, found
        found += pool.wait(1)
    return found


@pytest.fixture(scope="module")
def shared() -> Iterator[ProcessPool]:
    with ProcessPool(2, act) as pool:
        yield pool


@pytest.fixture
def pool(shared: ProcessPool) -> Iterator[ProcessPool]:
    """Two workers that have nothing to do, before and after."""
    assert shared.idle == shared.size == 2
    yield shared
    assert shared.idle == shared.size == 2


def pids(pool: ProcessPool) -> set[int]:
    for ticket in range(2):
        pool.start(ticket, ("pid", None))
    return {message.value for message in messages_of(pool, 2)}


def hung(pool: ProcessPool, ticket: str, place: Path) -> int:
    """Let one of the workers hang; give which."""
    pool.start(ticket, ("hang", place))
    assert wait_until(lambda: place.exists() and place.read_text() != "")
    return int(place.read_text())


# Messages


def test_answers_come_with_their_tickets_or_not_yet(pool: ProcessPool) -> None:
    assert pool.wait(0) == pool.wait(0.01) == []
    pool.start("a", ("double", 3))
    assert pool.idle == 1
    pool.start(("b", 2), ("double", [1]))
    assert pool.idle == 0
    came = {message.ticket: message for message in messages_of(pool, 2)}
    assert came == {"a": Message("a", Event.DONE, 6), ("b", 2): Message(("b", 2), Event.DONE, [1, 1])}


def test_errors_come_in_words_and_kill_nobody(pool: ProcessPool) -> None:
    before = pids(pool)
    for error, says in (
        (ValueError("no\n  luck"), "ValueError: no luck"),
        (SystemExit(4), "SystemExit: 4"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
    ):
        pool.start("a", ("raise", error))
        assert messages_of(pool, 1) == [Message("a", Event.RAISED, says)]
    pool.start("b", ("lock", None))  # no answer that can be sent
    (message,) = messages_of(pool, 1)
    assert (message.ticket, message.event) == ("b", Event.RAISED)
    assert "cannot pickle" in message.value
    assert pids(pool) == before


@pytest.mark.parametrize(("count", "end"), [(0, None), (2, None), (3, "ValueError: three is too many")])
def test_a_generator_gives_its_answer_in_parts(pool: ProcessPool, count: int, end: str | None) -> None:
    pool.start("a", ("parts", count))
    came = messages_of(pool, 1)
    assert came[:-1] == [Message("a", Event.PART, part) for part in range(count)]
    assert came[-1] == Message("a", Event.DONE if end is None else Event.RAISED, end)


# Deaths


def test_whoever_dies_is_replaced(pool: ProcessPool) -> None:
    before = pids(pool)
    pool.start("a", ("exit", 3))
    pool.start("b", ("signal", signal.SIGKILL))
    came = {message.ticket: (message.event, message.value) for message in messages_of(pool, 2)}
    assert came == {"a": (Event.DIED, 3), "b": (Event.DIED, -signal.SIGKILL)}
    after = pids(pool)
    assert len(after) == 2
    assert not after & before
    assert all(is_gone(pid) for pid in before)


def close_everything(_: object) -> None:
    os.closerange(3, 256)


def test_whoever_closes_what_is_not_its_own_ends_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    with ProcessPool(1, close_everything) as pool:
        pool.start("a", None)
        (message,) = messages_of(pool, 1)
    assert (message.ticket, message.event) == ("a", Event.DIED)
    assert capfd.readouterr().err == ""


def test_whoever_hangs_is_ended_and_nobody_else(pool: ProcessPool, tmp_path: Path) -> None:
    before = pids(pool)
    pid = hung(pool, "hangs", tmp_path / "pid")
    pool.start("goes on", ("double", 4))
    pool.stop("nobody has it")
    pool.stop("hangs")
    assert is_gone(pid)
    assert messages_of(pool, 1) == [Message("goes on", Event.DONE, 8)]
    after = pids(pool)
    assert after & before == before - {pid}
    assert len(after) == 2


def test_whoever_is_ended_does_what_was_asked_for_before(tmp_path: Path) -> None:
    """By the pool or from outside; also where this fails it ends, and by the signal that ended it."""
    end, failed = tmp_path / "ended", tmp_path / "failed"
    with ProcessPool(1, act, on_exit=partial(Path.touch, end), grace=60.0) as pool:
        os.kill(hung(pool, "a", tmp_path / "first"), signal.SIGTERM)
        assert messages_of(pool, 1) == [Message("a", Event.DIED, -signal.SIGTERM)]
        end.unlink()
        hung(pool, "b", tmp_path / "second")
        pool.stop("b")
        end.unlink()
        hung(pool, "c", tmp_path / "third")
    end.unlink()
    with ProcessPool(1, act, on_exit=partial(os.unlink, failed)) as pool:
        os.kill(hung(pool, "a", tmp_path / "fourth"), signal.SIGTERM)
        assert messages_of(pool, 1) == [Message("a", Event.DIED, -signal.SIGTERM)]


# Functions


class Unloadable:
    def __call__(self, _: object) -> None: ...

    def __reduce__(self) -> tuple[Callable[..., None], tuple[Any, ...]]:
        return raise_it, (LookupError("not in this process"),)


@pytest.mark.parametrize(
    ("function", "error", "says"),
    [
        (Unloadable(), ValueError, "LookupError: not in this process"),  # and not tried for ever
        (partial(isinstance, threading.Lock()), TypeError, "the objective cannot be sent"),
    ],
)
def test_what_cannot_be_loaded_elsewhere_or_sent_is_said(function: Any, error: type[Exception], says: str) -> None:
    before = children()
    with pytest.raises(error, match=says), ProcessPool(1, function) as pool:
        messages_of(pool, 1)
    assert children() <= before


def test_closures_work_and_nobody_is_left_at_the_end() -> None:
    before = children()
    factor = 7
    pool = ProcessPool(1, lambda value: (factor * value, os.getpid()))
    pool.start("a", 6)
    ((answer, pid),) = (message.value for message in messages_of(pool, 1))
    assert answer == 42
    assert not is_gone(pid)
    for _ in range(2):  # once more does no harm
        pool.close()
    assert is_gone(pid)
    assert children() <= before
    assert pool.size == 0


# Parents

PARENT = """
import os, signal, sys, time
from functools import partial
from pathlib import Path
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
    pool.start(ticket, "pid")
    while not (messages := pool.wait()):
        pass
    return messages[0].value

if __name__ == "__main__":
    with ProcessPool(1, act, on_exit=partial(Path.touch, Path(sys.argv[1]))) as pool:
        first = pid(1)
        try:
            print(first, flush=True)
            time.sleep(100)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print(pid(2), flush=True)
        pool.start(3, "hang")
        print("hangs", flush=True)
        time.sleep(1000)
"""


def test_workers_outlive_an_interrupt_but_not_their_parent(tmp_path: Path) -> None:
    errors, end = tmp_path / "errors", tmp_path / "end"
    command = [sys.executable, "-c", PARENT, str(end)]
    with (
        errors.open("wb") as file,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, start_new_session=True) as parent,
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
            assert end.exists()
            assert parent.stdout.read() == b""
        finally:
            parent.kill()  # or a failure would wait for it
    text = errors.read_text()
    for line in ("printed by the function", "written by the function", "said by a program"):
        assert text.count(line) == 3
    assert "Traceback" not in text


# Children


def leave_child(place: Path) -> None:
    """Start a process that ignores requests to end, and wait for it."""
    code = "trap '' TERM HUP INT; echo $$ >$0.new; mv $0.new $0; while :; do sleep 1000; done"
    subprocess.run(["sh", "-c", code, str(place)], check=False)


def leave_and_exit(place: Path) -> None:
    """Leave a process in the background that has everything open that this one has, and end."""
    if os.fork() == 0:
        leave_child(place)
    wait_until(place.exists)
    os._exit(3)


def hold_the_lock(place: Path) -> None:
    """Leave a process behind, and never give Python back: neither a handler nor a thread comes to its turn."""
    threading.Thread(target=leave_child, args=(place,)).start()
    wait_until(place.exists)
    re.match(r"(a+)+$", "a" * 40 + "b")


WAYS = {"waits": leave_child, "holds the lock": hold_the_lock, "ends": leave_and_exit}


def misbehave(order: tuple[str, Path]) -> None:
    WAYS[order[0]](order[1])


def child_of(place: Path) -> int:
    assert wait_until(place.exists)
    return int(place.read_text())


@pytest.mark.parametrize("way", ["waits", "holds the lock"])
@pytest.mark.parametrize("closed", [False, True], ids=["stopped", "closed"])
def test_with_a_worker_ends_what_it_has_started(way: str, closed: bool, tmp_path: Path) -> None:
    with ProcessPool(1, misbehave, grace=0.1) as pool:
        pool.start("a", (way, tmp_path / "child"))
        child = child_of(tmp_path / "child")
        assert not is_gone(child)
        if not closed:
            pool.stop("a")
            assert wait_until(lambda: is_gone(child))
    assert wait_until(lambda: is_gone(child))


def test_a_worker_that_ends_is_noticed_though_its_children_go_on(tmp_path: Path) -> None:
    with ProcessPool(1, misbehave) as pool:
        pool.start("a", ("ends", tmp_path / "child"))
        assert messages_of(pool, 1) == [Message("a", Event.DIED, 3)]
        child = child_of(tmp_path / "child")
        assert wait_until(lambda: is_gone(child))


KILLED = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_process_pool import ProcessPool, misbehave
with ProcessPool(2, misbehave) as pool:
    pool.start(1, ("waits", Path(sys.argv[2])))
    pool.start(2, ("holds the lock", Path(sys.argv[3])))
    time.sleep(1000)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_a_parent_however_it_ends(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    support = Path(__file__).parents[2] / "support"
    monkeypatch.setenv("PYTHONPATH", str(support))
    places = [tmp_path / "one", tmp_path / "other"]
    command = [sys.executable, "-c", KILLED, str(Path(__file__).parent), *map(str, places)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as parent:
        assert wait_until(lambda: all(place.exists() for place in places))
        parent.send_signal(number)
    assert wait_until(lambda: marked(mark) == []), marked(mark)


def test_a_fork_of_the_parent_leaves_the_workers_alone() -> None:
    with ProcessPool(1, act) as pool:
        pool.start("a", ("pid", None))
        (before,) = messages_of(pool, 1)
        child = os.fork()
        if child == 0:
            pool.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        pool.start("a", ("pid", None))
        assert messages_of(pool, 1) == [before]


def pool_of_processes(method: str) -> list[int]:
    with multiprocessing.get_context(method).Pool(2) as pool:
        return pool.map(abs, [-1, -2])


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_a_worker_may_have_processes_of_its_own(method: str) -> None:
    with ProcessPool(1, pool_of_processes) as pool:
        pool.start("a", method)
        assert messages_of(pool, 1) == [Message("a", Event.DONE, [1, 2])]


CLOSED = """
import os, sys
from daedal.evaluation.process_pool import ProcessPool
with ProcessPool(1, os.system) as pool:
    pool.start(1, "echo said")
    while not (messages := pool.wait()):
        pass
os.write(int(sys.argv[1]), str(messages[0].value).encode())
"""


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)], ids=str)
def test_workers_start_where_standard_descriptors_are_closed(closed: tuple[int, ...]) -> None:
    reader, writer = os.pipe()
    subprocess.run(
        [sys.executable, "-c", CLOSED, str(writer)],
        pass_fds=[writer],
        preexec_fn=lambda: [os.close(one) for one in closed],
        check=True,
        timeout=60,
    )
    os.close(writer)
    with open(reader, "rb") as told:
        assert told.read() == b"0"


# Where the main module is no file, or the process may have no children

SCRIPT = """
import sys
from daedal.evaluation.process_pool import ProcessPool

def double(value):
    return 2 * value

def ask():
    with ProcessPool(1, double) as pool:
        pool.start(1, 21)
        while not (messages := pool.wait()):
            pass
        print(messages[0].value, flush=True)

if __name__ == "__main__":
    import multiprocessing
    if sys.argv[1] == "daemon":
        daemon = multiprocessing.get_context(sys.argv[2]).Process(target=ask, daemon=True)
        daemon.start()
        daemon.join()
    else:
        ask()
"""


@pytest.mark.parametrize(
    "words",
    [
        ("-", "here"),
        ("-c", SCRIPT, "here"),
        ("script.py", "here"),
        ("-", "daemon", "fork"),
        ("script.py", "daemon", "spawn"),
    ],
    ids=lambda words: " ".join(word for word in words if word is not SCRIPT),
)
def test_a_script_may_come_from_anywhere_and_a_daemon_may_have_workers(words: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, *words],
        input=SCRIPT if words[0] == "-" else "",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")


def test_a_script_that_keeps_nothing_for_itself_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace('if __name__ == "__main__":', "if True:"))
    done = subprocess.run([sys.executable, script, "here"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert 'if __name__ == "__main__":' in done.stderr.splitlines()[-1]


# A spare one


def test_a_spare_worker_is_ready_when_one_is_ended_and_ends_with_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)

    def workers() -> set[int]:
        return {int(line.partition(":")[0]) for line in marked(mark) if "work(connection)" in line}

    with ProcessPool(1, act, spare=True) as pool:
        first = hung(pool, "a", tmp_path / "first")
        assert wait_until(lambda: pool.wait(0.01) == [] and len(workers()) == 2)
        (spare,) = workers() - {first}
        pool.stop("a")
        pool.start("b", ("pid", None))
        assert messages_of(pool, 1) == [Message("b", Event.DONE, spare)]
        assert wait_until(lambda: pool.wait(0.01) == [] and len(workers()) == 2)  # another one
        os.kill(next(iter(workers() - {spare})), signal.SIGKILL)  # which is no reason to end
        pool.start("c", ("double", 4))
        assert messages_of(pool, 1) == [Message("c", Event.DONE, 8)]
        assert pool.size == 1
    assert marked(mark) == []
