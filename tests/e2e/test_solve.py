"""`daedal solve`: what its options mean, what it reports, and what it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Cli, Refused, read_report, timeless

import daedal
from daedal.problems import NK, write_nk
from daedal.types import to_text

FIELDS = [
    *("problem", "algorithm", "popsize", "seed", "settings", "x", "best", "fitness", "standard_error", "measurements"),
    *("feasible", "violation", "violations", "optimum", "success", "stop", "explanation"),
    *("evaluations", "evaluations_to_best", "repeated", "failed", "failures", "batches", "generations"),
    *("seconds", "cpu_seconds", "version"),
]
RECORD = {"generation", "evaluations", "repeated", "best", "mean", "sd", "batches"}
CLOCKS = {"cpu_seconds", "seconds", "objective_seconds"}
HOW = ("--algorithm", "umda", "--popsize", 40, "--seed", 3, "--max-generations", 4, "--json")
KEYWORDS: dict[str, Any] = {"algorithm": "umda", "popsize": 40, "seed": 3, "max_generations": 4}


def same(report: dict[str, Any], result: daedal.Result) -> None:
    """The report has the fields of the result, except for the clock."""
    assert list(report) == FIELDS
    assert report["x"] == to_text(result.x)
    assert report["stop"] == result.stop.value
    assert report["failures"] == [{"x": failure.x, "error": failure.error} for failure in result.failures]
    assert report["version"] == daedal.__version__
    assert report["seconds"] > 0
    assert report["cpu_seconds"] > 0
    assert report["violations"] == list(result.violations)
    others = {"problem", "x", "stop", "failures", "version", "seconds", "cpu_seconds", "violations"}
    for name in set(FIELDS) - others:
        assert report[name] == getattr(result, name), name


# ---------------------------------------------------------------- what it reports


def test_as_a_process_it_writes_one_object_of_the_promised_fields(cli: Cli) -> None:
    done = cli("solve", "trap:k=4,n=20", "--seed", 3, "--max-evaluations", 300, "--json")
    report = read_report(done)
    assert report["problem"] == "trap:k=4,n=20"
    assert "\x1b" not in done.stdout + done.stderr
    same(report, daedal.maximize("trap:k=4,n=20", seed=3, max_evaluations=300))


def ones(x: Any) -> Any:
    return x.sum(axis=1)


@pytest.mark.parametrize(
    ("problem", "words", "function", "keywords"),
    [
        ("trap:k=4,n=20", ("--no-shuffle",), "trap:k=4,n=20", {"shuffle": False}),
        ("mine.py:ones", ("--n", 12), ones, {"n": 12}),
        ("mine.py:ones_of_a_row", ("--n", 12, "--by-row"), ones, {"n": 12}),
        ("mine.py:ones", ("--n", 12, "--minimize", "--target", 3), ones, {"n": 12, "minimize": True, "target": 3}),
        ("nk:a.nk", (), "nk:n=12,k=3,seed=1", {}),
        ("hiff:n=16", ("--max-evaluations", 90), "hiff:n=16", {"max_evaluations": 90}),
        ("hiff:n=16", ("--patience", 1), "hiff:n=16", {"patience": 1}),
        ("hiff:n=16", ("--target", 40), "hiff:n=16", {"target": 40.0}),
        (
            "hiff:n=16",
            ("-a", "pbil", "--set", "learning-rate=0.1", "--set", "best=2"),
            "hiff:n=16",
            {"algorithm": "pbil", "learning_rate": 0.1, "best": 2},
        ),
    ],
)
def test_every_option_means_what_the_keyword_means(
    problem: str,
    words: tuple[object, ...],
    function: Any,
    keywords: dict[str, Any],
    here: Cli,
    mine: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Files are relative to the current folder."""
    monkeypatch.chdir(mine.parent)
    write_nk(NK.random(12, 3, 1), mine.parent / "a.nk")
    same(read_report(here("solve", problem, *HOW, *words)), daedal.maximize(function, **(KEYWORDS | keywords)))


