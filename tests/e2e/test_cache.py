"""No row is evaluated twice: within a run, and with a cache file in any number of runs and programs."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation_helpers import every
from run_helpers import without_clocks

import daedal
from daedal import Result
from daedal.evaluation.sqlite_cache import SQLiteCache
from daedal.problems import HIFF, NK, write_nk
from daedal.types import to_text

QUICK: dict[str, Any] = {"algorithm": "umda", "popsize": 200, "seed": 1, "max_generations": 5}


def same(one: Result, other: Result) -> None:
    """All is equal to the bit, but what is measured with a clock, and how many rows were known."""
    clocks = {"seconds", "cpu_seconds", "cpu_seconds_to_best", "evaluated", "cached"}
    for item in dataclasses.fields(Result):
        if item.name not in {"x", "history", "trace", "problem", "again"} | clocks:
            assert getattr(one, item.name) == getattr(other, item.name), item.name
    assert np.array_equal(one.x, other.x)
    for mine, theirs in zip(one.history, other.history, strict=True):
        assert without_clocks(mine) == without_clocks(theirs)
    for result in (one, other):
        assert result.evaluations == result.evaluated + result.cached + result.failed == result.history[-1].evaluations


def ones(x: np.ndarray) -> np.ndarray:
    return x.sum(axis=1)


def test_a_run_evaluates_distinct_rows_only_unless_every_row_is_wanted() -> None:
    rows: dict[bool, list[str]] = {True: [], False: []}

    def recorded(deduplicate: bool) -> Result:
        def f(x: np.ndarray) -> np.ndarray:
            rows[deduplicate] += [to_text(row) for row in x]
            return HIFF(n=16).evaluate(x.astype(np.uint8))

        return daedal.maximize(f, n=16, deduplicate=deduplicate, **QUICK)

    once, everything = recorded(True), recorded(False)
    same(once, everything)
    assert len(rows[False]) == everything.evaluated == everything.evaluations
    assert len(rows[True]) == len(set(rows[True])) == once.evaluated < once.evaluations
    assert set(rows[True]) == set(rows[False])


def test_a_second_run_evaluates_nothing_unless_it_has_another_name_version_or_length(tmp_path: Path) -> None:
    path = tmp_path / "scores.db"
    plain = daedal.maximize(ones, n=10, **QUICK)

    def evaluated(objective: Any = ones, n: int = 10, **which: Any) -> int:
        result = daedal.maximize(objective, n=n, cache=path, **which, **QUICK)
        if n == 10:
            same(plain, result)
        return result.evaluated

    assert evaluated(name="ones") == plain.evaluated
    assert evaluated(name="ones", workers=2) == 0
    assert evaluated(name="two", workers=2) == plain.evaluated  # noted by the process that gathers answers
    assert evaluated(name="ones", version="2") == plain.evaluated
    assert evaluated(name="ones", n=11) > 0
    # Who does not say that the function has changed gets the old values.
    assert evaluated(lambda x: ones(x) + 100, name="ones") == 0


@pytest.mark.parametrize("minimize", [False, True])
def test_values_are_shared_between_seeds_and_sides_though_each_has_its_own_order(
    minimize: bool, tmp_path: Path
) -> None:
    """All 256 rows of a landscape in which no two variables are alike: a value under a wrong row would show."""
    path, how = tmp_path / "scores.db", QUICK | {"popsize": 500, "target": 1000.0}
    spec, otherwise = "nk:n=8,k=2,seed=1", "nk:n=8, seed=1, k=2"  # the same name, written otherwise
    first = daedal.maximize(spec, cache=path, **how)
    evaluated = first.evaluated
    assert 200 < evaluated <= 256
    for name, more in ((otherwise, {"seed": 2}), (spec, {"seed": 3}), (spec, {"shuffle": False})):
        given = how | more | {"minimize": minimize}
        shared = daedal.maximize(name, cache=path, **given)
        same(daedal.maximize(name, **given), shared)
        evaluated += shared.evaluated
    assert evaluated <= 256  # each row once, in all runs together
    with SQLiteCache(path, n=8, objective="nk:k=2,n=8,seed=1") as cache:
        values, known = cache.find(every(8))
    assert known.sum() == evaluated
    assert np.array_equal(values[known], NK.random(8, 2, 1).evaluate(every(8))[known])


def test_only_a_name_that_says_it_all_need_not_be_given(tmp_path: Path) -> None:
    path = tmp_path / "scores.db"
    write_nk(NK.random(8, 2, 1), tmp_path / "a.nk")
    for objective in (ones, daedal.Program("cat"), HIFF(n=8), f"nk:{tmp_path}/a.nk"):
        with pytest.raises(ValueError, match="need a name"):
            daedal.maximize(objective, 8, cache=path, **QUICK)
    assert daedal.maximize("hiff:n=8", cache=path, **QUICK).evaluated > 0
    assert daedal.maximize(HIFF(n=8), cache=path, name="hiff:n=8", **QUICK).cached > 0
    assert daedal.maximize(f"nk:{tmp_path}/a.nk", cache=path, name="a", **QUICK).evaluated > 0


def test_what_is_no_cache_is_refused_before_anything_is_evaluated(tmp_path: Path) -> None:
    def never(x: np.ndarray) -> None:
        pytest.fail("asked")

    (tmp_path / "text").write_text("to be kept, whatever happens: " * 50)
    for place in ("text", "missing/scores.db"):
        with pytest.raises((ValueError, OSError), match=place.partition("/")[0]):
            daedal.maximize(never, n=8, cache=tmp_path / place, name="f", **QUICK)
    assert (tmp_path / "text").read_text() == "to be kept, whatever happens: " * 50


SLOW = """
import os, pathlib, time
here = pathlib.Path(__file__).parent

def f(row):
    (here / f"started-{os.getpid()}").touch()
    while len(list(here.glob("started-*"))) < 2:  # until both are at it
        time.sleep(0.005)
    return float(sum((i % 5) * bit for i, bit in enumerate(row.tolist())))
"""


def test_two_programs_share_a_cache_at_the_same_time(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SLOW)
    how = ("--n", "14", "-a", "umda", "--popsize", "200", "--max-generations", "5", "--seed", "1", "--by-row", "--json")
    cache = ("--cache", str(tmp_path / "scores.db"), "--name", "mine", "--version", "1")
    command = [sys.executable, "-m", "daedal", "solve", f"{tmp_path}/mine.py:f", *how, *cache]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    reports = []
    for process in both:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        reports.append(json.loads(out))

    def f(x: np.ndarray) -> Any:
        return (x * (np.arange(14) % 5)).sum(axis=1)

    plain = daedal.maximize(f, n=14, **QUICK)
    for report in reports:
        assert report["x"] == to_text(plain.x)
        assert report["evaluations"] == plain.evaluations == report["carried_out"] + report["cached"]
    assert sum(report["carried_out"] for report in reports) >= plain.evaluated
    after = daedal.maximize(f, n=14, cache=tmp_path / "scores.db", name="mine", version="1", **QUICK)
    assert after.evaluated == 0
    same(plain, after)
