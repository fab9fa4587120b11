"""Runs what a study needs: the same rows for any number of workers, and nothing twice or lost.

Most tests do without processes: `Inline` stands in for them and ends runs in any order. What only processes can do,
to die for instance, is tried with real ones, once for all tests.
"""

from __future__ import annotations

import dataclasses
import pickle
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from process_helpers import children
from study_helpers import CLOCK, Inline

from daedal.evaluation.worker import Event, Message, pack
from daedal.studies.analysis import analyse
from daedal.studies.plan import Settled, needed_runs, study_status
from daedal.studies.runner import Order, Progress, judged, run_study, without_files
from daedal.studies.spec import Study
from daedal.studies.store import DONE, FAILED, KILLED, Run, Store

BASE: dict[str, Any] = {
    "problems": ["onemax:n=12", "trap:k=4,n=8"],
    "algorithms": ["umda", "pbil"],
    "popsizes": [20, 50],
    "runs": 4,
    "limits": {"max_generations": 8},
}

Rows = list[dict[str, Any]]


def study(**changes: Any) -> Study:
    return Study.from_dict(BASE | changes)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "results.db") as opened:
        yield opened


def timeless(store: Store) -> Rows:
    """All rows, in an order of their own, but for the clock."""
    rows = [{name: value for name, value in row.items() if name not in CLOCK} for row in store.rows()]
    return sorted(rows, key=lambda row: (row["content"], row["seed"]))


def run(one: Study, store: Store, watcher: Any = None, pool: Any = None, **order: Any) -> tuple[Progress, set[Any]]:
    """Run a study without processes: how it went, and what was run, each once."""
    pool = pool or Inline()
    progress = run_study(one, store, Order(**order), watcher, pool=pool)
    each = {(str(config.objective), str(config.algorithm), config.seed) for config in pool.made}
    assert len(each) == len(pool.made) == progress.done
    return progress, {
        (str(config.objective), config.algorithm.name, config.algorithm.settings().get("popsize"), config.seed)
        for config in pool.made
    }


def statuses(store: Store) -> dict[str, str]:
    return {row["problem"]: row["status"] for row in store.rows()}


class Watching:
    def __init__(self, act: Callable[[Progress], object] = lambda progress: None) -> None:
        self.act = act
        self.seen: list[tuple[int, int, int, int]] = []

    def update(self, progress: Progress) -> None:
        self.seen.append((progress.done, progress.failed, progress.found, sum(progress.ahead.values())))
        self.act(progress)


# Any number of workers


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """The rows that one and two real workers write."""
    rows = {}
    for workers in (1, 2):
        with Store(tmp_path_factory.mktemp("workers") / f"{workers}.db") as opened:
            progress = run_study(study(), opened, Order(workers=workers))
            rows[workers] = timeless(opened)
            assert progress.done == len(rows[workers])
            assert not +progress.ahead
    assert rows[1] == rows[2]
    return rows[1]


def test_the_rows_are_those_of_the_papers_procedure(expected: Rows, store: Store) -> None:
    """Every run of the grid is made, and then one by one revealed as the plan asks for them."""
    one = study()
    _, made = run(one, store, workers=2, full_grid=True)
    assert made == {
        (cell.problem.problem, cell.algorithm.name, cell.popsize, seed) for cell in one.cells() for seed in one.seeds
    }
    assert store.study()[1:] == (0, True)
    runs = store.runs()
    found = set()
    for problem, algorithm in one.pairs():
        everything = {size: runs[one.cell(problem, algorithm, size).key] for size in algorithm.popsizes}
        known: dict[int | None, dict[int, bool | None]] = {}
        while needed := needed_runs(known, algorithm.popsizes, one.seeds):
            popsize, seed = needed[0]
            known.setdefault(popsize, {})[seed] = everything[popsize][seed].success
            found.add((problem.name, algorithm.name, popsize, seed))
    assert {(row["problem"], row["algorithm"], row["popsize"], row["seed"]) for row in expected} == found
    assert [row for row in timeless(store) if row in expected] == expected  # and they are the same in a full grid
    assert {row["status"] for row in expected} == {DONE}
    assert {row["success"] for row in expected} == {True, False}  # or it would say nothing about stopping early
    assert 16 < len(expected) < 32  # more than one size, less than all


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 100])
def test_the_order_in_which_runs_end_changes_nothing(expected: Rows, store: Store, workers: int) -> None:
    run(study(), store, workers=workers)
    assert timeless(store) == expected


