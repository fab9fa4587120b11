"""SQLite files: made once, refused when of another kind, and errors that say what to do."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from daedal.storage.sqlite import errors_explained, open_database, transaction

APPLICATION = 77
NOBODY = 65534
SCHEMA = """
CREATE TABLE note (text TEXT NOT NULL DEFAULT 'a;b');
CREATE INDEX note_text ON note (text);
"""


def opened(
    path: str | os.PathLike[str], *, version: int = 1, schema: str = SCHEMA, create: bool = True, timeout: float = 30.0
) -> closing[sqlite3.Connection]:
    return closing(
        open_database(
            path,
            application=APPLICATION,
            version=version,
            schema=schema,
            what="a diary",
            create=create,
            timeout=timeout,
        )
    )


def notes(path: Path) -> list[str]:
    with opened(path, create=False) as connection:
        return [text for (text,) in connection.execute("SELECT text FROM note ORDER BY text")]


def failing_after(text: str, error: BaseException) -> Iterator[tuple[str]]:
    yield (text,)
    raise error


def write(path: Path, *texts: str) -> None:
    with opened(path) as connection, transaction(connection):
        connection.executemany("INSERT INTO note VALUES (?)", [(text,) for text in texts])


@contextmanager
def unprivileged() -> Iterator[None]:
    """Lose the rights of root, for whom nothing is read-only; other users have none to lose."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, which tmp_path is not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder
        folder.chmod(0o700)


# What works


def test_a_new_file_has_its_marks_and_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "a;b #1 %41?.db"
    for create in (True, False, True):
        with opened(path, create=create) as connection:
            assert connection.isolation_level is None
            assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION,)
            assert connection.execute("PRAGMA user_version").fetchone() == (1,)
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert connection.execute("PRAGMA synchronous").fetchone() == (1,)
            names = connection.execute("SELECT name FROM sqlite_master").fetchall()
            assert names == [("note",), ("note_text",)]
    assert path.exists()
    with opened(path) as connection:
        connection.execute("INSERT INTO note DEFAULT VALUES")
    assert notes(path) == ["a;b"]


@pytest.mark.parametrize("name", [":memory:", "file:here.db", "file:here.db?mode=memory"])
def test_names_that_mean_something_to_sqlite_are_names_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with opened(name):
        pass
    assert (tmp_path / name).stat().st_size > 0


def test_an_empty_file_is_made_into_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    write(path, "x")
    assert notes(path) == ["x"]


def test_one_file_made_by_many_at_the_same_moment(tmp_path: Path) -> None:
    together = threading.Barrier(6)

    def make(who: int) -> None:
        for k in range(8):
            together.wait()
            write(tmp_path / f"{k}.db", str(who))

    with ThreadPoolExecutor(6) as pool:
        for _ in pool.map(make, range(6)):
            pass
    for k in range(8):
        assert notes(tmp_path / f"{k}.db") == list("012345")


def test_a_transaction_that_fails_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    write(path, "kept")
    with opened(path) as connection:
        for wrong in (KeyboardInterrupt(), ZeroDivisionError()):
            with pytest.raises(type(wrong)), transaction(connection):
                connection.executemany("INSERT INTO note VALUES (?)", failing_after("lost", wrong))
        with transaction(connection):
            connection.execute("INSERT INTO note VALUES ('more')")
    assert notes(path) == ["kept", "more"]


def test_a_schema_that_fails_leaves_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with pytest.raises(sqlite3.OperationalError, match="syntax error"):
        opened(path, schema=SCHEMA + "CREATE TABLEAU x;")
    write(path, "x")
    assert notes(path) == ["x"]


# Files of other kinds: refused, and left as they are


def foreign(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


@pytest.mark.parametrize("content", [b"x", b"hello", b"x" * 511, b"hello\n" * 1000, bytes(5000), b"SQLite format 3\0"])
def test_what_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "letter.txt"
    path.write_bytes(content)
    for create in (True, False):
        with pytest.raises(ValueError, match=r"^expected a diary in '.*letter.txt', got a file that is not an SQLite"):
            opened(path, create=create)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["letter.txt"]


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE other (x);",
        "PRAGMA application_id = 78; CREATE TABLE note (text);",
        "PRAGMA application_id = 78; VACUUM;",
        "PRAGMA user_version = 1; VACUUM;",
    ],
)
def test_a_database_of_something_else_is_refused(tmp_path: Path, script: str) -> None:
    path = tmp_path / "other.db"
    foreign(path, script)
    before = path.read_bytes()
    assert before
    for create in (True, False):
        with pytest.raises(
            ValueError, match=r"^expected a diary in '.*', got an SQLite database of something else; name"
        ):
            opened(path, create=create)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["other.db"]


