"""What is known of rows evaluated before, in a file: against a dictionary, and shared by processes.

What may happen to a file, and how it is told, is tested with `daedal.storage.sqlite`.
"""

from __future__ import annotations

import multiprocessing
import sqlite3
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evaluation_helpers import every, found
from hypothesis import given, settings
from hypothesis import strategies as st

from daedal.evaluation.sqlite_cache import SQLiteCache

LENGTHS = (1, 2, 7, 8, 9, 63, 64, 65, 200)
SPECIAL = (-np.inf, np.inf, 5e-324, 1.7976931348623157e308, 0.1, -1e-300, 2**53 + 2.0)


def opened(path: Path, *, n: int = 12, objective: str = "wing", version: str = "", **more: Any) -> SQLiteCache:
    return SQLiteCache(path, n=n, objective=objective, version=version, **more)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "known.db"


@settings(deadline=None, max_examples=25)
@given(
    st.sampled_from(LENGTHS), st.lists(st.sampled_from(("find", "add", "reopen")), max_size=8), st.integers(0, 2**32)
)
def test_it_is_a_dictionary(n: int, each: list[str], seed: int) -> None:
    """Of more rows than are asked for at once, and of all numbers but nan."""
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
                assert found(cache, rows) == [known.get(row.tobytes()) for row in rows]
            else:
                cache.close()
                cache = opened(Path(folder) / "known.db", n=n)
        assert found(cache, pool) == [known.get(row.tobytes()) for row in pool]
        cache.close()


def test_name_version_and_length_tell_objectives_apart(path: Path) -> None:
    which = [(name, version, n) for name in ("wing", "Wing", "") for version in ("", "1", "01") for n in (9, 10)]
    for k, (name, version, n) in enumerate(which):
        with opened(path, objective=name, version=version, n=n) as cache:
            assert found(cache, np.zeros((1, n), dtype=np.uint8)) == [None]
            cache.add(np.zeros((1, n), dtype=np.uint8), np.array([float(k)]))
    for k, (name, version, n) in enumerate(which):
        with opened(path, objective=name, version=version, n=n) as cache:
            assert found(cache, np.zeros((1, n), dtype=np.uint8)) == [float(k)]


def test_two_open_ones_see_what_the_other_adds(path: Path) -> None:
    rows = every(12)
    with opened(path) as one, opened(path) as other:
        one.add(rows[:10], np.zeros(10))
        other.add(rows[5:20], np.ones(15))
        assert found(one, rows[:21]) == found(other, rows[:21]) == [0.0] * 10 + [1.0] * 10 + [None]


def share(folder: str, who: int) -> list[list[float | None]]:
    """What one of several processes does: open files that others open, add rows that others add, look at them."""
    rows = every(12)
    seen = []
    for k in range(6):
        with opened(Path(folder) / f"{k}.db") as cache:
            for start in range(0, 600, 100):
                cache.add(rows[start : start + 200], np.full(200, float(who)))
            seen.append(found(cache, rows))
    return seen


def test_processes_that_write_at_the_same_moment_agree(tmp_path: Path) -> None:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        each = list(pool.map(share, [str(tmp_path)] * 2, range(2)))
    for k in range(6):
        with opened(tmp_path / f"{k}.db") as cache:
            final = found(cache, every(12))
        assert set(final[:700]) <= {0.0, 1.0}
        assert set(final[700:]) == {None}
        for seen in each:
            assert seen[k] == final


# Whose rows they are


def test_rows_of_this_run_are_ahead_until_it_has_come_where_it_added_them(path: Path) -> None:
    """Later they are known, as in a run that was never broken off, whose memory has dropped them."""
    rows = every(12)[:6]
    with opened(path) as other, opened(path) as first, opened(path) as again:
        other.add(rows[:2], np.zeros(2))
        for first.calls, places in ((0, slice(0, 3)), (3, slice(3, 4)), (4, slice(4, 5))):
            first.add(rows[places], np.ones(len(rows[places])))
        assert other.run != first.run != again.run
        assert not again.find_ahead(rows)[2].any()
        again.run = first.run
        for again.calls, expected in ((0, [2, 3, 4]), (3, [3, 4]), (4, [4]), (5, [])):
            values, known, ahead, _ = again.find_ahead(rows)
            assert np.flatnonzero(ahead).tolist() == expected
            assert known.tolist() == [True] * 5 + [False]
            assert values[:5].tolist() == [0.0, 0.0, 1.0, 1.0, 1.0]