def test_small_populations_come_first_and_all_pairs_in_turn(store: Store) -> None:
    pool = Inline()
    run(study(), store, pool=pool, full_grid=True)
    assert [config.algorithm.settings()["popsize"] for config in pool.made] == [20] * 16 + [50] * 16
    first = [(config.seed, config.objective, config.algorithm.name) for config in pool.made[:8]]
    assert first == [
        (seed, problem, algorithm)
        for seed in (0, 1)
        for problem in ("onemax:n=12", "trap:k=4,n=8")
        for algorithm in ("umda", "pbil")
    ]


# Nothing twice


def test_a_second_run_makes_nothing_and_starts_nobody(store: Store) -> None:
    _, made = run(study(), store, workers=2)
    rows = list(store.rows())
    known, confirm, full_grid = store.study()  # it can be gone on with without its file
    assert (confirm, full_grid) == (0, False)
    for same in (study(), known, study(problems=["onemax:n=12"], popsizes=[20], runs=3)):  # the last a part of it
        progress = run_study(same, store, Order(workers=2), pool=None)  # type: ignore[arg-type]
        assert progress.done == 0
    assert list(store.rows()) == rows
    assert run(study(), store)[0].found == len(made)


@pytest.mark.parametrize(
    "more",
    [
        {"problems": ["trap:k=4,n=8", "onemax:n=9", "onemax:n=12"]},
        {"algorithms": [{"algorithm": "pbil", "settings": {"learning_rate": 0.1}, "name": "fast"}, "umda", "pbil"]},
        {"runs": 6},
        {"popsizes": [10, 20, 50]},
        {"popsizes": [20, 50, 100]},
        {"seed": 2},
    ],
    ids=lambda more: next(iter(more)),
)
def test_what_is_added_is_all_that_is_run(store: Store, tmp_path: Path, more: dict[str, Any]) -> None:
    """And it is what a study of this size would have run from the beginning, without what was there."""

    def pairs(of: Store) -> set[tuple[str, int]]:
        return {(key, seed) for key, runs in of.runs().items() for seed in runs}

    run(study(), store, workers=2)
    before, rows = pairs(store), list(store.rows())
    progress, _ = run(study(**more), store, workers=3)
    made = pairs(store) - before
    assert progress.done == len(made) > 0
    assert list(store.rows())[: len(rows)] == rows
    with Store(tmp_path / "at once.db") as fresh:
        run(study(**more), fresh)
        assert made == pairs(fresh) - before


# Orders


def test_choices_are_confirmed_with_seeds_that_took_no_part(store: Store, tmp_path: Path) -> None:
    one = study()
    run(one, store, workers=2)
    chosen = {
        (row.problem.problem, row.algorithm.name, row.choice.popsize)
        for row in analyse(one, store.runs())
        if isinstance(row.choice, Settled)
    }
    assert chosen
    _, made = run(one, store, workers=2, confirm=3)
    assert made == {(*each, seed) for each in chosen for seed in one.fresh_seeds(3)}
    assert not set(one.seeds) & set(one.fresh_seeds(3))
    found = [row.confirmed for row in analyse(one, store.runs(), confirm=3)]
    assert {confirmed.runs for confirmed in found if confirmed is not None} == {3}
    assert store.study()[1:] == (3, False)
    with Store(tmp_path / "at once.db") as fresh:
        run(one, fresh, workers=3, confirm=3)
        assert timeless(fresh) == timeless(store)
    assert {seed for *_, seed in run(one, store, confirm=5)[1]} == set(one.fresh_seeds(5)) - set(one.fresh_seeds(3))


