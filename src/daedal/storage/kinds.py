"""Kinds of files that daedal writes: a file that is there is replaced by one of its own kind, and by nothing else."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_LOOKED_AT = 65_536  # bytes at the beginning and at the end of a file that tell what it is


@dataclass(frozen=True)
class Kind:
    """A kind of file, and how one is known.

    Attributes
    ----------
    what
        Such a file to the user, with its article: "a checkpoint".
    front
        How it begins.
    end
        What is near its end, for a format that has nothing to say in front.
    """

    what: str
    front: re.Pattern[bytes]
    end: re.Pattern[bytes] | None = None

    def owns(self, place: Path) -> bool:
        """Whether a file is of this kind. An empty file counts as one."""
        with place.open("rb") as file:
            front = file.read(_LOOKED_AT)
            if not front:
                return True
            if self.end is None or not self.front.match(front):
                return bool(self.front.match(front))
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LOOKED_AT))
            return bool(self.end.search(file.read(_LOOKED_AT)))


_COMPANIONS = ("", ".previous", ".lock", "-wal", "-journal", "-shm")


def is_device(path: str | os.PathLike[str]) -> bool:
    """Whether a path names a device, a pipe, or what stands for one, such as /dev/stdout: whatever is behind it now."""
    place = os.path.abspath(path)
    return place.startswith(("/dev/", "/proc/")) or (os.path.exists(place) and not os.path.isfile(place))


def check_place(path: str | os.PathLike[str], kind: Kind) -> None:
    """Refuse a place that a file of a kind cannot be written to, or where it would destroy something else."""
    place, folder = Path(path), os.path.dirname(os.path.abspath(path))
    wanted = f"cannot write {kind.what}"
    if os.path.isdir(place):
        raise IsADirectoryError(f"{wanted} to {path}, which is a folder; name a file in it")
    if os.path.islink(place) and not os.path.exists(place):
        raise OSError(f"{wanted} to {path}, a link that leads nowhere; name another file")
    if is_device(place):  # which must not be replaced
        raise OSError(f"{wanted} to {path}, which is not a plain file; name another one")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"cannot write {kind.what} to {path}: there is no folder {folder}; make it first")
    if not os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(f"cannot write {kind.what} to {path}: Permission denied in {folder}; name another place")
    if os.path.exists(place) and not kind.owns(place):
        raise FileExistsError(
            f"cannot write {kind.what} to {path}: it holds something else, which stays as it is; name another file"
        )


def check_apart(named: Mapping[str, str | os.PathLike[str] | None]) -> None:
    """Refuse two options that name one file, be it through a link or as what belongs to the other's file."""
    given = [(option, os.fspath(path)) for option, path in named.items() if path is not None]
    for index, (option, path) in enumerate(given):
        for other, second in given[:index]:
            if any(_is_same(*pair) for pair in _pairs(path, second)):
                raise ValueError(f"{other} and {option} name the same file ({second} and {path}); name two files")


def _pairs(path: str, other: str) -> Iterator[tuple[str, str]]:
    yield from ((path + ending, other) for ending in _COMPANIONS)
    yield from ((path, other + ending) for ending in _COMPANIONS)


def _is_same(one: str, other: str) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(one, other)  # two names of one file
    except OSError:
        return False
