"""What the runs of a study with budgets say: the best value that each budget buys, who is better, and what it costs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from daedal.studies.analysis import Measure, Test, Verdict, measure, verdicts
from daedal.studies.plan import Runs
from daedal.studies.spec import Study, StudyAlgorithm, StudyProblem
from daedal.studies.store import DONE, KILLED, Run

Found: TypeAlias = Mapping[str, Mapping[int, Run]]
"""Runs of one problem and budget, by the name of the algorithm and by seed."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The median of the best values, and the quartiles around it."""

    median: float
    q1: float
    q3: float


@dataclass(frozen=True, kw_only=True)
class BudgetRow:
    """One line of the table: what the runs of an algorithm on a problem came to with a budget.

    Runs that failed are left out of all figures but the counts of runs. Solved is None where nobody can tell. The best
    value has the star of `Verdict`; `rank` is the place of its mean among the algorithms, where equal means share
    theirs. Evaluations, batches and CPU seconds are those of whole runs; `ert` is the expected running time, see
    `expected_running_time`. Popsize is None where it is the algorithm's own choice.
    """

    problem: StudyProblem
    algorithm: StudyAlgorithm
    budget: int
    popsize: int | None
    runs: int
    solved: int | None
    failed: int
    complete: bool
    best: Measure | None
    spread: Spread | None
    rank: float | None
    evaluations: Measure | None
    batches: Measure | None
    ert: float | None
    cpu_seconds: Measure | None
    optimum: float | None = None


def analyse_budgets(study: Study, runs: Runs, *, test: Test = "signed-rank", correct: bool = False) -> list[BudgetRow]:
    """Make the table of a study with budgets, by problem, budget and algorithm.

    The p-values of each problem and budget may be corrected for the number of pairs, by Holm's method.
    """

    def made(problem: StudyProblem, algorithm: StudyAlgorithm, budget: int) -> Mapping[int, Run]:
        found = runs.get(study.cell(problem, algorithm, algorithm.popsizes[0], budget).key, {})
        return {seed: found[seed] for seed in study.seeds if seed in found and found[seed].status != KILLED}

    return [
        row
        for problem in study.problems
        for budget in study.budgets
        for row in rows_of_budget(problem, study.algorithms, budget, made, study.runs, test=test, correct=correct)
    ]


def rows_of_budget(
    problem: StudyProblem,
    algorithms: Sequence[StudyAlgorithm],
    budget: int,
    made: Callable[[StudyProblem, StudyAlgorithm, int], Mapping[int, Run]],
    wanted: int,
    *,
    test: Test = "signed-rank",
    correct: bool = False,
) -> list[BudgetRow]:
    """Sum up what was made with one budget on one problem, a row for each algorithm.

    Nobody has won before all have ended: while one of the `wanted` runs is missing there are neither ranks nor stars.
    """
    found = {algorithm.name: made(problem, algorithm, budget) for algorithm in algorithms}
    complete = all(len(of_one) >= wanted for of_one in found.values())
    places, judged = _judged(found, problem.minimize, test, correct) if complete else ({}, {})
    rows = []
    for algorithm in algorithms:
        runs = found[algorithm.name]
        done = [run for run in runs.values() if run.status == DONE]
        known = [run.success for run in runs.values()]
        best = [run.best for run in done if run.best is not None]
        rows.append(
            BudgetRow(
                problem=problem,
                algorithm=algorithm,
                budget=budget,
                popsize=algorithm.popsizes[0],
                runs=len(runs),
                solved=None if None in known else sum(success is True for success in known),
                failed=len(runs) - len(done),
                complete=len(runs) >= wanted,
                best=measure(best, judged.get(algorithm.name)),
                spread=spread(best) if best else None,
                rank=places.get(algorithm.name),
                evaluations=measure([run.evaluations for run in done]),
                batches=measure([run.batches for run in done]),
                ert=expected_running_time(done),
                cpu_seconds=measure([run.cpu_seconds for run in done]),
                optimum=next((run.optimum for run in done if run.optimum is not None), None),
            )
        )
    return rows


def _judged(
    found: Found, minimize: bool, test: Test, correct: bool
) -> tuple[Mapping[str, float], Mapping[str, Verdict]]:
    """Give the rank of each algorithm and what the tests say of it, by name; one without any value has no rank."""
    sign = 1.0 if minimize else -1.0  # the tests look for what is smaller
    values = {
        name: {seed: sign * run.best for seed, run in of_one.items() if run.status == DONE and run.best is not None}
        for name, of_one in found.items()
    }
    means = {name: statistics.fmean(of_one.values()) for name, of_one in values.items() if of_one}
    return ranks(means), verdicts(values, test=test, correct=correct)


def ranks(values: Mapping[str, float]) -> dict[str, float]:
    """Give the rank of each value, 1.0 for the smallest; equal ones share the mean of their ranks.

    Examples
    --------
    >>> ranks({"a": 3.0, "b": 1.0, "c": 3.0})
    {'a': 2.5, 'b': 1.0, 'c': 2.5}
    """
    sizes = list(values.values())
    return {
        name: sum(other < value for other in sizes) + (sizes.count(value) + 1) / 2 for name, value in values.items()
    }


def mean_ranks(rows: Sequence[BudgetRow]) -> dict[int, dict[str, float]]:
    """Give the mean rank over all problems, by budget and the name of the algorithm, where all ranks are known."""
    found: dict[int, dict[str, list[float | None]]] = {}
    for row in rows:
        found.setdefault(row.budget, {}).setdefault(row.algorithm.name, []).append(row.rank)
    return {
        budget: {name: statistics.fmean(known) for name, of_one in of_budget.items() if (known := _all_known(of_one))}
        for budget, of_budget in found.items()
    }


def _all_known(values: Sequence[float | None]) -> list[float]:
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else []


def expected_running_time(runs: Sequence[Run]) -> float | None:
    """Compute the evaluations of all runs over the number of solved runs; None if none is solved or a count is unknown.

    The first solution takes that many evaluations on average, if the run is made again and again until it is solved.

    Examples
    --------
    >>> solved, not_solved = (Run(seed, "done", not seed, evaluations=100 + 200 * seed) for seed in (0, 1))
    >>> expected_running_time([solved, not_solved, not_solved])
    700.0
    """
    solved = sum(run.success is True for run in runs)
    evaluations = _all_known([run.evaluations for run in runs])
    return sum(evaluations) / solved if solved and evaluations else None


def spread(values: Sequence[float]) -> Spread:
    """Give the median and the quartiles of at least one value, between neighbours in proportion."""
    ordered = sorted(values)
    return Spread(median=_quantile(ordered, 0.5), q1=_quantile(ordered, 0.25), q3=_quantile(ordered, 0.75))


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low, high, part = ordered[math.floor(place)], ordered[math.ceil(place)], place % 1
    return low if low == high else low * (1 - part) + high * part  # one of them may be infinite
