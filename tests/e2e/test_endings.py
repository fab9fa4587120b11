"""Requests to end: the best so far is shown, no process is left, and the run continues from its file."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Cli, Refused, read_report, timeless
from process_helpers import wait_until

from daedal.run.run_file import read_run

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGKILL: -9}
ENGINES: dict[str, tuple[object, ...]] = {
    "here": (),
    "a worker": ("--workers", 1, "--timeout", 1000),
    "workers": ("--workers", 2),
}
LINE = ("--n", 20, "-a", "umda", "--popsize", 40, "--seed", 3, "--json")


def stand_at(engine: str) -> str:
    """Return the number of the call that takes long: of a batch in this process, or of a chunk in a worker."""
    return "3" if engine == "here" else "8"


@pytest.mark.parametrize(
    ("number", "engine", "resumes"),
    [
        (signal.SIGINT, "here", True),
        (signal.SIGINT, "workers", False),
        (signal.SIGTERM, "a worker", True),
        (signal.SIGHUP, "here", False),
        (signal.SIGKILL, "here", True),
        (signal.SIGKILL, "workers", False),
    ],
)
def test_an_interrupted_or_killed_run_continues_to_the_same_result(
    number: signal.Signals,
    engine: str,
    resumes: bool,
    interrupted: Cli,
    here: Cli,
    mine: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By `daedal resume`, or by the same command; a child of the objective that ignores signals ends with the run."""
    alone = number == signal.SIGKILL and engine == "here"  # then nobody is left who could end a child
    objective, path = f"{mine}:{'stands' if alone else 'waits_for_a_child'}", tmp_path / "run.db"
    words = ("solve", objective, *LINE, "--run", path, *ENGINES[engine])
    done = interrupted(*words, number=number, STAND_AT=stand_at(engine))
    if number == signal.SIGKILL:
        assert (done.returncode, done.stdout) == (-9, "")
    else:
        report = read_report(done, CODES[number])
        with closing(read_run(path)) as file:
            assert report["evaluations"] == len(list(file.evaluations())) > 0
        assert report["stop"] == "interrupted"
        assert f"resume    daedal resume {path} {objective}\n" in done.stderr
    monkeypatch.setenv("STAND_AT", "0")
    whole = timeless(read_report(here("solve", objective, *LINE, "--history")))
    again = ("resume", path, objective, "--json") if resumes else words
    assert timeless(read_report(here(*again, "--workers", 1, "--history"))) == whole


@pytest.mark.parametrize(("number", "engine"), [(signal.SIGINT, "here"), (signal.SIGTERM, "workers")])
def test_a_process_without_parents_ends_with_the_run(
    number: signal.Signals, engine: str, interrupted: Cli, mine: Path
) -> None:
    words = (f"{mine}:leaves_an_orphan", *LINE, *ENGINES[engine])
    done = interrupted("solve", *words, number=number, STAND_AT=stand_at(engine))
    assert read_report(done, CODES[number])["stop"] == "interrupted"


def test_a_child_of_os_system_ends_with_the_run(interrupted: Cli, mine: Path) -> None:
    """While `os.system` waits, no handler written in Python runs."""
    done = interrupted("solve", f"{mine}:waits_for_a_child", *LINE, number=signal.SIGTERM, STAND_AT="3", SYSTEM="yes")
    assert read_report(done, 143)["stop"] == "interrupted"


@pytest.mark.parametrize(
    ("number", "engine"), [(signal.SIGTERM, "here"), (signal.SIGKILL, "here"), (signal.SIGKILL, "workers")]
)
def test_a_program_ends_with_the_run(number: signal.Signals, engine: str, interrupted: Cli, tmp_path: Path) -> None:
    script = tmp_path / "score.sh"
    script.write_text(f"trap '' TERM HUP\nread -r row\ntouch {tmp_path}/pid-$$\nsleep 1000\nsleep 1000\n")
    standing = 2 if engine == "workers" else 1
    done = interrupted("solve", f"cmd:sh {script}", *LINE, *ENGINES[engine], number=number, standing=standing)
    assert (done.returncode, done.stdout) == (CODES[number], "")  # nothing was evaluated
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("as_json", [True, False])
def test_ctrl_c_before_the_first_value_ends_quietly(as_json: bool, interrupted: Cli, mine: Path) -> None:
    done = interrupted("solve", f"{mine}:stands", *(LINE if as_json else LINE[:-1]), STAND_AT="1")
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("workers", [1, 2])
def test_comparisons_and_studies_end_with_what_they_have(
    workers: int, interrupted: Cli, mine: Path, tmp_path: Path
) -> None:
    how = ("--n", 8, "-a", "umda", "--popsize", 20, "--runs", 3, "--workers", workers, "--json")
    done = interrupted("compare", f"{mine}:stands", *how, number=signal.SIGTERM, STAND_AT="5", standing=workers)
    read_report(done, 143)
    for file in tmp_path.glob("pid-*"):
        file.unlink()
    (tmp_path / "study.toml").write_text(
        "runs = 2\npopsizes = [20]\nalgorithms = ['umda']\n"
        "problems = [{ problem = 'mine.py:stands', n = 8, target = 8 }]\n"
    )
    words = ("study", "run", tmp_path / "study.toml", "--store", tmp_path / "results.db", "--workers", workers)
    done = interrupted(*words, number=signal.SIGHUP, STAND_AT="5", standing=workers)
    assert done.returncode == 129
    assert "interrupted" in done.stderr
    assert "Traceback" not in done.stderr
    assert "mine.py" in done.stdout  # the table so far


