"""`--noisy` and `--repeats` from the command line: what is said, for eyes and for programs, and how a run goes on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli_helpers import Cli, read_report, timeless

NOISY = """
import numpy as np

calls = 0

def ones(x):
    global calls
    first, calls = calls, calls + len(x)
    return x.sum(axis=1) + [np.random.default_rng(call).normal() for call in range(first, calls)]
"""
HOW = ("--n", 20, "--seed", 1, "--max-evaluations", 400)


@pytest.fixture
def problem(tmp_path: Path) -> str:
    (tmp_path / "scattering.py").write_text(NOISY)
    return f"{tmp_path / 'scattering.py'}:ones"


def test_a_report_has_the_error_of_its_mean(cli: Cli, problem: str) -> None:
    report = read_report(cli("solve", problem, *HOW, "--repeats", 25, "--json"))
    assert report["x"].count("1") == 20
    assert report["measurements"] >= 25
    assert abs(report["fitness"] - 20) < 4 * report["standard_error"] < 4
    assert (report["evaluations"], report["repeated"], report["success"]) == (400, 0, None)
    exact = read_report(cli("solve", "onemax:n=10", "--seed", 1, "--json"))
    assert (exact["standard_error"], exact["measurements"]) == (None, 1)


def test_eyes_see_it_too(cli: Cli, problem: str) -> None:
    done = cli("solve", problem, *HOW, "--noisy", "--algorithm", "umda")
    said = re.search(r"fitness (\d+\.\d+) \+- (\d+\.\d+), mean of (\d+)", done.stderr)
    assert said is not None, done.stderr
    assert float(said[1]) == pytest.approx(20, abs=1)
    assert 0 < float(said[2]) < 1
    assert int(said[3]) >= 10


def test_the_same_again_and_from_a_checkpoint_that_is_complete(cli: Cli, problem: str, tmp_path: Path) -> None:
    words = ("solve", problem, *HOW, "--noisy", "--json")
    first = read_report(cli(*words, "--checkpoint", tmp_path / "run.ckpt"))
    assert timeless(read_report(cli(*words))) == timeless(first)
    again = read_report(cli("resume", tmp_path / "run.ckpt", problem, "--json"))
    assert timeless(again) == timeless(first)
