"""Puts a new file in place of an old one, whole or not at all, and keeps the old one as its predecessor."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
from pathlib import Path


def previous_path(path: str | os.PathLike[str]) -> Path:
    """Tell where the predecessor of a container is kept.

    Examples
    --------
    >>> previous_path("run.ckpt").name
    'run.ckpt.previous'
    """
    return Path(f"{Path(path)}.previous")


def replace_file(target: Path, pieces: list[bytes | memoryview]) -> None:
    """Put a new file in place of the target, and the target in place of its predecessor."""
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    kept = previous_path(draft)
    try:
        with draft.open("xb") as file:  # Not tempfile, whose files are for the owner alone whatever the umask says.
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        had_one = target.exists()
        if had_one:
            _second_name(target, kept)
        # The target goes first: if it was damaged, its predecessor is needed until there is a whole file in its place.
        os.replace(draft, target)
        if had_one:
            os.replace(kept, previous_path(target))
        _sync_folder(target.parent)
    finally:
        for leftover in (draft, kept):  # `kept` also stays if target and predecessor were one file of two names.
            with contextlib.suppress(OSError):
                leftover.unlink(missing_ok=True)


def _second_name(target: Path, kept: Path) -> None:
    try:
        os.link(target, kept)
    except (OSError, NotImplementedError):  # Not every file system has links, nor allows them to everybody.
        with target.open("rb") as old, kept.open("xb") as copy:
            shutil.copyfileobj(old, copy)
            copy.flush()
            os.fsync(copy.fileno())


def _sync_folder(folder: Path) -> None:
    """Make the new names as durable as the bytes, where the system can."""
    if os.name == "nt":  # Folders cannot be opened there.
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # Some network file systems know no such thing.
            raise
    finally:
        os.close(handle)
