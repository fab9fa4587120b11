"""What the runs of a study say: per population size, per level of solved runs and per budget, with significance."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from daedal.settings.parameters import unknown
from daedal.studies.plan import LEVELS, Choice, Runs, Settled, Unsettled, choices, made_runs, outcomes, sizes_of
from daedal.studies.spec import Study, StudyAlgorithm, StudyProblem
from daedal.studies.store import DONE, Run

# ------------------------------------------------------------ tests

Test: TypeAlias = Literal["signed-rank", "mann-whitney"]
"""A two-sided test: Wilcoxon's for pairs, as in the paper, or Mann and Whitney's for two samples without pairs."""

SIGNIFICANT = 0.01
"""A p-value below it is significant (the paper, Table 1)."""

_FEW = 13
"""Pairs up to which all signs are tried if some pairs are tied. SciPy gives the same p-values, but takes seconds."""


class Comparison(NamedTuple):
    """The two-sided p-value, and the sign of the test's statistic: below zero if the first has smaller ranks."""

    p: float
    lean: float


def compare(a: Mapping[int, float], b: Mapping[int, float], *, test: Test) -> Comparison:
    """Compare the values of two algorithms by seed; p is 1.0 if there is nothing to compare.

    "signed-rank" takes the seeds that both have. "mann-whitney" takes all values.
    """
    if test == "signed-rank":
        return _signed_rank(
            tuple(value - b[seed] if value != b[seed] else 0.0 for seed, value in a.items() if seed in b)
        )
    if test == "mann-whitney":
        return _mann_whitney(tuple(a.values()), tuple(b.values()))
    raise ValueError(unknown("test", test, get_args(Test)))


@lru_cache(maxsize=10_000)  # a page or a terminal that follows a study asks again and again
def _signed_rank(differences: tuple[float, ...]) -> Comparison:
    from scipy import stats

    found = np.array([one for one in differences if one])
    if not len(found):
        return Comparison(1.0, 0.0)
    ranks = stats.rankdata(abs(found))
    plus, minus = ranks[found > 0].sum(), ranks[found < 0].sum()
    if len(differences) <= _FEW and len({0.0, *abs(found)}) <= len(differences):
        sums = (np.arange(2 ** len(found))[:, None] >> np.arange(len(found)) & 1) @ ranks
        p = min(1.0, 2 * np.mean(sums <= min(plus, minus)))
    else:
        p = stats.wilcoxon(differences).pvalue
    return Comparison(float(p), float(plus - minus))


@lru_cache(maxsize=10_000)
def _mann_whitney(a: tuple[float, ...], b: tuple[float, ...]) -> Comparison:
    from scipy import stats

    if not a or not b or len({*a, *b}) == 1:
        return Comparison(1.0, 0.0)
    u, p = stats.mannwhitneyu(a, b)
    return Comparison(float(p), float(2 * u - len(a) * len(b)))


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p-values for their number by Holm's method."""
    adjusted = [0.0] * len(p)
    reached = 0.0
    for step, index in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        reached = max(reached, min(1.0, (len(p) - step) * p[index]))
        adjusted[index] = reached
    return adjusted


@dataclass(frozen=True)
class Verdict:
    """Whether an algorithm is significantly better than all its rivals, and the largest p-value against them."""

    star: bool = False
    p: float | None = None


