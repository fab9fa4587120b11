"""NK landscapes: random tables over random neighborhoods, with their exact optimum, and their files."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import EXACT, njit
from daedal.problems.base import check_known_optimum, fill_fitness, keep_array
from daedal.problems.exact import SumOfTables
from daedal.problems.text_file import WordReader, shown
from daedal.settings.checks import check_whole
from daedal.storage.files import LARGEST, Kind, replace_file
from daedal.types import Bits, Fitness

TABLE_MEMORY = 4 * 2**30  # Bytes that the tables of one landscape may take
SPAWN_KEY = (0x4E4B,)  # Sets the stream of `NK.random` ("NK" in ASCII) apart from all others drawn from the same seed


_HEADER = "`n k`, two whole numbers"
_OPTIMUM = "Optimum:"

NK_FILE = Kind("an NK file", re.compile(rb"\s*\d{1,15}[ \t]+\d{1,15}[ \t]*\r?\n[ \t]*\d{1,15}[ \t]*\r?\n"))
"""What `write_nk` writes, and replaces."""


@dataclass(frozen=True, eq=False, repr=False)
class NK(SumOfTables):
    """Sum of one table entry per variable, chosen by the bits of its k + 1 neighbors.

    Usually, a variable is among its own neighbors. The sum is not divided by n. Arrays are copied, and
    read-only.

    Parameters
    ----------
    neighbors
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

    neighbors: NDArray[np.int64]
    tables: NDArray[np.float64]
    known_optimum: float | None = None

    def __post_init__(self) -> None:
        neighbors = keep_array(self, "neighbors", (None, None), whole=True)
        n, width = neighbors.shape
        if not neighbors.size:
            raise ValueError(f"a landscape needs variables and neighbors; got neighbors of shape=({n}, {width})")
        if neighbors.min() < 0 or neighbors.max() >= n:
            raise ValueError(f"neighbors must be in 0..{n - 1}; got {neighbors.min()}..{neighbors.max()}")
        ordered = np.sort(neighbors, axis=1)
        for i in np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1)):
            raise ValueError(f"variable {i} has the same neighbor twice: {neighbors[i].tolist()}")
        keep_array(self, "tables", (n, 1 << width))
        check_known_optimum(self.known_optimum)

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
        neighbors = np.empty((n, k + 1), dtype=np.int64)
        for i in range(n):
            others = rng.choice(n - 1, size=k, replace=False) if k else np.empty(0, dtype=np.int64)
            neighbors[i, 0] = i
            neighbors[i, 1:] = others + (others >= i)  # Skip i itself.
        return cls(neighbors, rng.random((n, 2 ** (k + 1))))

    def __repr__(self) -> str:
        return f"NK(n={self.n}, k={self.k})"

    @property
    def n(self) -> int:  # type: ignore[override]
        """Number of variables."""
        return int(self.neighbors.shape[0])

    @property
    def k(self) -> int:
        """Number of other variables that a variable's entry depends on."""
        return int(self.neighbors.shape[1]) - 1

    def scopes(self) -> list[list[int]]:
        """Return the neighbors of each variable."""
        found: list[list[int]] = self.neighbors.tolist()
        return found

    def factors(self) -> list[NDArray[np.float64]]:
        """Return the table of each variable, shape (2^(k + 1),)."""
        return list(self.tables)

    def evaluate(self, x: Bits) -> Fitness:
        """Return the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        return fill_fitness(sum_tables, x, self.n, self.neighbors, self.tables)


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


# ------------------------------------------------------------ files


def read_nk(path: str | os.PathLike[str]) -> NK:
    r"""Read a landscape from a file.

    Raises
    ------
    ValueError
        If it is no such file; the message names the line and says what is wrong there.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tiny.nk"
    ...     _ = path.write_text("1 0\n0\n0.25\n0.75\nOptimum: 0.75")
    ...     read_nk(path)
    NK(n=1, k=0)
    """
    words = WordReader(path, NK_FILE.what, _HEADER, most=LARGEST)
    n, k = words.whole(_HEADER), words.whole(_HEADER)
    if k >= n:
        raise words.bad("`n k` with 0 <= k < n", shown(words.lines[0]))
    try:
        check_tables(n, k)
    except ValueError as error:
        raise ValueError(f"{path}, line 1: {error}") from None
    neighbors = np.empty((n, k + 1), dtype=np.int64)
    for row in neighbors:
        row[:] = [words.whole(f"a neighbor in 0..{n - 1}", most=n - 1) for _ in row]
        if len(set(row.tolist())) < k + 1:
            raise words.bad(f"{k + 1} different neighbors up to here", str(row.tolist()))
    finite = {"least": -math.inf, "most": math.inf}
    values = [words.number("a finite number", **finite) for _ in range(n * 2 ** (k + 1))]
    optimum = None
    if words.ahead == _OPTIMUM:
        words.word(_OPTIMUM)
        optimum = words.number("a finite number", **finite)
    words.end()
    landscape = NK(neighbors, np.array(values).reshape(n, 2 ** (k + 1)), known_optimum=optimum)
    exact = landscape.quick_optimum()
    if optimum is not None and exact is not None and not math.isclose(optimum, exact, rel_tol=1e-6, abs_tol=1e-6):
        raise words.bad(f"the optimum of the tables above, {exact:.10g}", f"{optimum:.10g}")
    return landscape


def write_nk(nk: NK, path: str | os.PathLike[str]) -> None:
    """Write a landscape to a file, with its optimum if it is known or quickly computed.

    What is read back is equal to the bit. The file appears at once and whole, or not at all.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "small.nk"
    ...     write_nk(NK.random(n=3, k=1, seed=0), path)
    ...     read_nk(path)
    NK(n=3, k=1)
    """
    lines = [f"{nk.n} {nk.k}"]
    lines += map(str, nk.neighbors.ravel().tolist())
    lines += map(repr, nk.tables.ravel().tolist())
    if nk.optimum is not None:
        lines.append(f"{_OPTIMUM} {float(nk.optimum)!r}")
    text = "\n".join(lines) + "\n"
    replace_file(path, lambda file: file.write(text.encode("ascii")), kind=NK_FILE)


# ------------------------------------------------------------ kernels

# Any non-zero entry of x counts as a one, so that no entry, however wrong, can lead an index out of its table.


@njit(**EXACT)
def sum_tables(x: Bits, neighbors: NDArray[np.int64], tables: NDArray[np.float64], out: Fitness) -> None:
    """Sum one table entry per variable; the first neighbor is the most significant bit of the index."""
    rows = x.shape[0]
    n, width = neighbors.shape
    for r in range(rows):
        total = 0.0
        for i in range(n):
            index = 0
            for j in range(width):
                index = 2 * index + (1 if x[r, neighbors[i, j]] else 0)
            total += tables[i, index]
        out[r] = total
