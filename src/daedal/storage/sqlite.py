"""SQLite files of daedal: run files and stores of studies are opened, checked and locked in the same way."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from daedal.settings.checks import printable

WAIT_SECONDS = 2.0
"""How long to wait for a commit of another process, which takes milliseconds."""

_LOCK_SECONDS = 0.2
_SMALLEST = 512  # bytes of the smallest database; SQLite takes a file of one byte for an empty one
_COMPANIONS = {"-journal": b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", "-wal": b"\x37\x7f\x06"}  # how SQLite's files begin


@dataclass(frozen=True)
class Format:
    """A kind of SQLite file.

    Attributes
    ----------
    what
        Such a file in messages: "a run of daedal".
    application, version
        SQLite's application_id and user_version.
    tables
        The statements that make the tables.
    """

    what: str
    application: int
    version: int
    tables: tuple[str, ...]

    def connect(self, path: str | os.PathLike[str]) -> sqlite3.Connection:
        """Connect to a file, which may be new, but leave alone what SQLite would take for its own.

        The file is not opened to look into it, because closing it would end all locks of this process.
        """
        place = os.path.realpath(path)
        if os.path.exists(place) and (not os.path.isfile(place) or 0 < os.path.getsize(place) < _SMALLEST):
            raise ValueError(f"{path} is not {self.what}; name another file")
        if not os.path.isdir(os.path.dirname(place)):
            raise FileNotFoundError(f"no such folder: {os.path.dirname(place)}")
        for ending, magic in _COMPANIONS.items():
            with suppress(FileNotFoundError), open(place + ending, "rb") as file:
                if (front := file.read(len(magic))) != magic and any(front):
                    raise ValueError(f"SQLite would overwrite {path}{ending}; name another file")
        with self.explained(path):
            return sqlite3.connect(place, isolation_level=None, timeout=_LOCK_SECONDS)

    def open_reader(self, path: str | os.PathLike[str]) -> sqlite3.Connection:
        """Open a file to read it, also while another process writes it."""
        if not os.path.exists(path):
            raise FileNotFoundError(f"no such file: {path}")
        connection = self.connect(path)
        try:
            with self.explained(path):
                connection.execute(f"PRAGMA busy_timeout = {1000 * WAIT_SECONDS:.0f}")
                connection.execute("PRAGMA query_only = ON")
                self.check(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection

    def create(self, connection: sqlite3.Connection) -> None:
        """Make the tables in an empty database."""
        for table in self.tables:
            connection.execute(table)
        connection.execute(f"PRAGMA application_id = {self.application:d}")
        connection.execute(f"PRAGMA user_version = {self.version:d}")

    def check(
        self, connection: sqlite3.Connection, path: str | os.PathLike[str], *, may_be_empty: bool = False
    ) -> bool:
        """Return whether a file has the tables of this format; refuse any other one, and one with code in it."""
        ((application,),) = connection.execute("PRAGMA application_id").fetchall()
        ((version,),) = connection.execute("PRAGMA user_version").fetchall()
        found = connection.execute("SELECT type, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        if may_be_empty and not (application or version or found):
            return False
        if application != self.application:
            raise ValueError(f"{path} is not {self.what}; name another file")
        if version > self.version:
            raise ValueError(f"{path} was written by a newer version of daedal; upgrade daedal")
        tables_differ = bool({*self.tables} - {sql for _, sql in found})
        if version < 1 or tables_differ or {kind for kind, _ in found} & {"trigger", "view"}:
            raise damaged(path, "it has other tables than it was made with")
        return True

    @contextmanager
    def explained(self, path: str | os.PathLike[str]) -> Iterator[None]:
        """Say in one sentence what is wrong with a file or its disk."""
        try:
            yield
        except (UnicodeDecodeError, OverflowError) as error:  # in what SQLite says; of a number that no run gives
            raise damaged(path, error) from error
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            if code is None and not str(error).startswith("Could not decode"):
                raise  # a mistake in a program
            if code == sqlite3.SQLITE_READONLY_DBMOVED:
                raise OSError(f"{path} was moved or deleted while it was written") from error
            match result_code(error):
                case sqlite3.SQLITE_NOTADB:
                    raise ValueError(f"{path} is not {self.what}; name another file") from error
                case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
                    raise TimeoutError(f"{path} is locked by another process") from error
                case sqlite3.SQLITE_FULL:
                    raise OSError(f"cannot write {path}: the disk is full") from error
                case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
                    raise PermissionError(f"cannot write {path}: the file or its folder is read-only") from error
                case sqlite3.SQLITE_CANTOPEN:
                    raise PermissionError(f"cannot open {path}: permission denied") from error
                case sqlite3.SQLITE_IOERR:
                    raise OSError(f"cannot use {path}: {error}") from error
            raise damaged(path, error) from error


def take_lock(connection: sqlite3.Connection, path: str | os.PathLike[str]) -> None:
    """Take the lock of the only writer, which ends with the process.

    A writer lets go of it for an instant after each commit. If it was taken in such an instant, the writer has it back
    before the second attempt.
    """
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
        time.sleep(0.005)
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if result_code(error) != sqlite3.SQLITE_BUSY:
            raise
        raise ValueError(f"{path} is being written by another process; wait until it ends") from error


def damaged(path: str | os.PathLike[str], error: object) -> ValueError:
    """Return the error for a file that is damaged."""
    return ValueError(f"{path} is damaged ({printable(str(error))[:200]})")


def result_code(error: BaseException) -> int | None:
    """Return SQLite's primary result code; None for errors that Python's module found."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
