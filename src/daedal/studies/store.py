"""The store of a study: one SQLite file with a row for each run.

A row has everything about a run in columns, because an analysis reads a few figures of up to 100,000 runs, and the
best values of its generations, packed. A store has no evaluations: a study cannot resume a run in its middle.
"""

from __future__ import annotations

import json
import math
import os
import platform
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daedal.result import Result
from daedal.result.records import Generation
from daedal.settings.checks import storable
from daedal.settings.lazy import missing_extra
from daedal.storage.sqlite import WAIT_SECONDS, Format, damaged, take_lock
from daedal.studies.spec import Cell, Study
from daedal.types import to_text

if TYPE_CHECKING:
    from pandas import DataFrame


DONE, FAILED, KILLED = "done", "failed", "killed"
"""How a run ended: well; by an error, or its process ended; its process was killed from outside."""

COLUMNS: dict[str, type] = {
    **dict.fromkeys(("problem", "algorithm", "preset"), str),
    **dict.fromkeys(("popsize", "budget", "seed"), int),
    "status": str,
    "success": bool,
    **dict.fromkeys(("best", "optimum"), float),
    **dict.fromkeys(("evaluations_to_best", "evaluations", "repeated", "batches", "generations"), int),
    **dict.fromkeys(("cpu_seconds_to_best", "cpu_seconds"), float),
    **dict.fromkeys(("stop", "error", "x", "settings", "content"), str),
    **dict.fromkeys(("daedal", "numpy", "numba", "python", "cpu", "finished", "cell"), str),
}
"""The columns of a run, in the file and in exports. A column that an attribute of `Result` has the name of has its
value. Problem and algorithm have the names of the study, and the preset is the algorithm's own name."""

_SQL = {str: "TEXT", bool: "INTEGER", int: "INTEGER", float: "REAL"}
_FORMAT = Format(
    "a store of studies",
    application=0x0DAEDA15,
    version=1,
    tables=(
        "CREATE TABLE studies (id INTEGER PRIMARY KEY, spec TEXT NOT NULL UNIQUE, used INTEGER NOT NULL, "
        "confirm INTEGER NOT NULL, full_grid INTEGER NOT NULL)",
        f"CREATE TABLE runs ({', '.join(f'{name} {_SQL[kind]}' for name, kind in COLUMNS.items())}, history BLOB, "
        "UNIQUE (cell, seed))",
    ),
)


@dataclass(slots=True)  # not frozen, which takes twice as long: there may be 100,000
class Run:
    """The columns of a run that an analysis needs.

    Success is None if it cannot be known, and False for a run that did not end well.
    """

    seed: int
    status: str
    success: bool | None
    best: float | None = None
    optimum: float | None = None
    evaluations_to_best: int | None = None
    cpu_seconds_to_best: float | None = None
    cpu_seconds: float | None = None
    batches: int | None = None
    evaluations: int | None = None
    error: str | None = None
    cpu: str | None = None

    def __post_init__(self) -> None:
        self.success = False if self.status != DONE else None if self.success is None else bool(self.success)


_RUN = tuple(one.name for one in fields(Run))


def as_run(result: Result) -> Run:
    """Return what an analysis needs to know of a result."""
    return _run_of({"status": DONE, **_result_columns(result)})


def _run_of(row: Mapping[str, Any]) -> Run:
    values: list[Any] = [row.get(name) for name in _RUN]
    return Run(*values)


def _result_columns(result: Result) -> dict[str, Any]:
    return {name: getattr(result, name) for name in COLUMNS if hasattr(result, name)} | {
        "best": result.score,
        "stop": result.stop.value,
        "x": to_text(result.x) if result.space is None else json.dumps(result.best),
    }


def _cell_columns(cell: Cell) -> dict[str, Any]:
    return {
        "problem": storable(cell.problem.name),
        "algorithm": storable(cell.algorithm.name),
        "preset": storable(cell.algorithm.algorithm.name),
        "popsize": cell.popsize,
        "budget": cell.budget,
        "settings": json.dumps(cell.algorithm.settings, default=repr),
        "content": json.dumps(cell.content, sort_keys=True, default=repr),
        "cell": cell.key,
    }