def test_what_was_asked_for_before_holds(store: Store) -> None:
    """So that who only says --retry-failed, or goes on after Ctrl-C, gets all of it."""
    one = study(problems=["onemax:n=12"], algorithms=["umda"])
    assert run(one, store, confirm=3, full_grid=True)[0].done == len(one.cells()) * one.runs + 3
    for cell, seed in ((one.cells()[-1], one.seeds[-1]), (one.cells()[0], one.fresh_seeds(3)[-1])):
        with sqlite3.connect(store.path) as connection:
            connection.execute(
                "UPDATE runs SET status = 'failed' WHERE seed = ? AND cell = ?",
                (seed, cell.key),
            )
    assert run(one, store)[0].done == 0
    assert run(one, store, retry_failed=True)[0].done == 2
    assert set(statuses(store).values()) == {DONE}
    assert run(one, store, confirm=0, full_grid=False)[0].order == Order(confirm=0, full_grid=False)
    assert store.study()[1:] == (0, False)


# What watchers see


def test_the_time_that_is_left_by_hand() -> None:
    one = study(problems=["onemax:n=12"])
    small, large, other, _ = one.cells()  # 20 and 50 of umda, 20 of pbil
    progress = Progress(study=one, order=Order(), runs={}, workers=2)
    progress.ahead = Counter({small: 3, large: 2, other: 1})
    assert progress.seconds_left() is None  # nothing has ended yet
    took = dict(enumerate((1.0, 3.0, None)))  # the last one failed
    progress.runs = {
        small.key: {seed: Run(seed=seed, status=DONE, success=True, cpu_seconds=took[seed]) for seed in took}
    }
    # A run of 20 takes 2 s, one of 50 takes 2.5 times as long, and of pbil one expects the mean of both, 3.5 s.
    assert progress.seconds_left() == pytest.approx((3 * 2 + 2 * 5 + 3.5) / 2)
    progress.runs[large.key] = {0: Run(seed=0, status=DONE, success=True, cpu_seconds=10.0)}
    assert progress.seconds_left() == pytest.approx((3 * 2 + 2 * 10 + 6) / 2)
    progress.took[small.key] = [7.0, 9.0]  # on the clock, which goes before CPU time
    assert progress.seconds_left() == pytest.approx((3 * 8 + 2 * 10 + 9) / 2)
    progress.ahead = Counter({small: 0, large: 0})
    assert progress.seconds_left() is None


# Alone


# Runs that go wrong

TROUBLE = """
import os, signal, time
from pathlib import Path

def made(what):
    def f(x):
        if Path(__file__).with_name("bad").exists():
            what()
        return x.sum(axis=1)
    return f

def fail():
    raise RuntimeError("no" + chr(10) + "luck")

def be_ended():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(100)

raises, exits, well, is_ended = made(fail), made(lambda: os._exit(3)), made(int), made(be_ended)
is_killed = made(lambda: os.kill(os.getpid(), signal.SIGKILL))
"""


