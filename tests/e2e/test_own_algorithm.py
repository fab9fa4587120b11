"""Algorithms and models of your own, in a file or an installed package: every command works with them."""

from __future__ import annotations

import importlib
import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Cli, Refused, read_report, timeless
from run_helpers import EXAMPLES, OWN_ALGORITHM, OWN_MODEL, registries_restored

import daedal
from daedal.problems.registry import find_problem
from daedal.settings.plugins import entry_point_names

OWN: dict[str, dict[str, Any]] = {
    OWN_ALGORITHM: {"max_evaluations": 300},
    OWN_MODEL: {"popsize": 40, "max_generations": 6},
}
NAMES = {OWN_ALGORITHM: "climber", OWN_MODEL: "Copies"}

both = pytest.mark.parametrize("own", OWN, ids=NAMES.get)


def flags(own: str) -> list[object]:
    """Return the keywords of a run as words of a command line."""
    given = [(f"--{name.replace('_', '-')}", value) for name, value in OWN[own].items()]
    return ["--algorithm", own, *(word for pair in given for word in pair)]


@both
def test_from_python_and_from_the_command_line_it_is_the_same_run(own: str, here: Cli) -> None:
    result = daedal.maximize("trap:k=4,n=20", algorithm=own, seed=3, **OWN[own])
    assert (result.algorithm, result.popsize) == (NAMES[own], OWN[own].get("popsize"))
    words = ("solve", "trap:k=4,n=20", *flags(own), "--seed", 3, "--json", "--history", "--workers", 2)
    printed = read_report(here(*words))
    for name in ("algorithm", "popsize", "settings", "fitness", "evaluations", "evaluations_to_best", "batches"):
        assert printed[name] == getattr(result, name), name
    assert [record["mean"] for record in printed["history"]] == [record.mean for record in result.history]


def test_its_own_settings_can_be_set(here: Cli, refused: Refused) -> None:
    words = ("solve", "trap:k=4,n=20", *flags(OWN_ALGORITHM), "--seed", 3, "--json")
    assert read_report(here(*words, "--set", "flips=0.2"))["settings"] == {"flips": 0.2}
    refused(here(*words, "--set", "flip=0.2"), "'flips'")
    refused(here(*words, "--popsize", 9), "'popsize'")


