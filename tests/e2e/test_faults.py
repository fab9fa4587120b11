"""Objectives that raise, hang, or end their process: the run ends as its policy says, and leaves nothing behind.

What each policy means, row by row, is tested with the evaluator; here are the ways through the front door.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
from daedal.evaluation.sqlite_cache import SQLiteCache
from evaluation_helpers import rows_of, wait_until
from run_helpers import without_clocks

import daedal
from daedal import ObjectiveError, Program, Result
from daedal.types import to_text

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # another process need not find this file

HOW: dict[str, Any] = {"n": 16, "algorithm": "umda", "popsize": 60, "seed": 3, "max_generations": 2}
MARK = "DAEDAL_TEST_MARK"


# Nothing is left behind


def marked(mark: str) -> list[str]:
    """Give the command lines of processes that carry a mark in their environment, wherever they come from."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append(f"{folder.name}: {command}")
        except OSError:  # it has ended, or is not ours
            continue
    return [command for command in found if "resource_tracker" not in command]  # Python's own, one for all


@pytest.fixture(autouse=True)
def no_orphans(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """After each test, no process that it has started, or that was started by one of those, is left."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    yield mark
    wait_until(lambda: marked(mark) == [])
    assert marked(mark) == []


def test_an_orphan_would_be_found(no_orphans: str) -> None:
    with subprocess.Popen(["sh", "-c", "sleep 60 & echo $!"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        orphan = int(process.stdout.readline())
    try:
        assert [command.split(":")[0] for command in marked(no_orphans)] == [str(orphan)]
    finally:
        os.kill(orphan, signal.SIGKILL)


# What should come out


def is_bad(row: Any) -> bool:
    """Whether a row is one of those, about one in twenty, that fail."""
    return "".join(str(int(bit)) for bit in row[:5]) in ("11100", "00110")


def ones(row: Any) -> float:
    return float(sum(int(bit) for bit in row))


def check(result: Result, says: str, **how: Any) -> None:
    """The result is that of a run in which bad rows have the worst value, to the bit; each failure says why."""
    bad: list[str] = []

    def worst(row: np.ndarray) -> float:
        if is_bad(row):
            bad.append(to_text(row))
        return -math.inf if is_bad(row) else ones(row)

    expected = daedal.maximize(worst, vectorized=False, **HOW | how)
    assert bad  # otherwise the test shows nothing
    assert (to_text(result.x), result.fitness, result.stop) == (to_text(expected.x), expected.fitness, expected.stop)
    for one, other in zip(result.history, expected.history, strict=True):
        assert without_clocks(one) == without_clocks(other)
    counts = (result.evaluations, result.repeated, result.failed)
    assert counts == (expected.evaluations, expected.repeated, len(bad))
    assert [failure.x for failure in result.failures] == bad
    assert all(says in failure.error for failure in result.failures)


# Rows that raise, end their process, or hang


@pytest.mark.parametrize("how", [{}, {"persistent": True}], ids=["for each batch", "kept"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_program_that_crashes_names_the_row_that_crashed_it(how: dict[str, Any], workers: int) -> None:
    program = "sh -c 'while read -r row; do case $row in 11*) exit 3;; esac; echo 1; done'"
    with Program(program, **how) as crashing, pytest.raises(ObjectiveError, match=r"exited with code 3") as caught:
        daedal.maximize(crashing, **HOW, workers=workers)
    assert re.search(r"the row 11[01]{14}\b", str(caught.value))
    with Program(program, **how) as crashing:
        result = daedal.maximize(crashing, **HOW, workers=workers, on_error="worst")
    assert result.failures
    assert all(one.x.startswith("11") and f"the row {one.x}" in one.error for one in result.failures)


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


RAISES, DIES, HANGS = "RuntimeError: the simulator is down", "exit code 3", "timeout=2 s"


@pytest.mark.parametrize(
    ("objective", "vectorized", "how", "says"),
    [
        (raising, True, {}, RAISES),
        (raising, False, {"on_error": "retry:1,worst"}, RAISES),
        (raising, True, {"workers": 2}, RAISES),
        (raising, False, {"executor": ThreadPoolExecutor}, RAISES),
        (deadly, True, {"workers": 2}, DIES),
        (deadly, False, {"workers": 2, "on_error": "retry:1,worst"}, DIES),
        (hanging, False, {"timeout": 2.0, "popsize": 20, "max_generations": 0}, HANGS),
        (hanging, True, {"timeout": 2.0, "popsize": 20, "max_generations": 0, "workers": 2}, HANGS),
    ],
)
def test_rows_that_fail_count_as_worst(
    objective: Callable[[Any], float], vectorized: bool, how: dict[str, Any], says: str
) -> None:
    with ExitStack() as stack:
        if "executor" in how:
            how = how | {"executor": stack.enter_context(how["executor"](2))}
        function = (lambda x: [objective(row) for row in x]) if vectorized else objective
        result = daedal.maximize(function, vectorized=vectorized, **{"on_error": "worst", **HOW, **how})
    check(result, says, **{name: how[name] for name in ("popsize", "max_generations") if name in how})


@pytest.mark.parametrize(
    ("objective", "how", "says"),
    [
        (raising, {}, RAISES),
        (raising, {"workers": 2, "on_error": "retry:1"}, RAISES),
        (deadly, {"workers": 2}, DIES),
        (hanging, {"timeout": 2.0}, HANGS),
    ],
)
def test_a_row_that_fails_ends_the_run_and_what_was_evaluated_before_is_kept(
    objective: Callable[[Any], float], how: dict[str, Any], says: str, tmp_path: Path
) -> None:
    path = tmp_path / "scores.db"
    with pytest.raises(ObjectiveError, match=says) as caught:
        daedal.maximize(objective, vectorized=False, cache=path, name="it", **HOW, **how)
    row = rows_of(str(caught.value).partition("the row ")[2][:16])
    assert is_bad(row[0])
    assert (type(caught.value.__cause__) is RuntimeError) == (how == {})
    with SQLiteCache(path, n=16, objective="it") as cache:
        assert not cache.find(row)[1].any()
    # The rows that were kept are not evaluated again, now that the simulator is up.
    again = daedal.maximize(ones, vectorized=False, cache=path, name="it", **HOW)
    plain = daedal.maximize(ones, vectorized=False, **HOW)
    assert np.array_equal(again.x, plain.x)
    assert again.evaluations < plain.evaluations


def test_with_a_worker_that_is_killed_nothing_is_lost(tmp_path: Path) -> None:
    def signing(row: np.ndarray) -> float:
        (tmp_path / str(os.getpid())).touch()
        time.sleep(0.005)
        return ones(row)

    def kill_one() -> None:
        assert wait_until(lambda: len(list(tmp_path.iterdir())) == 2)
        os.kill(int(next(tmp_path.iterdir()).name), signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    disturbed = daedal.maximize(signing, vectorized=False, workers=2, **HOW | {"popsize": 400})
    killer.join()
    undisturbed = daedal.maximize(ones, vectorized=False, **HOW | {"popsize": 400})
    assert disturbed.x.tolist() == undisturbed.x.tolist()
    assert (disturbed.evaluations, disturbed.failed) == (undisturbed.evaluations, 0)


# Programs

BAD = "^11100|^00110"  # as awk and Python read it
EXITS = f'awk \'{{ if ($0 ~ /{BAD}/) {{ print "no mesh" > "/dev/stderr"; exit 3 }} print gsub(/1/, "1") }}\''


def program(answer: str, **how: Any) -> Program:
    """Make one that answers a row that is bad, and any other."""
    code = "import re, sys, time\nfor row in sys.stdin:\n    print({} or row.count('1'), flush=True)"
    return Program(f'{sys.executable} -c "{code.format(answer)}"', **how)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_program_that_is_kept_running_is_started_again_and_ends_with_the_run(workers: int) -> None:
    kept = program(f"re.match('{BAD}', row) and 'n/a'", persistent=True)
    check(daedal.maximize(kept, on_error="worst", workers=workers, **HOW), "'n/a'")


def test_a_program_that_hangs_ends_with_its_worker() -> None:
    how = {"max_generations": 0, "popsize": 20}
    hangs = program(f"re.match('{BAD}', row) and time.sleep(1000)")
    check(daedal.maximize(hangs, on_error="worst", timeout=5.0, workers=2, **HOW | how), "timeout=5 s", **how)


LINE = ("-a", "umda", "--popsize", 60, "--seed", 3, "--max-generations", 2, "--n", 16)


def test_a_program_that_fails_ends_a_command_in_one_line_and_two_workers_in_good_order(cli: Any, here: Any) -> None:
    done = cli("solve", f"cmd:{EXITS}", "--json", *LINE)
    assert (done.returncode, done.stdout) == (2, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error: ")
    assert "code 3" in last
    assert "no mesh" in last
    assert "Traceback" not in done.stderr
    done = cli("solve", f"cmd:{EXITS}", "--on-error", "worst", "--workers", 2, "--json", *LINE)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["evaluations"] >= report["failed"]
    assert report["failed"] == len(report["failures"]) > 0
    assert all(is_bad(failure["x"]) and "code 3" in failure["error"] for failure in report["failures"])
    done = here("solve", f"cmd:{EXITS}", "--on-error", "worst", *LINE)  # to eyes
    assert f"{report['failed']} rows" in done.stderr
