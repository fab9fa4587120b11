"""Requests to end from outside: the best so far is shown, nothing is lost, and nothing is left."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Cli, read_report
from process_helpers import wait_until

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
SIGNALS = pytest.mark.parametrize("number", CODES)
ENGINES = pytest.mark.parametrize("engine", [(), ("--workers", 1, "--timeout", 1000), ("--workers", 2)], ids=str)
LINE = ("--n", 20, "-a", "umda", "--popsize", 40, "--seed", 3, "--json")


@SIGNALS
@ENGINES
def test_a_run_ends_with_the_best_so_far_and_goes_on_later(
    number: signal.Signals, engine: tuple[object, ...], interrupted: Cli, here: Cli, mine: Path, tmp_path: Path
) -> None:
    words = (f"{mine}:waits_for_a_child", *LINE, "--checkpoint", tmp_path / "run.ckpt", *engine)
    at = "3" if engine == () else "8"  # calls of one process: a chunk, or a row, each
    done = interrupted("solve", *words, number=number, STAND_AT=at)
    report = read_report(done, CODES[number])
    assert report["stop"] == "interrupted"
    assert 0 < report["evaluations"] < 10_000
    assert "daedal resume" in done.stderr
    again = read_report(here("resume", tmp_path / "run.ckpt", f"{mine}:ones", "--workers", 1, "--json"))
    whole = read_report(here("solve", f"{mine}:ones", *LINE))
    assert [again[key] for key in ("x", "fitness", "evaluations")] == [
        whole[key] for key in ("x", "fitness", "evaluations")
    ]


def test_a_child_that_python_itself_waits_for_is_no_reason_to_stay(interrupted: Cli, mine: Path) -> None:
    """In `os.system` no handler of Python's runs."""
    done = interrupted("solve", f"{mine}:waits_for_a_child", *LINE, number=signal.SIGTERM, STAND_AT="3", SYSTEM="yes")
    assert read_report(done, 143)["stop"] == "interrupted"


@SIGNALS
@ENGINES
def test_a_process_without_parents_ends_with_the_run(
    number: signal.Signals, engine: tuple[object, ...], interrupted: Cli, mine: Path
) -> None:
    at = "3" if engine == () else "8"
    done = interrupted("solve", f"{mine}:leaves_an_orphan", *LINE, *engine, number=number, STAND_AT=at)
    assert read_report(done, CODES[number])["stop"] == "interrupted"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@ENGINES
def test_a_program_ends_with_the_run(
    number: signal.Signals, engine: tuple[object, ...], interrupted: Cli, tmp_path: Path
) -> None:
    script = tmp_path / "score.sh"
    script.write_text(f"trap '' TERM HUP\nread -r row\ntouch {tmp_path}/pid-$$\nsleep 1000\nsleep 1000\n")
    standing = 2 if 2 in engine else 1
    done = interrupted("solve", f"cmd:sh {script}", *LINE, *engine, number=number, standing=standing)
    assert done.returncode == CODES.get(number, -number)
    assert "Traceback" not in done.stderr
    assert done.stdout == ""  # nothing was evaluated


@pytest.mark.parametrize("engine", [("--workers", 1, "--timeout", 1000), ("--workers", 2)], ids=str)
def test_what_a_worker_has_started_ends_with_a_run_that_is_killed(
    engine: tuple[object, ...], interrupted: Cli, mine: Path
) -> None:
    words = (f"{mine}:waits_for_a_child", *LINE, *engine)
    assert interrupted("solve", *words, number=signal.SIGKILL, STAND_AT="2").returncode == -signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("workers", [1, 2])
def test_comparisons_and_studies_end_with_what_they_have(
    number: signal.Signals, workers: int, interrupted: Cli, mine: Path, tmp_path: Path
) -> None:
    how = ("--n", 8, "-a", "umda", "--popsize", 20, "--runs", 3, "--workers", workers, "--json")
    done = interrupted("compare", f"{mine}:stands", *how, number=number, STAND_AT="5", standing=workers)
    read_report(done, CODES[number])
    for file in tmp_path.glob("pid-*"):
        file.unlink()
    (tmp_path / "study.toml").write_text(
        "runs = 2\npopsizes = [20]\nalgorithms = ['umda']\n"
        "problems = [{ problem = 'mine.py:stands', n = 8, target = 8 }]\n"
    )
    words = ("study", "run", tmp_path / "study.toml", "--store", tmp_path / "results.db", "--workers", workers)
    done = interrupted(*words, number=number, STAND_AT="5", standing=workers)
    assert done.returncode == CODES[number]
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


@pytest.mark.parametrize("more", [(), ("--json",)], ids=str)
def test_a_terminal_that_goes_away(
    more: tuple[str, ...], mine: Path, tmp_path: Path, plain_environment: dict[str, str]
) -> None:
    """What is written to it then fails, which is nobody's fault: the checkpoint is there, and so is the exit code."""
    ours, theirs = pty.openpty()
    words = ["solve", f"{mine}:stands", *map(str, LINE[:-1]), *more, "--checkpoint", str(tmp_path / "run.ckpt")]
    terminal: dict[str, Any] = {"stdin": theirs, "stdout": theirs, "stderr": theirs}

    def control() -> None:
        os.setsid()
        os.close(os.open(os.ttyname(0), os.O_RDWR))  # by which it becomes the controlling terminal

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
    assert (tmp_path / "run.ckpt").exists()
