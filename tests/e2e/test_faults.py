"""Objectives that raise, hang, or end their process: the run ends as its policy says, and leaves nothing behind."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

import daedal
from daedal import Generation, ObjectiveError, Program, Result
from daedal.cli import main
from daedal.evaluation.sqlite_cache import SQLiteCache
from daedal.types import to_text

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # another process need not find this file

N = 16
HOW: dict[str, Any] = {"n": N, "algorithm": "umda", "popsize": 60, "seed": 3, "max_generations": 2}
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
    deadline = time.monotonic() + 10
    while (left := marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left == []


def test_an_orphan_would_be_found(no_orphans: str) -> None:
    with subprocess.Popen(["sh", "-c", "sleep 60 & echo $!"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        orphan = int(process.stdout.readline())
    try:
        assert [command.split(":")[0] for command in marked(no_orphans)] == [str(orphan)]
    finally:
        os.kill(orphan, signal.SIGKILL)


# What should come out, in plain Python


def number(row: Any) -> int:
    return int("".join(str(int(bit)) for bit in row), 2)


def one_in(share: int) -> Callable[[Any], bool]:
    """Give whether a row is one of those, about one in so many, that fail: by its bits, so that it is always the same.

    The numbers of these rows are mixed, because those of good rows are anything but random.
    """
    return lambda row: (number(row) * 2654435761 >> 7) % share == 1


@dataclass
class Expected:
    """What a run comes to whose rows fail for good, or never: asked, and answered from a dict."""

    fails: Callable[[Any], bool]
    score: Callable[[Any], float] = lambda row: float(sum(row))
    how: dict[str, Any] = field(default_factory=lambda: HOW)
    carried_out: int = 0
    cached: int = 0
    failures: list[str] = field(default_factory=list)
    history: list[Generation] = field(default_factory=list)

    def __post_init__(self) -> None:
        limits = daedal.Limits(max_generations=self.how["max_generations"])
        optimizer = daedal.EDA(
            n=self.how["n"],
            model=daedal.models.UMDA(),
            popsize=self.how["popsize"],
            seed=self.how["seed"],
            limits=limits,
        )
        known: dict[str, float] = {}
        while optimizer.stop is None:
            rows = optimizer.ask()
            for row in rows.tolist():
                text = to_text(np.array(row))
                if text in known:
                    self.cached += 1
                elif self.fails(row):
                    self.failures.append(text)
                    known[text] = -math.inf
                else:
                    self.carried_out += 1
                    known[text] = self.score(row)
            optimizer.tell(np.array([known[to_text(row)] for row in rows]))
            assert optimizer.last is not None
            self.history.append(optimizer.last)
        assert optimizer.best is not None
        self.best = optimizer.best
        self.stop = optimizer.stop
        assert self.failures  # otherwise the test shows nothing
        assert self.carried_out

    def check(self, result: Result, says: str) -> None:
        """The result is this, to the bit; each failure says, of its row, what is said here."""
        assert to_text(result.x) == to_text(self.best.x)
        assert result.fitness == self.best.fitness
        assert result.stop is self.stop
        assert timeless(result.history) == self.history
        assert (result.carried_out, result.cached, result.failed) == (
            self.carried_out,
            self.cached,
            len(self.failures),
        )
        assert result.evaluations == result.carried_out + result.cached + result.failed == self.history[-1].evaluations
        assert [failure.x for failure in result.failures] == self.failures[:100]
        for failure in result.failures:
            assert says in failure.error
            assert f"the row {failure.x}" in failure.error


def timeless(history: tuple[Generation, ...]) -> list[Generation]:
    return [dataclasses.replace(record, cpu_seconds=0.0) for record in history]


def same(one: Result, other: Result) -> None:
    """All is equal to the bit, but what is measured with a clock."""
    assert np.array_equal(one.x, other.x)
    assert timeless(one.history) == timeless(other.history)
    for item in dataclasses.fields(Result):
        if item.name not in ("x", "history", "seconds", "cpu_seconds", "cpu_seconds_to_best"):
            assert getattr(one, item.name) == getattr(other, item.name), item.name


def ones(row: Any) -> float:
    return float(sum(int(bit) for bit in row))


# One row of twenty raises

RAISES = one_in(20)


def raising(row: np.ndarray) -> float:
    if RAISES(row):
        raise RuntimeError("the simulator\nis down")
    return ones(row)


def raising_batch(x: np.ndarray) -> list[float]:
    return [raising(row) for row in x]


@pytest.mark.parametrize("policy", ["worst", "retry:1,worst"])
@pytest.mark.parametrize("vectorized", [True, False])
def test_rows_that_raise_count_as_worst(policy: str, vectorized: bool) -> None:
    objective = raising_batch if vectorized else raising
    result = daedal.maximize(objective, vectorized=vectorized, on_error=policy, **HOW)
    Expected(RAISES).check(result, "the objective raised RuntimeError: the simulator is down for the row ")
    assert 1 / 40 < result.failed / (result.carried_out + result.failed) < 1 / 10


@pytest.mark.parametrize(("policy", "vectorized"), [("worst", True), ("retry:1,worst", False)])
def test_rows_that_raise_count_as_worst_with_any_number_of_workers(policy: str, vectorized: bool) -> None:
    objective = raising_batch if vectorized else raising
    alone = daedal.maximize(objective, vectorized=vectorized, on_error=policy, **HOW)
    spread = daedal.maximize(objective, vectorized=vectorized, on_error=policy, workers=2, **HOW)
    same(alone, spread)
    Expected(RAISES).check(spread, "the objective raised RuntimeError: the simulator is down for the row ")


def test_the_smallest_may_fail_too() -> None:
    alone, spread = (
        daedal.minimize(raising, vectorized=False, on_error="worst", workers=workers, **HOW) for workers in (1, 2)
    )
    same(alone, spread)
    assert alone.failed > 0
    assert alone.fitness == ones(alone.x)
    assert not any(RAISES(row) for row in [alone.x])


def kept(path: Path, texts: list[str]) -> list[bool]:
    """Give which rows are in a cache; their values are right."""
    rows = np.array([[int(bit) for bit in text] for text in texts], dtype=np.uint8)
    with SQLiteCache(path, n=N, objective="it") as cache:
        values, known = cache.find(rows)
    assert all(value == ones(row) for value, row, is_known in zip(values, rows, known, strict=True) if is_known)
    return known.tolist()


@pytest.mark.parametrize("policy", ["raise", "retry:1"])
@pytest.mark.parametrize("vectorized", [True, False])
def test_an_error_names_its_row_and_what_was_evaluated_before_is_kept(
    policy: str, vectorized: bool, tmp_path: Path
) -> None:
    path = tmp_path / "scores.db"
    objective = raising_batch if vectorized else raising
    first = [to_text(row) for row in daedal.EDA(n=N, model=daedal.models.UMDA(), popsize=60, seed=3).ask()]
    bad = next(row for row in first if RAISES(row))
    with pytest.raises(
        ObjectiveError, match=f"^the objective raised RuntimeError: the simulator is down for the row {bad}"
    ) as caught:
        daedal.maximize(objective, vectorized=vectorized, on_error=policy, cache=path, name="it", **HOW)
    assert isinstance(caught.value.__cause__, RuntimeError)
    known = kept(path, first)
    place = first.index(bad)
    assert known[:place] == [True] * place
    assert not known[place]
    # The rows that were kept are not evaluated again, now that the simulator is up.
    result = daedal.maximize(ones, vectorized=False, cache=path, name="it", **HOW)
    plain = daedal.maximize(ones, vectorized=False, **HOW)
    assert np.array_equal(result.x, plain.x)
    assert result.carried_out == plain.carried_out - sum(known)


def test_an_error_in_a_worker_names_its_row_too(tmp_path: Path) -> None:
    path = tmp_path / "scores.db"
    says = "^the objective raised RuntimeError: the simulator is down for the row "
    with pytest.raises(ObjectiveError, match=says) as caught:
        daedal.maximize(raising, vectorized=False, workers=2, cache=path, name="it", **HOW)
    row = str(caught.value).partition("for the row ")[2][:N]
    assert RAISES(row)
    first = [to_text(row) for row in daedal.EDA(n=N, model=daedal.models.UMDA(), popsize=60, seed=3).ask()]
    known = kept(path, first)
    assert row in first
    assert not known[first.index(row)]
    assert any(known)


# It works at the second or third try


@dataclass(frozen=True)
class Flaky:
    """Fails for some rows as often as it was told to, in whichever process: the count is in files."""

    folder: Path
    times: int

    def __call__(self, row: np.ndarray) -> float:
        calls = self.folder / to_text(row)
        with calls.open("a") as file:
            file.write("x")
        if RAISES(row) and calls.stat().st_size <= self.times:
            raise ConnectionError("try again")
        return ones(row)

    def calls(self) -> dict[str, int]:
        return {file.name: file.stat().st_size for file in self.folder.iterdir()}


@pytest.mark.parametrize(("times", "workers"), [(1, 1), (2, 1), (2, 2)])
def test_a_retry_helps_where_it_can(times: int, workers: int, tmp_path: Path) -> None:
    flaky = Flaky(tmp_path, times)
    result = daedal.maximize(flaky, vectorized=False, on_error="retry:2", workers=workers, **HOW)
    same(daedal.maximize(ones, vectorized=False, **HOW), result)
    assert flaky.calls() == {row: 1 + times * RAISES(row) for row in flaky.calls()}
    assert len(flaky.calls()) == result.carried_out


def test_a_retry_more_would_have_helped(tmp_path: Path) -> None:
    flaky = Flaky(tmp_path, 3)
    with pytest.raises(ObjectiveError, match="raised ConnectionError: try again for the row "):
        daedal.maximize(flaky, vectorized=False, on_error="retry:2", **HOW)
    assert max(flaky.calls().values()) == 3


def test_retries_may_end_in_the_worst(tmp_path: Path) -> None:
    flaky = Flaky(tmp_path, 3)
    result = daedal.maximize(flaky, vectorized=False, on_error="retry:2,worst", **HOW)
    Expected(RAISES).check(result, "the objective raised ConnectionError: try again for the row ")
    assert flaky.calls() == {row: 3 if RAISES(row) else 1 for row in flaky.calls()}


# Nothing works


def hopeless(row: np.ndarray) -> float:
    raise RuntimeError("no licence")


@pytest.mark.parametrize(("policy", "workers"), [("worst", 1), ("worst", 2), ("retry:1,worst", 1)])
def test_where_all_rows_fail_the_run_does(policy: str, workers: int) -> None:
    says = "^every one of the first 60 rows failed, the first so: the objective raised RuntimeError: no licence for "
    with pytest.raises(ObjectiveError, match=says):
        daedal.maximize(hopeless, vectorized=False, on_error=policy, workers=workers, **HOW)


# What is no number


def strange(value: float) -> Callable[[np.ndarray], list[float]]:
    return lambda x: [value if RAISES(row) else ones(row) for row in x]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_nan_and_the_good_infinity_are_failures_of_maximize(value: float) -> None:
    says = f"expected finite numbers from the objective, got {value} for the row "
    with pytest.raises(ObjectiveError, match=says):
        daedal.maximize(strange(value), **HOW)
    Expected(RAISES).check(daedal.maximize(strange(value), on_error="worst", **HOW), says)


@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_nan_and_the_good_infinity_are_failures_of_minimize(value: float) -> None:
    says = f"expected finite numbers from the objective, got {value} for the row "
    with pytest.raises(ObjectiveError, match=says):
        daedal.minimize(strange(value), **HOW)
    result = daedal.minimize(strange(value), on_error="worst", **HOW)
    mirrored = daedal.maximize(
        lambda x: [math.nan if RAISES(row) else -ones(row) for row in x], on_error="worst", **HOW
    )
    assert np.array_equal(result.x, mirrored.x)
    assert (result.failed, [failure.x for failure in result.failures]) == (
        mirrored.failed,
        [failure.x for failure in mirrored.failures],
    )


def test_the_bad_infinity_is_a_value() -> None:
    for optimise, value in ((daedal.maximize, -math.inf), (daedal.minimize, math.inf)):
        result = optimise(strange(value), **HOW)
        assert (result.failed, result.failures) == (0, ())
        assert math.isfinite(result.fitness)
        assert any(RAISES(row) for row in daedal.EDA(n=N, model=daedal.models.UMDA(), popsize=60, seed=3).ask())


# One row of a hundred ends its process

DEADLY = one_in(100)


def deadly(row: np.ndarray) -> float:
    if DEADLY(row):
        os._exit(3)
    return ones(row)


def deadly_batch(x: np.ndarray) -> list[float]:
    return [deadly(row) for row in x]


@pytest.mark.parametrize(("policy", "vectorized"), [("worst", True), ("retry:1,worst", False)])
def test_rows_that_end_their_process_count_as_worst(policy: str, vectorized: bool) -> None:
    objective = deadly_batch if vectorized else deadly
    result = daedal.maximize(objective, vectorized=vectorized, on_error=policy, workers=2, **HOW)
    Expected(DEADLY).check(result, "the worker process ended (exit code 3) with the row ")


@pytest.mark.parametrize("policy", ["raise", "retry:1"])
def test_a_row_that_ends_its_process_ends_the_run(policy: str) -> None:
    with pytest.raises(ObjectiveError, match=r"^the worker process ended \(exit code 3\) with the row ") as caught:
        daedal.maximize(deadly, vectorized=False, on_error=policy, workers=2, **HOW)
    assert DEADLY(str(caught.value).partition("with the row ")[2][:N])


# One row of fifty hangs

HANGS = one_in(50)


def hanging(row: np.ndarray) -> float:
    if HANGS(row):
        time.sleep(10**6)
    return ones(row)


@pytest.mark.parametrize("workers", [1, 2])
def test_rows_that_hang_count_as_worst(workers: int) -> None:
    how = HOW | {"max_generations": 1}
    result = daedal.maximize(hanging, vectorized=False, on_error="worst", timeout=0.3, workers=workers, **how)
    Expected(HANGS, how=how).check(result, "the objective took longer than timeout=0.3 s for the row ")


@pytest.mark.parametrize("policy", ["raise", "retry:1"])
def test_a_row_that_hangs_ends_the_run(policy: str) -> None:
    with pytest.raises(ObjectiveError, match=r"^the objective took longer than timeout=0.3 s for the row ") as caught:
        daedal.maximize(hanging, vectorized=False, on_error=policy, timeout=0.3, workers=2, **HOW)
    assert HANGS(str(caught.value).partition("for the row ")[2][:N])


# Somebody kills a worker


@dataclass(frozen=True)
class Signing:
    """Takes its time, and leaves a file with the number of its process."""

    folder: Path

    def __call__(self, row: np.ndarray) -> float:
        (self.folder / str(os.getpid())).touch()
        time.sleep(0.005)
        return ones(row)

    def pids(self) -> list[int]:
        return [int(file.name) for file in self.folder.iterdir()]


def kill_one_when_it_works(signing: Signing, killed: list[int]) -> None:
    deadline = time.monotonic() + 60
    while len(signing.pids()) < 2 and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.02)  # into a chunk
    killed.append(signing.pids()[0])
    os.kill(killed[0], signal.SIGKILL)


def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost(tmp_path: Path) -> None:
    signing = Signing(tmp_path)
    killed: list[int] = []
    killer = threading.Thread(target=kill_one_when_it_works, args=(signing, killed))
    killer.start()
    how = HOW | {"popsize": 400}
    disturbed = daedal.maximize(signing, vectorized=False, workers=2, on_error="raise", **how)
    killer.join()
    assert len(killed) == 1
    assert len(signing.pids()) == 3  # two, and the one in its place
    assert os.getpid() not in signing.pids()
    undisturbed = daedal.maximize(ones, vectorized=False, **how)
    same(undisturbed, disturbed)


# Programs

BAD = "^0110|^1011"  # as awk reads it
PROGRAMS = {
    "exits": ('{ if ($0 ~ /BAD/) { print "no mesh for", $0 > "/dev/stderr"; exit 3 } print gsub(/1/, "1") }', "code 3"),
    "prints garbage": ('{ if ($0 ~ /BAD/) print "n/a"; else print gsub(/1/, "1") }', "is 'n/a'"),
    "prints too few lines": ('$0 !~ /BAD/ { print gsub(/1/, "1") }', "got nothing"),
    "prints too many lines": ('{ if ($0 ~ /BAD/) print 1; print gsub(/1/, "1") }', "got 2"),
    "prints nan": ('{ if ($0 ~ /BAD/) print "nan"; else print gsub(/1/, "1") }', "got nan for the row"),
}


def is_bad(row: Any) -> bool:
    text = "".join(str(int(bit)) for bit in row)
    return text.startswith(("0110", "1011"))


def command(kind: str) -> str:
    return f"awk '{PROGRAMS[kind][0].replace('BAD', BAD)}'"


class ExpectedOfPrograms(Expected):
    """Errors of programs are in their own words, which need not name the row."""

    def check(self, result: Result, says: str) -> None:
        named = tuple(
            dataclasses.replace(failure, error=f"{failure.error} the row {failure.x}") for failure in result.failures
        )
        super().check(dataclasses.replace(result, failures=named), says)


@pytest.mark.parametrize("policy", ["raise", "retry:1"])
@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_program_that_fails_for_some_rows_ends_the_run(kind: str, policy: str) -> None:
    with pytest.raises(ObjectiveError, match=PROGRAMS[kind][1]) as caught:
        daedal.maximize(Program(command(kind)), on_error=policy, **HOW)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("policy", ["worst", "retry:1,worst"])
@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_program_may_fail_for_some_rows(kind: str, policy: str) -> None:
    result = daedal.maximize(Program(command(kind)), on_error=policy, **HOW)
    ExpectedOfPrograms(is_bad).check(result, PROGRAMS[kind][1])


def test_the_last_words_of_a_program_are_quoted() -> None:
    result = daedal.maximize(Program(command("exits")), on_error="worst", **HOW)
    for failure in result.failures:
        assert failure.error.endswith(f"its standard error ends with 'no mesh for {failure.x}'")


@pytest.mark.parametrize("kind", ["exits", "prints garbage"])
def test_a_program_that_is_kept_running_is_started_again(kind: str) -> None:
    said = subprocess.run(
        ["awk", "-W", "version"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    interactive = "awk -W interactive" if said.stdout.startswith("mawk") else "awk"
    text = command(kind).replace("awk", interactive, 1).replace('gsub(/1/, "1")', 'gsub(/1/, "1"); fflush()')
    with Program(text, persistent=True) as program:
        result = daedal.maximize(program, on_error="worst", **HOW)
    ExpectedOfPrograms(is_bad).check(result, PROGRAMS[kind][1])


def test_a_program_on_two_workers_is_the_program_on_one() -> None:
    alone, spread = (
        daedal.maximize(Program(command("exits")), on_error="worst", workers=workers, **HOW) for workers in (1, 2)
    )
    same(alone, spread)
    ExpectedOfPrograms(is_bad).check(spread, "code 3")


def test_what_a_program_says_on_standard_error_is_no_failure() -> None:
    talking = Program('awk \'{ print "hello" > "/dev/stderr"; print gsub(/1/, "1") }\'')
    same(daedal.maximize(talking, **HOW), daedal.maximize(ones, vectorized=False, **HOW))


def test_a_program_that_never_works() -> None:
    for policy in ("raise", "worst"):
        with pytest.raises(
            ObjectiveError, match="expected exit code 0 from the program 'false', but it exited with code 1"
        ):
            daedal.maximize(Program("false"), on_error=policy, **HOW)


def test_a_program_that_hangs_ends_with_its_worker() -> None:
    """The program, and what it has started, are found by their mark: see `no_orphans`."""
    how = HOW | {"max_generations": 0, "popsize": 20}
    text = "while read -r row; do case $row in 0110*|1011*) sleep 1000;; esac; echo ${#row}; done"
    result = daedal.maximize(Program(f"sh -c '{text}'"), on_error="worst", timeout=1.0, workers=2, **how)
    expected = Expected(is_bad, score=lambda row: float(len(row)), how=how)
    expected.check(result, "the objective took longer than timeout=1 s for the row ")


# Programs, on the command line

LINE = ("-a", "umda", "--popsize", 60, "--seed", 3, "--max-generations", 2, "--n", N)


def solve(*words: object) -> subprocess.CompletedProcess[str]:
    """Run `daedal solve` as a process of its own; one that hangs is an error."""
    command = [sys.executable, "-m", "daedal", "solve", *map(str, (*words, *LINE))]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run `daedal solve` in this process, which is faster."""

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["daedal", "solve", *map(str, (*words, *LINE))])
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        printed = capsys.readouterr()
        return subprocess.CompletedProcess(sys.argv, ended.value.code, printed.out, printed.err)

    return run


