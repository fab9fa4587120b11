"""Run files: what is written comes back, after any end of the writer, and nothing else is taken for a run."""

from __future__ import annotations

import math
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from daedal.run.run_file import Evaluation, open_run, read_run, run_numbers

RUN: dict[str, Any] = {"objective": "f", "n": 12, "seed": 1, "settings": {"popsize": 20}, "limits": {"target": 3}}
KEYS = [bytes([i % 256, i // 256]) for i in range(1000)]
WRITER = """
import sys, time
from daedal.run.run_file import open_run
file = open_run(sys.argv[1], {"objective": "f", "n": 16})
while True:
    file.append([file.count.to_bytes(2, "little")], [float(file.count)])
    if file.count == 10:
        file.flush()
        print("ten", flush=True)
        if sys.argv[2] == "wait":
            time.sleep(600)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.db"


@contextmanager
def writer(path: Path, then: str) -> Iterator[None]:
    """Have a process that has written ten evaluations and then writes more, or waits; it is killed in the end."""
    with subprocess.Popen([sys.executable, "-c", WRITER, path, then], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ten\n"
            yield
        finally:
            process.kill()


def test_everything_comes_back(path: Path) -> None:
    trace = {"ones": np.arange(6.0).reshape(2, 3), "names": np.array(["a", "b"])}
    with open_run(path, RUN) as file:
        file.set_budget(100)
        file.append(KEYS[:3], np.array([1.5, -math.inf, math.nan]), None, [None, None, "ValueError: \udcff"])
        file.append(KEYS[3:5], [0.1, None], np.array([[1.0, -2.0], [math.inf, 0.0]]))
        file.append(KEYS[5:6], [7], numbers=[-1], known=True)
        file.record(1, {"best": 1.5})
        file.record(1, {"best": math.inf, "missing": math.nan})
        file.finish({"stop": "target"}, trace)
        file.set_budget(100)
        file.set_budget(None)
    with read_run(path) as file:
        assert list(file.evaluations()) == [
            Evaluation(KEYS[5], 7.0, None, None, True),
            Evaluation(KEYS[0], 1.5, None, None, False),
            Evaluation(KEYS[1], -math.inf, None, None, False),
            Evaluation(KEYS[2], None, None, "ValueError: \\udcff", False),
            Evaluation(KEYS[3], 0.1, (1.0, -2.0), None, False),
            Evaluation(KEYS[4], None, (math.inf, 0.0), None, False),
        ]
        (record,) = file.records
        assert (record["generation"], record["best"], math.isnan(record["missing"])) == (1, math.inf, True)
        assert (file.description, file.count, file.outcome) == (RUN, 5, {"stop": "target"})
        assert file.budgets == [(0, 100), (5, None)]
        assert file.trace is not None
        assert all((file.trace[name] == array).all() for name, array in trace.items())
    assert os.listdir(path.parent) == ["run.db"]


def test_more_evaluations_than_are_read_at_once(path: Path) -> None:
    keys = [i.to_bytes(2, "little") for i in range(2**16)]
    with open_run(path, {**RUN, "n": 16}) as file:
        for start in range(0, len(keys), 777):
            file.append(keys[start : start + 777], [float(start)] * len(keys[start : start + 777]))
        file.append(keys[7:8], [-1.0], numbers=[7])  # replaces
    with read_run(path) as file:
        found = list(file.evaluations())
    assert [evaluation.key for evaluation in found] == keys
    assert (found[7].value, found[8].value, found[-1].value) == (-1.0, 0.0, 65268.0)


def test_the_same_run_continues_with_other_limits(path: Path) -> None:
    with open_run(path, RUN) as file:
        file.append(KEYS[:2], [1.0, 2.0])
        file.finish({"stop": "target"}, {})
    link = path.with_name("link.db")
    link.symlink_to(path)
    with open_run(link, {**RUN, "limits": {"target": 4}}) as file:
        assert (file.count, file.outcome) == (2, {"stop": "target"})
        file.append(KEYS[2:3], [3.0])
    with read_run(path) as file:
        assert (file.count, file.outcome, file.trace, file.description["limits"]) == (3, None, None, {"target": 4})
    assert link.is_symlink()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 2}, "seed 1, not 2"),
        ({"settings": {"popsize": 40}}, "settings popsize 20, not 40"),
        ({"noise": {"repeats": 4}}, "noise none, not"),
    ],
)
def test_another_run_is_refused(path: Path, change: dict[str, Any], said: str) -> None:
    open_run(path, RUN).close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match=rf"run\.db holds another run \({said}"):
        open_run(path, {**RUN, **change})
    assert path.read_bytes() == before
    with open_run(path, {**RUN, **change}, among_others=True) as file:
        file.append(KEYS[:1], [1.0])
    assert run_numbers(path) == [1, 2]
    with read_run(path, 1) as one, read_run(path, 2) as other:
        assert (one.count, other.count) == (0, 1)


@pytest.mark.parametrize("then", ["wait", "write"])
def test_a_killed_writer_leaves_what_it_wrote(path: Path, then: str) -> None:
    with writer(path, then):
        pass
    with open_run(path, {"objective": "f", "n": 16}) as file:
        found = list(file.evaluations())
        assert file.count == len(found) >= 10
    assert [evaluation.value for evaluation in found] == list(range(len(found)))


def test_one_writer_and_any_readers(path: Path) -> None:
    with writer(path, "wait"):
        with read_run(path) as file:
            assert len(list(file.evaluations())) == 10
        with pytest.raises(ValueError, match=r"run\.db is being written by another process"):
            open_run(path, {"objective": "f", "n": 16})
    with open_run(path, {"objective": "f", "n": 16}), pytest.raises(ValueError, match="is being written"):
        open_run(path, {"objective": "f", "n": 16})


def test_a_reader_in_the_way_loses_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daedal.run.run_file.WAIT_SECONDS", 0.0)
    with open_run(path, RUN) as file:
        file.append(KEYS, [1.0] * len(KEYS))
    with open_run(path, RUN) as file, closing(sqlite3.connect(path)) as reader:
        rows = reader.execute("SELECT * FROM evaluations")
        rows.fetchone()
        file.append(KEYS[:1], [2.0])
        file.flush()
        with pytest.raises(ValueError, match="is being written"):
            open_run(path, RUN)
        rows.close()
    with read_run(path) as file:
        assert file.count == len(KEYS) + 1


def sql(*statements: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda path: path.write_text("x" * 9999), "not a run of daedal"),
        (lambda path: (path.unlink(), sql("CREATE TABLE a (b)")(path)), "not a run of daedal"),
        (lambda path: (path.unlink(), path.mkdir()), "not a run of daedal"),
        (sql("PRAGMA user_version = 9"), "written by a newer version of daedal"),
        (sql("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END"), "damaged"),
        (sql("UPDATE runs SET description = '[1]'"), "damaged"),
        (sql("UPDATE evaluations SET value = 'high'"), "damaged"),
        (sql("UPDATE evaluations SET candidate = x'00'"), "damaged"),
        (sql("UPDATE runs SET trace = x'504b0304'"), "damaged"),
        (lambda path: os.truncate(path, os.path.getsize(path) // 2), "damaged"),
        (lambda path: path.with_name("run.db-journal").write_text("my journal"), "SQLite would overwrite"),
    ],
)
def test_other_and_damaged_files_are_refused(path: Path, change: Callable[[Path], object], said: str) -> None:
    with open_run(path, RUN) as file:
        file.append(KEYS, [1.0] * len(KEYS))
    change(path)
    before = path.read_bytes() if path.is_file() else b""
    for opened in (read_run, lambda path: open_run(path, RUN)):
        with pytest.raises(ValueError, match=rf"run\.db.*{said}|{said}.*run\.db"), opened(path) as file:
            assert list(file.evaluations()) == file.trace
    assert not path.is_file() or path.read_bytes() == before
