"""SQLite files that daedal keeps things in: opened, made and checked in one way, with errors that say what to do."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from daedal.storage.kinds import DATABASE_COMPANIONS, Kind, is_device
from daedal.storage.sqlite_schema import oddity, statements

_RETRY_SECONDS = 0.01
_LEAST_BYTES = 512
"""The smallest page, and so the smallest file, of SQLite. It takes a file of one byte for an empty database."""

_NO_DATABASE = "got a file that is not an SQLite database; name another one"
_SIGNS_OF_DAMAGE = (
    "Could not decode to UTF-8", "no such table", "no such column", "malformed database", "unsupported file",
    "cannot modify", "table ", "duplicate column",
)  # fmt: skip
"""What SQLite says of our own, fixed statements only where the file is not as it was made."""


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
    open, and make, the same file at the same moment. A file of another kind, of a newer version, or with other tables
    than it was made with, is refused as it is, unchanged: ValueError. OSError for one that cannot be opened or written.

    `application` marks files of this kind (SQLite's application_id), `version`, from 1 on, is that of the `schema`
    (user_version). `migrations` has, for each older version, the statements that bring a file to the next one: to the
    last one, or not at all. `what` is such a file to the user: "a cache of evaluations". Where `read_only`, neither
    file nor folder need be writable, and an older file is migrated in memory.
    """
    _check_place(Path(path), what, create=create)
    kind = _Kind(path, what, application, version, schema, migrations)
    with errors_explained(path, what):
        # The absolute path, because names such as ":memory:" mean something else to SQLite.
        connection = _connected(Path(path).absolute(), timeout, read_only=read_only)
        try:
            connection.execute("PRAGMA trusted_schema = OFF")  # What a file defines may use no function of ours.
            # Nothing is written, not even the journal mode, before it is known that the file is ours or empty.
            connection.execute("BEGIN")  # one look, which the process that just makes the file cannot come in between
            found = kind.version_of(connection)
            if found:
                kind.check_schema(connection, complete=found == version)
            if not found and not create:
                raise ValueError(f"expected {_where(path, what)}, got an empty file; name another one")
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
        except BaseException as error:
            close_after(connection, error)
            raise
    return connection


def close_after(connection: sqlite3.Connection, error: BaseException | None) -> None:
    """Close a connection; what failed halfway, and is kept by the traceback, would keep SQLite's companions there."""
    if error is not None:
        traceback.clear_frames(error.__traceback__)
    connection.close()


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write everything in the block, or nothing of it.

    The lock is taken at the beginning: whoever reads first and asks for it later may find it taken for good.
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

    path: str | os.PathLike[str]
    what: str
    application: int
    version: int
    schema: str
    migrations: Mapping[int, str]

    def version_of(self, connection: sqlite3.Connection) -> int:
        """Give the version of a file of this kind, 0 for an empty database; refuse what cannot be brought up."""
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if (mark, found, tables) == (0, 0, 0):
            return 0
        if mark != self.application:
            where = _where(self.path, self.what)
            raise ValueError(f"expected {where}, got an SQLite database of something else; name another file")
        if found > self.version or any(old not in self.migrations for old in range(found, self.version)):
            age, advice = ("a newer", "upgrade daedal or name") if found > self.version else ("an older", "name")
            where = _where(self.path, f"{self.what} of format {self.version}")
            raise ValueError(f"expected {where}, got format {found}, made by {age} daedal; {advice} another file")
        return int(found)

    def check_schema(self, connection: sqlite3.Connection, *, complete: bool) -> None:
        """Refuse a file with other tables than it was made with, or with code in it; see `oddity`."""
        if odd := oddity(connection, self.schema, complete=complete):
            raise ValueError(_damaged(_where(self.path, self.what), odd))

    def bring_up(self, connection: sqlite3.Connection) -> None:
        """Make the tables, or migrate them, unless another process did so in the meantime."""
        with transaction(connection):
            found = self.version_of(connection)
            if found:
                self.check_schema(connection, complete=found == self.version)
            scripts = [self.migrations[old] for old in range(found, self.version)] if found else [self.schema]
            for script in scripts:
                for statement in statements(script):
                    connection.execute(statement)
            if found:
                self.check_schema(connection, complete=True)
            connection.execute(f"PRAGMA application_id = {self.application:d}")
            connection.execute(f"PRAGMA user_version = {self.version:d}")


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
        unwritable = _result_code(error) in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
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
            if _result_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)


