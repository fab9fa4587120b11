"""What a large store costs: `daedal study status` and `daedal study table` of 100,000 runs.

    python benchmarks/store.py

Wall time of whole commands, the start of Python included, minimum and maximum of repeats.
"""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from daedal.studies.spec import Study
from daedal.studies.store import COLUMNS, Store

CELLS, SEEDS = 50, 2_000
LIMIT = 3.0  # seconds
REPEATS = 5

CHANGED = {
    "seed": "new",
    "success": "new * 7 % 5 <= popsize / 10 - 1",
    "evaluations_to_best": "evaluations_to_best + new * 37 % 101",
    "evaluations": "evaluations + 101",
    "cpu_seconds_to_best": "cpu_seconds_to_best * (1 + new * 61 % 997 / 997.0)",
    "cpu_seconds": "2 * cpu_seconds",
}
"""Of five sizes the smallest solves a fifth of the runs and the largest all, so that there is something to choose, and
no two runs of a cell take the same time, so that there is something to rank."""

_NAMES = [*COLUMNS, "history"]
COPIES = f"""
WITH RECURSIVE seeds (new) AS (SELECT 1 UNION ALL SELECT new + 1 FROM seeds WHERE new < {SEEDS - 1})
INSERT INTO runs ({", ".join(_NAMES)}) SELECT {", ".join(CHANGED.get(name, name) for name in _NAMES)}
FROM runs CROSS JOIN seeds
"""


def small_study() -> Study:
    """Give a study of one run for each cell."""
    return Study.from_dict(
        {
            "runs": 1,
            "popsizes": [10, 20, 30, 40, 50],
            "problems": [f"onemax:n={n}" for n in (10, 20, 30, 40, 50)],
            "algorithms": ["umda", "pbil"],
        }
    )


def fill(path: Path) -> None:
    """Run the small study, and make it a large one with copies of its runs that have other seeds."""
    study = small_study()
    with Store(path) as store:
        for cell in study.cells():
            store.record(cell, 0, cell.config(0).run())
        store.remember(replace(study, runs=SEEDS), full_grid=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(COPIES)
    with Store(path) as store:
        assert len(store) == CELLS * SEEDS


def wall_times(*words: str) -> list[float]:
    """Time a command, after a first time that brings its files into memory."""
    times = []
    for _ in range(REPEATS + 1):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "daedal", *words], stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - began)
    return times[1:]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.db"
        fill(path)
        print(f"A store of {CELLS * SEEDS:,} runs in {CELLS} cells, {path.stat().st_size / 2**20:.0f} MiB\n")
        print("| command | wall s, smallest | largest | at most wanted |")
        print("|---|---|---|---|")
        for name in ("status", "table"):
            times = wall_times("study", name, "--store", str(path))
            print(f"| `daedal study {name}` | {min(times):.2f} | {max(times):.2f} | {LIMIT:.0f} |", flush=True)
        nothing = wall_times("--version")
        print(f"| `daedal --version` | {min(nothing):.2f} | {max(nothing):.2f} | |")


if __name__ == "__main__":
    main()
