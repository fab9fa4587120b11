"""Process groups that end with the process that has started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator

import pytest
from process_helpers import MARK, has_ended, marked, wait_until

from daedal.evaluation.guard import Guard

STUBBORN = ["sh", "-c", "trap '' TERM HUP INT; echo ready; while :; do sleep 1000; done"]


@pytest.fixture(autouse=True)
def mark(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Nothing is left after a test: neither what was guarded nor who guards."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    yield mark
    wait_until(lambda: not marked(mark), "a process is left")


@pytest.fixture
def start() -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Start groups that will not end by themselves."""
    started = []

    def one() -> subprocess.Popen[bytes]:
        process = subprocess.Popen(STUBBORN, stdout=subprocess.PIPE, start_new_session=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process

    yield one
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def guards(mark: str) -> list[int]:
    return [int(line.partition(":")[0]) for line in marked(mark) if "read -r what group" in line]


def test_it_is_there_as_long_as_there_is_something_to_guard(mark: str, start: Callable[[], subprocess.Popen]) -> None:
    guard, processes = Guard(), [start(), start()]
    groups = [process.pid for process in processes]
    for _ in range(2):
        for process in processes:
            guard.start(lambda _, process=process: process)  # type: ignore[misc]
            wait_until(lambda: len(guards(mark)) == 1)
        for group in groups:
            wait_until(lambda: len(guards(mark)) == 1)
            guard.remove(group)
        assert guards(mark) == []
        guard.remove(groups[0])  # once more does no harm
    assert not any(has_ended(group) for group in groups)  # it is not for the living


def test_where_nothing_could_be_started_it_leaves(mark: str) -> None:
    def fail(_: object) -> subprocess.Popen[bytes]:
        wait_until(lambda: guards(mark))  # before the group is there
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Guard().start(fail)
    assert guards(mark) == []


def test_another_one_takes_its_place(mark: str, start: Callable[[], subprocess.Popen]) -> None:
    guard, first, second = Guard(), start(), start()
    guard.start(lambda _: first)
    wait_until(lambda: guards(mark))
    os.kill(guards(mark)[0], signal.SIGKILL)
    wait_until(lambda: not guards(mark))
    guard.start(lambda _: second)
    wait_until(lambda: len(guards(mark)) == 1)
    for process in (first, second):
        guard.remove(process.pid)


OWNER = """
import os, subprocess, sys, time
from daedal.evaluation.guard import Guard

guard, groups = Guard(), []
for _ in range(3):
    how = dict(stdout=subprocess.PIPE, start_new_session=True)
    process = guard.start(lambda _: subprocess.Popen({stubborn!r}, **how))
    process.stdout.readline()
    groups.append(process.pid)
guard.remove(groups[1])
if os.fork() == 0:  # it lives on, and has a copy of all that its parent had open
    guard.remove(groups[0])  # which is not its own
    time.sleep(1000)
os.write(int(sys.argv[1]), (" ".join(map(str, groups)) + "\\n").encode())
time.sleep(1000)
"""


@pytest.mark.parametrize("closed", [(), (0, 1, 2)])
def test_what_is_guarded_ends_with_its_owner_and_nothing_else(closed: tuple[int, ...], mark: str) -> None:
    """Also where a fork of it lives on, what it has started ignores requests, and standard descriptors are closed."""
    reader, writer = os.pipe()
    command = [sys.executable, "-c", OWNER.format(stubborn=STUBBORN), str(writer)]
    owner = subprocess.Popen(
        command, pass_fds=[writer], start_new_session=True, preexec_fn=lambda: [os.close(one) for one in closed]
    )
    os.close(writer)
    with open(reader) as told:
        groups = [int(word) for word in told.readline().split()]
    assert not any(map(has_ended, groups))
    owner.kill()
    owner.wait()
    wait_until(lambda: has_ended(groups[0]) and has_ended(groups[2]))
    wait_until(lambda: not guards(mark))
    assert not has_ended(groups[1])
    for left in (groups[1], owner.pid):
        os.killpg(left, signal.SIGKILL)


SUDDEN = """
import os, signal, subprocess
from daedal.evaluation.guard import Guard

def start(environment):
    process = subprocess.Popen({stubborn!r}, env=environment, stdout=subprocess.PIPE, start_new_session=True)
    process.stdout.readline()
    os.kill(os.getpid(), signal.SIGKILL)

Guard().start(start)
"""


@pytest.mark.parametrize("command", [STUBBORN, ["sh", "-c", 'setsid "$@" & wait', "sh", *STUBBORN]])
def test_no_moment_lies_between_a_start_and_its_guard(command: list[str]) -> None:
    """Nothing is left after the test, though nobody knew the group when its owner was killed, nor another one in it."""
    done = subprocess.run([sys.executable, "-c", SUDDEN.format(stubborn=command)], check=False)
    assert done.returncode == -signal.SIGKILL
