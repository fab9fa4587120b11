"""Arrays in a .npz whose archive comment is the SHA-256, in hexadecimal digits, of all bytes before it."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from daedal.storage.npy import npy_pieces, npy_size, read_npy

MALFORMED = (ValueError, zipfile.BadZipFile, EOFError, NotImplementedError, OverflowError)
"""What reading raises for bytes that `write_npz` would not have written."""

FIRST_NAME_AT = 30
"""Where the name of the first member stands in the file."""

_SEAL = 64  # digits of a SHA-256
_END = 22  # bytes of an archive's end record, which the comment follows
_ENTRY = b"PK\1\2"  # how a member's entry in the directory of an archive begins
_ENTRY_MEMORY = 1000
_FLAGS = 0x808  # sizes behind the data, since they are written as a stream; names in UTF-8
_LONGEST_NAME = 65_535
_ODD = re.compile("[%\0\\\\\ud800-\udfff]")
_ESCAPED = re.compile("%([0-9a-f]{4})")


class _Sealing:
    """Passes bytes on to a file, and puts a checksum of them in place of the last ones."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self._last = b""

    def write(self, data: bytes | memoryview) -> int:
        held = self._last + data
        passed, self._last = held[:-_SEAL], held[-_SEAL:]
        self._digest.update(passed)
        self._file.write(passed)
        return len(data)

    def flush(self) -> None:
        """Do nothing: what is held stays held."""

    def seal(self) -> None:
        self._file.write(self._digest.hexdigest().encode("ascii"))


def write_npz(file: BinaryIO, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays, in order and as a stream, and the checksum."""
    sealing = _Sealing(file)
    with zipfile.ZipFile(sealing, "w") as archive:  # type: ignore[call-overload]  # It asks for no more than to write.
        for name, array in arrays.items():
            info = zipfile.ZipInfo(_member_name(name))
            info.file_size = npy_size(array)  # tells it whether 32 bits will do
            with archive.open(info, "w") as member:
                for piece in npy_pieces(array):
                    member.write(piece)
        archive.comment = bytes(_SEAL)  # the place of the checksum
    sealing.seal()


def check_name(name: str) -> None:
    """Refuse a name that an archive cannot hold."""
    if not isinstance(name, str):
        raise TypeError(f"expected the names of arrays as str, got {type(name).__name__}")
    if len(_member_name(name).encode()) > _LONGEST_NAME:
        raise ValueError(f"expected a shorter name for an array, got {name[:40]!r}... of {len(name)} characters")


def _member_name(name: str) -> str:
    """Give the member of an array: its name, with %xxxx for what would not come back from an archive everywhere."""
    return _ODD.sub(lambda odd: f"%{ord(odd[0]):04x}", name) + ".npy"


def _array_name(member: str) -> str:
    name = _ESCAPED.sub(lambda escaped: chr(int(escaped[1], 16)), member.removesuffix(".npy"))
    if _member_name(name) != member:
        raise ValueError(f"expected the name of an array, got {member[:40]!r}")
    return name


def damage_to(data: bytes) -> str | None:
    """Say what is wrong with a file of which a byte was changed, taken away or added."""
    if data[-_SEAL - _END : -_SEAL][:4] != b"PK\5\6":
        return "is cut short or damaged: it does not end with its checksum"
    digest = hashlib.sha256(memoryview(data)[:-_SEAL]).hexdigest()
    return None if digest.encode("ascii") == data[-_SEAL:] else "is damaged: its checksum does not match"


@dataclass(frozen=True)
class Member:
    """An array that is still in its file."""

    archive: zipfile.ZipFile
    info: zipfile.ZipInfo

    @property
    def size(self) -> int:
        """Its bytes in the file."""
        return self.info.compress_size

    def read(self) -> NDArray[Any]:
        """Take the array out of the file; what is not as `write_npz` writes it is refused."""
        if self.info.compress_type != zipfile.ZIP_STORED or self.info.flag_bits & ~_FLAGS:
            raise ValueError(f"expected members as they are, got {self.info.filename[:40]!r} compressed or encrypted")
        with self.archive.open(self.info) as file:
            return read_npy(file, self.size)

    def read_as(self, dtype: type[np.generic], ndim: int) -> NDArray[Any]:
        """Take out an array of a given kind."""
        array = self.read()
        if array.dtype != dtype or array.ndim != ndim:
            raise ValueError(
                f"expected {ndim} dimensions of {np.dtype(dtype)} in {self.info.filename[:40]!r}, "
                f"got dtype={array.dtype}, shape={array.shape}"
            )
        return array


def directory_memory(data: bytes) -> int:
    """Estimate what the directory of a file takes when it is read; at most so many entries can be in it."""
    return _ENTRY_MEMORY * data.count(_ENTRY)


def members_of(data: bytes) -> dict[str, Member]:
    """Give the arrays of a file by name; together they are no larger than it, as overlapping ones could be."""
    archive = zipfile.ZipFile(io.BytesIO(data))
    members: dict[str, Member] = {}
    for info in archive.infolist():
        name = _array_name(info.orig_filename)
        if name in members:
            raise ValueError(f"expected each array once, got {name[:40]!r} twice")
        members[name] = Member(archive, info)
    if sum(member.size for member in members.values()) > len(data):
        raise ValueError(f"expected arrays of at most {len(data)} bytes, got more")
    return members
