"""Whether one algorithm beats another by more than chance: paired and unpaired rank tests, and the paper's star.

The two tests give the p-values of `scipy.stats.wilcoxon` and `scipy.stats.mannwhitneyu`, as SciPy 1.17 chooses
between the exact law and the normal one. They are written out here because SciPy takes two seconds to import, a
millisecond for a test, and up to two seconds for a test of few pairs with ties; a table has thousands of them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, groupby
from typing import Literal, TypeAlias, get_args

import numpy as np

from daedal.settings.parameters import unknown

Test: TypeAlias = Literal["signed-rank", "mann-whitney"]
"""A two-sided test: Wilcoxon's of pairs, as in the paper, or Mann and Whitney's of two samples without pairs."""

LEVEL = 0.01
"""A p-value below it is significant (the paper, Table 1)."""

# The sizes up to which SciPy's method="auto" uses the exact law.
_EXACT_PAIRS = 50
_EXACT_PAIRS_TIED = 13
_EXACT_SAMPLE = 8


def p_value(a: Mapping[int, float], b: Mapping[int, float], *, test: Test) -> float:
    """Give the two-sided p-value of the values of two algorithms.

    Parameters
    ----------
    a, b
        Values by seed.
    test
        "signed-rank" takes the seeds that both have, and of these the ones with different values; the law is exact
        up to 50 pairs, or up to 13 where values agree or differences are tied. "mann-whitney" takes all values; the
        law is exact where one side has at most 8 and no value comes twice.

    Returns
    -------
    float
        1.0 where there is nothing to compare: no common seed, a side without values, or no difference.

    Examples
    --------
    >>> a, b = {seed: 100.0 + seed for seed in range(8)}, {seed: 120.0 + 2 * seed for seed in range(8)}
    >>> p_value(a, b, test="signed-rank")  # all eight are smaller: 2 of the 2**8 ways to set the signs
    0.0078125
    """
    return _compare(a, b, test)[0]


def holm(p: Sequence[float]) -> list[float]:
    """Adjust p-values for their number, after Holm: the chance of any false alarm among them stays at the level.

    Returns
    -------
    list of float
        In the order given.

    Examples
    --------
    >>> holm([0.0625, 0.0078125, 0.5])
    [0.125, 0.0234375, 0.5]
    """
    adjusted = [0.0] * len(p)
    reached = 0.0
    for step, index in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        reached = max(reached, min(1.0, (len(p) - step) * p[index]))
        adjusted[index] = reached
    return adjusted


def pairwise(
    values: Mapping[str, Mapping[int, float]], *, test: Test = "signed-rank", correct: bool = False
) -> dict[tuple[str, str], float]:
    """Give the p-value of each two algorithms of a cell, which is one problem at one success level.

    Parameters
    ----------
    values
        For each algorithm its values by seed.
    correct
        Adjust for the number of pairs, see `holm`.

    Returns
    -------
    dict
        Each pair once, in the order of the names.

    Examples
    --------
    >>> cell = {"dae": {1: 3.0, 2: 4.0}, "rbm": {1: 5.0, 2: 7.0}, "boa": {1: 5.0, 2: 7.0}}
    >>> pairwise(cell)
    {('dae', 'rbm'): 0.5, ('dae', 'boa'): 0.5, ('rbm', 'boa'): 1.0}
    """
    pairs = list(combinations(values, 2))
    p = [p_value(values[a], values[b], test=test) for a, b in pairs]
    return dict(zip(pairs, holm(p) if correct else p, strict=True))


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the tests say of an algorithm among its rivals.

    Attributes
    ----------
    star
        Whether it is significantly better than all of them.
    p
        The largest of the p-values against them; None without a rival.
    """

    star: bool = False
    p: float | None = None


def verdicts(
    values: Mapping[str, Mapping[int, float]],
    *,
    test: Test = "signed-rank",
    correct: bool = False,
    level: float = LEVEL,
) -> dict[str, Verdict]:
    """Find the algorithm whose values are significantly smaller than those of every other in its cell.

    It has to be significant against each other one, with smaller ranks and with a smaller mean of all its values:
    the mean is what a table shows, and with missing seeds, or a few large values, the two can disagree.

    Parameters
    ----------
    values
        For each algorithm its values by seed. One without values keeps the others from a star, as nothing shows that
        they are better: leave out whoever is not to be compared.
    correct
        Adjust for the number of all pairs, see `holm`. The paper does not.
    level
        The p-value has to be below it.

    Returns
    -------
    dict
        By name; one has a star, or none. Whoever is alone has none.

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
    """Say whether any outcome of so many runs gives a p-value below the level, corrected for a number of pairs.

    Examples
    --------
    >>> [can_be_significant(runs, test="signed-rank") for runs in (7, 8)]
    [False, True]
    """
    apart = {seed: float(seed) for seed in range(runs)}, {seed: 2.0 * seed + runs for seed in range(runs)}
    return pairs * p_value(*apart, test=test) < level


def mean_sd(values: Iterable[float]) -> tuple[float, float]:
    """Give the mean and the standard deviation of a sample (n - 1 below), which is 0.0 for one value.

    Examples
    --------
    >>> mean_sd([1.0, 3.0, 5.0])
    (3.0, 2.0)
    """
    sample = list(values)
    if not sample:
        raise ValueError("expected at least one value, got none")
    return statistics.fmean(sample), statistics.stdev(sample) if len(sample) > 1 else 0.0


def required(level_percent: int, runs: int) -> int:
    """Count the successes that are needed for a success level: the fewest with successes / runs >= level.

    Examples
    --------
    >>> required(90, 20), required(50, 7)
    (18, 4)
    """
    if not 0 <= level_percent <= 100:
        raise ValueError(f"expected level_percent to be from 0 to 100, got level_percent={level_percent}")
    if runs < 1:
        raise ValueError(f"expected at least one run, got runs={runs}")
    return -(-level_percent * runs // 100)  # rounds up, in whole numbers


def _compare(a: Mapping[int, float], b: Mapping[int, float], test: Test) -> tuple[float, int]:
    """Give the p-value, and the lean of the test's statistic: below zero where a has the smaller values."""
    if test == "signed-rank":
        return _signed_rank(a, b)
    if test == "mann-whitney":
        return _mann_whitney(list(a.values()), list(b.values()))
    raise ValueError(unknown("test", test, get_args(Test)))


