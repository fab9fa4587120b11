"""`daedal compare`: several algorithms on one problem, over processes."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import daedal
from daedal.cli import main

FIELDS = [
    "algorithm",
    "settings",
    "popsize",
    "runs",
    "solved",
    "best",
    "evaluations",
    "evaluations_sd",
    "cpu_seconds",
    "cpu_seconds_per_evaluation",
    "results",
]
ROW = [
    "seed",
    "fitness",
    "success",
    "stop",
    "evaluations",
    "evaluations_to_best",
    "generations",
    "cpu_seconds",
]
CLOCK = {"cpu_seconds", "cpu_seconds_per_evaluation"}

OBJECTIVES = """
import os
import pathlib
import time

here = pathlib.Path(__file__).parent
calls = 0


def sign_in():
    (here / f"pid-{os.getpid()}").touch()


def ones(x):
    sign_in()
    return x.sum(axis=1)


def large(x):
    return 1234567.5 * x.sum(axis=1)


def raises(x):
    \"\"\"The first process to come here waits for a long time; the second one raises meanwhile.\"\"\"
    sign_in()
    if len(list(here.glob("pid-*"))) == 1:
        time.sleep(100)
    raise RuntimeError("the simulator\\nis down")


def dies(x):
    os._exit(7)


def stands(x):
    \"\"\"In every process the call of this number takes very long; that of its run's first generation is odd.\"\"\"
    global calls
    calls += 1
    if calls == int(os.environ["STAND_AT"]):
        sign_in()
        time.sleep(100)
    return x.sum(axis=1)
