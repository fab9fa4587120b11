"""Spaces on the command line: a file of variables, functions and programs, studies."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Cli, Refused, read_report, timeless

ROOT = Path(__file__).parents[2]
BUILD = f"cmd:{sys.executable} {ROOT / 'examples' / 'external' / 'build.py'}"
SPACE = ROOT / "examples" / "external" / "build.toml"
FUNCTION = """\
import numpy as np

def f(values):
    order = values["order"] == np.array(["parse", "check", "link"])
    return (values["level"] == "-O3") * 5 - abs(values["threads"] - 40) + values["lto"] + order.sum(axis=1) + (
        values["passes"] @ np.array([3, 1, -1, 2])
    )

def by_row(value):
    return len(value["passes"]) + value["threads"] - (value["order"][0] == "link")

def broken(values):
    return values["speed"]
"""
BEST = {"level": "-O3", "threads": 40, "lto": True, "passes": ["inline", "fold"], "order": ["parse", "check", "link"]}


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(FUNCTION)
    return path


def test_a_program_gets_one_json_object_per_line(here: Cli) -> None:
    words = ["solve", BUILD, "--space", SPACE, "--minimize", "--seed", 1, "-a", "umda", "--popsize", 50, "--json"]
    words += ["--max-generations", 3]
    report = read_report(here(*words, "--persistent"))
    assert set(report["best"]) == {"level", "threads", "lto", "passes", "order"}
    for extra in ([], ["--workers", 2]):
        assert timeless(read_report(here(*words, *extra))) == timeless(report)


def test_functions_get_columns_or_one_dict(here: Cli, mine: Path) -> None:
    words = ["--space", SPACE, "--seed", 1, "--max-evaluations", 800, "--json"]
    report = read_report(here("solve", f"{mine}:f", *words))
    assert (report["best"], report["fitness"]) == (BEST, 14)
    report = read_report(here("solve", f"{mine}:by_row", "--by-row", *words))
    assert report["fitness"] == 66
    assert len(report["best"]["passes"]) == 2


def test_a_result_for_people_has_names_and_values(here: Cli, mine: Path) -> None:
    done = here("solve", f"{mine}:f", "--space", SPACE, "--seed", 1, "--max-evaluations", 800)
    assert (done.returncode, done.stdout) == (0, "")
    lines = [line.split() for line in done.stderr.splitlines()]
    assert ["best", "level", "-O3"] in lines
    assert ["passes", "inline", "fold"] in lines


def test_a_run_continues_in_its_space(here: Cli, mine: Path, tmp_path: Path) -> None:
    words, path = ("solve", f"{mine}:f", "--space", SPACE, "--seed", 2, "--json"), tmp_path / "run.db"
    whole = read_report(here(*words, "--max-evaluations", 300))
    assert read_report(here(*words, "--max-evaluations", 100, "--run", path))["evaluations"] == 100
    again = read_report(here("resume", path, f"{mine}:f", "--max-evaluations", 300, "--json"))
    assert again["evaluations"] == whole["evaluations"] == 300
    assert set(again["best"]) == set(BEST)


def test_initial_values_come_as_json_lines(here: Cli, mine: Path, tmp_path: Path) -> None:
    path = tmp_path / "start.jsonl"
    path.write_text(json.dumps(BEST) + "\n\n" + json.dumps({**BEST, "lto": False}) + "\n")
    words = ["solve", f"{mine}:f", "--space", SPACE, "--seed", 1, "--initial", path, "--json"]
    assert read_report(here(*words, "--max-evaluations", 2))["best"] == BEST
    path.write_text(json.dumps({**BEST, "fitness": 99}) + "\n")
    assert read_report(here(*words, "--max-evaluations", 3))["fitness"] == 99


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--n", 5], "--n"),
        (["--space", "nowhere.toml"], "nowhere.toml"),
        (["--space", "empty.toml"], "empty.toml"),
        (["--initial", "odd.jsonl"], "odd.jsonl"),
        (["--initial", "wrong.jsonl"], "threads"),
        (["--initial", "half.jsonl"], "fitness"),
        (["--initial", "list.jsonl"], "list.jsonl"),
    ],
)
def test_bad_input_is_refused(
    here: Cli,
    refused: Refused,
    mine: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[Any],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.toml").write_text("")
    Path("odd.jsonl").write_text("{")
    Path("list.jsonl").write_text("[1]")
    Path("wrong.jsonl").write_text(json.dumps({**BEST, "threads": 65}))
    Path("half.jsonl").write_text(json.dumps(BEST) + "\n" + json.dumps({**BEST, "fitness": 1}))
    space = [] if "--space" in words else ["--space", SPACE]
    refused(here("solve", f"{mine}:f", *space, *words), said)


def test_a_space_that_does_not_fit_is_refused(here: Cli, refused: Refused, mine: Path, tmp_path: Path) -> None:
    refused(here("solve", f"{mine}:broken", "--space", SPACE, "--seed", 1), "speed")
    refused(here("solve", "onemax:n=10", "--space", SPACE), "space")
    other = tmp_path / "other.toml"
    other.write_text('[speed]\ntype = "flag"\n')
    refused(here("solve", BUILD, "--space", other, "--seed", 1), "speed")


def test_compare_and_studies_take_a_space(here: Cli, mine: Path, tmp_path: Path) -> None:
    words = ["compare", f"{mine}:f", "--space", SPACE, "-a", "ils", "-a", "umda", "--runs", 2]
    report = read_report(here(*words, "--max-evaluations", 200, "--json"))
    assert {row["algorithm"] for row in report["algorithms"]} == {"ils", "umda"}
    (tmp_path / "space.toml").write_text(SPACE.read_text())
    study, store = tmp_path / "study.toml", tmp_path / "results.db"
    study.write_text(
        'runs = 2\nbudgets = [200]\nalgorithms = ["ils", "umda"]\n'
        '[[problems]]\nname = "mine"\nproblem = "mine.py:f"\nspace = "space.toml"\ntarget = 14\n'
        '[[problems]]\nname = "inline"\nproblem = "mine.py:by_row"\nby_row = true\n'
        'space = {threads = {type = "integer", low = 1, high = 9}, passes = {type = "subset", items = 2}, '
        'order = {type = "choice", values = ["link", "parse"]}}\n'
    )
    done = here("study", "run", study, "--store", store, "--workers", 1)
    assert done.returncode == 0, done.stderr
    rows = json.loads(here("study", "export", "--store", store, "--format", "json").stdout)
    assert len(rows) == 8
    assert all(set(json.loads(row["x"])) == set(BEST) for row in rows if row["problem"] == "mine")
    assert all(row["best"] == 11 for row in rows if row["problem"] == "inline")
