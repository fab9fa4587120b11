"""Arrays and JSON in one file: checksummed, versioned, replaced as a whole; reading one never runs code.

The file, all numbers little endian: the mark, 8 bytes; the format, u32; the lengths of header and payload, u64 each;
the SHA-256 of all that came before and all that follows; the header, JSON in UTF-8; the payload, the arrays one after
another. Mark and format keep their places in all formats to come.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import math
import os
import re
import reprlib
import secrets
import shutil
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.memory import check_fits

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
"""What a field may hold. NaN, the infinities and whole numbers beyond 64 bits come back as they went in."""

_MARK = b"DAEDAL\r\n"  # Its line end shows a copy that took the file for text.
_FORMAT = 1
_FRONT = struct.Struct("<8sIQQ")  # mark, format, length of the header, length of the payload
_START = _FRONT.size + hashlib.sha256().digest_size  # where the header begins
_STORED = ("|b1", "|u1", "<u2", "<u4", "<u8", "|i1", "<i2", "<i4", "<i8", "<f4", "<f8")
_ENTRY = ("name", "dtype", "shape", "offset", "length")
_DIMENSIONS = 32  # NumPy 1 has no more.
_DEPTH = 64
_JSON_GROWTH = 32  # `{},` are three bytes in the file and about ninety in memory.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)  # Open ones end with the text: linear time.
_STEP = np.zeros(256, dtype=np.int8)
_STEP[list(b"[{")], _STEP[list(b"]}")] = 1, -1


class ContainerError(ValueError):
    """The file is not a whole, undamaged container that this version can read.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "run.ckpt"
    ...     _ = path.write_text("a diary")
    ...     try:
    ...         read_container(path)
    ...     except ContainerError as error:
    ...         print(str(error).replace(folder, "")[1:])
    run.ckpt is not a checkpoint of daedal: it begins with b'a diary'; name a file that daedal wrote
    """


def previous_path(path: str | os.PathLike[str]) -> Path:
    """Tell where the predecessor of a container is kept.

    Examples
    --------
    >>> previous_path("run.ckpt").name
    'run.ckpt.previous'
    """
    return Path(f"{Path(path)}.previous")


def write_container(
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
    ...     write_container(path, arrays={"best": np.array([1, 0, 1], dtype=np.uint8)}, fields={"seed": 2**100})
    ...     read_container(path)
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
        _replace(target, pieces)
    except OSError as error:
        sentence = f"cannot write {what} to {target}: {error.strerror or error}; make room or name another place"
        raise _told(error, sentence) from error


def read_container(
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
    ContainerError
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
    ...         write_container(path, arrays={}, fields={"generation": generation})
    ...     read_container(path)[1], read_container(previous_path(path))[1]
    ({'generation': 2}, {'generation': 1})
    """
    source = Path(path)
    if os.path.exists(source) and not os.path.isfile(source):  # A folder, or a pipe to wait for without end.
        raise ContainerError(f"expected {what} at {source}, found something that is not a file")
    try:
        header, payload = _checked(source, what)
    except FileNotFoundError as error:
        advice = _advice(source, "check the name")
        raise _told(error, f"expected {what} at {source}, found nothing there; {advice}") from error
    except OSError as error:
        sentence = f"cannot read {what} from {source}: {error.strerror or error}"
        raise _told(error, sentence) from error
    try:
        return _parsed(header, payload)
    except ValueError as error:  # Also what json and the decoder raise.
        raise _fault(source, f"has a header that no daedal writes ({error})") from error


def _pieces(arrays: Mapping[str, NDArray[Any]], fields: Mapping[str, Json]) -> list[bytes | memoryview]:
    """Give the bytes of the file, in order; arrays that are stored as they lie in memory are not copied."""
    payload: list[memoryview] = []
    entries: list[Json] = []
    offset = 0
    for name, array in arrays.items():
        stored = _stored(name, array)
        flat = np.asarray(array, dtype=stored, order="C").reshape(-1).view(np.uint8).data
        shape: list[Json] = list(array.shape)
        entries.append(dict(zip(_ENTRY, (name, stored, shape, offset, flat.nbytes), strict=True)))
        payload.append(flat)
        offset += flat.nbytes
    content = dict(fields)
    _check_json(content, "fields", depth=2)
    text = json.dumps({"fields": content, "arrays": entries}, ensure_ascii=False, separators=(",", ":"))
    header = text.encode("utf-8", "surrogatepass")  # File names that are not UTF-8 reach Python as lone surrogates.
    front = _FRONT.pack(_MARK, _FORMAT, len(header), offset)
    digest = hashlib.sha256(front + header)
    for flat in payload:
        digest.update(flat)
    return [front, digest.digest(), header, *payload]


def _stored(name: str, array: NDArray[Any]) -> str:
    """Give the dtype in which an array is stored; refuse what is not an array of plain numbers."""
    if not isinstance(name, str):
        raise TypeError(f"expected the names of arrays as str, got {reprlib.repr(name)}")
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected an array as {name!r}, got {type(array).__name__}")
    stored = (array.dtype.newbyteorder("<") if array.dtype.isnative else array.dtype).str
    if stored not in _STORED:
        raise TypeError(
            f"expected an array of bool, whole numbers or floats of 32 or 64 bits as {name!r}, native or little "
            f"endian, got dtype={array.dtype}"
        )
    if array.ndim > _DIMENSIONS:
        raise ValueError(f"expected at most {_DIMENSIONS} dimensions as {name!r}, got {array.ndim}")
    return stored


