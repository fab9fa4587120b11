"""`daedal compare`: several algorithms on one problem, over processes."""

from __future__ import annotations

import os
import statistics
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Cli, Refused, read_report
from process_helpers import has_ended, wait_until

import daedal

FIELDS = [
    *(
        "algorithm",
        "settings",
        "popsize",
        "runs",
        "solved",
        "best",
        "evaluations_to_best",
        "evaluations_to_best_sd",
        "cpu_seconds",
    ),
    *("cpu_seconds_per_evaluation", "results"),
]
ROW = [
    "seed",
    "fitness",
    "feasible",
    "violation",
    "success",
    "evaluations",
    "evaluations_to_best",
    "repeated",
    "batches",
    "generations",
]


def signed_in(folder: Path) -> list[int]:
    return [int(file.name.removeprefix("pid-")) for file in folder.glob("pid-*")]


def check_row(row: dict[str, Any], result: daedal.Result) -> None:
    assert {name: row[name] for name in ROW} == {name: getattr(result, name) for name in ROW}
    assert row["stop"] == result.stop.value
    assert set(row) == {*ROW, "stop", "cpu_seconds"}


def test_json_holds_the_runs_and_what_they_come_to(here: Cli) -> None:
    how = (
        "compare",
        "trap:k=4,n=12",
        "-a",
        "umda",
        "-a",
        "boa",
        "-a",
        "umda",
        "--popsize",
        50,
        "--runs",
        3,
        "--seed",
        7,
    )
    done = here(*how, "--json")
    report = read_report(done)
    assert done.stderr == ""
    assert list(report) == ["problem", "algorithms", "version"]
    assert (report["problem"], report["version"]) == ("trap:k=4,n=12", daedal.__version__)
    assert [one["algorithm"] for one in report["algorithms"]] == ["umda", "boa"]  # each once
    for one in report["algorithms"]:
        assert list(one) == FIELDS
        size = {"popsize": None}
        assert one["settings"] | size == daedal.algorithms()[one["algorithm"]].settings() | size
        rows = one["results"]
        assert (one["popsize"], one["runs"], [row["seed"] for row in rows]) == (50, 3, [7, 8, 9])
        for row in rows:
            check_row(row, daedal.maximize("trap:k=4,n=12", algorithm=one["algorithm"], popsize=50, seed=row["seed"]))
        to_best, cpu = [row["evaluations_to_best"] for row in rows], [row["cpu_seconds"] for row in rows]
        assert one["solved"] == sum(row["success"] for row in rows)
        assert one["best"] == pytest.approx(sum(row["fitness"] for row in rows) / 3)
        assert one["evaluations_to_best"] == pytest.approx(sum(to_best) / 3)
        assert one["evaluations_to_best_sd"] == pytest.approx(statistics.stdev(to_best))
        assert one["cpu_seconds"] == pytest.approx(sum(cpu) / 3)
        assert one["cpu_seconds_per_evaluation"] == pytest.approx(sum(cpu) / sum(row["evaluations"] for row in rows))


def test_a_function_in_a_file_on_two_workers(here: Cli, mine: Path) -> None:
    how = ("--n", 10, "-a", "umda", "-a", "pbil", "--popsize", 30, "--runs", 3, "--max-generations", 3, "--workers", 2)
    report = read_report(here("compare", f"{mine}:noted", *how, "--json"))
    for one in report["algorithms"]:
        assert one["solved"] is None
        ways: dict[str, Any] = {"algorithm": one["algorithm"], "popsize": 30, "max_generations": 3}
        for row in one["results"]:
            check_row(row, daedal.maximize(lambda x: x.sum(axis=1), 10, seed=row["seed"], **ways))
    pids = signed_in(mine.parent)
    assert pids
    assert os.getpid() not in pids
    wait_until(lambda: all(map(has_ended, pids)))


def test_settings_and_limits_are_for_all(here: Cli) -> None:
    how = ("-a", "boa", "-a", "umda", "--runs", 2, "--popsize", 30, "--set", "replacement=rtr", "--json")
    report = read_report(here("compare", "onemax:n=40", *how, "--max-evaluations", 70, "--target", 99))
    for one in report["algorithms"]:
        assert (one["settings"]["replacement"], one["solved"]) == ("rtr", 0)
        assert [row["stop"] for row in one["results"]] == ["evaluations", "evaluations"]
    plain = read_report(here("compare", "trap:k=4,n=12", *how, "--no-shuffle"))
    for row in plain["algorithms"][0]["results"]:  # boa with rtr is hboa
        check_row(row, daedal.maximize("trap:k=4,n=12", algorithm="hboa", popsize=30, seed=row["seed"], shuffle=False))


def test_functions_of_a_row_are_minimised_with_the_default_popsize(here: Cli, mine: Path) -> None:
    how = ("--n", 8, "-a", "umda", "--runs", 1, "--target", 0, "--by-row", "--minimize", "--json")
    (one,) = read_report(here("compare", f"{mine}:ones_of_a_row", *how))["algorithms"]
    assert (one["best"], one["solved"], one["evaluations_to_best_sd"]) == (0.0, 1, 0.0)
    assert one["popsize"] == daedal.maximize("onemax:n=8", algorithm="umda", seed=0).popsize


