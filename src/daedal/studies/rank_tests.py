"""Rank tests of two samples, paired and unpaired.

They give the p-values of `scipy.stats.wilcoxon` and `scipy.stats.mannwhitneyu`, as SciPy 1.17 chooses between the
exact law and the normal one. They are written out here because SciPy takes two seconds to import, a millisecond for
a test, and up to two seconds for a test of few pairs with ties; a table has thousands of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from daedal.settings.parameters import unknown

Test: TypeAlias = Literal["signed-rank", "mann-whitney"]
"""A two-sided test: Wilcoxon's of pairs, as in the paper, or Mann and Whitney's of two samples without pairs."""

# The sizes up to which SciPy's method="auto" uses the exact law.
_EXACT_PAIRS = 50
_EXACT_PAIRS_TIED = 13
_EXACT_SAMPLE = 8


class Comparison(NamedTuple):
    """The two-sided p-value, and the sign of the test's statistic: below zero where the first has smaller ranks."""

    p: float
    lean: int


_NO_DIFFERENCE = Comparison(1.0, 0)


def compare(a: Mapping[int, float], b: Mapping[int, float], *, test: Test) -> Comparison:
    """Compare the values of two algorithms, given by seed; p is 1.0 where there is nothing to compare.

    "signed-rank" takes the seeds that both have, and of these the ones with different values; the law is exact up to 50
    pairs, or up to 13 where values agree or differences are tied. "mann-whitney" takes all values; the law is exact
    where one side has at most 8 and no value comes twice.
    """
    if test == "signed-rank":
        return _signed_rank(a, b)
    if test == "mann-whitney":
        return _mann_whitney(list(a.values()), list(b.values()))
    raise ValueError(unknown("test", test, get_args(Test)))


def _signed_rank(a: Mapping[int, float], b: Mapping[int, float]) -> Comparison:
    pairs = [(value, b[seed]) for seed, value in a.items() if seed in b]
    differences = [x - y for x, y in pairs if x != y]
    n = len(differences)
    if n == 0:
        return _NO_DIFFERENCE
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
    return Comparison(min(1.0, p), plus - minus)


def _mann_whitney(a: Sequence[float], b: Sequence[float]) -> Comparison:
    n_a, n_b = len(a), len(b)
    n = n_a + n_b
    ranks, ties = _doubled_ranks([*a, *b])
    if n_a == 0 or n_b == 0 or len(ties) == 1:
        return _NO_DIFFERENCE
    u_a = sum(ranks[:n_a]) - n_a * (n_a + 1)  # twice U, as the ranks are
    u_b = 2 * n_a * n_b - u_a
    smaller = min(u_a, u_b)
    if min(n_a, n_b) <= _EXACT_SAMPLE and len(ties) == n:
        p = 2 * _u_law(min(n_a, n_b), max(n_a, n_b))[smaller // 2] / math.comb(n, n_a)
    else:
        variance = n_a * n_b / 12 * (n + 1 - _tie_term(ties) / (n * (n - 1)))
        p = _two_sided(((n_a * n_b - smaller) / 2 - 0.5) / math.sqrt(variance))  # 0.5: U moves in steps of one
    return Comparison(min(1.0, p), u_a - u_b)


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