def _check_json(value: object, where: str, *, depth: int) -> None:
    """Refuse what json would change on the way (keys that are not str, tuples) or could not read back."""
    if depth > _DEPTH:
        raise ValueError(f"expected fields of at most {_DEPTH} levels, got more in {where[:40]}")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"expected the keys of {where} as str, got {reprlib.repr(key)}")
            _check_json(item, f"{where}[{key!r}]", depth=depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_json(item, f"{where}[{index}]", depth=depth + 1)
    elif value is not None and not isinstance(value, bool | int | float | str):
        raise TypeError(f"expected None, bool, int, float, str, list or dict as {where}, got {type(value).__name__}")


def _replace(target: Path, pieces: list[bytes | memoryview]) -> None:
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
                raise ContainerError(
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
            raise ContainerError(str(error)) from None
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


def _parsed(header: bytes, payload: memoryview) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
    """Take the content out of a file; ValueError for everything that `_pieces` would not have written."""
    # The parser calls itself for each level. Its own guard is the recursion limit, which programs raise at will.
    steps = _STEP[np.frombuffer(_STRING.sub(b"", header), dtype=np.uint8)]
    if np.cumsum(steps, dtype=np.int64).max(initial=0) > _DEPTH:
        raise ValueError(f"expected at most {_DEPTH} levels, got more")
    content = json.loads(header.decode("utf-8", "surrogatepass"), object_pairs_hook=_unique)
    if type(content) is not dict or content.keys() != {"fields", "arrays"}:
        raise _unexpected("fields and arrays", content)
    fields, entries = content["fields"], content["arrays"]
    if type(fields) is not dict:
        raise _unexpected("fields by name", fields)
    if type(entries) is not list:
        raise _unexpected("a list of arrays", entries)
    arrays: dict[str, NDArray[Any]] = {}
    offset = 0
    for entry in entries:
        if type(entry) is not dict or entry.keys() != set(_ENTRY):
            raise _unexpected(f"an array with {', '.join(_ENTRY)}", entry)
        if type(entry["name"]) is not str or entry["name"] in arrays:
            raise _unexpected("a name of its own for each array", entry["name"])
        array = _array(entry, payload, offset)
        arrays[entry["name"]] = array
        offset += array.nbytes
    if offset != len(payload):
        raise ValueError(f"expected arrays of {len(payload)} bytes in all, got {offset}")
    return arrays, fields


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    names = dict(pairs)
    if len(names) < len(pairs):
        raise ValueError("expected each name once, got one twice")
    return names


def _array(entry: dict[str, Any], payload: memoryview, start: int) -> NDArray[Any]:
    """Copy one array out of the payload; it must begin where the one before it ended."""
    _, stored, shape, offset, length = (entry[key] for key in _ENTRY)
    if type(stored) is not str or stored not in _STORED:
        raise _unexpected(f"a dtype of {', '.join(_STORED)}", stored)
    if type(shape) is not list or len(shape) > _DIMENSIONS or any(type(side) is not int or side < 0 for side in shape):
        raise _unexpected(f"a shape of at most {_DIMENSIONS} whole numbers", shape)
    dtype = np.dtype(stored)
    if dtype.itemsize * math.prod(max(side, 1) for side in shape) > sys.maxsize:  # NumPy refuses even empty ones.
        raise _unexpected("a shape that an array can have", shape)
    if type(offset) is not int or offset != start:
        raise _unexpected(f"the offset {start}", offset)
    if type(length) is not int or length != dtype.itemsize * math.prod(shape):
        raise _unexpected(f"a length of {dtype.itemsize * math.prod(shape)} bytes", length)
    if length > len(payload) - start:
        raise _unexpected(f"at most {len(payload) - start} bytes more", length)
    if dtype == np.bool_:  # Read as numbers, since a bool that is neither 0 nor 1 in memory breaks NumPy's rules.
        return np.ndarray(shape, np.uint8, buffer=payload, offset=start).astype(np.bool_)
    return np.ndarray(shape, dtype, buffer=payload, offset=start).astype(dtype.newbyteorder("="))


def _unexpected(expected: str, came: object) -> ValueError:
    text = reprlib.repr(came)
    return ValueError(f"expected {expected}, got {text if len(text) <= 40 else text[:37] + '...'}")


def _foreign(source: Path, mark: bytes, what: str) -> ContainerError:
    if mark.startswith((b"DAEDAL\r", b"DAEDAL\n")):
        return _fault(
            source, "is damaged: a copy took it for text and changed its line ends", "copy it again as binary"
        )
    came = f"begins with {mark!r}" if mark else "is empty"
    return _fault(source, f"is not {what} of daedal: it {came}", "name a file that daedal wrote")


def _fault(source: Path, sentence: str, advice: str = "copy it again or start anew") -> ContainerError:
    return ContainerError(f"{source} {sentence}; {_advice(source, advice)}")


def _advice(source: Path, otherwise: str) -> str:
    previous = previous_path(source)
    return f"the one before it is at {previous}" if os.path.isfile(previous) else otherwise


def _told(error: OSError, sentence: str) -> OSError:
    """Give the same kind of error, with a sentence for its text and the same number."""
    told = type(error)(sentence)
    told.errno = error.errno
    return told
