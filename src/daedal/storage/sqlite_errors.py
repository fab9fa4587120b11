"""What SQLite says about a file and its disk, in words that say what to do."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

NO_DATABASE = "got a file that is not an SQLite database; name another one"

_SIGNS_OF_DAMAGE = (
    "Could not decode to UTF-8",
    "no such table",
    "no such column",
    "malformed database",
    "unsupported file",
)
"""What SQLite says of our own, fixed statements only where the file is not as it was made."""


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
    >>> import pathlib, tempfile
    >>> from contextlib import closing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = pathlib.Path(folder) / "letter.txt"
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
        explained = _explained(error, repr(os.fspath(path)), what)
        if explained is None:
            raise
        raise explained from error


def result_code(error: sqlite3.Error) -> int | None:
    """Give SQLite's primary result code, or None for errors that Python's module found itself."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _explained(error: sqlite3.Error, path: str, what: str) -> OSError | ValueError | None:
    code = result_code(error)
    if code in (None, sqlite3.SQLITE_ERROR) and str(error).startswith(_SIGNS_OF_DAMAGE):
        code = sqlite3.SQLITE_CORRUPT
    match code:
        case sqlite3.SQLITE_NOTADB:
            return ValueError(f"expected {what} in {path}, {NO_DATABASE}")
        case sqlite3.SQLITE_CORRUPT:
            return ValueError(
                f"expected {what} in {path}, got a damaged file ({error}); restore a copy or name another one"
            )
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
