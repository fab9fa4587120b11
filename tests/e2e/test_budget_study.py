"""Studies with budgets and `daedal compare --budget`: killed and resumed, tables, export, figures, JSON."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import Cli, Refused, read_report, timeless
from process_helpers import wait_until
from scipy import stats
from study_helpers import SLOW_OBJECTIVE, Inline, stored
from study_helpers import timeless as timeless_rows

import daedal
from daedal.studies.runner import Order, run_study
from daedal.studies.spec import Study
from daedal.studies.store import COLUMNS, Store
from daedal.studies.tables import BUDGET_COLUMNS

STUDY = """
runs = 8
budgets = [100, 300]
problems = [{ name = "slow", problem = "slow.py:ones", n = 16, target = 16 }, "trap:k=4,n=12"]
algorithms = [{ algorithm = "umda", popsizes = [20] }, { name = "PBIL", algorithm = "pbil", popsizes = [10] }]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, plain_environment: dict[str, str]) -> Path:
    """A folder with a study that was killed in the middle, all processes at once, and then run to its end."""
    place = tmp_path_factory.mktemp("budgets")
    (place / "slow.py").write_text(SLOW_OBJECTIVE)
    (place / "study.toml").write_text(STUDY)
    words = ["study", "run", "study.toml", "--store", "results.db", "--workers", "1"]
    command = [sys.executable, "-m", "daedal", *words]
    how: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "cwd": place}
    process = subprocess.Popen(command, env=plain_environment | {"HOLD": "30"}, start_new_session=True, **how)
    try:
        wait_until(lambda: list(place.glob("pid-*")) or process.poll() is not None)
        assert process.poll() is None, process.communicate()
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    before = stored(place / "results.db")
    assert 0 < len(before) < 64
    done = subprocess.run(command, env=plain_environment, check=False, timeout=90, **how)
    assert done.returncode == 0, done.stderr
    assert (
        done.stderr.splitlines()[-1]
        == f"{64 - len(before)} runs made; {len(before)} of this study were in results.db before"
    )
    after = stored(place / "results.db")
    assert before.items() <= after.items()  # nothing was made twice
    return place


def test_what_was_killed_ends_as_if_it_never_was(folder: Path, here: Any, tmp_path: Path) -> None:
    with Store(tmp_path / "calm.db") as store:
        run_study(Study.from_file(folder / "study.toml"), store, Order(), pool=Inline())
    assert timeless_rows(stored(folder / "results.db")) == timeless_rows(stored(tmp_path / "calm.db"))
    shown = []
    for path in (folder / "results.db", tmp_path / "calm.db"):
        lines = json.loads(here("study", "table", "--store", path, "--format", "json").stdout)
        shown.append([{key: line[key] for key in line if "seconds" not in key} for line in lines])
    assert shown[0] == shown[1]


def test_each_run_is_that_of_its_seed_with_its_budget(folder: Path) -> None:
    rows = stored(folder / "results.db").values()
    for row in [row for row in rows if row["problem"] == "trap:k=4,n=12"][::3]:
        how = {"algorithm": row["preset"], "popsize": row["popsize"], "seed": row["seed"]}
        result = daedal.maximize("trap:k=4,n=12", max_evaluations=row["budget"], **how)
        assert (row["best"], row["evaluations"], row["stop"]) == (
            result.fitness,
            result.evaluations,
            result.stop.value,
        )
        assert row["evaluations"] <= row["budget"]


