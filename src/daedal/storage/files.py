"""Files that daedal reads and writes whole.

A file is replaced by one of its own kind and by nothing else, and at every moment the old or the new one is complete.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

from daedal.settings.checks import readable_bytes

LARGEST = 2**30
"""Maximum size of a text file in bytes."""

_LOOKED_AT = 65_536  # bytes at the beginning and at the end of a file that tell its kind
_COMPANIONS = ("", "-wal", "-journal", "-shm")  # endings of the files that belong to one of SQLite
_PIECE = 2**20


@dataclass(frozen=True)
class Kind:
    """A kind of file, and how to recognize it.

    Attributes
    ----------
    what
        Such a file in messages: "a report".
    front
        Its beginning.
    end
        A part of its last bytes, for formats whose beginning says nothing.
    """

    what: str
    front: re.Pattern[bytes]
    end: re.Pattern[bytes] | None = None

    def owns(self, place: Path) -> bool:
        """Return whether a file is empty or of this kind."""
        with place.open("rb") as file:
            front = file.read(_LOOKED_AT)
            if not front:
                return True
            if self.end is None or not self.front.match(front):
                return bool(self.front.match(front))
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LOOKED_AT))
            return bool(self.end.search(file.read(_LOOKED_AT)))


# ---------------------------------------------------------------- writing


def check_place(path: str | os.PathLike[str], kind: Kind) -> None:
    """Refuse a place that a file of a kind cannot be written to, or where it would destroy something else."""
    place, folder = os.path.abspath(path), os.path.dirname(os.path.abspath(path))
    if os.path.isdir(place):
        raise IsADirectoryError(f"cannot write {kind.what} to {path}, which is a folder; name a file in it")
    if os.path.islink(place) and not os.path.exists(place):
        raise OSError(f"cannot write {kind.what} to {path}, a link that leads nowhere; name another file")
    if place.startswith(("/dev/", "/proc/")) or (os.path.exists(place) and not os.path.isfile(place)):
        raise OSError(f"cannot write {kind.what} to {path}, which is not a plain file; name another one")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"cannot write {kind.what} to {path}: there is no folder {folder}; make it first")
    if not os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(f"cannot write {kind.what} to {path}: Permission denied in {folder}; name another place")
    if os.path.exists(place) and not kind.owns(Path(place)):
        raise FileExistsError(
            f"cannot write {kind.what} to {path}: it holds something else, which stays as it is; name another file"
        )


def check_apart(named: Mapping[str, str | os.PathLike[str] | None]) -> None:
    """Refuse two options that name one file, also through a link, or as a file that belongs to the other's."""
    given = [(option, os.fspath(path)) for option, path in named.items() if path is not None]
    for index, (option, path) in enumerate(given):
        for other, second in given[:index]:
            if any(_is_same(path + ending, second) or _is_same(path, second + ending) for ending in _COMPANIONS):
                raise ValueError(f"{other} and {option} name the same file ({second} and {path}); name two files")


def _is_same(one: str, other: str) -> bool:
    with contextlib.suppress(OSError):
        if os.path.samefile(one, other):  # two names of one file
            return True
    return os.path.realpath(one) == os.path.realpath(other)


def replace_file(path: str | os.PathLike[str], write: Callable[[BinaryIO], object], *, kind: Kind) -> None:
    """Write a file, which replaces one of its own kind; anything else stays, and is an OSError.

    At every moment, even if the process is killed or the power fails, `path` is the old file or the new one. The new
    one is on the disk when this returns. After an OSError no draft is left. A link is replaced, but not its target.
    """
    check_place(path, kind)
    target = Path(path)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with draft.open("xb") as file:  # not `tempfile`, whose files only their owner may read, whatever the umask says
            if target.exists():
                with contextlib.suppress(OSError):  # some file systems have no modes
                    draft.chmod(stat.S_IMODE(target.stat().st_mode))  # private files stay private
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
        _sync_folder(target.parent)
    except OSError as error:
        sentence = f"cannot write {kind.what} to {path}: {error.strerror or error}; make room or name another place"
        raise restated(error, sentence) from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Put the new name on the disk, where the system can."""
    if os.name == "nt":  # folders cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot do it
            raise
    finally:
        os.close(handle)


def restated(error: OSError, sentence: str) -> OSError:
    """Return an error of the same kind and number with another text."""
    new = type(error)(sentence)
    new.errno = error.errno
    return new


# ---------------------------------------------------------------- reading


def read_plain_file(path: str | os.PathLike[str], what: str, *, most: int = LARGEST) -> bytes:
    """Read a file; refuse devices and pipes, which may never end, and files that are too large.

    `what` is the file in messages: "an NK file". FileNotFoundError if there is none, ValueError if it cannot be read.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _RefusedError(f"cannot read {what}: {path} is not a plain file; name a file")
        with Path(path).open("rb") as file:
            return _read_pieces(file, path, what, most)
    except FileNotFoundError as error:
        raise restated(error, f"cannot read {what}: found nothing at {path}; check the name") from error
    except (OSError, ValueError) as error:  # no path can contain a byte 0
        if isinstance(error, _RefusedError):
            raise
        raise ValueError(f"cannot read {what} at {path}: {getattr(error, 'strerror', error)}") from error


def read_text_input(path: str | os.PathLike[str], what: str, *, most: int = LARGEST) -> str:
    """Read a text file, or standard input if the path is "-"."""
    if os.fspath(path) != "-":
        data = read_plain_file(path, what, most=most)
    elif sys.stdin is None:
        raise ValueError(f"cannot read {what}: standard input is closed; name a file")
    else:
        data = _read_pieces(sys.stdin.buffer, "standard input", what, most)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"cannot read {what}: {path} is not text ({error})") from error


class _RefusedError(ValueError):
    """The error for a file that can be read, but is not."""


def _read_pieces(file: IO[bytes], name: object, what: str, most: int) -> bytes:
    """Read a file piece by piece, because the size that it has need not be the size that the system says."""
    data = bytearray()
    while len(data) <= most and (piece := file.read(_PIECE)):
        data += piece
    if len(data) > most:
        raise _RefusedError(f"{name} is too large for {what}; the maximum is {readable_bytes(most)}")
    return bytes(data)
