"""HIFF: hierarchical if-and-only-if."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedal import kernels
from daedal.problems.base import BestIsAllOnes, fill_fitness
from daedal.settings.checks import check_whole
from daedal.types import Bits, Fitness


@dataclass(frozen=True)
class HIFF(BestIsAllOnes):
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
        return fill_fitness(kernels.landscapes.hiff, x, self.n, np.empty(self.n, dtype=np.uint8))
