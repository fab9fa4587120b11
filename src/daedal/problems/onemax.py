"""OneMax: the number of ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedal import kernels
from daedal.settings.checks import check_whole
from daedal.types import Bits, Fitness, check_bits


@dataclass(frozen=True)
class OneMax:
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

    @property
    def optimum(self) -> float:
        """Largest fitness: n."""
        return float(self.n)

    @property
    def solution(self) -> Bits:
        """The row, shape (n,), that attains the optimum: all ones."""
        return np.ones(self.n, dtype=np.uint8)

    def evaluate(self, x: Bits) -> Fitness:
        """Give the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        check_bits(x, self.n)
        out = np.empty(len(x))
        kernels.landscapes.onemax(np.ascontiguousarray(x), out)
        return out
