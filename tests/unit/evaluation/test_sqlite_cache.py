"""What is known of rows evaluated before, in a file: against a dictionary, shared by processes, and what goes wrong."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.evaluation.sqlite_cache import SQLiteCache
from daedal.types import Bits

LENGTHS = (1, 2, 7, 8, 9, 63, 64, 65, 200)
SPECIAL = (-np.inf, np.inf, 5e-324, 1.7976931348623157e308, 0.1, -1e-300, 2**53 + 2.0)


def opened(
    path: Path, *, n: int = 12, objective: str = "wing", version: str = "", timeout: float = 30.0
) -> SQLiteCache:
    return SQLiteCache(path, n=n, objective=objective, version=version, timeout=timeout)


def answers(cache: SQLiteCache, rows: Bits) -> list[float | None]:
    values, known = cache.find(rows)
    assert values.shape == known.shape == (len(rows),)
    assert values.dtype == np.float64
    assert known.dtype == np.bool_
    assert np.isnan(values[~known]).all()
    return [float(value) if is_known else None for value, is_known in zip(values, known, strict=True)]


def every(n: int) -> Bits:
    """All rows of n bits."""
    return ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.uint8)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "known.db"


# What works


@settings(deadline=None, max_examples=25)
@given(
    st.sampled_from(LENGTHS), st.lists(st.sampled_from(("find", "add", "reopen")), max_size=8), st.integers(0, 2**32)
)
def test_it_is_a_dictionary(n: int, each: list[str], seed: int) -> None:
    rng = np.random.default_rng(seed)
    pool = rng.integers(0, 2, (rng.integers(1, 900), n), dtype=np.uint8)
    known: dict[bytes, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        cache = opened(Path(folder) / "known.db", n=n)
        for what in each:
            rows = pool[rng.integers(0, len(pool), rng.integers(0, 1200))]
            if what == "add":
                values = np.where(rng.random(len(rows)) < 0.1, rng.choice(SPECIAL, len(rows)), rng.random(len(rows)))
                cache.add(rows, values)
                for row, value in zip(rows, values.tolist(), strict=True):
                    known.setdefault(row.tobytes(), value)
            elif what == "find":
                assert answers(cache, rows) == [known.get(row.tobytes()) for row in rows]
            else:
                cache.close()
                cache = opened(Path(folder) / "known.db", n=n)
        assert answers(cache, pool) == [known.get(row.tobytes()) for row in pool]
        cache.close()


def test_special_numbers_come_back_as_they_are(path: Path) -> None:
    rows = every(3)[: len(SPECIAL)]
    with opened(path, n=3) as cache:
        cache.add(rows, np.array(SPECIAL))
    with opened(path, n=3) as cache:
        assert answers(cache, rows) == list(SPECIAL)


def test_name_version_and_length_tell_objectives_apart(path: Path) -> None:
    which = [(name, version, n) for name in ("wing", "Wing", "") for version in ("", "1", "01") for n in (9, 10)]
    for k, (name, version, n) in enumerate(which):
        with opened(path, objective=name, version=version, n=n) as cache:
            assert answers(cache, np.zeros((1, n), dtype=np.uint8)) == [None]
            cache.add(np.zeros((1, n), dtype=np.uint8), np.array([float(k)]))
    for k, (name, version, n) in enumerate(which):
        with opened(path, objective=name, version=version, n=n) as cache:
            assert answers(cache, np.zeros((1, n), dtype=np.uint8)) == [float(k)]


def test_two_open_ones_see_what_the_other_adds(path: Path) -> None:
    rows = every(12)
    with opened(path) as one, opened(path) as other:
        one.add(rows[:10], np.zeros(10))
        other.add(rows[5:20], np.ones(15))
        assert answers(one, rows[:21]) == answers(other, rows[:21]) == [0.0] * 10 + [1.0] * 10 + [None]


def test_thousands_of_rows_are_found(path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (10_000, 100), dtype=np.uint8)
    with opened(path, n=100) as cache:
        cache.add(rows, np.arange(10_000.0))
        assert answers(cache, rows) == list(range(10_000))


def share(folder: str, who: int) -> list[list[float | None]]:
    """What one of several processes does: open files that others open, add rows that others add, look at them."""
    rows = every(12)
    seen = []
    for k in range(6):
        with SQLiteCache(Path(folder) / f"{k}.db", n=12, objective="wing") as cache:
            for start in range(0, 600, 100):
                cache.add(rows[start : start + 200], np.full(200, float(who)))
            seen.append(answers(cache, rows))
    return seen


def test_processes_that_write_at_the_same_moment_agree(tmp_path: Path) -> None:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        each = list(pool.map(share, [str(tmp_path)] * 2, range(2)))
    for k in range(6):
        with SQLiteCache(tmp_path / f"{k}.db", n=12, objective="wing") as cache:
            final = answers(cache, every(12))
        assert set(final[:700]) <= {0.0, 1.0}
        assert set(final[700:]) == {None}
        for seen in each:
            assert seen[k] == final


# What goes wrong


@contextmanager
def unprivileged() -> Iterator[None]:
    """Lose the rights of root, for whom nothing is read-only; other users have none to lose."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_read_only_file_is_refused_at_once() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        path = Path(folder) / "known.db"
        with opened(path) as cache:
            cache.add(every(12), np.arange(4096.0))
        path.chmod(0o444)
        before = path.read_bytes()
        said = r"^expected to write a cache of evaluations in '.*', but the file or its folder is read-only; make both"
        with unprivileged(), pytest.raises(PermissionError, match=said):
            opened(path)
        assert path.read_bytes() == before


