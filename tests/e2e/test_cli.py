"""The command line, as a process of its own."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import daedal
from daedal.objectives.spec import read_objective
from daedal.problems import NK, Trap, read_nk, write_nk
from daedal.types import from_text, to_text

FIELDS = [
    "problem",
    "algorithm",
    "popsize",
    "seed",
    "settings",
    "x",
    "fitness",
    "optimum",
    "success",
    "stop",
    "evaluations",
    "evaluations_to_best",
    "carried_out",
    "cached",
    "failed",
    "failures",
    "generations",
    "seconds",
    "cpu_seconds",
    "version",
]

OBJECTIVES = """
import numpy as np


def ones(x):
    return x.sum(axis=1)


def ones_of_a_row(row):
    return sum(int(bit) for bit in row)


def raises(x):
    raise RuntimeError("the simulator\\nis down")


def nan(x):
    return np.full(len(x), np.nan)


def too_few(x):
    return x.sum(axis=1)[1:]


def strings(x):
    return ["good"] * len(x)


def infeasible(x):
    return np.full(len(x), -np.inf)


not_a_function = 5
"""


def environment() -> dict[str, str]:
    """Give this environment without what makes Rich colour or narrow its output."""
    drop = {"FORCE_COLOR", "NO_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "TERM"}
    return {name: value for name, value in os.environ.items() if name not in drop}


def daedal_cli(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "daedal", *map(str, words)]
    return subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True, timeout=120, check=False)


def solved(*words: object) -> dict[str, Any]:
    """Run `daedal solve ... --json` to its end and read what it wrote."""
    done = daedal_cli("solve", *words, "--json")
    assert done.returncode == 0, done.stderr
    return read_one_object(done.stdout)


def read_one_object(stdout: str) -> dict[str, Any]:
    """Read standard output, which holds one JSON object in one line and nothing else."""
    assert stdout.count("\n") == 1
    assert stdout.endswith("}\n")

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    report: dict[str, Any] = json.loads(stdout, parse_constant=refuse)
    return report


def same(report: dict[str, Any], result: daedal.Result) -> None:
    """The report says what the result says, but for the clock."""
    assert report["x"] == to_text(result.x)
    assert report["stop"] == result.stop.value
    assert report["settings"] == result.settings
    for name in ("algorithm", "popsize", "seed", "fitness", "optimum", "success", "evaluations", "evaluations_to_best"):
        assert report[name] == getattr(result, name), name
    for name in ("carried_out", "cached", "failed", "generations"):
        assert report[name] == getattr(result, name), name
    assert report["failures"] == [{"x": failure.x, "error": failure.error} for failure in result.failures]
    assert report["version"] == daedal.__version__


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a user's objectives, and NK files good and bad."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "mine.py").write_text(OBJECTIVES)
    (folder / "broken.py").write_text("def f(x:\n")
    write_nk(NK.random(8, 2, 1), folder / "good.nk")
    good = (folder / "good.nk").read_text()
    (folder / "empty.nk").write_text("")
    (folder / "cut.nk").write_text(good[: len(good) // 2])
    (folder / "garbled.nk").write_bytes(good.replace("\n", "\xff?", 9).encode("latin-1"))
    return folder


# JSON


def test_json_has_exactly_the_promised_fields() -> None:
    done = daedal_cli("solve", "trap:k=4,n=20", "--popsize", 100, "--seed", 3, "--max-generations", 3, "--json")
    assert done.returncode == 0
    report = read_one_object(done.stdout)
    assert list(report) == FIELDS
    assert report["problem"] == "trap:k=4,n=20"
    assert re.fullmatch("[01]{20}", report["x"])
    assert Trap(k=4, n=20).evaluate(from_text(report["x"])[None])[0] == report["fitness"]
    assert report["cpu_seconds"] > 0
    assert report["seconds"] > 0
    assert "\x1b" not in done.stdout + done.stderr
    same(report, daedal.maximize("trap:k=4,n=20", popsize=100, seed=3, max_generations=3))


def test_every_option_means_what_the_keyword_means() -> None:
    report = solved(
        *("hiff:n=16", "--algorithm", "pbil", "--popsize", 30, "--seed", 5, "--max-evaluations", 100, "--patience", 90),
        *("--max-generations", 80, "--target", 70, "--set", "learning_rate=0.1", "--set", "best=2", "--no-shuffle"),
    )
    result = daedal.maximize(
        "hiff:n=16",
        algorithm="pbil",
        popsize=30,
        seed=5,
        max_evaluations=100,
        patience=90,
        max_generations=80,
        target=70.0,
        learning_rate=0.1,
        best=2,
        shuffle=False,
    )
    same(report, result)
    assert report["settings"] == {"learning_rate": 0.1, "best": 2, "selection": "tournament", "replacement": "parents"}
    assert report["evaluations"] == 100


def test_shuffling_is_on_unless_switched_off() -> None:
    how = ("trap:k=4,n=20", "--algorithm", "umda", "--popsize", 60, "--seed", 2, "--max-generations", 2)
    keywords: dict[str, Any] = {"algorithm": "umda", "popsize": 60, "seed": 2, "max_generations": 2}
    same(solved(*how), daedal.maximize("trap:k=4,n=20", **keywords))
    same(solved(*how, "--no-shuffle"), daedal.maximize("trap:k=4,n=20", shuffle=False, **keywords))


def test_a_drawn_seed_and_the_default_popsize_are_reported() -> None:
    first = solved("onemax:n=12", "--algorithm", "umda")
    same(first, daedal.maximize("onemax:n=12", algorithm="umda", seed=first["seed"]))


def test_an_infinite_fitness_is_null(files: Path) -> None:
    report = solved(f"{files}/mine.py:infeasible", "--n", 5, "--algorithm", "umda", "--max-generations", 1)
    assert report["fitness"] is None


# A function in a file


def test_a_function_in_a_file(files: Path) -> None:
    how = ("--n", 12, "--algorithm", "umda", "--popsize", 40, "--seed", 1)
    result = daedal.maximize(lambda x: x.sum(axis=1), n=12, algorithm="umda", popsize=40, seed=1)
    report = solved(f"{files}/mine.py:ones", *how)
    same(report, result)
    assert report["optimum"] is None
    assert report["success"] is None
    same(solved(f"{files}/mine.py:ones_of_a_row", "--by-row", *how), result)


def test_a_file_is_found_from_where_one_stands(files: Path) -> None:
    done = daedal_cli("solve", "mine.py:ones", "--n", 6, "-a", "umda", "--seed", 1, "--json", cwd=files)
    assert read_one_object(done.stdout)["fitness"] == 6.0


def test_minimize(files: Path) -> None:
    how = ("--n", 12, "--algorithm", "umda", "--popsize", 40, "--seed", 1, "--minimize", "--target", 0)
    report = solved(f"{files}/mine.py:ones", *how)
    assert (report["fitness"], report["x"], report["success"], report["stop"]) == (0.0, "0" * 12, True, "target")
    result = daedal.minimize(lambda x: x.sum(axis=1), n=12, algorithm="umda", popsize=40, seed=1, target=0)
    same(report, result)


def test_a_file_may_import_its_neighbours(files: Path) -> None:
    (files / "helper.py").write_text("WEIGHT = 3\n")
    (files / "weighted.py").write_text("from helper import WEIGHT\n\ndef f(x):\n    return WEIGHT * x.sum(axis=1)\n")
    assert solved(f"{files}/weighted.py:f", "--n", 6, "-a", "umda", "--seed", 1)["fitness"] == 18.0


def test_a_file_may_have_the_name_of_a_module(tmp_path: Path) -> None:
    (tmp_path / "random.py").write_text("def f(x):\n    return x.sum(axis=1)\n")
    assert solved(f"{tmp_path}/random.py:f", "--n", 6, "--popsize", 30, "--seed", 1)["fitness"] == 6.0


# Bad input

SOLVE_MINE = ("--n", "12", "--algorithm", "umda", "--popsize", "20", "--seed", "1")

BAD: list[tuple[tuple[str, ...], str]] = [
    (("solve", "tarp:n=50"), "unknown problem 'tarp', did you mean 'trap'? Known: "),
    (("solve", "onemax:n=10", "--algorithm", "dea"), "unknown algorithm 'dea', did you mean 'dae'? Known: "),
    (
        ("solve", "onemax:n=10", "--set", "corupt=1"),
        "unknown setting of dae 'corupt', did you mean 'corruption'? ",
    ),
    (("solve", "onemax:n=10", "--set", "corruption"), "expected --set key=value, as in --set corruption=0.05, got "),
    (("solve", "onemax:n=10", "--set", "popsize=5"), "unknown setting of dae 'popsize'"),
    (("solve", "onemax:n=10", "--set", "callback=print"), "unknown setting of dae 'callback'"),
    (("solve", "trap:q=5,n=50"), "unknown setting of trap 'q'. Known: k, n"),
    (("solve", "trap:k=5,n=many"), "expected n of trap to be a whole number, got n=many"),
    (("solve", "MINE:ones", "--n", "many"), "--n"),
    (("solve", "hiff:n=60"), "hiff needs n to be a power of two, got n=60; try 32 or 64"),
    (("solve", "trap:k=4,n=50"), "trap needs n to be a multiple of k=4, got n=50; try 48 or 52"),
    (("solve", "nk:FOLDER/missing.nk"), "missing.nk, found nothing there"),
    (("solve", "nk:FOLDER/empty.nk"), "empty.nk, line 1: expected `n k`, got an empty file"),
    (("solve", "nk:FOLDER/cut.nk"), "cut.nk, line "),
    (("solve", "nk:FOLDER/garbled.nk"), "garbled.nk, line "),
    (("solve", "onemax:n=10", "--popsize", "1"), "expected popsize to be a whole number of at least 2, got popsize=1"),
    (("solve", "onemax:n=10", "--popsize", "-5"), "got popsize=-5"),
    (("solve", "onemax:n=1000", "--popsize", "1000000000"), "TiB of memory, and this machine has "),
    (
        ("solve", "MINE:raises", *SOLVE_MINE),
        "the objective raised RuntimeError: the simulator is down for the row 001011001000; it is called with an array "
        "of 0/1 rows, here of shape (1, 12) (",
    ),
    (
        ("solve", "MINE:nan", *SOLVE_MINE),
        "expected finite numbers from the objective, got nan for the row 001011001000; use -inf for what is infeasible "
        "(20 of 20 rows failed so far)",
    ),
    (
        ("solve", "MINE:too_few", *SOLVE_MINE),
        "expected one number a row, shape (20,), from the objective, got shape=(19,); ",
    ),
    (("solve", "MINE:strings", *SOLVE_MINE), "expected numbers from the objective, got list ['good', "),
    (("solve", "MINE:ones"), "expected --n, the number of variables, for a function in a Python file"),
    (("solve",), "Missing argument"),
    (("solve", "onemax:n=10", "--speed", "9"), "--speed"),
    (("optimum", "nk:n=120,k=6,seed=0"), "bytes of memory, more than the limit of 4 GiB"),
    (("instance", "nk", "--n", "3", "--k", "1", "-o", "FOLDER/no/x.nk"), "there is no folder "),
]


@pytest.mark.parametrize(("words", "says"), BAD, ids=[" ".join(words) for words, _ in BAD])
def test_bad_input_ends_with_one_line_and_code_2(words: tuple[str, ...], says: str, files: Path) -> None:
    words = tuple(word.replace("MINE", f"{files}/mine.py").replace("FOLDER", str(files)) for word in words)
    done = daedal_cli(*words)
    assert "Traceback" not in done.stderr
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith("\n")
    assert says in done.stderr


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("mine.py:absent", "expected a function 'absent' in .*mine.py, but it is not there"),
        ("mine.py:not_a_function", "but it is not a function"),
        ("mine.py", "expected the function to maximise behind the file, as in .*mine.py:f, got "),
        ("gone.py:f", "expected a Python file at .*gone.py, found none"),
        ("broken.py:f", "broken.py could not be run: SyntaxError"),
    ],
)
def test_a_file_without_the_function_is_refused(spec: str, says: str, files: Path) -> None:
    with pytest.raises(ValueError, match=says):
        read_objective(f"{files}/{spec}", n=5)


# Ctrl-C

SLOW = """
import pathlib
import time

