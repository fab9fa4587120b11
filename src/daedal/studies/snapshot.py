"""A study and its runs as of one moment, and the curves that figures and pages draw from them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from daedal.settings.parameters import unknown
from daedal.studies.analysis import quartiles
from daedal.studies.plan import LEVELS, Runs, Settled, Status, choices, made_runs, outcomes, study_status
from daedal.studies.spec import Cell, Study, StudyAlgorithm, StudyProblem
from daedal.studies.store import DONE, Run, Store, unpacked_history


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """A study and its runs as they were at one moment.

    Attributes
    ----------
    study, runs
        The study, and all runs of the store by the key of their cell and by seed.
    confirm, full_grid
        Number of other seeds that confirm each choice, and whether every population size is run in full.
    histories
        Packed records of generations by the key of the cell and by seed, for the cells of `shown_cells`.
    path, number, others
        The store, the number of the study in it, and the numbers of its other studies.
    """

    study: Study
    runs: Runs
    confirm: int = 0
    full_grid: bool = False
    histories: Mapping[str, Mapping[int, bytes]] = field(default_factory=dict)
    path: Path | None = None
    number: int | None = None
    others: tuple[int, ...] = ()

    def problem(self, name: str | None = None) -> StudyProblem:
        """Return the problem of a name, or the only one if no name is given."""
        names = [problem.name for problem in self.study.problems]
        if name is None and len(names) > 1:
            raise ValueError(f"the study has several problems; give problem=..., one of {', '.join(names)}")
        if name is not None and name not in names:
            raise ValueError(unknown("problem of the study", name, names))
        return self.study.problems[0 if name is None else names.index(name)]

    def status(self) -> Status:
        """Return how far the study is."""
        return study_status(self.study, self.runs, confirm=self.confirm, full_grid=self.full_grid)


def read_store(
    path: str | os.PathLike[str], *, number: int | None = None, study: Study | None = None, histories: bool = True
) -> Snapshot:
    """Read a study and its runs from a store, which is not written; another process may write it meanwhile.

    Parameters
    ----------
    path
        The store.
    number, study
        Number of the study in the store, or the study itself. Default: the study that was last run.
    histories
        If True, histories are read, too.

    Examples
    --------
    >>> import tempfile
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "results.db"
    ...     with Store(path) as store:
    ...         kept = store.remember(study)
    ...     snapshot = read_store(path)
    >>> snapshot.study.problems[0].name, snapshot.status()
    ('onemax:n=20', Status(done=0, failed=0, killed=0, solved=0, left=11))
    """
    with Store(path, create=False) as store, store.at_one_moment():
        known = store.studies()
        if study is None:
            study, confirm, full_grid = store.study(number)
            number = known[-1] if number is None else number
        else:
            confirm, full_grid = store.remembered(study)
        runs = store.runs()
        keys = [cell.key for cell in shown_cells(study, runs)] if histories else []
        return Snapshot(
            study=study,
            runs=runs,
            confirm=confirm,
            full_grid=full_grid,
            histories=store.histories(keys),
            path=Path(path),
            number=number,
            others=tuple(one for one in sorted(known) if one != number),
        )


def shown_cells(study: Study, runs: Runs) -> list[Cell]:
    """Return the cell that represents each problem and algorithm: see `shown_cell`."""
    found = (shown_cell(study, runs, *pair) for pair in study.pairs())
    return [cell for cell in found if cell is not None]


def shown_cell(study: Study, runs: Runs, problem: StudyProblem, algorithm: StudyAlgorithm) -> Cell | None:
    """Return the cell that represents a problem and an algorithm if there is room for one; None if it has no run.

    It is the population size that solves 90 % of the runs, or 50 %, or else the one with the most solved runs, the
    larger of two. In a study with budgets, it is the largest budget that has runs.
    """
    cells = [
        cell
        for cell in study.cells_of(problem, algorithm)
        if any(run.status == DONE for run in runs.get(cell.key, {}).values())
    ]
    if not cells or study.budgets:
        return cells[-1] if cells else None
    settled = choices(outcomes(study, runs, problem, algorithm), algorithm.popsizes, study.seeds)
    for level in sorted(LEVELS, reverse=True):
        choice = settled[level]
        if isinstance(choice, Settled):
            return study.cell(problem, algorithm, choice.popsize)
    return max(reversed(cells), key=lambda cell: sum(run.success is True for run in runs[cell.key].values()))


def failed_runs(snapshot: Snapshot) -> list[tuple[Cell, Run]]:
    """Return the runs that did not end well, with their cells, in the order of the study."""
    seeds = (*snapshot.study.seeds, *snapshot.study.fresh_seeds(snapshot.confirm))
    return [
        (cell, found[seed])
        for cell in snapshot.study.cells()
        for found in [snapshot.runs.get(cell.key, {})]
        for seed in seeds
        if seed in found and found[seed].status != DONE
    ]


def known_optimum(snapshot: Snapshot, problem: StudyProblem) -> float | None:
    """Return the optimum of a problem if a run knows it."""
    cells = [cell for algorithm in snapshot.study.algorithms for cell in snapshot.study.cells_of(problem, algorithm)]
    known = (run.optimum for cell in cells for run in snapshot.runs.get(cell.key, {}).values())
    return next((value for value in known if value is not None), None)


# ------------------------------------------------------------ curves

_POINTS = 120  # of a curve


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """A curve of the runs of one cell.

    Attributes
    ----------
    problem, algorithm, popsize, budget
        The cell.
    evaluations
        Evaluations in rising order, shape (points,).
    runs, complete
        Number of runs behind the curve, and whether all runs of the study are made.
    """

    problem: StudyProblem
    algorithm: StudyAlgorithm
    popsize: int | None
    budget: int | None
    evaluations: NDArray[np.int64]
    runs: int
    complete: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class RuntimeCurve(Curve):
    """Evaluations until the solution, for each solved run; `longest` is the most of any run, solved or not."""

    longest: int

    @property
    def share(self) -> NDArray[np.float64]:
        """Share of runs that are solved after each of `evaluations`, shape (solved,)."""
        return np.arange(1, len(self.evaluations) + 1) / max(self.runs, 1)


def runtime_curves(snapshot: Snapshot) -> list[RuntimeCurve]:
    """Return the runtime distribution of each cell that has runs, unless it is unknown which of them are solved.

    Examples
    --------
    >>> study = Study.from_dict({"problems": ["onemax:n=9"], "algorithms": ["umda"], "popsizes": [50], "runs": 4})
    >>> made = {seed: Run(seed, "done", seed > 0, evaluations_to_best=90 - seed) for seed in range(4)}
    >>> (curve,) = runtime_curves(Snapshot(study=study, runs={study.cells()[0].key: made}))
    >>> curve.evaluations, curve.share
    (array([87, 88, 89]), array([0.25, 0.5 , 0.75]))
    """
    curves = []
    for cell in snapshot.study.cells():
        made = made_runs(snapshot.runs, cell, snapshot.study.seeds)
        if not made or any(run.success is None for run in made.values()):
            continue
        solved = [run.evaluations_to_best for run in made.values() if run.success and run.evaluations_to_best]
        taken = [one for run in made.values() for one in (run.evaluations_to_best, run.evaluations) if one is not None]
        curves.append(
            RuntimeCurve(
                problem=cell.problem,
                algorithm=cell.algorithm,
                popsize=cell.popsize,
                budget=cell.budget,
                evaluations=np.sort(np.array(solved, np.int64)),
                runs=len(made),
                longest=max(taken, default=1),
                complete=len(made) == snapshot.study.runs,
            )
        )
    return curves


@dataclass(frozen=True, kw_only=True, eq=False)
class AnytimeCurve(Curve):
    """Median and quartiles of the best values, shape (points,); infinite if so many runs have found nothing feasible.

    A run that has ended keeps its last value.
    """

    median: NDArray[np.float64]
    q1: NDArray[np.float64]
    q3: NDArray[np.float64]


def anytime_curves(snapshot: Snapshot) -> list[AnytimeCurve]:
    """Return how the best values grew, for each of `shown_cells` that has histories."""
    curves = []
    for cell in shown_cells(snapshot.study, snapshot.runs):
        packed = snapshot.histories.get(cell.key, {})
        made = made_runs(snapshot.runs, cell, snapshot.study.seeds)
        steps = [one for seed in made if seed in packed if len((one := _history(packed[seed]))[0])]
        if not steps:
            continue
        # From where all runs have a value on, at distances that grow in proportion.
        first = max(1, *(int(evaluations[0]) for evaluations, _ in steps))
        last = max(first, *(int(evaluations[-1]) for evaluations, _ in steps))
        grid = np.unique(np.rint(np.geomspace(first, last, _POINTS)).astype(np.int64))
        worst = np.inf if cell.problem.minimize else -np.inf
        values = [
            np.where(np.isnan(best), worst, best)[np.searchsorted(evaluations, grid, side="right") - 1]
            for evaluations, best in steps
        ]
        q1, median, q3 = quartiles(np.stack(values))
        curves.append(
            AnytimeCurve(
                problem=cell.problem,
                algorithm=cell.algorithm,
                popsize=cell.popsize,
                budget=cell.budget,
                evaluations=grid,
                median=median,
                q1=q1,
                q3=q3,
                runs=len(steps),
                complete=len(made) == snapshot.study.runs,
            )
        )
    return curves


def first_evaluations(curves: Sequence[AnytimeCurve], problems: Sequence[StudyProblem]) -> int | None:
    """Return the evaluations with which the curves of some problems begin; None without histories."""
    return min((int(one.evaluations[0]) for one in curves if one.problem in problems), default=None)


@lru_cache(maxsize=20_000)  # a page that follows a study asks again and again, and opening takes most of the time
def _history(packed: bytes) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return evaluations and best values of a history."""
    columns = unpacked_history(packed)
    evaluations = np.array(columns.get("evaluations", []), np.float64)
    best = np.array(columns.get("best", []), np.float64)
    if len(evaluations) != len(best) or not np.all(np.isfinite(evaluations)):
        raise ValueError("the history of a run is damaged (its evaluations and best values do not match)")
    return evaluations.astype(np.int64), best
