"""`daedal solve`: what its options mean, what it reports, what it refuses, and Ctrl-C."""

from __future__ import annotations

import dataclasses
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
    *("feasible", "violation", "violations", "optimum", "success", "stop"),
    "explanation",
    *("evaluations", "evaluations_to_best", "repeated", "failed", "failures", "batches", "generations"),
    *("seconds", "cpu_seconds", "version"),
]
RECORD = [
    *("generation", "evaluations", "best", "mean", "sd", "batches"),
    *("cpu_seconds", "seconds", "objective_seconds"),
]
HOW = ("--algorithm", "umda", "--popsize", 40, "--seed", 3, "--max-generations", 4, "--json")
KEYWORDS: dict[str, Any] = {"algorithm": "umda", "popsize": 40, "seed": 3, "max_generations": 4}


def same(report: dict[str, Any], result: daedal.Result) -> None:
    """The report says what the result says, but for the clock."""
    assert list(report) == FIELDS
    assert report["x"] == to_text(result.x)
    assert report["stop"] == result.stop.value
    assert report["evaluations"] == result.evaluations
    assert report["failures"] == [{"x": failure.x, "error": failure.error} for failure in result.failures]
    assert report["version"] == daedal.__version__
    assert report["seconds"] > 0
    assert report["cpu_seconds"] > 0
    assert report["violations"] == list(result.violations)
    told = {"problem", "x", "stop", "failures", "version", "seconds", "cpu_seconds", "violations"}
    for name in set(FIELDS) - told:
        assert report[name] == getattr(result, name), name


# What it reports


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
        ("trap:k=4,n=20", (), "trap:k=4,n=20", {}),
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
    """Files are found from where one stands."""
    monkeypatch.chdir(mine.parent)
    write_nk(NK.random(12, 3, 1), mine.parent / "a.nk")
    same(read_report(here("solve", problem, *HOW, *words)), daedal.maximize(function, **(KEYWORDS | keywords)))


def test_a_drawn_seed_and_the_default_popsize_are_reported(here: Cli) -> None:
    report = read_report(here("solve", "onemax:n=12", "--algorithm", "umda", "--json"))
    same(report, daedal.maximize("onemax:n=12", algorithm="umda", seed=report["seed"]))


def test_history_is_one_record_per_generation(here: Cli) -> None:
    report = read_report(here("solve", "trap:k=4,n=16", *HOW, "-a", "boa", "--history"))
    history = report.pop("history")
    result = daedal.maximize("trap:k=4,n=16", **(KEYWORDS | {"algorithm": "boa"}))
    same(report, result)
    for record, own in zip(history, result.history, strict=True):
        assert list(record) == [*RECORD, *own.info]
        counted = [own.generation, own.evaluations, own.best, own.mean, own.sd, own.batches]
        clocks = [record["cpu_seconds"], record["seconds"], record["objective_seconds"]]
        assert list(record.values()) == [*counted, *clocks, *own.info.values()]


def test_what_is_infeasible_is_null(here: Cli, mine: Path) -> None:
    report = read_report(here("solve", f"{mine}:infeasible", "--n", 5, *HOW, "--history"), code=3)
    assert report["fitness"] is None
    assert all(record["best"] is record["mean"] is None for record in report["history"])


# Where a run begins


def test_rows_to_begin_with_are_evaluated_or_believed(here: Cli, mine: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.txt"
    rows.write_text("# the design of last year\n\n" + "1" * 12 + "\n" + "0" * 12 + "\n")
    begun = read_report(here("solve", f"{mine}:weighted", "--n", 12, *HOW, "--initial", rows))
    assert (begun["fitness"], begun["evaluations_to_best"]) == (66.0, 40)  # the first population has it
    rows.write_text(f"{'1' * 12} 1000\n{'0' * 12} -5e-1\n")
    believed = read_report(here("solve", f"{mine}:weighted", "--n", 12, *HOW, "--initial", rows))
    assert (believed["fitness"], believed["x"]) == (1000.0, "1" * 12)
    assert believed["evaluations"] == begun["evaluations"]
    assert believed["evaluations"] == begun["evaluations"] - 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "lines of"),
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


# Who evaluates, how long, and what is kept


def test_the_report_does_not_depend_on_who_evaluates(cli: Cli, here: Cli, mine: Path) -> None:
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    words = ("solve", f"{mine}:weighted", "--n", 12, *HOW)
    alone = timeless(read_report(here(*words)))
    assert timeless(read_report(here(*words, "--workers", 2))) == alone
    assert timeless(read_report(cli(*words, "--dask", "local:2"))) == alone


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_an_exception_does_not_lose_the_best_so_far(
    more: tuple[str, ...], cli: Cli, refused: Refused, mine: Path
) -> None:
    """One line, with the row that failed and the best one before it."""
    words = ("--n", 12, "--by-row", "--algorithm", "umda", "--popsize", 20, "--seed", 1)
    done = cli("solve", f"{mine}:raises_later", *words, *more)
    done.stderr = done.stderr.removeprefix(done.stderr.partition("error: ")[0])  # the title, and what came before
    refused(done, "the simulator is down (mine.py, line ")
    fitness, x = re.search(r" for the row [01]{12}; .*fitness (\d+): ([01]{12})$", done.stderr.strip()).groups()  # type: ignore[union-attr]
    assert x.count("1") == int(fitness) >= 7