def verdicts(
    values: Mapping[str, Mapping[int, float]], *, test: Test = "signed-rank", correct: bool = False
) -> dict[str, Verdict]:
    """Find the algorithm whose values are significantly smaller than those of every other algorithm.

    It also needs smaller ranks and a smaller mean than each of the others. A table shows the mean, and with missing
    seeds or a few large values, mean and ranks can disagree. An algorithm without rivals has no star. One without
    values keeps the others from it. The paper does not correct for the number of pairs.

    Examples
    --------
    >>> dae = {seed: 100.0 + seed for seed in range(8)}
    >>> rbm = {seed: 110.0 + 2 * seed for seed in range(8)}
    >>> verdicts({"dae": dae, "rbm": rbm})
    {'dae': Verdict(star=True, p=0.0078125), 'rbm': Verdict(star=False, p=0.0078125)}
    """
    pairs = list(combinations(values, 2))
    found = {pair: compare(values[pair[0]], values[pair[1]], test=test) for pair in pairs}
    raw = [found[pair].p for pair in pairs]
    p = dict(zip(pairs, holm(raw) if correct else raw, strict=True))
    worst = {name: max((p[pair] for pair in pairs if name in pair), default=None) for name in values}

    def is_smaller(name: str, other: str) -> bool:
        lean = found[name, other].lean if (name, other) in found else -found[other, name].lean
        # The lean comes first: it is zero where a side is empty, and there is no mean.
        return lean < 0 and statistics.fmean(values[name].values()) < statistics.fmean(values[other].values())

    return {
        name: Verdict(
            largest is not None
            and largest < SIGNIFICANT
            and all(is_smaller(name, other) for other in values if other != name),
            largest,
        )
        for name, largest in worst.items()
    }


def can_be_significant(runs: int, *, test: Test, pairs: int = 1) -> bool:
    """Return True if some outcome of this number of runs is significant after a correction for a number of pairs."""
    apart = {seed: float(seed) for seed in range(runs)}, {seed: 2.0 * seed + runs for seed in range(runs)}
    return pairs * compare(*apart, test=test).p < SIGNIFICANT


# ------------------------------------------------------------ rows


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Mean and standard deviation over runs, and what the tests say about them: see `Verdict`."""

    mean: float
    sd: float
    star: bool = False
    p: float | None = None


@dataclass(frozen=True, kw_only=True)
class Row:
    """What the runs of an algorithm on a problem came to: with a population size, at a level or with a budget.

    Attributes
    ----------
    problem, algorithm, popsize, level, budget
        Place of the row.
    choice
        At a level: the population size that reaches it, or why there is none. Without a size, there are no runs.
    runs, solved, failed, complete
        Runs that were made, that solved the problem (None: no optimum or target is known), and that ended with an
        error; and whether all runs are made. Those that failed are left out of all other figures.
    best, evaluations, batches, cpu_seconds
        Means over whole runs.
    evaluations_to_best, cpu_seconds_to_best
        Means up to the best solution.
    q1, median, q3
        Quartiles of the best values.
    rank
        Rank of the mean best value among the algorithms with this budget.
    confirmed
        At a level: the runs that confirm the choice with other seeds.
    under_way
        At an open level: the runs of the size that is tried.
    failed_at_any_size
        At a level: failed runs of all sizes, and of those that confirm the choice.
    """

    problem: StudyProblem
    algorithm: StudyAlgorithm
    popsize: int | None = None
    level: int | None = None
    budget: int | None = None
    choice: Choice | None = None
    runs: int = 0
    solved: int | None = 0
    failed: int = 0
    complete: bool = False
    best: Measure | None = None
    evaluations_to_best: Measure | None = None
    cpu_seconds_to_best: Measure | None = None
    evaluations: Measure | None = None
    batches: Measure | None = None
    cpu_seconds: Measure | None = None
    q1: float | None = None
    median: float | None = None
    q3: float | None = None
    rank: float | None = None
    confirmed: Row | None = None
    under_way: Row | None = None
    failed_at_any_size: int = 0

    @property
    def ert(self) -> float | None:
        """Expected running time: the evaluations of all runs, divided by the number of solved runs."""
        if not self.solved or self.evaluations is None:
            return None
        return self.evaluations.mean * (self.runs - self.failed) / self.solved


def row_of(
    problem: StudyProblem,
    algorithm: StudyAlgorithm,
    runs: Mapping[int, Run],
    wanted: int,
    *,
    popsize: int | None = None,
    budget: int | None = None,
) -> Row:
    """Sum up runs by seed, out of a number that is wanted."""
    done = [run for run in runs.values() if run.status == DONE]
    best = [run.best for run in done if run.best is not None]
    q1, median, q3 = quartiles(np.array(best)[:, None])[:, 0].tolist() if best else (None, None, None)
    known = [run.success for run in runs.values()]
    return Row(
        problem=problem,
        algorithm=algorithm,
        popsize=popsize,
        budget=budget,
        runs=len(runs),
        solved=None if None in known else sum(success is True for success in known),
        failed=len(runs) - len(done),
        complete=len(runs) >= wanted,
        best=_measure(best),
        evaluations_to_best=_measure(run.evaluations_to_best for run in done),
        cpu_seconds_to_best=_measure(run.cpu_seconds_to_best for run in done),
        evaluations=_measure(run.evaluations for run in done),
        batches=_measure(run.batches for run in done),
        cpu_seconds=_measure(run.cpu_seconds for run in done),
        q1=q1,
        median=median,
        q3=q3,
    )


def _measure(values: Iterable[float | None]) -> Measure | None:
    """Return the mean and standard deviation of the values that are known; None if none is."""
    known = [float(value) for value in values if value is not None]
    if not known:
        return None
    if not all(map(math.isfinite, known)):  # a run that found nothing feasible has no finite best
        return Measure(mean=sum(known), sd=math.nan)
    return Measure(mean=statistics.fmean(known), sd=statistics.stdev(known) if len(known) > 1 else 0.0)


def quartiles(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the quartiles of each column, shape (3, columns); values may be infinite, unlike in NumPy."""
    ordered = np.sort(values, axis=0)
    found = []
    for share in (0.25, 0.5, 0.75):
        place = share * (len(ordered) - 1)
        low, high, part = ordered[math.floor(place)], ordered[math.ceil(place)], place % 1
        with np.errstate(invalid="ignore"):
            found.append(np.where(low == high, low, low * (1 - part) + high * part))
    return np.stack(found)


