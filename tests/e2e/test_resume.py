"""Runs that survive: killed, interrupted, damaged, and resumed, as processes of their own and from the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import timeless
from run_helpers import OWN_ALGORITHM, at

import daedal
from daedal.storage.atomic import previous_path

SUPPORT = Path(__file__).parents[1] / "support"
Cli = Callable[..., "subprocess.CompletedProcess[str]"]

# Killed with SIGKILL, five times, at random moments: see killed_runs.py


@pytest.fixture(scope="module")
def survivors(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    command = [sys.executable, str(SUPPORT / "killed_runs.py"), str(tmp_path_factory.mktemp("killed"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.mark.parametrize(
    "name",
    [
        *sorted(daedal.algorithms()),
        *(OWN_ALGORITHM, "hboa, doubled", "auto, cached", "ils, cached", "mix, cached", "umda, cached"),
    ],
    ids=lambda name: name[-13:],
)
def test_killed_five_times_it_ends_as_if_nothing_had_happened(name: str, survivors: dict[str, Any]) -> None:
    """Counts included, also where a cache has what was evaluated since the last checkpoint."""
    report = survivors[name]
    assert report["endings"] == [signal.SIGKILL] * 5 + [0]
    assert report["came"] == report["expected"]
    assert report["evaluated"] > 50


def test_the_kills_came_at_all_stages(survivors: dict[str, Any]) -> None:
    """Before there was a checkpoint, and after many; so what was gone through again differs, too."""
    assert all(report["stood"][0] == 0 for report in survivors.values())
    assert sum(len(set(report["stood"])) for report in survivors.values()) > 3 * len(survivors)
    assert max(max(report["stood"]) / report["evaluated"] for report in survivors.values()) > 0.5


# The command line

HANGS = 120  # seconds
SCORE = f"""
import pathlib
import time

here = pathlib.Path(__file__).parent
calls = 0


def f(row):
    global calls
    calls += 1
    if calls == 25 and (here / "block").exists():
        (here / "marker").touch()
        time.sleep({HANGS})
    return float((row * range(len(row))).sum() % 7)


def batch(x):
    return [f(row) for row in x]
"""
HALF = ("-a", "umda", "--popsize", 20, "--seed", 3, "--max-generations", 5)
BY_ROW = ("--n", 10, "--by-row", *HALF)


@pytest.fixture
def score(tmp_path: Path) -> Path:
    """A file with a function that can be told to hang in its 25th call."""
    (tmp_path / "score.py").write_text(SCORE)
    return tmp_path / "score.py"


def report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Give the one JSON object on standard output, without clocks."""
    assert done.stdout.count("\n") == 1, done.stderr
    found: dict[str, Any] = timeless(json.loads(done.stdout))
    return found


