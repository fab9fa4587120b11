"""Where runs are kept: one row each, in a file that nothing damages."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import daedal
from daedal.limits import StopReason
from daedal.optimizers.base import Generation
from daedal.result import Result
from daedal.study import store as store_module
from daedal.study.analysis import Measure, analyse
from daedal.study.environment import environment
from daedal.study.plan import Settled
from daedal.study.run import DONE, FAILED, KILLED, Run
from daedal.study.spec import Cell, Study
from daedal.study.status import study_status
from daedal.study.store import Store

BASE: dict[str, Any] = {"problems": ["onemax:n=6"], "algorithms": ["umda"], "popsizes": [20], "runs": 4}

COLUMNS = [
    *("problem", "algorithm", "preset", "popsize", "seed", "status", "success", "best", "optimum"),
    *("evaluations_to_best",),
    *(
        "evaluations",
        "unique_evaluations",
        "batches",
        "generations",
        "cpu_seconds_to_best",
        "cpu_seconds",
        "stop",
        "error",
        "x",
    ),
    *("settings", "content", "daedal", "numpy", "numba", "python", "cpu", "finished", "cell"),
]


def study(**changes: Any) -> Study:
    return Study.from_dict(BASE | changes)


def cell(**changes: Any) -> Cell:
    (only,) = study(**changes).cells()
    return only


@pytest.fixture(scope="module")
def result() -> Result:
    return daedal.maximize("onemax:n=6", algorithm="umda", popsize=20, seed=3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as opened:
        yield opened


def digest(path: Path) -> tuple[str, list[str]]:
    """The bytes of a file, and what lies beside it."""
    return hashlib.sha256(path.read_bytes()).hexdigest(), sorted(other.name for other in path.parent.iterdir())


# One row a run


def test_a_run_is_one_row_with_everything(store: Store, path: Path, result: Result) -> None:
    mine = cell(problems=[{"name": "mine", "problem": "onemax:n=6"}], algorithms=[{"name": "U", "algorithm": "umda"}])
    store.record(mine, 3, result)
    (row,) = store.rows()
    assert list(row) == COLUMNS
    finished = datetime.fromisoformat(row.pop("finished"))
    assert timedelta(0) <= datetime.now(UTC) - finished < timedelta(minutes=5)
    assert json.loads(row.pop("settings")) == result.settings
    assert json.loads(row.pop("content")) == mine.content
    assert row == {
        "problem": "mine",
        "algorithm": "umda",  # no study says that it is called U
        "preset": "umda",
        "popsize": 20,
        "seed": 3,
        "status": "done",
        "success": True,
        "best": 6.0,
        "optimum": 6.0,
        "evaluations_to_best": result.evaluations_to_best,
        "evaluations": result.evaluations,
        "unique_evaluations": result.carried_out,
        "batches": None,
        "generations": result.generations,
        "cpu_seconds_to_best": result.cpu_seconds_to_best,
        "cpu_seconds": result.cpu_seconds,
        "stop": "target",
        "error": None,
        "x": "111111",
        **environment(),
        "cell": mine.key,
    }
    assert all(row[name] for name in ("daedal", "numpy", "numba", "python", "cpu"))
    store.close()
    with Store(path, create=False) as again:  # and it is there tomorrow
        assert len(again) == 1
        assert again.runs() == {
            mine.key: {
                3: Run(
                    seed=3,
                    status=DONE,
                    success=True,
                    best=6.0,
                    optimum=6.0,
                    evaluations=result.evaluations_to_best,
                    seconds=result.cpu_seconds_to_best,
                    total_seconds=result.cpu_seconds,
                    cpu=environment()["cpu"],
                )
            }
        }


def test_rows_have_the_names_of_the_study_that_was_last_run(store: Store, result: Result) -> None:
    slow = {"name": "slow", "algorithm": "pbil", "settings": {"learning_rate": 0.01}}
    one = study(algorithms=["pbil", slow])
    store.remember(one)
    for which in one.cells():
        store.record(which, 0, result)
    assert [(row["problem"], row["algorithm"], row["preset"]) for row in store.rows()] == [
        ("onemax:n=6", "pbil", "pbil"),
        ("onemax:n=6", "slow", "pbil"),
    ]
    store.remember(study(problems=[{"name": "ones", "problem": "onemax:n=6"}], algorithms=[slow]))
    assert [(row["problem"], row["algorithm"]) for row in store.rows()] == [("onemax:n=6", "pbil"), ("ones", "slow")]


def test_any_program_can_read_the_rows(store: Store, path: Path, result: Result) -> None:
    store.record(cell(), 3, result)
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT problem, algorithm, popsize, seed, success, best FROM results").fetchall()
    assert found == [("onemax:n=6", "umda", 20, 3, 1, 6.0)]


def test_rows_come_in_the_order_in_which_runs_ended(store: Store, result: Result) -> None:
    one, two = study(popsizes=[20, 50]).cells()
    for which, seed in ((two, 5), (one, 9), (two, 1), (one, 0)):
        store.record(which, seed, result)
    assert [(row["popsize"], row["seed"]) for row in store.rows()] == [(50, 5), (20, 9), (50, 1), (20, 0)]
    assert len(store) == 4
    assert {key: sorted(runs) for key, runs in store.runs().items()} == {one.key: [0, 9], two.key: [1, 5]}


def test_an_error_is_a_row_too(store: Store) -> None:
    store.record(cell(), 7, "ValueError: no luck", status=FAILED)
    store.record(cell(), 8, "its process was killed by SIGKILL", status=KILLED)
    cpu = environment()["cpu"]
    assert store.runs()[cell().key] == {
        7: Run(seed=7, status=FAILED, success=False, error="ValueError: no luck", cpu=cpu),
        8: Run(seed=8, status=KILLED, success=False, error="its process was killed by SIGKILL", cpu=cpu),
    }
    first, second = store.rows()
    assert (first["status"], first["error"], first["success"], first["best"]) == (
        "failed",
        "ValueError: no luck",
        None,
        None,
    )
    assert second["status"] == "killed"
    assert first["cpu"] == environment()["cpu"]
    with pytest.raises(ValueError, match=r"expected a finished run of seed 7 in .*results.db, found none"):
        store.history(cell(), 7)


@pytest.mark.parametrize("success", [True, False, None])
@pytest.mark.parametrize("best", [-math.inf, math.inf, 0.1 + 0.2, -0.0])
def test_success_and_best_come_back_as_they_were(
    store: Store, result: Result, success: bool | None, best: float
) -> None:
    changed = dataclasses.replace(
        result,
        success=success,
        fitness=best,
        optimum=None,
        stop=StopReason.PATIENCE,
        x=np.array([0, 1], dtype=np.uint8),
    )
    store.record(cell(), 0, changed)
    run = store.runs()[cell().key][0]
    assert (run.success, run.best, run.optimum) == (success, best, None)
    assert type(run.success) is type(success)
    (row,) = store.rows()
    assert (row["success"], row["best"], row["optimum"], row["stop"], row["x"]) == (
        success,
        best,
        None,
        "patience",
        "01",
    )


def test_large_seeds_have_room(store: Store, result: Result) -> None:
    large = study(seed=2**62 - 1)
    seeds = [*large.seeds, *large.fresh_seeds(2)]
    for seed in seeds:
        store.record(cell(), seed, result)
    assert sorted(store.runs()[cell().key]) == seeds


# What is overwritten


@pytest.mark.parametrize("later", ["result", FAILED, KILLED])
def test_a_run_that_ended_well_is_never_overwritten(store: Store, result: Result, later: str) -> None:
    store.record(cell(), 3, result)
    before, history = list(store.rows()), store.history(cell(), 3)
    if later == "result":
        store.record(cell(), 3, dataclasses.replace(result, fitness=1.0, history=result.history[:1]))
    else:
        store.record(cell(), 3, "no luck", status=later)
    assert list(store.rows()) == before
    assert store.history(cell(), 3) == history


@pytest.mark.parametrize("before", [FAILED, KILLED])
@pytest.mark.parametrize("later", ["result", FAILED, KILLED])
def test_a_run_that_did_not_is_replaced(store: Store, result: Result, before: str, later: str) -> None:
    store.record(cell(), 3, "at first", status=before)
    store.record(cell(), 4, "another seed", status=before)
    if later == "result":
        store.record(cell(), 3, result)
        assert store.history(cell(), 3)["evaluations"]
    else:
        store.record(cell(), 3, "later", status=later)
    assert len(store) == 2
    run = store.runs()[cell().key][3]
    assert (run.status, run.error) == ((DONE, None) if later == "result" else (later, "later"))
    assert store.runs()[cell().key][4].error == "another seed"


def test_a_run_is_written_whole_or_not_at_all(
    store: Store, path: Path, result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.record(cell(), 3, "at first", status=FAILED)
    before = list(store.rows())

    def no_memory(_: object) -> bytes:
        raise MemoryError

    monkeypatch.setattr(store_module, "_packed", no_memory)
    for seed, which in ((3, cell()), (4, cell(popsizes=[50]))):
        with pytest.raises(MemoryError):
            store.record(which, seed, result)
    assert list(store.rows()) == before
    assert list(store.runs()) == [cell().key]
    monkeypatch.undo()
    store.record(cell(), 3, result)
    with closing(sqlite3.connect(path)) as connection:
        counts = [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("runs", "histories")]
    assert counts == [1, 1]


def test_two_may_write_to_one_file(store: Store, path: Path, result: Result) -> None:
    with Store(path) as other:
        for seed in range(6):
            (store if seed % 2 else other).record(cell(), seed, result)
        other.record(cell(), 1, "too late", status=FAILED)
        assert other.runs() == store.runs()
    assert sorted(store.runs()[cell().key]) == list(range(6))


def test_a_cell_is_one_whatever_it_is_called(store: Store, result: Result) -> None:
    store.record(cell(), 0, result)
    store.record(cell(problems=[{"name": "other", "problem": "onemax: n=6"}]), 1, result)
    assert {key: sorted(runs) for key, runs in store.runs().items()} == {cell().key: [0, 1]}
    assert [row["problem"] for row in store.rows()] == ["onemax:n=6"] * 2  # as it was called first


# Histories


def test_a_history_comes_back_by_column(store: Store, result: Result) -> None:
    store.record(cell(), 3, result)
    assert store.history(cell(), 3) == {
        name: [getattr(record, name) for record in result.history]
        for name in ("evaluations", "best", "mean", "cpu_seconds")
    }


def test_a_history_has_what_the_model_had_to_tell(store: Store, result: Result) -> None:
    first = Generation(generation=0, evaluations=20, best=-math.inf, mean=math.nan, cpu_seconds=0.25)
    second = Generation(
        generation=1, evaluations=30, best=2.5, mean=1.5, cpu_seconds=0.5, info={"epochs": 7, "error": 0.1}
    )
    third = Generation(generation=2, evaluations=40, best=3.5, mean=-math.inf, cpu_seconds=1.0, info={"epochs": 9})
    store.record(cell(), 3, dataclasses.replace(result, history=(first, second, third)))
    history = store.history(cell(), 3)
    assert list(history) == ["evaluations", "best", "mean", "cpu_seconds", "epochs", "error"]
    expected = {
        "evaluations": [20, 30, 40],
        "best": [math.nan, 2.5, 3.5],  # JSON has no infinity
        "mean": [math.nan, 1.5, math.nan],
        "cpu_seconds": [0.25, 0.5, 1.0],
        "epochs": [math.nan, 7, 9],
        "error": [math.nan, 0.1, math.nan],
    }
    for name, column in expected.items():
        assert history[name] == pytest.approx(column, rel=0, abs=0, nan_ok=True)


def test_histories_are_of_their_seed_and_cell(store: Store, result: Result) -> None:
    one, two = study(popsizes=[20, 50]).cells()
    for which, seed, count in ((one, 0, 1), (one, 1, 2), (two, 0, 3)):
        store.record(which, seed, dataclasses.replace(result, history=result.history[:1] * count))
    assert [len(store.history(which, seed)["best"]) for which, seed in ((one, 0), (one, 1), (two, 0))] == [1, 2, 3]
    for which, seed in ((two, 1), (cell(popsizes=[70]), 0)):
        with pytest.raises(ValueError, match=f"expected a finished run of seed {seed} in "):
            store.history(which, seed)


# Studies


def test_the_study_that_was_run_last_is_the_study(store: Store) -> None:
    one, two = study(runs=4), study(runs=8, algorithms=["pbil"], limits={"patience": 3})
    store.remember(one)
    store.remember(two)
    assert store.study() == (Study.from_dict(json.loads(json.dumps(two.as_dict())), stored=True), 0, False)
    store.remember(one)
    assert store.study()[0].runs == 4
    assert [cell.key for cell in store.study()[0].cells()] == [cell.key for cell in one.cells()]


def test_what_was_asked_for_holds_until_something_else_is(store: Store) -> None:
    one, two = study(runs=4), study(runs=8)
    assert store.remember(one, confirm=10, full_grid=True) == (10, True)
    assert store.remember(two) == (0, False)
    assert store.study()[1:] == (0, False)
    assert store.remember(one, confirm=3) == (3, True)
    assert store.study()[1:] == (3, True)
    assert store.remember(study(runs=4), full_grid=False) == (3, False)
    assert store.study()[0].runs == 4
    assert store.study()[1:] == (3, False)
    assert store.remember(one, confirm=0) == (0, False)


def test_a_study_is_kept_once_however_often_it_comes_from_the_store(store: Store, path: Path) -> None:
    store.remember(study(problems=[{"problem": "onemax:n=6", "target": 5}]), confirm=2)
    for _ in range(3):
        store.remember(store.study()[0])
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*), max(confirm) FROM studies").fetchone() == (1, 2)


def test_a_store_without_a_study_says_so(store: Store, path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"expected a study in .*results.db, but none was run with it; see daedal study"
    ):
        store.study()
    assert store.runs() == {}
    assert list(store.rows()) == []
    assert len(store) == 0


# Files that are no store


def sqlite_file(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def newer(path: Path) -> None:
    Store(path).close()
    sqlite_file(path, "PRAGMA user_version = 2")


def foreign(path: Path) -> None:
    sqlite_file(path, "CREATE TABLE runs (id INTEGER)", "INSERT INTO runs VALUES (1)")


def text(path: Path) -> None:
    path.write_text("runs = 20\n" * 100)


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            newer,
            r"^expected a store of study results of format 1 in '.*', got format 2, made by a newer daedal; upgrade",
        ),
        (
            foreign,
            r"^expected a store of study results in '.*', got an SQLite database of something else; name another",
        ),
        (
            text,
            r"^expected a store of study results in '.*', got a file that is not an SQLite database; name another one$",
        ),
    ],
)
def test_a_file_of_another_kind_is_refused_and_left_as_it_is(path: Path, make: Any, says: str, create: bool) -> None:
    make(path)
    before = digest(path)
    with pytest.raises(ValueError, match=says):
        Store(path, create=create)
    assert digest(path) == before


def test_a_file_that_is_not_there(path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"^expected a store of study results in '.*results.db', got no such file"
    ):
        Store(path, create=False)
    assert not path.exists()
    path.touch()
    with pytest.raises(ValueError, match="got an empty file; name another one"):
        Store(path, create=False)
    assert path.read_bytes() == b""
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        Store(path.parent / "gone" / "results.db")


HOLDING = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_store_that_another_process_keeps_is_given_up(
    path: Path, result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert store_module._TIMEOUT <= 8  # a user who waits should know within ten seconds
    monkeypatch.setattr(store_module, "_TIMEOUT", 0.2)
    says = r"^expected to use a store of study results in '.*results.db', but another process kept it locked for longer"
    with Store(path) as store:
        store.record(cell(), 0, result)
        with subprocess.Popen(
            [sys.executable, "-c", HOLDING, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"held\n"
            started = time.monotonic()
            with pytest.raises(TimeoutError, match=says):
                store.record(cell(), 1, result)
            with pytest.raises(TimeoutError, match=says):
                store.remember(study())
            assert time.monotonic() - started > 0.35  # it did wait
            assert len(store) == 1  # readers need not
            with Store(path, create=False) as reader:
                assert len(reader) == 1
            other.communicate()
        store.record(cell(), 1, result)
        assert sorted(store.runs()[cell().key]) == [0, 1]


def test_a_new_store_that_another_process_keeps_is_given_up(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "_TIMEOUT", 0.2)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(TimeoutError, match="another process kept it locked"):
            Store(path)


# Many


def test_a_hundred_thousand_runs(store: Store, path: Path) -> None:
    """Five problems, two algorithms, five sizes that solve 20, 40, 60, 80 and 100 % of 2,000 runs."""
    many = study(
        problems=[f"onemax:n={n}" for n in (6, 7, 8, 9, 10)],
        algorithms=["umda", "pbil"],
        popsizes=[20, 40, 60, 80, 100],
        runs=2000,
    )
    store.remember(many)
    store.record(many.cells()[0], 10**9, "of another study", status=FAILED)  # makes the rows that all others refer to
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        for number, each in enumerate(many.cells(), start=1):
            content = json.dumps(each.content, sort_keys=True)
            connection.execute(
                "INSERT OR IGNORE INTO cells VALUES (?, ?, ?, ?, ?, '{}', ?)",
                (number, each.key, each.problem.name, each.algorithm.name, each.popsize, content),
            )
            slow = 2 if each.algorithm.name == "pbil" else 1
            connection.executemany(
                "INSERT INTO runs (cell, seed, status, success, best, evaluations_to_best, cpu_seconds_to_best, "
                "cpu_seconds, environment, finished) VALUES (?, ?, 'done', ?, 5.0, ?, 0.5, 1.0, 1, '2026-01-01')",
                (
                    (number, seed, seed % 100 < each.popsize, slow * (10 * each.popsize + seed % 2))
                    for seed in range(2000)
                ),
            )
        connection.execute("COMMIT")
    assert len(store) == 100_001
    runs = store.runs()
    assert [len(runs[each.key]) for each in many.cells()] == [2001] + [2000] * 49
    rows = analyse(many, runs)
    assert len(rows) == 10
    for row in rows:
        slow = 2 if row.algorithm.name == "pbil" else 1
        for level, choice, solved in ((50, 60, 1200), (90, 100, 2000)):
            entry = row.entries[level]
            assert entry.choice == Settled(choice)
            assert entry.effort is not None
            assert (entry.effort.runs, entry.effort.solved, entry.effort.complete) == (2000, solved, True)
            assert entry.effort.evaluations == Measure(
                mean=slow * (10 * choice + 0.5),
                sd=pytest.approx(slow * math.sqrt(2000 / 4 / 1999)),
                star=slow == 1,
                p=pytest.approx(0.0),
            )
            assert entry.effort.seconds == Measure(mean=0.5, sd=0.0, p=1.0)  # all took the same
    status = study_status(many, runs)
    assert len(status.cells) == 50
    assert [status.total(name) for name in ("done", "failed", "solved", "left")] == [100_000, 0, 10 * 6000, 0]
    assert status.errors == {}


# Of two stores one


def test_one_store_takes_what_the_other_has(tmp_path: Path, result: Result) -> None:
    """Its own runs stay, those that failed give way, and nothing is there twice."""
    with Store(tmp_path / "a.db") as a, Store(tmp_path / "b.db") as b:
        a.remember(study())
        b.remember(study(runs=7))
        a.record(cell(), 0, result)
        a.record(cell(), 1, "no luck", status=FAILED)
        a.record(cell(), 2, "no luck", status=FAILED)
        b.record(cell(popsizes=[30]), 0, dataclasses.replace(result, fitness=3.0))  # so that numbers differ in both
        b.record(cell(), 0, dataclasses.replace(result, fitness=4.0))
        b.record(cell(), 1, dataclasses.replace(result, fitness=5.0))
        b.record(cell(), 2, "killed", status=KILLED)
        b.record(cell(), 3, "worse luck", status=FAILED)
        history = b.history(cell(), 1)
    with Store(tmp_path / "a.db") as a:
        assert a.take_over(tmp_path / "b.db") == 3
        assert a.take_over(tmp_path / "b.db") == 0
        found = {(key, seed): run for key, runs in a.runs().items() for seed, run in runs.items()}
        assert len(found) == len(a) == 5
        assert found[cell().key, 0].best == result.fitness
        assert found[cell().key, 1].best == 5.0
        assert (found[cell().key, 2].status, found[cell().key, 2].error) == (FAILED, "no luck")
        assert found[cell().key, 3].error == "worse luck"
        assert found[cell(popsizes=[30]).key, 0].best == 3.0
        assert a.history(cell(), 1) == history
        assert a.study()[0] == study()  # the one last run here is the one that is shown
        assert [a.study(number)[0].runs for number in a.studies()] == [7, study().runs]


def test_an_empty_store_takes_all(tmp_path: Path, result: Result) -> None:
    with Store(tmp_path / "b.db") as b:
        b.remember(study())
        b.record(cell(), 0, result)
        rows = list(b.rows())
    with Store(tmp_path / "a.db") as a:
        assert a.take_over(tmp_path / "b.db") == 1
        assert list(a.rows()) == rows
        assert a.study()[0] == study()


def test_a_store_takes_nothing_from_itself_or_from_what_is_none(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no store at all " * 100)
    with Store(tmp_path / "a.db") as a:
        with pytest.raises(ValueError, match="expected another store than"):
            a.take_over(tmp_path / "a.db")
        with pytest.raises(ValueError, match="not an SQLite database"):
            a.take_over(tmp_path / "text")
        with pytest.raises(FileNotFoundError, match="missing"):
            a.take_over(tmp_path / "missing.db")
        assert len(a) == 0


def test_what_a_study_asked_for_is_taken_too(tmp_path: Path, result: Result) -> None:
    with Store(tmp_path / "a.db") as a, Store(tmp_path / "b.db") as b:
        a.remember(study())
        b.remember(study(), confirm=3, full_grid=True)
        b.record(cell(), study().fresh_seeds(1)[0], result)
        assert a.take_over(tmp_path / "b.db") == 1
        assert a.study()[1:] == (3, True)
        assert len(a.studies()) == 1


def test_whoever_writes_to_the_other_store_is_not_in_the_way(tmp_path: Path, result: Result) -> None:
    with Store(tmp_path / "a.db") as a, Store(tmp_path / "b.db") as b:
        b.record(cell(), 0, result)
        b._connection.execute("BEGIN IMMEDIATE")
        assert a.take_over(tmp_path / "b.db") == 1
        b._connection.execute("ROLLBACK")


def test_it_is_the_damaged_store_that_is_called_so(tmp_path: Path, result: Result) -> None:
    with Store(tmp_path / "a.db") as a:
        with Store(tmp_path / "b.db") as b:
            b.record(cell(), 0, result)
        data = bytearray((tmp_path / "b.db").read_bytes())
        data[4096:] = b"\xff" * (len(data) - 4096)
        (tmp_path / "b.db").write_bytes(data)
        with pytest.raises(ValueError, match=r"b\.db'?, got a damaged file"):
            a.take_over(tmp_path / "b.db")
        assert len(a) == 0
