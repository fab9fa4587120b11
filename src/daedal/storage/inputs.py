"""Files that daedal reads as a whole: plain files that fit into memory."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import IO

from daedal.settings.checks import readable_bytes
from daedal.storage.atomic import restated

LARGEST = 2**30
"""Maximum number of bytes of a text file. No list of rows or numbers that a run can use is longer."""

_PIECE = 2**20


def read_plain_file(path: str | os.PathLike[str], what: str, *, most: int = LARGEST) -> bytes:
    """Read a file; refuse what is not one, such as a device or a pipe, and what is larger than it can be.

    `what` is the file to the user, with its article: "an NK file". FileNotFoundError where there is none, ValueError
    for everything else that cannot be read.
    """
    try:
        plain = stat.S_ISREG(os.stat(path).st_mode)
        data = _whole(path, most) if plain else b""
    except FileNotFoundError as error:
        raise restated(error, f"cannot read {what}: found nothing at {path}; check the name") from error
    except (OSError, ValueError) as error:  # no path can have a byte 0
        raise ValueError(f"cannot read {what} at {path}: {getattr(error, 'strerror', error)}") from error
    if not plain:  # it may never end, or wait for a writer
        raise ValueError(f"cannot read {what}: {path} is not a plain file; name a file")
    return _checked(data, path, what, most)


def read_text_input(path: str | os.PathLike[str], what: str, *, most: int = LARGEST) -> str:
    """Read a file of text, or standard input where the path is "-"; refuse what is no text."""
    if os.fspath(path) == "-":
        if sys.stdin is None:
            raise ValueError(f"cannot read {what}: standard input is closed; name a file")
        data = _checked(_pieces(sys.stdin.buffer, most), "standard input", what, most)
    else:
        data = read_plain_file(path, what, most=most)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"cannot read {what}: {path} is not text ({error})") from error


def _whole(path: str | os.PathLike[str], most: int) -> bytes:
    with Path(path).open("rb") as file:
        return _pieces(file, most)


def _pieces(file: IO[bytes], most: int) -> bytes:
    """Read a file piece by piece, because what it says of its size need not be true, and no further than need be."""
    data = bytearray()
    while len(data) <= most and (piece := file.read(_PIECE)):
        data += piece
    return bytes(data)


def _checked(data: bytes, name: object, what: str, most: int) -> bytes:
    if len(data) > most:
        raise ValueError(f"{name} is too large for {what}; the maximum is {readable_bytes(most)}")
    return data