@cache
def environment() -> dict[str, str]:
    """Return the versions and the processor that runs are made with."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    processors = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        **{name: version(name) for name in ("daedal", "numpy", "numba")},
        "python": platform.python_version(),
        "cpu": processors[0] if processors else platform.processor() or platform.machine(),
    }


def packed_history(history: Sequence[Generation]) -> bytes:
    """Return the records by column, as compressed JSON: null for nan and infinity."""
    names = dict.fromkeys(name for record in history for name in record.info)
    columns = {name: [getattr(record, name) for record in history] for name in _RECORDED}
    columns |= {name: [record.info.get(name, math.nan) for record in history] for name in names}
    finite = {name: [one if math.isfinite(one) else None for one in column] for name, column in columns.items()}
    return zlib.compress(json.dumps(finite, separators=(",", ":")).encode())


_RECORDED = ("evaluations", "best", "mean", "cpu_seconds")


def unpacked_history(packed: bytes) -> dict[str, list[float]]:
    """Return the columns again, with nan for what is unknown or infinite; ValueError for anything else."""
    try:
        columns = json.loads(zlib.decompress(packed))
        return {name: [math.nan if one is None else float(one) for one in found] for name, found in columns.items()}
    except (zlib.error, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"the history of a run is damaged ({error})") from error


class Store:
    """The runs of studies, in a file.

    Parameters
    ----------
    path
        The file.
    create
        If True, the file is made if it is missing, and can be written. Otherwise it is only read.
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True) -> None:
        self.path = Path(path)
        self._is_written, self._is_locked = create, False
        self._connection = _FORMAT.connect(path) if create else _FORMAT.open_reader(path)
        if create:
            try:
                with _FORMAT.explained(path):
                    self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self) -> None:
        execute = self._connection.execute
        execute(f"PRAGMA busy_timeout = {1000 * WAIT_SECONDS:.0f}")
        if not _FORMAT.check(self._connection, self.path, may_be_empty=True):
            with self._writing():
                if not _FORMAT.check(self._connection, self.path, may_be_empty=True):
                    _FORMAT.create(self._connection)
        # A commit takes 0.3 ms, compared with 22 ms with SQLite's other kind of journal, and readers never wait.
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return int(self._query("SELECT count(*) FROM runs")[0][0])

    def close(self) -> None:
        """Close the file, which is then one file again, unless another process has it open."""
        if self._is_written:
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA busy_timeout = 0")
                self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from writing, for the time of a block; the lock ends with the process."""
        with _FORMAT.explained(self.path):
            take_lock(self._connection, self.path)
        self._is_locked = True
        try:
            yield
        finally:
            self._is_locked = False
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write everything in the block, or nothing of it."""
        with _FORMAT.explained(self.path):
            if not self._connection.in_transaction:
                self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:  # a full disk ends the transaction
                    self._connection.execute("ROLLBACK")
                if self._is_locked:
                    self._connection.execute("BEGIN IMMEDIATE")

    # ------------------------------------------------------------ studies

    def remember(self, study: Study, *, confirm: int | None = None, full_grid: bool | None = None) -> tuple[int, bool]:
        """Keep the description of a study, so that tables need the store alone.

        Return the number of runs that confirm its choices, and whether its grid is run in full. None keeps what held.
        """
        with self._writing():
            self._connection.execute(
                "INSERT INTO studies (spec, used, confirm, full_grid) "
                "VALUES (:spec, (SELECT coalesce(max(used), 0) + 1 FROM studies), coalesce(:confirm, 0), "
                "coalesce(:full_grid, 0)) "
                "ON CONFLICT (spec) DO UPDATE SET used = excluded.used, confirm = coalesce(:confirm, confirm), "
                "full_grid = coalesce(:full_grid, full_grid)",
                {"spec": _spec(study), "confirm": confirm, "full_grid": full_grid},
            )
        return self.remembered(study)

    def remembered(self, study: Study) -> tuple[int, bool]:
        """Return the number of runs that confirm a study's choices, and whether its grid is run in full."""
        found = self._query("SELECT confirm, full_grid FROM studies WHERE spec = ?", _spec(study))
        kept, full = found[0] if found else (0, 0)
        return int(kept), bool(full)

    def studies(self) -> list[int]:
        """Return the numbers of the studies, the one that was last run at the end."""
        return [number for (number,) in self._query("SELECT id FROM studies ORDER BY used")]

    def study(self, number: int | None = None) -> tuple[Study, int, bool]:
        """Return one of `studies`, by default the last one, with what `remembered` returns for it."""
        known = self.studies()
        if not known:
            raise ValueError(f"{self.path} has no study; run one with it: daedal study run")
        if number is not None and number not in known:
            raise ValueError(f"{self.path} has no study {number}; it has {', '.join(map(str, sorted(known)))}")
        ((spec, confirm, full_grid),) = self._query(
            "SELECT spec, confirm, full_grid FROM studies WHERE id = ?", known[-1] if number is None else number
        )
        try:
            return Study.restored(json.loads(spec)), int(confirm), bool(full_grid)
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            raise damaged(self.path, error) from error

    # ------------------------------------------------------------ runs

    def record(self, cell: Cell, seed: int, outcome: Result | str, *, status: str = DONE) -> Run:
        """Write a run that has ended, with its result or its error; one that ended well is never overwritten."""
        row: dict[str, Any] = _result_columns(outcome) if isinstance(outcome, Result) else {"error": storable(outcome)}
        row |= {**_cell_columns(cell), **environment(), "seed": seed, "status": status}
        row |= {"finished": datetime.now(UTC).isoformat(timespec="seconds")}
        values = [row.get(name) for name in COLUMNS]
        packed = packed_history(outcome.history) if isinstance(outcome, Result) else None
        with self._writing():
            self._insert([*values, packed], replaces=True)
        return _run_of(row)

    def _insert(self, values: Sequence[Any], *, replaces: bool) -> bool:
        """Insert a run if there is none, or if it replaces one that did not end well."""
        names = [*COLUMNS, "history"]
        place = values[names.index("cell")], values[names.index("seed")]
        if replaces:
            self._connection.execute("DELETE FROM runs WHERE cell = ? AND seed = ? AND status <> 'done'", place)
        places = ", ".join("?" * len(names))
        insert = f"INSERT OR IGNORE INTO runs ({', '.join(names)}) VALUES ({places})"
        return bool(self._connection.execute(insert, values).rowcount)

    def merge(self, path: str | os.PathLike[str]) -> int:
        """Take the runs and studies of another store that this one does not have; return the number of runs.

        A run that failed here is replaced by one that ended well there.
        """
        if os.path.exists(path) and os.path.samefile(path, self.path):
            raise ValueError(f"a store cannot be merged into itself: {path}")
        with Store(path, create=False) as other, other.at_one_moment(), self._writing():
            execute, taken = self._connection.execute, 0
            status = list(COLUMNS).index("status")
            for row in other._select([*COLUMNS, "history"]):
                taken += self._insert(row, replaces=row[status] == DONE)
            ((first,),) = execute("SELECT coalesce(min(used), 1) FROM studies")
            theirs = other._query("SELECT spec, confirm, full_grid FROM studies ORDER BY used DESC")
            for place, values in enumerate(theirs, start=1):
                execute(  # as if they had been run before those that are here
                    "INSERT INTO studies (used, spec, confirm, full_grid) VALUES (?, ?, ?, ?) "
                    "ON CONFLICT (spec) DO UPDATE SET confirm = max(confirm, excluded.confirm), "
                    "full_grid = max(full_grid, excluded.full_grid)",
                    (first - place, *values),
                )
        return taken

    def runs(self) -> dict[str, dict[int, Run]]:
        """Return all runs, by the key of their cell and their seed."""
        found: dict[str, dict[int, Run]] = {}
        for key, *values in self._select(["cell", *_RUN]):
            found.setdefault(key, {})[values[0]] = Run(*values)
        return found

    def rows(self) -> Iterator[dict[str, Any]]:
        """Return all columns of all runs, in the order in which they ended.

        Problems and algorithms have the names of the study with them that was last run.
        """
        names: dict[str, tuple[str, str]] = {}
        for number in self.studies():
            names |= {cell.key: (cell.problem.name, cell.algorithm.name) for cell in self.study(number)[0].cells()}
        for values in self._select(COLUMNS):
            row = dict(zip(COLUMNS, values, strict=True))
            row["success"] = None if row["success"] is None else bool(row["success"])
            row["problem"], row["algorithm"] = names.get(row["cell"], (row["problem"], row["algorithm"]))
            yield row

    def histories(self, keys: Iterable[str]) -> dict[str, dict[int, bytes]]:
        """Return the packed histories of some cells, by the key of the cell and the seed; see `unpacked_history`."""
        query = "SELECT seed, history FROM runs WHERE cell = ? AND history IS NOT NULL"
        return {key: dict(self._query(query, key)) for key in keys}

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """Read the file as it is now for the time of a block, although another process may write it."""
        with _FORMAT.explained(self.path):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("ROLLBACK")

    def _select(self, names: Iterable[str]) -> Iterator[Any]:
        with _FORMAT.explained(self.path):
            cursor = self._connection.execute(f"SELECT {', '.join(names)} FROM runs ORDER BY rowid")
            while found := cursor.fetchmany(1000):  # which leaves nothing to be closed later than the connection
                yield from found

    def _query(self, sql: str, *values: object) -> list[Any]:
        with _FORMAT.explained(self.path):
            return self._connection.execute(sql, values).fetchall()


def _spec(study: Study) -> str:
    return json.dumps(study.as_dict(), sort_keys=True, default=repr)


def frame_of(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, type]) -> DataFrame:
    """Return rows as a data frame whose columns and types do not depend on the rows."""
    try:
        import pandas
    except ImportError as error:
        raise missing_extra("a data frame needs pandas", "frame") from error
    kinds, listed = {bool: "boolean", int: "Int64", float: "float64"}, list(rows)
    return pandas.DataFrame(
        {
            name: pandas.Series([row[name] for row in listed], dtype=kinds.get(kind, "object"))
            for name, kind in columns.items()
        }
    )
