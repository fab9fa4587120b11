"""`daedal compare`: several algorithms on one problem or on several, over processes."""

from __future__ import annotations

import os
import statistics
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Cli, Refused, read_report, timeless
from process_helpers import has_ended, wait_until

import daedal
from daedal.studies.tables import BUDGETS

SAME = ("seed", "fitness", "feasible", "violation", "success", "popsize", "evaluations", "evaluations_to_best")
SAME = (*SAME, "repeated", "batches", "generations")
CLOCKS = {"cpu_seconds_sd", "cpu_us_per_evaluation"}


def signed_in(folder: Path) -> list[int]:
    return [int(file.name.removeprefix("pid-")) for file in folder.glob("pid-*")]


def check_run(run: dict[str, Any], result: daedal.Result) -> None:
    assert {name: run[name] for name in SAME} == {name: getattr(result, name) for name in SAME}
    assert run["stop"] == result.stop.value


@pytest.mark.parametrize("budgets", [(), (300, 100)], ids=["to the target", "with budgets"])
def test_json_holds_the_runs_and_what_they_come_to(here: Cli, budgets: tuple[int, ...]) -> None:
    problems = ("onemax:n=12", "trap:k=4,n=12")
    how = ("-a", "umda", "-a", "pbil", "-a", "umda", "--popsize", 20, "--runs", 3, "--seed", 7)
    words = (*problems, *how, *(word for budget in budgets for word in ("--budget", budget)), "--json")
    report = read_report(here("compare", *words))
    assert list(report) == ["problems", "budgets", "algorithms", "test", "holm", "cells", "ranks", "version"]
    assert (report["problems"], report["budgets"]) == (list(problems), sorted(budgets))
    assert (report["test"], report["holm"], report["version"]) == ("signed-rank", False, daedal.__version__)
    assert [one["algorithm"] for one in report["algorithms"]] == ["umda", "pbil"]  # each once
    places = [(cell["problem"], cell["budget"], cell["algorithm"]) for cell in report["cells"]]
    each = sorted(budgets) or [None]
    assert places == [(p, b, a) for p in problems for b in each for a in ("umda", "pbil")]
    for cell in report["cells"]:
        assert list(cell) == [*(column.name for column in BUDGETS), "results"]
        runs = cell["results"]
        assert ([run["seed"] for run in runs], cell["popsize"]) == ([7, 8, 9], 20)
        ways = {"algorithm": cell["algorithm"], "popsize": 20, "max_evaluations": cell["budget"]}
        check_run(runs[0], daedal.maximize(cell["problem"], seed=7, **ways))
        best = [run["fitness"] for run in runs]
        assert (cell["best"], cell["median"]) == pytest.approx((statistics.fmean(best), statistics.median(best)))
        assert cell["evaluations_to_best"] == statistics.fmean(run["evaluations_to_best"] for run in runs)
        assert cell["cpu_seconds"] == pytest.approx(statistics.fmean(run["cpu_seconds"] for run in runs))
        solved = sum(run["success"] for run in runs)
        assert cell["solved"] == solved
        assert cell["ert"] == (pytest.approx(sum(run["evaluations"] for run in runs) / solved) if solved else None)
    for mean in report["ranks"]:
        ranks = [c["rank"] for c in report["cells"] if all(c[key] == mean[key] for key in ("budget", "algorithm"))]
        assert mean["rank"] == statistics.fmean(ranks)
    spread = read_report(here("compare", *words, "--workers", 2))
    for one in (report, spread):
        one["cells"] = [{name: value for name, value in cell.items() if name not in CLOCKS} for cell in one["cells"]]
    assert timeless(spread) == timeless(report)  # whatever the number of workers


def test_a_function_in_a_file_on_two_workers(here: Cli, mine: Path) -> None:
    how = ("--n", 10, "-a", "umda", "-a", "pbil", "--popsize", 30, "--runs", 3, "--max-generations", 3, "--workers", 2)
    report = read_report(here("compare", f"{mine}:noted", *how, "--json"))
    for cell in report["cells"]:
        assert (cell["solved"], cell["ert"], cell["spec"]) == (None, None, "mine.py:noted")
        ways: dict[str, Any] = {"algorithm": cell["algorithm"], "popsize": 30, "max_generations": 3}
        for run in cell["results"]:
            check_run(run, daedal.maximize(lambda x: x.sum(axis=1), 10, seed=run["seed"], **ways))
    pids = signed_in(mine.parent)
    assert pids
    assert os.getpid() not in pids
    wait_until(lambda: all(map(has_ended, pids)))


