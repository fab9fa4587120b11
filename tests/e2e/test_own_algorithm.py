"""Algorithms and models of one's own, in a file or an installed package: all works with them as with daedal's."""

from __future__ import annotations

import ast
import importlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import timeless
from run_helpers import EXAMPLES, OWN_ALGORITHM, OWN_MODEL, registries_restored, told

import daedal
from daedal.problems.registry import find_problem
from daedal.settings.plugins import entry_point_names

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

OWN = {OWN_ALGORITHM: {"max_evaluations": 300}, OWN_MODEL: {"popsize": 40, "max_generations": 6}}
NAMES = {OWN_ALGORITHM: "HillClimber", OWN_MODEL: "Copies"}

both = pytest.mark.parametrize("own", OWN, ids=NAMES.get)


def flags(own: str) -> list[object]:
    """Write what a run is told as a command line has it."""
    given = [(f"--{name.replace('_', '-')}", value) for name, value in OWN[own].items()]
    return ["--algorithm", own, *(word for pair in given for word in pair)]


def report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Give the JSON object that a command printed, without clocks."""
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = timeless(json.loads(done.stdout))
    return found


def test_the_examples_are_short_and_daedal_does_not_know_them() -> None:
    for name, most in {"own_algorithm.py": 50, "own_model.py": 35}.items():
        own, _, _ = (EXAMPLES / name).read_text().partition("\nif __name__")  # what follows only shows it
        assert ast.unparse(ast.parse(own)).count("\n") < most  # however its lines are wrapped
    for path in Path(daedal.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not any(word in text for word in ("HillClimber", "own_algorithm", "own_model")), path


# One run


@both
def test_from_python_and_from_the_command_line_it_is_the_same_run(own: str, here: Cli) -> None:
    result = daedal.maximize("trap:k=4,n=20", algorithm=own, seed=3, **OWN[own])
    assert (result.algorithm, result.popsize) == (NAMES[own], OWN[own].get("popsize"))
    assert result.fitness == daedal.problems.Trap(k=4, n=20).evaluate(result.x[None])[0]
    printed = report(here("solve", "trap:k=4,n=20", *flags(own), "--seed", 3, "--json", "--history", "--workers", 2))
    for name in ("algorithm", "popsize", "settings", "fitness", "evaluations", "evaluations_to_best", "batches"):
        assert printed[name] == getattr(result, name), name
    assert [record["mean"] for record in printed["history"]] == [record.mean for record in result.history]


def test_its_own_settings_can_be_set(here: Cli, refused: Callable[..., None]) -> None:
    few = report(here("solve", "trap:k=4,n=20", *flags(OWN_ALGORITHM), "--set", "flips=0.2", "--seed", 3, "--json"))
    assert few["settings"] == {"flips": 0.2}
    assert few["batches"] > 300 / 5
    refused(here("solve", "trap:k=4,n=20", *flags(OWN_ALGORITHM), "--set", "flip=0.2"), "'flips'")
    refused(here("solve", "trap:k=4,n=20", *flags(OWN_ALGORITHM), "--popsize", 9), "'popsize'")


def test_what_a_file_prints_is_not_the_result(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(f"{(EXAMPLES / 'own_model.py').read_text()}\nprint('hello')\n")
    done = here("solve", "onemax:n=8", "-a", f"{tmp_path / 'loud.py'}:Copies", "--popsize", 20, "--json")
    assert report(done)["algorithm"] == "Copies"


SCORE = """
import os, pathlib, signal
calls = 0

def f(row):
    global calls
    calls += 1
    if calls == 70 and pathlib.Path(__file__).with_name("kill").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    if calls == 70 and __file__.endswith("pressed.py"):
        raise KeyboardInterrupt
    return float((row * range(len(row))).sum() % 7 + row[0] * row[-1])
