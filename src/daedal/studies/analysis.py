"""The analysis of a study: the sizes that solve 50 and 90 % of the runs, their effort, and significant differences."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from daedal.settings.parameters import unknown
from daedal.studies.plan import LEVELS, Choice, Runs, Settled, Sizes, Unsettled, choices, sizes_of, solved_of
from daedal.studies.spec import Study, StudyAlgorithm, StudyProblem
from daedal.studies.store import DONE, Run

Test: TypeAlias = Literal["signed-rank", "mann-whitney"]
"""A two-sided test: Wilcoxon's of pairs, as in the paper, or Mann and Whitney's of two samples without pairs."""

_FEW = 13
"""Pairs up to which SciPy tries all signs if some pairs are tied; it takes up to four seconds for that."""


class Comparison(NamedTuple):
    """The two-sided p-value, and the sign of the test's statistic: below zero if the first has smaller ranks."""

    p: float
    lean: float


_NO_DIFFERENCE = Comparison(1.0, 0.0)


def compare(a: Mapping[int, float], b: Mapping[int, float], *, test: Test) -> Comparison:
    """Compare the values of two algorithms, given by seed; p is 1.0 if there is nothing to compare.

    "signed-rank" takes the seeds that both have, and of these the ones with different values; the law is exact up to 50
    pairs, or up to 13 if values agree or differences are tied. "mann-whitney" takes all values; the law is exact if one
    side has at most 8 and no value comes twice.
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
        return _NO_DIFFERENCE
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
        return _NO_DIFFERENCE
    u, p = stats.mannwhitneyu(a, b)
    return Comparison(float(p), float(2 * u - len(a) * len(b)))


LEVEL = 0.01
"""A p-value below it is significant (the paper, Table 1)."""


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p-values for their number, after Holm: the chance of any false alarm among them stays at the level."""
    adjusted = [0.0] * len(p)
    reached = 0.0
    for step, index in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        reached = max(reached, min(1.0, (len(p) - step) * p[index]))
        adjusted[index] = reached
    return adjusted


def pairwise(
    values: Mapping[str, Mapping[int, float]], *, test: Test = "signed-rank", correct: bool = False
) -> dict[tuple[str, str], float]:
    """Give the p-value of each pair of algorithms, once, from their values by seed; corrected: see `holm`."""
    pairs = list(combinations(values, 2))
    p = [compare(values[a], values[b], test=test).p for a, b in pairs]
    return dict(zip(pairs, holm(p) if correct else p, strict=True))


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether an algorithm is significantly better than all its rivals, and the largest p-value against them."""

    star: bool = False
    p: float | None = None


def verdicts(
    values: Mapping[str, Mapping[int, float]],
    *,
    test: Test = "signed-rank",
    correct: bool = False,
    level: float = LEVEL,
) -> dict[str, Verdict]:
    """Find the algorithm whose values are significantly smaller than those of every other.

    It has to be significant against each other one, with smaller ranks and with a smaller mean of all its values:
    the mean is what a table shows, and with missing seeds, or a few large values, the two can disagree. An algorithm
    without rivals has no star; one without values keeps the others from it, as nothing shows that they are better. The
    paper does not correct for the number of pairs.

    Examples
    --------
    >>> dae = {seed: 100.0 + seed for seed in range(8)}
    >>> rbm = {seed: 110.0 + 2 * seed for seed in range(8)}
    >>> verdicts({"dae": dae, "rbm": rbm})
    {'dae': Verdict(star=True, p=0.0078125), 'rbm': Verdict(star=False, p=0.0078125)}
    """
    found = pairwise(values, test=test, correct=correct)
    p = found | {(b, a): value for (a, b), value in found.items()}
    given = {}
    for name in values:
        others = [other for other in values if other != name]
        largest = max((p[name, other] for other in others), default=None)
        differs = largest is not None and largest < level
        star = differs and all(_is_smaller(values[name], values[other], test) for other in others)
        given[name] = Verdict(star=star, p=largest)
    return given


def can_be_significant(runs: int, *, test: Test, pairs: int = 1, level: float = LEVEL) -> bool:
    """Say whether any outcome of so many runs gives a p-value below the level, corrected for a number of pairs."""
    apart = {seed: float(seed) for seed in range(runs)}, {seed: 2.0 * seed + runs for seed in range(runs)}
    return pairs * compare(*apart, test=test).p < level


def mean_sd(values: Iterable[float]) -> tuple[float, float]:
    """Give the mean and the standard deviation of a sample (n - 1 below), which is 0.0 for one value."""
    sample = list(values)
    if not sample:
        raise ValueError("expected at least one value, got none")
    return statistics.fmean(sample), statistics.stdev(sample) if len(sample) > 1 else 0.0


def _is_smaller(a: Mapping[int, float], b: Mapping[int, float], test: Test) -> bool:
    # The lean comes first: it is zero where a side is empty, and there is no mean.
    return compare(a, b, test=test).lean < 0 and statistics.fmean(a.values()) < statistics.fmean(b.values())


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

    Complete: all runs of the study are made. Batches are those of whole runs. A measure is None where no run has it.
    Judged: one can tell whether a run solved the problem.
    """

    popsize: int | None
    runs: int
    solved: int
    failed: int
    complete: bool
    best: Measure | None
    evaluations_to_best: Measure | None
    cpu_seconds_to_best: Measure | None
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
        made = {one: sizes_of(study, runs, problem, one, study.seeds) for one in study.algorithms}
        chosen = {one: choices(solved_of(sizes), one.popsizes, study.seeds) for one, sizes in made.items()}
        found = {
            level: _verdicts(study, made, {one: of_one[level] for one, of_one in chosen.items()}, test, correct)
            for level in LEVELS
        }
        for algorithm, sizes in made.items():
            again = sizes_of(study, runs, problem, algorithm, fresh)
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


def efforts(study: Study, runs: Runs, problem: StudyProblem, algorithm: StudyAlgorithm) -> list[Effort]:
    """Sum up the runs of each population size that has any."""
    sizes = sizes_of(study, runs, problem, algorithm, study.seeds)
    return [_effort(popsize, made, study.seeds) for popsize, made in sizes.items() if made]


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
        evaluations_to_best=measure([run.evaluations_to_best for run in done], evaluations),
        cpu_seconds_to_best=measure([run.cpu_seconds_to_best for run in done], seconds),
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
    made: Mapping[StudyAlgorithm, Sizes],
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
        name: {
            seed: run
            for seed, run in of.items()
            if run.evaluations_to_best is not None and run.cpu_seconds_to_best is not None
        }
        for name, of in found.items()
    }
    evaluations = {
        name: {seed: float(run.evaluations_to_best or 0) for seed, run in of.items()} for name, of in done.items()
    }
    seconds = {name: {seed: run.cpu_seconds_to_best or 0.0 for seed, run in of.items()} for name, of in done.items()}
    processors = {run.cpu for of in done.values() for run in of.values()}
    return (
        verdicts(evaluations, test=test, correct=correct),
        # Seconds of two machines say more of these than of the algorithms.
        verdicts(seconds, test=test, correct=correct) if len(processors) < 2 else {},
    )
