"""An interrupted run that is resumed from its file ends as one that was never interrupted: replay from any moment.

`Calls` records what the objective is called for, so equal sequences prove two things at once: the search takes the same
way, and no evaluation on disk is made again. e2e/test_resume.py does the same with processes that are killed.
"""

from __future__ import annotations

import math
import random
import shutil
import sqlite3
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from run_helpers import ALGORITHMS, Calls, ragged, told

import daedal
from daedal.limits import ReplayWarning, StopReason
from daedal.problems import Trap
from daedal.run.run_file import read_run

pytestmark = pytest.mark.filterwarnings("ignore::daedal.BudgetWarning")


def given(name: str) -> dict[str, Any]:
    """Return what has to be given again to resume: an algorithm that is not one of daedal's own."""
    return {"algorithm": ALGORITHMS[name]["algorithm"]} if name.startswith("own") else {}


def cut(path: Path, evaluations: int, other: Path) -> Path:
    """Copy a run file as it was when so many evaluations were on disk."""
    shutil.copy(path, other)
    with closing(sqlite3.connect(other)) as connection, connection:
        connection.execute("DELETE FROM evaluations WHERE number >= ?", (evaluations,))
        connection.execute("DELETE FROM records")
        connection.execute("UPDATE runs SET outcome = NULL, trace = NULL")
    return other


def keys(path: Path) -> list[object]:
    with closing(read_run(path)) as file:
        return [one.key for one in file.evaluations() if not one.known]


