"""Run files: a run on disk, in one SQLite file that is appended to as values arrive.

The file has the description of the run and its evaluations in the order of arrival, so it is the checkpoint, the saved
run, the input of reports and the memory of other runs in one. A study's store has the same tables with many runs. Any
SQLite tool can read a file, also while it is written. Nothing in a file can run code when daedal reads it.
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from itertools import chain, repeat
from types import TracebackType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.settings.checks import printable, storable
from daedal.storage.sqlite import WAIT_SECONDS, Format, damaged, result_code, take_lock
from daedal.types import Json

Key: TypeAlias = bytes | str
"""A candidate as the objective sees it: packed bits, or the values of a space by name as JSON; see `run.known`."""

DEFINING = (
    "objective", "spec", "constraints", "n", "space", "names", "minimize", "algorithm", "kind", "settings", "seed",
    "noise", "shuffle", "initial",
)  # fmt: skip
"""The parts of a description that say which run it is. Others, such as limits and workers, may change."""

COMMIT_SECONDS = 0.2
"""Seconds of evaluations that may be lost when the process is killed."""

_FORMAT = Format(
    "a run of daedal",
    application=0x44614552,  # "DaER"
    version=1,
    tables=(
        "CREATE TABLE runs (id INTEGER PRIMARY KEY, description TEXT NOT NULL, started TEXT NOT NULL, outcome TEXT, "
        "trace BLOB)",
        "CREATE TABLE evaluations (run INTEGER NOT NULL, number INTEGER NOT NULL, candidate NOT NULL, value REAL, "
        "outputs BLOB, error TEXT, known INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (run, number)) WITHOUT ROWID",
        "CREATE TABLE records (run INTEGER NOT NULL, generation INTEGER NOT NULL, figures TEXT NOT NULL, "
        "PRIMARY KEY (run, generation)) WITHOUT ROWID",
        "CREATE TABLE budgets (run INTEGER NOT NULL, number INTEGER NOT NULL, max_evaluations INTEGER, "
        "PRIMARY KEY (run, number)) WITHOUT ROWID",
    ),
)

_PIECE = 2**15  # evaluations that are read at once: a commit waits for as long as that takes, 20 ms
_GROUP = 150
"""Evaluations that one statement inserts: 0.9 us each, compared with 2.2 us one by one (n = 100, SQLite 3.40)."""

_COLUMNS = ("run", "number", "candidate", "value", "outputs", "error", "known")


_Chunk: TypeAlias = tuple[Sequence[int], list[Key], list[float | None], Any, Any, bool]


class Evaluation(NamedTuple):
    """An evaluation in a file: `value` is None if it failed, and `error` says why; `known` values were not paid for."""

    key: Key
    value: float | None
    outputs: tuple[float, ...] | None
    error: str | None
    known: bool


class RunFile:
    """A run in a file; `open_run` opens it to write, `read_run` to read.

    A writer keeps SQLite's lock of writers from one commit to the next, so that there is only one, and that the lock
    ends with the process. Readers can read all the time but for the milliseconds of a commit.

    Attributes
    ----------
    path
        The file, as it was named.
    run
        The number of the run in the file.
    description
        What the run is.
    started
        When it began: date and time in UTC, ISO 8601.
    count
        The number that the next evaluation gets, 0 for the first one.
    """

    def __init__(self, path: str | os.PathLike[str], connection: sqlite3.Connection, run: int) -> None:
        self.path = path
        self.run = run
        self._connection = connection
        self._is_open = True
        self._chunks: list[_Chunk] = []
        self._pending: list[tuple[str, tuple[Any, ...]]] = []  # other statements
        self._committed, self._interval = time.monotonic(), COMMIT_SECONDS
        description, self.started, outcome = self._row("description, started, outcome")
        self.description = _read_json(description, path)
        self._has_outcome = outcome is not None
        ((last,),) = self._query("SELECT max(number) FROM evaluations WHERE run = ?", run)
        if not isinstance(last, int | None):
            raise damaged(path, "the numbers of evaluations")
        self.count = 0 if last is None else max(0, last + 1)

    # ------------------------------------------------------------ writing

    def append(
        self,
        keys: Sequence[Key],
        values: Sequence[float | None],
        outputs: Sequence[Sequence[float] | None] | None = None,
        errors: Sequence[str | None] | None = None,
        *,
        numbers: Sequence[int] | None = None,
        known: bool = False,
    ) -> None:
        """Append evaluations; they are on disk 0.2 seconds later, at the next call, or after `flush`.

        Parameters
        ----------
        keys, values
            Candidates, and the objective's own values; None, or nan, for an evaluation that failed.
        outputs, errors
            Constraint values of each candidate, and what failed evaluations raised.
        numbers
            Their numbers in the run, by default the next ones; an evaluation that has such a number is replaced.
        known
            If True, the values come from elsewhere; their numbers are below 0.
        """
        given = values.tolist() if isinstance(values, np.ndarray) else list(values)
        first, size = self.count, len(given)
        if numbers is None:
            numbers = range(first, first + size)
        if not len(keys) == size == len(numbers):
            raise ValueError(f"{len(keys)} candidates need {len(keys)} values; got {size}")
        if not size:
            return
        if self._has_outcome:  # the run continues
            self._later("UPDATE runs SET outcome = NULL, trace = NULL WHERE id = ?", self.run)
            self._has_outcome = False
        self.count = max(first, (max(numbers[0], numbers[-1]) if isinstance(numbers, range) else max(numbers)) + 1)
        if isinstance(outputs, np.ndarray):
            outputs = outputs.tolist()
        self._chunks.append((numbers, list(keys), given, outputs, errors, known))
        if time.monotonic() - self._committed >= self._interval:
            self.flush()

    def record(self, generation: int, figures: Mapping[str, Json]) -> None:
        """Append the figures of a generation; a generation that is there already is replaced."""
        self._later("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", self.run, generation, json.dumps(figures))

    def set_budget(self, max_evaluations: int | None, number: int | None = None) -> None:
        """Note the budget that holds from an evaluation on, by default the next one."""
        self.flush()
        number = self.count if number is None else number
        max_evaluations = None if max_evaluations is None else int(max_evaluations)  # not one of NumPy
        holds = [most for start, most in self.budgets if start <= number]
        if not holds or holds[-1] != max_evaluations:
            self._later("INSERT OR REPLACE INTO budgets VALUES (?, ?, ?)", self.run, number, max_evaluations)
            self.flush()

    def finish(self, outcome: Mapping[str, Json], trace: Mapping[str, NDArray[Any]] | None = None) -> None:
        """Write how the run ended. The next evaluation that is appended removes it: the run continues."""
        packed = None
        if trace is not None:
            if odd := [name for name, array in trace.items() if np.asarray(array).dtype.hasobject]:
                raise TypeError(f"expected arrays of numbers or texts in a trace, got objects in {odd[0]!r}")
            buffer = io.BytesIO()
            np.savez_compressed(buffer, **dict(trace))  # type: ignore[arg-type]
            packed = buffer.getvalue()
        self.flush()
        self._later("UPDATE runs SET outcome = ?, trace = ? WHERE id = ?", json.dumps(outcome), packed, self.run)
        self.flush()
        self._has_outcome = True

    def flush(self) -> None:
        """Put everything on disk now.

        If a reader stays in the way for more than two seconds, it is kept in memory until the next time.
        """
        with suppress(_ReaderError):
            self._write()
        self._committed = time.monotonic()

    def close(self) -> None:
        """Put everything on disk and close the file."""
        if self._is_open:
            self._is_open = False
            try:
                self._connection.execute("PRAGMA busy_timeout = 10000")  # the last chance
                self._write()
            finally:
                self._connection.close()

    def __enter__(self) -> RunFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _later(self, statement: str, *values: Any) -> None:
        self._pending.append((statement, values))

    def _write(self) -> None:
        """Write everything in one transaction; after an error, everything is kept for the next attempt.

        Everything may be written twice, because an interrupt can come right after the commit.
        """
        chunks, pending = len(self._chunks), len(self._pending)
        if not chunks and not pending:
            return
        with _FORMAT.explained(self.path):
            try:
                if not self._connection.in_transaction:
                    self._connection.execute("BEGIN IMMEDIATE")
                self._insert(self._chunks[:chunks])
                for statement, values in self._pending[:pending]:
                    self._connection.execute(statement, values)
                begun = time.monotonic()
                self._connection.execute("COMMIT")
                # If the disk is slow, a fifth of the time is the most that it may take.
                self._interval = max(COMMIT_SECONDS, 4 * (time.monotonic() - begun))
            except BaseException as error:
                if self._connection.in_transaction:  # a full disk ends the transaction
                    self._connection.execute("ROLLBACK")
                if result_code(error) == sqlite3.SQLITE_BUSY:
                    raise _ReaderError(f"cannot write {self.path}: another process keeps it locked") from error
                raise
            finally:
                with suppress(sqlite3.Error):  # the next attempt takes the lock, or says why not
                    self._connection.execute("BEGIN IMMEDIATE")
            del self._chunks[:chunks], self._pending[:pending]

    def _insert(self, chunks: Sequence[_Chunk]) -> None:
        plain: list[Any] = []  # number, key, value, number, key, value, ...
        full: list[Any] = []  # the same with the other columns
        for numbers, keys, values, outputs, errors, known in chunks:
            if outputs is None and errors is None and not known:
                plain += chain.from_iterable(zip(numbers, keys, values, strict=True))
                continue
            packed = repeat(None, len(keys)) if outputs is None else map(_packed, outputs)
            texts = repeat(None, len(keys)) if errors is None else (text and storable(text) for text in errors)
            marks = repeat(int(known), len(keys))
            full += chain.from_iterable(zip(numbers, keys, values, packed, texts, marks, strict=True))
        execute = self._connection.execute
        for flat, columns in ((plain, _COLUMNS[:4]), (full, _COLUMNS)):
            one, step = f"({self.run:d}{', ?' * (len(columns) - 1)})", (len(columns) - 1) * _GROUP
            for at in range(0, len(flat), step):
                piece = flat[at : at + step]
                rows = ", ".join([one] * (_GROUP * len(piece) // step))
                execute(f"INSERT OR REPLACE INTO evaluations ({', '.join(columns)}) VALUES {rows}", piece)

    # ------------------------------------------------------------ reading: what is on disk

    def evaluations(self) -> Iterator[Evaluation]:
        """Return the evaluations in the order of their numbers; known ones, with numbers below 0, come first."""
        for columns in self.pieces():
            yield from map(Evaluation._make, zip(*columns, strict=True))

    def pieces(self) -> Iterator[tuple[Sequence[Any], ...]]:
        """Return the evaluations piece by piece, as columns in the order of the fields of `Evaluation`."""
        n, start = self.description.get("n"), -(2**62)
        size = (n + 7) // 8 if isinstance(n, int) and self.description.get("space") is None else None
        while piece := self._query(
            "SELECT candidate, value, outputs, error, known, number FROM evaluations "
            "WHERE run = ? AND number >= ? ORDER BY number LIMIT ?", self.run, start, _PIECE,
        ):  # fmt: skip
            keys, values, outputs, errors, known, numbers = zip(*piece, strict=True)
            lengths = {len(key) if isinstance(key, bytes) else None for key in keys}
            if (
                {*map(type, keys)} - {bytes, str}
                or (size is not None and lengths != {size})
                or {*map(type, values)} - {float, type(None)}
                or {*map(type, errors)} - {str, type(None)}
            ):
                raise ValueError(f"{self.path} is damaged (in the evaluations from number {start} on)")
            start = numbers[-1] + 1
            if any(outputs):
                outputs = tuple(_unpacked(blob, self.path) for blob in outputs)
            yield keys, values, outputs, errors, [*map(bool, known)]

    @property
    def outcome(self) -> dict[str, Any] | None:
        """How the run ended; None if it has not."""
        (text,) = self._row("outcome")
        return None if text is None else _read_json(text, self.path)

    @property
    def trace(self) -> dict[str, NDArray[Any]] | None:
        """The arrays that were kept with the outcome; None if there are none."""
        (packed,) = self._row("trace")
        if packed is None:
            return None
        try:
            with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files}
        except Exception as error:  # NumPy and zipfile raise anything
            raise damaged(self.path, error) from error

    @property
    def records(self) -> list[dict[str, Any]]:
        """The figures of all generations, in their order, each with its `generation`."""
        rows = self._query("SELECT generation, figures FROM records WHERE run = ? ORDER BY generation", self.run)
        return [{"generation": generation, **_read_json(text, self.path)} for generation, text in rows]

    @property
    def budgets(self) -> list[tuple[int, int | None]]:
        """The evaluations from which budgets hold, and the budgets, in the order of time."""
        rows = self._query("SELECT number, max_evaluations FROM budgets WHERE run = ? ORDER BY number", self.run)
        if not all(isinstance(at, int) and (most is None or (isinstance(most, int) and most > 0)) for at, most in rows):
            raise damaged(self.path, "budgets")
        return rows

    def _row(self, columns: str) -> tuple[Any, ...]:
        rows = self._query(f"SELECT {columns} FROM runs WHERE id = ?", self.run)
        if not rows:
            raise ValueError(f"{self.path} has no run {self.run}")
        return tuple(rows[0])

    def _query(self, statement: str, *values: Any) -> list[Any]:
        with _FORMAT.explained(self.path):
            return self._connection.execute(statement, values).fetchall()


def open_run(path: str | os.PathLike[str], description: Mapping[str, Json], *, among_others: bool = False) -> RunFile:
    """Open a file to record a run: a new one, or one that holds the same run, which then continues.

    Parts of the description that do not define the run replace those in the file. ValueError for a file that holds
    another run, that is none of daedal, or that another process writes. With `among_others`, the run is added to those
    that are there.
    """
    text = json.dumps(description)
    wanted = json.loads(text)
    connection = _FORMAT.connect(path)
    try:
        with _FORMAT.explained(path):
            take_lock(connection, path)
            connection.execute(f"PRAGMA busy_timeout = {1000 * WAIT_SECONDS:.0f}")
            if not _FORMAT.check(connection, path, may_be_empty=True):
                _FORMAT.create(connection)
            found = connection.execute("SELECT id, description FROM runs ORDER BY id").fetchall()
            differences = {run: _difference(_read_json(held, path), wanted) for run, held in found}
            run = next((run for run, difference in differences.items() if difference is None), None)
            if run is None and found and not among_others:
                what = f"another run ({differences[found[0][0]]})" if len(found) == 1 else f"{len(found)} other runs"
                raise ValueError(f"{path} holds {what}; name another file or delete it")
            if run is None:
                started = datetime.now(UTC).isoformat(timespec="seconds")
                new = connection.execute("INSERT INTO runs (description, started) VALUES (?, ?)", (text, started))
                run = int(new.lastrowid or 0)
            elif json.loads(dict(found)[run]) != wanted:
                connection.execute("UPDATE runs SET description = ? WHERE id = ?", (text, run))
            if connection.total_changes:
                connection.execute("COMMIT")
                connection.execute("BEGIN IMMEDIATE")
        return RunFile(path, connection, run)
    except BaseException:
        connection.close()
        raise


def read_run(path: str | os.PathLike[str], run: int | None = None) -> RunFile:
    """Open a file to read one of its runs, by default the last one. The file may be written at the same time."""
    numbers = run_numbers(path) if run is None else [run]
    if not numbers:
        raise ValueError(f"{path} has no runs")
    connection = _FORMAT.open_reader(path)
    try:
        return RunFile(path, connection, numbers[-1])
    except BaseException:
        connection.close()
        raise


def run_numbers(path: str | os.PathLike[str]) -> list[int]:
    """Return the numbers of the runs in a file."""
    with closing(_FORMAT.open_reader(path)) as connection, _FORMAT.explained(path):
        return [run for (run,) in connection.execute("SELECT id FROM runs ORDER BY id")]


def _difference(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    """Say what differs between two descriptions; None if they are of the same run."""

    def text(value: object, name: str) -> str:  # the order of the variables in a space counts
        return json.dumps(value, sort_keys=name != "space")

    for name in DEFINING:
        old, new, where = held.get(name), wanted.get(name), name
        while text(old, name) != text(new, name):
            if not isinstance(old, dict) or not isinstance(new, dict):
                return f"{where} {_shown(old)}, not {_shown(new)}"
            parts = [part for part in (*old, *new) if text(old.get(part), "") != text(new.get(part), "")]
            if not parts:
                return f"another order in {where}"
            old, new, where = old.get(parts[0]), new.get(parts[0]), f"{where} {parts[0]}"
    return None


def _shown(value: object) -> str:
    text = "none" if value is None else value if isinstance(value, str) else json.dumps(value)
    return printable(text if len(text) <= 60 else f"{text[:60]}...")


def _read_json(text: object, path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        value = json.loads(text)  # type: ignore[arg-type]
    except (ValueError, TypeError, RecursionError) as error:
        raise damaged(path, error) from error
    if not isinstance(value, dict):
        raise damaged(path, f"unexpected {_shown(value)}")
    return value


def _packed(outputs: Sequence[float] | None) -> bytes | None:
    return None if outputs is None else struct.pack(f"<{len(outputs)}d", *outputs)


def _unpacked(blob: object, path: str | os.PathLike[str]) -> tuple[float, ...] | None:
    if blob is None:
        return None
    if not isinstance(blob, bytes) or len(blob) % 8:
        raise damaged(path, "constraint values of an evaluation")
    return struct.unpack(f"<{len(blob) // 8}d", blob)


class _ReaderError(TimeoutError):
    """A commit that has to wait for a reader."""
