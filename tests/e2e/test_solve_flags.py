"""What `daedal solve` does with the flags that say where a run begins, who evaluates, and what is kept."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Cli: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]
Refused: TypeAlias = Callable[["subprocess.CompletedProcess[str]", str], None]

HOW = ("--algorithm", "umda", "--popsize", 40, "--seed", 3, "--max-generations", 4, "--json")
CLOCKS = ("seconds", "cpu_seconds")
SCORE = """
def f(x):
    return x @ range(x.shape[1])
"""


@pytest.fixture
def score(tmp_path: Path) -> str:
    """Give the name of an objective that the command line can load."""
    (tmp_path / "score.py").write_text(SCORE)
    return f"{tmp_path}/score.py:f"


def report(done: subprocess.CompletedProcess[str], *without: str) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return {name: value for name, value in told.items() if name not in (*CLOCKS, *without)}


# Where a run begins


def test_rows_to_begin_with_are_evaluated_or_believed(here: Cli, score: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.txt"
    rows.write_text("# the design of last year\n\n" + "1" * 12 + "\n" + "0" * 12 + "\n")
    begun = report(here("solve", score, "--n", 12, *HOW, "--initial", rows))
    assert (begun["fitness"], begun["evaluations_to_best"]) == (66.0, 40)  # the first population has it
    rows.write_text(f"{'1' * 12} 1000\n{'0' * 12} -5e-1\n")
    believed = report(here("solve", score, "--n", 12, *HOW, "--initial", rows))
    assert (believed["fitness"], believed["x"]) == (1000.0, "1" * 12)
    assert believed["evaluations"] == begun["evaluations"]
    assert believed["carried_out"] == begun["carried_out"] - 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected lines of as many 0/1 each"),
        ("# nothing but a comment\n", "expected lines of as many 0/1 each"),
        ("0101\n", "12"),
        ("010101010101\n01010101010\n", "expected lines of as many 0/1 each"),
        ("010101010101 1\n010101010101\n", "expected lines of as many 0/1 each"),
        ("010101010101 1 2\n", "expected lines of as many 0/1 each"),
        ("010101010102\n", "0"),
        ("010101010101 high\n", "expected a number behind each row"),
        ("010101010101 nan\n", "expected a number as the value of each initial row"),
    ],
)
def test_other_rows_are_refused(text: str, says: str, here: Cli, refused: Refused, score: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.txt"
    rows.write_text(text)
    refused(here("solve", score, "--n", 12, *HOW, "--initial", rows), says)


def test_rows_that_are_not_there_are_refused(here: Cli, refused: Refused, score: str, tmp_path: Path) -> None:
    refused(here("solve", score, "--n", 12, *HOW, "--initial", tmp_path / "none.txt"), "none.txt")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe0101")
    refused(here("solve", score, "--n", 12, *HOW, "--initial", tmp_path / "bytes.txt"), "bytes.txt")


# Who evaluates


def test_the_report_does_not_depend_on_who_evaluates(cli: Cli, here: Cli, score: str) -> None:
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    alone = report(here("solve", score, "--n", 12, *HOW))
    assert report(cli("solve", score, "--n", 12, *HOW, "--workers", 2)) == alone
    by_dask = cli("solve", score, "--n", 12, *HOW, "--dask", "local:2")
    assert report(by_dask) == alone
    assert "Traceback" not in by_dask.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--workers", 0), "workers"),
        (("--workers", -1), "workers"),
        (("--dask", "local:0"), "expected --dask local:N with a number of processes"),
        (("--dask", "local:two"), "expected --dask local:N with a number of processes"),
        (("--dask", "local:2", "--workers", 2), "expected --workers or --dask, got both"),
        (("--dask", "tcp://127.0.0.1:1"), "expected a Dask scheduler at 'tcp://127.0.0.1:1', but nobody answers"),
        (("--dask", "nowhere"), "expected a Dask scheduler at 'nowhere', but nobody answers"),
        (("--timeout", 0), "timeout"),
        (("--timeout", "nan"), "timeout"),
        (("--max-seconds", 0), "max_seconds"),
        (("--max-seconds", -1), "max_seconds"),
        (("--on-error", "ignore"), "expected on_error"),
        (("--on-error", "retry:0"), "expected on_error"),
    ],
)
def test_other_ways_to_evaluate_are_refused(
    words: tuple[object, ...], says: str, cli: Cli, refused: Refused, score: str
) -> None:
    if words[0] == "--dask":
        pytest.importorskip("distributed", reason="the extra dask is not installed")
    refused(cli("solve", score, "--n", 12, *HOW, *words), says)


def test_time_is_a_limit(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\n\n\ndef f(row):\n    time.sleep(0.01)\n    return row.sum()\n")
    told = report(here("solve", f"{tmp_path}/slow.py:f", "--by-row", "--n", 30, *HOW, "--max-seconds", 0.2))
    assert told["stop"] == "seconds"
    assert 0 < told["evaluations"] < 40


# What is kept


def test_a_cache_keeps_values_under_a_name_and_a_version(here: Cli, score: str, tmp_path: Path) -> None:
    words = ("solve", score, "--n", 12, *HOW, "--cache", tmp_path / "scores.db", "--name", "score")
    first = report(here(*words))
    again = report(here(*words))
    assert (again["carried_out"], again["cached"]) == (0, first["evaluations"])
    assert report(here(*words, "--version", "2")) == first


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "expected a name for the values"),
        (("--name", ""), "name"),
        (("--name", "f", "--no-deduplicate"), "expected a cache or deduplicate=False, got both"),
    ],
)
def test_other_caches_are_refused(
    words: tuple[object, ...], says: str, here: Cli, refused: Refused, score: str, tmp_path: Path
) -> None:
    refused(here("solve", score, "--n", 12, *HOW, "--cache", tmp_path / "scores.db", *words), says)
    assert not (tmp_path / "scores.db").exists()
