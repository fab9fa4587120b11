"""No row is evaluated twice: within a run, and with a cache file in any number of runs and programs."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import daedal
from daedal import Generation, Result
from daedal.evaluation.sqlite_cache import SQLiteCache
from daedal.problems import HIFF, NK, Problem, write_nk
from daedal.types import Bits, Fitness, to_text

HIFF64: dict[str, Any] = {"algorithm": "dae", "popsize": 1000, "seed": 5, "max_generations": 30}
QUICK: dict[str, Any] = {"algorithm": "umda", "popsize": 60, "seed": 1, "max_generations": 5}
COUNTS = ("carried_out", "cached")


def timeless(history: tuple[Generation, ...]) -> list[Generation]:
    return [dataclasses.replace(record, cpu_seconds=0.0) for record in history]


def same(one: Result, other: Result, *but: str) -> None:
    """All is equal to the bit, but what is measured with a clock, and what is named."""
    assert np.array_equal(one.x, other.x)
    assert timeless(one.history) == timeless(other.history)
    for item in dataclasses.fields(Result):
        if item.name not in ("x", "history", "seconds", "cpu_seconds", "cpu_seconds_to_best", *but):
            assert getattr(one, item.name) == getattr(other, item.name), item.name


def adds_up(result: Result) -> None:
    assert result.evaluations == result.carried_out + result.cached + result.failed == result.history[-1].evaluations


@dataclass
class Recorded:
    """A problem that writes down every row that it is asked for."""

    problem: Problem
    rows: list[str] = field(default_factory=list)

    @property
    def n(self) -> int:
        return self.problem.n

    @property
    def optimum(self) -> float | None:
        return self.problem.optimum

    def evaluate(self, x: Bits) -> Fitness:
        self.rows += [row.tobytes().hex() for row in np.packbits(x, axis=1)]
        return self.problem.evaluate(x)


# Within a run


@pytest.mark.parametrize("algorithm", ["dae", "umda", "hboa"])
def test_a_run_evaluates_distinct_rows_only(algorithm: str) -> None:
    everything, once = Recorded(HIFF(n=16)), Recorded(HIFF(n=16))
    how = QUICK | {"algorithm": algorithm, "popsize": 200}
    noisy = daedal.maximize(everything, deduplicate=False, **how)
    result = daedal.maximize(once, **how)
    assert len(everything.rows) == noisy.evaluations == noisy.carried_out == result.evaluations
    assert noisy.cached == 0
    assert len(once.rows) == len(set(once.rows))
    assert set(once.rows) == set(everything.rows)
    assert result.carried_out == len(set(everything.rows)) < result.evaluations
    adds_up(result)
    same(result, noisy, *COUNTS)


def test_every_row_is_evaluated_where_that_is_wanted() -> None:
    rng = np.random.default_rng(1)
    calls: list[str] = []

    def noisy(row: np.ndarray) -> float:
        calls.append(to_text(row))
        return row.sum() + rng.normal()

    result = daedal.maximize(noisy, n=4, vectorized=False, deduplicate=False, **QUICK)
    assert len(calls) == result.evaluations == result.carried_out
    assert len(set(calls)) <= 16
    assert (result.cached, result.failed) == (0, 0)


# From run to run


def test_a_second_run_carries_out_nothing(tmp_path: Path) -> None:
    """As long a run as it takes to come back to rows of its own."""
    path, everything = tmp_path / "scores.db", Recorded(HIFF(n=64))
    noisy = daedal.maximize(everything, deduplicate=False, **HIFF64)
    first = daedal.maximize("hiff:n=64", shuffle=False, cache=path, **HIFF64)
    same(noisy, first, *COUNTS)
    assert first.carried_out == len(set(everything.rows)) < first.evaluations == len(everything.rows)
    adds_up(first)
    second = daedal.maximize("hiff:n=64", shuffle=False, cache=str(path), **HIFF64)
    assert (second.carried_out, second.cached) == (0, second.evaluations)
    same(first, second, *COUNTS)
    newer = daedal.maximize("hiff:n=64", shuffle=False, cache=path, version="2", **(HIFF64 | {"max_generations": 1}))
    assert (newer.carried_out, newer.cached) == (1500, 0)


@pytest.mark.parametrize("minimise", [False, True])
def test_values_are_shared_between_seeds_though_each_has_its_own_order(minimise: bool, tmp_path: Path) -> None:
    """All 256 rows of a landscape in which no two variables are alike: a value under a wrong row would show."""
    path, how = tmp_path / "scores.db", QUICK | {"popsize": 500, "target": 1000.0}
    optimise = daedal.minimize if minimise else daedal.maximize
    first = optimise("nk:n=8,k=2,seed=1", cache=path, **how)
    assert 200 < first.carried_out <= 256
    carried_out = first.carried_out
    for seed in (2, 3):
        plain = optimise("nk:n=8,k=2,seed=1", **(how | {"seed": seed}))
        shared = optimise(
            "nk:n=8, seed=1, k=2", cache=path, **(how | {"seed": seed})
        )  # the same name, written otherwise
        same(plain, shared, *COUNTS)
        assert shared.carried_out < 56
        carried_out += shared.carried_out
        adds_up(shared)
    unshuffled = optimise("nk:n=8,k=2,seed=1", cache=path, shuffle=False, **how)
    same(optimise("nk:n=8,k=2,seed=1", shuffle=False, **how), unshuffled, *COUNTS)
    carried_out += unshuffled.carried_out
    assert carried_out <= 256  # each row once, in all runs together
    landscape = NK.random(8, 2, 1)
    rows = np.array([[number >> bit & 1 for bit in range(8)] for number in range(256)], dtype=np.uint8)
    with SQLiteCache(path, n=8, objective="nk:k=2,n=8,seed=1") as cache:
        values, known = cache.find(rows)
    assert known.sum() == carried_out
    assert np.array_equal(values[known], landscape.evaluate(rows)[known])


def test_the_best_side_does_not_matter(tmp_path: Path) -> None:
    """What one has asked to find the largest, another need not ask to find the smallest."""
    path, how = tmp_path / "scores.db", QUICK | {"popsize": 500, "target": 1000.0}
    first = daedal.maximize("nk:n=8,k=2,seed=1", cache=path, **how)
    second = daedal.minimize("nk:n=8,k=2,seed=1", cache=path, **how)
    same(daedal.minimize("nk:n=8,k=2,seed=1", **how), second, *COUNTS)
    assert first.carried_out + second.carried_out <= 256


def ones(x: np.ndarray) -> np.ndarray:
    return x.sum(axis=1)


def test_names_versions_and_lengths_are_kept_apart(tmp_path: Path) -> None:
    path = tmp_path / "scores.db"
    plain = daedal.maximize(ones, n=10, **QUICK)

    def carried_out(objective: Any = ones, n: int = 10, **which: str) -> int:
        return daedal.maximize(objective, n=n, cache=path, **which, **QUICK).carried_out

    assert carried_out(name="ones") == plain.carried_out
    assert carried_out(name="ones") == 0
    assert carried_out(name="two") == plain.carried_out
    assert carried_out(name="ones", version="2") == plain.carried_out
    assert carried_out(name="ones", version="2") == 0
    assert carried_out(n=11, name="ones") > 0
    assert carried_out(lambda x: -ones(x), name="ones", version="3") > 0
    assert carried_out(name="ones") == 0
    result = daedal.maximize(lambda x: ones(x) + 100, n=10, cache=path, name="ones", **QUICK)
    assert result.fitness == plain.fitness  # who does not say that the function has changed gets the old values


def test_only_a_name_that_says_it_all_need_not_be_given(tmp_path: Path) -> None:
    path = tmp_path / "scores.db"
    write_nk(NK.random(8, 2, 1), tmp_path / "a.nk")
    says = (
        r"expected a name for the values of .* in the cache: name=\.\.\. \(--name\); a version, too, if the objective"
    )
    unnamed: list[tuple[Any, int | None]] = [
        (ones, 8),
        (daedal.Program("cat"), 8),
        (HIFF(n=8), None),
        (f"nk:{tmp_path}/a.nk", None),
    ]
    for objective, n in unnamed:
        with pytest.raises(ValueError, match=says):
            daedal.maximize(objective, n, cache=path, **QUICK)
    assert daedal.maximize("hiff:n=8", cache=path, **QUICK).carried_out > 0
    assert daedal.maximize(HIFF(n=8), cache=path, name="hiff:n=8", **QUICK).cached > 0
    assert daedal.maximize(f"nk:{tmp_path}/a.nk", cache=path, name="a", **QUICK).carried_out > 0


def test_a_cache_gives_every_row_one_value(tmp_path: Path) -> None:
    says = "expected a cache or deduplicate=False, got both: a cache gives every row one value"
    with pytest.raises(ValueError, match=says):
        daedal.maximize("hiff:n=8", cache=tmp_path / "scores.db", deduplicate=False, **QUICK)
    assert not (tmp_path / "scores.db").exists()


def test_what_is_no_cache_is_refused_before_anything_is_evaluated(tmp_path: Path) -> None:
    calls: list[int] = []

    def f(x: np.ndarray) -> np.ndarray:
        calls.append(len(x))
        return ones(x)

    (tmp_path / "text").write_text("to be kept, whatever happens: " * 50)
    with pytest.raises(ValueError, match="text"):
        daedal.maximize(f, n=8, cache=tmp_path / "text", name="f", **QUICK)
    assert (tmp_path / "text").read_text() == "to be kept, whatever happens: " * 50
    with pytest.raises(OSError, match="missing"):
        daedal.maximize(f, n=8, cache=tmp_path / "missing" / "scores.db", name="f", **QUICK)
    assert calls == []


# With failures


def test_rows_that_failed_are_tried_again_by_the_next_run(tmp_path: Path) -> None:
    """What one run could not do is not known to the next, and no reason to give up before it begins."""
    path = tmp_path / "scores.db"

    def fails(x: np.ndarray) -> Any:
        if (x[:, :2] == 1).all(axis=1).any():
            raise RuntimeError("both")
        return ones(x)

    first = daedal.maximize(fails, n=12, cache=path, name="f", on_error="worst", **QUICK)
    assert first.failed > 0
    adds_up(first)
    second = daedal.maximize(fails, n=12, cache=path, name="f", on_error="worst", **QUICK)
    same(first, second, *COUNTS)
    assert second.carried_out == 0
    adds_up(second)
    mended = daedal.maximize(ones, n=12, cache=path, name="f", on_error="worst", **QUICK)
    same(daedal.maximize(ones, n=12, **QUICK), mended, *COUNTS)


def test_what_is_infeasible_downwards_is_not_the_best_upwards(tmp_path: Path) -> None:
    path = tmp_path / "scores.db"

    def cost(x: np.ndarray) -> Any:
        return np.where(x[:, 0] == 1, math.inf, ones(x))

    down = daedal.minimize(cost, n=8, cache=path, name="cost", **QUICK)
    assert (down.fitness, down.failed) == (0.0, 0)
    up = daedal.maximize(cost, n=8, cache=path, name="cost", on_error="worst", **QUICK)
    same(daedal.maximize(cost, n=8, on_error="worst", **QUICK), up, *COUNTS)
    assert up.failed > 0
    assert up.fitness == 7.0


def test_values_from_elsewhere_are_put_to_use(tmp_path: Path) -> None:
    """Whatever wrote them: a simulation of last year, in the order of the problem's own variables."""
    path = tmp_path / "scores.db"
    rows = np.array([[number >> bit & 1 for bit in range(8)] for number in range(256)], dtype=np.uint8)
    with SQLiteCache(path, n=8, objective="it", version="7") as cache:
        cache.add(rows, 2.0 * rows[:, 0] + rows[:, 7])

    def never(x: np.ndarray) -> Any:
        pytest.fail("everything is known")

    result = daedal.maximize(never, n=8, cache=path, name="it", version="7", **QUICK)
    assert (result.fitness, result.carried_out) == (3.0, 0)
    assert (result.x[0], result.x[7]) == (1, 1)


