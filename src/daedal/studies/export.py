"""The runs of a store in formats that other programs read."""

from __future__ import annotations

import csv
import importlib
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from daedal.settings.checks import storable, visible
from daedal.settings.lazy import missing_extra
from daedal.settings.parameters import unknown
from daedal.studies.files import WRITTEN_BY

FORMATS = ("csv", "json", "parquet")
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")  # and the wide ones, which some spreadsheets know
_ARROW = {bool: "bool_", int: "int64", float: "float64", str: "string"}


def export(rows: Iterable[Mapping[str, Any]], form: str, columns: Mapping[str, type]) -> Iterator[bytes]:
    r"""Give rows, all of the same columns, piece by piece in a format: csv, json (one array) or parquet.

    The columns have names and types (bool, int, float or str), which do not depend on the rows: there may be none, and
    any value may be None.

    Examples
    --------
    >>> b"".join(export([{"seed": 1, "best": 2.5}], "csv", {"seed": int, "best": float}))
    b'seed,best\r\n1,2.5\r\n'
    """
    writers = {"csv": _csv, "json": _json, "parquet": _parquet}
    if form not in writers:
        raise ValueError(unknown("format", form, FORMATS))
    return writers[form](rows, columns)


def _csv(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, type]) -> Iterator[bytes]:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(value) for value in row.values()])
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    yield text.getvalue().encode()  # the titles, where there was no row


def _cell(value: Any) -> Any:
    """Keep a text from being obeyed: by a terminal, or by a spreadsheet, which computes what begins like a formula."""
    if not isinstance(value, str):
        return value
    text = "\n".join(map(visible, value.split("\n")))  # a cell may have several lines
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def _json(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, type]) -> Iterator[bytes]:
    """One array, one row per line; infinity and nan, which JSON does not have, become null."""
    yield b"["
    for index, row in enumerate(rows):
        finite = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in row.items()
        }
        yield (b",\n" if index else b"\n") + json.dumps(finite, allow_nan=False).encode()
    yield b"\n]\n"


def _parquet(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, type]) -> Iterator[bytes]:
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise missing_extra("Parquet needs pyarrow", "parquet") from error
    buffer = io.BytesIO()
    fields = [(name, getattr(arrow, _ARROW[kind])()) for name, kind in columns.items()]
    schema = arrow.schema(fields, metadata=WRITTEN_BY)
    parquet.write_table(arrow.Table.from_pylist(list(map(_encodable, rows)), schema=schema), buffer)
    yield buffer.getvalue()


def _encodable(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: storable(value) if isinstance(value, str) else value for name, value in row.items()}
