"""The plan of a study: which population sizes are the answer, which runs are still needed, and how many are done.

The paper's procedure: for each problem and algorithm, the smallest population size that solves at least 50 % and 90 %
of the runs. Sizes are tried from small to large. A size that can no longer reach a level is left, and once the answer
is known no larger size is tried. Everything here follows from the outcomes alone, in any order, so it depends neither
on the number of workers nor on interruptions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from daedal.studies.spec import Cell, Study, StudyAlgorithm, StudyProblem
from daedal.studies.store import DONE, FAILED, KILLED, Run

LEVELS = (50, 90)
"""Percentages of solved runs that the paper's table asks for."""

Outcomes: TypeAlias = Mapping[int | None, Mapping[int, bool | None]]
"""By population size and seed: whether a run solved its problem; None if that is unknown."""

Runs: TypeAlias = Mapping[str, Mapping[int, Run]]
"""The runs of a store, by the key of their cell and by seed."""


@dataclass(frozen=True)
class Settled:
    """The smallest population size that reaches a level; None for an algorithm without a population."""

    popsize: int | None


class Unsettled(Enum):
    """Why there is no answer for a level."""

    NONE = "no size does"
    OPEN = "not known yet"


Choice: TypeAlias = Settled | Unsettled


def made_runs(runs: Runs, cell: Cell, seeds: Sequence[int]) -> dict[int, Run]:
    """Return the runs of a cell with these seeds. One that was killed from outside has yet to be made."""
    found = runs.get(cell.key, {})
    return {seed: found[seed] for seed in seeds if seed in found and found[seed].status != KILLED}


def sizes_of(
    study: Study, runs: Runs, problem: StudyProblem, algorithm: StudyAlgorithm, seeds: Sequence[int]
) -> dict[int | None, dict[int, Run]]:
    """Return the runs with these seeds, by population size."""
    return {size: made_runs(runs, study.cell(problem, algorithm, size), seeds) for size in algorithm.popsizes}


def outcomes(study: Study, runs: Runs, problem: StudyProblem, algorithm: StudyAlgorithm) -> Outcomes:
    """Return which runs solved their problem."""
    sizes = sizes_of(study, runs, problem, algorithm, study.seeds)
    return {popsize: {seed: run.success for seed, run in made.items()} for popsize, made in sizes.items()}


def required(level_percent: int, runs: int) -> int:
    """Return how many runs have to be solved for a level."""
    return -(-level_percent * runs // 100)  # rounds up, in whole numbers


def choices(outcomes: Outcomes, popsizes: Sequence[int | None], seeds: Sequence[int]) -> dict[int, Choice]:
    """Return, for each level, the smallest population size that reaches it."""
    return {level: _choice(outcomes, popsizes, seeds, level) for level in LEVELS}


def _choice(outcomes: Outcomes, popsizes: Sequence[int | None], seeds: Sequence[int], level: int) -> Choice:
    needed = required(level, len(seeds))
    for popsize in popsizes:
        known = outcomes.get(popsize, {})
        solved = sum(known.get(seed) is True for seed in seeds)
        unknown = sum(seed not in known for seed in seeds)
        if solved >= needed:
            return Settled(popsize)
        if solved + unknown >= needed:
            return Unsettled.OPEN
    return Unsettled.NONE


def needed_runs(
    outcomes: Outcomes, popsizes: Sequence[int | None], seeds: Sequence[int], *, full_grid: bool = False
) -> list[tuple[int | None, int]]:
    """Return the runs, by population size and seed, that are certain to be needed next.

    Think of runs that are made one by one in the order of their seeds, until a size can no longer reach a level. A run
    is certain if it comes before that moment, whatever the runs before it bring. That many runs can be made at
    once, and none in vain.

    Examples
    --------
    >>> needed_runs({50: {0: False, 1: False}}, [50, 100], range(3))
    [(100, 0), (100, 1)]
    """
    if full_grid:
        return [(popsize, seed) for popsize in popsizes for seed in seeds if seed not in outcomes.get(popsize, {})]
    for index, popsize in enumerate(popsizes):
        settled = choices(outcomes, popsizes[:index], seeds)
        open_levels = [level for level, choice in settled.items() if isinstance(choice, Unsettled)]
        if not open_levels:
            return []
        runs = _needed_of_size(outcomes.get(popsize, {}), seeds, min(open_levels))
        if runs:
            return [(popsize, seed) for seed in runs]
    return []


def _needed_of_size(known: Mapping[int, bool | None], seeds: Sequence[int], level: int) -> list[int]:
    """Return the seeds to run; none if all are done, or too many have failed for the level."""
    allowed = len(seeds) - required(level, len(seeds))
    failed_at_worst = 0
    runs = []
    for seed in seeds:
        if failed_at_worst > allowed:
            break
        if seed not in known:
            runs.append(seed)
        if known.get(seed, False) is False:
            failed_at_worst += 1
    return runs


_SUMMED = ("done", "failed", "killed", "solved", "left")


@dataclass(frozen=True, kw_only=True)
class CellStatus:
    """Runs of a cell: solved is None if it is unknown; left are those that are certain to be needed."""

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
    """How far a study is: its cells, how often each error came, and sums in which no run counts twice."""

    cells: tuple[CellStatus, ...]
    errors: Mapping[str, int]
    totals: Mapping[str, int]

    def total(self, name: str) -> int:
        """Return the sum of a column of the cells."""
        return self.totals.get(name, 0)

    def __repr__(self) -> str:
        return f"Status({', '.join(f'{name}={self.total(name)}' for name in _SUMMED)})"


def study_status(study: Study, runs: Runs, *, confirm: int = 0, full_grid: bool = False) -> Status:
    """Return how far a study is, without population sizes that were not needed so far."""
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
    """Return the runs, by cell and seed, that are certain to be needed: of the study, and to confirm it."""
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
    made = made_runs(runs, cell, seeds)
    return [(cell, seed) for seed in seeds if seed not in made]
