"""How the best value of a study's runs grew, from the histories that a store keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from daedal.studies.run import unpacked_history
from daedal.studies.snapshot import Snapshot, made_runs, shown_cells
from daedal.studies.spec import StudyAlgorithm, StudyProblem

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