"""


@both
def test_killed_and_resumed_it_is_the_same_run(own: str, cli: Cli, here: Cli, tmp_path: Path) -> None:
    """And a run that is interrupted says how to go on."""
    score, path = tmp_path / "score.py", tmp_path / "run.ckpt"
    score.write_text(SCORE)
    solve = ("solve", f"{score}:f", "--n", 20, "--by-row", *flags(own), "--seed", 3)
    expected = report(here(*solve, "--json", "--history"))
    (tmp_path / "kill").touch()
    assert cli(*solve, "--checkpoint", path, "--every", "0.0001s").returncode == -signal.SIGKILL
    (tmp_path / "kill").unlink()
    resumed = here("resume", path, f"{score}:f", "--algorithm", own, "--json", "--history")
    assert report(resumed) == expected
    pressed = score.rename(tmp_path / "pressed.py")
    done = here("solve", f"{pressed}:f", *solve[2:], "--checkpoint", path, "--force")
    assert done.returncode == 130
    assert f"daedal resume {path} {pressed}:f --algorithm {own}" in " ".join(done.stderr.split())


def test_a_file_that_has_changed_is_not_the_same_algorithm(tmp_path: Path) -> None:
    file, path = tmp_path / "mine.py", tmp_path / "run.ckpt"
    text = (EXAMPLES / "own_algorithm.py").read_text()
    run: dict[str, Any] = {"algorithm": f"{file}:HillClimber", "max_evaluations": 50, "seed": 1}
    file.write_text(text)
    result = daedal.maximize("onemax:n=20", checkpoint=path, **run)
    file.write_text(text + "# changed\n")
    with pytest.raises(ValueError, match=r"mine\.py:HillClimber has changed"):
        daedal.resume(path, algorithm=f"{file}:HillClimber")
    assert told(daedal.resume(path, algorithm=OWN_ALGORITHM)) == told(result)  # the same text, in another place


# Many runs


@pytest.mark.parametrize("workers", [1, 2])
def test_compare(workers: int, here: Cli) -> None:
    algorithms = [word for own in OWN for word in ("--algorithm", own)]
    words = ("--runs", 2, "--popsize", 40, "--max-evaluations", 300, "--workers", workers)
    done = here("compare", "trap:k=4,n=20", *algorithms, *words, "--json")
    found = {one["algorithm"]: one["results"] for one in report(done)["algorithms"]}
    for own, name in NAMES.items():
        size = {name: value for name, value in OWN[own].items() if name == "popsize"}
        for seed, row in enumerate(found[name]):
            alone = daedal.maximize("trap:k=4,n=20", algorithm=own, seed=seed, max_evaluations=300, **size)
            assert (row["seed"], row["fitness"], row["evaluations"]) == (seed, alone.fitness, alone.evaluations)


def test_a_study(here: Cli, tmp_path: Path) -> None:
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
    for _ in range(2):  # the second time, all of it is there
        done = here("study", "run", tmp_path / "study.toml", "--store", store)
        assert done.returncode == 0, done.stderr
    rows = json.loads(here("study", "export", "--store", store, "--format", "json").stdout)
    assert sorted((row["algorithm"], row["seed"]) for row in rows) == sorted(
        (name, seed) for name in ("HillClimber", "copies", "umda") for seed in (0, 1)
    )
    alone = daedal.maximize("trap:k=4,n=20", algorithm=OWN_ALGORITHM, seed=1, max_evaluations=300)
    assert [row["best"] for row in rows if (row["algorithm"], row["seed"]) == ("HillClimber", 1)] == [alone.fitness]


# Installed packages

PLUGIN = """
import daedal

def build(*, n, seed, limits, initial, popsize=30):
    '''An EDA [of a package].'''
    return daedal.EDA(n=n, model=daedal.models.UMDA(), popsize=popsize, seed=seed, limits=limits, initial=initial)

class Needle:
    '''One row counts.'''
    def __init__(self, n: int):
        self.n, self.optimum = n, 1.0
    def evaluate(self, x):
        return x.all(axis=1) * 1.0

number = 5
"""
ENTRY_POINTS = """
[daedal.algorithms]
parcel = parcel_plugin:build
parcel-broken = parcel_plugin:nobody
parcel-odd = parcel_plugin:number

[daedal.problems]
needle = parcel_plugin:Needle
pin = parcel_plugin:number
thread = no_such_module:make
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A distribution, as pip would install it, with parts that work and parts that do not."""
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
        yield folder
    entry_point_names.cache_clear()
    sys.modules.pop("parcel_plugin", None)


@pytest.mark.usefixtures("installed")
def test_what_a_package_brings_along_is_found_by_its_name(here: Cli) -> None:
    result = daedal.maximize("needle:n=6", algorithm="parcel", seed=1, max_generations=5)
    assert (result.algorithm, result.popsize, result.optimum) == ("parcel", 30, 1.0)
    words = ("needle:n=6", "-a", "parcel", "--set", "popsize=30", "--seed", 1, "--max-generations", 5)
    assert report(here("solve", *words, "--json"))["fitness"] == result.fitness


@pytest.mark.usefixtures("installed")
def test_a_package_that_is_broken_is_one_line_that_names_it(here: Cli, refused: Callable[..., None]) -> None:
    for name in ("parcel-broken", "parcel-odd"):
        done = here("solve", "onemax:n=8", "-a", name)
        refused(done, "the package parcel")
        assert name in done.stderr
    for name in ("pin", "thread"):
        with pytest.raises(ValueError, match=f"{name}.*the package parcel"):
            find_problem(f"{name}:n=5")
    refused(here("solve", "onemax:n=8", "-a", "parcle"), "did you mean 'parcel'?")
    with pytest.warns(UserWarning, match="the package parcel"):
        assert {"dae", "parcel"} <= daedal.algorithms().keys()


def test_the_list_has_what_works_and_says_what_does_not(
    installed: Path, cli: Cli, plain_environment: dict[str, str]
) -> None:
    """As a process, whose path has the package from the beginning."""
    path = f"{installed}:{plain_environment.get('PYTHONPATH', '')}"
    done = cli("list", "--settings", variables={"PYTHONPATH": path, "COLUMNS": "200"})
    assert done.returncode == 0
    for words in ("needle", "One row counts.", "needle:n=...", "parcel", "An EDA [of a package].", "popsize"):
        assert words in done.stdout
    assert "parcel-broken" not in done.stdout
    lines = done.stderr.splitlines()
    assert len(lines) == 4
    assert all(line.startswith("warning: ") and "the package parcel" in line for line in lines)