# Several at once

LOGGED = """
import os
import pathlib
import time

here = pathlib.Path(__file__).parent


def f(row):
    (here / f"started-{os.getpid()}").touch()
    while len(list(here.glob("started-*"))) < 2:  # until both are at it
        time.sleep(0.005)
    time.sleep(0.001)
    return float(sum((i % 5) * bit for i, bit in enumerate(row.tolist())))
"""


def test_two_programs_share_a_cache_at_the_same_time(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(LOGGED)
    how = ("--n", "14", "-a", "umda", "--popsize", "200", "--max-generations", "4", "--by-row", "--json")
    words = [sys.executable, "-m", "daedal", "solve", f"{tmp_path}/mine.py:f", *how]
    cache = ("--cache", str(tmp_path / "scores.db"), "--name", "mine", "--version", "1")
    both = [
        subprocess.Popen([*words, *cache, "--seed", seed], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for seed in ("1", "1")
    ]
    reports = []
    for process in both:
        out, err = process.communicate(timeout=100)
        assert process.returncode == 0, err
        reports.append(json.loads(out))

    def f(x: np.ndarray) -> Any:
        return (x * (np.arange(14) % 5)).sum(axis=1)

    keywords: dict[str, Any] = {"algorithm": "umda", "popsize": 200, "seed": 1, "max_generations": 4}
    plain = daedal.maximize(f, n=14, **keywords)
    for report in reports:
        assert report["x"] == to_text(plain.x)
        assert report["evaluations"] == plain.evaluations == report["carried_out"] + report["cached"]
    assert sum(report["carried_out"] for report in reports) >= plain.carried_out
    after = daedal.maximize(f, n=14, cache=tmp_path / "scores.db", name="mine", version="1", **keywords)
    assert after.carried_out == 0
    same(plain, after, *COUNTS)


def test_a_cache_serves_workers_too(tmp_path: Path) -> None:
    """It is written to as answers come, by the process that gathers them."""
    path = tmp_path / "scores.db"
    plain = daedal.maximize(lambda x: x.sum(axis=1), n=12, **QUICK)
    first = daedal.maximize(lambda x: x.sum(axis=1), n=12, cache=path, name="f", workers=2, **QUICK)
    same(plain, first)
    second = daedal.maximize(lambda x: x.sum(axis=1), n=12, cache=path, name="f", workers=2, **QUICK)
    assert (second.carried_out, second.cached) == (0, second.evaluations)
    same(plain, second, *COUNTS)