def test_runs_that_go_wrong_are_written_down_and_the_study_goes_on(store: Store, tmp_path: Path) -> None:
    """With real processes, of which four come to a bad end; what was killed is made again, what failed where asked."""
    (tmp_path / "trouble.py").write_text(TROUBLE)
    names = ("raises", "exits", "is_killed", "is_ended", "well")
    problems = [{"name": name, "problem": f"trouble.py:{name}", "n": 6, "target": 6} for name in names]
    given = {"problems": problems, "algorithms": ["umda"], "popsizes": [50], "runs": 1}
    one = Study.from_dict(given, folder=tmp_path)
    (tmp_path / "bad").touch()
    progress = run_study(one, store, Order())
    assert (progress.done, progress.failed, progress.killed) == (5, 2, 2)
    rows = {row["problem"]: (row["status"], row["error"]) for row in store.rows()}
    status, error = rows.pop("raises")
    assert status == FAILED
    assert "RuntimeError: no luck (trouble.py, line " in error
    assert rows == {
        "exits": (FAILED, "its process ended in the middle, with exit code 3"),
        "is_killed": (KILLED, "its process was killed by SIGKILL"),
        "is_ended": (KILLED, "its process was killed by SIGTERM"),  # by the user, or a machine that shuts down
        "well": (DONE, None),
    }

    def again(**order: Any) -> list[str]:
        pool = Inline()
        progress = run_study(one, store, Order(**order), pool=pool)
        assert progress.found + progress.done == 5
        return sorted(config.objective.spec.rpartition(":")[2] for config in pool.made)  # type: ignore[union-attr]

    (tmp_path / "bad").unlink()
    assert again() == ["is_ended", "is_killed"]
    (tmp_path / "bad").touch()
    only = Study.from_dict(given | {"problems": problems[:1]}, folder=tmp_path)
    assert run(only, store, retry_failed=True)[0].failed == 1  # what fails again has failed
    assert statuses(store) == dict.fromkeys(names, DONE) | {"raises": FAILED, "exits": FAILED}
    (tmp_path / "bad").unlink()
    assert again(retry_failed=True) == ["exits", "raises"]
    assert statuses(store) == dict.fromkeys(names, DONE)
    assert study_status(one, store.runs()).errors == {}
    assert again(retry_failed=True) == []  # what ended well is not


@pytest.mark.parametrize(
    ("value", "status", "error"),
    [
        (0, FAILED, "its process ended in the middle, with exit code 0"),
        (1, FAILED, "its process ended in the middle, with exit code 1"),
        (-signal.SIGKILL, KILLED, "its process was killed by SIGKILL"),
        (-signal.SIGHUP, KILLED, "its process was killed by SIGHUP"),
        (-signal.SIGSEGV, FAILED, "its process was killed by SIGSEGV"),
        (-(signal.SIGRTMIN + 6), FAILED, f"its process was killed by signal {signal.SIGRTMIN + 6}"),
        ("KilledWorker: oh", KILLED, "its worker was lost: KilledWorker: oh"),  # somebody else's, and not to blame
    ],
)
def test_what_an_end_means(value: object, status: str, error: str) -> None:
    assert judged(Message(0, Event.DIED, value)) == (status, error)


# Files

OWN = """
from __future__ import annotations
from dataclasses import dataclass
import daedal
from daedal.models import UMDA, Model

def f(x):
    return x.sum(axis=1)

async def Ones(f, *, rng, rows=4):
    while True:
        await f(f.random(rows, rng))

@dataclass(frozen=True, kw_only=True)
class Mine(Model):
    def fit(self, x, *, rng, previous=None):
        return UMDA().fit(x, rng=rng)

def nested():
    async def NESTED(f, *, rng):
        await f(f.random(4, rng))
    return NESTED

NESTED = nested()
"""


def own(folder: Path, *algorithms: object) -> Study:
    (folder / "own.py").write_text(OWN)
    problems = [{"name": "mine", "problem": "own.py:f", "n": 6, "target": 6}, "onemax:n=6"]
    given = {"problems": problems, "algorithms": list(algorithms), "popsizes": [50, 60], "runs": 5}
    return Study.from_dict(given | {"limits": {"max_evaluations": 400}}, folder=folder)


def test_an_algorithm_of_a_file_with_and_without_a_population(store: Store, tmp_path: Path) -> None:
    few = {"algorithm": "own.py:Ones", "name": "few", "settings": {"rows": 1}}
    _, made = run(own(tmp_path, "own.py:Ones", few, "own.py:Mine"), store, workers=2)
    assert {(name, popsize) for _, name, popsize, _ in made} == {("Ones", None), ("Mine", 50)}
    assert {(row["algorithm"], row["status"]) for row in store.rows()} == {
        (name, DONE) for name in ("Ones", "few", "Mine")
    }
    with pytest.raises(TypeError, match="NESTED cannot be sent"):
        run(own(tmp_path, "own.py:NESTED"), store)


