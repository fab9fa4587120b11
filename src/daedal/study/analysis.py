"""What the runs of a study say: the sizes that solve 50 and 90 %, their effort, and which is significantly better."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from daedal.study.plan import LEVELS, Choice, Outcomes, Unsettled, choices
from daedal.study.rank_tests import Test
from daedal.study.run import DONE, KILLED, Run
from daedal.study.spec import Study, StudyAlgorithm, StudyProblem
from daedal.study.statistics import Verdict, mean_sd, verdicts

Runs: TypeAlias = Mapping[str, Mapping[int, Run]]
"""By the key of a cell and by seed, as a store gives them."""

Verdicts: TypeAlias = Mapping[str, Verdict]
"""By the name of the algorithm."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Mean and standard deviation over the runs of a cell, and what the tests say of it, see `Verdict`."""

    mean: float
    sd: float
    star: bool = False
    p: float | None = None


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What the runs of one cell came to.

    Attributes
    ----------
    popsize
        The cell's population size; None for an algorithm without a population.
    runs, solved, failed
        Runs made, solved, and ended by an error.
    complete
        Whether all runs of the study are made.
    best
        The best fitness of a run.
    evaluations, seconds
        Until the best solution: evaluations, and CPU seconds. None without a run that ended well.
    batches
        Of whole runs; None where they were not counted.
    """

    popsize: int | None
    runs: int
    solved: int
    failed: int
    complete: bool
    best: Measure | None
    evaluations: Measure | None
    seconds: Measure | None
    batches: Measure | None = None


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The answer for one problem, algorithm and level.

    Attributes
    ----------
    choice
        The smallest population size that reaches the level, or why there is none.
    effort
        Of the chosen size.
    confirmed
        Of the chosen size again, with fresh seeds that took no part in the choice.
    """

    choice: Choice
    effort: Effort | None = None
    confirmed: Effort | None = None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table: an entry for each level.

    Attributes
    ----------
    judged
        Whether one can tell that a run solved the problem.
    failed
        How many runs, of all population sizes and those with fresh seeds, were ended by an error.
    under_way
        The largest population size so far, as long as it is not known which sizes are the answer.
    """

    problem: StudyProblem
    algorithm: StudyAlgorithm
    entries: Mapping[int, Entry]
    judged: bool = True
    failed: int = 0
    under_way: Effort | None = None


def analyse(
    study: Study, runs: Runs, *, test: Test = "signed-rank", correct: bool = False, confirm: int = 0
) -> list[Row]:
    """Make the table of a study.

    Parameters
    ----------
    study
        What was run.
    runs
        The runs, as `Store.runs` gives them.
    test
        "signed-rank" (runs paired by seed, as in the paper) or "mann-whitney".
    correct
        Whether to correct the p-values of each problem and level for the number of pairs, by Holm's method.
    confirm
        How many fresh seeds confirm each choice.
    """
    rows: list[Row] = []
    for problem in study.problems:
        chosen = {algorithm: _choices(study, runs, problem, algorithm) for algorithm in study.algorithms}
        verdicts_at = {
            level: _verdicts(study, runs, problem, {one: found[level] for one, found in chosen.items()}, test, correct)
            for level in LEVELS
        }
        for algorithm, found in chosen.items():
            entries = {
                level: _entry(study, runs, problem, algorithm, found[level], verdicts_at[level], confirm)
                for level in LEVELS
            }
            rows.append(_row(study, runs, problem, algorithm, entries, confirm))
    return rows


def outcomes(study: Study, runs: Runs, problem: StudyProblem, algorithm: StudyAlgorithm) -> Outcomes:
    """Say which runs of a problem and an algorithm solved it."""
    return {
        popsize: {seed: run.success for seed, run in _of_cell(study, runs, problem, algorithm, popsize).items()}
        for popsize in algorithm.popsizes
    }


def efforts(study: Study, runs: Runs, problem: StudyProblem, algorithm: StudyAlgorithm) -> list[Effort]:
    """Sum up the runs of each population size that has any."""
    cells = {popsize: _of_cell(study, runs, problem, algorithm, popsize) for popsize in algorithm.popsizes}
    return [_effort(popsize, found, study.seeds) for popsize, found in cells.items() if found]


def _of_cell(
    study: Study, runs: Runs, problem: StudyProblem, algorithm: StudyAlgorithm, popsize: int | None, *, fresh: int = 0
) -> dict[int, Run]:
    """Give the runs of a cell that belong to the study, or with fresh seeds; a store may hold those of others, too.

    One that was killed from outside has yet to be made.
    """
    found = runs.get(study.cell(problem, algorithm, popsize).key, {})
    seeds = study.fresh_seeds(fresh) if fresh else study.seeds
    return {seed: found[seed] for seed in seeds if seed in found and found[seed].status != KILLED}


def _choices(study: Study, runs: Runs, problem: StudyProblem, algorithm: StudyAlgorithm) -> dict[int, Choice]:
    return choices(outcomes(study, runs, problem, algorithm), algorithm.popsizes, study.seeds)


def _row(
    study: Study,
    runs: Runs,
    problem: StudyProblem,
    algorithm: StudyAlgorithm,
    entries: Mapping[int, Entry],
    confirm: int,
) -> Row:
    cells = [_of_cell(study, runs, problem, algorithm, popsize) for popsize in algorithm.popsizes]
    again = [_of_cell(study, runs, problem, algorithm, size, fresh=confirm) for size in algorithm.popsizes if confirm]
    tried = efforts(study, runs, problem, algorithm)
    is_open = any(entry.choice is Unsettled.OPEN for entry in entries.values())
    return Row(
        problem=problem,
        algorithm=algorithm,
        entries=entries,
        judged=not any(run.success is None for found in cells for run in found.values()),
        failed=sum(run.status != DONE for found in (*cells, *again) for run in found.values()),
        under_way=tried[-1] if is_open and tried else None,
    )


def _entry(
    study: Study,
    runs: Runs,
    problem: StudyProblem,
    algorithm: StudyAlgorithm,
    choice: Choice,
    verdicts_of: tuple[Verdicts, Verdicts],
    confirm: int,
) -> Entry:
    if isinstance(choice, Unsettled):
        return Entry(choice=choice)
    made = _of_cell(study, runs, problem, algorithm, choice.popsize)
    own = (verdicts_of[0].get(algorithm.name, Verdict()), verdicts_of[1].get(algorithm.name, Verdict()))
    effort = _effort(choice.popsize, made, study.seeds, own)
    if not confirm:
        return Entry(choice=choice, effort=effort)
    again = _of_cell(study, runs, problem, algorithm, choice.popsize, fresh=confirm)
    return Entry(choice=choice, effort=effort, confirmed=_effort(choice.popsize, again, study.fresh_seeds(confirm)))


def _effort(
    popsize: int | None,
    runs: Mapping[int, Run],
    seeds: Sequence[int],
    found: tuple[Verdict, Verdict] = (Verdict(), Verdict()),
) -> Effort:
    done = [run for run in runs.values() if run.status == DONE]
    return Effort(
        popsize=popsize,
        runs=len(runs),
        solved=sum(run.success is True for run in runs.values()),
        failed=len(runs) - len(done),
        complete=all(seed in runs for seed in seeds),
        best=_measure([run.best for run in done]),
        evaluations=_measure([run.evaluations for run in done], found[0]),
        seconds=_measure([run.seconds for run in done], found[1]),
        batches=_measure([run.batches for run in done]),
    )


def _measure(values: Sequence[float | None], verdict: Verdict = Verdict()) -> Measure | None:  # noqa: B008  immutable
    known = [float(value) for value in values if value is not None]
    if not known:
        return None
    if not all(map(math.isfinite, known)):  # a run that found nothing feasible
        return Measure(mean=sum(known), sd=math.nan, star=verdict.star, p=verdict.p)
    mean, sd = mean_sd(known)
    return Measure(mean=mean, sd=sd, star=verdict.star, p=verdict.p)


def _verdicts(
    study: Study,
    runs: Runs,
    problem: StudyProblem,
    chosen: Mapping[StudyAlgorithm, Choice],
    test: Test,
    correct: bool,
) -> tuple[Verdicts, Verdicts]:
    """Say whose evaluations, and whose seconds, are significantly the smallest.

    Nobody has won before all have ended: there is no verdict while a rival's size, or a run of it, is still missing. A
    rival that does not reach the level with any size takes no part. Seconds are compared on one kind of processor only.
    """
    if Unsettled.OPEN in chosen.values():
        return {}, {}
    evaluations: dict[str, dict[int, float]] = {}
    seconds: dict[str, dict[int, float]] = {}
    processors: set[str | None] = set()
    for algorithm, choice in chosen.items():
        if isinstance(choice, Unsettled):
            continue
        found = _of_cell(study, runs, problem, algorithm, choice.popsize)
        if len(found) < study.runs:
            return {}, {}
        done = {seed: run for seed, run in found.items() if run.evaluations is not None and run.seconds is not None}
        evaluations[algorithm.name] = {seed: float(run.evaluations or 0) for seed, run in done.items()}
        seconds[algorithm.name] = {seed: run.seconds or 0.0 for seed, run in done.items()}
        processors |= {run.cpu for run in done.values()}
    fair = len(processors) < 2  # seconds of two machines say more of these than of the algorithms
    return (
        verdicts(evaluations, test=test, correct=correct),
        verdicts(seconds, test=test, correct=correct) if fair else {},
    )
