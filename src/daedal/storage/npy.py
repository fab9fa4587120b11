"""Arrays of plain numbers in NumPy's `.npy` format; what is read is accepted only as it would have been written."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

_STORED = ("|b1", "|u1", "<u2", "<u4", "<u8", "|i1", "<i2", "<i4", "<i8", "<f4", "<f8")
_DIMENSIONS = 32  # NumPy 1 has no more.
_MAGIC = b"\x93NUMPY\x01\x00"  # version 1.0 of the format
_HEADER = re.compile(r"\{'descr': '(...)', 'fortran_order': False, 'shape': \(([\d, ]*)\), \} *\n", re.ASCII)
_CHUNK = 2**20


def check_array(name: str, array: NDArray[Any]) -> None:
    """Refuse what is not an array of plain numbers: TypeError, or ValueError for too many dimensions."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected an array as {name!r}, got {type(array).__name__}")
    if _stored(array) not in _STORED:
        raise TypeError(
            f"expected an array of bool, whole numbers or floats of 32 or 64 bits as {name!r}, native or little "
            f"endian, got dtype={array.dtype}"
        )
    if array.ndim > _DIMENSIONS:
        raise ValueError(f"expected at most {_DIMENSIONS} dimensions as {name!r}, got {array.ndim}")


def npy_size(array: NDArray[Any]) -> int:
    """Count the bytes of an array as .npy."""
    return len(_header(_stored(array), array.shape)) + array.nbytes


def npy_pieces(array: NDArray[Any]) -> Iterator[bytes | memoryview]:
    """Give an array as .npy, piece by piece; one that lies in memory as it is stored is not copied."""
    stored = _stored(array)
    yield _header(stored, array.shape)
    flat = np.asarray(array, dtype=stored, order="C").reshape(-1).view(np.uint8)
    for start in range(0, flat.size, _CHUNK):
        piece = flat[start : start + _CHUNK]
        # A bool of another byte than 0 or 1, which a view of other memory may have, breaks NumPy's rules.
        yield ((piece != 0).view(np.uint8) if stored == "|b1" else piece).data


def read_npy(file: IO[bytes], size: int) -> NDArray[Any]:
    """Read a .npy of a given size; ValueError for everything that `npy_pieces` would not have written."""
    front = file.read(len(_MAGIC) + 2)
    header = file.read(int.from_bytes(front[-2:], "little"))
    match = _HEADER.fullmatch(header.decode("latin-1"))
    if not match or match[1] not in _STORED:
        raise _unexpected(f"an array of {', '.join(_STORED)}", header)
    shape = tuple(int(side) for side in match[2].split(",") if side.strip())
    if front + header != _header(match[1], shape):
        raise _unexpected("the header of an array", header)
    dtype = np.dtype(match[1])
    if len(shape) > _DIMENSIONS:
        raise _unexpected(f"at most {_DIMENSIONS} dimensions", shape)
    if len(front) + len(header) + dtype.itemsize * math.prod(shape) != size:
        raise _unexpected(f"an array of {size - len(front) - len(header)} bytes", shape)
    array = np.empty(shape, dtype)  # ValueError for an empty one of vast sides, too
    flat = array.reshape(-1).view(np.uint8)
    for start in range(0, flat.size, _CHUNK):
        part = flat[start : start + _CHUNK]
        part[:] = np.frombuffer(file.read(part.size), dtype=np.uint8, count=part.size)
    if dtype == np.bool_ and flat.max(initial=0) > 1:
        raise ValueError("expected bools of 0 and 1, got other bytes")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _stored(array: NDArray[Any]) -> str:
    """Give the dtype in which an array is stored: little endian."""
    return (array.dtype.newbyteorder("<") if array.dtype.isnative else array.dtype).str


def _header(stored: str, shape: tuple[int, ...]) -> bytes:
    text = f"{{'descr': '{stored}', 'fortran_order': False, 'shape': {shape}, }}"
    length = -(len(_MAGIC) + 2 + len(text) + 1) // 64 * -64 - len(_MAGIC) - 2  # The numbers begin at a multiple of 64.
    return _MAGIC + length.to_bytes(2, "little") + text.ljust(length - 1).encode("ascii") + b"\n"


def _unexpected(expected: str, came: object) -> ValueError:
    return ValueError(f"expected {expected}, got {reprlib.repr(came)}")