def test_the_table_has_what_the_runs_say(folder: Path, here: Any) -> None:
    lines = json.loads(here("study", "table", "--store", folder / "results.db", "--format", "json").stdout)
    assert [list(line) for line in lines] == [list(BUDGET_COLUMNS)] * 8
    rows = list(stored(folder / "results.db").values())
    names = {"umda": "umda", "PBIL": "pbil"}
    found = {}
    for line in lines:
        place = (line["problem"], line["budget"], names[line["algorithm"]])
        of_cell = [row for row in rows if (row["problem"], row["budget"], row["preset"]) == place]
        best, calls = [row["best"] for row in of_cell], [row["evaluations"] for row in of_cell]
        found[place] = {row["seed"]: row["best"] for row in of_cell}
        assert (line["runs"], line["complete"], line["failed"]) == (8, True, 0)
        assert (line["best"], line["best_sd"]) == pytest.approx((statistics.fmean(best), statistics.stdev(best)))
        quartiles = [line[f"best_{name}"] for name in ("q1", "median", "q3")]
        assert quartiles == pytest.approx(np.percentile(best, [25, 50, 75]).tolist())
        solved = sum(row["success"] for row in of_cell)
        assert line["solved"] == solved
        assert line["ert"] == (sum(calls) / solved if solved else None)
        assert line["evaluations"] == statistics.fmean(calls)
    for line in lines:
        pair = [found[line["problem"], line["budget"], name] for name in ("umda", "pbil")]
        one, other = ([of_one[seed] for seed in range(8)] for of_one in pair)
        assert line["best_p"] == pytest.approx(stats.wilcoxon(one, other).pvalue if one != other else 1.0)


def test_every_way_to_look_at_it(folder: Path, here: Any, tmp_path: Path) -> None:
    store = folder / "results.db"
    for form, sign in (("rich", "mean best"), ("markdown", "| mean best |"), ("latex", r"\begin{tabular}")):
        done = here("study", "table", "--store", store, "--format", form)
        assert (done.returncode, done.stderr) == (0, "")
        for word in (sign, "slow", "trap:k=4,n=12", "PBIL", "all problems"):
            assert word in done.stdout
    lines = list(csv.DictReader(io.StringIO(here("study", "table", "--store", store, "--format", "csv").stdout)))
    assert [line["budget"] for line in lines] == ["100", "100", "300", "300"] * 2
    exported = list(csv.DictReader(io.StringIO(here("study", "export", "--store", store).stdout)))
    assert list(exported[0]) == list(COLUMNS)
    assert sorted(row["budget"] for row in exported) == ["100"] * 32 + ["300"] * 32
    status = json.loads(here("study", "status", "--store", store, "--json").stdout)
    assert (status["done"], status["left"]) == (64, 0)
    assert [cell["budget"] for cell in status["cells"]] == [100, 300] * 4
    assert "budget" in here("study", "status", "--store", store).stdout
    done = here("study", "plot", "--store", store, "-o", tmp_path / "figures", "--problem", "slow")
    assert done.returncode == 0, done.stderr
    names = ("anytime.png", "anytime.svg", "slow-convergence.png", "slow-convergence.svg")
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == list(names)


def test_what_makes_no_sense_with_budgets_is_one_line(
    folder: Path, here: Any, refused: Refused, tmp_path: Path
) -> None:
    refused(here("study", "table", "--store", folder / "results.db", "--sizes"), "--sizes, got one with budgets")
    run = ("study", "run", tmp_path / "study.toml", "--store", tmp_path / "new.db")
    base = 'problems = ["onemax:n=8"]\nalgorithms = ["umda"]\n'
    for text, says in (
        ("budgets = []\n", "budgets to be a list of at least one number of evaluations"),
        ("budgets = [100, 0]\n", "a budget to be a whole number of at least 1"),
        ("budgets = [100]\npopsizes = [20, 30]\n", "looks for no population size"),
        ("budgets = [100]\nlimits = { max_evaluations = 5 }\n", "got both"),
    ):
        (tmp_path / "study.toml").write_text(base + text)
        refused(here(*run), says)
    (tmp_path / "study.toml").write_text(f"{base}budgets = [100]\nruns = 1\n")
    refused(here(*run, "--confirm", 5), "leave out --confirm")


# compare --budget


