"""How files are damaged: blindly, and by somebody who knows the format."""

from __future__ import annotations

import io
import json
import math
import random
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
from values import odd_text


def blindly(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Cut a file, flip its bits, swap its blocks, put other bytes in it."""
    kind = rng.choice(("cut", "flip", "flip", "flips", "swap", "insert", "zeros", "repeat", "drop", "splice", "noise"))
    size = max(1, len(data))
    at, length = rng.randrange(size), rng.choice((1, 2, 16, 512, 4096))
    changed = bytearray(data)
    if kind == "cut":
        return kind, data[:at]
    if kind in ("flip", "flips"):
        for _ in range(1 if kind == "flip" else rng.randint(2, 50)):
            if changed:
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
    """What makes a file where it is unpickled."""

    def __reduce__(self) -> Any:
        return open, ("canary", "w")


def odd_field(fields: Any, rng: random.Random) -> str:
    """Put another value in some place of a tree of values; say where."""
    name = rng.choice(sorted(fields))
    inner = fields[name]
    if isinstance(inner, dict) and inner and rng.random() < 0.9:
        return f"{name}/{odd_field(inner, rng)}"
    numbers = (0, -1, 1, 2**31, 2**63, 10**30, 10**400, 0.5, math.nan, math.inf, -math.inf)
    others = (
        "",
        "x" * 10**5,
        "\ud800",
        "../../canary",
        "cmd:touch canary",
        "canary.py:f",
        "DEEP",
        None,
        True,
        [],
        {},
        [[]],
        {"": None},
        "umda",
    )
    fields[name] = rng.choice((*numbers, *others))
    return f"{name}={fields[name]!r}"[:80]


def odd_array(array: Any, rng: random.Random) -> Any:
    """Give an array that is not what it was."""
    kinds: tuple[Callable[[], Any], ...] = (
        lambda: array.astype(rng.choice((np.float64, np.float32, np.int64, np.uint8, np.bool_, np.int8, np.uint64))),
        lambda: array[..., None],
        lambda: array.reshape(-1)[: rng.randrange(array.size + 1)],
        lambda: np.concatenate([array.reshape(-1), array.reshape(-1)]),
        lambda: np.full(array.shape, rng.choice((math.nan, math.inf, -math.inf, -1e300))),
        lambda: np.full(array.shape, rng.choice((2, 255, 7)), dtype=np.uint8),
        lambda: np.full(array.shape, rng.choice((-1, 2**62, -(2**62))), dtype=np.int64),
        lambda: np.zeros((0, *array.shape), dtype=array.dtype),
        lambda: np.array(3.5),
        lambda: array.astype("S4"),
        lambda: array.astype(complex),
        lambda: np.asfortranarray(array.reshape(1, -1)),
    )
    return rng.choice(kinds)()


ENDLESS = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT i"


def crafted_database(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """Change what an SQLite file says: other values, views and triggers in place of tables."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "it.db"
        path.write_bytes(data)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            what = rng.choice((_value, _value, _field, _field, _array, _view, _trigger, _schema, _pragma))(
                connection, rng
            )
        return what, path.read_bytes()


def _table(connection: sqlite3.Connection, rng: random.Random) -> tuple[str, list[str]]:
    tables = [
        name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    ]
    table = rng.choice(tables)
    return table, [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]


def _value(connection: sqlite3.Connection, rng: random.Random) -> str:
    table, columns = _table(connection, rng)
    column = rng.choice(columns)
    numbers = (0, -1, 2**62, 0.5, math.nan, math.inf, -math.inf, None)
    value = rng.choice(
        (
            *numbers,
            b"",
            b"\x80\x04canary",
            rng.randbytes(20),
            "x" * 10**5,
            "[" * 5000,
            "{}",
            "[]",
            "null",
            odd_text(rng),
        )
    )
    if isinstance(value, str):
        value = value.encode("utf-8", "replace").decode("utf-8")
    try:
        connection.execute(f'UPDATE OR REPLACE "{table}" SET "{column}" = ?', (value,))
    except sqlite3.Error:
        connection.execute(f'DELETE FROM "{table}"')
    return f"{table}.{column} = {value!r}"[:80]


def _field(connection: sqlite3.Connection, rng: random.Random) -> str:
    """Change a field of what is kept as JSON, such as the description of a run."""
    table, columns = _table(connection, rng)
    for column in rng.sample(columns, len(columns)):
        for (text,) in connection.execute(f'SELECT "{column}" FROM "{table}" WHERE "{column}" LIKE \'{{%\' LIMIT 1'):
            with suppress(ValueError, TypeError, IndexError):
                fields = json.loads(text)
                where = odd_field(fields, rng)
                changed = json.dumps(fields).replace('"DEEP"', "[" * 50_000 + "]" * 50_000)
                connection.execute(f'UPDATE "{table}" SET "{column}" = ?', (changed,))
                return f"{table}.{column}: {where}"
    return _value(connection, rng)


def _array(connection: sqlite3.Connection, rng: random.Random) -> str:
    """Change an array of what is kept as a file of NumPy, such as the trace of a run; or pickle something in it."""
    for table, column in (("runs", "trace"), ("histories", "data")):
        with suppress(sqlite3.Error, ValueError, TypeError):
            ((packed,),) = connection.execute(f'SELECT "{column}" FROM "{table}" LIMIT 1').fetchall()
            with np.load(io.BytesIO(packed)) as archive:
                arrays = {name: archive[name] for name in archive.files}
            name = rng.choice(sorted(arrays))
            pickled = rng.random() < 0.2
            arrays[name] = np.array([Canary()], dtype=object) if pickled else odd_array(arrays[name], rng)
            file = io.BytesIO()
            np.savez_compressed(file, **arrays)
            connection.execute(f'UPDATE "{table}" SET "{column}" = ?', (file.getvalue(),))
            return f"{table}.{column}: {name} of {arrays[name].dtype}, shape {arrays[name].shape}"
    return _value(connection, rng)


def _view(connection: sqlite3.Connection, rng: random.Random) -> str:
    table, columns = _table(connection, rng)
    listed = ", ".join(f'i AS "{column}"' for column in columns)
    source = rng.choice(
        (
            f"SELECT {listed} FROM ({ENDLESS} FROM c)",
            f"SELECT {listed} FROM (SELECT 1 AS i)",
            "SELECT 1",
            f'SELECT * FROM "{table}"',
        )
    )
    connection.execute(f'DROP TABLE "{table}"')
    connection.execute(f'CREATE VIEW "{table}" AS {source}')
    return f"a view in place of {table}: {source}"[:100]


def _trigger(connection: sqlite3.Connection, rng: random.Random) -> str:
    table, _ = _table(connection, rng)
    other, _ = _table(connection, rng)
    when = rng.choice(("AFTER INSERT", "BEFORE INSERT", "AFTER UPDATE", "BEFORE DELETE"))
    does = rng.choice(
        (
            f'DELETE FROM "{other}"',
            "SELECT RAISE(ABORT, 'canary')",
            f"SELECT count(*) FROM ({ENDLESS} FROM c)",
            "SELECT load_extension('canary')",
        )
    )
    connection.execute(f'CREATE TRIGGER canary {when} ON "{table}" BEGIN {does}; END')
    return f"a trigger {when} on {table}: {does}"[:100]


def _schema(connection: sqlite3.Connection, rng: random.Random) -> str:
    table, columns = _table(connection, rng)
    statements = (
        f'DROP TABLE "{table}"',
        f'ALTER TABLE "{table}" RENAME COLUMN "{columns[-1]}" TO other',
        f'ALTER TABLE "{table}" RENAME TO other',
        f"UPDATE sqlite_master SET sql = 'CREATE TABLE canary (x)' WHERE name = '{table}'",
        "UPDATE sqlite_master SET rootpage = 1",
    )
    statement = rng.choice(statements)
    try:
        connection.execute(statement)
    except sqlite3.Error as error:
        return f"{statement}: {error}"[:100]
    return statement[:100]


def _pragma(connection: sqlite3.Connection, rng: random.Random) -> str:
    statement = rng.choice(("PRAGMA user_version = ", "PRAGMA application_id = ")) + rng.choice(
        ("0", "1", "2", "-1", "99", "2147483647")
    )
    connection.execute(statement)
    return statement
