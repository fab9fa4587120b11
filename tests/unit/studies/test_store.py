"""The store of a study: what is written comes back, nothing that ended well is lost, and other files are refused."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import daedal
from daedal.limits import StopReason
from daedal.result import Result
from daedal.result.records import Generation
from daedal.studies.snapshot import read_store
from daedal.studies.spec import Cell, Study
from daedal.studies.store import (
    COLUMNS,
    DONE,
    FAILED,
    KILLED,
    Run,
    Store,
    environment,
    frame_of,
    packed_history,
    unpacked_history,
)

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


def shown(opened: Store, number: int | None = None) -> tuple[dict[str, Any], int, bool]:
    """Return a study of a store, as plain values, and its options."""
    one, confirm, full_grid = opened.study(number)
    return json.loads(json.dumps(one.as_dict())), confirm, full_grid


def plain(one: Study) -> dict[str, Any]:
    return json.loads(json.dumps(one.as_dict()))


def sql(path: Path, *statements: str) -> list[Any]:
    """Execute statements in a file without daedal."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return [connection.execute(statement).fetchall() for statement in statements]


def test_a_run_is_one_row_with_all_columns(store: Store, path: Path, result: Result) -> None:
    mine = cell(problems=[{"name": "mine", "problem": "onemax:n=6"}], algorithms=[{"name": "U", "algorithm": "umda"}])
    recorded = store.record(mine, 3, result)
    (row,) = store.rows()
    assert list(row) == list(COLUMNS)
    finished = datetime.fromisoformat(row.pop("finished"))
    assert timedelta(0) <= datetime.now(UTC) - finished < timedelta(minutes=5)
    assert json.loads(row.pop("settings")) == result.settings
    assert json.loads(row.pop("content")) == mine.content
    same = ("evaluations_to_best", "evaluations", "repeated", "batches", "generations")
    clocks = ("cpu_seconds_to_best", "cpu_seconds")
    assert row == {
        "problem": "mine",
        "algorithm": "U",
        "preset": "umda",
        "popsize": 20,
        "budget": None,
        "seed": 3,
        "status": "done",
        "success": True,
        "best": 6.0,
        "optimum": 6.0,
        **{name: getattr(result, name) for name in (*same, *clocks)},
        "stop": "target",
        "error": None,
        "x": "111111",
        **environment(),
        "cell": mine.key,
    }
    assert all(row[name] for name in ("daedal", "numpy", "numba", "python", "cpu"))
    store.close()
    assert [one.name for one in path.parent.iterdir()] == ["results.db"]
    assert sql(path, "SELECT problem, popsize, seed, success, best FROM runs") == [[("mine", 20, 3, 1, 6.0)]]
    with Store(path, create=False) as again:
        assert len(again) == 1
        assert again.runs() == {mine.key: {3: recorded}}
    assert recorded.evaluations == result.evaluations
    assert (recorded.status, recorded.success, recorded.best) == (DONE, True, 6.0)


def test_rows_have_the_names_of_the_last_study_in_the_order_in_which_they_ended(store: Store, result: Result) -> None:
    slow = {"name": "slow", "algorithm": "pbil", "settings": {"learning_rate": 0.01}}
    plain, slowly = study(algorithms=["pbil", slow]).cells()
    store.remember(study(algorithms=["pbil", slow]))
    for which, seed in ((slowly, 5), (plain, 9), (slowly, 1)):
        store.record(which, seed, result)
    assert [(row["algorithm"], row["seed"]) for row in store.rows()] == [("slow", 5), ("pbil", 9), ("slow", 1)]
    store.remember(study(problems=[{"name": "ones", "problem": "onemax: n=6"}], algorithms=[slow]))
    assert [row["problem"] for row in store.rows()] == ["ones", "onemax:n=6", "ones"]
    assert {key: sorted(runs) for key, runs in store.runs().items()} == {slowly.key: [5, 1][::-1], plain.key: [9]}


