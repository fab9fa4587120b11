"""A store is read as of one moment, whoever writes there, and nobody waits for anybody."""

from __future__ import annotations

from pathlib import Path

import pytest

import daedal
from daedal.result import Result
from daedal.studies.snapshot import read_store
from daedal.studies.spec import Study
from daedal.studies.store import Store

STUDY = Study.from_dict({"problems": ["onemax:n=8"], "algorithms": ["umda"], "popsizes": [20, 40], "runs": 3})
SMALL, LARGE = STUDY.cells()


@pytest.fixture(scope="module")
def result() -> Result:
    return daedal.maximize("onemax:n=8", algorithm="umda", popsize=20, seed=1)


@pytest.fixture
def path(tmp_path: Path, result: Result) -> Path:
    with Store(tmp_path / "results.db") as store:
        store.remember(STUDY, confirm=2)
        for seed in range(2):
            store.record(SMALL, seed, result)
    return tmp_path / "results.db"


def count(path: Path) -> int:
    return sum(map(len, read_store(path, timeout=0.0).runs.values()))


def test_a_snapshot_has_the_study_its_runs_and_the_histories_that_are_shown(path: Path, result: Result) -> None:
    with Store(path) as store:
        store.record(LARGE, 0, "ValueError: no", status="failed")
    snapshot = read_store(path)
    assert [problem.name for problem in snapshot.study.problems] == ["onemax:n=8"]
    assert (snapshot.confirm, snapshot.full_grid, snapshot.number, snapshot.others) == (2, False, 1, ())
    assert {key: sorted(found) for key, found in snapshot.runs.items()} == {SMALL.key: [0, 1], LARGE.key: [0]}
    assert {key: sorted(found) for key, found in snapshot.histories.items()} == {SMALL.key: [0, 1]}


def test_the_writer_is_never_locked_out_nor_waited_for(path: Path, result: Result) -> None:
    with Store(path, timeout=0.0) as writer:  # which fails at once where it would have to wait
        with Store(path, create=False, timeout=0.0) as reader, reader.at_one_moment():
            before = reader.runs()
            writer.record(SMALL, 2, result)  # while somebody reads
            assert reader.runs() == before  # of one moment
        assert count(path) == 3
        with writer._writing():  # in the middle of a transaction
            writer._connection.execute("DELETE FROM runs")
            assert count(path) == 3
        assert count(path) == 0


def test_reading_writes_nothing(path: Path, result: Result) -> None:
    before = path.read_bytes()
    read_store(path)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == ["results.db"]
    with Store(path) as writer:
        writer.record(SMALL, 2, result)
        beside = {one.name: one.read_bytes() for one in path.parent.iterdir() if not one.name.endswith("-shm")}
        read_store(path)
        for name, content in beside.items():
            assert (path.parent / name).read_bytes() == content


def test_another_study_is_given_by_its_number(path: Path) -> None:
    other = Study.from_dict({"problems": ["onemax:n=9"], "algorithms": ["umda"], "popsizes": [20]})
    with Store(path) as store:
        store.remember(other)
    assert read_store(path).study.problems[0].name == "onemax:n=9"
    assert read_store(path).others == (1,)
    assert read_store(path, number=1).study.problems[0].name == "onemax:n=8"
    with pytest.raises(ValueError, match="one of 1, 2, got 3"):
        read_store(path, number=3)


def test_a_missing_store_or_problem_is_named(path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_store(path.with_name("other.db"))
    snapshot = read_store(path)
    assert snapshot.problem() is snapshot.study.problems[0]
    with pytest.raises(ValueError, match="onemax:n=8, got problem='trap'"):
        snapshot.problem("trap")


def test_a_frame_has_one_row_a_run(path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="frames need pandas")
    with Store(path) as store:
        store.record(LARGE, 0, "ValueError: no", status="failed")
        frame = store.frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["popsize"].tolist() == [20, 20, 40]
    assert frame["success"].isna().tolist() == [False, False, True]
    assert str(frame["evaluations"].dtype) == "Int64"
    assert frame["best"].tolist()[:2] == [8.0, 8.0]
    with Store(path.with_name("empty.db")) as empty:
        assert empty.frame().dtypes.equals(frame.dtypes)