def test_what_a_file_prints_is_not_the_result(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(f"{(EXAMPLES / 'own_model.py').read_text()}\nprint('hello')\n")
    done = here("solve", "onemax:n=8", "-a", f"{tmp_path / 'loud.py'}:Copies", "--popsize", 20, "--json")
    assert read_report(done)["algorithm"] == "Copies"


@both
def test_a_killed_run_resumes(
    own: str, interrupted: Cli, here: Cli, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.db"
    words = (f"{mine}:stands", "--n", 20, "--by-row", *flags(own), "--seed", 3)
    done = interrupted("solve", *words, "--run", path, number=signal.SIGKILL, STAND_AT="70")
    assert done.returncode == -signal.SIGKILL
    monkeypatch.setenv("STAND_AT", "0")
    expected = timeless(read_report(here("solve", *words, "--json", "--history")))
    again = here("resume", path, words[0], "--algorithm", own, "--json", "--history")
    assert timeless(read_report(again)) == expected


def test_a_file_that_has_changed_is_not_the_same_algorithm(tmp_path: Path) -> None:
    file, path = tmp_path / "mine.py", tmp_path / "run.db"
    text = Path(OWN_ALGORITHM.rpartition(":")[0]).read_text()
    run: dict[str, Any] = {"algorithm": f"{file}:climber", "max_evaluations": 50, "seed": 1}
    file.write_text(text)
    result = daedal.maximize("onemax:n=20", run=path, **run)
    file.write_text(text + "# changed\n")
    with pytest.raises(ValueError, match=r"mine\.py:climber has changed"):
        daedal.resume(path, algorithm=f"{file}:climber")
    again = daedal.resume(path, algorithm=OWN_ALGORITHM)  # the same text in another place
    assert (again.x.tolist(), again.evaluations) == (result.x.tolist(), result.evaluations)


def test_compare_and_studies(here: Cli, tmp_path: Path) -> None:
    how = {"algorithm": OWN_ALGORITHM, "max_evaluations": 300}
    alone = daedal.maximize("trap:k=4,n=20", seed=1, **how)
    algorithms = [word for own in OWN for word in ("--algorithm", own)]
    words = ("--runs", 2, "--popsize", 40, "--max-evaluations", 300, "--workers", 2, "--json")
    found = read_report(here("compare", "trap:k=4,n=20", *algorithms, *words))["cells"]
    rows = {(one["algorithm"], row["seed"]): row["fitness"] for one in found for row in one["results"]}
    assert rows.keys() == {(name, seed) for name in ("climber", "Copies") for seed in (0, 1)}
    assert rows["climber", 1] == alone.fitness
    (tmp_path / "study.toml").write_text(
        f"""
        runs = 2
        popsizes = [40]
        problems = ["trap:k=4,n=20"]
        algorithms = ["{OWN_ALGORITHM}", {{ name = "copies", algorithm = "{OWN_MODEL}" }}, "umda"]
        limits = {{ max_evaluations = 300 }}
        """
    )
    store = tmp_path / "results.db"
    done = here("study", "run", tmp_path / "study.toml", "--store", store, "--workers", 1)
    assert done.returncode == 0, done.stderr
    table = json.loads(here("study", "export", "--store", store, "--format", "json").stdout)
    bests = {(row["algorithm"], row["seed"]): row["best"] for row in table}
    assert bests.keys() == {(name, seed) for name in ("climber", "copies", "umda") for seed in (0, 1)}
    assert bests["climber", 1] == alone.fitness


# ---------------------------------------------------------------- installed packages

PLUGIN = """
import daedal

async def chance(f, *, rng, rows=5):
    '''A search [of a package].'''
    while True:
        await f(f.random(rows, rng))

class Needle:
    '''One candidate counts.'''
    def __init__(self, n: int):
        self.n, self.optimum = n, 1.0
    def evaluate(self, x):
        return x.all(axis=1) * 1.0

number = 5
"""
ENTRY_POINTS = """
[daedal.algorithms]
parcel = parcel_plugin:chance
parcel-broken = parcel_plugin:nobody
parcel-odd = parcel_plugin:number

[daedal.problems]
needle = parcel_plugin:Needle
pin = parcel_plugin:number
thread = no_such_module:make
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put a distribution on the path, as pip would install it, with parts that work and parts that do not."""
    folder = tmp_path / "site"
    information = folder / "parcel-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: parcel\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(ENTRY_POINTS)
    (folder / "parcel_plugin.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    entry_point_names.cache_clear()
    with registries_restored():
        yield
    entry_point_names.cache_clear()
    sys.modules.pop("parcel_plugin", None)


@pytest.mark.usefixtures("installed")
def test_what_a_package_brings_along_is_found_by_its_name(here: Cli, refused: Refused) -> None:
    result = daedal.maximize("needle:n=4", algorithm="parcel", seed=1, max_evaluations=16)
    assert (result.algorithm, result.optimum) == ("parcel", 1.0)
    words = ("needle:n=4", "-a", "parcel", "--set", "rows=5", "--seed", 1, "--max-evaluations", 16)
    assert read_report(here("solve", *words, "--json"))["fitness"] == result.fitness
    for name in ("parcel-broken", "parcel-odd"):
        done = here("solve", "onemax:n=8", "-a", name)
        refused(done, "the package parcel")
        assert name in done.stderr
    for name in ("pin", "thread"):
        with pytest.raises(ValueError, match=f"{name}.*the package parcel"):
            find_problem(f"{name}:n=5")
    refused(here("solve", "onemax:n=8", "-a", "parcle"), "did you mean 'parcel'?")
    done = here("list", "--settings")
    assert done.returncode == 0
    for text in ("needle", "One candidate counts.", "parcel", "A search [of a package].", "rows"):
        assert text in done.stdout
    assert "parcel-broken" not in done.stdout
    lines = done.stderr.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("warning: ") and "the package parcel" in line for line in lines)