calls = 0


def f(x):
    global calls
    calls += 1
    if calls == {slow}:
        pathlib.Path(__file__).with_name("marker").touch()
        time.sleep(120)
    return x.sum(axis=1)
"""


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let a child have Ctrl-C, also where this process was started with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(folder: Path, *words: str, slow: int) -> tuple[int, str, str]:
    """Interrupt a run while its objective is called for the n-th time; give code, output and error output."""
    (folder / "slow.py").write_text(SLOW.format(slow=slow))
    marker = folder / "marker"
    command = [sys.executable, "-m", "daedal", "solve", f"{folder}/slow.py:f", "--n", "10", "-a", "umda", *words]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while not marker.exists():
                assert process.poll() is None, process.stderr.read() if process.stderr else ""
                assert time.monotonic() < deadline
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    return process.returncode, out, err


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_prints_the_best_so_far_as_json(tmp_path: Path) -> None:
    code, out, err = interrupted(tmp_path, "--popsize", "20", "--seed", "1", "--json", slow=3)
    assert code == 130
    assert "Traceback" not in err
    report = read_one_object(out)
    assert list(report) == FIELDS
    assert report["stop"] == "interrupted"
    assert (report["generations"], report["evaluations"]) == (1, 30)
    result = daedal.maximize(lambda x: x.sum(axis=1), n=10, algorithm="umda", popsize=20, seed=1, max_generations=1)
    same(report, dataclasses.replace(result, stop=daedal.StopReason.INTERRUPTED))


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_prints_the_best_so_far_as_text(tmp_path: Path) -> None:
    code, out, err = interrupted(tmp_path, "--popsize", "20", "--seed", "1", slow=2)
    assert code == 130
    assert "Traceback" not in err
    screen = out + err
    result = daedal.maximize(lambda x: x.sum(axis=1), n=10, algorithm="umda", popsize=20, seed=1, max_generations=0)
    assert to_text(result.x) in screen
    assert f"fitness {result.fitness:g}" in screen
    assert daedal.StopReason.INTERRUPTED.message in screen


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_before_anything_was_found_ends_quietly(tmp_path: Path) -> None:
    code, out, err = interrupted(tmp_path, "--json", slow=1)
    assert code == 130
    assert out == ""
    assert "Traceback" not in err


# For eyes


def test_the_result_for_eyes() -> None:
    done = daedal_cli("solve", "onemax:n=20", "--algorithm", "umda", "--popsize", 60, "--seed", 1)
    assert done.returncode == 0
    screen = done.stdout + done.stderr
    assert "umda on onemax:n=20, popsize 60, seed 1, goal 20" in screen
    assert "solved" in screen
    assert "fitness 20 of 20" in screen
    assert "1" * 20 in screen
    assert daedal.StopReason.TARGET.message in screen
    assert "\x1b" not in screen


def test_a_run_that_comes_to_its_own_end_unsolved_is_no_error() -> None:
    done = daedal_cli("solve", "onemax:n=60", "--algorithm", "umda", "--popsize", 20, "--max-generations", 1)
    assert done.returncode == 0
    assert "not solved" in done.stdout + done.stderr
    assert daedal.StopReason.GENERATIONS.message in " ".join((done.stdout + done.stderr).split())


# The other commands


def test_version() -> None:
    done = daedal_cli("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{daedal.__version__}\n", "")


def test_without_words_it_says_what_there_is() -> None:
    done = daedal_cli()
    assert done.returncode == 0
    assert all(command in done.stdout for command in ("solve", "list", "instance", "optimum"))
    assert "\x1b" not in done.stdout


def test_list_shows_problems_algorithms_and_their_hyperparameters() -> None:
    done = daedal_cli("list")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    for kind in daedal.problem_kinds().values():
        assert kind.name in done.stdout
    for algorithm in daedal.algorithms().values():
        section = done.stdout.partition(f"\n{algorithm.name} ")[2].partition("\n\n")[0]
        for name, value in algorithm.settings().items():
            shown = "none" if value is None else str(value).lower()
            assert re.search(rf"^ +{name} +{re.escape(shown)} ", section, re.MULTILINE), (algorithm.name, name)


def test_an_instance_is_written_with_its_optimum_and_solved(tmp_path: Path) -> None:
    path = tmp_path / "a.nk"
    done = daedal_cli("instance", "nk", "--n", 14, "--k", 3, "--seed", 1, "-o", path)
    assert done.returncode == 0
    assert done.stdout == ""
    written = read_nk(path)
    expected = NK.random(14, 3, 1)
    assert np.array_equal(written.tables, expected.tables)
    assert np.array_equal(written.neighbours, expected.neighbours)
    assert written.known_optimum == expected.optimum
    by_file = solved(f"nk:{path}", "-a", "umda", "--popsize", 60, "--seed", 1)
    by_name = daedal.maximize("nk:n=14,k=3,seed=1", algorithm="umda", popsize=60, seed=1)
    same(by_file, by_name)


def test_optimum_prints_the_number_and_on_demand_the_bits() -> None:
    landscape = NK.random(12, 2, 3)
    done = daedal_cli("optimum", "nk:n=12,k=2,seed=3", "--x")
    assert done.returncode == 0
    value, bits = done.stdout.split()
    assert float(value) == landscape.optimum
    assert landscape.evaluate(from_text(bits)[None])[0] == landscape.optimum
