"""What is known of rows evaluated before, in a file that runs and programs share."""

from __future__ import annotations

import os
import secrets

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.layered_cache import MOST_RUNS, Found
from daedal.evaluation.memory_cache import check_values
from daedal.settings.texts import storable
from daedal.storage.sqlite import errors_explained, open_database, transaction
from daedal.types import Amounts, Bits, Fitness, check_bits

_WHAT = "a cache of evaluations"
_APPLICATION = 0x44614543  # "DaEC"
_VERSION = 3
_SCHEMA = """
CREATE TABLE objective (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    n INTEGER NOT NULL,
    UNIQUE (name, version, n)
);
CREATE TABLE evaluation (
    objective INTEGER NOT NULL REFERENCES objective (id),
    row BLOB NOT NULL,
    value REAL NOT NULL,
    run INTEGER NOT NULL DEFAULT 0,
    calls INTEGER NOT NULL DEFAULT 0,
    amounts BLOB,
    PRIMARY KEY (objective, row)
) WITHOUT ROWID;
"""
_MIGRATIONS = {
    1: """
ALTER TABLE evaluation ADD COLUMN run INTEGER NOT NULL DEFAULT 0;
ALTER TABLE evaluation ADD COLUMN calls INTEGER NOT NULL DEFAULT 0;
""",
    2: "ALTER TABLE evaluation ADD COLUMN amounts BLOB;",
}

_CHUNK = 500  # rows asked for at once; older SQLite takes 999 parameters at most


class SQLiteCache:
    """The values of rows evaluated so far, in an SQLite file that runs and programs share.

    One file, not on a network drive, where locks do not work, holds the rows of any number of objectives; another
    version, or another n, is another objective. Several processes may use it at the same time, and wait `timeout`
    seconds for each other. ValueError for a file that is something else, OSError for one that cannot be used.

    Attributes
    ----------
    run
        Who adds rows: a random number, until a run that goes on puts its own here.
    calls
        How far this run is: the calls that it had made when its present batch began.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, n: int, objective: str, version: str = "", timeout: float = 30.0
    ) -> None:
        if n < 1:
            raise ValueError(f"expected rows of at least one bit, got n={n}")
        self.path = path
        self.n = n
        self.objective = objective
        self.version = version
        self.run = 1 + secrets.randbelow(MOST_RUNS)
        self.calls = 0
        self._connection = open_database(
            path,
            application=_APPLICATION,
            version=_VERSION,
            schema=_SCHEMA,
            what=_WHAT,
            timeout=timeout,
            migrations=_MIGRATIONS,
        )
        try:
            self._id = self._register()
        except BaseException:
            self.close()
            raise

    def find(self, rows: Bits) -> tuple[Fitness, NDArray[np.bool_]]:
        """Give the values, shape (rows,), nan where unknown, and whether they are known, shape (rows,)."""
        found = self.find_ahead(rows)
        return found.values, found.known

    def find_ahead(self, rows: Bits) -> Found:
        """Give the same, which rows this run has added itself at a point that it has not come to yet, and amounts.

        It was there in another process, which has ended since its last checkpoint.
        """
        check_bits(rows, self.n)
        keys = _keys(rows)
        found: dict[bytes, float] = {}
        ahead: set[bytes] = set()
        blobs: dict[bytes, bytes] = {}
        with errors_explained(self.path, _WHAT):
            for start in range(0, len(keys), _CHUNK):
                chunk = keys[start : start + _CHUNK]
                places = ",".join("?" * len(chunk))
                for key, value, run, calls, blob in self._connection.execute(
                    f"SELECT row, value, run, calls, amounts FROM evaluation WHERE objective = ? AND row IN ({places})",
                    (self._id, *chunk),
                ):
                    found[key] = value
                    if blob is not None:
                        blobs[key] = blob
                    if run == self.run and calls >= self.calls:
                        ahead.add(key)
        values = np.array([found.get(key, np.nan) for key in keys], dtype=np.float64)
        is_ahead = np.array([key in ahead for key in keys], dtype=np.bool_)
        amounts = self._read(values, [blobs.get(key) for key in keys]) if blobs else None
        return Found(values, ~np.isnan(values), is_ahead, amounts)

    def add(self, rows: Bits, values: Fitness, amounts: Amounts | None = None) -> None:
        """Take rows, shape (rows, n), and their values, shape (rows,); of a row already there the first value stays.

        With constraints, amounts, shape (rows, 1 + constraints), have the values first; a row that is there without
        gets them. All of them are in the file afterwards, or, after an error, none.
        """
        check_bits(rows, self.n)
        check_values(values, len(rows))
        numbers = (values if amounts is None else amounts[:, 0]).tolist()
        blobs = [None] * len(rows) if amounts is None else [row.tobytes() for row in amounts[:, 1:].astype("<f8")]
        with errors_explained(self.path, _WHAT, checked=True), transaction(self._connection):
            self._connection.executemany(
                "INSERT INTO evaluation (objective, row, value, run, calls, amounts) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (objective, row) DO UPDATE SET amounts = excluded.amounts, run = excluded.run, "
                "calls = excluded.calls WHERE amounts IS NULL AND excluded.amounts IS NOT NULL",
                (
                    (self._id, key, value, self.run, self.calls, blob)
                    for key, value, blob in zip(_keys(rows), numbers, blobs, strict=True)
                ),
            )

    def _read(self, values: Fitness, blobs: list[bytes | None]) -> Amounts:
        """Give values and amounts, shape (rows, 1 + constraints), nan for rows without."""
        sizes = {len(blob) for blob in blobs if blob is not None}
        if len(sizes) != 1 or min(sizes) % 8 or not min(sizes):
            raise ValueError(
                f"{self.path} has rows of {self.objective!r} with different numbers of constraints; give another name "
                "or version (--name, --version) to what has other constraints"
            )
        nothing = np.full(min(sizes) // 8, np.nan)
        rows = [nothing if blob is None else np.frombuffer(blob, dtype="<f8") for blob in blobs]
        amounts = np.column_stack([values, np.array(rows, dtype=np.float64).reshape(len(blobs), -1)])
        amounts[np.isnan(amounts).any(axis=1)] = np.nan
        return amounts

    def close(self) -> None:
        """Close the file; nothing can be found or added any more."""
        self._connection.close()

    def __enter__(self) -> SQLiteCache:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _register(self) -> int:
        """Give the number of the objective in this file, and write it down if it is new.

        This asks to write even when it is not: that a file is read-only is better said now than during the run.
        """
        which = (storable(self.objective), storable(self.version), self.n)
        with errors_explained(self.path, _WHAT, checked=True), transaction(self._connection):
            self._connection.execute(
                "INSERT INTO objective (name, version, n) VALUES (?, ?, ?) ON CONFLICT (name, version, n) DO NOTHING",
                which,
            )
            (number,) = self._connection.execute(
                "SELECT id FROM objective WHERE name = ? AND version = ? AND n = ?", which
            ).fetchone()
        return int(number)


def _keys(rows: Bits) -> list[bytes]:
    """Give each row as bytes, eight bits in one, the first one the highest."""
    packed = np.packbits(rows, axis=1)
    width, everything = packed.shape[1], packed.tobytes()
    return [everything[start : start + width] for start in range(0, len(everything), width)]