@pytest.mark.parametrize(
    ("mine", "said"),
    [(1, "got format 2, made by a newer daedal; upgrade"), (3, "got format 2, made by an older daedal")],
)
def test_another_version_is_refused(tmp_path: Path, mine: int, said: str) -> None:
    path = tmp_path / "a.db"
    opened(path, version=2).thing.close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"^expected a diary of format {mine} in '.*', {said}"):
        opened(path, version=mine)
    assert path.read_bytes() == before


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    write(path, *(f"{k:01000}" for k in range(50)))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)  # all but the first page, which has the marks
    path.write_bytes(content)
    with (
        opened(path) as connection,
        pytest.raises(ValueError, match=r"^expected a diary in 'a.db', got a damaged file"),
        errors_explained("a.db", "a diary"),
    ):
        connection.execute("SELECT count(*) FROM note NOT INDEXED").fetchall()
    assert path.read_bytes() == content


# Places where no file can be


def test_without_create_there_has_to_be_one(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with pytest.raises(FileNotFoundError, match=r"^expected a diary in '.*a.db', got no such file; check the name$"):
        opened(path, create=False)
    assert not path.exists()
    path.touch()
    with pytest.raises(ValueError, match=r"^expected a diary in '.*a.db', got an empty file; name another one$"):
        opened(path, create=False)
    assert path.read_bytes() == b""


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no folder '.*nowhere'; make it or name another one$"):
        opened(tmp_path / "nowhere" / "a.db")
    (tmp_path / "file").touch()
    with pytest.raises(FileNotFoundError, match=r"there is no folder '.*file'"):
        opened(tmp_path / "file" / "a.db")
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(
        IsADirectoryError, match=r"^expected a file for a diary, got the folder '.*'; name a file in it$"
    ):
        opened(tmp_path)


def test_neither_is_a_device() -> None:
    with pytest.raises(ValueError, match=r"^expected a diary in '/dev/full', got something that is not a file; name"):
        opened("/dev/full")


# Files and folders that are read-only


def test_a_read_only_file_can_be_read_but_not_written_to(open_folder: Path) -> None:
    path = open_folder / "a.db"
    write(path, "kept")
    path.chmod(0o444)
    before = path.read_bytes()
    with unprivileged(), opened(path) as connection:
        assert connection.execute("SELECT text FROM note").fetchall() == [("kept",)]
        with (
            pytest.raises(
                PermissionError, match=r"^expected to write a diary in 'a.db', but the file or its folder is"
            ),
            errors_explained("a.db", "a diary"),
            transaction(connection),
        ):
            connection.execute("INSERT INTO note VALUES ('lost')")
    assert path.read_bytes() == before


def test_an_empty_read_only_file_is_refused(open_folder: Path) -> None:
    path = open_folder / "a.db"
    path.touch()
    path.chmod(0o444)
    with (
        unprivileged(),
        pytest.raises(PermissionError, match=r"^expected to write a diary in '.*', but the file or its"),
    ):
        opened(path)
    assert path.read_bytes() == b""


def test_a_file_that_may_not_be_read_is_refused(open_folder: Path) -> None:
    path = open_folder / "a.db"
    write(path, "kept")
    path.chmod(0o000)
    with (
        unprivileged(),
        pytest.raises(PermissionError, match=r"^expected to open a diary in '.*', but the system does not"),
    ):
        opened(path)
    path.chmod(0o600)
    assert notes(path) == ["kept"]


def test_in_a_read_only_folder_no_file_can_be_made_or_used(open_folder: Path) -> None:
    path = open_folder / "a.db"
    write(path, "kept")
    path.chmod(0o666)
    open_folder.chmod(0o555)
    with unprivileged():
        for name in ("a.db", "new.db"):
            with pytest.raises(PermissionError, match=r"^expected to (write|open) a diary in '.*', but"):
                opened(open_folder / name)
    open_folder.chmod(0o777)
    assert os.listdir(open_folder) == ["a.db"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o666
    assert notes(path) == ["kept"]


# Files that others use


def test_a_file_that_stays_locked_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        started = time.monotonic()
        with pytest.raises(TimeoutError, match=r"^expected to use a diary in '.*', but another process kept it locked"):
            opened(path, timeout=0.2)
        assert time.monotonic() - started > 0.15
        other.execute("ROLLBACK")
    write(path, "x")
    with opened(path) as other, opened(path, timeout=0.2) as connection:
        other.execute("BEGIN IMMEDIATE")
        other.execute("INSERT INTO note VALUES ('y')")
        assert connection.execute("SELECT text FROM note").fetchall() == [("x",)]  # readers need not wait
        with (
            pytest.raises(TimeoutError, match=r"try again when that has ended, or allow more time$"),
            errors_explained(path, "a diary"),
            transaction(connection),
        ):
            pass
        other.execute("COMMIT")
    assert notes(path) == ["x", "y"]


@pytest.mark.parametrize("patient", [True, False])
def test_the_change_to_wal_waits_for_readers(tmp_path: Path, patient: bool) -> None:
    path = tmp_path / "a.db"
    write(path, "x")
    foreign(path, "PRAGMA journal_mode = DELETE")
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM note").fetchall()
        if patient:
            timer = threading.Timer(0.3, reader.execute, ["COMMIT"])
            timer.start()
            with opened(path) as connection:
                assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            timer.join()
        else:
            with pytest.raises(TimeoutError, match="kept it locked for longer than the timeout"):
                opened(path, timeout=0.2)


# Disks


def test_a_full_disk_is_said_and_nothing_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    write(path, "kept")
    with opened(path) as connection:
        connection.execute("PRAGMA max_page_count = 5")
        with (
            pytest.raises(
                OSError, match=r"^expected to write a diary in 'a.db', but the disk is full; make room on it"
            ),
            errors_explained("a.db", "a diary"),
            transaction(connection),
        ):
            connection.execute("INSERT INTO note VALUES (?)", ("x" * 100_000,))
        assert not connection.in_transaction
        connection.execute("PRAGMA max_page_count = 1000000")
        with transaction(connection):
            connection.execute("INSERT INTO note VALUES ('more')")
    assert notes(path) == ["kept", "more"]


FAILING = """
import resource, signal, sys
from daedal.storage.sqlite import errors_explained, open_database, transaction
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path = sys.argv[1]
connection = open_database(path, application=77, version=1, schema="", what="a diary")
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
try:
    with errors_explained("a.db", "a diary"), transaction(connection):
        connection.execute("INSERT INTO note VALUES (?)", ("x" * 20_000_000,))
except OSError as error:
    print(type(error).__name__, error)
connection.close()
"""


def test_a_disk_that_fails_is_said_and_nothing_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    write(path, "kept")
    done = subprocess.run([sys.executable, "-c", FAILING, path], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith(
        "OSError expected to use a diary in 'a.db', but the disk did not obey (disk I/O error)"
    )
    assert notes(path) == ["kept"]


@pytest.mark.parametrize("statement", ["SELECT * FROM letter", "SELECT ink FROM note", "SELECT CAST(x'ff' AS TEXT)"])
def test_a_file_that_is_not_as_it_was_made_is_damaged(tmp_path: Path, statement: str) -> None:
    with opened(tmp_path / "a.db") as connection:
        says = "expected a diary in 'a.db', got a damaged file"
        with pytest.raises(ValueError, match=says), errors_explained("a.db", "a diary"):
            connection.execute(statement).fetchall()


def test_mistakes_in_programs_are_not_explained_away(tmp_path: Path) -> None:
    with opened(tmp_path / "a.db") as connection:
        with pytest.raises(sqlite3.OperationalError, match="syntax error"), errors_explained("a.db", "a diary"):
            connection.execute("SELECT FROM note")
        with pytest.raises(sqlite3.IntegrityError, match="NOT NULL"), errors_explained("a.db", "a diary"):
            connection.execute("INSERT INTO note VALUES (NULL)")
    with pytest.raises(sqlite3.ProgrammingError, match="closed"), errors_explained("a.db", "a diary"):
        connection.execute("SELECT 1")
