"""Arrays and JSON as bytes, and back: what a container holds; nothing that is read is trusted."""

from __future__ import annotations

import json
import math
import re
import reprlib
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.types import Json

_STORED = ("|b1", "|u1", "<u2", "<u4", "<u8", "|i1", "<i2", "<i4", "<i8", "<f4", "<f8")
_ENTRY = ("name", "dtype", "shape", "offset", "length")
_DIMENSIONS = 32  # NumPy 1 has no more.
_DEPTH = 64
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)  # Open ones end with the text: linear time.
_STEP = np.zeros(256, dtype=np.int8)
_STEP[list(b"[{")], _STEP[list(b"]}")] = 1, -1


def packed(arrays: Mapping[str, NDArray[Any]], fields: Mapping[str, Json]) -> tuple[bytes, list[memoryview]]:
    """Give header and payload; arrays that are stored as they lie in memory are not copied."""
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
    return text.encode("utf-8", "surrogatepass"), payload  # File names that are not UTF-8 are lone surrogates.


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


def parsed(header: bytes, payload: memoryview) -> tuple[dict[str, NDArray[Any]], dict[str, Json]]:
    """Take the content out of a file; ValueError for everything that `packed` would not have written."""
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
