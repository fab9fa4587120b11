"""One study at a time for each store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout


@contextmanager
def store_locked(path: Path) -> Iterator[None]:
    """Keep a second study from doing the same work for the same store at the same time.

    A file beside the store is locked, which ends with the process, however it ends.
    """
    path = Path(os.path.realpath(path))  # whatever name it goes by; resolve refuses links in a circle
    beside = path.with_name(path.name + ".lock")
    if os.path.lexists(beside) and not (beside.is_file() and not beside.stat().st_size):  # it would be emptied
        raise ValueError(f"expected no file, or an empty one, at {beside}, the lock of the store; move it away")
    lock = FileLock(beside)
    try:
        lock.acquire(timeout=0)
        if not beside.exists():  # whoever held it has just removed it
            lock.release()
            raise Timeout(str(beside))
    except Timeout as error:
        raise ValueError(f"another study is running with {path}; wait for its end, or name another store") from error
    except PermissionError as error:
        raise PermissionError(
            f"expected to write '{path}', but the file or its folder is read-only; make both writable or name another"
        ) from error
    try:
        yield
    finally:
        beside.unlink(missing_ok=True)  # while it is still ours
        lock.release()
