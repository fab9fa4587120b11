"""OneMax, LeadingOnes, concatenated deceptive traps, and HIFF: the best row is all ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedal.compilation import EXACT, njit
from daedal.problems.base import fill_fitness
from daedal.settings.checks import check_multiple, check_whole
from daedal.types import Bits, Fitness


class _BestIsAllOnes:
    """What problems share whose best row is all ones, and worth n unless they say otherwise."""

    n: int

    @property
    def optimum(self) -> float:
        """Largest fitness: n."""
        return float(self.n)

    @property
    def solution(self) -> Bits:
        """A row, shape (n,), that attains the optimum: all ones."""
        return np.ones(self.n, dtype=np.uint8)


@dataclass(frozen=True)
class OneMax(_BestIsAllOnes):
    """The number of ones in a row.

    Parameters
    ----------
    n
        Number of variables, at least 1.

    Examples
    --------
    >>> from daedal.types import from_text
    >>> OneMax(n=4).evaluate(from_text("1011")[None])
    array([3.])
    """

    n: int = 100

    def __post_init__(self) -> None:
        check_whole("n", self.n, least=1, of="onemax")

    def evaluate(self, x: Bits) -> Fitness:
        """Give the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        return fill_fitness(count_ones, x, self.n)


@dataclass(frozen=True)
class LeadingOnes(_BestIsAllOnes):
    """The number of ones before the first zero of a row.

    Parameters
    ----------
    n
        Number of variables, at least 1.

    Examples
    --------
    >>> from daedal.types import from_text
    >>> LeadingOnes(n=4).evaluate(from_text("1101")[None])
    array([2.])
    """

    n: int = 100

    def __post_init__(self) -> None:
        check_whole("n", self.n, least=1, of="leadingones")

    def evaluate(self, x: Bits) -> Fitness:
        """Give the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        return fill_fitness(count_leading_ones, x, self.n)


@dataclass(frozen=True)
class Trap(_BestIsAllOnes):
    """Deceptive traps of k neighbouring bits each, one after another.

    A block with u ones is worth k if u = k, and k - 1 - u otherwise: every step but the last leads away from
    the optimum.

    Parameters
    ----------
    k
        Bits of a trap, at least 2.
    n
        Number of variables, a multiple of k.

    Examples
    --------
    >>> from daedal.types import from_text
    >>> Trap(k=3, n=6).evaluate(from_text("111001")[None])
    array([4.])
    """

    k: int = 5
    n: int = 50

    def __post_init__(self) -> None:
        check_whole("k", self.k, least=2, of="trap")
        check_multiple("trap", self.n, self.k, f"k={self.k}")

    def evaluate(self, x: Bits) -> Fitness:
        """Give the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        return fill_fitness(sum_traps, x, self.n, self.k)


@dataclass(frozen=True)
class HIFF(_BestIsAllOnes):
    """Blocks within blocks: 1, 2, 4, ... n neighbouring bits, each worth its size if all its bits are equal.

    Single bits count too, so that no row is worth less than n. The two optima, all zeros and all ones, are as
    far apart as can be.

    Parameters
    ----------
    n
        Number of variables, a power of two.

    Examples
    --------
    >>> from daedal.types import from_text
    >>> HIFF(n=4).evaluate(from_text("1101")[None])
    array([6.])
    """

    n: int = 64

    def __post_init__(self) -> None:
        check_whole("n", self.n, least=1, of="hiff")
        if self.n & (self.n - 1):
            above = 1 << self.n.bit_length()
            raise ValueError(f"hiff needs n to be a power of two, got n={self.n}; try {above // 2} or {above}")

    @property
    def optimum(self) -> float:
        """Largest fitness: n (log2 n + 1)."""
        return float(self.n * self.n.bit_length())

    def evaluate(self, x: Bits) -> Fitness:
        """Give the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        return fill_fitness(sum_uniform_blocks, x, self.n, np.empty(self.n, dtype=np.uint8))


# ------------------------------------------------------------ kernels

# Any non-zero entry of x counts as a one, so that no entry, however wrong, can lead an index out of its table.


@njit(**EXACT)
def count_ones(x: Bits, out: Fitness) -> None:
    """Count the ones of each row."""
    rows, n = x.shape
    for r in range(rows):
        ones = 0
        for i in range(n):
            if x[r, i]:
                ones += 1
        out[r] = ones


@njit(**EXACT)
def count_leading_ones(x: Bits, out: Fitness) -> None:
    """Count the ones before the first zero of each row."""
    rows, n = x.shape
    for r in range(rows):
        ones = 0
        while ones < n and x[r, ones]:
            ones += 1
        out[r] = ones


@njit(**EXACT)
def sum_traps(x: Bits, k: int, out: Fitness) -> None:
    """Sum the deceptive traps over blocks of k neighbouring bits."""
    rows, n = x.shape
    for r in range(rows):
        total = 0
        for start in range(0, n, k):
            ones = 0
            for i in range(start, start + k):
                if x[r, i]:
                    ones += 1
            total += k if ones == k else k - 1 - ones
        out[r] = total


@njit(**EXACT)
def sum_uniform_blocks(x: Bits, work: Bits, out: Fitness) -> None:
    """Sum the sizes of all uniform blocks, single bits included; work, shape (n,), is overwritten."""
    rows, n = x.shape
    for r in range(rows):
        total = n
        for i in range(n):
            work[i] = 1 if x[r, i] else 0
        blocks, size = n // 2, 2
        while blocks > 0:
            # work[b] is the common bit of block b of the level below, or 2 where its bits differ.
            for b in range(blocks):
                left = work[2 * b]
                if left != work[2 * b + 1]:
                    left = 2
                work[b] = left
                if left != 2:
                    total += size
            blocks //= 2
            size *= 2
        out[r] = total
