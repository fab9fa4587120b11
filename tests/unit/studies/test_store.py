"""Where runs are kept: one row each, in a file that nothing damages."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from study_helpers import CLOCK, Inline

import daedal
from daedal.limits import StopReason
from daedal.result import Result
from daedal.result.records import Generation
from daedal.studies.analysis import analyse
from daedal.studies.plan import Settled, study_status
from daedal.studies.runner import Order, run_study
from daedal.studies.spec import Cell, Study
from daedal.studies.store import COLUMNS, DONE, FAILED, KILLED, Run, Store, environment, unpacked_history

BASE: dict[str, Any] = {"problems": ["onemax:n=6"], "algorithms": ["umda"], "popsizes": [20], "runs": 4}


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


def sql(path: Path, *statements: str) -> list[Any]:
    """Ask or change a file, past daedal."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return [connection.execute(statement).fetchall() for statement in statements]


# One row a run


def test_a_run_is_one_row_with_everything(store: Store, path: Path, result: Result) -> None:
    mine = cell(problems=[{"name": "mine", "problem": "onemax:n=6"}], algorithms=[{"name": "U", "algorithm": "umda"}])
    store.record(mine, 3, result)
    (row,) = store.rows()
    assert list(row) == list(COLUMNS)
    finished = datetime.fromisoformat(row.pop("finished"))
    assert timedelta(0) <= datetime.now(UTC) - finished < timedelta(minutes=5)
    assert json.loads(row.pop("settings")) == result.settings
    assert json.loads(row.pop("content")) == mine.content
    same = ("evaluations_to_best", "evaluations", "batches", "generations", "cpu_seconds_to_best", "cpu_seconds")
    assert row == {
        "problem": "mine",
        "algorithm": "umda",  # no study says that it is called U
        "preset": "umda",
        "popsize": 20,
        "budget": None,
        "seed": 3,
        "status": "done",
        "success": True,
        "best": 6.0,
        "optimum": 6.0,
        **{name: getattr(result, name) for name in same},
        "repeated": result.repeated,
        "stop": "target",
        "error": None,
        "x": "111111",
        **environment(),
        "cell": mine.key,
    }
    assert all(row[name] for name in ("daedal", "numpy", "numba", "python", "cpu"))
    assert sql(path, "SELECT problem, popsize, seed, success, best, batches FROM results") == [
        [("mine", 20, 3, 1, 6.0, result.batches)]  # any program can read it
    ]
    store.close()
    with Store(path, create=False) as again:  # and it is there tomorrow
        assert len(again) == 1
        (run,) = again.runs()[mine.key].values()
    assert (run.seed, run.status, run.success, run.best, run.optimum) == (3, DONE, True, 6.0, 6.0)
    assert (run.evaluations, run.batches, run.generations) == (result.evaluations_to_best, *map(row.get, same[2:4]))
    assert (run.cpu_seconds_to_best, run.cpu_seconds) == (result.cpu_seconds_to_best, result.cpu_seconds)
    assert (run.error, run.cpu) == (None, environment()["cpu"])


def test_rows_have_the_names_of_the_study_that_was_last_run_and_come_as_they_ended(
    store: Store, result: Result
) -> None:
    slow = {"name": "slow", "algorithm": "pbil", "settings": {"learning_rate": 0.01}}
    plain, slowly = study(algorithms=["pbil", slow]).cells()
    store.remember(study(algorithms=["pbil", slow]))
    for which, seed in ((slowly, 5), (plain, 9), (slowly, 1)):
        store.record(which, seed, result)
    assert [(row["algorithm"], row["seed"]) for row in store.rows()] == [("slow", 5), ("pbil", 9), ("slow", 1)]
    store.remember(study(problems=[{"name": "ones", "problem": "onemax: n=6"}], algorithms=[slow]))
    assert [row["problem"] for row in store.rows()] == ["ones", "onemax:n=6", "ones"]  # one thing under two names
    assert {key: sorted(runs) for key, runs in store.runs().items()} == {slowly.key: [1, 5], plain.key: [9]}


def test_an_error_is_a_row_too(store: Store) -> None:
    store.record(cell(), 7, "ValueError: no luck", status=FAILED)
    store.record(cell(), 8, "its process was killed by SIGKILL", status=KILLED)
    cpu = environment()["cpu"]
    assert store.runs()[cell().key] == {
        7: Run(seed=7, status=FAILED, success=False, error="ValueError: no luck", cpu=cpu),
        8: Run(seed=8, status=KILLED, success=False, error="its process was killed by SIGKILL", cpu=cpu),
    }
    first, second = store.rows()
    assert (first["status"], first["error"], second["status"]) == ("failed", "ValueError: no luck", "killed")
    assert (first["success"], first["best"], first["cpu"]) == (None, None, cpu)
    with pytest.raises(ValueError, match="finished run of seed 7"):
        store.history(cell(), 7)


@pytest.mark.parametrize("success", [True, False, None])
def test_what_a_run_found_comes_back_as_it_was(store: Store, result: Result, success: bool | None) -> None:
    found = {"optimum": None, "stop": StopReason.PATIENCE, "x": np.array([0, 1], dtype=np.uint8)}
    seeds = dict(zip(study(seed=2**62 - 1).fresh_seeds(4), (-math.inf, math.inf, 0.1 + 0.2, -0.0), strict=True))
    for seed, best in seeds.items():  # large ones have room
        store.record(cell(), seed, dataclasses.replace(result, success=success, fitness=best, **found))
    runs = store.runs()[cell().key]
    assert {seed: run.best for seed, run in runs.items()} == seeds
    assert {(run.success, type(run.success), run.optimum) for run in runs.values()} == {(success, type(success), None)}
    assert {(row["success"], row["stop"], row["x"]) for row in store.rows()} == {(success, "patience", "01")}


def test_an_algorithm_without_a_population_has_rows_too(store: Store, result: Result, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("async def climb(f, *, n, rng, flips=1.0):\n    raise ValueError\n")
    own = Study.from_dict(BASE | {"algorithms": ["mine.py:climb"]}, folder=tmp_path)
    store.remember(own)
    store.record(own.cells()[0], 0, result)
    (tmp_path / "mine.py").unlink()  # a store loads no file
    (row,) = store.rows()
    assert (row["algorithm"], row["preset"], row["popsize"], row["settings"]) == (
        "climb",
        "climb",
        None,
        '{"flips": 1.0}',
    )
    known, _, _ = store.study()
    assert [cell.popsize for cell in known.cells()] == [None]
    assert study_status(known, store.runs()).total("done") == 1
    with pytest.raises(ValueError, match=r"'mine.py:climb' itself; run the study from its file"):
        run_study(known, store, Order(), pool=Inline())
    assert len(store) == 1


# What is overwritten


@pytest.mark.parametrize("before", [DONE, FAILED, KILLED])
@pytest.mark.parametrize("later", [DONE, FAILED, KILLED])
def test_a_run_that_ended_well_is_never_overwritten_and_one_that_did_not_is(
    store: Store, result: Result, before: str, later: str
) -> None:
    def record(status: str, what: float) -> None:
        changed = dataclasses.replace(result, fitness=what, history=result.history[:1])
        store.record(cell(), 3, changed if status == DONE else str(what), status=status)

    record(before, 1.0)
    store.record(cell(), 4, "another seed", status=FAILED)
    record(later, 2.0)
    status, what = (before, 1.0) if before == DONE else (later, 2.0)
    run = store.runs()[cell().key][3]
    assert (run.status, run.best, run.error) == ((DONE, what, None) if status == DONE else (status, None, str(what)))
    assert store.runs()[cell().key][4].error == "another seed"
    assert len(store) == 2
    assert sql(store.path, "SELECT count(*) FROM histories") == [[(status == DONE,)]]


def test_a_run_is_written_whole_or_not_at_all(store: Store, path: Path, result: Result) -> None:
    store.record(cell(), 3, "at first", status=FAILED)
    before = list(store.rows())
    strange = dataclasses.replace(result.history[0], info={"epochs": object()})  # which no history can hold
    for seed, which in ((3, cell()), (4, cell(popsizes=[50]))):
        with pytest.raises(TypeError):
            store.record(which, seed, dataclasses.replace(result, history=(strange,)))
    assert list(store.rows()) == before
    assert list(store.runs()) == [cell().key]
    store.record(cell(), 3, result)
    assert sql(path, "SELECT count(*) FROM runs", "SELECT count(*) FROM histories") == [[(1,)], [(1,)]]


def test_two_may_write_to_one_file(store: Store, path: Path, result: Result) -> None:
    with Store(path) as other:
        for seed in range(6):
            (store if seed % 2 else other).record(cell(), seed, result)
        other.record(cell(), 1, "too late", status=FAILED)
        assert other.runs() == store.runs()
    assert sorted(store.runs()[cell().key]) == list(range(6))


# Histories


def test_a_history_comes_back_by_column_with_what_the_model_had_to_tell(store: Store, result: Result) -> None:
    told = {"epochs": 7.0, "error": 0.1}
    history = (
        Generation(generation=0, evaluations=20, best=-math.inf, mean=math.nan, cpu_seconds=0.25),
        Generation(generation=1, evaluations=30, best=2.5, mean=1.5, cpu_seconds=0.5, info=told),
        Generation(generation=2, evaluations=40, best=3.5, mean=-math.inf, cpu_seconds=1.0, info={"epochs": 9}),
    )
    one, two = study(popsizes=[20, 50]).cells()
    store.record(one, 0, dataclasses.replace(result, history=history))
    for which, seed, count in ((one, 1, 2), (two, 0, 3)):
        store.record(which, seed, dataclasses.replace(result, history=result.history[:1] * count))
    found = store.history(one, 0)
    expected = {
        "evaluations": [20, 30, 40],
        "best": [math.nan, 2.5, 3.5],  # JSON has no infinity
        "mean": [math.nan, 1.5, math.nan],
        "cpu_seconds": [0.25, 0.5, 1.0],
        "epochs": [math.nan, 7, 9],
        "error": [math.nan, 0.1, math.nan],
    }
    assert list(found) == list(expected)
    for name, column in expected.items():
        assert found[name] == pytest.approx(column, rel=0, abs=0, nan_ok=True)
    assert [len(store.history(which, seed)["best"]) for which, seed in ((one, 1), (two, 0))] == [2, 3]
    for which in (two, cell(popsizes=[70])):
        with pytest.raises(ValueError, match="finished run of seed 1"):
            store.history(which, 1)


# Studies


def test_the_study_that_was_run_last_is_the_study_and_what_was_asked_for_holds(store: Store, path: Path) -> None:
    with pytest.raises(ValueError, match=r"results.db, but none was run with it"):
        store.study()
    assert (store.runs(), list(store.rows()), len(store)) == ({}, [], 0)
    one = study(problems=[{"problem": "onemax:n=6", "target": 5}])
    two = study(runs=8, algorithms=["pbil"], limits={"patience": 3})
    assert store.remember(one, confirm=10, full_grid=True) == (10, True)
    assert store.remember(two) == (0, False)
    assert store.study() == (two, 0, False)
    assert store.remember(store.study(1)[0], confirm=3) == (3, True)  # kept once, though it comes from the store
    assert store.study() == (one, 3, True)
    assert store.remember(one, full_grid=False) == (3, False)
    assert store.remember(one, confirm=0) == (0, False)
    assert store.studies() == [2, 1]
    with pytest.raises(ValueError, match="one of 1, 2, got 3"):
        store.study(3)


# Stores of older versions


VERSION_2 = (
    "DROP VIEW results",
    "ALTER TABLE cells DROP COLUMN budget",
    "CREATE VIEW results AS SELECT problem, algorithm, popsize, seed, status, success, best, optimum, "
    "evaluations_to_best, evaluations, repeated, batches, generations, cpu_seconds_to_best, cpu_seconds, "
    "stop, error, x, settings, content, daedal, numpy, numba, python, cpu, finished, runs.id AS run "
    "FROM runs JOIN cells ON cells.id = cell JOIN environments ON environments.id = environment",
    "PRAGMA user_version = 2",
)


def study_rows(store: Store) -> list[dict[str, Any]]:
    left_out = {*CLOCK, *environment(), "batches"}
    rows = [{name: value for name, value in row.items() if name not in left_out} for row in store.rows()]
    return sorted(rows, key=lambda row: (row["cell"], row["seed"]))


# Files that are no store


BAD_FILES: list[tuple[Any, str]] = [
    (lambda path: Store(path).close() or sql(path, "PRAGMA user_version = 4"), "format 1 in .*format 4, .* newer"),
    (lambda path: sql(path, "CREATE TABLE runs (id)", "INSERT INTO runs VALUES (1)"), "of something else"),
    (lambda path: path.write_text("runs = 20\n" * 100), "not an SQLite database"),
]


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize(("make", "says"), BAD_FILES)
def test_a_file_of_another_kind_is_refused_and_left_as_it_is(path: Path, make: Any, says: str, create: bool) -> None:
    make(path)
    before = digest(path)
    with pytest.raises(ValueError, match=f"a store of study results .*{says}"):
        Store(path, create=create)
    assert digest(path) == before


def test_a_file_that_is_not_there(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"a store of study results in '.*results.db'"):
        Store(path, create=False)
    assert not path.exists()
    path.touch()
    with pytest.raises(ValueError, match="empty file"):
        Store(path, create=False)
    assert path.read_bytes() == b""
    with pytest.raises(FileNotFoundError, match="no folder"):
        Store(path.parent / "gone" / "results.db")


HOLDING = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_store_that_another_process_keeps_is_given_up_and_can_be_read(path: Path, result: Result) -> None:
    with Store(path, timeout=0.2) as store:
        store.record(cell(), 0, result)
        command = [sys.executable, "-c", HOLDING, path]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"held\n"
            for write in (lambda: store.record(cell(), 1, result), lambda: store.remember(study())):
                with pytest.raises(TimeoutError, match=r"results.db', but another process kept it locked"):
                    write()
            assert len(store) == 1
            with Store(path, create=False) as reader:
                assert len(reader) == 1
            other.communicate()
        store.record(cell(), 1, result)
    new = path.with_name("new.db")
    with closing(sqlite3.connect(new, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(TimeoutError, match="another process kept it locked"):
            Store(new, timeout=0.2)


# Many


def test_a_hundred_thousand_runs(store: Store, path: Path) -> None:
    """Five problems, two algorithms, five sizes that solve 20, 40, 60, 80 and 100 % of 2,000 runs."""
    sizes, problems = [20, 40, 60, 80, 100], [f"onemax:n={n}" for n in (6, 7, 8, 9, 10)]
    many = study(problems=problems, algorithms=["umda", "pbil"], popsizes=sizes, runs=2000)
    store.remember(many)
    for each in many.cells():
        store.record(each, 10**9, "of another study", status=FAILED)  # makes the rows that all others refer to
    copies = (
        "WITH RECURSIVE seeds (new) AS (SELECT 0 UNION ALL SELECT new + 1 FROM seeds WHERE new < 1999) "
        "INSERT INTO runs (cell, seed, status, success, best, evaluations_to_best, cpu_seconds_to_best, cpu_seconds, "
        "environment, finished) SELECT cells.id, new, 'done', new % 100 < popsize, 5.0, "
        "iif(algorithm = 'pbil', 2, 1) * (10 * popsize + new % 2), 0.5, 1.0, 1, '' FROM cells CROSS JOIN seeds"
    )
    sql(path, copies)
    assert len(store) == 100_050
    runs = store.runs()
    for row in analyse(many, runs):
        slow = 2 if row.algorithm.name == "pbil" else 1
        for level, size, solved in ((50, 60, 1200), (90, 100, 2000)):
            entry = row.entries[level]
            assert entry.choice == Settled(size)
            assert entry.effort is not None
            assert (entry.effort.runs, entry.effort.solved, entry.effort.complete) == (2000, solved, True)
            assert entry.effort.evaluations_to_best is not None
            assert entry.effort.evaluations_to_best.mean == slow * (10 * size + 0.5)
            assert entry.effort.evaluations_to_best.sd == pytest.approx(slow * math.sqrt(2000 / 4 / 1999))
            assert entry.effort.evaluations_to_best.star is (slow == 1)
    status = study_status(many, runs)
    assert [status.total(name) for name in ("done", "failed", "solved", "left")] == [100_000, 0, 10 * 6000, 0]
    assert (len(status.cells), status.errors) == (50, {})


# Of two stores one


def test_one_store_takes_what_the_other_has(tmp_path: Path, result: Result) -> None:
    """Its own runs stay, those that failed give way, and nothing is there twice."""
    with Store(tmp_path / "a.db") as a, Store(tmp_path / "b.db") as b:
        a.remember(study())
        b.remember(study(runs=7))
        b.remember(study(), confirm=3, full_grid=True)
        b.remember(study(runs=7))
        a.record(cell(), 0, result)
        a.record(cell(), 1, "no luck", status=FAILED)
        a.record(cell(), 2, "no luck", status=FAILED)
        b.record(cell(popsizes=[30]), 0, dataclasses.replace(result, fitness=3.0))  # so that numbers differ in both
        b.record(cell(), 0, dataclasses.replace(result, fitness=4.0))
        b.record(cell(), 1, dataclasses.replace(result, fitness=5.0))
        b.record(cell(), 2, "killed", status=KILLED)
        b.record(cell(), 3, "worse luck", status=FAILED)
        b._connection.execute("BEGIN IMMEDIATE")  # whoever writes there is not in the way
        assert a.take_over(b.path) == 3
        b._connection.execute("ROLLBACK")
        assert a.take_over(b.path) == 0
        found = {(key, seed): run for key, runs in a.runs().items() for seed, run in runs.items()}
        assert len(found) == len(a) == 5
        best = {(cell().key, 0): result.fitness, (cell().key, 1): 5.0, (cell(popsizes=[30]).key, 0): 3.0}
        assert {which: run.best for which, run in found.items() if run.status == DONE} == best
        assert [found[cell().key, seed].error for seed in (2, 3)] == ["no luck", "worse luck"]
        assert a.history(cell(), 1) == b.history(cell(), 1)
        assert a.study() == (study(), 3, True)  # the one last run here is the one that is shown
        assert [a.study(number)[0].runs for number in a.studies()] == [7, study().runs]
    with Store(tmp_path / "c.db") as empty, Store(tmp_path / "b.db", create=False) as b:
        assert empty.take_over(b.path) == 5
        assert list(empty.rows()) == list(b.rows())
        assert empty.study() == b.study()


def test_a_store_takes_nothing_from_itself_or_from_what_is_none(store: Store, tmp_path: Path, result: Result) -> None:
    (tmp_path / "text").write_text("no store at all " * 100)
    with Store(tmp_path / "b.db") as b:
        b.record(cell(), 0, result)
    data = (tmp_path / "b.db").read_bytes()
    (tmp_path / "b.db").write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    bad = {store.path: "another store than", tmp_path / "text": "not an SQLite database"}
    for other, says in (bad | {tmp_path / "missing.db": "missing", tmp_path / "b.db": r"b\.db.*damaged"}).items():
        with pytest.raises((ValueError, FileNotFoundError), match=says):
            store.take_over(other)
    assert len(store) == 0


def test_any_text_can_be_kept(store: Store) -> None:
    odd = "\udcff\x00\x1b"
    one = cell(problems=[{"problem": "onemax:n=6", "name": odd}], algorithms=[{"algorithm": "umda", "name": odd}])
    store.record(one, 3, f"OSError: {odd}", status=FAILED)
    assert store.run(one, 3).error == "OSError: \\udcff\x00\x1b"


@pytest.mark.parametrize(
    "damage",
    [
        "CREATE TRIGGER t BEFORE INSERT ON cells BEGIN SELECT raise(abort, 'no'); END",
        "DROP VIEW results; DROP TABLE runs; CREATE VIEW runs AS SELECT 1 AS id",
        "DROP TABLE histories; CREATE TABLE histories (run, history, more)",
        "DROP VIEW results; CREATE VIEW results AS SELECT 1 AS run",
    ],
)
def test_a_store_whose_tables_are_not_as_they_were_made_is_damaged(tmp_path: Path, result: Result, damage: str) -> None:
    good, bad = tmp_path / "good.db", tmp_path / "bad.db"
    for path in (good, bad):
        with Store(path) as store:
            store.record(cell(popsizes=[30]) if path == bad else cell(), 3, result)
    with closing(sqlite3.connect(bad)) as connection:
        connection.executescript(damage)

    def use(store: Store) -> None:
        store.take_over(good)
        store.record(cell(), 4, result)
        list(store.rows())

    with pytest.raises(ValueError, match="damaged"), Store(bad) as store:
        use(store)
    with Store(good) as store:
        assert len(store) == 1


@pytest.mark.parametrize("content", [0, b"", b"canary", zlib.compress(b"[]"), zlib.compress(b'{"best": 1}'), "{}"])
def test_a_history_that_is_none_is_damaged(store: Store, result: Result, content: object) -> None:
    store.record(cell(), 3, result)
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("UPDATE histories SET history = ?", (content,))
    with pytest.raises(ValueError, match=r"damaged.* history"):
        store.history(cell(), 3)


def test_a_history_that_swells_is_refused() -> None:
    with pytest.raises(ValueError, match="1,000 bytes"):
        unpacked_history(zlib.compress(b"{" + b" " * 2000 + b"}"), largest=1000)


def test_merging_a_store_with_rows_that_none_can_have(tmp_path: Path, result: Result) -> None:
    good, bad = tmp_path / "good.db", tmp_path / "bad.db"
    with Store(good) as store, Store(bad) as other:
        store.record(cell(), 3, result)
        other.remember(study())
        other._connection.execute("PRAGMA writable_schema = ON")
        other._connection.execute("UPDATE sqlite_master SET sql = replace(sql, 'confirm INTEGER NOT NULL', 'confirm')")
    with closing(sqlite3.connect(bad)) as connection:
        connection.execute("UPDATE studies SET confirm = NULL")
        connection.commit()
    with Store(good) as store:
        with pytest.raises(ValueError, match="damaged"):
            store.take_over(bad)
        assert len(store) == 1


@pytest.mark.parametrize(
    "damage",
    [
        "confirm = 9e999",
        "spec = x'ff'",
        "spec = '[]'",
        "spec = '{}'",
        f"spec = '{'[' * 100_000}'",
        "spec = '{\"runs\": 1e999}'",
    ],
    ids=lambda text: text[:20],
)
def test_a_study_that_nobody_can_have_written_is_refused(store: Store, damage: str) -> None:
    store.remember(study())
    store._connection.execute(f"UPDATE studies SET {damage}")
    with pytest.raises(ValueError, match="cannot be read"):
        store.study()


@pytest.mark.parametrize("text", [b"INTEGER PRIMARY KEY", b'"algorithm"'])
def test_a_store_with_a_damaged_text_is_left_as_it_was(text: bytes, tmp_path: Path) -> None:
    """What failed halfway does not keep SQLite's own files beside it."""
    path = tmp_path / "mine.db"
    daedal.study("onemax:n=8", "umda", runs=1, popsizes=[10], store=path).run(workers=1)
    data = bytearray(path.read_bytes())
    data[data.find(text) + 2] = 0xFF
    path.write_bytes(data)
    for companion in tmp_path.glob("mine.db-*"):
        companion.unlink()
    with pytest.raises(ValueError, match="damaged"):
        read_whole(path)
    assert [one.name for one in tmp_path.glob("mine.db*") if one.suffix != ".lock"] == ["mine.db"]


def read_whole(path: Path) -> None:
    with Store(path, create=False) as store:
        list(store.rows())
        store.study(None)
