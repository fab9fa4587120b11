"""`daedal solve --json --history`: what each generation has to tell, also when there is nothing to learn."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import daedal
from daedal.cli import main
from daedal.limits import StopReason
from daedal.optimizers.eda import EDA
from daedal.types import Bits

ALGORITHMS = sorted(daedal.algorithms())
RECORD = ["generation", "evaluations", "best", "mean", "cpu_seconds"]
FIGURES = {
    "dae": {"epochs", "error"},
    "dae-2015": {"epochs", "error", "validation_error"},
    "rbm": {"epochs", "error"},
    "boa": {"edges", "max_in_degree", "score"},
    "hboa": {"edges", "max_in_degree", "score"},
    "ecga": {"groups", "largest_group", "score"},
    "tree": {"edges", "information"},
    "pbil": set(),
    "umda": set(),
}

OBJECTIVES = """
import numpy as np


def constant(x):
    return np.full(len(x), 2.5)


def needle(x):
    return x.all(axis=1) * 1.0


def infeasible(x):
    return np.full(len(x), -np.inf)


def hardly_feasible(x):
    return np.where(x[:, :2].all(axis=1), x.sum(axis=1), -np.inf)
"""


def read_one_object(stdout: str) -> dict[str, Any]:
    """Read standard output, which holds one JSON object in one line and nothing else."""
    assert stdout.count("\n") == 1
    assert stdout.endswith("}\n")

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    report: dict[str, Any] = json.loads(stdout, parse_constant=refuse)
    return report


@pytest.fixture
def solve(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """`daedal solve` in this process, where every warning is an error."""

    def run(*words: object) -> dict[str, Any]:
        monkeypatch.setattr(sys, "argv", ["daedal", "solve", *map(str, words), "--json"])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        assert ended.value.code == 0, printed.err
        assert "arning" not in printed.err
        assert "nan" not in printed.err
        return read_one_object(printed.out)

    return run


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", sys.path.copy())  # a loaded file's folder is put there
    (tmp_path / "mine.py").write_text(OBJECTIVES)
    return tmp_path / "mine.py"


def check_history(report: dict[str, Any], figures: set[str], popsize: int) -> None:
    """One whole record a generation, that agree with each other and with the report."""
    history = report["history"]
    assert [record["generation"] for record in history] == list(range(report["generations"] + 1))
    assert list(history[0]) == RECORD  # before the first fit
    for record in history[1:]:
        assert list(record)[: len(RECORD)] == RECORD
        assert set(record) == {*RECORD, *figures}
        assert all(isinstance(record[name], int | float) for name in figures)
    batches = np.diff([0] + [record["evaluations"] for record in history]).tolist()
    assert batches == [popsize] + [popsize // 2] * report["generations"]
    for name in ("best", "cpu_seconds"):
        values = [-np.inf if record[name] is None else record[name] for record in history]
        assert values == sorted(values)
    assert record["best"] == report["fitness"]
    assert 0 < record["cpu_seconds"] <= report["cpu_seconds"]
    assert record["evaluations"] == report["evaluations"] == report["carried_out"] + report["cached"]


# The records


def test_every_algorithm_is_looked_at_here() -> None:
    assert set(FIGURES) == set(ALGORITHMS)


def test_history_is_one_record_a_generation() -> None:
    words = ["trap:k=4,n=16", "-a", "boa", "--popsize", "80", "--seed", "1", "--max-generations", "4"]
    command = [sys.executable, "-m", "daedal", "solve", *words, "--json", "--history"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    report = read_one_object(done.stdout)
    assert list(report)[-1] == "history"
    check_history(report, FIGURES["boa"], 80)
    result = daedal.maximize("trap:k=4,n=16", algorithm="boa", popsize=80, seed=1, max_generations=4)
    for record, other in zip(report["history"], result.history, strict=True):
        assert (record["generation"], record["evaluations"]) == (other.generation, other.evaluations)
        assert (record["best"], record["mean"]) == (other.best, other.mean)
        assert {name: record[name] for name in FIGURES["boa"] if name in record} == dict(other.info)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_model_tells_its_own_figures(algorithm: str, solve: Any) -> None:
    how = ("trap:k=4,n=16", "-a", algorithm, "--popsize", 200, "--seed", 1, "--max-generations", 3)
    report = solve(*how, "--history")
    check_history(report, FIGURES[algorithm], 200)
    for record in report["history"][1:]:
        if "epochs" in record:
            assert record["epochs"] >= 1
            assert record["error"] >= 0
        if "max_in_degree" in record:
            assert 0 < record["max_in_degree"] <= record["edges"] <= 16 * 15 / 2
            assert record["score"] < 0
        if "groups" in record:
            assert 1 <= record["groups"] <= 16
            assert 16 / record["groups"] <= record["largest_group"] <= 17 - record["groups"]
        if algorithm == "tree":
            assert 0 < record["edges"] < 16
    without = solve(*how)
    assert "history" not in without
    clock = {"history", "seconds", "cpu_seconds"}
    assert {k: v for k, v in without.items() if k not in clock} == {k: v for k, v in report.items() if k not in clock}


def test_minimising_has_the_objectives_own_signs(solve: Any, mine: Path) -> None:
    report = solve(f"{mine}:needle", "--n", 4, "-a", "umda", "--popsize", 40, "--seed", 1, "--minimize", "--history")
    assert report["fitness"] == 0.0
    assert all(record["best"] == 0.0 and 0 <= record["mean"] <= 1 for record in report["history"])


# Nothing to learn


@pytest.mark.parametrize("replacement", ["parents", "rtr"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_constant_objective_ends_with_a_reason(algorithm: str, replacement: str, solve: Any, mine: Path) -> None:
    how = ("--n", 10, "-a", algorithm, "--popsize", 40, "--seed", 1, "--patience", 6)
    report = solve(f"{mine}:constant", *how, "--set", f"replacement={replacement}", "--history")
    check_history(report, FIGURES[algorithm], 40)
    assert report["stop"] in ("patience", "converged")
    assert report["fitness"] == 2.5
    assert all(record["best"] == record["mean"] == 2.5 for record in report["history"])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_is_not_feasible_is_null(algorithm: str, solve: Any, mine: Path) -> None:
    how = ("--n", 5, "-a", algorithm, "--popsize", 20, "--seed", 1, "--patience", 4, "--history")
    report = solve(f"{mine}:infeasible", *how)
    check_history(report, FIGURES[algorithm], 20)
    assert report["fitness"] is None
    assert report["stop"] in ("patience", "converged")
    assert all(record["best"] is record["mean"] is None for record in report["history"])
    some = solve(f"{mine}:hardly_feasible", *how)
    assert some["fitness"] >= 2
    assert all(record["mean"] is None or record["mean"] >= 2 for record in some["history"])


@pytest.mark.parametrize("replacement", ["parents", "rtr"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_parents_that_are_all_equal_end_the_run(
    algorithm: str, replacement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first population is the best row, over and over."""

    def the_same_row(eda: EDA) -> Bits:
        return np.tile(eda._mask, (eda.popsize, 1))  # zeros, as the objective sees them

    monkeypatch.setattr(EDA, "_first_population", the_same_row)
    result = daedal.maximize(
        lambda x: -x.sum(axis=1), n=7, algorithm=algorithm, popsize=60, seed=1, patience=5, replacement=replacement
    )
    assert (result.fitness, result.x.tolist()) == (0.0, [0] * 7)
    assert result.history[0].mean == 0.0
    if algorithm == "pbil":  # it does not take the parents' word for it at once
        assert result.stop in (StopReason.CONVERGED, StopReason.PATIENCE)
    else:
        assert result.stop is StopReason.CONVERGED
    assert all(np.isfinite([record.mean, *record.info.values()]).all() for record in result.history)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_model_of_equal_parents_gives_them_back(algorithm: str) -> None:
    """No figure is nan, and a bit that all parents have is kept nearly always: the run will find that it stands."""
    model = daedal.algorithms()[algorithm].model
    for n in (1, 2, 9):
        row = np.random.default_rng(n).integers(0, 2, n, dtype=np.uint8)
        fitted = model.fit(np.tile(row, (50, 1)), rng=np.random.default_rng(1))
        assert np.isfinite(list(fitted.info.values())).all()
        kept = fitted.sample(400, rng=np.random.default_rng(2)) == row
        assert kept.mean() > (0.45 if algorithm == "pbil" else 0.97)  # pbil goes there by one step from a half
