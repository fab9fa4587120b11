"""Constraints from the entry points: files, programs, problems, run files, comparisons and studies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import Cli, read_report

import daedal

FILE = """
import numpy as np

def sack(x):
    return x.sum(axis=1), x @ np.arange(1, 13) - 20

def never(x):
    return x.sum(axis=1), np.column_stack([1 + x.sum(axis=1), -x[:, 0]])
"""
WORDS = ("--n", 12, "--seed", 1, "--max-evaluations", 300)
PAIRS = (*WORDS, "--violations")


class Sack:
    """A problem with a method of its own for violations."""

    n = 12
    optimum = 5.0  # 1 + 2 + 3 + 4 + 5 <= 20

    def evaluate(self, x: Any) -> Any:
        return x.sum(axis=1)

    def violations(self, x: Any) -> Any:
        return (x @ np.arange(1, 13) - 20)[:, None]


def test_a_file_and_a_program_give_pairs(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text(FILE)
    (tmp_path / "f.awk").write_text(
        "{ v = 0; w = -20; for (i = 1; i <= length($0); i++) if (substr($0, i, 1) == 1) { v++; w += i } print v, w }"
    )
    file = read_report(here("solve", f"{tmp_path}/f.py:sack", *PAIRS, "--json"))
    program = read_report(here("solve", f"cmd:awk -f {tmp_path}/f.awk", *PAIRS, "--json"))
    assert (file["fitness"], file["feasible"], file["violation"], file["violations"]) == (5.0, True, 0.0, [0.0])
    assert {**program, **{name: file[name] for name in ("problem", "seconds", "cpu_seconds")}} == file
    for unannounced in (f"{tmp_path}/f.py:sack", f"cmd:awk -f {tmp_path}/f.awk"):
        done = here("solve", unannounced, *WORDS)
        assert done.returncode == 2
        assert "return or print the objective value alone" in done.stderr
        assert "--violations" in done.stderr


def test_comparisons_and_studies_know_of_violations(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text(FILE)
    how = ("-a", "umda", "--popsize", 20, "--runs", 2, "--json", *PAIRS)
    assert here("compare", f"{tmp_path}/f.py:sack", *how).returncode == 0
    (tmp_path / "study.toml").write_text(
        "runs = 2\npopsizes = [20]\nalgorithms = ['umda']\n"
        "problems = [{ problem = 'f.py:sack', n = 12, target = 5, violations = true }]\n"
    )
    words = ("study", "run", tmp_path / "study.toml", "--store", tmp_path / "s.db", "--workers", 1)
    assert here(*words).returncode == 0
    found = json.loads(here("study", "status", "--store", tmp_path / "s.db", "--json").stdout)
    assert (found["done"], found["failed"]) == (2, 0)


def test_a_run_that_finds_nothing_feasible_says_by_how_much(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text(FILE)
    report = read_report(here("solve", f"{tmp_path}/f.py:never", *PAIRS, "--json"), code=3)
    assert (report["x"], report["feasible"], report["violation"]) == ("0" * 12, False, 1.0)
    assert report["violations"] == [1.0, 0.0]
    shown = here("solve", f"{tmp_path}/f.py:never", *PAIRS)
    assert shown.returncode == 3
    assert "not feasible, by 1 in total: 1 of constraint 1" in shown.stderr
    assert "e+2" not in shown.stderr


def test_a_problem_with_violations_is_solved_only_by_what_is_feasible() -> None:
    result = daedal.maximize(Sack(), seed=1, max_evaluations=300)
    assert (result.fitness, result.success, result.feasible) == (5.0, True, True)
    assert daedal.minimize(Sack(), seed=1, max_evaluations=50).fitness == 0.0


def test_a_resumed_run_needs_its_constraints_again(tmp_path: Path) -> None:
    run: dict[str, Any] = {"seed": 1, "max_evaluations": 200, "algorithm": "mix"}
    kept = [lambda x: x @ np.arange(1, 13) - 20]
    whole = daedal.maximize(lambda x: x.sum(axis=1), 12, constraints=kept, **run)
    path = tmp_path / "c"
    stopped = {"run": path, "callback": lambda record: record.generation == 2}
    daedal.maximize(lambda x: x.sum(axis=1), 12, constraints=kept, **run, **stopped)
    with pytest.raises(ValueError, match=r"give the 1 constraints of the run again.*got 0"):
        daedal.resume(path, lambda x: x.sum(axis=1))
    again = daedal.resume(path, lambda x: x.sum(axis=1), constraints=kept)
    assert (again.x.tolist(), again.evaluations) == (whole.x.tolist(), whole.evaluations)


def test_initial_values_without_violations_are_not_believed() -> None:
    rows = np.ones((1, 12), dtype=np.uint8)
    with pytest.warns(daedal.BudgetWarning, match="the initial candidates are evaluated"):
        result = daedal.maximize(Sack(), seed=1, max_evaluations=300, initial=(rows, np.array([99.0])))
    assert result.fitness == 5.0


@pytest.mark.parametrize("given", ["g", [3], lambda x: x])
def test_constraints_are_a_list_of_functions(given: Any) -> None:
    with pytest.raises(TypeError, match="expected a list of functions as constraints"):
        daedal.maximize(lambda x: x.sum(axis=1), 12, constraints=given, max_evaluations=10)