def test_what_a_file_becomes_in_the_middle_neither_ends_the_study_nor_is_taken_for_what_it_was(
    store: Store, tmp_path: Path
) -> None:
    """The key says what was in the file when the study was read; runs of anything else do not belong there."""

    def change(progress: Progress) -> None:
        if not progress.done:
            (tmp_path / "own.py").write_text(OWN.replace("x.sum(axis=1)", "100 + x.sum(axis=1)"))
        elif progress.done == 3:
            (tmp_path / "own.py").write_text("def f(x:\n")

    progress, _ = run(own(tmp_path, "umda", "own.py:Ones"), store, Watching(change))
    rows = Counter((row["problem"], row["algorithm"], row["popsize"], row["status"]) for row in store.rows())
    assert rows.pop(("onemax:n=6", "umda", 50, DONE)) == 5
    # A failure counts as not solved: once three of five have failed, 50 % is out of reach.
    failed = [("mine", "umda", 50), ("mine", "umda", 60), ("mine", "Ones", None), ("onemax:n=6", "Ones", None)]
    assert rows == {(*each, FAILED): 3 for each in failed}
    assert (progress.done, progress.failed) == (17, 12)
    assert all("own.py has changed since" in row["error"] for row in store.rows() if row["status"] == FAILED)
    (tmp_path / "own.py").unlink()  # which other processes would load


def test_functions_and_algorithms_travel_without_their_file(tmp_path: Path) -> None:
    """To a machine of Dask's that does not have it."""
    pytest.importorskip("cloudpickle", reason="the extra parallel is not installed")
    configs = [cell.config(0) for cell in own(tmp_path, "own.py:Ones", "own.py:Mine", "own.py:NESTED").cells()[:3]]
    expected = [repr(config.run()).split("cpu_seconds")[0] for config in configs]
    works = [pack(without_files(config), "the run") for config in configs]
    (tmp_path / "own.py").unlink()
    script = "import pickle, sys; from daedal.studies.runner import run_config\n"
    script += "print(*map(run_config, pickle.load(sys.stdin.buffer)), sep='\\n')"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, input=pickle.dumps(works), capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert [line.split("cpu_seconds")[0] for line in done.stdout.decode().splitlines()] == expected


# Interrupts


def test_an_interrupt_ends_the_processes_and_loses_nothing_that_ended(expected: Rows, store: Store) -> None:
    before = children()
    counts: list[int] = []

    def interrupt(progress: Progress) -> None:
        counts.append(progress.done)
        if progress.done >= 5:
            assert children() - before
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(study(), store, Order(workers=2), Watching(interrupt))
    assert children() <= before
    assert len(store) == counts[-1] >= 5
    assert run(study(), store, workers=2)[0].found == counts[-1]
    assert timeless(store) == expected  # as if nothing had happened


def test_budgets_are_run_from_small_to_large_and_nothing_is_confirmed(store: Store) -> None:
    one = Study.from_dict(
        {"problems": ["onemax:n=8", "trap:k=4,n=8"], "algorithms": ["umda", "pbil"], "budgets": [200, 100], "runs": 3}
    )
    with pytest.raises(ValueError, match="leave out --confirm"):
        run_study(one, store, Order(confirm=2), pool=Inline())
    assert len(store) == 0
    pool = Inline()
    progress = run_study(one, store, Order(), pool=pool)
    assert (progress.done, progress.found, sum(progress.ahead.values())) == (24, 0, 0)
    assert [config.limits.max_evaluations for config in pool.made] == [100] * 12 + [200] * 12
    assert run_study(one, store, Order(), pool=Inline()).done == 0
    more = dataclasses.replace(one, budgets=(100, 200, 400))
    assert run_study(more, store, Order(), pool=Inline()).done == 12  # what is added is all that is run
