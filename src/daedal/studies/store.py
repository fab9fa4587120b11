"""The store of a study: one file that keeps its runs."""

from __future__ import annotations

import json
import math
import os
import platform
import sqlite3
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daedal.result import Result
from daedal.result.records import Generation
from daedal.settings.checks import storable
from daedal.settings.lazy import missing_extra
from daedal.storage.sqlite import close_after, errors_explained, open_database, transaction
from daedal.studies.spec import Cell, Study, recall_algorithms
from daedal.types import to_text

if TYPE_CHECKING:
    from pandas import DataFrame


DONE, FAILED, KILLED = "done", "failed", "killed"

_COLUMNS = """
problem algorithm preset popsize budget seed status success best optimum evaluations_to_best evaluations
repeated batches generations cpu_seconds_to_best cpu_seconds stop error x settings content daedal numpy numba
python cpu finished cell
"""
_WHOLE = "popsize budget seed evaluations_to_best evaluations repeated batches generations"
COLUMNS: dict[str, type] = {
    **dict.fromkeys(_COLUMNS.split(), str),
    "success": bool,
    **dict.fromkeys(_WHOLE.split(), int),
    **dict.fromkeys(("best", "optimum", "cpu_seconds_to_best", "cpu_seconds"), float),
}
"""What is known of a run. Problem and algorithm are called as in the study; the preset is the algorithm's own name."""

_LARGEST_HISTORY = 2**28
"""Bytes of JSON, however few they are in the file: those of a million generations."""


@dataclass(slots=True)  # not frozen, which takes twice as long: there may be 100,000
class Run:
    """What the analysis needs to know of a run.

    Failed: it raised, or ended its process; killed: its process was killed from outside. Success is None where it
    cannot be known, False for a run that did not end well.
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
    generations: int | None = None
    evaluations: int | None = None
    repeated: int | None = None
    error: str | None = None
    cpu: str | None = None


def packed_history(history: Sequence[Generation]) -> bytes:
    """Give the records by column, as JSON, compressed: any program can read it."""
    columns: dict[str, list[float | None]] = {
        name: [_finite(getattr(record, name)) for record in history]
        for name in ("evaluations", "best", "mean", "cpu_seconds")
    }
    names = dict.fromkeys(name for record in history for name in record.info)
    columns |= {name: [_finite(record.info.get(name, math.nan)) for record in history] for name in names}
    return zlib.compress(json.dumps(columns, separators=(",", ":"), allow_nan=False).encode())


def unpacked_history(packed: bytes, *, largest: int = _LARGEST_HISTORY) -> dict[str, list[float]]:
    """Give the columns again, nan for what is unknown or infinite; ValueError for anything else than a history."""
    try:
        opened = zlib.decompressobj()
        text = opened.decompress(packed, largest)
        if opened.unconsumed_tail:
            raise ValueError(f"it has more than {largest:,} bytes")
        columns = json.loads(text)
        return {name: [math.nan if one is None else float(one) for one in found] for name, found in columns.items()}
    except (zlib.error, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"expected the history of a run, got none: {error}") from error


def _finite(value: float) -> float | None:
    """JSON has no infinity and no nan."""
    return value if math.isfinite(value) else None


APPLICATION = 0x0DAEDA15
VERSION = 1

_CELL = """id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, problem TEXT NOT NULL, algorithm TEXT NOT NULL,
    popsize INTEGER, settings TEXT NOT NULL, content TEXT NOT NULL"""
_RESULTS = """
CREATE VIEW results AS
    SELECT problem, algorithm, popsize, budget, seed, status, success, best, optimum, evaluations_to_best, evaluations,
        repeated, batches, generations, cpu_seconds_to_best, cpu_seconds, stop, error, x, settings, content,
        daedal, numpy, numba, python, cpu, finished, runs.id AS run
    FROM runs JOIN cells ON cells.id = cell JOIN environments ON environments.id = environment;
