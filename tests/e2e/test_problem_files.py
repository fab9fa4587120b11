"""Problems that files describe, from the command line: solved, resumed, in a study, moved elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Cli, Refused, read_report
from problem_files import FILES, write_files

import daedal
from daedal.types import to_text

OPTIMA = {
    "tiny.nk": 2.3,
    "tiny.cnf": 4.0,
    "satlib.cnf": 3.0,
    "tiny.wcnf": 9.0,
    "soft.wcnf": 10.0,
    "new.wcnf": 9.0,
    "tiny.ising": 2.0,
    "tiny.graph": 13.0,
    "tiny.mkp": 15.0,
    "three.mkp": 7.0,
    "tiny.qubo": 9.0,
    "two.qubo": 3.0,
}


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_every_file_has_an_optimum_and_can_be_solved(name: str, room: Path, here: Cli) -> None:
    spec = f"{FILES[name][0]}:{name}"
    assert here("optimum", spec).stdout == f"{OPTIMA[name]}\n"
    report = read_report(here("solve", spec, "--seed", 1, "--max-evaluations", 40, "--json"))
    assert report["problem"] == spec
    assert report["optimum"] == OPTIMA[name]


def test_a_numbered_problem_is_the_one_of_that_number(room: Path, here: Cli, refused: Refused) -> None:
    assert here("optimum", "mkp:three.mkp,problem=2").stdout == "15.0\n"
    assert here("optimum", "qubo:two.qubo,problem=2", "--x").stdout == "2.0\n111\n"
    refused(here("optimum", "mkp:three.mkp,problem=4"), "3 problems, got problem=4")
    refused(here("solve", "mkp"), "mkp:FILE")
    refused(here("solve", "maxsat:gone.cnf"), "gone.cnf")


def test_a_run_on_a_file_goes_on_where_the_file_is_now(room: Path, here: Cli, refused: Refused) -> None:
    run: dict[str, Any] = {"algorithm": "umda", "popsize": 10, "seed": 3, "target": 99.0, "max_generations": 6}
    spec = "qubo:two.qubo,problem=2"
    whole = daedal.maximize(spec, **run)
    daedal.maximize(spec, run="c", callback=lambda record: record.generation >= 2, **run)
    (room / "below").mkdir()
    (room / "two.qubo").rename(room / "below" / "two.qubo")
    refused(here("resume", "c"), "name the problem again")
    refused(here("resume", "c", "qubo:below/two.qubo"), spec)
    again = read_report(here("resume", "c", "qubo:below/two.qubo,problem=2", "--json"))
    assert (again["x"], again["evaluations"]) == (to_text(whole.x), whole.evaluations)
    assert again["generations"] == whole.generations > 2


def test_a_study_tells_numbered_problems_apart(room: Path, here: Cli) -> None:
    (room / "study.toml").write_text(
        'runs = 2\npopsizes = [10]\nalgorithms = ["umda"]\nlimits = { max_generations = 3 }\n'
        'problems = ["qubo:two.qubo", "qubo:two.qubo,problem=2", "maxsat:tiny.cnf"]\n'
    )
    assert here("study", "run", "study.toml", "--store", "s.db", "--workers", 1).returncode == 0
    table = here("study", "table", "--store", "s.db", "--format", "csv").stdout
    assert "two.qubo,problem=2" in table
    assert table.count("two.qubo") >= 2
    assert str(room) not in table
    again = here("study", "run", "study.toml", "--store", "s.db", "--workers", 1)
    assert again.returncode == 0
    assert here("study", "table", "--store", "s.db", "--format", "csv").stdout == table