def test_nohup_stays_nohup(mine: Path, tmp_path: Path, plain_environment: dict[str, str]) -> None:
    command = ["nohup", sys.executable, "-m", "daedal", "solve", f"{mine}:stands", *map(str, LINE)]
    with subprocess.Popen(
        command, env=plain_environment | {"STAND_AT": "3"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        wait_until(lambda: list(tmp_path.glob("pid-*")))
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 143


def test_a_terminal_that_goes_away(mine: Path, tmp_path: Path, plain_environment: dict[str, str]) -> None:
    """Writing to it fails then; the run file is complete and the exit code is that of SIGHUP."""
    ours, theirs = pty.openpty()
    words = ["solve", f"{mine}:stands", *map(str, LINE[:-1]), "--run", str(tmp_path / "run.db")]
    terminal: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "stderr": theirs}

    def control() -> None:
        os.setsid()
        os.close(os.open(os.ttyname(0), os.O_RDWR))  # so that it becomes the controlling terminal

    process = subprocess.Popen(
        [sys.executable, "-m", "daedal", *words],
        env=plain_environment | {"STAND_AT": "3"},
        preexec_fn=control,
        **terminal,
    )
    os.close(theirs)
    wait_until(lambda: list(tmp_path.glob("pid-*")))
    os.close(ours)
    assert process.wait(60) == 129
    with closing(read_run(tmp_path / "run.db")) as file:
        assert len(list(file.evaluations())) >= 40


# ---------------------------------------------------------------- run files on the command line

HALF = ("-a", "umda", "--popsize", 20, "--seed", 3, "--target", 99, "--json", "--history")


def test_a_finished_run_is_shown_again_and_continues_with_more_evaluations(here: Cli, tmp_path: Path) -> None:
    path, words = tmp_path / "run.db", ("solve", "trap:k=5,n=20", *HALF)
    whole = timeless(read_report(here(*words, "--max-evaluations", 200)))
    part = timeless(read_report(here(*words, "--max-evaluations", 90, "--run", path)))
    assert part["evaluations"] == 90
    assert timeless(read_report(here("resume", path, "--json", "--history"))) == part
    more = read_report(here("resume", path, "--max-evaluations", 200, "--json"))
    assert [more[name] for name in ("x", "evaluations", "generations")] == [
        whole[name] for name in ("x", "evaluations", "generations")
    ]
    shown = here("resume", path)
    assert (shown.returncode, shown.stdout) == (0, "")
    assert whole["x"] in shown.stderr
    known = read_report(here(*words, "--max-evaluations", 200, "--known", path))
    assert (known["evaluations"], known["x"]) == (0, whole["x"])


PROGRAM = """cmd:sh -c 'while read -r row; do zeros=${row%%1*}; echo ${#zeros}; done'"""


@pytest.mark.parametrize("persistent", [(), ("--persistent",)], ids=str)
def test_a_program_is_named_again_to_resume_its_run(
    persistent: tuple[str, ...], here: Cli, refused: Refused, tmp_path: Path
) -> None:
    path, words = tmp_path / "run.db", ("solve", PROGRAM, "--n", 10, *persistent, *HALF)
    expected = timeless(read_report(here(*words, "--max-generations", 5)))
    read_report(here(*words, "--max-generations", 5, "--max-evaluations", 45, "--run", path))
    refused(here("resume", path, "--json"), f"daedal resume {path} PROBLEM")
    done = here("resume", path, PROGRAM, *persistent, "--max-evaluations", 1000, "--json", "--history")
    assert timeless(read_report(done)) == expected


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("damaged.db",), "damaged.db"),
        (("no.db",), "no.db"),
        ((".",), "not a run of daedal"),
        (("run.db", "mine.py:ones"), "mine.py:ones"),
        (("run.db", "trap:k=5,n=25"), "'trap:k=5,n=25'"),
        (("run.db", "nobody"), "'nobody'"),
        (("run.db", "--algorithm", "nobody"), "'nobody'"),
        (("run.db", "--workers", "0"), "workers=0"),
        (("run.db", "--persistent", "trap:k=5,n=20"), "--persistent"),
        (("run.db", "--known", "run.db"), "name the same file"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_bad_input_leaves_the_run_file_as_it_is(
    words: tuple[str, ...], says: str, mine: Path, here: Cli, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mine.parent)
    assert here("solve", "trap:k=5,n=20", *HALF, "--max-generations", 1, "--run", "run.db").returncode == 0
    before = Path("run.db").read_bytes()
    Path("damaged.db").write_bytes(before[: len(before) // 2])
    refused(here("resume", *words), says)
    assert Path("run.db").read_bytes() == before
