"""Low autocorrelation binary sequences (LABS), with the best ones known for up to 66 bits."""

from __future__ import annotations

from dataclasses import dataclass

from daedal.compilation import EXACT, njit
from daedal.problems.base import fill_fitness
from daedal.settings.checks import check_whole
from daedal.types import Bits, Fitness, from_text

SHORTEST, LONGEST_PROVEN, LONGEST = 2, 66, 10_000

_SEQUENCES = """
    0 4 8 8 22 d 1a 7d 389 712 a6 1f35 2650 335 39a 192b 297cc 6cf50 3610a 180ca9 15263 26a700 64afe3 16d5f8c
    2a4dfc7 5a44478 b4888f1 9b57f18 3c092a31 7818c92a feb51cd9 1569e00cc 1569e00cc 63a95937f 4ad904707 199fe1a5aa
    333fe1a5aa 6d270e55 7776896f0f 96ff335478 1e1ed22dddd 9a4feac79d 535bbdf307c 1fe4b6270e55 24b276af8c7f
    36a48afdc7e3 ea80721c9969 92548988fe38 2288865e685e9 3693f4442b1e3 6db13101c750a 7e0ceeb2410a5 1aaccb6f7cc0f8
    7fc9392f1b1caa 1fb3a73d5cb65 1c6303ab012b26d 3f7276a8b1ecb61 7f0184c34c5952a cd33a79757b5f80 1defce255d6c1f92
    3265f687d7f56318 64cbed0fafeac631 d93602a0a5e28673 1ce6147a505406c9b 30f866aacc006694b
"""
"""A best sequence of 2, 3, ... 66 bits, in hexadecimal digits. That there is none better is known from exhaustive
search: T. Packebusch and S. Mertens, Low autocorrelation binary sequences, J. Phys. A 49 (2016)."""


@dataclass(frozen=True)
class LABS:
    """The merit factor of a sequence of -1 (a bit of zero) and 1: n^2 / 2E, E the sum of its squared autocorrelations.

    Parameters
    ----------
    n
        Number of variables, in 2..10,000.

    Examples
    --------
    >>> from daedal.types import from_text
    >>> LABS(n=5).evaluate(from_text("11101")[None])
    array([6.25])
    >>> LABS(n=5).optimum
    6.25
    """

    n: int = 40

    def __post_init__(self) -> None:
        check_whole("n", self.n, least=SHORTEST, of="labs")
        if self.n > LONGEST:  # a row takes n^2 / 2 steps
            raise ValueError(f"labs needs n of at most {LONGEST}, got n={self.n}")

    @property
    def optimum(self) -> float | None:
        """Largest merit factor, which is known for n up to 66."""
        solution = self.solution
        return None if solution is None else float(self.evaluate(solution[None])[0])

    @property
    def solution(self) -> Bits | None:
        """A sequence, shape (n,), of the largest merit factor, where it is known."""
        if self.n > LONGEST_PROVEN:
            return None
        return from_text(f"{int(_SEQUENCES.split()[self.n - SHORTEST], 16):0{self.n}b}")

    def evaluate(self, x: Bits) -> Fitness:
        """Return the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        return fill_fitness(merit_factor, x, self.n)


# ------------------------------------------------------------ kernels

# Any non-zero entry of x counts as a one, so that no entry, however wrong, can lead an index out of its table.


@njit(**EXACT)
def merit_factor(x: Bits, out: Fitness) -> None:
    """Return the merit factor n^2 / 2E of each row as a sequence of -1 and 1, E its squared autocorrelations summed."""
    rows, n = x.shape
    for r in range(rows):
        energy = 0
        for lag in range(1, n):
            agree = 0
            for i in range(n - lag):
                agree += 1 if (x[r, i] != 0) == (x[r, i + lag] != 0) else -1
            energy += agree * agree
        out[r] = n * n / (2.0 * energy)
