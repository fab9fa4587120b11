"""Objectives that raise, hang, or end their process: the run ends as its policy says, and leaves no process behind.

What each policy means for a candidate is tested in unit/evaluation.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
from cli_helpers import Cli, Refused, read_report
from process_helpers import MARK, marked, wait_until
from run_helpers import without_clocks

import daedal
from daedal import ObjectiveError, Program, Result
from daedal.run.run_file import read_run
from daedal.types import to_text

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # another process need not find this file

HOW: dict[str, Any] = {"n": 16, "algorithm": "umda", "popsize": 60, "seed": 3, "max_generations": 2}
FEW: dict[str, Any] = {"popsize": 20, "max_generations": 0}
BAD = "^11100|^00110"  # about one candidate in twenty
EXITS = f'awk \'{{ if ($0 ~ /{BAD}/) {{ print "no mesh" > "/dev/stderr"; exit 3 }} print gsub(/1/, "1") }}\''


@pytest.fixture(autouse=True)
def no_orphans(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """After each test, no process is left that it started, or that one of those started."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    yield
    wait_until(lambda: not marked(mark), "a process is left")


def is_bad(row: Any) -> bool:
    return "".join(str(int(bit)) for bit in row[:5]) in ("11100", "00110")


def ones(row: Any) -> float:
    return float(sum(int(bit) for bit in row))


def raising(row: np.ndarray) -> float:
    if is_bad(row):
        raise RuntimeError("the simulator\nis down")
    return ones(row)


def deadly(row: np.ndarray) -> float:
    if is_bad(row):
        os._exit(3)
    return ones(row)


def hanging(row: np.ndarray) -> float:
    if is_bad(row):
        time.sleep(10**6)
    return ones(row)


def program(answer: str, **how: Any) -> Program:
    """Return one with an answer to a bad row, which is a Python expression."""
    code = "import re, sys, time\nfor row in sys.stdin:\n    print({} or row.count('1'), flush=True)"
    return Program(f'{sys.executable} -c "{code.format(f"re.match({BAD!r}, row) and {answer}")}"', **how)


def check(result: Result, says: str, **how: Any) -> None:
    """The result is exactly that of a run in which bad rows have the worst value; each failure has its reason."""
    bad: list[str] = []

    def worst(row: np.ndarray) -> float:
        if is_bad(row):
            bad.append(to_text(row))
        return -math.inf if is_bad(row) else ones(row)

    expected = daedal.maximize(worst, vectorized=False, **HOW | how)
    assert bad  # otherwise the test shows nothing
    assert (to_text(result.x), result.fitness, result.stop) == (to_text(expected.x), expected.fitness, expected.stop)
    assert [*map(without_clocks, result.history)] == [*map(without_clocks, expected.history)]
    counts = (result.evaluations, result.repeated, result.failed)
    assert counts == (expected.evaluations, expected.repeated, len(bad))
    assert [failure.x for failure in result.failures] == bad
    assert all(says in failure.error for failure in result.failures)


RAISES, DIES, HANGS = "RuntimeError: the simulator is down", "exit code 3", "timeout=2 s"


@pytest.mark.parametrize(
    ("objective", "how", "says"),
    [
        (lambda x: [raising(row) for row in x], {"vectorized": True}, RAISES),
        (raising, {"on_error": "retry:1,worst"}, RAISES),
        (raising, {"workers": 2}, RAISES),
        (deadly, {"workers": 2}, DIES),
        (hanging, {"timeout": 2.0, "workers": 2, **FEW}, HANGS),
        (program("'n/a'", persistent=True), {"vectorized": True, "workers": 2}, "'n/a'"),
        (program("time.sleep(1000)"), {"vectorized": True, "workers": 2, "timeout": 4.0, **FEW}, "timeout=4 s"),
    ],
    ids=["batch", "retried", "workers", "deadly", "hanging", "program", "hanging program"],
)
def test_candidates_that_fail_count_as_worst(objective: Callable[[Any], Any], how: dict[str, Any], says: str) -> None:
    result = daedal.maximize(objective, **{"on_error": "worst", "vectorized": False, **HOW, **how})
    check(result, says, **{name: how[name] for name in FEW if name in how})


@pytest.mark.parametrize(
    ("objective", "how", "says"),
    [
        (raising, {}, RAISES),
        (raising, {"workers": 2, "on_error": "retry:1"}, RAISES),
        (deadly, {"workers": 2}, DIES),
        (hanging, {"timeout": 2.0}, HANGS),
    ],
)
def test_a_candidate_that_fails_ends_the_run_which_continues_when_the_fault_is_repaired(
    objective: Callable[[Any], float], how: dict[str, Any], says: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.db"
    with pytest.raises(ObjectiveError, match=says) as caught:
        daedal.maximize(objective, vectorized=False, run=path, **HOW, **how)
    assert is_bad(str(caught.value).partition("the candidate ")[2][:16])
    assert (type(caught.value.__cause__) is RuntimeError) == (how == {})
    with closing(read_run(path)) as file:
        kept = len(list(file.evaluations()))

    def counted(row: np.ndarray) -> float:
        with (tmp_path / "calls").open("a") as calls:  # by any process
            calls.write(f"{to_text(row)}\n")
        return ones(row)

    again = daedal.resume(path, counted)
    plain = daedal.maximize(ones, vectorized=False, **HOW)
    assert (again.x.tolist(), again.evaluations) == (plain.x.tolist(), plain.evaluations)
    assert 0 < kept == plain.evaluations - (tmp_path / "calls").read_text().count("\n")


def test_nothing_is_lost_with_a_worker_that_is_killed(tmp_path: Path) -> None:
    def signing(row: np.ndarray) -> float:
        (tmp_path / str(os.getpid())).touch()
        time.sleep(0.005)
        return ones(row)

    def kill_one() -> None:
        wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
        os.kill(int(next(tmp_path.iterdir()).name), signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    disturbed = daedal.maximize(signing, vectorized=False, workers=2, **HOW | {"popsize": 400})
    killer.join()
    undisturbed = daedal.maximize(ones, vectorized=False, **HOW | {"popsize": 400})
    assert disturbed.x.tolist() == undisturbed.x.tolist()
    assert (disturbed.evaluations, disturbed.failed) == (undisturbed.evaluations, 0)


def test_a_program_that_fails_on_the_command_line(here: Cli, refused: Refused) -> None:
    words = ("solve", f"cmd:{EXITS}", "-a", "umda", "--popsize", 60, "--seed", 3, "--max-generations", 2, "--n", 16)
    done = here(*words, "--json")
    refused(done, "code 3")
    assert "no mesh" in done.stderr
    report = read_report(here(*words, "--on-error", "worst", "--workers", 2, "--json"))
    assert report["evaluations"] >= report["failed"] == len(report["failures"]) > 0
    assert all(is_bad(failure["x"]) and "code 3" in failure["error"] for failure in report["failures"])
    assert f"{report['failed']} evaluations, the first: " in here(*words, "--on-error", "worst").stderr
