"""What problems share that are sums over pairs of variables: spin glasses, cuts of graphs, quadratic functions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import EXACT, njit
from daedal.problems.base import fill_fitness
from daedal.problems.exact import QUICK_MEMORY, SumOfTables
from daedal.settings.checks import check_whole
from daedal.types import Bits, Fitness

_MOST_PLANNED = 2_000  # variables up to which an order of elimination takes no more than a moment to find


@dataclass(frozen=True, eq=False, repr=False)
class PairSum(SumOfTables):
    """A sum over pairs of variables: a weight times what the two bits are worth.

    Arrays are copied, and read-only.

    Parameters
    ----------
    n
        Number of variables, at least 1.
    pairs
        Integers in 0..n - 1, shape (m, 2).
    weights
        Finite numbers, shape (m,).
    known_optimum
        Largest fitness, where the source of the instance states it.
    known_solution
        A row, shape (n,), that attains it, where the source states one.
    """

    n: int
    pairs: NDArray[np.int64]
    weights: NDArray[np.float64]
    known_optimum: float | None = None
    known_solution: Bits | None = None

    table: ClassVar[tuple[float, float, float, float]]  # what the bits 00, 01, 10, 11 are worth
    affordable = QUICK_MEMORY  # a file is read anew for each run

    def __post_init__(self) -> None:
        check_whole("n", self.n, least=1, of=type(self).__name__)
        pairs, weights = np.asarray(self.pairs), np.asarray(self.weights)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            raise ValueError(
                f"expected pairs as integers of shape (m, 2), got shape={pairs.shape}, dtype={pairs.dtype}"
            )
        if pairs.size and (pairs.min() < 0 or pairs.max() >= self.n):
            raise ValueError(f"expected pairs of variables in 0..{self.n - 1}, got {pairs.min()}..{pairs.max()}")
        if weights.shape != (len(pairs),) or weights.dtype.kind not in "fiu" or not np.isfinite(weights).all():
            came = f"shape={weights.shape}, dtype={weights.dtype}"
            raise ValueError(f"expected one finite weight for each of {len(pairs)} pairs, got {came}")
        if self.known_optimum is not None and not math.isfinite(self.known_optimum):
            raise ValueError(f"expected a finite known_optimum or None, got {self.known_optimum}")
        for name, given, dtype in (("pairs", pairs, np.int64), ("weights", weights, np.float64)):
            array = given.astype(dtype, order="C")
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n}, pairs={len(self.pairs)})"

    @property
    def solution(self) -> Bits | None:
        """A row, shape (n,), of the largest fitness: as stated, or computed where that takes no more than a moment."""
        return super().solution if self.known_solution is None else self.known_solution.copy()

    def scopes(self) -> list[list[int]]:
        """Give the variables of each pair; one, where both are the same."""
        return [[i] if i == j else [i, j] for i, j in self.pairs.tolist()]

    def factors(self) -> list[NDArray[np.float64]]:
        """Give the table of each pair, shape (4,), or (2,) where both variables are the same."""
        alone = self._table[[0, 3]]
        return [
            weight * (alone if i == j else self._table) for (i, j), weight in zip(self.pairs, self.weights, strict=True)
        ]

    def can_be_planned(self) -> bool:
        """Whether there are few enough variables to look for an order of elimination."""
        return self.n <= _MOST_PLANNED and len(self.pairs) <= 10 * _MOST_PLANNED

    @cached_property
    def _table(self) -> NDArray[np.float64]:
        return np.array(self.table)

    def evaluate(self, x: Bits) -> Fitness:
        """Give the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        return fill_fitness(pair_sum, x, self.n, self.pairs, self.weights, self._table)


# ------------------------------------------------------------ kernels

# Any non-zero entry of x counts as a one, so that no entry, however wrong, can lead an index out of its table.


@njit(**EXACT)
def pair_sum(
    x: Bits, pairs: NDArray[np.int64], weights: NDArray[np.float64], table: NDArray[np.float64], out: Fitness
) -> None:
    """Sum weights[p] table[2 a + b] over the pairs, shape (m, 2), whose variables are a and b."""
    for r in range(x.shape[0]):
        total = 0.0
        for p in range(pairs.shape[0]):
            index = 2 if x[r, pairs[p, 0]] else 0
            if x[r, pairs[p, 1]]:
                index += 1
            total += weights[p] * table[index]
        out[r] = total
