"""Whether one algorithm beats its rivals by more than chance: then it gets the paper's star."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from daedal.studies.rank_tests import Test, compare

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


def required(level_percent: int, runs: int) -> int:
    """Count the successes that are needed for a success level: the fewest with successes / runs >= level."""
    if not 0 <= level_percent <= 100:
        raise ValueError(f"expected level_percent to be from 0 to 100, got level_percent={level_percent}")
    if runs < 1:
        raise ValueError(f"expected at least one run, got runs={runs}")
    return -(-level_percent * runs // 100)  # rounds up, in whole numbers


def _is_smaller(a: Mapping[int, float], b: Mapping[int, float], test: Test) -> bool:
    # The lean comes first: it is zero where a side is empty, and there is no mean.
    return compare(a, b, test=test).lean < 0 and statistics.fmean(a.values()) < statistics.fmean(b.values())