def test_the_table_for_eyes(here: Cli) -> None:
    done = here("compare", "onemax:n=10", "-a", "umda", "-a", "tree", "--popsize", 100, "--runs", 3)
    assert (done.returncode, done.stdout) == (0, "")
    assert "\x1b" not in done.stderr
    title, head, *lines = done.stderr.splitlines()
    assert title == "onemax:n=10, popsize 100, seeds 0-2"
    for word in ("algorithm", "solved", "mean best", "evaluations to best", "CPU s", "CPU us/eval"):
        assert word in head
    for line, name in zip(lines, ("umda", "tree"), strict=True):
        runs = [daedal.maximize("onemax:n=10", algorithm=name, popsize=100, seed=seed) for seed in range(3)]
        to_best = [run.evaluations_to_best for run in runs]
        solved = sum(run.success is True for run in runs)
        expected = [name, f"{solved}/3", "10", f"{statistics.fmean(to_best):,.0f}", f"{statistics.stdev(to_best):,.0f}"]
        assert line.split()[:5] == expected
        assert len(line.split()) == 7


def test_large_figures_are_not_cut_off(here: Cli, mine: Path) -> None:
    how = ("--n", 16, "-a", "umda", "-a", "dae-2015", "--popsize", 20_000, "--runs", 2, "--max-generations", 1)
    done = here("compare", f"{mine}:large", *how)
    assert done.returncode == 0
    assert "…" not in done.stderr
    assert "e+07" in done.stderr


REFUSED: list[tuple[tuple[object, ...], str]] = [
    (("onemax:n=10",), "--algorithm"),
    (("onemax:n=10", "-a", "umda", "--runs", 0), "--runs 0"),
    (("onemax:n=10", "-a", "umda", "--workers", 0), "--workers 0"),
    (("onemax:n=10", "-a", "umda", "--workers", "two"), "--workers"),
    (("onemax:n=10", "-a", "umda", "-a", "bao"), "'boa'"),
    (("onemax:n=10", "-a", "boa", "-a", "umda", "--set", "penalty=1"), "umda 'penalty'"),
    (("onemax:n=10", "-a", "boa", "--set", "max_parents=-1"), "max_parents=-1"),
    (("onemax:n=10", "-a", "umda", "--popsize", 1), "popsize=1"),
    (("onemax:n=10", "-a", "umda", "--seed", -1), "-1"),
    (("onemax:n=10", "-a", "umda", "--patience", 0), "patience=0"),
    (("onemax:n=10", "-a", "umda", "--n", 5), "n=5"),
    (("MINE:ones", "-a", "umda"), "--n"),
    (("MINE:raises", "--n", 5, "-a", "umda"), "RuntimeError: the simulator is down"),
    (("MINE:dies", "--n", 10, "-a", "umda", "--runs", 2, "--workers", 2), "process"),
]


@pytest.mark.parametrize(("words", "says"), REFUSED, ids=[" ".join(map(str, words)) for words, _ in REFUSED])
def test_bad_input_ends_with_one_line_and_code_2(
    words: tuple[object, ...], says: str, here: Cli, refused: Refused, mine: Path
) -> None:
    refused(here("compare", *(str(word).replace("MINE", str(mine)) for word in words), "--json"), says)


def test_a_worker_whose_objective_raises_ends_the_others(here: Cli, refused: Refused, mine: Path) -> None:
    """Of which one would stand for long."""
    how = ("--n", 10, "-a", "umda", "--popsize", 30, "--runs", 4, "--workers", 2, "--json")
    refused(here("compare", f"{mine}:first_stands", *how), "RuntimeError: the simulator is down")
    pids = signed_in(mine.parent)
    assert len(pids) == 2
    wait_until(lambda: all(map(has_ended, pids)))


# Ctrl-C

INTERRUPTED = ("--n", 10, "-a", "umda", "-a", "tree", "--popsize", 20, "--runs", 5, "--max-generations", 1)


def test_ctrl_c_prints_what_has_finished(interrupted: Cli, mine: Path) -> None:
    """Each run calls the objective twice: each of two workers has finished two runs, and is in a third."""
    done = interrupted("compare", f"{mine}:stands", *INTERRUPTED, "--workers", 2, "--json", standing=2, STAND_AT="6")
    assert done.stderr == ""
    report = read_report(done, code=130)
    rows = [(one["algorithm"], row) for one in report["algorithms"] for row in one["results"]]
    assert len(rows) == 4
    assert [one["runs"] for one in report["algorithms"]] == [len(one["results"]) for one in report["algorithms"]]
    for name, row in rows:
        how: dict[str, Any] = {"algorithm": name, "popsize": 20, "seed": row["seed"], "max_generations": 1}
        check_row(row, daedal.maximize(lambda x: x.sum(axis=1), 10, **how))


def test_ctrl_c_shows_a_table_of_what_has_finished(interrupted: Cli, mine: Path) -> None:
    """Two runs have, one of each algorithm, and a third begins."""
    done = interrupted("compare", f"{mine}:stands", *INTERRUPTED, STAND_AT="5")
    assert (done.returncode, done.stdout) == (130, "")
    assert [line.split()[:2] for line in done.stderr.splitlines()[2:]] == [["umda", "1"], ["tree", "1"]]


SITE = """
import os, pathlib, sys, time
if "--multiprocessing-fork" in sys.orig_argv:
    (pathlib.Path(__file__).parent / f"pid-{os.getpid()}").touch()
    time.sleep(1000)
"""


@pytest.mark.parametrize("workers", [1, 2], ids=["in the first run", "while the workers start"])
def test_ctrl_c_before_anything_has_finished_ends_quietly(interrupted: Cli, mine: Path, workers: int) -> None:
    variables = {"STAND_AT": "1"}
    if workers == 2:
        (mine.parent / "sitecustomize.py").write_text(SITE)
        variables["PYTHONPATH"] = os.pathsep.join([str(mine.parent), os.environ.get("PYTHONPATH", "")])
    words = ("compare", f"{mine}:stands", *INTERRUPTED, "--workers", workers)
    done = interrupted(*words, standing=workers, **variables)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