@pytest.fixture
def interrupted(score: Path, plain_environment: dict[str, str]) -> Iterator[Callable[..., Any]]:
    """Start a command, and press Ctrl-C while its objective hangs, for longer than the end is waited for.

    Pressed in a terminal it goes to all processes of the group, the workers too.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a child would ignore it where this process does

    def run(*words: object, often: int = 1) -> subprocess.CompletedProcess[str]:
        (score.parent / "block").touch()
        command = [sys.executable, "-m", "daedal", *map(str, words)]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(command, env=plain_environment, start_new_session=True, **pipes) as process:
            try:
                deadline = time.monotonic() + 60
                while not (score.parent / "marker").exists():
                    assert process.poll() is None, process.communicate()
                    assert time.monotonic() < deadline
                    time.sleep(0.01)
                for _ in range(often):
                    os.killpg(process.pid, signal.SIGINT)
                out, err = process.communicate(timeout=HANGS / 2)
            finally:
                process.kill()
        (score.parent / "block").unlink()
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    yield run
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_ends_with_the_best_so_far_and_resume_with_all(
    score: Path, here: Cli, interrupted: Cli, tmp_path: Path, workers: int
) -> None:
    expected = report(here("solve", f"{score}:f", *BY_ROW, "--json", "--history"))
    path = tmp_path / "run.ckpt"
    done = interrupted("solve", f"{score}:f", *BY_ROW, "--checkpoint", path, "--json", "--workers", workers)
    assert (done.returncode, report(done)["stop"]) == (130, "interrupted")
    assert "Traceback" not in done.stderr
    assert f"daedal resume {path} {score}:f" in " ".join(done.stderr.split())
    resumed = here("resume", path, f"{score}:f", "--json", "--history", "--workers", 1)
    assert resumed.returncode == 0
    assert report(resumed) == expected


def test_ctrl_c_twice_leaves_a_checkpoint_as_well(score: Path, here: Cli, interrupted: Cli, tmp_path: Path) -> None:
    words = (f"{score}:batch", "--n", 10, *HALF)
    path = tmp_path / "run.ckpt"
    done = interrupted("solve", *words, "--checkpoint", path, "--every", 1, often=2)
    assert done.returncode in (130, -signal.SIGINT)
    expected = report(here("solve", *words, "--json", "--history"))
    assert report(here("resume", path, f"{score}:batch", "--json", "--history")) == expected


def half(path: Path) -> Path:
    """Write the checkpoint of a run that was stopped in the middle."""
    run: dict[str, Any] = {"algorithm": "umda", "popsize": 20, "seed": 3, "max_generations": 5}
    daedal.maximize("trap:k=5,n=20", checkpoint=path, callback=at(2), **run)
    return path


def test_a_named_problem_needs_no_more_than_the_file(here: Cli, tmp_path: Path) -> None:
    expected = report(here("solve", "trap:k=5,n=20", *HALF, "--json", "--history"))
    path = half(tmp_path / "run.ckpt")
    for _ in range(2):  # the second time it is over, and says so again
        done = here("resume", path, "--json", "--history", "--every", "5")
        assert done.returncode == 0
        assert report(done) == expected
        assert list(report(done)) == list(expected)
    done = here("resume", path)
    assert (done.returncode, done.stdout) == (0, "")
    assert expected["x"] in done.stderr
    assert daedal.StopReason(expected["stop"]).message in " ".join(done.stderr.split())


PROGRAM = """cmd:sh -c 'while read -r row; do zeros=${row%%1*}; echo ${#zeros}; done'"""
WAYS: dict[str, tuple[str, tuple[object, ...], tuple[str, ...]]] = {
    "a function": ("", ("--by-row", "--minimize", "--on-error", "worst", "--target", -1), ()),
    "a program": (PROGRAM, (), ()),
    "a program that is kept running": (PROGRAM, (), ("--persistent",)),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_no_problem_of_daedals_is_named_again(
    way: str, score: Path, here: Cli, refused: Callable[..., None], tmp_path: Path
) -> None:
    named, words, kept = WAYS[way]
    objective, path = named or f"{score}:f", tmp_path / "run.ckpt"
    solve = ("solve", objective, "--n", 10, *HALF, *words, *kept)
    expected = report(here(*solve, "--json", "--history"))
    assert here(*solve, "--checkpoint", path, "--every", 2).returncode == 0
    os.replace(previous_path(path), path)
    refused(here("resume", path, "--json"), f"daedal resume {path} PROBLEM")
    assert report(here("resume", path, objective, *kept, "--json", "--history")) == expected


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("damaged.ckpt",), "damaged.ckpt"),
        (("no.ckpt",), "no.ckpt"),
        ((".",), "not a file"),
        (("run.ckpt", "score.py:f"), "score.py:f"),
        (("run.ckpt", "onemax:n=20"), "'onemax:n=20'"),
        (("run.ckpt", "trap:k=5,n=25"), "'trap:k=5,n=25'"),
        (("run.ckpt", "nobody"), "'nobody'"),
        (("run.ckpt", "--algorithm", "nobody"), "'nobody'"),
        (("run.ckpt", "--every", "0"), "every='0'"),
        (("run.ckpt", "--workers", "0"), "workers=0"),
        (("run.ckpt", "--persistent", "trap:k=5,n=20"), "--persistent"),
    ],
)
def test_bad_input_is_one_line_and_code_2(
    words: tuple[str, ...],
    says: str,
    score: Path,
    here: Cli,
    refused: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = half(tmp_path / "run.ckpt").read_bytes()
    middle = len(before) // 2
    (tmp_path / "damaged.ckpt").write_bytes(before[:middle] + bytes([before[middle] ^ 1]) + before[middle + 1 :])
    refused(here("resume", *words), says)
    assert (tmp_path / "run.ckpt").read_bytes() == before