def test_a_drawn_seed_is_reported(here: Cli) -> None:
    report = read_report(here("solve", "onemax:n=12", "--algorithm", "umda", "--json"))
    same(report, daedal.maximize("onemax:n=12", algorithm="umda", seed=report["seed"]))


def test_history_is_one_record_per_generation(here: Cli, mine: Path) -> None:
    report = read_report(here("solve", "trap:k=4,n=16", *HOW, "-a", "boa", "--history"))
    history = report.pop("history")
    result = daedal.maximize("trap:k=4,n=16", **(KEYWORDS | {"algorithm": "boa"}))
    same(report, result)
    for record, own in zip(history, result.history, strict=True):
        assert record.keys() == RECORD | CLOCKS | own.info.keys()
        assert [record[name] for name in RECORD] == [getattr(own, name) for name in RECORD]
        assert [record[name] for name in own.info] == list(own.info.values())
    infeasible = read_report(here("solve", f"{mine}:infeasible", "--n", 5, *HOW, "--history"), code=3)
    assert infeasible["fitness"] is None
    assert all(record["best"] is record["mean"] is None for record in infeasible["history"])


def test_a_noisy_run_reports_the_error_of_its_mean(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "noise.py").write_text(
        "import random\ndef ones(x):\n    return x.sum(axis=1) + [random.gauss(0, 1) for _ in x]\n"
    )
    words = ("solve", f"{tmp_path / 'noise.py'}:ones", "--n", 20, "--seed", 1, "--max-evaluations", 400)
    report = read_report(here(*words, "--repeats", 25, "--json"))
    assert (report["evaluations"], report["repeated"], report["success"]) == (400, 0, None)
    assert report["measurements"] >= 25
    assert 0 < report["standard_error"] < 1
    shown = here(*words, "--noisy", "--algorithm", "umda").stderr
    found = re.search(r"fitness (\d+\.\d+) \+- (\d+\.\d+), mean of (\d+)", shown)
    assert found is not None, shown
    assert (0 < float(found[2]) < 1, int(found[3]) >= 10) == (True, True)


def test_a_result_for_people(here: Cli, mine: Path) -> None:
    """A run that ends unsolved is no error; one without a feasible candidate has an exit code of its own."""
    words = ("--algorithm", "umda", "--seed", 1)
    for problem, how, code, shows in (
        ("onemax:n=20", ("--popsize", 60), 0, ("umda on onemax:n=20, popsize 60, seed 1, target 20", "\nsolved")),
        ("onemax:n=60", ("--popsize", 20, "--max-generations", 1), 0, ("not solved", " of 60", "max_generations")),
        (f"{mine}:infeasible", ("--n", 12, "--max-generations", 1), 3, ("nothing feasible found",)),
    ):
        done = here("solve", problem, *words, *how)
        assert (done.returncode, done.stdout) == (code, "")
        assert "\x1b" not in done.stderr
        assert [text for text in shows if text not in done.stderr] == []


def test_the_command_that_is_shown_repeats_the_run(here: Cli) -> None:
    words = ("solve", "trap:k=4,n=20", "--max-evaluations", 300, "--set", "min_batch=2")
    first = here(*words)
    repeat = first.stderr.splitlines()[-1]
    assert re.fullmatch(
        r"repeat +daedal solve trap:k=4,n=20 --max-evaluations 300 --set min_batch=2 --seed \d+", repeat
    )
    second = here(*repeat.split()[2:])
    assert re.sub(r"[\d.]+ s CPU", "", first.stderr) == re.sub(r"[\d.]+ s CPU", "", second.stderr)


# ---------------------------------------------------------------- initial candidates


