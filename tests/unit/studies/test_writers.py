"""Runs in formats that other programs read."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from daedal.studies.writers import FORMATS, export

ROWS: list[dict[str, Any]] = [
    {"problem": "trap:k=4,n=20", "seed": 0, "success": True, "best": 20.0, "error": None, "x": "0101"},
    {"problem": '"quotes", commas\nand lines', "seed": 1, "success": False, "best": -math.inf, "error": "é", "x": "1"},
    {"problem": "é", "seed": 2**62, "success": None, "best": None, "error": "no luck", "x": None},
]
COLUMNS = {"problem": str, "seed": int, "success": bool, "best": float, "error": str, "x": str}


def written(rows: list[dict[str, Any]], form: str, columns: dict[str, type] = COLUMNS) -> bytes:
    return b"".join(export(rows, form, columns))


def test_csv_comes_back() -> None:
    rows = list(csv.DictReader(io.StringIO(written(ROWS, "csv").decode(), newline="")))
    assert [list(row) for row in rows] == [list(ROWS[0])] * 3
    assert [row["problem"] for row in rows] == [row["problem"] for row in ROWS]
    assert [(row["seed"], row["success"], row["best"], row["error"], row["x"]) for row in rows] == [
        ("0", "True", "20.0", "", "0101"),
        ("1", "False", "-inf", "é", "1"),
        (str(2**62), "", "", "no luck", ""),
    ]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\n=", " =", "\uff1d"])
def test_no_text_of_a_csv_is_a_formula_and_numbers_stay_numbers(start: str) -> None:
    """A spreadsheet takes what is behind an apostrophe as it is."""
    row = {"problem": f"{start}1+1", "seed": -1, "success": None, "best": -math.inf, "error": "\t=1", "x": "01"}
    (read,) = csv.DictReader(io.StringIO(written([row], "csv").decode(), newline=""))
    assert read["problem"] == f"'{start}1+1"
    assert (read["seed"], read["best"], read["error"], read["x"]) == ("-1", "-inf", r"\t=1", "01")


@pytest.mark.parametrize("form", FORMATS)
def test_any_text_can_be_written(form: str) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow")
    text = written([ROWS[0] | {"problem": "\udcff", "error": "\x1b"}], form)
    assert text
    assert form == "parquet" or b"\x1b" not in text


def test_json_comes_back_and_has_no_words_that_are_not_json() -> None:
    text = written(ROWS, "json").decode()

    def refuse(word: str) -> None:
        raise AssertionError(word)

    assert json.loads(text, parse_constant=refuse) == [ROWS[0], ROWS[1] | {"best": None}, ROWS[2]]
    odd = [{"a": math.nan, "b": math.inf, "c": 0.5}]
    assert json.loads(written(odd, "json", dict.fromkeys("abc", float)), parse_constant=refuse) == [
        {"a": None, "b": None, "c": 0.5}
    ]
    assert len(text.splitlines()) == len(ROWS) + 2  # one row per line


def test_parquet_comes_back() -> None:
    pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    assert parquet.read_table(io.BytesIO(written(ROWS, "parquet"))).to_pylist() == ROWS


def test_parquet_without_pyarrow_names_its_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"pip install .*daedal\[parquet\]"):
        written(ROWS, "parquet")


def test_nothing_to_export_has_columns_all_the_same() -> None:
    assert written([], "csv") == b"problem,seed,success,best,error,x\r\n"
    assert json.loads(written([], "json")) == []


@pytest.mark.parametrize("count", [0, 1, 3])
def test_types_do_not_depend_on_the_rows(count: int) -> None:
    """So that files of several stores can be put together."""
    pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(written(ROWS[:count], "parquet")))
    assert table.num_rows == count
    types = ["string", "int64", "bool", "double", "string", "string"]
    assert dict(zip(table.schema.names, map(str, table.schema.types), strict=True)) == dict(
        zip(COLUMNS, types, strict=True)
    )


@pytest.mark.parametrize("form", ["csv", "json"])
def test_rows_are_written_as_they_come(form: str) -> None:
    """So a store of any size can be exported."""
    taken = 0

    def many() -> Iterator[dict[str, Any]]:
        nonlocal taken
        for _ in range(1000):
            taken += 1
            yield ROWS[0]

    pieces = export(many(), form, COLUMNS)
    for _ in range(5):
        next(pieces)
    assert taken <= 5


def test_unknown_formats_are_refused_at_once() -> None:
    assert FORMATS == ("csv", "json", "parquet")
    with pytest.raises(ValueError, match=r"'jsn'.*'json'.*csv, json, parquet"):
        export(ROWS, "jsn", COLUMNS)
