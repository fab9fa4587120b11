"""What the runs of a study say: the sizes that solve 50 and 90 %, their effort, and which is significantly better."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from daedal.studies.plan import LEVELS, Choice, Outcomes, Settled, Unsettled, choices
from daedal.studies.rank_tests import Test
from daedal.studies.run import DONE, KILLED, Run
from daedal.studies.spec import Study, StudyAlgorithm, StudyProblem
from daedal.studies.statistics import Verdict, mean_sd, verdicts

Runs: TypeAlias = Mapping[str, Mapping[int, Run]]
"""By the key of a cell and by seed, as a store gives them."""

_Sizes: TypeAlias = Mapping[int | None, Mapping[int, Run]]
"""Runs of one problem and algorithm, by population size and seed."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Mean and standard deviation over the runs of a cell, and what the tests say of it, see `Verdict`."""

    mean: float
    sd: float
    star: bool = False
    p: float | None = None


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What the runs of one cell came to: how many were made, solved their problem, and were ended by an error.

    Complete: all runs of the study are made. Evaluations and CPU seconds count until the best solution, batches over
    whole runs. A measure is None where no run has it. Judged: one can tell whether a run solved the problem.
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
    judged: bool = True


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The answer for one problem, algorithm and level: the size chosen, its effort, and that of its fresh seeds."""

    choice: Choice
    effort: Effort | None = None
    confirmed: Effort | None = None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the table: an entry for each level.

    Judged: one can tell whether a run solved the problem. Failed are runs of all sizes, those with fresh seeds
    included. Under way is the largest size so far, as long as it is not known which sizes are the answer.
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

    The p-values of each problem and level may be corrected for the number of pairs, by Holm's method; `confirm` is how
    many fresh seeds confirm each choice.
    """
    fresh = study.fresh_seeds(confirm)
    rows: list[Row] = []
    for problem in study.problems:
        made = {one: _sizes(study, runs, problem, one, study.seeds) for one in study.algorithms}
        chosen = {one: choices(_solved(sizes), one.popsizes, study.seeds) for one, sizes in made.items()}
        found = {
            level: _verdicts(study, made, {one: of_one[level] for one, of_one in chosen.items()}, test, correct)
            for level in LEVELS
        }
        for algorithm, sizes in made.items():
            again = _sizes(study, runs, problem, algorithm, fresh)
            entries: dict[int, Entry] = {}
            for level, choice in chosen[algorithm].items():
                if isinstance(choice, Unsettled):
                    entries[level] = Entry(choice=choice)
                    continue
                size = choice.popsize
                effort = _effort(size, sizes[size], study.seeds, *(one.get(algorithm.name) for one in found[level]))
                confirmed = _effort(size, again[size], fresh) if confirm else None
                entries[level] = Entry(choice=choice, effort=effort, confirmed=confirmed)
            tried = [_effort(size, of_size, study.seeds) for size, of_size in sizes.items() if of_size]
            again_failed = sum(run.status != DONE for of_size in again.values() for run in of_size.values())
            is_open = Unsettled.OPEN in chosen[algorithm].values()
            rows.append(
                Row(
                    problem=problem,
                    algorithm=algorithm,
                    entries=entries,
                    judged=all(effort.judged for effort in tried),
                    failed=sum(effort.failed for effort in tried) + again_failed,
                    under_way=tried[-1] if is_open and tried else None,
                )
            )
    return rows


def outcomes(study: Study, runs: Runs, problem: StudyProblem, algorithm: StudyAlgorithm) -> Outcomes:
    """Say which runs of a problem and an algorithm solved it."""
    return _solved(_sizes(study, runs, problem, algorithm, study.seeds))


def efforts(study: Study, runs: Runs, problem: StudyProblem, algorithm: StudyAlgorithm) -> list[Effort]:
    """Sum up the runs of each population size that has any."""
    sizes = _sizes(study, runs, problem, algorithm, study.seeds)
    return [_effort(popsize, made, study.seeds) for popsize, made in sizes.items() if made]


def _sizes(
    study: Study, runs: Runs, problem: StudyProblem, algorithm: StudyAlgorithm, seeds: Sequence[int]
) -> dict[int | None, dict[int, Run]]:
    """Give the runs with these seeds, by population size; a store may hold others, too.

    One that was killed from outside has yet to be made.
    """
    sizes = {}
    for popsize in algorithm.popsizes:
        found = runs.get(study.cell(problem, algorithm, popsize).key, {})
        sizes[popsize] = {seed: found[seed] for seed in seeds if seed in found and found[seed].status != KILLED}
    return sizes


def _solved(sizes: _Sizes) -> Outcomes:
    return {popsize: {seed: run.success for seed, run in made.items()} for popsize, made in sizes.items()}


def _effort(
    popsize: int | None,
    runs: Mapping[int, Run],
    seeds: Sequence[int],
    evaluations: Verdict | None = None,
    seconds: Verdict | None = None,
) -> Effort:
    done = [run for run in runs.values() if run.status == DONE]
    return Effort(
        popsize=popsize,
        runs=len(runs),
        solved=sum(run.success is True for run in runs.values()),
        failed=len(runs) - len(done),
        complete=all(seed in runs for seed in seeds),
        best=measure([run.best for run in done]),
        evaluations=measure([run.evaluations for run in done], evaluations),
        seconds=measure([run.seconds for run in done], seconds),
        batches=measure([run.batches for run in done]),
        judged=all(run.success is not None for run in runs.values()),
    )


def measure(values: Sequence[float | None], verdict: Verdict | None = None) -> Measure | None:
    """Give mean and standard deviation of the values that are known, and what the tests say; None where none is."""
    known = [float(value) for value in values if value is not None]
    if not known:
        return None
    # A run that found nothing feasible has no finite best.
    mean, sd = mean_sd(known) if all(map(math.isfinite, known)) else (sum(known), math.nan)
    verdict = verdict or Verdict()
    return Measure(mean=mean, sd=sd, star=verdict.star, p=verdict.p)


def _verdicts(
    study: Study,
    made: Mapping[StudyAlgorithm, _Sizes],
    chosen: Mapping[StudyAlgorithm, Choice],
    test: Test,
    correct: bool,
) -> tuple[dict[str, Verdict], dict[str, Verdict]]:
    """Say whose evaluations, and whose seconds, are significantly the smallest, by the name of the algorithm.

    Nobody has won before all have ended: there is no verdict while a rival's size, or a run of it, is still missing. A
    rival that does not reach the level with any size takes no part. Seconds are compared on one kind of processor only.
    """
    found = {one.name: made[one][choice.popsize] for one, choice in chosen.items() if isinstance(choice, Settled)}
    if Unsettled.OPEN in chosen.values() or any(len(of) < study.runs for of in found.values()):
        return {}, {}
    done = {
        name: {seed: run for seed, run in of.items() if run.evaluations is not None and run.seconds is not None}
        for name, of in found.items()
    }
    evaluations = {name: {seed: float(run.evaluations or 0) for seed, run in of.items()} for name, of in done.items()}
    seconds = {name: {seed: run.seconds or 0.0 for seed, run in of.items()} for name, of in done.items()}
    processors = {run.cpu for of in done.values() for run in of.values()}
    return (
        verdicts(evaluations, test=test, correct=correct),
        # Seconds of two machines say more of these than of the algorithms.
        verdicts(seconds, test=test, correct=correct) if len(processors) < 2 else {},
    )
