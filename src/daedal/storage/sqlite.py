"""SQLite files that daedal keeps things in: opened, made and checked in one way, with errors that say what to do."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from daedal.storage.sqlite_errors import NO_DATABASE, errors_explained, result_code

__all__ = ["errors_explained", "open_database", "transaction"]

_RETRY_SECONDS = 0.01
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
        Whether to read alone, which also works where the file or its folder must not be written. An older file is
        migrated in memory, and left as it is.
    timeout
        Seconds to wait for another process that keeps the file locked.
    migrations
        For each older version, the statements that bring a file to the next one. A file is brought to `version` in one
        transaction: to the end, or not at all.

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
    kind = _Kind(_shown(path), application, version, schema, what, migrations)
    with errors_explained(path, what):
        # The absolute path, because names such as ":memory:" mean something else to SQLite.
        connection = _connected(Path(path).absolute(), timeout, read_only=read_only)
        try:
            # Nothing is written, not even the journal mode, before it is known that the file is ours or empty.
            connection.execute("BEGIN")  # one look, which the process that just makes the file cannot come in between
            found = kind.version_of(connection)
            if not found and not create:
                raise ValueError(f"expected {what} in {_shown(path)}, got an empty file; name another one")
            in_memory = read_only and 0 < found < version
            if in_memory:
                connection = _copied(connection)
            else:
                connection.execute("COMMIT")
            if found < version:
                kind.bring_up(connection)
            if in_memory:
                connection.execute("PRAGMA query_only = ON")  # What was written here would be lost.
            elif not read_only:
                _use_wal(connection, timeout)
                connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
    return connection


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


@dataclass(frozen=True)
class _Kind:
    """What a file should be, and how it becomes that."""

    path: str
    application: int
    version: int
    schema: str
    what: str
    migrations: Mapping[int, str]

    def version_of(self, connection: sqlite3.Connection) -> int:
        """Give the version of a file of this kind, 0 for an empty database; refuse what cannot be brought up."""
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if (mark, found, tables) == (0, 0, 0):
            return 0
        if mark != self.application:
            raise ValueError(
                f"expected {self.what} in {self.path}, got an SQLite database of something else; name another file"
            )
        if found > self.version or any(old not in self.migrations for old in range(found, self.version)):
            age, advice = ("a newer", "upgrade daedal or name") if found > self.version else ("an older", "name")
            raise ValueError(
                f"expected {self.what} of format {self.version} in {self.path}, got format {found}, made by {age} "
                f"daedal; {advice} another file"
            )
        return int(found)

    def bring_up(self, connection: sqlite3.Connection) -> None:
        """Make the tables, or migrate them, unless another process did so in the meantime."""
        with transaction(connection):
            found = self.version_of(connection)
            scripts = [self.migrations[old] for old in range(found, self.version)] if found else [self.schema]
            for script in scripts:
                for statement in _statements(script):  # executescript would end the transaction first
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {self.application:d}")
            connection.execute(f"PRAGMA user_version = {self.version:d}")


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for part in script.split(";"):
        statement += part + ";"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement:  # Something is open in it, which SQLite can tell better.
        yield statement


def _connected(path: Path, timeout: float, *, read_only: bool) -> sqlite3.Connection:
    """Connect to a file; where its folder must not be written, SQLite can only read what it takes for unchangeable."""
    own = {"effective_ids": True} if os.access in os.supports_effective_ids else {}
    writable = os.access(path, os.W_OK, **own) and os.access(path.parent, os.W_OK, **own)
    if not read_only or writable:  # a reader who may write also tidies up behind the last writer
        return sqlite3.connect(path, timeout=timeout, isolation_level=None)
    try:
        return _reader(f"{path.as_uri()}?mode=ro", timeout)
    except sqlite3.OperationalError as error:
        journal = path.with_name(path.name + "-wal")  # has what the file has not, and immutable leaves out
        unwritable = result_code(error) in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
        if not unwritable or (journal.exists() and journal.stat().st_size):
            raise
    return _reader(f"{path.as_uri()}?mode=ro&immutable=1", timeout)


def _reader(uri: str, timeout: float) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, timeout=timeout, isolation_level=None, uri=True)
    try:
        connection.execute("PRAGMA schema_version").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _copied(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Copy a database to memory, and close its file."""
    copy = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.backup(copy)
    except BaseException:
        copy.close()
        raise
    connection.close()
    return copy


def _use_wal(connection: sqlite3.Connection, timeout: float) -> None:
    """Let readers and a writer work at the same time, where the file system can."""
    deadline = time.monotonic() + timeout
    while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return  # some file systems cannot, and SQLite stays with what it had
        except sqlite3.OperationalError as error:
            # Two that change the mode at once would wait for each other for ever, so SQLite does not wait at all here.
            if result_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)


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
        raise ValueError(f"expected {what} in {_shown(path)}, {NO_DATABASE}")


def _shown(path: str | os.PathLike[str]) -> str:
    return repr(os.fspath(path))
