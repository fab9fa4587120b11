"""Deceptive functions of blocks beside the plain trap: bimodal ones, traps with plateaus, traps that overlap."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import EXACT, njit
from daedal.problems.base import fill_fitness
from daedal.settings.checks import check_multiple, check_whole
from daedal.types import Bits, Fitness


class _Blocks(ABC):
    """A sum over blocks of a function of the number of ones, for which a block of ones is the best, or one of them."""

    n: int
    k: int

    @abstractmethod
    def worth(self, ones: NDArray[np.int64]) -> Fitness:
        """Give what blocks with so many ones, each in 0..k, are worth."""

    @property
    def _step(self) -> int:
        """How far blocks are apart."""
        return self.k

    @cached_property
    def _values(self) -> Fitness:
        return self.worth(np.arange(self.k + 1))

    @property
    def optimum(self) -> float:
        """Largest fitness: that of a block of ones, times the number of blocks."""
        return float(self.worth(np.array([self.k]))[0]) * (self.n // self._step)

    @property
    def solution(self) -> Bits:
        """A row, shape (n,), that attains the optimum: all ones."""
        return np.ones(self.n, dtype=np.uint8)

    def evaluate(self, x: Bits) -> Fitness:
        """Give the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        return fill_fitness(sum_unitation, x, self.n, self.k, self._step, self._values)


@dataclass(frozen=True)
class Bimodal(_Blocks):
    """Bimodal deceptive blocks of k neighbouring bits each, one after another.

    A block with u ones is worth k/2 if u = 0 or u = k, and k/2 - |u - k/2| - 1 otherwise: there are two best blocks, as
    far apart as can be, and all that is between them leads to the hump half-way, of which there are many.

    Parameters
    ----------
    k
        Bits of a block, even and at least 4.
    n
        Number of variables, a multiple of k.

    Examples
    --------
    >>> from daedal.types import from_text
    >>> Bimodal(k=4, n=8).evaluate(from_text("00001100")[None])
    array([3.])
    """

    k: int = 6
    n: int = 60

    def __post_init__(self) -> None:
        check_whole("k", self.k, least=4, of="bimodal")
        if self.k % 2:
            raise ValueError(f"bimodal needs k to be even, got k={self.k}; try {self.k - 1} or {self.k + 1}")
        check_multiple("bimodal", self.n, self.k, f"k={self.k}")

    def worth(self, ones: NDArray[np.int64]) -> Fitness:
        """Give what blocks with so many ones, each in 0..k, are worth."""
        half = self.k / 2
        return np.where((ones == 0) | (ones == self.k), half, half - np.abs(ones - half) - 1)


@dataclass(frozen=True)
class StepTrap(_Blocks):
    """Deceptive traps of k neighbouring bits whose values are cut to steps, so that there are plateaus.

    With t(u) the trap's value (k if u = k, and k - 1 - u otherwise), a block with u ones is worth
    floor((((k - s) mod s) + t(u)) / s): steps of s values each, counted from the optimum (Goldman and Punch, 2014).

    Parameters
    ----------
    k
        Bits of a trap, at least 2.
    s
        Values of a step, 1 <= s < k; with s = 1 it is the plain trap.
    n
        Number of variables, a multiple of k.

    Examples
    --------
    >>> import numpy as np
    >>> StepTrap(k=5, s=2, n=5).worth(np.arange(6))
    array([2., 2., 1., 1., 0., 3.])
    """

    k: int = 5
    s: int = 2
    n: int = 50

    def __post_init__(self) -> None:
        check_whole("k", self.k, least=2, of="steptrap")
        check_whole("s", self.s, least=1, of="steptrap")
        if self.s >= self.k:
            raise ValueError(f"steptrap needs s < k, got s={self.s}, k={self.k}; try s={self.k - 1} or less")
        check_multiple("steptrap", self.n, self.k, f"k={self.k}")

    def worth(self, ones: NDArray[np.int64]) -> Fitness:
        """Give what blocks with so many ones, each in 0..k, are worth."""
        return np.floor(((self.k - self.s) % self.s + _trap(ones, self.k)) / self.s)


@dataclass(frozen=True)
class CyclicTrap(_Blocks):
    """A ring of deceptive traps of k bits, each of which shares its last bit with the first of the next.

    Parameters
    ----------
    k
        Bits of a trap, at least 3.
    n
        Number of variables, a multiple of k - 1, for at least two traps.

    Examples
    --------
    >>> from daedal.types import from_text
    >>> CyclicTrap(k=3, n=4).evaluate(from_text("1110")[None])
    array([3.])
    """

    k: int = 5
    n: int = 60

    def __post_init__(self) -> None:
        check_whole("k", self.k, least=3, of="cyclictrap")
        check_multiple("cyclictrap", self.n, self.k - 1, f"k - 1 = {self.k - 1}", least=2 * (self.k - 1))

    @property
    def _step(self) -> int:
        return self.k - 1

    def worth(self, ones: NDArray[np.int64]) -> Fitness:
        """Give what traps with so many ones, each in 0..k, are worth."""
        return _trap(ones, self.k)


def _trap(ones: NDArray[np.int64], k: int) -> Fitness:
    """Give what plain traps of k bits with so many ones are worth."""
    return np.where(ones == k, float(k), k - 1.0 - ones)


# ------------------------------------------------------------ kernels

# Any non-zero entry of x counts as a one, so that no entry, however wrong, can lead an index out of its table.


@njit(**EXACT)
def sum_unitation(x: Bits, k: int, step: int, values: NDArray[np.float64], out: Fitness) -> None:
    """Sum values[ones] over blocks of k variables, one every `step` variables, around the end."""
    rows, n = x.shape
    for r in range(rows):
        total = 0.0
        for start in range(0, n, step):
            ones = 0
            for i in range(start, start + k):
                if x[r, i - n if i >= n else i]:
                    ones += 1
            total += values[ones]
        out[r] = total