def check_report(done: subprocess.CompletedProcess[str], says: str) -> None:
    assert done.returncode == 0, done.stderr
    report, expected = json.loads(done.stdout), Expected(is_bad)
    assert (report["x"], report["fitness"]) == (to_text(expected.best.x), expected.best.fitness)
    assert (report["carried_out"], report["cached"]) == (expected.carried_out, expected.cached)
    assert report["failed"] == len(expected.failures)
    assert [failure["x"] for failure in report["failures"]] == expected.failures
    assert all(says in failure["error"] for failure in report["failures"])


@pytest.mark.parametrize("policy", ["raise", "retry:1"])
@pytest.mark.parametrize("kind", ["exits", "prints garbage", "prints too few lines"])
def test_a_program_that_fails_is_one_line(kind: str, policy: str, here: Any) -> None:
    done = here(f"cmd:{command(kind)}", "--on-error", policy, "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: expected ")
    assert done.stderr.count("\n") == 1
    assert PROGRAMS[kind][1] in done.stderr


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("exits", ("--on-error", "worst")),
        ("prints garbage", ("--on-error", "retry:1,worst")),
        ("prints too few lines", ("--on-error", "worst", "--timeout", 30)),
    ],
)
def test_a_program_that_fails_may_go_on(kind: str, words: tuple[Any, ...], here: Any) -> None:
    check_report(here(f"cmd:{command(kind)}", *words, "--json"), PROGRAMS[kind][1])


def test_a_program_on_two_workers_is_a_process_that_ends() -> None:
    done = solve(f"cmd:{command('exits')}", "--on-error", "worst", "--workers", 2, "--json")
    check_report(done, PROGRAMS["exits"][1])
    done = solve(f"cmd:{command('exits')}", "--json")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_failures_are_told_to_eyes(here: Any) -> None:
    done = here(f"cmd:{command('exits')}", "--on-error", "worst")
    count = len(Expected(is_bad).failures)
    assert f"failed  {count} rows, the first: expected exit code 0 from the program" in done.stderr