def _is_smaller(a: Mapping[int, float], b: Mapping[int, float], test: Test) -> bool:
    # The lean comes first: it is zero where a side is empty, and there is no mean.
    return _compare(a, b, test)[1] < 0 and statistics.fmean(a.values()) < statistics.fmean(b.values())


def _signed_rank(a: Mapping[int, float], b: Mapping[int, float]) -> tuple[float, int]:
    pairs = [(value, b[seed]) for seed, value in a.items() if seed in b]
    differences = [x - y for x, y in pairs if x != y]
    n = len(differences)
    if n == 0:
        return 1.0, 0
    ranks, ties = _doubled_ranks([abs(difference) for difference in differences])
    plus = sum(rank for rank, difference in zip(ranks, differences, strict=True) if difference > 0)
    minus = n * (n + 1) - plus
    smaller = min(plus, minus)
    plain = n == len(pairs) == len(ties)
    if len(pairs) <= (_EXACT_PAIRS if plain else _EXACT_PAIRS_TIED):
        p = 2 * _sign_law(tuple(sorted(ranks)))[smaller] / 2**n
    else:
        # The rank sum has mean n (n + 1) / 4 and, with groups of t tied ranks, this variance.
        variance = (n * (n + 1) * (2 * n + 1) - _tie_term(ties) / 2) / 24
        p = _two_sided((n * (n + 1) / 2 - smaller) / 2 / math.sqrt(variance))
    return min(1.0, p), plus - minus


def _mann_whitney(a: Sequence[float], b: Sequence[float]) -> tuple[float, int]:
    n_a, n_b = len(a), len(b)
    n = n_a + n_b
    ranks, ties = _doubled_ranks([*a, *b])
    if n_a == 0 or n_b == 0 or len(ties) == 1:
        return 1.0, 0
    u_a = sum(ranks[:n_a]) - n_a * (n_a + 1)  # twice U, as the ranks are
    u_b = 2 * n_a * n_b - u_a
    smaller = min(u_a, u_b)
    if min(n_a, n_b) <= _EXACT_SAMPLE and len(ties) == n:
        p = 2 * _u_law(min(n_a, n_b), max(n_a, n_b))[smaller // 2] / math.comb(n, n_a)
    else:
        variance = n_a * n_b / 12 * (n + 1 - _tie_term(ties) / (n * (n - 1)))
        p = _two_sided(((n_a * n_b - smaller) / 2 - 0.5) / math.sqrt(variance))  # 0.5: U moves in steps of one
    return min(1.0, p), u_a - u_b


def _doubled_ranks(values: Sequence[float]) -> tuple[list[int], list[int]]:
    """Give twice the rank of each value, from 2 on, and the sizes of the groups of equal values.

    Equal values share their mean rank, and twice a mean rank is a whole number: no sum of ranks is ever rounded.
    """
    ranks, ties, below = [0] * len(values), [], 0
    for _, group in groupby(sorted(range(len(values)), key=values.__getitem__), key=values.__getitem__):
        members = list(group)
        for index in members:
            ranks[index] = 2 * below + len(members) + 1
        below += len(members)
        ties.append(len(members))
    return ranks, ties


def _tie_term(ties: Sequence[int]) -> int:
    return sum(t**3 - t for t in ties)


def _two_sided(z: float) -> float:
    """Give the chance that a standard normal is beyond z, times two."""
    return math.erfc(z / math.sqrt(2))


@lru_cache(maxsize=1024)
def _sign_law(ranks: tuple[int, ...]) -> list[int]:
    """Count, for each s, the ways to give each rank a sign so that the positive ones sum to at most s."""
    ways = np.zeros(sum(ranks) + 1, dtype=np.int64)  # at most 2**50 ways
    ways[0] = 1
    for rank in ranks:
        ways[rank:] += ways[:-rank]
    return [int(count) for count in np.cumsum(ways)]


@lru_cache(maxsize=256)
def _u_law(few: int, many: int) -> list[int]:
    """Count, for each u, the ways to choose the places of the few among all so that U is at most u.

    The ways with U = u are the coefficients of the Gaussian binomial, the product of (1 - q^(many + i)) / (1 - q^i)
    for i = 1 ... few; Python's whole numbers, because many has no bound.
    """
    ways = [1] + [0] * (few * many)
    for i in range(1, few + 1):
        for u in range(few * many, many + i - 1, -1):
            ways[u] -= ways[u - many - i]
        for u in range(i, few * many + 1):
            ways[u] += ways[u - i]
    for u in range(1, few * many + 1):
        ways[u] += ways[u - 1]
    return ways