@pytest.mark.parametrize("n", [2, 3, 8, 20])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_ctrl_c_at_any_evaluation(name: str, n: int, tmp_path: Path) -> None:
    how: dict[str, Any] = {"n": n, "seed": 1, "vectorized": False, "max_evaluations": 80, **ALGORITHMS[name]}
    whole = Calls()
    expected = told(daedal.maximize(whole, **how))
    last = len(whole.seen)
    for number in sorted({2, last // 3, last // 2 + 1, last - 1, last} - {0, 1}):
        path = tmp_path / f"{number}.db"
        first, rest = Calls(interrupted_at=number), Calls()
        interrupted = daedal.maximize(first, run=path, **how)
        assert (interrupted.stop, interrupted.evaluations) == (StopReason.INTERRUPTED, number - 1)
        assert told(daedal.resume(path, rest, **given(name))) == expected
        assert first.seen + rest.seen == whole.seen


@pytest.mark.parametrize("name", ["auto", "mix", "ils", "umda", "hboa", "own", "umda, doubled"])
def test_every_number_of_evaluations_on_disk(name: str, tmp_path: Path) -> None:
    """Every batch boundary is among them, and every place within a batch."""
    how: dict[str, Any] = {"n": 6, "seed": 4, "vectorized": False, "max_evaluations": 50, **ALGORITHMS[name]}
    whole, path = Calls(), tmp_path / "run.db"
    expected = told(daedal.maximize(whole, run=path, **how))
    for number in range(len(whole.seen) + 1):
        rest = Calls()
        again = daedal.resume(cut(path, number, tmp_path / "cut.db"), rest, **given(name))
        assert told(again) == expected
        assert rest.seen == whole.seen[number:]
        assert keys(tmp_path / "cut.db") == keys(path)


def test_the_default_on_a_trap(tmp_path: Path) -> None:
    how: dict[str, Any] = {"seed": 3, "vectorized": False, "n": 50, "target": 50.0}

    def trap(x: Any) -> Any:
        return Trap(k=5, n=50).evaluate(x.astype(np.uint8))

    whole, path = Calls(trap), tmp_path / "run.db"
    expected = daedal.maximize(whole, run=path, **how)
    assert expected.success
    for number in random.Random(1).sample(range(len(whole.seen)), 6):
        rest = Calls(trap)
        assert told(daedal.resume(cut(path, number, tmp_path / "cut.db"), rest)) == told(expected)
        assert rest.seen == whole.seen[number:]


def test_interrupted_again_and_again(tmp_path: Path) -> None:
    how: dict[str, Any] = {"n": 12, "seed": 2, "vectorized": False, "max_evaluations": 100, "algorithm": "ils"}
    whole, path = Calls(), tmp_path / "run.db"
    expected = daedal.maximize(whole, **how)
    calls = Calls(interrupted_at=8)
    seen, result = calls.seen, daedal.maximize(calls, run=path, **how)
    while result.stop is StopReason.INTERRUPTED:
        calls = Calls(interrupted_at=12)
        result = daedal.resume(path, calls)
        seen = seen + calls.seen
    assert told(result) == told(expected)
    assert seen == whole.seen


# ---------------------------------------------------------------- every way to run


def sometimes(x: Any) -> Any:
    """Return nan for a quarter of all rows."""
    return np.where(x[:, 0] & x[:, 1], math.nan, ragged(x))


def mostly_infeasible(x: Any) -> Any:
    return np.where(x[:, :3].any(axis=1), -np.inf, ragged(x))


def sack(x: Any) -> Any:
    return ragged(x), x @ np.arange(1, x.shape[1] + 1) - 20.0


ROWS = np.random.default_rng(9).integers(0, 2, (7, 12), dtype=np.uint8)

WAYS: dict[str, tuple[Any, dict[str, Any]]] = {
    "a target": (ragged, {"target": 4.9 + 1e-12}),
    "generations": (ragged, {"max_generations": 6, "max_evaluations": None}),
    "patience": (ragged, {"patience": 2}),
    "minimizing": (ragged, {"minimize": True}),
    "most known": (ragged, {"n": 5, "max_evaluations": 30}),
    "time to spare": (ragged, {"max_seconds": 1000.0}),
    "initial rows": (ragged, {"initial": ROWS}),
    "initial rows with values": (ragged, {"initial": (ROWS, ragged(ROWS))}),
    "failures": (sometimes, {"on_error": "worst"}),
    "failures that are tried again": (sometimes, {"on_error": "retry:1,worst"}),
    "mostly infeasible": (mostly_infeasible, {}),
    "nothing feasible": (lambda x: np.full(len(x), -np.inf), {}),
    "constraints": (sack, {"violations": True}),
    "large values": (lambda x: 1e300 * ragged(x), {}),
    "no deduplication": (ragged, {"deduplicate": False}),
    "a large seed": (ragged, {"seed": 2**100 + 1}),
    "NumPy's numbers": (ragged, {"n": np.int64(12), "seed": np.uint8(5), "max_evaluations": np.int32(80)}),
}


@pytest.mark.parametrize("name", ["umda", "ils", "auto", "own"])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_run(way: str, name: str, tmp_path: Path) -> None:
    objective, more = WAYS[way]
    how = {"n": 12, "seed": 5, "vectorized": False, "max_evaluations": 80, **ALGORITHMS[name], **more}
    whole, path = Calls(objective), tmp_path / "run.db"
    expected = told(daedal.maximize(whole, run=path, **how))
    tries = 2 if "tried again" in way else 1
    for number in (1, len(whole.seen) // 3 // tries, len(whole.seen) * 2 // 3 // tries):
        rest = Calls(objective)
        again = daedal.resume(cut(path, number, tmp_path / "cut.db"), rest, **given(name))
        assert told(again) == expected
        assert tries > 1 or rest.seen == whole.seen[number:]


@pytest.mark.parametrize("problem", ["trap:k=4,n=12", "nk:n=12,k=3,seed=2"])
def test_a_problem_in_a_random_order_of_variables(problem: str, tmp_path: Path) -> None:
    """With other workers from part to part."""
    how: dict[str, Any] = {"algorithm": "umda", "popsize": 24, "seed": 5, "max_generations": 6}
    expected, path = daedal.maximize(problem, run=tmp_path / "run.db", **how), tmp_path / "cut.db"
    with ThreadPoolExecutor(3) as executor:
        for parts in ({}, {"workers": 2}, {"executor": executor}):
            cut(tmp_path / "run.db", 40, path)
            assert told(daedal.resume(path, **parts)) == told(expected)


def test_a_finished_run_gives_its_result_at_once_and_continues_with_more_evaluations(tmp_path: Path) -> None:
    path, whole = tmp_path / "run.db", Calls()
    how: dict[str, Any] = {"n": 20, "seed": 1, "vectorized": False, "algorithm": "ils"}
    expected = daedal.maximize(whole, max_evaluations=60, run=path, **how)
    for _ in range(2):
        assert told(daedal.resume(path, lambda row: pytest.fail("a call"))) == told(expected)
    assert told(daedal.load(path)) == told(expected)
    rest = Calls()
    more = daedal.resume(path, rest, max_evaluations=100)
    assert (more.evaluations, len(rest.seen)) == (100, 40)
    assert not {*rest.seen} & {*whole.seen}
    assert more.fitness >= expected.fitness
    assert told(daedal.maximize(Calls(), max_evaluations=100, run=path, **how)) == told(more)  # the same command again


@pytest.mark.parametrize("most", [24, 40, 43])
@pytest.mark.parametrize("name", ["umda", "pbil", "dae", "own model"])
def test_a_batch_that_the_budget_cut_short_is_completed_with_more_evaluations(
    name: str, most: int, tmp_path: Path
) -> None:
    path, whole, first, rest = tmp_path / "run.db", Calls(), Calls(), Calls()
    how: dict[str, Any] = {"n": 20, "seed": 1, "vectorized": False, **ALGORITHMS[name]}
    daedal.maximize(whole, max_evaluations=90, **how)
    daedal.maximize(first, max_evaluations=most, run=path, **how)
    assert daedal.resume(path, rest, max_evaluations=90, **given(name)).evaluations == len(whole.seen)
    assert first.seen + rest.seen == whole.seen


async def whims(f: Any, *, rng: np.random.Generator) -> None:
    """Ask for other candidates in every run."""
    while True:
        await f(f.random(5, np.random.default_rng()))


def test_a_search_that_takes_another_way_goes_on_and_says_so(tmp_path: Path) -> None:
    path, how = tmp_path / "run.db", {"n": 40, "seed": 1, "vectorized": False, "algorithm": whims}
    first, rest = Calls(interrupted_at=31), Calls()
    daedal.maximize(first, max_evaluations=60, run=path, **how)
    with pytest.warns(ReplayWarning, match="free"):
        result = daedal.resume(path, rest, algorithm=whims)
    assert result.evaluations == len(rest.seen) == 60
    assert not {*rest.seen} & {*first.seen}


# ---------------------------------------------------------------- asynchronous runs


def uneven(row: Any) -> float:
    """Take a random time."""
    time.sleep(random.random() * 0.004)
    return float(ragged(np.asarray(row)[None])[0])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_asynchronous_run_resumes_from_the_recorded_order(name: str, tmp_path: Path) -> None:
    path, how = tmp_path / "run.db", {"n": 12, "seed": 1, "vectorized": False, "max_evaluations": 60}
    with ThreadPoolExecutor(3) as executor:
        expected = daedal.maximize(uneven, asynchronous=True, executor=executor, run=path, **ALGORITHMS[name], **how)
    assert len(set(keys(path))) == len(keys(path)) - (name == "auto" and expected.evaluations > 20)
    again = daedal.resume(path, lambda row: pytest.fail("a call"), **given(name))
    assert decided(again) == decided(expected)
    number = len(keys(path)) // 2
    rest = Calls()
    later = daedal.resume(cut(path, number, tmp_path / "cut.db"), rest, **given(name))
    assert keys(tmp_path / "cut.db")[:number] == keys(path)[:number]
    assert len(keys(tmp_path / "cut.db")) == later.evaluations == number + len(rest.seen) <= 60
    assert len(set(keys(tmp_path / "cut.db"))) >= later.evaluations - 1


def decided(result: daedal.Result) -> tuple[object, ...]:
    """Return what the order of arrival decides."""
    return result.x.tolist(), result.fitness, result.evaluations, result.evaluations_to_best, result.stop


@pytest.mark.parametrize("name", ["auto", "umda", "own"])
def test_one_asynchronous_worker_is_a_function_of_the_seed(name: str, tmp_path: Path) -> None:
    how: dict[str, Any] = {"n": 8, "seed": 4, "vectorized": False, "max_evaluations": 40, **ALGORITHMS[name]}
    whole, path = Calls(), tmp_path / "run.db"
    expected = told(daedal.maximize(whole, asynchronous=True, run=path, **how))
    for number in range(0, len(whole.seen) + 1, 3):
        rest = Calls()
        again = daedal.resume(cut(path, number, tmp_path / "cut.db"), rest, **given(name))
        assert (decided(again), rest.seen) == (decided_of(expected), whole.seen[number:])


def decided_of(expected: dict[str, Any]) -> tuple[object, ...]:
    names: Sequence[str] = ("fitness", "evaluations", "evaluations_to_best", "stop")
    return (expected["x"][1], *(expected[name] for name in names))
