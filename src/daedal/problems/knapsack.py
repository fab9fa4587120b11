"""Knapsacks: the profit of what is taken along; what it weighs, in one or more dimensions, is limited."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import EXACT, njit
from daedal.problems.base import check_known_optimum, fill_fitness, keep_array
from daedal.problems.text_file import MOST_VARIABLES, WordReader, read_lines
from daedal.settings.checks import check_whole
from daedal.types import Bits, Fitness, check_bits

EXACT_ENTRIES = 2**27
"""Items times units of capacity up to which the optimum of one dimension is computed when asked for."""

SPAWN_KEY = (0x4B50,)  # Sets the stream of `Knapsack.random` ("KP" in ASCII) apart from all others of the same seed
MOST_ITEMS = 10**7  # of a random knapsack
LIGHTEST, HEAVIEST = 10, 100  # Range of the profits and weights that `Knapsack.random` draws


_WHAT, _HEADER = "a file of knapsacks", "the number of problems"
_MOST_NUMBERS = 10**8  # weights of one problem, at most
_SIZES = (
    f"`n m optimum`, the numbers of items (in 1..{MOST_VARIABLES}) and dimensions (n m at most {_MOST_NUMBERS}), "
    "and the best profit or 0"
)

BEST_VALUES = "best-feasible-slns.txt"
"""What the OR-Library's list of best values is called, for its files mknapcb1.txt to mknapcb9.txt."""


@dataclass(frozen=True, eq=False, repr=False)
class Knapsack:
    """Knapsack: the profit of the chosen items, with a limit for each of m weights.

    The fitness is the profit alone. Whether all of it can be carried is what `violations` says. Arrays are copied, and
    read-only.

    Parameters
    ----------
    profits
        Finite numbers of at least 0, shape (n,).
    weights
        Finite numbers of at least 0, shape (m, n).
    capacities
        Finite numbers of at least 0, shape (m,).
    known_optimum
        Largest profit that can be carried, or the best known, where the source of the instance states it.

    Examples
    --------
    >>> import numpy as np
    >>> from daedal.types import from_text
    >>> bag = Knapsack(np.array([3, 4, 5]), np.array([[2, 3, 4]]), np.array([5]))
    >>> bag.evaluate(from_text("011")[None]), bag.violations(from_text("011")[None])
    (array([9.]), array([[2.]]))
    >>> bag.optimum, bag.solution
    (7.0, array([1, 1, 0], dtype=uint8))
    """

    profits: NDArray[np.float64]
    weights: NDArray[np.float64]
    capacities: NDArray[np.float64]
    known_optimum: float | None = None

    def __post_init__(self) -> None:
        m, n = keep_array(self, "weights", (None, None)).shape
        keep_array(self, "profits", (n,))
        keep_array(self, "capacities", (m,))
        if not m or not n:
            raise ValueError(f"a knapsack needs items and capacities; got weights of shape=({m}, {n})")
        for name in ("profits", "weights", "capacities"):
            if (least := getattr(self, name).min()) < 0:
                raise ValueError(f"{name} must be at least 0; got {least}")
        check_known_optimum(self.known_optimum)

    @classmethod
    def random(cls, n: int, seed: int) -> Knapsack:
        """Draw a knapsack of one dimension: profits and weights uniform in 10..100, half of all weight to be carried.

        Parameters
        ----------
        n
            Number of items, in 1..10^7.
        seed
            At least 0; the same seed gives the same knapsack everywhere.

        Examples
        --------
        >>> Knapsack.random(n=20, seed=1)
        Knapsack(n=20, m=1)
        """
        check_whole("n", n, least=1, of="knapsack")
        check_whole("seed", seed, least=0, of="knapsack")
        if n > MOST_ITEMS:
            raise ValueError(f"knapsack needs n of at most {MOST_ITEMS}, got n={n}")
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=SPAWN_KEY)))
        profits, weights = rng.integers(LIGHTEST, HEAVIEST + 1, size=(2, n))
        return cls(profits, weights[None], np.array([weights.sum() // 2]))

    def __repr__(self) -> str:
        return f"Knapsack(n={self.n}, m={len(self.capacities)})"

    @property
    def n(self) -> int:
        """Number of variables, which is that of the items."""
        return len(self.profits)

    @property
    def optimum(self) -> float | None:
        """Largest profit that can be carried: as stated, or computed for one dimension of whole numbers."""
        if self.known_optimum is not None:
            return self.known_optimum
        solution = self._exact
        return None if solution is None else float(self.evaluate(solution[None])[0])

    @property
    def solution(self) -> Bits | None:
        """A row, shape (n,), of that profit that can be carried, or None where it is not computed."""
        return None if self._exact is None else self._exact.copy()

    @cached_property
    def _exact(self) -> Bits | None:
        whole = len(self.capacities) == 1 and bool((self.weights == np.floor(self.weights)).all())
        if not whole or self.n * (min(self.capacities[0], self.weights.sum()) + 1) > EXACT_ENTRIES:
            return None
        return _pack(self.profits, self.weights[0].astype(np.int64), int(min(self.capacities[0], self.weights.sum())))

    def evaluate(self, x: Bits) -> Fitness:
        """Return the profit, shape (rows,), of each row of x, shape (rows, n)."""
        return fill_fitness(weighted_ones, x, self.n, self.profits)

    def violations(self, x: Bits) -> NDArray[np.float64]:
        """Return the load less the capacity, shape (rows, m): at most 0 where the items of a row can be carried."""
        check_bits(x, self.n)
        out = np.empty((len(x), len(self.capacities)))
        excess_loads(np.ascontiguousarray(x), self.weights, self.capacities, out)
        return out


def _pack(profits: NDArray[np.float64], weights: NDArray[np.int64], capacity: int) -> Bits:
    """Find the items of the largest profit by dynamic programming over the capacity."""
    best = np.zeros(capacity + 1)  # profit of the items so far, for each capacity
    taken = np.zeros((len(profits), capacity + 1), dtype=np.bool_)
    for i, (profit, weight) in enumerate(zip(profits, weights, strict=True)):
        if weight <= capacity:
            with_it = best[: capacity + 1 - weight] + profit
            taken[i, weight:] = with_it > best[weight:]
            best[weight:] = np.maximum(best[weight:], with_it)
    row = np.zeros(len(profits), dtype=np.uint8)
    for i in reversed(range(len(profits))):
        if taken[i, capacity]:
            row[i] = 1
            capacity -= int(weights[i])
    return row


# ------------------------------------------------------------ files of the OR-Library


def read_mkp(path: str | os.PathLike[str], problem: int = 1) -> Knapsack:
    r"""Read a knapsack: the number of problems; for each `n m optimum`, n profits, m rows of n weights, m capacities.

    An optimum of 0 is unknown; then, for the files called mknapcb, the best value known is looked up in
    best-feasible-slns.txt in the same folder, where that is there.

    Parameters
    ----------
    path
        The file.
    problem
        Which problem of a file with several, from 1 on.

    Raises
    ------
    ValueError
        If it is no such file; the message names the line and says what is wrong there.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tiny.txt"
    ...     _ = path.write_text("1\n3 2 7\n3 4 5\n2 3 4\n1 1 1\n5 2\n")
    ...     read_mkp(path)
    Knapsack(n=3, m=2)
    """
    check_whole("problem", problem, least=1, of="mkp")
    words = WordReader(path, _WHAT, _HEADER)
    count = words.whole(_HEADER, least=1)
    if problem > count:
        raise ValueError(f"{path} has {count} problem{'s'[: count != 1]}, got problem={problem}")
    for number in range(1, problem + 1):
        knapsack = _read_one(words, number)
    if problem == count:
        words.end()
    return knapsack


def _read_one(words: WordReader, number: int) -> Knapsack:
    n = words.whole(_SIZES, least=1, most=MOST_VARIABLES)
    m = words.whole(_SIZES, least=1, most=_MOST_NUMBERS // n)
    optimum, line = words.number(_SIZES, least=0.0), words.line
    profits = [words.number("a profit of at least 0", least=0.0) for _ in range(n)]
    weights = [words.number("a weight of at least 0", least=0.0) for _ in range(m * n)]
    capacities = [words.number("a capacity of at least 0", least=0.0) for _ in range(m)]
    known = optimum or _best_known(words.path, f"{m}.{n}-{number - 1:02d}")
    if known is not None and known > sum(profits) * (1.0 + 1e-9):
        words.line = line
        raise words.bad(f"an optimum of at most all profits, {sum(profits):.10g}", f"{known:.10g}")
    return Knapsack(np.array(profits), np.array(weights).reshape(m, n), np.array(capacities), known_optimum=known)


def _best_known(path: Path, name: str) -> float | None:
    """Look up the best value known; in the list, a problem of 5 limits and 100 items is called 5.100-00."""
    beside = path.with_name(BEST_VALUES)
    if not re.fullmatch(r"mknapcb\d.*", path.name) or not beside.is_file():
        return None
    for line in read_lines(beside, "a list of best values", "text"):
        words = line.split()
        if len(words) == 2 and words[0] == name and words[1].isdigit():
            return float(words[1])
    return None


# ------------------------------------------------------------ kernels

# Any non-zero entry of x counts as a one, so that no entry, however wrong, can lead an index out of its table.


@njit(**EXACT)
def weighted_ones(x: Bits, weights: NDArray[np.float64], out: Fitness) -> None:
    """Sum the weights, shape (n,), of the ones of each row."""
    rows, n = x.shape
    for r in range(rows):
        total = 0.0
        for i in range(n):
            if x[r, i]:
                total += weights[i]
        out[r] = total


@njit(**EXACT)
def excess_loads(
    x: Bits, weights: NDArray[np.float64], capacities: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """Fill out, shape (rows, m), with the weights, shape (m, n), of the ones of each row, less the capacities."""
    rows, n = x.shape
    for r in range(rows):
        for c in range(weights.shape[0]):
            total = 0.0
            for i in range(n):
                if x[r, i]:
                    total += weights[c, i]
            out[r, c] = total - capacities[c]