def test_settings_and_limits_are_for_all(here: Cli, mine: Path) -> None:
    how = ("-a", "boa", "-a", "umda", "--runs", 2, "--popsize", 30, "--set", "replacement=rtr", "--json")
    report = read_report(here("compare", "onemax:n=40", *how, "--max-evaluations", 70, "--target", 99))
    for algorithm, cell in zip(report["algorithms"], report["cells"], strict=True):
        assert (algorithm["settings"]["replacement"], cell["solved"]) == ("rtr", 0)
        assert [run["stop"] for run in cell["results"]] == ["evaluations", "evaluations"]
    plain = read_report(here("compare", "trap:k=4,n=12", *how, "--no-shuffle"))
    for run in plain["cells"][0]["results"]:  # boa with rtr is hboa
        check_run(run, daedal.maximize("trap:k=4,n=12", algorithm="hboa", popsize=30, seed=run["seed"], shuffle=False))
    how = ("--n", 8, "-a", "umda", "--runs", 1, "--target", 0, "--by-row", "--minimize", "--json")
    (cell,) = read_report(here("compare", f"{mine}:ones_of_a_row", *how))["cells"]
    assert (cell["best"], cell["solved"], cell["best_sd"]) == (0.0, 1, 0.0)


def test_the_table_for_eyes(here: Cli, mine: Path) -> None:
    done = here("compare", "onemax:n=10", "-a", "umda", "-a", "tree", "--popsize", 100, "--runs", 3)
    assert (done.returncode, done.stdout) == (0, "")
    assert "\x1b" not in done.stderr
    title, _, head, _, problem, *lines = done.stderr.splitlines()
    assert (title, problem) == ("seeds 0-2", "onemax:n=10")
    assert all(word in head for word in ("Algorithm", "mean best", "solved", "to best", "CPU s"))
    for line, name in zip(lines, ("umda", "tree"), strict=False):
        runs = [daedal.maximize("onemax:n=10", algorithm=name, popsize=100, seed=seed) for seed in range(3)]
        to_best = [run.evaluations_to_best for run in runs]
        solved = sum(run.success is True for run in runs)
        assert line.split()[:4] == [name, "10", "±", "0"]
        assert f" {solved}/3 " in line
        assert f" {statistics.fmean(to_best):,.0f} ± {statistics.stdev(to_best):,.0f} " in line
    how = ("--n", 16, "-a", "umda", "--popsize", 200, "--runs", 2, "--max-generations", 1)
    assert "e+07" in here("compare", f"{mine}:large", *how).stderr  # large figures are not cut off


REFUSED: list[tuple[tuple[object, ...], str]] = [
    (("onemax:n=10",), "--algorithm"),
    (("onemax:n=10", "-a", "umda", "--runs", 0), "'--runs'"),
    (("onemax:n=10", "-a", "umda", "--workers", 0), "'--workers'"),
    (("onemax:n=10", "-a", "umda", "--budget", 0), "'--budget'"),
    (("onemax:n=10", "-a", "umda", "--budget", 10, "--max-evaluations", 5), "cannot be combined"),
    (("onemax:n=10", "-a", "umda", "-a", "bao"), "'boa'"),
    (("onemax:n=10", "-a", "boa", "-a", "umda", "--set", "penalty=1"), "umda 'penalty'"),
    (("onemax:n=10", "-a", "umda", "--popsize", 1), "popsize=1"),
    (("onemax:n=10", "-a", "umda", "--seed", -1), "-1"),
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


def test_a_warning_comes_once_for_each_algorithm(here: Cli) -> None:
    words = ("--runs", 3, "--max-evaluations", 100, "--popsize", 80, "--json")
    done = here("compare", "onemax:n=30", "-a", "umda", "-a", "pbil", *words)
    assert [line[:14] for line in done.stderr.splitlines()] == ["warning: umda:", "warning: pbil:"]


# Ctrl-C

INTERRUPTED = ("--n", 10, "-a", "umda", "-a", "tree", "--popsize", 20, "--runs", 5, "--max-generations", 1)


def test_ctrl_c_prints_what_has_finished(interrupted: Cli, mine: Path) -> None:
    """Each run calls the objective twice: each of two workers has finished two runs, and is in a third."""
    done = interrupted("compare", f"{mine}:stands", *INTERRUPTED, "--workers", 2, "--json", standing=2, STAND_AT="6")
    assert done.stderr == ""
    report = read_report(done, code=130)
    runs = [(cell["algorithm"], run) for cell in report["cells"] for run in cell["results"]]
    assert len(runs) == sum(cell["runs"] for cell in report["cells"]) == 4
    assert [(cell["complete"], cell["rank"]) for cell in report["cells"]] == [(False, None)] * 2
    for name, run in runs:
        how: dict[str, Any] = {"algorithm": name, "popsize": 20, "seed": run["seed"], "max_generations": 1}
        check_run(run, daedal.maximize(lambda x: x.sum(axis=1), 10, **how))


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
