"""How one store takes the runs of another over, in SQL."""

from __future__ import annotations

from daedal.study.run import DONE

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
TAKE_OVER = (
    "INSERT OR IGNORE INTO cells (key, problem, algorithm, popsize, settings, content) "
    "SELECT key, problem, algorithm, popsize, settings, content FROM other.cells",
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