def test_compare_gives_all_of_it_as_json(here: Cli) -> None:
    how = ("-a", "umda", "-a", "pbil", "--popsize", 20, "--runs", 8, "--seed", 3, "--budget", 300, "--budget", 100)
    problems = ("onemax:n=12", "trap:k=4,n=12")
    report = read_report(here("compare", *problems, *how, "--json"))
    assert list(report) == ["problems", "budgets", "algorithms", "test", "holm", "cells", "ranks", "version"]
    assert (report["problems"], report["budgets"]) == (list(problems), [100, 300])
    assert (report["test"], report["holm"]) == ("signed-rank", False)
    places = [(cell["problem"], cell["budget"], cell["algorithm"]) for cell in report["cells"]]
    assert places == [(p, b, a) for p in problems for b in (100, 300) for a in ("umda", "pbil")]
    for cell in report["cells"]:
        assert list(cell) == [*BUDGET_COLUMNS, "results"]
        results = cell["results"]
        assert [row["seed"] for row in results] == list(range(3, 11))
        for row in results[::4]:
            ways = {"algorithm": cell["algorithm"], "popsize": 20, "seed": row["seed"]}
            result = daedal.maximize(cell["problem"], max_evaluations=cell["budget"], **ways)
            assert (row["fitness"], row["evaluations"], row["batches"]) == (
                result.fitness,
                result.evaluations,
                result.batches,
            )
        assert max(row["evaluations"] for row in results) <= cell["budget"]
        best = [row["fitness"] for row in results]
        assert (cell["best"], cell["best_median"]) == pytest.approx((statistics.fmean(best), statistics.median(best)))
        solved = sum(row["success"] for row in results)
        assert cell["solved"] == solved
        assert cell["ert"] == (sum(row["evaluations"] for row in results) / solved if solved else None)
        assert cell["popsize"] == 20
    for mean in report["ranks"]:
        of_both = [c["rank"] for c in report["cells"] if all(c[key] == mean[key] for key in ("budget", "algorithm"))]
        assert mean["rank"] == statistics.fmean(of_both)
    spread = read_report(here("compare", *problems, *how, "--json", "--workers", 2))
    clocks = {"cpu_seconds_sd"}
    for one in (report, spread):
        for cell in one["cells"]:
            for name in clocks:
                del cell[name]
    assert timeless(spread) == timeless(report)  # whatever the number of workers


def test_compare_on_a_function_of_the_user_that_is_minimised(here: Cli, mine: Path) -> None:
    how = ("--n", 8, "-a", "umda", "--runs", 2, "--by-row", "--minimize", "--popsize", 10, "--budget", 60)
    (cell,) = read_report(here("compare", f"{mine}:ones_of_a_row", *how, "--json"))["cells"]
    assert (cell["solved"], cell["ert"], cell["spec"]) == (None, None, "mine.py:ones_of_a_row")
    shown = here("compare", f"{mine}:ones_of_a_row", *how, "--target", 0)
    assert (shown.returncode, shown.stdout) == (0, "")
    assert "mean best" in shown.stderr
    assert f"{cell['best']:g}" in shown.stderr


def test_ctrl_c_shows_what_has_finished(interrupted: Cli, mine: Path) -> None:
    """Each run calls the objective five times or six: two have ended, one of each algorithm, and a third has begun."""
    how = ("--n", 40, "-a", "umda", "-a", "tree", "--popsize", 20, "--runs", 5, "--budget", 60)
    done = interrupted("compare", f"{mine}:stands", *how, "--json", STAND_AT="14")
    report = read_report(done, code=130)
    assert [(cell["runs"], cell["complete"], cell["rank"]) for cell in report["cells"]] == [(1, False, None)] * 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--budget", 0), "--budget 0"),
        (("--budget", "many"), "--budget"),
        (("--budget", 10, "--max-evaluations", 5), "got both"),
        (("hiff:n=8",), "one problem, or --budget"),
        (("hiff:n=9", "--budget", 5), "n=9"),
    ],
)
def test_bad_input_ends_with_one_line(words: tuple[object, ...], says: str, here: Cli, refused: Refused) -> None:
    refused(here("compare", "onemax:n=10", "-a", "umda", *words, "--json"), says)