def test_initial_candidates_are_evaluated_unless_their_values_are_given(here: Cli, mine: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.txt"
    rows.write_text("# the design of last year\n\n" + "1" * 12 + "\n" + "0" * 12 + "\n")
    begun = read_report(here("solve", f"{mine}:weighted", "--n", 12, *HOW, "--initial", rows))
    assert (begun["fitness"], begun["evaluations_to_best"]) == (66.0, 40)  # the first population has it
    rows.write_text(f"{'1' * 12} 1000\n{'0' * 12} -5e-1\n")
    believed = read_report(here("solve", f"{mine}:weighted", "--n", 12, *HOW, "--initial", rows))
    assert (believed["fitness"], believed["x"]) == (1000.0, "1" * 12)
    assert believed["evaluations"] == begun["evaluations"] - 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"# nothing but a comment\n", "lines of"),
        (b"0101\n", "12"),
        (b"010101010101\n01010101010\n", "lines of"),
        (b"010101010101 1\n010101010101\n", "lines of"),
        (b"010101010101 1 2\n", "lines of"),
        (b"010101010102\n", "2"),
        (b"010101010101 high\n", "'high'"),
        (b"010101010101 nan\n", "nan"),
        (b"\xff\xfe0101", "rows.txt"),
        (None, "rows.txt"),
    ],
)
def test_other_rows_are_refused(text: bytes | None, says: str, here: Cli, refused: Refused, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "rows.txt").write_bytes(text)
    refused(here("solve", "onemax:n=12", *HOW, "--initial", tmp_path / "rows.txt"), says)


# ---------------------------------------------------------------- evaluation


def test_the_report_does_not_depend_on_the_workers(cli: Cli, here: Cli, mine: Path) -> None:
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    words = ("solve", f"{mine}:weighted", "--n", 12, *HOW)
    alone = timeless(read_report(here(*words)))
    assert timeless(read_report(here(*words, "--workers", 2))) == alone
    assert timeless(read_report(cli(*words, "--dask", "local:2"))) == alone


def test_an_exception_does_not_lose_the_best_so_far(here: Cli, refused: Refused, mine: Path) -> None:
    """One line, with the candidate that failed and the best one before it."""
    words = ("--n", 12, "--by-row", "--algorithm", "umda", "--popsize", 20, "--seed", 1)
    done = here("solve", f"{mine}:raises_later", *words)
    done.stderr = done.stderr.removeprefix(done.stderr.partition("error: ")[0])  # the title
    refused(done, "the simulator is down (mine.py, line ")
    found = re.search(r" for the candidate [01]{12}; .*fitness (\d+): ([01]{12})$", done.stderr.strip())
    assert found is not None, done.stderr
    assert found[2].count("1") == int(found[1]) >= 7


def test_time_is_a_limit(here: Cli, mine: Path) -> None:
    report = read_report(here("solve", f"{mine}:slow_row", "--by-row", "--n", 30, *HOW, "--max-seconds", 0.2))
    assert report["stop"] == "seconds"
    assert 0 < report["evaluations"] < 40


# ---------------------------------------------------------------- what it refuses

REFUSED: list[tuple[tuple[object, ...], str]] = [
    ((), "argument"),
    (("onemax:n=10", "--speed", 9), "--speed"),
    (("tarp:n=50",), "'trap'"),
    (("trap:q=5,n=50",), "'q'"),
    (("hiff:n=60",), "32 or 64"),
    (("nk:missing.nk",), "missing.nk"),
    (("nk:cut.nk",), "cut.nk, line "),
    (("mine.py:ones",), "--n"),
    (("mine.py:absent", "--n", 5), "absent"),
    (("mine.py", "--n", 5), "mine.py:"),
    (("onemax:n=10", "--algorithm", "dea"), "'dae'"),
    (("onemax:n=10", "-a", "dae", "--set", "corupt=1"), "'corruption'"),
    (("onemax:n=10", "--set", "corruption=0.1"), "--algorithm"),
    (("onemax:n=10", "--set", "corruption"), "KEY=VALUE"),
    (("onemax:n=10", "--set", "callback=print"), "'callback'"),
    (("onemax:n=10", "--set", "corruption=0.1", "--set", "corruption=0.2"), "corruption"),
    (("onemax:n=1000", "-a", "umda", "--popsize", 10**9), "memory"),
    (("onemax:n=10", "--workers", 0), "workers"),
    (("onemax:n=10", "--dask", "local:0"), "local:N"),
    (("onemax:n=10", "--dask", "local:2", "--workers", 2), "--workers"),
    (("onemax:n=10", "--dask", "nowhere"), "'nowhere'"),
    (("onemax:n=10", "--timeout", 0), "timeout"),
    (("onemax:n=10", "--max-seconds", 0), "max_seconds"),
    (("onemax:n=10", "--on-error", "retry:0"), "on_error"),
    (("onemax:n=10", "--known", "good.nk"), "good.nk"),
    (("onemax:n=10", "--repeats", 0), "repeats"),
    (("mine.py:raises", "--n", 5), "RuntimeError: the simulator is down"),
    (("mine.py:leaves", "--n", 5), "SystemExit"),
]


