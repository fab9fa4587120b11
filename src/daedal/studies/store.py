"""Where the runs of studies are kept: one SQLite file, one row a run."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daedal.result import Result
from daedal.settings.checks import storable
from daedal.storage.sqlite import close_after, errors_explained, open_database, transaction
from daedal.studies.environment import environment
from daedal.studies.frames import runs_frame
from daedal.studies.run import COLUMNS, DONE, Run, packed_history, unpacked_history
from daedal.studies.schema import APPLICATION, MIGRATIONS, SCHEMA, TAKE_OVER, TAKE_RUNS, VERSION
from daedal.studies.spec import Cell, Study
from daedal.studies.stored_algorithm import recall_algorithms
from daedal.types import to_text

if TYPE_CHECKING:
    from pandas import DataFrame

_WHAT = "a store of study results"
_RUN = (
    "SELECT key, environment, seed, status, success, best, optimum, evaluations_to_best, cpu_seconds_to_best, "
    "cpu_seconds, batches, generations, unique_evaluations, evaluations, error FROM runs JOIN cells ON cells.id = cell"
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
            migrations=MIGRATIONS,
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
        "unique_evaluations": result.evaluated,
        "batches": result.batches,
        "generations": result.generations,
        "cpu_seconds_to_best": result.cpu_seconds_to_best,
        "cpu_seconds": result.cpu_seconds,
        "stop": result.stop.value,
        "x": to_text(result.x) if result.space is None else json.dumps(result.best),
    }
