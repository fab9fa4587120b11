"""SQLite files that daedal keeps things in: opened, made and checked in one way, with errors that say what to do."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

_RETRY_SECONDS = 0.01
_SIGNS_OF_DAMAGE = (
    "Could not decode to UTF-8",
    "no such table",
    "no such column",
    "malformed database",
    "unsupported file",
)
"""What SQLite says of our own, fixed statements only where the file is not as it was made."""

_LEAST_BYTES = 512
"""The smallest page, and so the smallest file, of SQLite. It takes a file of one byte for an empty database."""


def open_database(
    path: str | os.PathLike[str],
    *,
    application: int,
    version: int,
    schema: str,
    what: str,
    create: bool = True,
    read_only: bool = False,
    timeout: float = 30.0,
    migrations: Mapping[int, str] = MappingProxyType({}),
) -> sqlite3.Connection:
    """Open an SQLite file of one kind; make it first if it is missing or empty.

    The connection is in autocommit mode: every transaction is an explicit one, see `transaction`. Several processes may
    open, and make, the same file at the same moment. A file of another kind is refused as it is, unchanged.

    Parameters
    ----------
    path
        The file; its folder has to exist.
    application
        The number that marks files of this kind (SQLite's application_id), 1 to 2^31 - 1.
    version
        The version of the schema (SQLite's user_version), from 1 on. A file of a newer version is refused, and one of
        an older version that has no migration.
    schema
        The statements that make the tables, each with its semicolon.
    what
        What such a file is, with its article, for error messages: "a cache of evaluations".
    create
        Whether a missing or empty file is made into a new one; otherwise it is an error.
    read_only
        Whether to read alone, which also works where the file or its folder must not be written.
    timeout
        Seconds to wait for another process that keeps the file locked.
    migrations
        For each older version, the statements that bring a file to the next one, all in one transaction. Where it is
        opened to be read only, that is done with a copy in memory.

    Raises
    ------
    ValueError
        The file is no such database, or one of another version.
    OSError
        The file cannot be opened or written to: a FileNotFoundError, IsADirectoryError, PermissionError, or, if another
        process kept it locked, a TimeoutError.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     notes = open_database(
    ...         Path(folder) / "notes.db", application=77, version=1, schema="CREATE TABLE note (text);", what="a diary"
    ...     )
    ...     with transaction(notes):
    ...         _ = notes.execute("INSERT INTO note VALUES ('rain')")
    ...     notes.execute("SELECT text FROM note").fetchall()
    ...     notes.close()
    [('rain',)]
    """
    _check_place(path, what, create=create)
    with errors_explained(path, what):
        # The absolute path, because names such as ":memory:" mean something else to SQLite.
        connection = _connected(Path(path).absolute(), timeout, read_only=read_only)
        try:
            # Nothing is written, not even the journal mode, before it is known that the file is ours or empty.
            connection.execute("BEGIN")  # one look, which the process that just makes the file cannot come in between
            found = _version(connection, path, application, version, what, migrations)
            connection.execute("COMMIT")
            if not found and not create:
                raise ValueError(f"expected {what} in {_shown(path)}, got an empty file; name another one")
            in_memory = read_only and 0 < found < version
            if in_memory:
                connection = _copied(connection)
            if found < version:
                _bring_up(connection, path, application, version, schema, what, migrations)
            if not read_only:
                _use_wal(connection, timeout)
                connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def errors_explained(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Turn what SQLite says about the file and its disk into one clear sentence; mistakes in programs pass as they are.

    Parameters
    ----------
    path
        The file.
    what
        What it is, with its article: "a cache of evaluations".

    Raises
    ------
    ValueError
        The file is not an SQLite database, or a damaged one.
    OSError
        The file is locked (TimeoutError), read-only (PermissionError), cannot be opened, or the disk is full or fails.

    Examples
    --------
    >>> import tempfile
    >>> from contextlib import closing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = Path(folder) / "letter.txt"
    ...     _ = text.write_text("Dear Ariadne, the thread is on the table. " * 20)
    ...     with closing(sqlite3.connect(text)) as connection, errors_explained("letter.txt", "a diary"):
    ...         connection.execute("SELECT * FROM note")
    Traceback (most recent call last):
    ...
    ValueError: expected a diary in 'letter.txt', got a file that is not an SQLite database; name another one
    """
    try:
        yield
    except sqlite3.Error as error:
        explained = _explained(error, _shown(path), what)
        if explained is None:
            raise
        raise explained from error


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write everything in the block, or nothing of it.

    The lock is taken at the beginning: whoever reads first and asks for it later may find it taken for good.

    Examples
    --------
    >>> from contextlib import closing
    >>> with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
    ...     with transaction(connection):
    ...         _ = connection.execute("CREATE TABLE note (text)")
    ...     connection.execute("SELECT name FROM sqlite_master").fetchall()
    [('note',)]
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # a full disk ends the transaction by itself
            connection.execute("ROLLBACK")
        raise


def _connected(path: Path, timeout: float, *, read_only: bool) -> sqlite3.Connection:
    """Connect to a file; where its folder must not be written, SQLite can only read what it takes for unchangeable."""
    own = {"effective_ids": True} if os.access in os.supports_effective_ids else {}
    writable = os.access(path, os.W_OK, **own) and os.access(path.parent, os.W_OK, **own)
    if not read_only or writable:  # a reader who may write also tidies up behind the last writer
        return sqlite3.connect(path, timeout=timeout, isolation_level=None)
    for mode in ("mode=ro", "mode=ro&immutable=1"):
        connection = sqlite3.connect(f"{path.as_uri()}?{mode}", timeout=timeout, isolation_level=None, uri=True)
        try:
            connection.execute("PRAGMA schema_version").fetchone()
        except sqlite3.OperationalError as error:
            connection.close()
            unwritable = _code(error) in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
            journal = path.with_name(path.name + "-wal")  # has what the file has not, and immutable leaves out
            if not unwritable or "immutable" in mode or (journal.exists() and journal.stat().st_size):
                raise
        except BaseException:
            connection.close()
            raise
        else:
            break
    return connection


def _shown(path: str | os.PathLike[str]) -> str:
    return repr(os.fspath(path))


def _check_place(path: str | os.PathLike[str], what: str, *, create: bool) -> None:
    """Refuse what SQLite would only call "unable to open database file"."""
    place = Path(path)
    if place.is_dir():
        raise IsADirectoryError(f"expected a file for {what}, got the folder {_shown(path)}; name a file in it")
    if not place.parent.is_dir():
        raise FileNotFoundError(
            f"expected an existing folder for {what}, got {_shown(path)}, and there is no folder "
            f"{_shown(place.parent)}; make it or name another one"
        )
    if not place.exists():
        if not create:
            raise FileNotFoundError(f"expected {what} in {_shown(path)}, got no such file; check the name")
    elif not place.is_file():
        raise ValueError(f"expected {what} in {_shown(path)}, got something that is not a file; name another one")
    elif 0 < place.stat().st_size < _LEAST_BYTES:
        raise ValueError(_no_database(_shown(path), what))


def _copied(connection: sqlite3.Connection) -> sqlite3.Connection:
    copy = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.backup(copy)
    except BaseException:
        copy.close()
        raise
    connection.close()
    return copy


def _version(
    connection: sqlite3.Connection,
    path: str | os.PathLike[str],
    application: int,
    version: int,
    what: str,
    migrations: Mapping[int, str],
) -> int:
    """Give the version of a file of this kind, 0 for an empty one; refuse what cannot be brought up."""
    (mark,) = connection.execute("PRAGMA application_id").fetchone()
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if (mark, found, tables) == (0, 0, 0):
        return 0
    if mark != application:
        raise ValueError(
            f"expected {what} in {_shown(path)}, got an SQLite database of something else; name another file"
        )
    if found > version or not migrations.keys() >= set(range(found, version)):
        age, advice = ("a newer", "upgrade daedal or name") if found > version else ("an older", "name")
        raise ValueError(
            f"expected {what} of format {version} in {_shown(path)}, got format {found}, made by {age} daedal; "
            f"{advice} another file"
        )
    return int(found)


def _bring_up(
    connection: sqlite3.Connection,
    path: str | os.PathLike[str],
    application: int,
    version: int,
    schema: str,
    what: str,
    migrations: Mapping[int, str],
) -> None:
    """Make the tables, or migrate them, unless another process did so in the meantime."""
    with transaction(connection):
        found = _version(connection, path, application, version, what, migrations)
        for script in [migrations[old] for old in range(found, version)] if found else [schema]:
            for statement in _statements(script):  # executescript would end the transaction first
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {application:d}")
        connection.execute(f"PRAGMA user_version = {version:d}")


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for part in script.split(";")[:-1]:
        statement += part + ";"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _use_wal(connection: sqlite3.Connection, timeout: float) -> None:
    """Let readers and a writer work at the same time, where the file system can."""
    deadline = time.monotonic() + timeout
    while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return  # some file systems cannot, and SQLite stays with what it had
        except sqlite3.OperationalError as error:
            # Two that change the mode at once would wait for each other for ever, so SQLite does not wait at all here.
            if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)


def _no_database(path: str, what: str) -> str:
    return f"expected {what} in {path}, got a file that is not an SQLite database; name another one"


def _damaged(error: sqlite3.Error, path: str, what: str) -> str:
    return f"expected {what} in {path}, got a damaged file ({error}); restore a copy or name another one"


def _code(error: sqlite3.Error) -> int | None:
    """Give SQLite's primary result code, or None for errors that Python's module found itself."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _explained(error: sqlite3.Error, path: str, what: str) -> OSError | ValueError | None:
    if _code(error) in (None, sqlite3.SQLITE_ERROR) and str(error).startswith(_SIGNS_OF_DAMAGE):
        return ValueError(_damaged(error, path, what))
    match _code(error):
        case sqlite3.SQLITE_NOTADB:
            return ValueError(_no_database(path, what))
        case sqlite3.SQLITE_CORRUPT:
            return ValueError(_damaged(error, path, what))
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return TimeoutError(
                f"expected to use {what} in {path}, but another process kept it locked for longer than the timeout; "
                "try again when that has ended, or allow more time"
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return PermissionError(
                f"expected to write {what} in {path}, but the file or its folder is read-only; "
                "make both writable or name another file"
            )
        case sqlite3.SQLITE_CANTOPEN:
            return PermissionError(
                f"expected to open {what} in {path}, but the system does not allow it; "
                "make the file and its folder readable and writable, or name another file"
            )
        case sqlite3.SQLITE_FULL:
            return OSError(
                f"expected to write {what} in {path}, but the disk is full; make room on it or name a file elsewhere"
            )
        case sqlite3.SQLITE_IOERR:
            return OSError(
                f"expected to use {what} in {path}, but the disk did not obey ({error}); "
                "check it, or name a file elsewhere"
            )
    return None
