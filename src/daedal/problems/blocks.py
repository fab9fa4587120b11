"""OneMax, LeadingOnes, deceptive functions of blocks, and HIFF: a row of ones is the best, or one of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import EXACT, njit
from daedal.problems.base import fill_fitness
from daedal.settings.checks import check_multiple, check_whole
from daedal.types import Bits, Fitness, check_bits


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
    """Number of ones.

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
        """Return the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        check_bits(x, self.n)
        ones: Fitness = np.count_nonzero(x, axis=1).astype(np.float64)
        return ones


@dataclass(frozen=True)
class LeadingOnes(_BestIsAllOnes):
    """Number of ones before the first zero.

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
        """Return the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        check_bits(x, self.n)
        zeros = np.column_stack([x == 0, np.ones(len(x), np.bool_)])
        ones: Fitness = np.argmax(zeros, axis=1).astype(np.float64)
        return ones


@dataclass(frozen=True)
class HIFF(_BestIsAllOnes):
    """Blocks within blocks: 1, 2, 4, ... n neighboring bits, each worth its size if all its bits are equal.

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
        """Return the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        return fill_fitness(sum_uniform_blocks, x, self.n, np.empty(self.n, dtype=np.uint8))


class _Blocks(_BestIsAllOnes, ABC):
    """A sum over blocks of a function of the number of ones, for which a block of ones is the best, or one of them."""

    k: int

    @abstractmethod
    def worth(self, ones: NDArray[np.int64]) -> Fitness:
        """Return the values of blocks by their numbers of ones, from 0 to k."""

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

    def evaluate(self, x: Bits) -> Fitness:
        """Return the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        return fill_fitness(sum_unitation, x, self.n, self.k, self._step, self._values)


@dataclass(frozen=True)
class Trap(_Blocks):
    """Deceptive traps of k neighboring bits each, one after another.

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

    def worth(self, ones: NDArray[np.int64]) -> Fitness:
        """Return the values of traps by their numbers of ones, from 0 to k."""
        return _trap(ones, self.k)


@dataclass(frozen=True)
class Bimodal(_Blocks):
    """Bimodal deceptive blocks of k neighboring bits each, one after another.

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
        """Return the values of blocks by their numbers of ones, from 0 to k."""
        half = self.k / 2
        return np.where((ones == 0) | (ones == self.k), half, half - np.abs(ones - half) - 1)


@dataclass(frozen=True)
class StepTrap(_Blocks):
    """Deceptive traps of k neighboring bits whose values are cut to steps, so that there are plateaus.

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
        """Return the values of blocks by their numbers of ones, from 0 to k."""
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
        """Return the values of traps by their numbers of ones, from 0 to k."""
        return _trap(ones, self.k)


def _trap(ones: NDArray[np.int64], k: int) -> Fitness:
    """Return the values of plain traps of k bits by their numbers of ones."""
    return np.where(ones == k, float(k), k - 1.0 - ones)


# ------------------------------------------------------------ kernels

# Any non-zero entry of x counts as a one, so that no entry, however wrong, can lead an index out of its table.


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
