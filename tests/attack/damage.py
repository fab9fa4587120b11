"""Damaged files: changed blindly, or by somebody who knows the format."""

from __future__ import annotations

import io
import json
import math
import random
import sqlite3
import tempfile
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
from values import odd_text

NUMBERS = (0, -1, 1, 2**31, 2**62, 0.5, math.nan, math.inf, -math.inf, None)
FIELDS = (
    *NUMBERS, 10**30, 10**400, "", "x" * 10**5, "\ud800", "../../canary", "cmd:touch canary", "canary.py:f", "DEEP",
    True, [], {}, [[]], {"": None}, "umda",
)  # fmt: skip
TEXTS = (*NUMBERS, b"", b"\x80\x04canary", b"x" * 20, "x" * 10**5, "[" * 5000, "{}", "[]", "null")
ENDLESS = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT i"


def blindly(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Cut a file, flip its bits, swap its blocks, or put other bytes in it."""
    kind = rng.choice(("cut", "flip", "flip", "flips", "swap", "insert", "zeros", "repeat", "drop", "splice", "noise"))
    size = max(1, len(data))
    at, length = rng.randrange(size), rng.choice((1, 2, 16, 512, 4096))
    changed = bytearray(data)
    if kind == "cut":
        del changed[at:]
    elif kind in ("flip", "flips"):
        for _ in range((1 if kind == "flip" else rng.randint(2, 50)) * bool(changed)):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    elif kind == "swap":
        block = rng.choice((16, 512, 4096))
        pieces = [data[start : start + block] for start in range(0, len(data), block)]
        rng.shuffle(pieces)
        changed = bytearray(b"".join(pieces))
    elif kind == "insert":
        changed[at:at] = rng.randbytes(length)
    elif kind == "zeros":
        changed[at : at + length] = bytes(min(length, size - at))
    elif kind == "repeat":
        changed += data[at:]
    elif kind == "drop":
        del changed[at : at + length]
    elif kind == "splice":
        changed[at : at + length] = odd_text(rng)[:99].encode("utf-8", "surrogateescape")
    else:
        changed = bytearray(rng.randbytes(rng.choice((0, 1, 100, 5000))))
    return f"{kind} at {at}", bytes(changed)


class Canary:
    """An object that creates a file when it is unpickled."""

    def __reduce__(self) -> Any:
        return open, ("canary", "w")


def odd_field(fields: Any, rng: random.Random) -> str:
    """Put another value in some place of a tree of values, and return the place."""
    name = rng.choice(sorted(fields))
    inner = fields[name]
    if isinstance(inner, dict) and inner and rng.random() < 0.9:
        return f"{name}/{odd_field(inner, rng)}"
    fields[name] = rng.choice(FIELDS)
    return f"{name}={fields[name]!r}"[:80]


def odd_array(array: Any, rng: random.Random) -> Any:
    """Return another array."""
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: array.astype(rng.choice((np.float64, np.float32, np.int64, np.uint8, np.bool_, np.int8, np.uint64))),
        lambda: array[..., None],
        lambda: array.reshape(-1)[: rng.randrange(array.size + 1)],
        lambda: np.concatenate([array.reshape(-1), array.reshape(-1)]),
        lambda: np.full(array.shape, rng.choice((math.nan, math.inf, -math.inf, -1e300))),
        lambda: np.full(array.shape, rng.choice((-1, 2, 255, 2**62, -(2**62))), dtype=np.int64),
        lambda: np.zeros((0, *array.shape), dtype=array.dtype),
        lambda: np.array(3.5),
        lambda: array.astype("S4"),
        lambda: array.astype(complex),
        lambda: np.array([Canary()], dtype=object),
    )
    return rng.choice(kinds)()


def crafted_database(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Change the content of an SQLite file: other values, and views and triggers instead of tables."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "it.db"
        path.write_bytes(data)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            table = rng.choice(sorted(tables))
            columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
            change = rng.choice((_value, _value, _field, _field, _packed, _schema, _schema))
            what = change(connection, table, columns, rng)
        return what[:100], path.read_bytes()


def _value(connection: sqlite3.Connection, table: str, columns: list[str], rng: random.Random) -> str:
    column, value = rng.choice(columns), rng.choice((*TEXTS, odd_text(rng).encode("utf-8", "replace").decode()))
    try:
        connection.execute(f'UPDATE OR REPLACE "{table}" SET "{column}" = ?', (value,))
    except sqlite3.Error:
        connection.execute(f'DELETE FROM "{table}"')
    return f"{table}.{column} = {value!r}"


def _field(connection: sqlite3.Connection, table: str, columns: list[str], rng: random.Random) -> str:
    """Change a field of a JSON text, such as the description of a run."""
    for column in rng.sample(columns, len(columns)):
        for (text,) in connection.execute(f'SELECT "{column}" FROM "{table}" WHERE "{column}" LIKE \'{{%\' LIMIT 1'):
            with suppress(ValueError, TypeError, IndexError):
                fields = json.loads(text)
                where = odd_field(fields, rng)
                changed = json.dumps(fields).replace('"DEEP"', "[" * 50_000 + "]" * 50_000)
                connection.execute(f'UPDATE "{table}" SET "{column}" = ?', (changed,))
                return f"{table}.{column}: {where}"
    return _value(connection, table, columns, rng)


def _packed(connection: sqlite3.Connection, table: str, columns: list[str], rng: random.Random) -> str:
    """Change an array in the trace of a run, or a field in its packed history."""
    with suppress(sqlite3.Error, ValueError, TypeError, IndexError):
        ((packed,),) = connection.execute("SELECT trace FROM runs LIMIT 1").fetchall()
        with np.load(io.BytesIO(packed)) as archive:
            arrays = {name: archive[name] for name in archive.files}
        name = rng.choice(sorted(arrays))
        arrays[name] = odd_array(arrays[name], rng)
        file = io.BytesIO()
        np.savez_compressed(file, **arrays)
        connection.execute("UPDATE runs SET trace = ?", (file.getvalue(),))
        return f"trace: {name} of {arrays[name].dtype}, shape {arrays[name].shape}"
    with suppress(sqlite3.Error, ValueError, TypeError, IndexError):
        ((packed,),) = connection.execute("SELECT history FROM runs LIMIT 1").fetchall()
        fields = json.loads(zlib.decompress(packed))
        where = odd_field(fields, rng)
        connection.execute("UPDATE runs SET history = ?", (zlib.compress(json.dumps(fields).encode()),))
        return f"history: {where}"
    return _value(connection, table, columns, rng)


def _schema(connection: sqlite3.Connection, table: str, columns: list[str], rng: random.Random) -> str:
    """Replace a table by a view, add a trigger, or change the schema or a number of the file."""
    listed = ", ".join(f'i AS "{column}"' for column in columns)
    event = rng.choice(("AFTER INSERT", "BEFORE INSERT", "AFTER UPDATE", "BEFORE DELETE"))
    triggered = ("DELETE FROM runs", "SELECT RAISE(ABORT, 'canary')", f"SELECT count(*) FROM ({ENDLESS} FROM c)")
    views = (f"SELECT {listed} FROM ({ENDLESS} FROM c)", f"SELECT {listed} FROM (SELECT 1 AS i)", "SELECT 1")
    number = rng.choice(("0", "1", "2", "-1", "99", "2147483647"))
    statements = (
        f'DROP TABLE "{table}"; CREATE VIEW "{table}" AS {rng.choice(views)}',
        f'DROP TABLE "{table}"; CREATE VIEW "{table}" AS {rng.choice(views)}',
        f'CREATE TRIGGER canary {event} ON "{table}" BEGIN {rng.choice(triggered)}; END',
        f"CREATE TRIGGER canary {event} ON \"{table}\" BEGIN SELECT load_extension('canary'); END",
        f'DROP TABLE "{table}"',
        f'ALTER TABLE "{table}" RENAME COLUMN "{columns[-1]}" TO other',
        f'ALTER TABLE "{table}" RENAME TO other',
        f"UPDATE sqlite_master SET sql = 'CREATE TABLE canary (x)' WHERE name = '{table}'",
        "UPDATE sqlite_master SET rootpage = 1",
        f"PRAGMA user_version = {number}",
        f"PRAGMA application_id = {number}",
    )
    statement = rng.choice(statements)
    with suppress(sqlite3.Error):
        connection.executescript(statement)
    return statement