FORMAT_1 = """
PRAGMA application_id = 1147225411;
PRAGMA user_version = 1;
CREATE TABLE objective (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL, n INTEGER NOT NULL, UNIQUE (name, version, n)
);
CREATE TABLE evaluation (
    objective INTEGER NOT NULL REFERENCES objective (id), row BLOB NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (objective, row)
) WITHOUT ROWID;
INSERT INTO objective VALUES (1, 'wing', '', 12);
INSERT INTO evaluation VALUES (1, x'8000', 1.5), (1, x'C000', 2.5);
"""


def test_a_file_of_the_first_format_is_brought_up_with_all_that_is_in_it(path: Path) -> None:
    with closing(sqlite3.connect(path)) as old:
        old.executescript(FORMAT_1)
    rows = every(12)[[1, 3, 2]]
    for _ in range(2):
        with opened(path) as cache:
            assert found(cache, rows)[:2] == [1.5, 2.5]
            assert not cache.find_ahead(rows)[2].any()
            cache.add(rows, np.full(3, 9.0))
            assert found(cache, rows) == [1.5, 2.5, 9.0]


# What goes wrong


def lock(other: sqlite3.Connection, _: SQLiteCache) -> None:
    other.execute("BEGIN IMMEDIATE")


def fill_up(_: sqlite3.Connection, cache: SQLiteCache) -> None:
    cache._connection.execute("PRAGMA max_page_count = 8")


@pytest.mark.parametrize(("spoil", "error"), [(lock, TimeoutError), (fill_up, OSError)])
def test_of_a_batch_that_cannot_be_written_nothing_is_there(
    path: Path, spoil: Callable[[sqlite3.Connection, SQLiteCache], None], error: type[Exception]
) -> None:
    """And once it can be, all is as if nothing had happened."""
    rows = every(12)
    with opened(path, timeout=0.1) as cache, closing(sqlite3.connect(path, isolation_level=None)) as other:
        cache.add(rows[:100], np.zeros(100))
        spoil(other, cache)
        with pytest.raises(error, match="a cache of evaluations in"):
            cache.add(rows, np.ones(4096))
        assert found(cache, rows) == [0.0] * 100 + [None] * 3996
        if other.in_transaction:
            other.execute("ROLLBACK")
        cache._connection.execute("PRAGMA max_page_count = 1000000")
        cache.add(rows, np.ones(4096))
        assert found(cache, rows) == [0.0] * 100 + [1.0] * 3996


def test_a_file_that_can_only_be_read_is_refused_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(path).close()
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda path, **options: connect(f"{path.as_uri()}?mode=ro", uri=True, **options)
    )
    with pytest.raises(PermissionError, match="read-only"):
        opened(path)


def test_what_is_no_cache_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE objective (id INTEGER PRIMARY KEY)")
    with pytest.raises(ValueError, match="a cache of evaluations"):
        opened(path)


def test_wrong_rows_and_values_are_refused_and_nothing_is_added(path: Path) -> None:
    right = np.zeros((2, 12), dtype=np.uint8)
    with opened(path) as cache:
        for wrong in (right[:, :2], right.astype(np.int64), right[0], right.tolist()):
            for call in (lambda rows: cache.add(rows, np.zeros(2)), cache.find):
                with pytest.raises(ValueError, match="uint8 array of shape"):
                    call(wrong)
        for odd in (np.zeros(3), np.array([0.0, np.nan])):
            with pytest.raises(ValueError, match=r"float64 array of shape|nan for 1 of 2"):
                cache.add(right, odd)
        assert found(cache, right) == [None, None]
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        cache.find(right)
    with pytest.raises(ValueError, match="n=0"):
        opened(path, n=0)


def test_any_name_and_version(path: Path) -> None:
    rows = every(12)[:2]
    with opened(path, objective="\udcff", version="\ud800\x00") as cache:
        cache.add(rows, np.array([1.0, 2.0]))
    with opened(path, objective="\udcff", version="\ud800\x00") as cache:
        assert cache.find(rows)[1].all()
    with opened(path, objective="\udcfe", version="\ud800\x00") as cache:
        assert not cache.find(rows)[1].any()
