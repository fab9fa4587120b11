"""Processes that work side by side: their messages, their deaths, and that nothing of them is left."""

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
from process_helpers import MARK, children, has_ended, marked, wait_until

from daedal.evaluation.process_pool import ProcessPool
from daedal.evaluation.worker import Event, Message, pack, unpack


def raise_it(error: BaseException) -> None:
    raise error


def kill_it(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(1000)


def hang(place: Path) -> None:
    place.write_text(str(os.getpid()))
    time.sleep(1000)


def pool_of_processes(method: str) -> list[int]:
    with multiprocessing.get_context(method).Pool(2) as pool:
        return pool.map(abs, [-1, -2])


def act(order: tuple[str, Any]) -> Any:
    """Do what a test asks for."""
    what = {"double": lambda value: 2 * value, "pid": lambda _: os.getpid(), "lock": lambda _: threading.Lock()}
    what |= {"raise": raise_it, "exit": os._exit, "signal": kill_it, "hang": hang}
    what |= {"processes": pool_of_processes, "close": lambda _: os.closerange(3, 256)}
    return what[order[0]](order[1])


def messages_of(pool: ProcessPool, count: int) -> list[Message]:
    """Wait until a number of tickets have come to their end."""
    found: list[Message] = []
    deadline = time.monotonic() + 60
    while len(found) < count:
        assert time.monotonic() < deadline, found
        found += pool.wait(1)
    return found


@pytest.fixture(scope="module")
def shared() -> Iterator[ProcessPool]:
    with ProcessPool(2, act) as pool:
        yield pool


def until_idle(pool: ProcessPool) -> ProcessPool:
    """Wait until all workers have started."""
    deadline = time.monotonic() + 60
    while pool.idle < pool.size:
        assert time.monotonic() < deadline
        assert pool.wait(1) == []
    return pool


@pytest.fixture
def pool(shared: ProcessPool) -> Iterator[ProcessPool]:
    """Two workers that have nothing to do, before and after."""
    yield until_idle(shared)
    assert until_idle(shared).size == 2


def pids(pool: ProcessPool) -> set[int]:
    until_idle(pool)
    for ticket in range(2):
        pool.start(ticket, ("pid", None))
    return {message.value for message in messages_of(pool, 2)}


# Messages


def test_answers_come_with_their_tickets_when_they_are_there(pool: ProcessPool) -> None:
    assert pool.wait(0) == pool.wait(0.01) == []
    pool.start("a", ("double", 3))
    assert pool.idle == 1
    pool.start(("b", 2), ("double", [1]))
    assert pool.idle == 0
    came = {message.ticket: message for message in messages_of(pool, 2)}
    assert came == {"a": Message("a", Event.DONE, 6), ("b", 2): Message(("b", 2), Event.DONE, [1, 1])}


def test_errors_come_as_text_and_end_no_process(pool: ProcessPool) -> None:
    before = pids(pool)
    for error, says in (
        (ValueError("no\n  luck"), "ValueError: no luck"),
        (SystemExit(4), "SystemExit: 4"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
    ):
        pool.start("a", ("raise", error))
        assert messages_of(pool, 1) == [Message("a", Event.RAISED, says)]
    pool.start("b", ("lock", None))  # an answer that cannot be sent
    (message,) = messages_of(pool, 1)
    assert (message.ticket, message.event) == ("b", Event.RAISED)
    assert "cannot pickle" in message.value
    assert pids(pool) == before


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_worker_may_have_processes_of_its_own(pool: ProcessPool, method: str) -> None:
    pool.start("a", ("processes", method))
    assert messages_of(pool, 1) == [Message("a", Event.DONE, [1, 2])]


# Deaths


def test_a_process_that_dies_is_replaced(pool: ProcessPool, capfd: pytest.CaptureFixture[str]) -> None:
    before = pids(pool)
    pool.start("a", ("exit", 3))
    pool.start("b", ("signal", signal.SIGSEGV))
    came = {message.ticket: (message.event, message.value) for message in messages_of(pool, 2)}
    assert came == {"a": (Event.DIED, 3), "b": (Event.DIED, -signal.SIGSEGV)}
    after = pids(pool)
    assert len(after) == 2
    assert not after & before
    assert all(has_ended(pid) for pid in before)
    pool.start("a", ("close", None))  # its connection, too
    (message,) = messages_of(pool, 1)
    assert (message.ticket, message.event) == ("a", Event.DIED)
    assert capfd.readouterr().err == ""


def test_a_process_that_hangs_is_ended_alone(pool: ProcessPool, tmp_path: Path) -> None:
    before, place = pids(pool), tmp_path / "pid"
    pool.start("hangs", ("hang", place))
    wait_until(lambda: place.exists() and place.read_text())
    pid = int(place.read_text())
    pool.start("goes on", ("double", 4))
    pool.stop("no such ticket")
    pool.stop("hangs")
    assert has_ended(pid)
    assert messages_of(pool, 1) == [Message("goes on", Event.DONE, 8)]
    after = pids(pool)
    assert after & before == before - {pid}
    assert len(after) == 2


# Functions


class Unloadable:
    def __call__(self, _: object) -> None: ...

    def __reduce__(self) -> tuple[Callable[..., None], tuple[Any, ...]]:
        return raise_it, (LookupError("not in this process"),)


@pytest.mark.parametrize(
    ("function", "error", "says"),
    [
        (Unloadable(), ValueError, "LookupError: not in this process"),
        (partial(isinstance, threading.Lock()), TypeError, "the objective cannot be sent"),
        (partial(isinstance, sys.stderr), TypeError, r"open file, a lock or a connection\?"),
    ],
)
def test_a_function_that_cannot_be_sent_or_loaded_is_an_error(function: Any, error: Any, says: str) -> None:
    before = children()
    with pytest.raises(error, match=says), ProcessPool(1, function) as pool:
        messages_of(pool, 1)
    assert children() <= before


def test_functions_travel_by_name_and_closures_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unpack(pack(raise_it, "it")) is raise_it
    factor = 3
    travelled = unpack(pack(lambda value: factor * value, "it"))
    factor = 100
    assert travelled(5) == 15
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    assert unpack(pack(raise_it, "it")) is raise_it
    with pytest.raises(TypeError, match=r'pip install "daedal\[parallel\]"'):
        pack(lambda value: value, "it")


SCRIPT = """
import sys
from daedal.evaluation.process_pool import ProcessPool

def double(value):
    return 2 * value

def ask():
    with ProcessPool(1, double) as pool:
        pool.wait()  # until it has started
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
    elif sys.argv[1] == "loky":
        import joblib
        joblib.Parallel(2)([joblib.delayed(ask)(), joblib.delayed(ask)()])
    else:
        ask()
"""


@pytest.mark.parametrize(
    "words",
    [
        ("-", "here"),
        ("-c", SCRIPT, "here"),
        ("script.py", "daemon", "spawn"),
        ("script.py", "loky"),
    ],
    ids=lambda words: " ".join(word for word in words if word is not SCRIPT),
)
def test_workers_start_from_any_script_and_in_the_workers_of_other_packages(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    if "loky" in words:
        pytest.importorskip("joblib", reason="the extra sklearn is not installed")
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
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n" * (1 + ("loky" in words)), "")


def test_a_script_without_a_main_block_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace('if __name__ == "__main__":', "if True:"))
    done = subprocess.run([sys.executable, script, "here"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert 'if __name__ == "__main__":' in done.stderr.splitlines()[-1]


CLOSED = """
import os, sys
from daedal.evaluation.process_pool import ProcessPool
with ProcessPool(1, os.system) as pool:
    pool.wait()
    pool.start(1, "echo said")
    while not (messages := pool.wait()):
        pass
os.write(int(sys.argv[1]), str(messages[0].value).encode())
"""


def test_workers_start_where_standard_descriptors_are_closed() -> None:
    reader, writer = os.pipe()
    subprocess.run(
        [sys.executable, "-c", CLOSED, str(writer)],
        pass_fds=[writer],
        preexec_fn=lambda: [os.close(one) for one in (0, 1, 2)],
        check=True,
        timeout=60,
    )
    os.close(writer)
    with open(reader, "rb") as told:
        assert told.read() == b"0"


# Nothing is left


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
    """Leave a process behind, and keep Python's lock, so that neither a handler nor a thread can run."""
    threading.Thread(target=leave_child, args=(place,)).start()
    wait_until(place.exists)
    re.match(r"(a+)+$", "a" * 40 + "b")


WAYS = {"waits": leave_child, "holds the lock": hold_the_lock, "ends": leave_and_exit}


def misbehave(order: tuple[str, Path]) -> None:
    WAYS[order[0]](order[1])


@pytest.mark.parametrize("way", WAYS)
def test_everything_that_a_worker_has_started_ends_with_it(way: str, tmp_path: Path) -> None:
    before, place = children(), tmp_path / "child"
    with ProcessPool(1, misbehave) as pool:
        until_idle(pool).start("a", (way, place))
        if way == "ends":
            assert messages_of(pool, 1) == [Message("a", Event.DIED, 3)]
        wait_until(place.exists)
        child = int(place.read_text())
        if way == "waits":
            pool.stop("a")
            wait_until(lambda: has_ended(child))
    wait_until(lambda: has_ended(child))
    pool.close()  # again, without harm
    assert children() <= before


KILLED = """
import os, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_process_pool import ProcessPool, misbehave
with ProcessPool(2, misbehave) as pool:
    while pool.idle < 2:
        pool.wait()
    pool.start(1, ("waits", Path(sys.argv[2])))
    pool.start(2, ("holds the lock", Path(sys.argv[3])))
    if sys.argv[4] == "forks" and os.fork() == 0:  # the child has a copy of everything that its parent has open
        pool.close()
        os.execvp("sleep", ["sleep", "1000"])
    time.sleep(1000)
"""


@pytest.mark.parametrize(("number", "how"), [(signal.SIGKILL, ""), (signal.SIGKILL, "forks"), (signal.SIGINT, "")])
def test_nothing_outlives_a_parent(
    number: signal.Signals, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parents[2] / 'support'}:{os.environ.get('PYTHONPATH', '')}")
    places = [tmp_path / "one", tmp_path / "other"]
    command = [sys.executable, "-c", KILLED, str(Path(__file__).parent), *map(str, places), how]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as parent:
        wait_until(lambda: all(place.exists() for place in places))
        parent.send_signal(number)

    def left() -> list[str]:
        return [one for one in marked(mark) if "sleep 1000 " not in one or how != "forks"]

    wait_until(lambda: left() == [], "a process is left")
    for one in marked(mark):
        os.kill(int(one.partition(":")[0]), signal.SIGKILL)


PARENT = """
import os, signal, sys, time
from daedal.evaluation.process_pool import ProcessPool

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in what it runs in the background

def act(word):
    print("printed by the function")
    os.write(1, b"written by the function\\n")
    os.system("echo said by a program")
    return os.getpid()

def pid(ticket):
    while not pool.idle:
        pool.wait()
    pool.start(ticket, "pid")
    while not (messages := pool.wait()):
        pass
    return messages[0].value

if __name__ == "__main__":
    with ProcessPool(1, act) as pool:
        first = pid(1)
        try:
            print(first, flush=True)
            time.sleep(100)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        print(pid(2), flush=True)
"""


def test_ctrl_c_spares_the_workers_and_their_output_goes_to_standard_error(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        pid = parent.stdout.readline()
        os.killpg(parent.pid, signal.SIGINT)  # as the terminal does
        out, err = parent.communicate(timeout=60)
    assert (out, parent.returncode) == (f"interrupted\n{pid}", 0)
    for line in ("printed by the function", "written by the function", "said by a program"):
        assert err.count(line) == 2
    assert "Traceback" not in err