def _check_place(place: Path, what: str, *, create: bool) -> None:
    """Refuse what SQLite would only call "unable to open database file"."""
    where = _where(place, what)
    if place.is_dir():
        raise IsADirectoryError(f"expected a file for {what}, got the folder {str(place)!r}; name a file in it")
    if is_device(place):
        raise ValueError(f"expected {where}, got something that is not a file; name another one")
    if not place.parent.is_dir():
        raise FileNotFoundError(f"expected {where}, but there is no folder {str(place.parent)!r}; make it first")
    if not place.exists():
        if not create:
            raise FileNotFoundError(f"expected {where}, got no such file; check the name")
    elif 0 < place.stat().st_size < _LEAST_BYTES:
        raise ValueError(f"expected {where}, {_NO_DATABASE}")
    for ending, kind in DATABASE_COMPANIONS.items():
        beside = place.with_name(place.name + ending)
        if _is_foreign(beside, kind):
            raise ValueError(f"expected to make {where}, but SQLite would replace {str(beside)!r}; name another file")


def _is_foreign(beside: Path, kind: Kind | None) -> bool:
    """Whether something that is not SQLite's is where SQLite would write; its own files come and go at any moment."""
    try:
        is_plain = stat.S_ISREG(beside.stat().st_mode)
        return not is_plain or (kind is not None and not kind.owns(beside))
    except FileNotFoundError:
        return False


def _where(path: str | os.PathLike[str], what: str) -> str:
    return f"{what} in {os.fspath(path)!r}"


@contextmanager
def errors_explained(path: str | os.PathLike[str], what: str, *, checked: bool = False) -> Iterator[None]:
    """Turn what SQLite says about the file and its disk into one clear sentence; mistakes in programs pass as they are.

    `checked` says that all values are as they should be, so that a file whose constraints they break is damaged.
    ValueError for a file that is damaged or no SQLite database; TimeoutError, PermissionError or another OSError.
    """
    try:
        yield
    except sqlite3.Error as error:
        explained = _explained(error, _where(path, what), checked=checked)
        if explained is None:
            raise
        raise explained from error
    except UnicodeDecodeError as error:  # of the message in which SQLite names what is damaged
        raise ValueError(_damaged(_where(path, what), error)) from error


def _damaged(where: str, error: object) -> str:
    said = " ".join(str(error).split())
    return f"expected {where}, got a damaged file ({said}); restore a copy or name another one"


def _result_code(error: sqlite3.Error) -> int | None:
    """Give SQLite's primary result code, or None for errors that Python's module found itself."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _explained(error: sqlite3.Error, where: str, *, checked: bool) -> OSError | ValueError | None:
    code = _result_code(error)
    broken = checked and code in (sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH)
    if broken or (code in (None, sqlite3.SQLITE_ERROR) and str(error).startswith(_SIGNS_OF_DAMAGE)):
        code = sqlite3.SQLITE_CORRUPT
    match code:
        case sqlite3.SQLITE_NOTADB:
            return ValueError(f"expected {where}, {_NO_DATABASE}")
        case sqlite3.SQLITE_CORRUPT:
            return ValueError(_damaged(where, error))
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return TimeoutError(
                f"expected to use {where}, but another process kept it locked; try again when that has ended"
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            advice = "make both writable or name another file"
            return PermissionError(f"expected to write {where}, but the file or its folder is read-only; {advice}")
        case sqlite3.SQLITE_CANTOPEN:
            advice = "make the file and its folder readable and writable, or name another file"
            return PermissionError(f"expected to open {where}, but the system does not allow it; {advice}")
        case sqlite3.SQLITE_FULL:
            return OSError(f"expected to write {where}, but the disk is full; make room or name a file elsewhere")
        case sqlite3.SQLITE_IOERR:
            return OSError(f"expected to use {where}, but the disk did not obey ({error}); check it or name another")
    return None