def test_nothing_feasible_is_said(here: Cli, mine: Path) -> None:
    words = ("--n", 12, "--max-evaluations", 40, "--seed", 1)
    done = here("solve", f"{mine}:infeasible", *words)
    assert (done.returncode, "nothing feasible found" in done.stderr) == (3, True)
    assert json.loads(here("solve", f"{mine}:infeasible", *words, "--json").stdout)["feasible"] is False
    assert json.loads(here("solve", f"{mine}:ones", *words, "--json").stdout)["feasible"] is True


def test_time_is_a_limit(here: Cli, mine: Path) -> None:
    report = read_report(here("solve", f"{mine}:slow_row", "--by-row", "--n", 30, *HOW, "--max-seconds", 0.2))
    assert report["stop"] == "seconds"
    assert 0 < report["evaluations"] < 40


def test_a_cache_keeps_values_under_a_name_and_a_version(here: Cli, mine: Path, tmp_path: Path) -> None:
    words = ("solve", f"{mine}:weighted", "--n", 12, *HOW, "--cache", tmp_path / "scores.db", "--name", "score")
    first, again = timeless(read_report(here(*words))), read_report(here(*words))
    assert (again["evaluations"], again["repeated"]) == (0, first["evaluations"])
    assert timeless(read_report(here(*words, "--version", "2"))) == first


# What it refuses

REFUSED: list[tuple[tuple[object, ...], str]] = [
    ((), "argument"),
    (("onemax:n=10", "--speed", 9), "--speed"),
    (("tarp:n=50",), "'trap'"),
    (("trap:q=5,n=50",), "'q'"),
    (("trap:k=5,n=many",), "n=many"),
    (("hiff:n=60",), "32 or 64"),
    (("nk:missing.nk",), "missing.nk"),
    (("nk:empty.nk",), "empty.nk, line 1"),
    (("nk:cut.nk",), "cut.nk, line "),
    (("nk:wrong.nk",), "99"),
    (("mine.py:ones",), "--n"),
    (("mine.py:ones", "--n", "many"), "--n"),
    (("mine.py:absent", "--n", 5), "absent"),
    (("mine.py", "--n", 5), "mine.py:"),
    (("onemax:n=10", "--algorithm", "dea"), "'dae'"),
    (("onemax:n=10", "-a", "dae", "--set", "corupt=1"), "'corruption'"),
    (("onemax:n=10", "--set", "corruption=0.1"), "--algorithm"),
    (("onemax:n=10", "--set", "corruption"), "--set key=value"),
    (("onemax:n=10", "--set", "callback=print"), "'callback'"),
    (("onemax:n=10", "--set", "corruption=0.1", "--set", "corruption=0.2"), "corruption"),
    (("onemax:n=10", "-a", "umda", "--popsize", 1), "popsize=1"),
    (("onemax:n=1000", "-a", "umda", "--popsize", 10**9), "memory"),
    (("onemax:n=10", "--workers", 0), "workers"),
    (("onemax:n=10", "--dask", "local:0"), "local:N"),
    (("onemax:n=10", "--dask", "local:2", "--workers", 2), "--workers"),
    (("onemax:n=10", "--dask", "nowhere"), "'nowhere'"),
    (("onemax:n=10", "--timeout", 0), "timeout"),
    (("onemax:n=10", "--max-seconds", 0), "max_seconds"),
    (("onemax:n=10", "--on-error", "retry:0"), "on_error"),
    (("mine.py:ones", "--n", 5, "--cache", "scores.db"), "name"),
    (("mine.py:ones", "--n", 5, "--cache", "scores.db", "--name", "f", "--no-deduplicate"), "deduplicate"),
    (("mine.py:ones", "--n", 5, "--cache", "scores.db", "--name", "f", "--noisy"), "noisy"),
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
    (mine.parent / "wrong.nk").write_text(good.rsplit("Optimum:", 1)[0] + "Optimum: 99")
    (mine.parent / "empty.nk").write_text("")
    refused(here("solve", *words, "--json"), says)
    assert not (mine.parent / "scores.db").exists()


# Ctrl-C


def best_after(generations: int) -> daedal.Result:
    result = daedal.maximize(ones, n=10, algorithm="umda", popsize=20, seed=1, max_generations=generations)
    return dataclasses.replace(result, stop=daedal.StopReason.INTERRUPTED)


INTERRUPTED = ("--n", 10, "-a", "umda", "--popsize", 20, "--seed", 1)


def test_ctrl_c_prints_the_best_so_far_as_json(interrupted: Cli, mine: Path) -> None:
    done = interrupted("solve", f"{mine}:stands", *INTERRUPTED, "--json", STAND_AT="3")
    same(read_report(done, code=130), best_after(1))


def test_ctrl_c_prints_the_best_so_far_as_text(interrupted: Cli, mine: Path) -> None:
    done = interrupted("solve", f"{mine}:stands", *INTERRUPTED, STAND_AT="2")
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr
    result = best_after(0)
    for text in (to_text(result.x), f"fitness {result.fitness:g}", result.stop.message):
        assert text in done.stderr


def test_ctrl_c_before_anything_was_found_ends_quietly(interrupted: Cli, mine: Path) -> None:
    done = interrupted("solve", f"{mine}:stands", *INTERRUPTED, "--json", STAND_AT="1")
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr
