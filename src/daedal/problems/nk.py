"""NK landscapes: random tables over random neighbourhoods, with their exact optimum."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import EXACT, njit
from daedal.problems.base import fill_fitness
from daedal.problems.exact import SumOfTables
from daedal.settings.checks import check_whole
from daedal.types import Bits, Fitness

TABLE_MEMORY = 4 * 2**30  # Bytes that the tables of one landscape may take
SPAWN_KEY = (0x4E4B,)  # Sets the stream of `NK.random` ("NK" in ASCII) apart from all others drawn from the same seed


@dataclass(frozen=True, eq=False, repr=False)
class NK(SumOfTables):
    """Sum of one table entry per variable, chosen by the bits of its k + 1 neighbours.

    As a rule a variable is among its own neighbours. The sum is not divided by n. Arrays are copied, and
    read-only.

    Parameters
    ----------
    neighbours
        Integers, shape (n, k + 1); the first of a row is the most significant bit of the table's index.
    tables
        Finite numbers, shape (n, 2^(k + 1)).
    known_optimum
        Largest fitness, where the source of the landscape states it.

    Examples
    --------
    >>> import numpy as np
    >>> nk = NK(np.array([[0, 1], [1, 0]]), np.array([[0.0, 1.0, 2.0, 3.0], [0.5, 0.0, 0.0, 0.0]]))
    >>> nk.evaluate(np.array([[0, 1], [0, 0]], dtype=np.uint8))
    array([1. , 0.5])
    >>> nk.optimum, nk.solution
    (3.0, array([1, 1], dtype=uint8))
    """

    neighbours: NDArray[np.int64]
    tables: NDArray[np.float64]
    known_optimum: float | None = None

    def __post_init__(self) -> None:
        neighbours, tables = np.asarray(self.neighbours), np.asarray(self.tables)
        if neighbours.ndim != 2 or neighbours.dtype.kind not in "iu" or 0 in neighbours.shape:
            came = f"shape={neighbours.shape}, dtype={neighbours.dtype}"
            raise ValueError(f"expected neighbours as integers of shape (n, k + 1), got {came}")
        n, width = neighbours.shape
        if neighbours.min() < 0 or neighbours.max() >= n:
            raise ValueError(f"expected neighbours in 0..{n - 1}, got {neighbours.min()}..{neighbours.max()}")
        ordered = np.sort(neighbours, axis=1)
        repeated = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if len(repeated):
            i = int(repeated[0])
            raise ValueError(f"expected {width} different neighbours of variable {i}, got {neighbours[i].tolist()}")
        if tables.shape != (n, 1 << width) or tables.dtype.kind not in "fiu":
            came = f"shape={tables.shape}, dtype={tables.dtype}"
            raise ValueError(f"expected tables of numbers of shape ({n}, {1 << width}), got {came}")
        if not np.isfinite(tables).all():
            raise ValueError("expected finite numbers in the tables, got nan or inf")
        if self.known_optimum is not None and not math.isfinite(self.known_optimum):
            raise ValueError(f"expected a finite known_optimum or None, got {self.known_optimum}")
        for name, given, dtype in (("neighbours", neighbours, np.int64), ("tables", tables, np.float64)):
            array = given.astype(dtype, order="C")
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @classmethod
    def random(cls, n: int, k: int, seed: int) -> NK:
        """Draw a landscape: each variable with k others, uniform; table entries uniform in [0, 1).

        Parameters
        ----------
        n
            Number of variables, at least 1.
        k
            Other variables that a variable's entry depends on, 0 <= k < n.
        seed
            At least 0; the same seed gives the same landscape everywhere.

        Examples
        --------
        >>> NK.random(n=10, k=2, seed=1)
        NK(n=10, k=2)
        """
        check_whole("n", n, least=1, of="nk")
        check_whole("k", k, least=0, of="nk")
        check_whole("seed", seed, least=0, of="nk")
        if k >= n:
            raise ValueError(f"nk needs k < n, got k={k}, n={n}; try k={n - 1} or less")
        check_tables(n, k)
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=SPAWN_KEY)))
        neighbours = np.empty((n, k + 1), dtype=np.int64)
        for i in range(n):
            others = rng.choice(n - 1, size=k, replace=False) if k else np.empty(0, dtype=np.int64)
            neighbours[i, 0] = i
            neighbours[i, 1:] = others + (others >= i)  # Skip i itself.
        return cls(neighbours, rng.random((n, 2 ** (k + 1))))

    def __repr__(self) -> str:
        return f"NK(n={self.n}, k={self.k})"

    @property
    def n(self) -> int:  # type: ignore[override]
        """Number of variables."""
        return int(self.neighbours.shape[0])

    @property
    def k(self) -> int:
        """Number of other variables that a variable's entry depends on."""
        return int(self.neighbours.shape[1]) - 1

    def scopes(self) -> list[list[int]]:
        """Give the neighbours of each variable."""
        found: list[list[int]] = self.neighbours.tolist()
        return found

    def factors(self) -> list[NDArray[np.float64]]:
        """Give the table of each variable, shape (2^(k + 1),)."""
        return list(self.tables)

    def evaluate(self, x: Bits) -> Fitness:
        """Give the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        return fill_fitness(sum_tables, x, self.n, self.neighbours, self.tables)


def check_tables(n: int, k: int) -> None:
    """Refuse a landscape whose tables are too large to hold."""
    # The first test keeps 2^(k + 1) itself from being a number of absurd length.
    if k > 60 or n * 2 ** (k + 4) > TABLE_MEMORY:
        most = max((TABLE_MEMORY // n).bit_length() - 5, 0)
        hint = f"k={most} or less" if n * 16 <= TABLE_MEMORY else "a smaller n"
        raise ValueError(
            f"nk needs n tables of 2^(k + 1) numbers to fit in {TABLE_MEMORY // 2**30} GiB, "
            f"got n={n}, k={k}; try {hint}",
        )


# ------------------------------------------------------------ kernels

# Any non-zero entry of x counts as a one, so that no entry, however wrong, can lead an index out of its table.


@njit(**EXACT)
def sum_tables(x: Bits, neighbours: NDArray[np.int64], tables: NDArray[np.float64], out: Fitness) -> None:
    """Sum one table entry per variable; the first neighbour is the most significant bit of the index."""
    rows = x.shape[0]
    n, width = neighbours.shape
    for r in range(rows):
        total = 0.0
        for i in range(n):
            index = 0
            for j in range(width):
                index = 2 * index + (1 if x[r, neighbours[i, j]] else 0)
            total += tables[i, index]
        out[r] = total
