"""How far a study is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daedal.studies.analysis import Runs, outcomes
from daedal.studies.plan import Settled, choices, needed_runs
from daedal.studies.run import DONE, FAILED, KILLED
from daedal.studies.spec import Cell, Study, StudyAlgorithm, StudyProblem

_SUMMED = ("done", "failed", "killed", "solved", "left")


@dataclass(frozen=True, kw_only=True)
class CellStatus:
    """How far one problem, algorithm and population size, or budget, is, in runs.

    Solved is None where nobody can tell. Left are those that are certain to be needed, the killed ones included.
    """

    problem: str
    algorithm: str
    popsize: int | None
    budget: int | None = None
    done: int
    failed: int
    killed: int
    solved: int | None
    left: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Status:
    """How far a study is: its cells, how often each error came, and the sums of both, in which no run counts twice."""

    cells: tuple[CellStatus, ...]
    errors: Mapping[str, int]
    totals: Mapping[str, int]

    def total(self, name: str) -> int:
        """Give the sum of a column of the cells."""
        return self.totals.get(name, 0)

    def __repr__(self) -> str:
        return f"Status({', '.join(f'{name}={self.total(name)}' for name in _SUMMED)})"


def study_status(study: Study, runs: Runs, *, confirm: int = 0, full_grid: bool = False) -> Status:
    """Say how far a study is; population sizes that nobody needed so far are left out."""
    cells: list[CellStatus] = []
    errors: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    counted: set[str] = set()  # two names may stand for one thing
    for problem, algorithm in study.pairs():
        left = Counter(cell.key for cell, _ in needed(study, runs, problem, algorithm, confirm, full_grid))
        for cell in study.cells_of(problem, algorithm):
            key = cell.key
            found = runs.get(key, {})
            made = [found[seed] for seed in (*study.seeds, *study.fresh_seeds(confirm)) if seed in found]
            if not made and not left[key]:
                continue
            ended = Counter(run.status for run in made)
            cells.append(
                CellStatus(
                    problem=problem.name,
                    algorithm=algorithm.name,
                    popsize=cell.popsize,
                    budget=cell.budget,
                    done=ended[DONE],
                    failed=ended[FAILED],
                    killed=ended[KILLED],
                    solved=None if any(run.success is None for run in made) else sum(bool(run.success) for run in made),
                    left=left[key],
                )
            )
            if key not in counted:
                counted.add(key)
                errors.update(run.error or "" for run in made if run.status != DONE)
                totals.update({name: getattr(cells[-1], name) or 0 for name in _SUMMED})
    return Status(cells=tuple(cells), errors=dict(errors.most_common()), totals=totals)


def needed(
    study: Study, runs: Runs, problem: StudyProblem, algorithm: StudyAlgorithm, confirm: int, full_grid: bool
) -> list[tuple[Cell, int]]:
    """List the runs, by cell and seed, that are certain to be needed: of the study, and to confirm it.

    With budgets all of them are.
    """
    if study.budgets:
        return [pair for cell in study.cells_of(problem, algorithm) for pair in _missing(cell, runs, study.seeds)]
    known = outcomes(study, runs, problem, algorithm)
    wanted = [
        (study.cell(problem, algorithm, popsize), seed)
        for popsize, seed in needed_runs(known, algorithm.popsizes, study.seeds, full_grid=full_grid)
    ]
    if confirm:
        chosen = choices(known, algorithm.popsizes, study.seeds).values()
        for popsize in [size for size in algorithm.popsizes if Settled(size) in chosen]:
            wanted += _missing(study.cell(problem, algorithm, popsize), runs, study.fresh_seeds(confirm))
    return wanted


def _missing(cell: Cell, runs: Runs, seeds: Sequence[int]) -> list[tuple[Cell, int]]:
    """List the runs of a cell that are not made; one that was killed from outside is not."""
    made = {seed for seed, run in runs.get(cell.key, {}).items() if run.status != KILLED}
    return [(cell, seed) for seed in seeds if seed not in made]
