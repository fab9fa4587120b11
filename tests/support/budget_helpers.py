"""A study with budgets, and runs of it made by hand."""

from __future__ import annotations

from typing import Any

from daedal.studies.analysis import Row, analyse
from daedal.studies.spec import Study
from daedal.studies.store import Run

STUDY = Study.from_dict(
    {
        "problems": ["trap:k=4,n=20", {"name": "cost", "problem": "onemax:n=20", "minimize": True}],
        "algorithms": ["umda", {"name": "PBIL 50", "algorithm": "pbil", "popsizes": [50]}],
        "budgets": [100, 1000],
        "runs": 8,
    }
)
TRAP, COST = STUDY.problems
UMDA, PBIL = STUDY.algorithms

Runs = dict[str, dict[int, Run]]


def runs_of(best: list[float], *, solved: int = 0, calls: int = 100, **more: Any) -> dict[int, Run]:
    """Make runs with these best values, from seed 0 on, of which the first are solved, each with one call more."""
    given: dict[str, Any] = {"cpu_seconds": 0.5, "batches": 4} | more
    return {
        seed: Run(seed=seed, status="done", success=seed < solved, best=value, evaluations=calls + seed, **given)
        for seed, value in enumerate(best)
    }


def some_runs() -> Runs:
    """Make all runs: on the trap UMDA is clearly better at 1,000, on the other it is the worse one."""
    ramp = [float(value) for value in range(8)]
    cells = {(cell.problem, cell.algorithm, cell.budget): cell.key for cell in STUDY.cells()}
    higher = [value + 10 + value / 8 for value in ramp]
    return {
        cells[TRAP, UMDA, 100]: runs_of(ramp, optimum=20.0),
        cells[TRAP, PBIL, 100]: runs_of(ramp[::-1], optimum=20.0),
        cells[TRAP, UMDA, 1000]: runs_of(higher, solved=3, calls=900, optimum=20.0),
        cells[TRAP, PBIL, 1000]: runs_of(ramp, calls=1000, optimum=20.0),
        cells[COST, UMDA, 100]: runs_of(higher),
        cells[COST, PBIL, 100]: runs_of(ramp),
        cells[COST, UMDA, 1000]: runs_of(higher),
        cells[COST, PBIL, 1000]: runs_of(ramp),
    }


def some_rows(runs: Runs | None = None) -> list[Row]:
    """Give the table of these runs."""
    return analyse(STUDY, some_runs() if runs is None else runs)


def rows_by_place(rows: list[Row]) -> dict[tuple[str, int | None, str], Row]:
    """Find a row by its problem, budget and algorithm."""
    return {(row.problem.name, row.budget, row.algorithm.name): row for row in rows}
