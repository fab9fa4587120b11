"""A study and its runs as of one moment, and the curves that figures and pages draw from them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from daedal.studies.analysis import Measure, efforts
from daedal.studies.plan import LEVELS, Runs, Settled, choices, outcomes
from daedal.studies.spec import Cell, Study, StudyAlgorithm, StudyProblem
from daedal.studies.store import DONE, KILLED, Run, Store, unpacked_history


@dataclass(frozen=True, kw_only=True, eq=False)
class Snapshot:
    """A study and its runs as they were at one moment.

    Attributes
    ----------
    study
        What is compared.
    runs
        All runs of the store, by the key of their cell and by seed.
    confirm, full_grid
        How many fresh seeds confirm each choice, and whether every population size is run in full.
    histories
        Records of generations as they are stored, see `unpacked_history`, by the key of the cell and by seed; those of
        the cells that `shown_cells` gives.
    path
        Where they come from; None: they were not read from a store.
    number
        Which study of the store it is, where it comes from there.
    others
        The numbers of the other studies in it.
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
        """Give the problem of a name, or the only one where no name is given."""
        names = [problem.name for problem in self.study.problems]
        if name is None and len(names) == 1:
            return self.study.problems[0]
        if name not in names:
            came = "problem=None" if name is None else f"problem={name!r}"
            raise ValueError(f"expected the name of one of the study's problems, {', '.join(names)}, got {came}")
        return self.study.problems[names.index(name)]


def read_store(path: str | os.PathLike[str], *, number: int | None = None, study: Study | None = None) -> Snapshot:
    """Read a store as of one moment: the study last run with it, the one of a number, or one that is given; its runs.

    Nothing is ever written. A study that is run with the store meanwhile neither waits nor is waited for.

    Examples
    --------
    >>> import tempfile
    >>> study = Study.from_dict({"problems": ["onemax:n=20"], "algorithms": ["umda"], "popsizes": [50]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "results.db"
    ...     with Store(path) as store:
    ...         kept = store.remember(study)
    ...     snapshot = read_store(path)
    >>> snapshot.study.problems[0].name, sum(map(len, snapshot.runs.values()))
    ('onemax:n=20', 0)
    """
    with Store(path, create=False) as store, store.at_one_moment():
        known = store.studies()
        if study is None:
            study, confirm, full_grid = store.study(number)
            number = known[-1] if number is None else number
        else:
            confirm, full_grid = store.remembered(study)
        runs = store.runs()
        return Snapshot(
            study=study,
            runs=runs,
            confirm=confirm,
            full_grid=full_grid,
            histories=store.histories(cell.key for cell in shown_cells(study, runs)),
            path=Path(path),
            number=number,
            others=tuple(one for one in sorted(known) if one != number),
        )


def shown_cells(study: Study, runs: Runs) -> list[Cell]:
    """Give the cell that stands for each problem and algorithm where there is room for one, if any has a run.

    It is the population size that solves 90 % of the runs, or 50 %, or else the one with the most solved runs, the
    larger of two; in a study with budgets, the largest budget that has runs.
    """
    found = (shown_cell(study, runs, *pair) for pair in study.pairs())
    return [cell for cell in found if cell is not None]


def shown_cell(study: Study, runs: Runs, problem: StudyProblem, algorithm: StudyAlgorithm) -> Cell | None:
    """Give the cell that stands for a problem and an algorithm, see `shown_cells`; None where it has no run."""
    cells = [cell for cell in study.cells_of(problem, algorithm) if _done(runs, cell)]
    if not cells or study.budgets:
        return cells[-1] if cells else None
    settled = choices(outcomes(study, runs, problem, algorithm), algorithm.popsizes, study.seeds)
    for level in sorted(LEVELS, reverse=True):
        choice = settled[level]
        if isinstance(choice, Settled):
            return study.cell(problem, algorithm, choice.popsize)
    solved = [sum(run.success is True for run in runs[cell.key].values()) for cell in cells]
    return max(zip(solved, range(len(cells)), cells, strict=True), key=lambda one: one[:2])[2]


def _done(runs: Runs, cell: Cell) -> bool:
    return any(run.status == DONE for run in runs.get(cell.key, {}).values())


def made_runs(snapshot: Snapshot, cell: Cell) -> Mapping[int, Run]:
    """Give the runs of a cell that belong to the study; one that was killed from outside has yet to be made."""
    found = snapshot.runs.get(cell.key, {})
    return {seed: found[seed] for seed in snapshot.study.seeds if seed in found and found[seed].status != KILLED}


@dataclass(frozen=True, kw_only=True, eq=False)
class RuntimeCurve:
    """How many evaluations the runs of one cell took to solve their problem.

    Attributes
    ----------
    problem, algorithm, popsize, budget
        Whose runs they are; popsize is None for an algorithm without one, budget in a study without budgets.
    evaluations
        Evaluations until the solution, in rising order, shape (solved,).
    runs
        Runs that have ended, those that failed included.
    longest
        The most evaluations that any of them took, solved or not: where the curve ends.
    complete
        Whether all runs of the study are made.
    """

    problem: StudyProblem
    algorithm: StudyAlgorithm
    popsize: int | None
    budget: int | None
    evaluations: NDArray[np.int64]
    runs: int
    longest: int
    complete: bool

    @property
    def share(self) -> NDArray[np.float64]:
        """Share of runs that are solved after each of `evaluations`, shape (solved,)."""
        return np.arange(1, len(self.evaluations) + 1) / max(self.runs, 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class SizeCurve:
    """What the runs of each population size came to; all arrays have the shape (sizes,), nan for what is not known.

    Attributes
    ----------
    problem, algorithm
        Whose runs they are.
    popsizes
        Population sizes that have runs, in rising order; nan, alone, for an algorithm without one.
    runs, solved
        Runs that have ended, and the share of them that solved the problem.
    best, evaluations, seconds
        Means over the runs; evaluations and CPU seconds until the best solution.
    best_sd, evaluations_sd, seconds_sd
        Standard deviations of these.
    complete
        Whether all runs of a size are made.
    """

    problem: StudyProblem
    algorithm: StudyAlgorithm
    popsizes: NDArray[np.float64]
    runs: NDArray[np.int64]
    solved: NDArray[np.float64]
    best: NDArray[np.float64]
    best_sd: NDArray[np.float64]
    evaluations: NDArray[np.float64]
    evaluations_sd: NDArray[np.float64]
    seconds: NDArray[np.float64]
    seconds_sd: NDArray[np.float64]
    complete: NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class FailedRun:
    """A run that did not end well: whose it is, and what it said."""

    problem: StudyProblem
    algorithm: StudyAlgorithm
    popsize: int | None
    budget: int | None
    seed: int
    status: str
    error: str


def runtime_curves(snapshot: Snapshot) -> list[RuntimeCurve]:
    """Give the runtime distribution of each cell that has runs, where one can tell what is solved.

    Examples
    --------
    >>> from daedal.studies.store import Run
    >>> from daedal.studies.spec import Study
    >>> study = Study.from_dict({"problems": ["onemax:n=9"], "algorithms": ["umda"], "popsizes": [50], "runs": 4})
    >>> made = {seed: Run(seed, "done", seed > 0, evaluations_to_best=90 - seed) for seed in range(4)}
    >>> (curve,) = runtime_curves(Snapshot(study=study, runs={study.cells()[0].key: made}))
    >>> curve.evaluations, curve.share
    (array([87, 88, 89]), array([0.25, 0.5 , 0.75]))
    """
    curves = []
    for cell in snapshot.study.cells():
        made = made_runs(snapshot, cell)
        if not made or any(run.success is None for run in made.values()):
            continue
        solved = [
            run.evaluations_to_best for run in made.values() if run.success and run.evaluations_to_best is not None
        ]
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


def size_curves(snapshot: Snapshot) -> list[SizeCurve]:
    """Give what each population size came to, a curve for each problem and algorithm that has runs."""
    curves = []
    for problem, algorithm in snapshot.study.pairs():
        found = [] if snapshot.study.budgets else efforts(snapshot.study, snapshot.runs, problem, algorithm)
        if not found:
            continue
        solved = [one.solved / one.runs if one.judged else np.nan for one in found]
        best, best_sd = _means([one.best for one in found])
        evaluations, evaluations_sd = _means([one.evaluations_to_best for one in found])
        seconds, seconds_sd = _means([one.cpu_seconds_to_best for one in found])
        curves.append(
            SizeCurve(
                problem=problem,
                algorithm=algorithm,
                popsizes=np.array([np.nan if one.popsize is None else one.popsize for one in found]),
                runs=np.array([one.runs for one in found], np.int64),
                solved=np.array(solved),
                best=best,
                best_sd=best_sd,
                evaluations=evaluations,
                evaluations_sd=evaluations_sd,
                seconds=seconds,
                seconds_sd=seconds_sd,
                complete=np.array([one.complete for one in found]),
            )
        )
    return curves


def failed_runs(snapshot: Snapshot) -> list[FailedRun]:
    """Give the runs that did not end well, those with fresh seeds included, in the order of the study."""
    seeds = (*snapshot.study.seeds, *snapshot.study.fresh_seeds(snapshot.confirm))
    return [
        FailedRun(
            problem=cell.problem,
            algorithm=cell.algorithm,
            popsize=cell.popsize,
            budget=cell.budget,
            seed=seed,
            status=found[seed].status,
            error=found[seed].error or "",
        )
        for cell in snapshot.study.cells()
        for found in [snapshot.runs.get(cell.key, {})]
        for seed in seeds
        if seed in found and found[seed].status != DONE
    ]


def known_optimum(snapshot: Snapshot, problem: StudyProblem) -> float | None:
    """Give the optimum of a problem, where a run knows it."""
    cells = [cell for algorithm in snapshot.study.algorithms for cell in snapshot.study.cells_of(problem, algorithm)]
    known = (run.optimum for cell in cells for run in snapshot.runs.get(cell.key, {}).values())
    return next((value for value in known if value is not None), None)


def _means(measures: Sequence[Measure | None]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    means = np.array([np.nan if one is None else one.mean for one in measures])
    return means, np.array([np.nan if one is None else one.sd for one in measures])


_POINTS = 120  # of a curve
_QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, kw_only=True, eq=False)
class AnytimeCurve:
    """The best value that the runs of one cell had after so many evaluations.

    Attributes
    ----------
    problem, algorithm, popsize, budget
        Whose runs they are, as in `RuntimeCurve`.
    evaluations
        Where the values were taken, in rising order, shape (points,).
    median, q1, q3
        Median and quartiles over the runs, shape (points,); infinite where so many runs have found nothing feasible. A
        run that has ended keeps its last value.
    runs
        How many runs they are; those that failed have no history.
    complete
        Whether all runs of the study are made.
    """

    problem: StudyProblem
    algorithm: StudyAlgorithm
    popsize: int | None
    budget: int | None
    evaluations: NDArray[np.int64]
    median: NDArray[np.float64]
    q1: NDArray[np.float64]
    q3: NDArray[np.float64]
    runs: int
    complete: bool


def anytime_curves(snapshot: Snapshot) -> list[AnytimeCurve]:
    """Give how the best value grew, from the histories: a curve for each problem and algorithm, see `shown_cells`."""
    curves = []
    for cell in shown_cells(snapshot.study, snapshot.runs):
        packed = snapshot.histories.get(cell.key, {})
        made = made_runs(snapshot, cell)
        found = [_history(packed[seed]) for seed in made if seed in packed]
        steps = [one for one in found if len(one[0])]
        if not steps:
            continue
        grid = _grid(steps)
        worst = np.inf if cell.problem.minimize else -np.inf
        values = np.stack([_at(grid, *one, worst) for one in steps])
        q1, median, q3 = _quantiles(values)
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
    """Give where the curves of some problems begin, the first of them; None where no history is kept."""
    firsts = (int(one.evaluations[0]) for one in curves if one.problem in problems)
    return min(firsts, default=None)


@lru_cache(maxsize=20_000)  # a page that follows a study asks again and again, and opening takes most of the time
def _history(packed: bytes) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Give evaluations and best values of a history; nothing where it has none."""
    columns = unpacked_history(packed)
    evaluations = np.array(columns.get("evaluations", []), np.float64)
    best = np.array(columns.get("best", []), np.float64)
    if len(evaluations) != len(best) or not np.all(np.isfinite(evaluations)):
        raise ValueError("expected the history of a run, got one whose evaluations and best values do not match")
    steps = evaluations.astype(np.int64)
    for column in (steps, best):
        column.flags.writeable = False
    return steps, best


def _grid(steps: Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]]) -> NDArray[np.int64]:
    """Choose where to look: from where all runs have a value on, at distances that grow in proportion."""
    first = max(max(int(evaluations[0]) for evaluations, _ in steps), 1)
    last = max(max(int(evaluations[-1]) for evaluations, _ in steps), first)
    return np.unique(np.rint(np.geomspace(first, last, _POINTS)).astype(np.int64))


def _at(
    grid: NDArray[np.int64], evaluations: NDArray[np.int64], best: NDArray[np.float64], worst: float
) -> NDArray[np.float64]:
    """Give the best value of a run at each place of the grid; what is no number is the worst there is."""
    place = np.maximum(np.searchsorted(evaluations, grid, side="right") - 1, 0)
    return np.where(np.isnan(best), worst, best)[place]


def _quantiles(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Give the quartiles of each column, between neighbours in proportion; any of them may be infinite."""
    ordered = np.sort(values, axis=0)
    found = []
    for share in _QUARTILES:
        place = share * (len(ordered) - 1)
        low, high, part = ordered[int(place)], ordered[int(np.ceil(place))], place % 1
        with np.errstate(invalid="ignore"):
            found.append(np.where(low == high, low, low * (1 - part) + high * part))
    return tuple(found)
