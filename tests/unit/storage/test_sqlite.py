"""SQLite files: made once, migrated whole, refused when of another kind, and errors that say what to do."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import pytest

from daedal.storage.sqlite import errors_explained, open_database, transaction

SCHEMA = """
CREATE TABLE note (text TEXT NOT NULL DEFAULT 'a;b');
CREATE INDEX note_text ON note (text);
"""
MIGRATIONS = {
    1: "ALTER TABLE note ADD COLUMN day INTEGER; UPDATE note SET day = length(text)",  # no semicolon at the end
    2: "CREATE TABLE page (number INTEGER); INSERT INTO page SELECT count(*) FROM note; DROP INDEX note_text;",
}
Unprivileged = Callable[[], AbstractContextManager[None]]


def opened(path: str | os.PathLike[str], **settings: Any) -> closing[sqlite3.Connection]:
    return closing(
        open_database(path, **{"application": 77, "version": 1, "schema": SCHEMA, "what": "a diary", **settings})
    )


def notes(path: Path) -> list[str]:
    with opened(path, create=False) as connection:
        return [text for (text,) in connection.execute("SELECT text FROM note ORDER BY text")]


def write(path: Path, *texts: str) -> None:
    with opened(path) as connection, transaction(connection):
        connection.executemany("INSERT INTO note VALUES (?)", [(text,) for text in texts])


def other(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


def check_migrated(connection: sqlite3.Connection, *rows: tuple[str, int]) -> None:
    assert connection.execute("SELECT text, day FROM note ORDER BY text").fetchall() == list(rows)
    assert connection.execute("SELECT number FROM page").fetchall() == [(len(rows),)]
    assert connection.execute("PRAGMA user_version").fetchone() == (3,)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def open_path(open_folder: Path) -> Path:
    """A file in a folder of everybody."""
    write(open_folder / "a.db", "kept")
    return open_folder / "a.db"


# What works


def test_a_new_file_has_its_marks_and_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "a;b #1 %41?.db"
    for create in (True, False, True):
        with opened(path, create=create) as connection:
            assert connection.isolation_level is None
            for name, value in {
                "application_id": 77,
                "user_version": 1,
                "journal_mode": "wal",
                "synchronous": 1,
            }.items():
                assert connection.execute(f"PRAGMA {name}").fetchone() == (value,)
            assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("note",), ("note_text",)]
    with opened(path) as connection:
        connection.execute("INSERT INTO note DEFAULT VALUES")
    assert notes(path) == ["a;b"]


@pytest.mark.parametrize("name", [":memory:", "file:here.db", "file:here.db?mode=memory"])
def test_names_that_mean_something_to_sqlite_are_names_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    opened(name).thing.close()
    assert (tmp_path / name).stat().st_size > 0


def test_one_file_made_and_migrated_by_many_at_the_same_moment(tmp_path: Path) -> None:
    together = threading.Barrier(6, timeout=120)

    def make(who: int) -> None:
        for k in range(8):
            together.wait()
            write(tmp_path / f"{k}.db", str(who))
            together.wait()
            with opened(tmp_path / f"{k}.db", version=3, migrations=MIGRATIONS) as connection:
                check_migrated(connection, *((text, 1) for text in "012345"))

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(make, range(6)))


def test_a_transaction_that_fails_leaves_nothing(path: Path) -> None:
    def failing_after(text: str, error: BaseException) -> Iterator[tuple[str]]:
        yield (text,)
        raise error

    write(path, "kept")
    with opened(path) as connection:
        for wrong in (KeyboardInterrupt(), ZeroDivisionError()):
            with pytest.raises(type(wrong)), transaction(connection):
                connection.executemany("INSERT INTO note VALUES (?)", failing_after("lost", wrong))
    write(path, "more")
    assert notes(path) == ["kept", "more"]


@pytest.mark.parametrize("end", ["CREATE TABLEAU x;", "CREATE TABLE x (y DEFAULT 'open"])
def test_a_script_that_fails_leaves_the_file_as_it_was(path: Path, end: str) -> None:
    with pytest.raises(sqlite3.OperationalError, match=r"syntax error|unrecognized token"):
        opened(path, schema=SCHEMA + end)
    assert path.read_bytes() == b""
    write(path, "kept")
    with pytest.raises(sqlite3.OperationalError, match=r"syntax error|unrecognized token"):
        opened(path, version=3, migrations={**MIGRATIONS, 2: MIGRATIONS[2] + end})
    assert notes(path) == ["kept"]


# Files of older versions


def test_an_older_file_is_migrated_once(path: Path) -> None:
    write(path, "one", "three")
    for _ in range(2):
        with opened(path, version=3, schema="", migrations=MIGRATIONS, create=False) as connection:
            check_migrated(connection, ("one", 3), ("three", 5))


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
@pytest.mark.parametrize("writable", [True, False])
def test_a_reader_migrates_in_memory_alone(
    open_path: Path, unprivileged: Unprivileged, mode: str, writable: bool
) -> None:
    other(open_path, f"PRAGMA journal_mode = {mode}")
    open_path.chmod(0o666 if writable else 0o444)
    open_path.parent.chmod(0o777 if writable else 0o555)
    before = open_path.read_bytes()
    with (
        unprivileged(),
        opened(open_path, version=3, migrations=MIGRATIONS, create=False, read_only=True) as connection,
    ):
        check_migrated(connection, ("kept", 4))
        with pytest.raises(PermissionError), errors_explained(open_path, "a diary"):
            connection.execute("INSERT INTO page VALUES (1)")
    assert open_path.read_bytes() == before
    assert os.listdir(open_path.parent) == ["a.db"]


@pytest.mark.parametrize(("version", "migrations"), [(3, {1: MIGRATIONS[1]}), (3, {2: MIGRATIONS[2]}), (2, {})])
def test_without_a_migration_for_each_step_it_is_refused(path: Path, version: int, migrations: dict[int, str]) -> None:
    write(path, "kept")
    before = path.read_bytes()
    for read_only in (True, False):
        with pytest.raises(ValueError, match=rf"format {version} .* format 1, .*older"):
            opened(path, version=version, migrations=migrations, read_only=read_only, create=False)
    assert path.read_bytes() == before


ENDLESS = """
import sys
from daedal.storage.sqlite import open_database
forever = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n;"
script = "ALTER TABLE note ADD COLUMN day; UPDATE note SET text = text || '!'; INSERT INTO note(day) " + forever
open_database(sys.argv[1], application=77, version=2, schema="", what="a diary", migrations={1: script})
"""


def test_a_migration_that_is_killed_leaves_the_file_as_it_was(path: Path) -> None:
    texts = [f"{k:010000}" for k in range(1000)]
    write(path, *texts)
    journal = path.with_name("a.db-wal")
    deadline = time.monotonic() + 120
    with subprocess.Popen([sys.executable, "-c", ENDLESS, path]) as child:
        try:
            while not (journal.exists() and journal.stat().st_size > 2**20):  # what does not fit into SQLite's memory
                assert child.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.01)
        finally:
            child.kill()
    assert notes(path) == texts


# Files of other kinds: refused, and left as they are


@pytest.mark.parametrize("content", [b"x", b"x" * 511, b"hello\n" * 1000, bytes(5000), b"SQLite format 3\0"])
def test_what_is_no_database_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    for create in (True, False):
        with pytest.raises(ValueError, match=r"a diary in '.*a.db', .* not an SQLite database"):
            opened(path, create=create)
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == ["a.db"]


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("CREATE TABLE other (x);", "something else"),
        ("PRAGMA application_id = 78; CREATE TABLE note (text);", "something else"),
        ("PRAGMA application_id = 78; VACUUM;", "something else"),
        ("PRAGMA user_version = 1; VACUUM;", "something else"),
        ("PRAGMA application_id = 77; PRAGMA user_version = 2; VACUUM;", "format 1 .*format 2, .*newer.* upgrade"),
        ("PRAGMA application_id = 77; PRAGMA user_version = 0; VACUUM;", "format 1 .*format 0, .*older"),
        ("PRAGMA application_id = 77; PRAGMA user_version = -2147483648; VACUUM;", "format -2147483648, .*older"),
    ],
)
def test_a_database_of_another_kind_or_version_is_refused(path: Path, script: str, says: str) -> None:
    other(path, script)
    before = path.read_bytes()
    for create in (True, False):
        with pytest.raises(ValueError, match=f"a diary .*{says}"):
            opened(path, create=create, migrations=MIGRATIONS)
    assert path.read_bytes() == before != b""
    assert os.listdir(path.parent) == ["a.db"]


ENDLESS_QUERY = "WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT i AS text FROM c"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        (f"DROP TABLE note; CREATE VIEW note AS {ENDLESS_QUERY}", "'note' is no table"),
        ("DROP TABLE note; CREATE VIEW note AS SELECT * FROM note", "'note' is no table"),
        ("DROP TABLE note", "no table 'note'"),
        ("ALTER TABLE note RENAME COLUMN text TO other", "no column 'text'"),
        (f"CREATE TRIGGER t AFTER INSERT ON note BEGIN {ENDLESS_QUERY}; END", "a trigger, 't'"),
        ("DROP TABLE note; CREATE VIRTUAL TABLE note USING fts5(text)", "'note' is no table"),
    ],
)
@pytest.mark.parametrize("create", [True, False])
def test_a_file_with_other_tables_or_with_code_is_refused(path: Path, script: str, says: str, create: bool) -> None:
    write(path, "kept")
    other(path, script)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"a diary .*damaged.*{says}"):
        opened(path, create=create, read_only=not create)
    assert path.read_bytes() == before


def test_an_older_file_with_code_is_not_migrated(path: Path) -> None:
    write(path, "kept")
    other(path, f"DROP TABLE note; CREATE VIEW note AS {ENDLESS_QUERY}")
    before = path.read_bytes()
    for read_only in (True, False):
        with pytest.raises(ValueError, match="damaged"):
            opened(path, version=3, migrations=MIGRATIONS, read_only=read_only)
    assert path.read_bytes() == before


def test_tables_of_somebody_else_beside_ours_do_no_harm(path: Path) -> None:
    write(path, "kept")
    other(path, "CREATE TABLE own (x); CREATE VIEW mine AS SELECT * FROM note; CREATE INDEX ours ON note (text)")
    assert notes(path) == ["kept"]


def test_a_damaged_file_is_refused(path: Path) -> None:
    write(path, *(f"{k:01000}" for k in range(50)))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)  # all but the first page, which has the marks
    path.write_bytes(content)
    with (
        opened(path) as connection,
        pytest.raises(ValueError, match=r"a diary in 'a.db', got a damaged file"),
        errors_explained("a.db", "a diary"),
    ):
        connection.execute("SELECT count(*) FROM note NOT INDEXED").fetchall()
    assert path.read_bytes() == content


# Places where no file can be


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place, create, error, says in [
        (tmp_path / "a.db", False, FileNotFoundError, "no such file; check the name"),
        (tmp_path / "file", False, ValueError, "an empty file"),
        (tmp_path / "nowhere" / "a.db", True, FileNotFoundError, "no folder '.*nowhere'"),
        (tmp_path / "file" / "a.db", True, FileNotFoundError, "no folder '.*file'"),
        (tmp_path, True, IsADirectoryError, "the folder '.*'; name a file in it"),
        (Path("/dev/full"), True, ValueError, "'/dev/full', .* not a file"),
    ]:
        with pytest.raises(error, match=f"a diary.*{says}"):
            opened(place, create=create)
    assert os.listdir(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b""
    write(tmp_path / "file", "x")  # An empty file is made into a new one, if that is wanted.
    assert notes(tmp_path / "file") == ["x"]


# Files and folders that are read-only


def test_a_read_only_file_can_be_read_but_not_written_to(open_path: Path, unprivileged: Unprivileged) -> None:
    open_path.chmod(0o444)
    before = open_path.read_bytes()
    with unprivileged(), opened(open_path) as connection:
        assert connection.execute("SELECT text FROM note").fetchall() == [("kept",)]
        with pytest.raises(PermissionError, match="read-only"), errors_explained("a.db", "a diary"):
            connection.execute("INSERT INTO note VALUES ('lost')")
        with pytest.raises(PermissionError, match="read-only"):
            opened(open_path, version=3, migrations=MIGRATIONS)
    assert open_path.read_bytes() == before


def test_what_may_not_be_made_or_used(open_path: Path, unprivileged: Unprivileged) -> None:
    empty, hidden = open_path.with_name("empty.db"), open_path.with_name("hidden.db")
    for place, mode in ((open_path, 0o666), (empty, 0o444), (hidden, 0)):
        place.touch()
        place.chmod(mode)
    before = open_path.read_bytes()
    with unprivileged():
        for place, says in ((empty, "to write a diary .*read-only"), (hidden, "to open a diary")):
            with pytest.raises(PermissionError, match=says):
                opened(place)
        assert empty.stat().st_size == 0
    open_path.parent.chmod(0o555)
    with unprivileged():
        for name in ("a.db", "new.db"):
            with pytest.raises(PermissionError, match=r"to (write|open) a diary"):
                opened(open_path.with_name(name))
    assert sorted(os.listdir(open_path.parent)) == ["a.db", "empty.db", "hidden.db"]
    assert open_path.read_bytes() == before


# Files that others use


def test_a_file_that_stays_locked_is_given_up(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as owner:
        owner.execute("BEGIN EXCLUSIVE")
        with pytest.raises(TimeoutError, match=r"a diary .*locked"):
            opened(path, timeout=0.2)
    write(path, "x")
    with opened(path) as owner, opened(path, timeout=0.2) as connection, transaction(owner):
        owner.execute("INSERT INTO note VALUES ('y')")
        assert connection.execute("SELECT text FROM note").fetchall() == [("x",)]  # readers need not wait
        with pytest.raises(TimeoutError), errors_explained(path, "a diary"), transaction(connection):
            pass
    assert notes(path) == ["x", "y"]


@pytest.mark.parametrize("patient", [True, False])
def test_the_change_to_wal_waits_for_readers(path: Path, patient: bool) -> None:
    write(path, "x")
    other(path, "PRAGMA journal_mode = DELETE")
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM note").fetchall()
        if patient:
            timer = threading.Timer(0.3, reader.execute, ["COMMIT"])
            timer.start()
            with opened(path, timeout=120) as connection:
                assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            timer.join()
        else:
            with pytest.raises(TimeoutError):
                opened(path, timeout=0.2)


# Disks


def test_disks_that_are_full_or_fail_are_said_and_nothing_is_damaged(path: Path) -> None:
    write(path, "kept")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with opened(path) as connection:

        def insert(length: int) -> None:
            with errors_explained("a.db", "a diary"), transaction(connection):
                connection.execute("INSERT INTO note VALUES (?)", ("x" * length,))

        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, limits[1]))
            with pytest.raises(OSError, match=r"a diary in 'a.db', but the disk did not obey"):
                insert(20_000_000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        connection.execute("PRAGMA max_page_count = 5")
        with pytest.raises(OSError, match=r"a diary in 'a.db', but the disk is full"):
            insert(100_000)
        assert not connection.in_transaction
    write(path, "more")
    assert notes(path) == ["kept", "more"]


def test_mistakes_in_programs_are_not_explained_away(path: Path) -> None:
    with opened(path) as connection:
        for statement, error, says in [
            ("SELECT * FROM letter", ValueError, "damaged"),  # Our own statements are right, so that the file is not.
            ("SELECT ink FROM note", ValueError, "damaged"),
            ("SELECT CAST(x'ff' AS TEXT)", ValueError, "damaged"),
            ("SELECT FROM note", sqlite3.OperationalError, "syntax error"),
            ("INSERT INTO note VALUES (NULL)", sqlite3.IntegrityError, "NOT NULL"),
        ]:
            with pytest.raises(error, match=says), errors_explained(path, "a diary"):
                connection.execute(statement).fetchall()
        with pytest.raises(ValueError, match="damaged"), errors_explained(path, "a diary", checked=True):
            connection.execute("INSERT INTO note VALUES (NULL)")  # of values that are right, the file is to blame
        with pytest.raises(ValueError, match="damaged"), errors_explained(path, "a diary"):
            b"\xff".decode()  # as sqlite3 does with the name of what is damaged
    with pytest.raises(sqlite3.ProgrammingError, match="closed"), errors_explained(path, "a diary"):
        connection.execute("SELECT 1")
