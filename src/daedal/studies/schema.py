"""The tables of a store, how older ones become today's, and how one store takes over another, in SQL."""

from __future__ import annotations

from daedal.studies.run import DONE

APPLICATION = 0x0DAEDA15
VERSION = 3

_CELL = """id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, problem TEXT NOT NULL, algorithm TEXT NOT NULL,
    popsize INTEGER, settings TEXT NOT NULL, content TEXT NOT NULL"""
_RESULTS = """
CREATE VIEW results AS
    SELECT problem, algorithm, popsize, budget, seed, status, success, best, optimum, evaluations_to_best, evaluations,
        unique_evaluations, batches, generations, cpu_seconds_to_best, cpu_seconds, stop, error, x, settings, content,
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
    unique_evaluations INTEGER, generations INTEGER, cpu_seconds_to_best REAL, cpu_seconds REAL, stop TEXT, error TEXT,
    x TEXT, environment INTEGER NOT NULL REFERENCES environments, finished TEXT NOT NULL, batches INTEGER,
    UNIQUE (cell, seed)
);
CREATE TABLE histories (run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE, history BLOB NOT NULL);
{_RESULTS}
"""
MIGRATIONS = {
    # Population sizes may be missing, and batches are counted. SQLite cannot allow NULL in a column that is there.
    1: f"""
DROP VIEW results;
CREATE TABLE cells_2 ({_CELL});
INSERT INTO cells_2 SELECT id, key, problem, algorithm, popsize, settings, content FROM cells;
DROP TABLE cells;
ALTER TABLE cells_2 RENAME TO cells;
ALTER TABLE runs ADD COLUMN batches INTEGER;
""",
    # Studies may have budgets.
    2: f"""
DROP VIEW IF EXISTS results;
ALTER TABLE cells ADD COLUMN budget INTEGER;
{_RESULTS}
""",
}
"""By the version that they start from; the last one makes the view."""

_OUTCOME = (
    "seed, status, success, best, optimum, evaluations_to_best, evaluations, unique_evaluations, batches, "
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
