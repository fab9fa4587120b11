"""Sums over pairs of variables: MaxCut, Ising spin glasses, and quadratic functions (QUBO, also BQP or UBQP)."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import EXACT, njit
from daedal.problems.base import check_known_optimum, fill_fitness, keep_array
from daedal.problems.exact import QUICK_MEMORY, SumOfTables
from daedal.problems.text_file import MOST_VARIABLES, WordReader, read_best_known, shown
from daedal.settings.checks import check_whole
from daedal.types import Bits, Fitness, from_text

_GRAPH = f"`n m`, the numbers of vertices (in 1..{MOST_VARIABLES}) and edges"
_STATE = "the lowest energy, and a state of 0 and 1 that has it"
_SIZES = f"`n m`, the numbers of variables (in 1..{MOST_VARIABLES}) and entries"
_PROBLEMS = f"the number of problems, or {_SIZES}"
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
    affordable = QUICK_MEMORY  # a file is read again for each run

    def __post_init__(self) -> None:
        check_whole("n", self.n, least=1, of=type(self).__name__)
        pairs = keep_array(self, "pairs", (None, 2), whole=True)
        if pairs.size and (pairs.min() < 0 or pairs.max() >= self.n):
            raise ValueError(f"pairs must be of variables in 0..{self.n - 1}; got {pairs.min()}..{pairs.max()}")
        keep_array(self, "weights", (len(pairs),))
        check_known_optimum(self.known_optimum)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n}, pairs={len(self.pairs)})"

    @property
    def solution(self) -> Bits | None:
        """A row, shape (n,), of the largest fitness: as stated, or computed where that takes no more than a moment."""
        return super().solution if self.known_solution is None else self.known_solution.copy()

    def scopes(self) -> list[list[int]]:
        """Return the variables of each pair; one, where both are the same."""
        return [[i] if i == j else [i, j] for i, j in self.pairs.tolist()]

    def factors(self) -> list[NDArray[np.float64]]:
        """Return the table of each pair, shape (4,), or (2,) where both variables are the same."""
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
        """Return the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        return fill_fitness(pair_sum, x, self.n, self.pairs, self.weights, self._table)


@dataclass(frozen=True, eq=False, repr=False)
class MaxCut(PairSum):
    """The weight of a cut: the sum of the weights of all edges whose ends have different bits.

    Parameters
    ----------
    n
        Number of vertices, at least 1.
    pairs
        The edges, integers in 0..n - 1, shape (m, 2).
    weights
        Their weights, shape (m,); they may be negative.
    known_optimum
        Largest weight, where it is known.
    known_solution
        A cut, shape (n,), that has it, where one is known.

    Examples
    --------
    >>> import numpy as np
    >>> from daedal.types import from_text
    >>> triangle = MaxCut(3, np.array([[0, 1], [1, 2], [2, 0]]), np.array([1, 2, 3]))
    >>> triangle.evaluate(from_text("100")[None])
    array([4.])
    >>> triangle.optimum
    5.0
    """

    table = (0.0, 1.0, 1.0, 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class Ising(PairSum):
    """A spin glass: the sum of J s_i s_j over all couplings, which is minus the energy; a bit of one is a spin up.

    Parameters
    ----------
    n
        Number of spins, at least 1.
    pairs
        The coupled spins, integers in 0..n - 1, shape (m, 2).
    weights
        The couplings J, shape (m,): spins of a positive one want to agree.
    known_optimum
        Minus the lowest energy, where it is known.
    known_solution
        A ground state, shape (n,), where one is known.

    Examples
    --------
    >>> import numpy as np
    >>> from daedal.types import from_text
    >>> ring = Ising(3, np.array([[0, 1], [1, 2], [2, 0]]), np.array([1, 1, -1]))
    >>> ring.evaluate(from_text("110")[None])
    array([1.])
    >>> ring.optimum
    1.0
    """

    table = (1.0, -1.0, -1.0, 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class QUBO(PairSum):
    """A quadratic function: the sum of the weights of all pairs whose bits are both one.

    A pair of a variable with itself is what the variable alone is worth. Each pair counts as often as it is listed: a
    symmetric matrix Q has the weights Q_ij + Q_ji for i < j, and Q_ii.

    Parameters
    ----------
    n
        Number of variables, at least 1.
    pairs
        Integers in 0..n - 1, shape (m, 2).
    weights
        Their weights, shape (m,).
    known_optimum
        Largest fitness, where it is known.
    known_solution
        A row, shape (n,), that has it, where one is known.

    Examples
    --------
    >>> import numpy as np
    >>> from daedal.types import from_text
    >>> qubo = QUBO(2, np.array([[0, 0], [1, 1], [0, 1]]), np.array([3, 1, -2]))
    >>> qubo.evaluate(from_text("11")[None])
    array([2.])
    >>> qubo.optimum, qubo.solution
    (3.0, array([1, 0], dtype=uint8))
    """

    table = (0.0, 0.0, 0.0, 1.0)


# ------------------------------------------------------------ files


def read_maxcut(path: str | os.PathLike[str]) -> MaxCut:
    r"""Read a graph: `n m`, and `i j weight` for each edge, with vertices counted from 1.

    A file next to it with the same name and the ending .bkv has the best value known, which is taken for the optimum.

    Raises
    ------
    ValueError
        If it is no such file; the message names the line and says what is wrong there.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "triangle.txt"
    ...     _ = path.write_text("3 3\n1 2 1\n2 3 2\n3 1 3\n")
    ...     read_maxcut(path)
    MaxCut(n=3, pairs=3)
    """
    words = WordReader(path, "a graph", _GRAPH)
    n = words.whole(_GRAPH, least=1, most=MOST_VARIABLES)
    count = words.whole(_GRAPH)
    graph = MaxCut(n, *_read_pairs(words, count, "a vertex", "the weight of an edge", 1, n))
    return replace(graph, known_optimum=read_best_known(path, float(graph.weights.clip(0.0).sum())))


def read_ising(path: str | os.PathLike[str]) -> Ising:
    r"""Read a spin glass: the lowest energy and a state that has it, the number of couplings, and `i j J` for each.

    Spins are counted from 0. The energy of the state has to be the one stated.

    Raises
    ------
    ValueError
        If it is no such file; the message names the line and says what is wrong there.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tiny.txt"
    ...     _ = path.write_text("-1 110\n3\n0 1 1\n1 2 1\n2 0 -1\n")
    ...     read_ising(path)
    Ising(n=3, pairs=3)
    """
    words = WordReader(path, "a spin glass", _STATE)
    first = words.lines[0].split()
    if len(first) != 2 or set(first[1]) - {"0", "1"}:
        raise words.bad(_STATE, shown(words.lines[0]))
    energy = words.number(_STATE)
    state = from_text(words.word(_STATE))
    count, n = words.whole("the number of couplings"), len(state)
    pairs, couplings = _read_pairs(words, count, "a spin", "a coupling", 0, n - 1)
    glass = Ising(n, pairs, couplings, known_optimum=-energy, known_solution=state)
    stated = -float(glass.evaluate(state[None])[0])
    if not np.isclose(stated, energy, rtol=1e-9, atol=1e-6):
        words.line = 1
        raise words.bad(f"a state of the energy {energy:.10g}", f"one of {stated:.10g}")
    return glass


def _read_pairs(
    words: WordReader, count: int, what: str, number: str, first: int, last: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Read `i j weight` for each of some pairs, shape (count, 2), of different variables, counted from `first`."""
    pairs, weights = [], []
    for _ in range(count):
        i, j = (words.whole(f"{what} in {first}..{last}", least=first, most=last) for _ in range(2))
        if i == j:
            raise words.bad(f"{what} other than {i}", f"{i} again")
        pairs.append((i - first, j - first))
        weights.append(words.number(number))
    words.end()
    return np.array(pairs, dtype=np.int64).reshape(-1, 2), np.array(weights, dtype=np.float64)


def read_qubo(path: str | os.PathLike[str], problem: int = 1) -> QUBO:
    r"""Read a quadratic function: `n m`, and `i j q` for each entry of a symmetric matrix, counted from 1.

    The fitness is x'Qx, to be maximized, so that an entry with i != j, which is listed once, counts twice. Where the
    first line is a single number, that of the problems in the file (the format of Beasley's bqp files), one of them is
    read. Where there is only one, a file next to it with the same name and the ending .bkv has the best value known.

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
    ...     _ = path.write_text("1\n2 3\n1 1 3\n2 2 1\n1 2 -1\n")
    ...     read_qubo(path).optimum
    3.0
    """
    check_whole("problem", problem, least=1, of="qubo")
    words = WordReader(path, "a QUBO file", _PROBLEMS)
    is_list = len(words.lines[0].split()) > 1
    count = 1 if is_list else words.whole(_PROBLEMS, least=1)
    if problem > count:
        raise ValueError(f"{path} has {count} problem{'s'[: count != 1]}, got problem={problem}")
    for _ in range(problem):
        function = _read_one(words)
    if problem == count:
        words.end()
    if count > 1:
        return function
    return replace(function, known_optimum=read_best_known(path, float(function.weights.clip(0.0).sum())))


def _read_one(words: WordReader) -> QUBO:
    n = words.whole(_SIZES, least=1, most=MOST_VARIABLES)
    weights: dict[tuple[int, int], float] = {}
    for _ in range(words.whole(_SIZES)):
        i, j = (words.whole(f"a variable in 1..{n}", least=1, most=n) - 1 for _ in range(2))
        pair = (min(i, j), max(i, j))
        if pair in weights:
            raise words.bad("each entry of a symmetric matrix once", shown(f"{i + 1} {j + 1} again"))
        weights[pair] = words.number("an entry") * (1.0 if i == j else 2.0)
    pairs = np.array(list(weights), dtype=np.int64).reshape(-1, 2)
    return QUBO(n, pairs, np.array(list(weights.values()), dtype=np.float64))


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