def size_rows(study: Study, runs: Runs) -> list[Row]:
    """Sum up the runs of each problem, algorithm and population size that has any."""
    return [
        row_of(problem, algorithm, made, study.runs, popsize=popsize)
        for problem, algorithm in study.pairs()
        for popsize, made in sizes_of(study, runs, problem, algorithm, study.seeds).items()
        if made
    ]


def analyse(
    study: Study, runs: Runs, *, test: Test = "signed-rank", correct: bool = False, confirm: int = 0
) -> list[Row]:
    """Return the rows of a study's table: by problem, budget or level, and algorithm.

    Parameters
    ----------
    study, runs
        The study, and the runs of a store.
    test, correct
        The test that decides about stars, and whether p-values are corrected for the number of pairs.
    confirm
        Number of other seeds that confirm each choice.
    """
    if study.budgets:
        return [
            row
            for problem in study.problems
            for budget in study.budgets
            for row in ranked_rows(
                problem,
                {
                    one: made_runs(runs, study.cell(problem, one, one.popsizes[0], budget), study.seeds)
                    for one in study.algorithms
                },
                study.runs,
                budget=budget,
                test=test,
                correct=correct,
            )
        ]
    return [
        row
        for problem in study.problems
        for row in _level_rows(study, runs, problem, test=test, correct=correct, confirm=confirm)
    ]


def ranked_rows(
    problem: StudyProblem,
    found: Mapping[StudyAlgorithm, Mapping[int, Run]],
    wanted: int,
    *,
    budget: int | None,
    test: Test = "signed-rank",
    correct: bool = False,
) -> list[Row]:
    """Sum up the runs of each algorithm on one problem with one budget.

    As long as one of the wanted runs is missing, there are neither ranks nor stars.
    """
    rows = [row_of(problem, one, runs, wanted, popsize=one.popsizes[0], budget=budget) for one, runs in found.items()]
    if not all(row.complete for row in rows):
        return rows
    sign = 1.0 if problem.minimize else -1.0  # the tests look for what is smaller
    told = verdicts({one.name: _by_seed(runs, "best", sign) for one, runs in found.items()}, test=test, correct=correct)
    means = [math.nan if row.best is None else sign * row.best.mean for row in rows]
    return [
        replace(row, best=_judged(row.best, told[row.algorithm.name]), rank=None if math.isnan(mean) else rank)
        for row, mean, rank in zip(rows, means, _ranks(means), strict=True)
    ]