@pytest.mark.parametrize(("words", "says"), REFUSED, ids=[" ".join(map(str, words)) for words, _ in REFUSED])
def test_bad_input_ends_with_one_line_and_code_2(
    words: tuple[object, ...],
    says: str,
    here: Cli,
    refused: Refused,
    mine: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "--dask" in words:
        pytest.importorskip("distributed", reason="the extra dask is not installed")
    monkeypatch.chdir(mine.parent)
    write_nk(NK.random(8, 2, 1), mine.parent / "good.nk")
    good = (mine.parent / "good.nk").read_text()
    (mine.parent / "cut.nk").write_text(good[: len(good) // 2])
    refused(here("solve", *words, "--json"), says)


# ---------------------------------------------------------------- constraints

CONSTRAINED = """
import numpy as np

def sack(x):
    return x.sum(axis=1), x @ np.arange(1, 13) - 20

def never(x):
    return x.sum(axis=1), np.column_stack([1 + x.sum(axis=1), -x[:, 0]])
"""
SACK = (
    "cmd:awk '{ v = 0; w = -20; for (i = 1; i <= length($0); i++) if (substr($0, i, 1) == 1) { v++; w += i } "
    "print v, w }'"
)


def test_files_and_programs_return_violations(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text(CONSTRAINED)
    words = ("--n", 12, "--seed", 1, "--max-evaluations", 300)
    file = read_report(here("solve", f"{tmp_path}/f.py:sack", *words, "--violations", "--json"))
    program = read_report(here("solve", SACK, *words, "--violations", "--json"))
    assert (file["fitness"], file["feasible"], file["violation"], file["violations"]) == (5.0, True, 0.0, [0.0])
    assert timeless(program) == timeless({**file, "problem": SACK})
    for unannounced in (f"{tmp_path}/f.py:sack", SACK):
        done = here("solve", unannounced, *words)
        assert done.returncode == 2
        assert "--violations" in done.stderr
    report = read_report(here("solve", f"{tmp_path}/f.py:never", *words, "--violations", "--json"), code=3)
    assert (report["x"], report["feasible"], report["violation"]) == ("0" * 12, False, 1.0)
    assert report["violations"] == [1.0, 0.0]
    shown = here("solve", f"{tmp_path}/f.py:never", *words, "--violations")
    assert "not feasible, by 1 in total: 1 of constraint 1" in shown.stderr


def test_comparisons_and_studies_take_violations(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text(CONSTRAINED)
    how = ("-a", "umda", "--popsize", 20, "--runs", 2, "--n", 12, "--max-evaluations", 300, "--violations", "--json")
    found = read_report(here("compare", f"{tmp_path}/f.py:sack", *how))
    assert all(one["feasible"] for row in found["cells"] for one in row["results"])
    (tmp_path / "study.toml").write_text(
        "runs = 2\npopsizes = [20]\nalgorithms = ['umda']\n"
        "problems = [{ problem = 'f.py:sack', n = 12, target = 5, violations = true }]\n"
    )
    words = ("study", "run", tmp_path / "study.toml", "--store", tmp_path / "s.db", "--workers", 1)
    assert here(*words).returncode == 0
    status = json.loads(here("study", "status", "--store", tmp_path / "s.db", "--json").stdout)
    assert (status["done"], status["failed"]) == (2, 0)
