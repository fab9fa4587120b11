"""Concatenated deceptive traps."""

from __future__ import annotations

from dataclasses import dataclass

from daedal import kernels
from daedal.problems.base import BestIsAllOnes, fill_fitness
from daedal.settings.checks import check_whole
from daedal.types import Bits, Fitness


@dataclass(frozen=True)
class Trap(BestIsAllOnes):
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
        check_whole("n", self.n, least=1, of="trap")
        if self.n % self.k:
            below = self.n - self.n % self.k
            fits = f"{below} or {below + self.k}" if below else f"{self.k}"
            raise ValueError(f"trap needs n to be a multiple of k={self.k}, got n={self.n}; try {fits}")

    def evaluate(self, x: Bits) -> Fitness:
        """Give the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        return fill_fitness(kernels.landscapes.trap, x, self.n, self.k)
