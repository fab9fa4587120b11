"""JSON values by name as bytes, and back: all that a float or an int can be, and nothing that is read is trusted."""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Mapping

import numpy as np

from daedal.types import Json

MEMORY_PER_BYTE = 32
"""What reading may take: `{},` are three bytes in the file and about ninety in memory."""

_DEPTH = 64
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)  # Open ones end with the text: linear time.
_STEP = np.zeros(256, dtype=np.int8)
_STEP[list(b"[{")], _STEP[list(b"]}")] = 1, -1


def fields_to_bytes(fields: Mapping[str, Json]) -> bytes:
    """Write fields as JSON in UTF-8; TypeError for what would come back as something else, such as a tuple."""
    content = dict(fields)
    _check(content, "fields", depth=1)
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")  # File names that are not UTF-8 are lone surrogates.


def fields_from_bytes(text: bytes) -> dict[str, Json]:
    """Read fields; ValueError for everything that is not JSON values by name."""
    # The parser calls itself for each level. Its own guard is the recursion limit, which programs raise at will.
    steps = _STEP[np.frombuffer(_STRING.sub(b"", text), dtype=np.uint8)]
    if np.cumsum(steps, dtype=np.int64).max(initial=0) > _DEPTH:
        raise ValueError(f"expected at most {_DEPTH} levels, got more")
    fields = json.loads(text.decode("utf-8", "surrogatepass"), object_pairs_hook=_unique)
    if type(fields) is not dict:
        raise ValueError(f"expected fields by name, got {reprlib.repr(fields)}")
    return fields


def _check(value: object, where: str, *, depth: int) -> None:
    if isinstance(value, dict | list) and depth > _DEPTH:
        raise ValueError(f"expected fields of at most {_DEPTH} levels, got more in {where[:40]}")
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"expected the keys of {where} as str, got {reprlib.repr(key)}")
            _check(item, f"{where}[{key!r}]", depth=depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check(item, f"{where}[{index}]", depth=depth + 1)
    elif value is not None and not isinstance(value, bool | int | float | str):
        raise TypeError(f"expected None, bool, int, float, str, list or dict as {where}, got {type(value).__name__}")


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    names = dict(pairs)
    if len(names) < len(pairs):
        raise ValueError("expected each name once, got one twice")
    return names