"""
SCHEMA = f"""
CREATE TABLE studies (
    id INTEGER PRIMARY KEY, spec TEXT NOT NULL UNIQUE, used INTEGER NOT NULL, confirm INTEGER NOT NULL,
    full_grid INTEGER NOT NULL
);
CREATE TABLE cells (
    {_CELL}, budget INTEGER
);
CREATE TABLE environments (
    id INTEGER PRIMARY KEY, daedal TEXT NOT NULL, numpy TEXT NOT NULL, numba TEXT NOT NULL, python TEXT NOT NULL,
    cpu TEXT NOT NULL, UNIQUE (daedal, numpy, numba, python, cpu)
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, cell INTEGER NOT NULL REFERENCES cells, seed INTEGER NOT NULL, status TEXT NOT NULL,
    success INTEGER, best REAL, optimum REAL, evaluations_to_best INTEGER, evaluations INTEGER,
    repeated INTEGER, generations INTEGER, cpu_seconds_to_best REAL, cpu_seconds REAL, stop TEXT, error TEXT,
    x TEXT, environment INTEGER NOT NULL REFERENCES environments, finished TEXT NOT NULL, batches INTEGER,
    UNIQUE (cell, seed)
);
CREATE TABLE histories (run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE, history BLOB NOT NULL);
{_RESULTS}
"""
_OUTCOME = (
    "seed, status, success, best, optimum, evaluations_to_best, evaluations, repeated, batches, "
    "generations, cpu_seconds_to_best, cpu_seconds, stop, error, x, finished"
)
TAKE_RUNS = f"""INSERT OR IGNORE INTO runs (cell, environment, {_OUTCOME})
    SELECT cells.id, environments.id, {_OUTCOME}
    FROM other.runs AS their JOIN other.cells AS theirs ON theirs.id = their.cell
        JOIN cells ON cells.key = theirs.key
        JOIN other.environments AS made ON made.id = their.environment
        JOIN environments USING (daedal, numpy, numba, python, cpu)"""
TAKE_OVER = (  # from the database that is attached as "other"
    "INSERT OR IGNORE INTO cells (key, problem, algorithm, popsize, budget, settings, content) "
    "SELECT key, problem, algorithm, popsize, budget, settings, content FROM other.cells",
    "INSERT OR IGNORE INTO environments (daedal, numpy, numba, python, cpu) "
    "SELECT daedal, numpy, numba, python, cpu FROM other.environments",
    # What did not end well here gives way to what did there.
    f"""DELETE FROM runs WHERE status <> '{DONE}' AND EXISTS (
        SELECT 1 FROM other.runs AS their JOIN other.cells AS theirs ON theirs.id = their.cell
            JOIN cells ON cells.key = theirs.key
        WHERE cells.id = runs.cell AND their.seed = runs.seed AND their.status = '{DONE}')""",
    TAKE_RUNS,
    """INSERT OR IGNORE INTO histories (run, history)
    SELECT runs.id, their_history.history
    FROM other.histories AS their_history JOIN other.runs AS their ON their.id = their_history.run
        JOIN other.cells AS theirs ON theirs.id = their.cell JOIN cells ON cells.key = theirs.key
        JOIN runs ON runs.cell = cells.id AND runs.seed = their.seed AND runs.status = their.status""",
    # They count as run before those that are here.
    """INSERT INTO studies (spec, used, confirm, full_grid)
    SELECT spec, used - (SELECT max(used) FROM other.studies) + coalesce((SELECT min(used) FROM studies), 1) - 1,
        confirm, full_grid
    FROM other.studies WHERE true
    ON CONFLICT (spec) DO UPDATE SET confirm = max(confirm, excluded.confirm),
        full_grid = max(full_grid, excluded.full_grid)""",
)


@cache
def environment() -> dict[str, str]:
    """Say what runs are made with: versions, and the processor."""
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


_NULLABLE = {bool: "boolean", int: "Int64", float: "float64"}
"""What pandas calls columns in which values may be missing; texts are what they are."""


def runs_frame(rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """Give what is known of runs, see `COLUMNS`, one row a run."""
    return frame_of(rows, COLUMNS)


def frame_of(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, type]) -> DataFrame:
    """Give rows as a data frame whose columns and types do not depend on which rows there are."""
    try:
        import pandas
    except ImportError as error:
        raise missing_extra("a data frame needs pandas", "frame") from error
    listed = list(rows)
    return pandas.DataFrame(
        {
            name: pandas.Series([row[name] for row in listed], dtype=_NULLABLE.get(kind, "object"))
            for name, kind in columns.items()
        }
    )


_WHAT = "a store of study results"
_RUN = (
    "SELECT key, environment, seed, status, success, best, optimum, evaluations_to_best, cpu_seconds_to_best, "
    "cpu_seconds, batches, generations, evaluations, repeated, error FROM runs JOIN cells ON cells.id = cell"
)
_HISTORY = "FROM histories JOIN runs ON runs.id = run JOIN cells ON cells.id = cell"


class Store:
    """The runs of studies, in a file.

    `create` makes it where it is missing, and brings an older one up to date; otherwise it is only read. `timeout` is
    how many seconds to wait for another process that keeps the file locked.
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True, timeout: float = 5.0) -> None:
        self.path = Path(path)
        self._connection = open_database(
            path,
            application=APPLICATION,
            version=VERSION,
            schema=SCHEMA,
            what=_WHAT,
            create=create,
            read_only=not create,
            timeout=timeout,
        )

    def __enter__(self) -> Store:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        close_after(self._connection, error)

    def __len__(self) -> int:
        """Give the number of runs."""
        return int(self._query("SELECT count(*) FROM runs")[0][0])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def remember(self, study: Study, *, confirm: int | None = None, full_grid: bool | None = None) -> tuple[int, bool]:
        """Keep what a study is, so that tables need the store alone.

        How many runs confirm its choices, and whether its grid is run in full, stays as it was where it is not given;
        both are given back.
        """
        spec = _spec(study)
        with self._writing():
            self._connection.execute(
                "INSERT INTO studies (spec, used, confirm, full_grid) "
                "VALUES (:spec, (SELECT coalesce(max(used), 0) + 1 FROM studies), coalesce(:confirm, 0), "
                "coalesce(:full_grid, 0)) "
                "ON CONFLICT (spec) DO UPDATE SET used = excluded.used, confirm = coalesce(:confirm, confirm), "
                "full_grid = coalesce(:full_grid, full_grid)",
                {"spec": spec, "confirm": confirm, "full_grid": full_grid},
            )
        return self.remembered(study)

    def remembered(self, study: Study) -> tuple[int, bool]:
        """Give how many runs confirm a study's choices, and whether its grid is run in full; neither if it is new."""
        found = self._query("SELECT confirm, full_grid FROM studies WHERE spec = ?", (_spec(study),))
        kept, full = found[0] if found else (0, 0)
        return int(kept), bool(full)

    def studies(self) -> list[int]:
        """Give the numbers of the studies that were run, the last one last."""
        return [number for (number,) in self._query("SELECT id FROM studies ORDER BY used")]

    def study(self, number: int | None = None) -> tuple[Study, int, bool]:
        """Give one of `studies` (None: the last), how many runs confirm its choices, and whether its grid is full."""
        known = self.studies()
        if not known:
            raise ValueError(f"expected a study in {self.path}, but none was run with it; see daedal study run")
        if number is not None and number not in known:
            numbers = ", ".join(map(str, sorted(known)))
            raise ValueError(f"expected the number of a study in {self.path}, one of {numbers}, got {number}")
        chosen = known[-1] if number is None else number
        ((spec, confirm, full_grid),) = self._query(
            "SELECT spec, confirm, full_grid FROM studies WHERE id = ?", (chosen,)
        )
        try:
            given = json.loads(spec)
            recall_algorithms(given, lambda: self._query("SELECT algorithm, content FROM cells"))
            return Study.from_dict(given, stored=True), int(confirm), bool(full_grid)
        except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            raise ValueError(f"expected a study in {self.path}, but it cannot be read: {error}") from error

    def record(self, cell: Cell, seed: int, outcome: Result | str, *, status: str = DONE) -> None:
        """Write a run that has ended, with its result or its error, in one transaction.

        A run that ended well is never overwritten; one that did not is, and has no history.
        """
        row = {"error": storable(outcome)} if isinstance(outcome, str) else _row(outcome)
        row |= {"seed": seed, "status": status, "finished": datetime.now(UTC).isoformat(timespec="seconds")}
        execute = self._connection.execute
        with self._writing():
            row |= {"cell": self._cell(cell), "environment": self._environment()}
            execute("DELETE FROM runs WHERE cell = ? AND seed = ? AND status <> ?", (row["cell"], seed, DONE))
            places = ", ".join("?" * len(row))
            cursor = execute(f"INSERT OR IGNORE INTO runs ({', '.join(row)}) VALUES ({places})", tuple(row.values()))
            if isinstance(outcome, Result) and cursor.rowcount:
                execute("INSERT INTO histories VALUES (?, ?)", (cursor.lastrowid, packed_history(outcome.history)))

    def take_over(self, other: str | os.PathLike[str]) -> int:
        """Take the runs, and the studies, of another store that this one does not have; how many runs it took.

        A run that failed here gives way to one that ended well there.
        """
        if Path(other).exists() and Path(other).samefile(self.path):
            raise ValueError(f"expected another store than {self.path} itself")
        with tempfile.TemporaryDirectory() as folder, Store(other, create=False) as theirs:
            copy = Path(folder) / "copy.db"  # of one moment: whoever writes there need not wait
            with errors_explained(other, _WHAT), closing(sqlite3.connect(copy)) as target:
                theirs._connection.backup(target)
            self._connection.execute("ATTACH ? AS other", (str(copy),))
            try:
                with errors_explained(f"{self.path} or {other}", _WHAT, checked=True), transaction(self._connection):
                    counts = [self._connection.execute(statement).rowcount for statement in TAKE_OVER]
            finally:
                self._connection.execute("DETACH other")
        return counts[TAKE_OVER.index(TAKE_RUNS)]

    def runs(self) -> dict[str, dict[int, Run]]:
        """Give all runs, by the key of their cell and their seed."""
        found: dict[str, dict[int, Run]] = {key: {} for (key,) in self._query("SELECT key FROM cells")}
        for key, run in self._runs(_RUN):
            found.setdefault(key, {})[run.seed] = run
        return found

    def run(self, cell: Cell, seed: int) -> Run:
        """Give one run, which has to be there."""
        return next(run for _, run in self._runs(f"{_RUN} WHERE key = ? AND seed = ?", cell.key, seed))

    def _runs(self, sql: str, *values: object) -> Iterator[tuple[str, Run]]:
        cpus = dict(self._query("SELECT id, cpu FROM environments"))
        for key, made_with, seed, status, success, *others in self._query(sql, values):
            solved = False if status != DONE else None if success is None else bool(success)
            run = Run(seed, status, solved, *others)
            run.cpu = cpus.get(made_with)
            yield key, run

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give everything about every run, see `COLUMNS`, one dictionary a run, in the order in which they ended."""
        with errors_explained(self.path, _WHAT):
            cursor = self._connection.execute(
                "SELECT results.*, key AS cell FROM results JOIN runs ON runs.id = run JOIN cells ON cells.id = cell "
                "ORDER BY run"
            )
            names = [column[0] for column in cursor.description]
            if missing := COLUMNS.keys() - {*names, "preset"}:
                raise sqlite3.DatabaseError(f"no such column: {min(missing)}")
            shown = self._names()
            for values in cursor:
                row = dict(zip(names, values, strict=True))
                row["success"] = None if row["success"] is None else bool(row["success"])
                row["preset"] = row["algorithm"]
                row["problem"], row["algorithm"] = shown.get(row["cell"], (row["problem"], row["algorithm"]))
                yield {name: row[name] for name in COLUMNS}

    def _names(self) -> dict[str, tuple[str, str]]:
        """Give what problem and algorithm of a cell are called in the study with it that was last run."""
        names: dict[str, tuple[str, str]] = {}
        for number in self.studies():
            study, _, _ = self.study(number)
            names |= {cell.key: (cell.problem.name, cell.algorithm.name) for cell in study.cells()}
        return names

    def frame(self) -> DataFrame:
        """Give everything about every run as a pandas data frame, one row a run: what `daedal study export` writes."""
        return runs_frame(self.rows())

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """Read as of one moment in the block, however much is written meanwhile; nobody has to wait for it."""
        with errors_explained(self.path, _WHAT):
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._connection.execute("COMMIT")

    def packed_histories(self, keys: Iterable[str]) -> dict[str, dict[int, bytes]]:
        """Give the histories of the runs of some cells as they are stored, by the key of the cell and the seed."""
        found: dict[str, dict[int, bytes]] = {}
        for key in keys:
            found[key] = dict(self._query(f"SELECT seed, history {_HISTORY} WHERE key = ?", (key,)))
        return found

    def history(self, cell: Cell, seed: int) -> dict[str, list[float]]:
        """Give the records of a run's generations, by column; nan for what is unknown or infinite."""
        rows = self._query(f"SELECT history {_HISTORY} WHERE key = ? AND seed = ?", (cell.key, seed))
        if not rows:
            raise ValueError(f"expected a finished run of seed {seed} in {self.path}, found none")
        try:
            return unpacked_history(rows[0][0])
        except ValueError as error:
            raise ValueError(f"{self.path} is damaged: {error}") from error

    def _query(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with errors_explained(self.path, _WHAT):
            return self._connection.execute(sql, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with errors_explained(self.path, _WHAT, checked=True), transaction(self._connection):
            yield

    def _cell(self, cell: Cell) -> int:
        """Give the number of a cell, which is written when its first run is."""
        content = json.dumps(cell.content, sort_keys=True, default=repr)
        settings = json.dumps(cell.algorithm.settings, default=repr)
        name = storable(cell.algorithm.algorithm.name)
        self._connection.execute(
            "INSERT OR IGNORE INTO cells (key, problem, algorithm, popsize, budget, settings, content) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (cell.key, storable(cell.problem.name), name, cell.popsize, cell.budget, settings, content),
        )
        return int(self._connection.execute("SELECT id FROM cells WHERE key = ?", (cell.key,)).fetchone()[0])

    def _environment(self) -> int:
        values = environment()
        names = ", ".join(values)
        given = tuple(values.values())
        self._connection.execute(f"INSERT OR IGNORE INTO environments ({names}) VALUES (?, ?, ?, ?, ?)", given)
        found = self._connection.execute(f"SELECT id FROM environments WHERE ({names}) = (?, ?, ?, ?, ?)", given)
        return int(found.fetchone()[0])


def _spec(study: Study) -> str:
    return json.dumps(study.as_dict(), sort_keys=True, default=repr)


def _row(result: Result) -> dict[str, Any]:
    return {
        "success": result.success,
        "best": result.score,
        "optimum": result.optimum,
        "evaluations_to_best": result.evaluations_to_best,
        "evaluations": result.evaluations,
        "repeated": result.repeated,
        "batches": result.batches,
        "generations": result.generations,
        "cpu_seconds_to_best": result.cpu_seconds_to_best,
        "cpu_seconds": result.cpu_seconds,
        "stop": result.stop.value,
        "x": to_text(result.x) if result.space is None else json.dumps(result.best),
    }
