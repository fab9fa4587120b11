"""What figures and pages of a study draw, as plain arrays: how runs went, what they cost, and which failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daedal.studies.analysis import Measure, efforts
from daedal.studies.run import DONE
from daedal.studies.snapshot import Snapshot, made_runs, shown_cells
from daedal.studies.spec import StudyAlgorithm, StudyProblem


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
    >>> from daedal.studies.run import Run
    >>> from daedal.studies.spec import Study
    >>> study = Study.from_dict({"problems": ["onemax:n=9"], "algorithms": ["umda"], "popsizes": [50], "runs": 4})
    >>> made = {seed: Run(seed, "done", seed > 0, evaluations=90 - seed) for seed in range(4)}
    >>> (curve,) = runtime_curves(Snapshot(study=study, runs={study.cells()[0].key: made}))
    >>> curve.evaluations, curve.share
    (array([87, 88, 89]), array([0.25, 0.5 , 0.75]))
    """
    curves = []
    for cell in snapshot.study.cells():
        made = made_runs(snapshot, cell)
        if not made or any(run.success is None for run in made.values()):
            continue
        solved = [run.evaluations for run in made.values() if run.success and run.evaluations is not None]
        taken = [one for run in made.values() for one in (run.evaluations, run.total_evaluations) if one is not None]
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
        evaluations, evaluations_sd = _means([one.evaluations for one in found])
        seconds, seconds_sd = _means([one.seconds for one in found])
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


def rows_repeat(snapshot: Snapshot, problems: Sequence[StudyProblem]) -> bool:
    """Whether runs of some problems, of the cells that stand for them, have counted rows that cost no call."""
    made = [
        run
        for cell in shown_cells(snapshot.study, snapshot.runs)
        if cell.problem in problems
        for run in made_runs(snapshot, cell).values()
    ]
    return any((run.total_evaluations or 0) > run.calls for run in made if run.calls is not None)


def known_optimum(snapshot: Snapshot, problem: StudyProblem) -> float | None:
    """Give the optimum of a problem, where a run knows it."""
    cells = [cell for algorithm in snapshot.study.algorithms for cell in snapshot.study.cells_of(problem, algorithm)]
    known = (run.optimum for cell in cells for run in snapshot.runs.get(cell.key, {}).values())
    return next((value for value in known if value is not None), None)


def _means(measures: Sequence[Measure | None]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    means = np.array([np.nan if one is None else one.mean for one in measures])
    return means, np.array([np.nan if one is None else one.sd for one in measures])
