"""OneMax: the number of ones."""

from __future__ import annotations

from dataclasses import dataclass

from daedal import kernels
from daedal.problems.base import BestIsAllOnes, fill_fitness
from daedal.settings.checks import check_whole
from daedal.types import Bits, Fitness


@dataclass(frozen=True)
class OneMax(BestIsAllOnes):
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
        return fill_fitness(kernels.landscapes.onemax, x, self.n)
