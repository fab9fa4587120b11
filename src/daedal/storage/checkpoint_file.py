"""Arrays and JSON in one file: checksummed, versioned, replaced as a whole; reading one never runs code.

The file, all numbers little endian: the mark, 8 bytes; the format, u32; the lengths of header and payload, u64 each;
the SHA-256 of all that came before and all that follows; the header, JSON in UTF-8; the payload, the arrays one after
another. Mark and format keep their places in all formats to come.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from daedal.settings.checks import check_fits
from daedal.storage.atomic import previous_path, replace_file
from daedal.storage.packing import packed, parsed
from daedal.types import Json

_MARK = b"DAEDAL\r\n"  # Its line end shows a copy that took the file for text.
_FORMAT = 1
_FRONT = struct.Struct("<8sIQQ")  # mark, format, length of the header, length of the payload
_START = _FRONT.size + hashlib.sha256().digest_size  # where the header begins
_JSON_GROWTH = 32  # `{},` are three bytes in the file and about ninety in memory.


class CheckpointError(ValueError):
    """The file is not a whole, undamaged container that this version can read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "run.ckpt"
    ...     _ = path.write_text("a diary")
    ...     try:
    ...         read_checkpoint_file(path)
    ...     except CheckpointError as error:
    ...         print(str(error).replace(folder, "")[1:])
    run.ckpt is not a checkpoint of daedal: it begins with b'a diary'; name a file that daedal wrote
    """


def write_checkpoint_file(
    path: str | os.PathLike[str],
    *,
    arrays: Mapping[str, NDArray[Any]],
    fields: Mapping[str, Json],
    what: str = "a checkpoint",
) -> None:
    """Write arrays and fields to a file, and keep the file that was there as its predecessor.

    The file is replaced at once and whole, or not at all: at every moment, even if the process is killed or the power
    fails, `path` is the old file or the new one. The new one is on the disk when this returns.

    Parameters
    ----------
    path
        The file. Its folder must exist.
    arrays
        Arrays of bool, whole numbers of 8 to 64 bits or floats of 32 or 64 bits, of any shape, native or little endian.
    fields
        Whatever JSON holds, and NaN, the infinities and large whole numbers, at most some 60 levels deep.
    what
        What the file is to the user, for the messages.

    Raises
    ------
    TypeError
        If an array or a field is of another kind.
    ValueError
        If the fields are too deep, or hold a whole number of more digits than Python writes (4,300).
    OSError
        If the file cannot be written. `path` is still the old file or already the new one, and no draft is left.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "run.ckpt"
    ...     write_checkpoint_file(path, arrays={"best": np.array([1, 0, 1], dtype=np.uint8)}, fields={"seed": 2**100})
    ...     read_checkpoint_file(path)
    ({'best': array([1, 0, 1], dtype=uint8)}, {'seed': 1267650600228229401496703205376})
    """
    pieces = _pieces(arrays, fields)
    target = Path(path)
    for place in (target, previous_path(target)):
        if os.path.isdir(place):
            raise IsADirectoryError(f"expected a file to write {what} to, got the folder {place}")
        if os.path.exists(place) and not os.path.isfile(place):  # A pipe or a device, which must not be replaced.
            raise OSError(f"expected a file to write {what} to, got {place}, which is not a plain file")
    if not os.path.isdir(target.parent):
        raise FileNotFoundError(
            f"expected to write {what} to {target}, but there is no folder {target.parent}; make it first"
        )
    try:
        replace_file(target, pieces)
    except OSError as error:
        sentence = f"cannot write {what} to {target}: {error.strerror or error}; make room or name another place"
        raise _told(error, sentence) from error


def read_checkpoint_file(
    path: str | os.PathLike[str], *, what: str = "a checkpoint"
) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
    """Read the arrays and the fields of a file, after a check of every byte of it.

    Nothing in the file is trusted, not even under a right checksum: no code is run, and no more memory is taken than
    the size of the file allows for.

    Parameters
    ----------
    path
        The file.
    what
        What the file is to the user, for the messages.

    Returns
    -------
    arrays
        The arrays by name: native, writeable, each with its own memory.
    fields
        The fields by name.

    Raises
    ------
    CheckpointError
        If the file is not a container, damaged, cut short, or of a newer daedal; or too large for this machine.
    OSError
        If there is no such file or it cannot be read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "run.ckpt"
    ...     for generation in (1, 2):
    ...         write_checkpoint_file(path, arrays={}, fields={"generation": generation})
    ...     read_checkpoint_file(path)[1], read_checkpoint_file(previous_path(path))[1]
    ({'generation': 2}, {'generation': 1})
    """
    source = Path(path)
    if os.path.exists(source) and not os.path.isfile(source):  # A folder, or a pipe to wait for without end.
        raise CheckpointError(f"expected {what} at {source}, found something that is not a file")
    try:
        header, payload = _checked(source, what)
    except FileNotFoundError as error:
        advice = _advice(source, "check the name")
        raise _told(error, f"expected {what} at {source}, found nothing there; {advice}") from error
    except OSError as error:
        sentence = f"cannot read {what} from {source}: {error.strerror or error}"
        raise _told(error, sentence) from error
    try:
        return parsed(header, payload)
    except ValueError as error:  # Also what json and the decoder raise.
        raise _fault(source, f"has a header that no daedal writes ({error})") from error


def _pieces(arrays: Mapping[str, NDArray[Any]], fields: Mapping[str, Json]) -> list[bytes | memoryview]:
    """Give the bytes of the file, in order."""
    header, payload = packed(arrays, fields)
    front = _FRONT.pack(_MARK, _FORMAT, len(header), sum(flat.nbytes for flat in payload))
    digest = hashlib.sha256(front + header)
    for flat in payload:
        digest.update(flat)
    return [front, digest.digest(), header, *payload]


def _checked(source: Path, what: str) -> tuple[bytes, memoryview]:
    """Read header and payload in one go, so that a file put in its place meanwhile cannot mix with it."""
    with source.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        front = file.read(_START)
        mark, version = front[: len(_MARK)], front[len(_MARK) : len(_MARK) + 4]
        if not mark or not _MARK.startswith(mark):
            raise _foreign(source, mark, what)
        if len(version) == 4 and (number := int.from_bytes(version, "little")) != _FORMAT:
            if number > _FORMAT:
                raise CheckpointError(
                    f"{source} was written by a newer daedal (format {number}, this one reads up to {_FORMAT}); "
                    "upgrade daedal"
                )
            raise _fault(source, f"is damaged (its format is {number}, which no daedal writes)")
        if len(front) < _START:
            raise _fault(source, f"is cut short: {len(front)} bytes, and the front alone takes {_START}")
        _, _, header_length, payload_length = _FRONT.unpack_from(front)
        expected = _START + header_length + payload_length
        _check_size(source, size, expected)
        try:
            check_fits(expected + payload_length + _JSON_GROWTH * header_length, f"reading {source}")
        except ValueError as error:
            raise CheckpointError(str(error)) from None
        body = file.read(expected - _START)
    _check_size(source, _START + len(body), expected)  # It may have shrunk since.
    digest = hashlib.sha256(front[: _FRONT.size])
    digest.update(body)
    if digest.digest() != front[_FRONT.size :]:
        raise _fault(source, "is damaged (its checksum does not match)")
    return body[:header_length], memoryview(body)[header_length:]


def _check_size(source: Path, size: int, expected: int) -> None:
    if size < expected:
        raise _fault(source, f"is cut short: {size} of {expected} bytes")
    if size > expected:
        raise _fault(source, f"is damaged: {size} bytes, where {expected} were written")


def _foreign(source: Path, mark: bytes, what: str) -> CheckpointError:
    if mark.startswith((b"DAEDAL\r", b"DAEDAL\n")):
        return _fault(
            source, "is damaged: a copy took it for text and changed its line ends", "copy it again as binary"
        )
    came = f"begins with {mark!r}" if mark else "is empty"
    return _fault(source, f"is not {what} of daedal: it {came}", "name a file that daedal wrote")


def _fault(source: Path, sentence: str, advice: str = "copy it again or start anew") -> CheckpointError:
    return CheckpointError(f"{source} {sentence}; {_advice(source, advice)}")


def _advice(source: Path, otherwise: str) -> str:
    previous = previous_path(source)
    return f"the one before it is at {previous}" if os.path.isfile(previous) else otherwise


def _told(error: OSError, sentence: str) -> OSError:
    """Give the same kind of error, with a sentence for its text and the same number."""
    told = type(error)(sentence)
    told.errno = error.errno
    return told