"""


def environment() -> dict[str, str]:
    """Give this environment without what makes Rich colour or narrow its output."""
    drop = {"FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "TERM"}
    return {name: value for name, value in os.environ.items() if name not in drop}


def daedal_cli(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "daedal", "compare", *map(str, words)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=90, check=False)
    done.stderr = without_compilation(done.stderr)
    return done


def without_compilation(stderr: str) -> str:
    """Leave out what is said only where the kernels were never used before."""
    return "".join(line for line in stderr.splitlines(keepends=True) if not line.startswith("compiling kernels"))


def compared(*words: object) -> dict[str, Any]:
    """Run `daedal compare ... --json` to its end and read what it wrote."""
    done = daedal_cli(*words, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return read_one_object(done.stdout)


def read_one_object(stdout: str) -> dict[str, Any]:
    """Read standard output, which holds one JSON object in one line and nothing else."""
    assert stdout.count("\n") == 1
    assert stdout.endswith("}\n")

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    report: dict[str, Any] = json.loads(stdout, parse_constant=refuse)
    return report


def timeless(report: Any) -> Any:
    """Leave out what the clock says."""
    if isinstance(report, dict):
        return {name: timeless(value) for name, value in report.items() if name not in CLOCK}
    return [timeless(value) for value in report] if isinstance(report, list) else report


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent's attention does not."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return bool(shown.strip()) and not shown.startswith("Z")


def signed_in(folder: Path) -> list[int]:
    return [int(file.name.removeprefix("pid-")) for file in folder.glob("pid-*")]


def check_no_orphans(folder: Path, workers: int) -> None:
    """Every process that has called the objective has ended."""
    pids = signed_in(folder)
    assert len(pids) == workers
    deadline = time.monotonic() + 20
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, pids))


def check_one_line(done: subprocess.CompletedProcess[str], says: str) -> None:
    assert "Traceback" not in done.stderr
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(OBJECTIVES)
    return tmp_path / "mine.py"


# JSON

HOW = ("trap:k=4,n=12", "-a", "umda", "-a", "boa", "-a", "tree", "--popsize", 50, "--runs", 3, "--seed", 7)


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return compared(*HOW)


def test_json_has_exactly_the_promised_fields(report: dict[str, Any]) -> None:
    assert list(report) == ["problem", "algorithms", "version"]
    assert report["problem"] == "trap:k=4,n=12"
    assert report["version"] == daedal.__version__
    assert [one["algorithm"] for one in report["algorithms"]] == ["umda", "boa", "tree"]
    for one in report["algorithms"]:
        assert list(one) == FIELDS
        assert all(list(row) == ROW for row in one["results"])
        assert one["settings"] == daedal.algorithms()[one["algorithm"]].settings()
        assert (one["popsize"], one["runs"]) == (50, 3)


def test_the_figures_are_those_of_the_runs(report: dict[str, Any]) -> None:
    for one in report["algorithms"]:
        rows = one["results"]
        to_best = [row["evaluations_to_best"] for row in rows]
        cpu = [row["cpu_seconds"] for row in rows]
        assert one["solved"] == sum(row["success"] for row in rows)
        assert one["best"] == pytest.approx(sum(row["fitness"] for row in rows) / 3)
        assert one["evaluations"] == pytest.approx(sum(to_best) / 3)
        assert one["evaluations_sd"] == pytest.approx(statistics.stdev(to_best))
        assert one["cpu_seconds"] == pytest.approx(sum(cpu) / 3)
        assert one["cpu_seconds_per_evaluation"] == pytest.approx(sum(cpu) / sum(row["evaluations"] for row in rows))


def test_each_algorithm_has_the_same_seeds_and_its_own_runs(report: dict[str, Any]) -> None:
    for one in report["algorithms"]:
        assert [row["seed"] for row in one["results"]] == [7, 8, 9]
        for row in one["results"]:
            result = daedal.maximize("trap:k=4,n=12", algorithm=one["algorithm"], popsize=50, seed=row["seed"])
            assert row["stop"] == result.stop.value
            for name in ("fitness", "success", "evaluations", "evaluations_to_best", "generations"):
                assert row[name] == getattr(result, name), name


def test_the_number_of_workers_changes_nothing_but_the_clock(report: dict[str, Any]) -> None:
    spread = compared(*HOW, "--workers", 2)
    assert timeless(spread) == timeless(report)
    assert all(one["cpu_seconds"] > 0 for one in spread["algorithms"])


def test_a_function_in_a_file_on_two_workers(mine: Path) -> None:
    how = ("--n", 10, "-a", "umda", "-a", "pbil", "--popsize", 30, "--runs", 4, "--max-generations", 3)
    report = compared(f"{mine}:ones", *how, "--workers", 2)
    check_no_orphans(mine.parent, 2)
    assert os.getpid() not in signed_in(mine.parent)
    for one in report["algorithms"]:
        assert one["solved"] is None
        for row in one["results"]:
            result = daedal.maximize(
                lambda x: x.sum(axis=1), 10, algorithm=one["algorithm"], popsize=30, seed=row["seed"], max_generations=3
            )
            assert row["success"] is None
            assert (row["fitness"], row["evaluations"]) == (result.fitness, result.evaluations)


# In this process, which is faster


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """`daedal compare` in this process, where every warning is an error."""
    monkeypatch.setattr(sys, "path", sys.path.copy())  # a loaded file's folder is put there
    for name in ("FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["daedal", "compare", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        printed = capsys.readouterr()
        return subprocess.CompletedProcess(sys.argv, ended.value.code, printed.out, without_compilation(printed.err))

    return run


def test_settings_and_limits_are_for_all(here: Any) -> None:
    how = ("-a", "boa", "-a", "umda", "-a", "boa", "--runs", 2, "--popsize", 30, "--set", "replacement=rtr", "--json")
    report = read_one_object(here("onemax:n=10", *how, "--max-evaluations", 70, "--target", 99).stdout)
    assert [one["algorithm"] for one in report["algorithms"]] == ["boa", "umda"]  # each once
    for one in report["algorithms"]:
        assert one["settings"]["replacement"] == "rtr"
        assert one["solved"] == 0
        assert [row["evaluations"] for row in one["results"]] == [70, 70]
    plain = read_one_object(here("trap:k=4,n=12", *how, "--no-shuffle").stdout)
    for row in plain["algorithms"][0]["results"]:
        result = daedal.maximize(
            "trap:k=4,n=12", algorithm="hboa", popsize=30, seed=row["seed"], shuffle=False
        )  # which is boa with rtr
        assert (row["fitness"], row["evaluations"]) == (result.fitness, result.evaluations)


def test_the_default_popsize_is_reported(here: Any) -> None:
    report = read_one_object(here("onemax:n=5", "-a", "umda", "--runs", 1, "--json").stdout)
    assert report["algorithms"][0]["popsize"] == daedal.EDA(n=5, model=daedal.models.UMDA()).popsize
    assert report["algorithms"][0]["evaluations_sd"] == 0.0


def test_the_table_for_eyes(here: Any) -> None:
    done = here("onemax:n=10", "-a", "umda", "-a", "tree", "--popsize", 100, "--runs", 3)
    assert done.returncode == 0
    assert done.stdout == ""
    assert "\x1b" not in done.stderr
    title, head, umda, tree = done.stderr.splitlines()
    assert title == "onemax:n=10, popsize 100, seeds 0-2"
    for word in ("algorithm", "solved", "evaluations to best", "CPU s", "CPU us/eval"):
        assert word in head
    for line, name in ((umda, "umda"), (tree, "tree")):
        runs = [daedal.maximize("onemax:n=10", algorithm=name, popsize=100, seed=seed) for seed in range(3)]
        to_best = [run.evaluations_to_best for run in runs]
        solved = sum(run.success is True for run in runs)
        expected = [name, f"{solved}/3", "10", f"{statistics.fmean(to_best):,.0f}", f"{statistics.stdev(to_best):,.0f}"]
        assert line.split()[:5] == expected
        assert len(line.split()) == 7


def test_large_figures_are_not_cut_off(here: Any, mine: Path) -> None:
    how = ("--n", 16, "-a", "umda", "-a", "dae-2015", "--popsize", 30_000, "--runs", 2)
    done = here(f"{mine}:large", *how, "--max-generations", 2, "--set", "selection=truncation")
    assert done.returncode == 0
    assert "…" not in done.stderr
    assert "1.97531e+07" in done.stderr


BAD = [
    (("onemax:n=10", "-a", "umda", "--runs", "0"), "expected --runs of at least 1, got --runs 0"),
    (("onemax:n=10", "-a", "umda", "--runs", "-3"), "got --runs -3"),
    (("onemax:n=10", "-a", "umda", "--workers", "0"), "expected --workers of at least 1, got --workers 0"),
    (("onemax:n=10", "-a", "umda", "--workers", "two"), "--workers"),
    (("onemax:n=10", "-a", "umda", "-a", "bao"), "unknown algorithm 'bao', did you mean 'boa'? Known: boa, dae, "),
    (("onemax:n=10",), "Missing option '--algorithm'"),
    (("onemax:n=10", "-a", "boa", "--set", "edges=1"), "unknown setting of boa 'edges'. Known: max_parents, penalty, "),
    (("onemax:n=10", "-a", "boa", "-a", "umda", "--set", "penalty=1"), "unknown setting of umda 'penalty'"),
    (("onemax:n=10", "-a", "boa", "--set", "max_parents=-1"), "expected max_parents of at least 0"),
    (("onemax:n=10", "-a", "umda", "--set", "replacement=best"), "expected replacement of umda to be parents or rtr"),
    (("onemax:n=10", "-a", "umda", "--set", "replacement"), "expected --set key=value"),
    (("onemax:n=10", "-a", "umda", "--popsize", "1"), "expected popsize to be a whole number of at least 2"),
    (("onemax:n=10", "-a", "umda", "--seed", "-1"), "expected a seed that is a whole number of at least 0"),
    (("onemax:n=10", "-a", "umda", "--patience", "0"), "expected patience to be a whole number of at least 1"),
    (("onemax:n=10", "-a", "umda", "--n", "5"), "expected n=10, which the problem has, or no n, got n=5"),
    (("tarp:n=50", "-a", "umda"), "unknown problem 'tarp', did you mean 'trap'? Known: "),
    (("MINE:ones", "-a", "umda"), "expected --n, the number of variables"),
    (("MINE:absent", "--n", "5", "-a", "umda"), "expected a function 'absent' in "),
    (
        ("MINE:raises", "--n", "5", "-a", "umda"),
        "the objective raised RuntimeError: the simulator is down for the row 10011; it is called with an array of 0/1 "
        "rows, here of shape (1, 5) (",
    ),
]


@pytest.mark.parametrize(("words", "says"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_input_ends_with_one_line_and_code_2(words: tuple[str, ...], says: str, here: Any, mine: Path) -> None:
    (mine.parent / "pid-1").touch()  # so that nobody waits
    check_one_line(here(*(word.replace("MINE", str(mine)) for word in words), "--json"), says)


# Trouble in a worker


def test_an_objective_that_raises_in_a_worker(mine: Path) -> None:
    started = time.monotonic()
    done = daedal_cli(f"{mine}:raises", "--n", 10, "-a", "umda", "--popsize", 30, "--runs", 4, "--workers", 2, "--json")
    check_one_line(done, "the objective raised RuntimeError: the simulator is down for the row ")
    assert ", here of shape (1, 10) (for a function of one row" in done.stderr
    assert time.monotonic() - started < 80  # nobody waited for the other worker
    check_no_orphans(mine.parent, 2)


def test_an_objective_that_ends_its_worker(mine: Path) -> None:
    done = daedal_cli(f"{mine}:dies", "--n", 10, "-a", "umda", "--popsize", 30, "--runs", 2, "--workers", 2, "--json")
    check_one_line(done, "process")


# Ctrl-C


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let a child have Ctrl-C, also where this process was started with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(mine: Path, *words: object, workers: int, stand_at: int) -> tuple[int, str, str]:
    """Press Ctrl-C when every worker stands; give code, output and error output."""
    how = (f"{mine}:stands", "--n", 10, "-a", "umda", "-a", "tree", "--popsize", 20, "--runs", 5, "--workers", workers)
    command = [sys.executable, "-m", "daedal", "compare", *map(str, how), "--max-generations", "1", *map(str, words)]
    with subprocess.Popen(
        command,
        env=environment() | {"STAND_AT": str(stand_at)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while len(signed_in(mine.parent)) < workers:
                assert process.poll() is None, process.stderr.read() if process.stderr else ""
                assert time.monotonic() < deadline
                time.sleep(0.02)
            time.sleep(0.5)  # for the results to be handed over
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
            out, err = process.communicate(timeout=30)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    check_no_orphans(mine.parent, workers)
    return process.returncode, out, without_compilation(err)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("workers", "stand_at"), [(1, 5), (1, 6), (2, 6)])
def test_ctrl_c_prints_what_has_finished(mine: Path, workers: int, stand_at: int) -> None:
    """Each run calls the objective twice: each worker has finished two runs, and begins (5) or is in (6) a third."""
    code, out, err = interrupted(mine, "--json", workers=workers, stand_at=stand_at)
    assert code == 130
    assert err == ""
    report = read_one_object(out)
    assert list(report) == ["problem", "algorithms", "version"]
    rows = [(one["algorithm"], row) for one in report["algorithms"] for row in one["results"]]
    assert len(rows) == 2 * workers
    assert [one["runs"] for one in report["algorithms"]] == [len(one["results"]) for one in report["algorithms"]]
    if workers == 1:
        assert [(name, row["seed"]) for name, row in rows] == [("umda", 0), ("tree", 0)]
    for name, row in rows:
        assert row["stop"] == "generations"
        result = daedal.maximize(
            lambda x: x.sum(axis=1), 10, algorithm=name, popsize=20, seed=row["seed"], max_generations=1
        )
        assert (row["fitness"], row["evaluations"]) == (result.fitness, result.evaluations)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_shows_a_table_of_what_has_finished(mine: Path) -> None:
    code, out, err = interrupted(mine, workers=1, stand_at=3)
    assert (code, out) == (130, "")
    assert [line.split()[0] for line in err.splitlines()[1:]] == ["algorithm", "umda"]
    assert "?/1" in err


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_before_anything_has_finished_ends_quietly(mine: Path) -> None:
    assert interrupted(mine, workers=1, stand_at=1) == (130, "", "")


SITE = """
import os
import pathlib
import sys
import time

if "--multiprocessing-fork" in sys.orig_argv:
    (pathlib.Path(__file__).parent / f"pid-{os.getpid()}").touch()
    time.sleep(100)
"""


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_while_the_workers_start_ends_quietly(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (mine.parent / "sitecustomize.py").write_text(SITE)
    monkeypatch.setenv("PYTHONPATH", str(mine.parent), prepend=os.pathsep)
    assert interrupted(mine, workers=2, stand_at=1) == (130, "", "")
