"""Puts a new file in place of an old one of its kind, whole or not at all: the one way in which daedal writes files."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Protocol

from daedal.storage.kinds import Kind, check_place


class System(Protocol):
    """What replacing a file asks of the system; `os` has it, and tests give one that fails."""

    def fsync(self, fd: int, /) -> None:
        """Put the bytes of an open file on the disk."""

    def link(self, src: Path, dst: Path, /) -> None:
        """Add a second name to a file."""

    def replace(self, src: Path, dst: Path, /) -> None:
        """Rename a file, in place of the one that has the name."""


def previous_path(path: str | os.PathLike[str]) -> Path:
    """Tell where the predecessor of a file is kept."""
    return Path(f"{Path(path)}.previous")


def replace_file(
    path: str | os.PathLike[str],
    write: Callable[[BinaryIO], object],
    *,
    kind: Kind,
    keep_previous: bool = False,
    system: System = os,
) -> None:
    """Write a file, in place of the one of its kind that may be there; anything else stays, and is an OSError.

    At every moment, even if the process is killed or the power fails, `path` is the old file or the new one. The new
    one is on the disk when this returns; after an OSError no draft is left. A link is replaced, and the file that it
    leads to stays. `keep_previous` keeps the old file, with ".previous" after its name.
    """
    target = Path(path)
    for place in (target, previous_path(target)) if keep_previous else (target,):
        check_place(place, kind)
    try:
        _replace(target, write, keep_previous, system)
    except OSError as error:
        sentence = f"cannot write {kind.what} to {path}: {error.strerror or error}; make room or name another place"
        raise restated(error, sentence) from error


def restated(error: OSError, sentence: str) -> OSError:
    """Return an error of the same type and number with another text."""
    new = type(error)(sentence)
    new.errno = error.errno
    return new


def _replace(target: Path, write: Callable[[BinaryIO], object], keep_previous: bool, system: System) -> None:
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    kept = previous_path(draft)
    try:
        with draft.open("xb") as file:  # Not tempfile, whose files are for the owner alone whatever the umask says.
            if target.exists():
                with contextlib.suppress(OSError):  # not every file system has modes
                    draft.chmod(stat.S_IMODE(target.stat().st_mode))  # what was private stays so
            write(file)
            file.flush()
            system.fsync(file.fileno())
        keep = keep_previous and target.exists()
        if keep:
            _second_name(target, kept, system)
        # The target goes first: if it was damaged, its predecessor is needed until there is a whole file in its place.
        system.replace(draft, target)
        if keep:
            system.replace(kept, previous_path(target))
        _sync_folder(target.parent, system)
    finally:
        for leftover in (draft, kept):  # `kept` also stays if target and predecessor were one file of two names.
            with contextlib.suppress(OSError):
                leftover.unlink(missing_ok=True)


def _second_name(target: Path, kept: Path, system: System) -> None:
    try:
        system.link(target, kept)
    except (OSError, NotImplementedError):  # Not every file system has links, nor allows them to everybody.
        with target.open("rb") as old, kept.open("xb") as copy:
            shutil.copyfileobj(old, copy)
            copy.flush()
            system.fsync(copy.fileno())


def _sync_folder(folder: Path, system: System) -> None:
    """Make the new names as durable as the bytes, where the system can."""
    if os.name == "nt":  # Folders cannot be opened there.
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        system.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # Some network file systems know no such thing.
            raise
    finally:
        os.close(handle)