def test_a_run_that_failed_is_a_row_too_and_any_text_can_be_kept(store: Store) -> None:
    odd = "\udcff\x00\x1b"
    one = cell(problems=[{"problem": "onemax:n=6", "name": odd}], algorithms=[{"algorithm": "umda", "name": odd}])
    store.record(one, 7, f"OSError: {odd}", status=FAILED)
    store.record(one, 8, "its process was killed by SIGKILL", status=KILLED)
    said, cpu = "OSError: \\udcff\x00\x1b", environment()["cpu"]
    assert store.runs()[one.key] == {
        7: Run(7, FAILED, False, error=said, cpu=cpu),
        8: Run(8, KILLED, False, error="its process was killed by SIGKILL", cpu=cpu),
    }
    first, second = store.rows()
    assert (first["status"], first["error"], second["status"]) == ("failed", said, "killed")
    assert (first["success"], first["best"]) == (None, None)
    assert store.histories([one.key]) == {one.key: {}}


@pytest.mark.parametrize("success", [True, False, None])
def test_figures_come_back_as_they_were(store: Store, result: Result, success: bool | None) -> None:
    found = {"optimum": None, "stop": StopReason.PATIENCE, "x": np.array([0, 1], dtype=np.uint8)}
    seeds = dict(zip(study(seed=2**62 - 1).fresh_seeds(4), (-math.inf, math.inf, 0.1 + 0.2, -0.0), strict=True))
    for seed, best in seeds.items():
        store.record(cell(), seed, dataclasses.replace(result, success=success, fitness=best, **found))
    runs = store.runs()[cell().key]
    assert {seed: run.best for seed, run in runs.items()} == seeds
    assert {(run.success, type(run.success), run.optimum) for run in runs.values()} == {(success, type(success), None)}
    assert {(row["success"], row["stop"], row["x"]) for row in store.rows()} == {(success, "patience", "01")}


@pytest.mark.parametrize("before", [DONE, FAILED, KILLED])
@pytest.mark.parametrize("later", [DONE, FAILED, KILLED])
def test_only_a_run_that_did_not_end_well_is_overwritten(store: Store, result: Result, before: str, later: str) -> None:
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
    assert list(store.histories([cell().key])[cell().key]) == [3] * (status == DONE)


def test_a_history_comes_back_by_column_with_what_the_model_recorded() -> None:
    history = (
        Generation(generation=0, evaluations=20, best=-math.inf, mean=math.nan, cpu_seconds=0.25),
        Generation(generation=1, evaluations=30, best=2.5, mean=1.5, cpu_seconds=0.5, info={"epochs": 7.0, "e": 0.1}),
        Generation(generation=2, evaluations=40, best=3.5, mean=-math.inf, cpu_seconds=1.0, info={"epochs": 9}),
    )
    expected = {
        "evaluations": [20, 30, 40],
        "best": [math.nan, 2.5, 3.5],  # JSON has no infinity
        "mean": [math.nan, 1.5, math.nan],
        "cpu_seconds": [0.25, 0.5, 1.0],
        "epochs": [math.nan, 7, 9],
        "e": [math.nan, 0.1, math.nan],
    }
    found = unpacked_history(packed_history(history))
    assert list(found) == list(expected)
    for name, column in expected.items():
        assert found[name] == pytest.approx(column, rel=0, abs=0, nan_ok=True)
    for bad in (b"", b"canary", zlib.compress(b"[]"), zlib.compress(b'{"best": 1}')):
        with pytest.raises(ValueError, match="history"):
            unpacked_history(bad)


def test_the_last_study_is_the_study_and_its_options_hold(store: Store, path: Path) -> None:
    with pytest.raises(ValueError, match=r"results.db has no study"):
        store.study()
    assert (store.runs(), list(store.rows()), len(store)) == ({}, [], 0)
    one = study(problems=[{"problem": "onemax:n=6", "target": 5}])
    two = study(runs=8, algorithms=["pbil"], limits={"patience": 3})
    assert store.remember(one, confirm=10, full_grid=True) == (10, True)
    assert store.remember(two) == (0, False)
    assert shown(store) == (plain(two), 0, False)
    assert store.remember(store.study(1)[0], confirm=3) == (3, True)  # the same study, read from the store
    assert shown(store) == (plain(one), 3, True)
    assert store.remember(one, full_grid=False) == (3, False)
    assert store.remember(one, confirm=0) == (0, False)
    assert store.studies() == [2, 1]
    with pytest.raises(ValueError, match=r"no study 3; it has 1, 2"):
        store.study(3)
    store.close()
    assert (read_store(path).number, read_store(path).others) == (1, (2,))
    assert plain(read_store(path, number=2).study) == plain(two)


@pytest.mark.parametrize(
    "change",
    [
        *("confirm = 9e999", "spec = x'ff'", "spec = '[]'", "spec = '{}'", "spec = '{\"runs\": 1e999}'"),
        *(
            f"""spec = replace(spec, '"{old}', '"{new}')"""
            for old, new in (('name": "umda"', 'name": 3'), ('seed": 0', 'seed": null'))
        ),
    ],
)
def test_a_damaged_study_is_refused(store: Store, change: str) -> None:
    store.remember(study())
    sql(store.path, f"UPDATE studies SET {change}")
    with pytest.raises(ValueError, match="damaged"):
        store.study()


# Several processes


def test_a_reader_sees_one_moment_and_does_not_keep_the_writer_waiting(store: Store, result: Result) -> None:
    store.remember(study(popsizes=[20, 40]), confirm=2)
    small, large = study(popsizes=[20, 40]).cells()
    store.record(small, 0, result)
    with Store(store.path, create=False) as reader, reader.at_one_moment():
        before = reader.runs()
        store.record(small, 1, result)
        assert reader.runs() == before
    store.record(large, 0, "ValueError: no", status=FAILED)
    with store._writing():
        store._connection.execute("DELETE FROM runs")
        snapshot = read_store(store.path)
        store._connection.execute("ROLLBACK")
        store._connection.execute("BEGIN")
    assert (snapshot.confirm, snapshot.full_grid, snapshot.number, snapshot.others) == (2, False, 1, ())
    assert {key: sorted(found) for key, found in snapshot.runs.items()} == {small.key: [0, 1], large.key: [0]}
    assert {key: sorted(found) for key, found in snapshot.histories.items()} == {small.key: [0, 1]}
    assert snapshot.problem() is snapshot.study.problems[0]
    with pytest.raises(ValueError, match=r"'trap'.*onemax:n=6"):
        snapshot.problem("trap")


def test_reading_writes_nothing(store: Store, path: Path, result: Result) -> None:
    store.remember(study())
    store.close()
    before = path.read_bytes()
    read_store(path)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == ["results.db"]


HOLDING = """
import sys
from daedal.studies.store import Store

with Store(sys.argv[1]) as store, store.locked():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_only_one_process_writes(store: Store, result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    store.record(cell(), 0, result)
    monkeypatch.setattr("daedal.studies.store.WAIT_SECONDS", 0.1)
    command = [sys.executable, "-c", HOLDING, store.path]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with Store(store.path) as impatient:
            for write in (lambda: impatient.record(cell(), 1, result), lambda: impatient.remember(study())):
                with pytest.raises(TimeoutError, match=r"results.db is locked by another process"):
                    write()
            with pytest.raises(ValueError, match="being written by another process"), impatient.locked():
                pass
            assert len(impatient) == 1
        other.kill()
    with store.locked():
        store.record(cell(), 1, result)
        assert len(store) == 2


# Merging


def test_one_store_takes_what_the_other_has(tmp_path: Path, result: Result) -> None:
    with Store(tmp_path / "a.db") as a, Store(tmp_path / "b.db") as b:
        a.remember(study())
        b.remember(study(runs=7))
        b.remember(study(), confirm=3, full_grid=True)
        b.remember(study(runs=7))
        a.record(cell(), 0, result)
        a.record(cell(), 1, "no luck", status=FAILED)
        a.record(cell(), 2, "no luck", status=FAILED)
        b.record(cell(popsizes=[30]), 0, dataclasses.replace(result, fitness=3.0))
        b.record(cell(), 0, dataclasses.replace(result, fitness=4.0))
        b.record(cell(), 1, dataclasses.replace(result, fitness=5.0))
        b.record(cell(), 2, "killed", status=KILLED)
        b.record(cell(), 3, "worse luck", status=FAILED)
        with b.locked():
            assert a.merge(b.path) == 3
        assert a.merge(b.path) == 0
        found = {(key, seed): run for key, runs in a.runs().items() for seed, run in runs.items()}
        assert len(found) == len(a) == 5
        best = {(cell().key, 0): result.fitness, (cell().key, 1): 5.0, (cell(popsizes=[30]).key, 0): 3.0}
        assert {which: run.best for which, run in found.items() if run.status == DONE} == best
        assert [found[cell().key, seed].error for seed in (2, 3)] == ["no luck", "worse luck"]
        assert a.histories([cell().key])[cell().key][1] == b.histories([cell().key])[cell().key][1]
        assert shown(a) == (plain(study()), 3, True)  # the one last run here is the one that is shown
        assert [a.study(number)[0].runs for number in a.studies()] == [7, study().runs]
    with Store(tmp_path / "c.db") as empty, Store(tmp_path / "b.db", create=False) as b:
        assert empty.merge(b.path) == 5
        assert list(empty.rows()) == list(b.rows())
        assert shown(empty) == shown(b)


def test_a_store_takes_nothing_from_itself_or_from_other_files(store: Store, tmp_path: Path, result: Result) -> None:
    (tmp_path / "text").write_text("no store at all " * 100)
    with Store(tmp_path / "b.db") as b:
        b.record(cell(), 0, result)
    data = (tmp_path / "b.db").read_bytes()
    (tmp_path / "b.db").write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    bad = {store.path: "into itself", tmp_path / "text": "text is not a store"}
    for other, says in (bad | {tmp_path / "missing.db": "missing", tmp_path / "b.db": r"b\.db.*damaged"}).items():
        with pytest.raises((ValueError, FileNotFoundError), match=says):
            store.merge(other)
    assert len(store) == 0


# Files


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda path: path.write_text("Dear Ariadne, " * 100), "is not a store of studies"),
        (lambda path: path.write_text("x"), "is not a store of studies"),
        (lambda path: (path.unlink(), sql(path, "CREATE TABLE songs (title)")), "is not a store of studies"),
        (lambda path: (path.unlink(), path.mkdir()), "is not a store of studies"),
        (lambda path: sql(path, "PRAGMA user_version = 99"), "newer version of daedal"),
        (lambda path: sql(path, "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END"), "damaged"),
        (lambda path: sql(path, "DROP TABLE runs", "CREATE VIEW runs AS SELECT 1 AS seed"), "damaged"),
        (lambda path: os.truncate(path, 8000), "damaged"),
        (lambda path: path.write_bytes(path.read_bytes()[:4096].ljust(20_000, b"\xa5")), "damaged"),
    ],
)
def test_a_file_of_another_kind_is_refused_and_left_as_it_is(
    store: Store, path: Path, result: Result, spoil: Callable[[Path], object], says: str
) -> None:
    store.record(cell(), 3, result)
    store.close()
    spoil(path)
    before = path.read_bytes() if path.is_file() else b""
    for create in (True, False):
        with pytest.raises(ValueError, match=says), Store(path, create=create) as opened:
            opened.runs()
    assert says == "damaged" or not path.is_file() or path.read_bytes() == before


def test_a_file_that_is_missing_or_empty(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no such file.*results.db"):
        read_store(path)
    assert not path.exists()
    path.touch()
    with pytest.raises(ValueError, match="is not a store"):
        Store(path, create=False)
    assert path.read_bytes() == b""
    with pytest.raises(FileNotFoundError, match="no such folder"):
        Store(path.parent / "gone" / "results.db")


def test_a_frame_has_one_row_per_run_and_types_that_do_not_depend_on_them(store: Store, result: Result) -> None:
    pandas = pytest.importorskip("pandas", reason="frames need pandas")
    empty = frame_of(store.rows(), COLUMNS)
    store.record(cell(), 0, result)
    store.record(cell(), 1, "ValueError: no", status=FAILED)
    frame = frame_of(store.rows(), COLUMNS)
    assert isinstance(frame, pandas.DataFrame)
    assert frame["success"].isna().tolist() == [False, True]
    assert (str(frame["evaluations"].dtype), frame["best"].tolist()[0]) == ("Int64", 6.0)
    assert empty.dtypes.equals(frame.dtypes)