def test_a_connection_that_can_only_read_is_refused_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(path).close()
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, **options: connect(f"{path.as_uri()}?mode=ro", uri=True, **options)
    )
    with pytest.raises(PermissionError, match="read-only"):
        opened(path)


def test_a_file_that_stays_locked_is_given_up(path: Path) -> None:
    rows = every(12)
    with opened(path, timeout=0.1) as cache, closing(sqlite3.connect(path, isolation_level=None)) as other:
        cache.add(rows[:1], np.zeros(1))
        other.execute("BEGIN IMMEDIATE")
        said = r"^expected to use a cache of evaluations in '.*', but another process kept it locked for longer"
        with pytest.raises(TimeoutError, match=said):
            cache.add(rows, np.ones(4096))
        with pytest.raises(TimeoutError, match=said):
            opened(path, timeout=0.1)
        assert answers(cache, rows[:2]) == [0.0, None]
        other.execute("ROLLBACK")
        cache.add(rows, np.ones(4096))
        assert answers(cache, rows[:2]) == [0.0, 1.0]


def test_on_a_full_disk_nothing_of_a_batch_is_added(path: Path) -> None:
    rows = every(12)
    with opened(path) as cache:
        cache.add(rows[:100], np.zeros(100))
        cache._connection.execute("PRAGMA max_page_count = 8")
        said = r"^expected to write a cache of evaluations in '.*', but the disk is full; make room"
        with pytest.raises(OSError, match=said):
            cache.add(rows, np.ones(4096))
        assert answers(cache, rows) == [0.0] * 100 + [None] * 3996
        cache._connection.execute("PRAGMA max_page_count = 1000000")
        cache.add(rows, np.ones(4096))
        assert answers(cache, rows) == [0.0] * 100 + [1.0] * 3996


def test_other_files_are_refused_and_left_as_they_are(path: Path) -> None:
    path.write_text("Dear Ariadne, the thread is on the table.\n" * 20)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"^expected a cache of evaluations in '.*', got a file that is not an SQLite"):
        opened(path)
    assert path.read_bytes() == before
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE objective (id INTEGER PRIMARY KEY)")
    before = path.read_bytes()
    with pytest.raises(
        ValueError, match=r"^expected a cache of evaluations in '.*', got an SQLite database of something"
    ):
        opened(path)
    assert path.read_bytes() == before


def test_a_file_of_a_newer_format_is_refused(path: Path) -> None:
    opened(path).close()
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA user_version = 2")
    with pytest.raises(
        ValueError, match=r"^expected a cache of evaluations of format 1 in '.*', got format 2, made by a"
    ):
        opened(path)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no folder '.*nowhere'; make it"):
        opened(tmp_path / "nowhere" / "known.db")


def test_wrong_rows_and_values_are_refused_and_nothing_is_added(path: Path) -> None:
    right = np.zeros((2, 12), dtype=np.uint8)
    with opened(path) as cache:
        for wrong in (right[:, :2], right.astype(np.int64), right[0], right.tolist()):
            with pytest.raises(ValueError, match="expected a uint8 array of shape"):
                cache.add(wrong, np.zeros(2))
            with pytest.raises(ValueError, match="expected a uint8 array of shape"):
                cache.find(wrong)
        with pytest.raises(ValueError, match="expected a float64 array of shape"):
            cache.add(right, np.zeros(3))
        with pytest.raises(ValueError, match="got nan for 1 of 2"):
            cache.add(right, np.array([0.0, np.nan]))
        assert answers(cache, right) == [None, None]
    with pytest.raises(ValueError, match="at least one bit, got n=0"):
        opened(path, n=0)


def test_after_closing_nothing_is_found(path: Path) -> None:
    with opened(path) as cache:
        pass
    cache.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        cache.find(every(12))