def _ranks(values: Sequence[float]) -> list[float]:
    """Return ranks from 1 on; equal values share the mean of their ranks, and nan has none."""
    return [sum(other < value for other in values) + (values.count(value) + 1) / 2 for value in values]


def mean_ranks(rows: Sequence[Row]) -> dict[int | None, dict[str, float]]:
    """Return the mean rank over all problems, by budget and name of the algorithm, if all ranks are known."""
    found: dict[int | None, dict[str, list[float | None]]] = {}
    for row in rows:
        found.setdefault(row.budget, {}).setdefault(row.algorithm.name, []).append(row.rank)
    return {
        budget: {
            name: statistics.fmean(rank for rank in ranks if rank is not None)
            for name, ranks in of_budget.items()
            if None not in ranks
        }
        for budget, of_budget in found.items()
    }


def _level_rows(
    study: Study, runs: Runs, problem: StudyProblem, *, test: Test, correct: bool, confirm: int
) -> list[Row]:
    """Return the rows of one problem at all levels."""
    fresh = study.fresh_seeds(confirm)
    made = {one: sizes_of(study, runs, problem, one, study.seeds) for one in study.algorithms}
    again = {one: sizes_of(study, runs, problem, one, fresh) for one in study.algorithms}
    chosen = {one: choices(outcomes(study, runs, problem, one), one.popsizes, study.seeds) for one in made}
    rows = []
    for level in LEVELS:
        found = {
            one: made[one][choice.popsize] for one, of in chosen.items() if isinstance(choice := of[level], Settled)
        }
        is_over = all(of[level] is not Unsettled.OPEN for of in chosen.values())
        if is_over and all(len(of) >= study.runs for of in found.values()):
            # CPU seconds are comparable on one kind of processor only.
            processors = {run.cpu for of in found.values() for run in of.values() if run.status == DONE}
            evaluations, seconds = (
                verdicts({one.name: _by_seed(of, name) for one, of in found.items()}, test=test, correct=correct)
                for name in ("evaluations_to_best", "cpu_seconds_to_best")
            )
            seconds = seconds if len(processors) < 2 else {}
        else:
            evaluations = seconds = {}
        for one in study.algorithms:
            choice, sizes = chosen[one][level], made[one]
            tried = [size for size, of_size in sizes.items() if of_size]
            if isinstance(choice, Settled):
                row = row_of(problem, one, sizes[choice.popsize], study.runs, popsize=choice.popsize)
                row = replace(
                    row,
                    evaluations_to_best=_judged(row.evaluations_to_best, evaluations.get(one.name)),
                    cpu_seconds_to_best=_judged(row.cpu_seconds_to_best, seconds.get(one.name)),
                    confirmed=row_of(problem, one, again[one][choice.popsize], confirm, popsize=choice.popsize)
                    if confirm
                    else None,
                )
            else:
                is_known = all(run.success is not None for of_size in sizes.values() for run in of_size.values())
                row = Row(problem=problem, algorithm=one, solved=0 if is_known else None)
                if choice is Unsettled.OPEN and tried:
                    last = tried[-1]
                    row = replace(row, under_way=row_of(problem, one, sizes[last], study.runs, popsize=last))
            every = [run for of in (sizes, again[one]) for of_size in of.values() for run in of_size.values()]
            failed = sum(run.status != DONE for run in every)
            rows.append(replace(row, level=level, choice=choice, failed_at_any_size=failed))
    return rows


def _by_seed(runs: Mapping[int, Run], name: str, sign: float = 1.0) -> dict[int, float]:
    """Return an attribute of the runs that have it."""
    known = {seed: getattr(run, name) for seed, run in runs.items() if run.status == DONE}
    return {seed: sign * value for seed, value in known.items() if value is not None}


def _judged(measure: Measure | None, verdict: Verdict | None) -> Measure | None:
    return measure if measure is None or verdict is None else replace(measure, star=verdict.star, p=verdict.p)
