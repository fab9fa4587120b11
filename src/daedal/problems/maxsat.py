"""MAX-SAT: the weight of the clauses that a row satisfies; hard clauses are constraints."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import EXACT, njit
from daedal.problems.base import check_known_optimum, fill_fitness
from daedal.problems.exact import QUICK_MEMORY, SumOfTables
from daedal.problems.text_file import MOST_VARIABLES, WordReader, read_best_known, shown
from daedal.settings.checks import check_whole
from daedal.types import Bits, Fitness, check_bits

_LONGEST = 12  # literals of a clause up to which a table of all their settings is worth a thought
_MOST_PLANNED = 2_000  # variables up to which an order of elimination takes no more than a moment to find


class _Literals(NamedTuple):
    """Clauses one after another: those of clause c are starts[c]..starts[c + 1]."""

    starts: NDArray[np.int64]
    variables: NDArray[np.int64]
    wanted: Bits


@dataclass(frozen=True, eq=False, repr=False)
class MaxSat(SumOfTables):
    """MAX-SAT: the weight of all satisfied clauses.

    Parameters
    ----------
    n
        Number of variables, at least 1.
    clauses
        Literals of each clause: v + 1 for variable v of 0..n - 1, -(v + 1) for its negation. None are never satisfied.
    weights
        One for each clause, not negative; 1 each unless given.
    known_optimum
        Largest fitness, where the source of the instance states it.

    Examples
    --------
    >>> from daedal.types import from_text
    >>> sat = MaxSat(2, [(1, 2), (-1,), (1, -2)])
    >>> sat.evaluate(from_text("10")[None])
    array([2.])
    >>> sat.optimum, sat.solution
    (2.0, array([0, 0], dtype=uint8))
    """

    n: int
    clauses: Sequence[Sequence[int]]
    weights: Sequence[float] | None = None
    known_optimum: float | None = None

    affordable = QUICK_MEMORY  # a file is read again for each run

    def __post_init__(self) -> None:
        check_whole("n", self.n, least=1, of="maxsat")
        object.__setattr__(self, "clauses", _checked(self.clauses, self.n))
        weights = [1.0] * len(self.clauses) if self.weights is None else [float(weight) for weight in self.weights]
        if len(weights) != len(self.clauses) or not all(0.0 <= weight < math.inf for weight in weights):
            raise ValueError(
                f"expected {len(self.clauses)} finite weights of at least 0, got {len(weights)}: {weights}"
            )
        object.__setattr__(self, "weights", tuple(weights))
        check_known_optimum(self.known_optimum)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n}, clauses={len(self.clauses)})"

    @property
    def total(self) -> float:
        """The weight of all clauses, which no row can exceed."""
        return float(self._weights.sum())

    def all_clauses(self) -> list[Sequence[int]]:
        """Return all clauses that a row can satisfy."""
        return list(self.clauses)

    def scopes(self) -> list[list[int]]:
        """Return the variables of each clause."""
        return [list(dict.fromkeys(abs(literal) - 1 for literal in clause)) for clause in self.all_clauses() if clause]

    def factors(self) -> list[NDArray[np.float64]]:
        """Return the table of each clause: its weight, but for the one setting that fails it."""
        return [
            _table(clause, weight, 0.0) for clause, weight in zip(self.clauses, self._weights, strict=True) if clause
        ]

    def can_be_planned(self) -> bool:
        """Whether it is small enough to look for an order of elimination."""
        clauses = self.all_clauses()
        few = self.n <= _MOST_PLANNED and len(clauses) <= 10 * _MOST_PLANNED
        return few and all(len(clause) <= _LONGEST for clause in clauses)

    @cached_property
    def _exact(self) -> tuple[Bits, float] | None:
        """A row that satisfies everything, where one is found at once, or else what elimination says."""
        row = satisfying_row(self.n, self.all_clauses())
        if row is not None:
            return row, float(self.evaluate(row[None])[0])
        return self._eliminated()

    def _eliminated(self) -> tuple[Bits, float] | None:
        affordable = self.can_be_planned() and self._plan.peak_bytes <= self.affordable
        return self.maximize() if affordable else None

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        return np.array(self.weights, dtype=np.float64)

    @cached_property
    def _literals(self) -> _Literals:
        return _flat(self.clauses)

    def evaluate(self, x: Bits) -> Fitness:
        """Return the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        return fill_fitness(clause_sum, x, self.n, *self._literals, self._weights)


@dataclass(frozen=True, eq=False, repr=False)
class HardMaxSat(MaxSat):
    """MAX-SAT with hard clauses as constraints.

    Parameters
    ----------
    n, clauses, weights, known_optimum
        As of `MaxSat`; the optimum is the largest fitness of all rows that satisfy the hard clauses.
    hard
        Literals of each hard clause.

    Examples
    --------
    >>> from daedal.types import from_text
    >>> sat = HardMaxSat(2, [(1,), (2,)], [3, 4], hard=[(-1, -2)])
    >>> sat.violations(from_text("11")[None])
    array([[1.]])
    >>> sat.optimum, sat.solution
    (4.0, array([0, 1], dtype=uint8))
    """

    hard: Sequence[Sequence[int]] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "hard", _checked(self.hard, self.n))

    def all_clauses(self) -> list[Sequence[int]]:
        """Return all clauses that a row can satisfy, the hard ones last."""
        return [*self.clauses, *self.hard]

    def factors(self) -> list[NDArray[np.float64]]:
        """Return the table of each clause: a hard one forbids the setting that fails it."""
        return super().factors() + [_table(clause, 0.0, -math.inf) for clause in self.hard if clause]

    def maximize(self) -> tuple[Bits, float]:
        """Compute a row of the largest fitness that satisfies the hard clauses, and that fitness, as `MaxSat` does."""
        row, value = super().maximize()
        if value == -math.inf or not all(self.hard):
            raise ValueError(f"no row satisfies the hard clauses of {self!r}, so that there is no optimum")
        return row, value

    def _eliminated(self) -> tuple[Bits, float] | None:
        try:
            return super()._eliminated()
        except ValueError:  # no row satisfies the hard clauses
            return None

    @cached_property
    def _hard_literals(self) -> _Literals:
        return _flat(self.hard)

    def violations(self, x: Bits) -> NDArray[np.float64]:
        """Return for each row and hard clause, shape (rows, m), 1 less the number of its literals that hold.

        At most 0 where the clause is satisfied, and 1 where it is not.
        """
        check_bits(x, self.n)
        out = np.empty((len(x), len(self.hard)))
        clause_lacks(np.ascontiguousarray(x), *self._hard_literals, out)
        return out


def _checked(clauses: Sequence[Sequence[int]], n: int) -> tuple[tuple[int, ...], ...]:
    """Copy clauses; refuse literals that there are not."""
    copied = tuple(tuple(map(int, clause)) for clause in clauses)
    for clause in copied:
        if any(literal == 0 or abs(literal) > n for literal in clause):
            raise ValueError(f"expected literals in 1..{n} or -1..-{n}, got the clause {clause}")
    return copied


def _flat(clauses: Sequence[Sequence[int]]) -> _Literals:
    literals = np.array([literal for clause in clauses for literal in clause], dtype=np.int64)
    starts = np.cumsum([0, *map(len, clauses)], dtype=np.int64)
    return _Literals(starts, np.abs(literals) - 1, (literals > 0).astype(np.uint8))


def _table(clause: Sequence[int], satisfied: float, failed: float) -> NDArray[np.float64]:
    """Return what a clause is worth for each setting of its variables, the first the most significant bit."""
    variables = list(dict.fromkeys(abs(literal) for literal in clause))
    table = np.full(2 ** len(variables), satisfied)
    if not any(-literal in clause for literal in clause):  # else it holds whatever comes
        table[sum((-variable in clause) << place for place, variable in enumerate(reversed(variables)))] = failed
    return table


# ------------------------------------------------------------ satisfying all clauses

_Clauses: TypeAlias = list[tuple[int, ...]]  # literals: v + 1 for variable v, -(v + 1) for its negation

EFFORT = 3_000_000
"""Literals looked at before the search is given up: a few tenths of a second."""


def satisfying_row(n: int, clauses: Sequence[Sequence[int]], *, effort: int = EFFORT) -> Bits | None:
    """Return a row, shape (n,), that satisfies all clauses, or None where there is none or it would take too long.

    A literal is v + 1 for variable v of 0..n - 1, and -(v + 1) for its negation.

    Examples
    --------
    >>> satisfying_row(2, [(1, 2), (-1,)])
    array([0, 1], dtype=uint8)
    >>> satisfying_row(1, [(1,), (-1,)]) is None
    True
    """
    # What is still to be tried: clauses that are left, literals that hold already, one more that is to hold.
    waiting: list[tuple[_Clauses, tuple[int, ...], int]] = [([tuple(clause) for clause in clauses], (), 0)]
    while waiting:
        left, held, literal = waiting.pop()
        while True:
            effort -= sum(map(len, left)) + 1
            if effort < 0:
                return None
            if literal:
                held += (literal,)
                left = [
                    tuple(one for one in clause if one != -literal) if -literal in clause else clause
                    for clause in left
                    if literal not in clause
                ]
            if not left:
                return _row(n, held)
            shortest = min(left, key=len)
            if len(shortest) != 1:
                break
            literal = shortest[0]
        if shortest:  # otherwise nothing can satisfy it any more
            literal = _most_frequent(left, len(shortest))
            waiting += [(left, held, -literal), (left, held, literal)]
    return None


def _most_frequent(clauses: _Clauses, length: int) -> int:
    """Return the literal that is in most of the shortest clauses; the first of several."""
    counts: dict[int, int] = {}
    for clause in clauses:
        if len(clause) == length:
            for literal in clause:
                counts[literal] = counts.get(literal, 0) + 1
    return max(counts, key=counts.__getitem__)


def _row(n: int, held: tuple[int, ...]) -> Bits:
    row = np.zeros(n, dtype=np.uint8)
    for literal in held:
        row[abs(literal) - 1] = literal > 0
    return row


# ------------------------------------------------------------ files

_HEADER = "`p cnf n m`, `p wcnf n m` or `p wcnf n m top`"
_MOST_WEIGHT = 10**15
_TOP_DIGITS = 20  # such weights go up to 2^64


def read_maxsat(path: str | os.PathLike[str]) -> MaxSat:
    r"""Read clauses from a file: DIMACS cnf or wcnf.

    In a wcnf file with `top`, clauses of that weight or more are hard, as are those that begin with `h` in a file of
    the 2022 format, which has no line `p` and has to be called .wcnf. A file next to it with the same name and the
    ending .bkv has the best value known, which is taken for the optimum.

    Raises
    ------
    ValueError
        If it is no such file; the message names the line and says what is wrong there.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "tiny.wcnf"
    ...     _ = path.write_text("p wcnf 2 3 10\n10 -1 -2 0\n3 1 0\n4 2 0\n")
    ...     read_maxsat(path).optimum
    4.0
    """
    words = WordReader(path, "a MAX-SAT file", _HEADER, comments="c")
    has_header = words.ahead == "p"
    if not has_header and words.ahead and words.path.suffix != ".wcnf":
        raise words.bad(_HEADER, shown(words.lines[0]))
    n, count, weighted, top = _read_header(words) if has_header else (MOST_VARIABLES, None, True, None)
    soft, weights, hard = list[list[int]](), list[int](), list[list[int]]()
    while words.ahead and len(soft) + len(hard) != count:
        weight = _weight(words, top, has_header=has_header) if weighted else 1
        clause = list[int]()
        while literal := words.whole(f"a literal in -{n}..{n}, or 0", least=-n, most=n):
            clause.append(literal)
            if not has_header and not words.ahead_in_line:
                raise words.bad("0 at the end of the clause", "the end of the line")
        if weight is None:
            hard.append(clause)
        else:
            soft.append(clause)
            weights.append(weight)
    if has_header and len(soft) + len(hard) < (count or 0):
        words.word("more clauses")  # raises
    if words.ahead == "%":  # as at the end of the files of SATLIB
        words.word("%")
        words.whole("0, and the end", most=0)
    words.end()
    used = n if has_header else max((abs(literal) for clause in soft + hard for literal in clause), default=0)
    if not used or not soft + hard:
        raise words.bad("clauses with variables", "none")
    problem = HardMaxSat(used, soft, weights, hard=hard) if hard else MaxSat(used, soft, weights)
    return replace(problem, known_optimum=read_best_known(path, problem.total))


def _read_header(words: WordReader) -> tuple[int, int, bool, int | None]:
    """Read the line `p`: the numbers of variables and clauses, whether they have weights, and that of hard ones."""
    line, kind = words.lines[words.line - 1], (words.word(_HEADER), words.word(_HEADER))[1]
    n = words.whole(f"n, the variables, in 1..{MOST_VARIABLES}", least=1, most=MOST_VARIABLES)
    count, top = words.whole(_HEADER), words.word(_HEADER) if words.ahead_in_line else ""
    fits = not top or (kind == "wcnf" and top.isdigit() and len(top) <= _TOP_DIGITS)
    if kind not in ("cnf", "wcnf") or not fits or words.ahead_in_line:
        raise words.bad(_HEADER, shown(line))
    return n, count, kind == "wcnf", int(top) if top else None


def _weight(words: WordReader, top: int | None, *, has_header: bool) -> int | None:
    """Read the weight of a soft clause; None for a hard one."""
    word = words.ahead
    is_top = top is not None and word.isdigit() and len(word) <= _TOP_DIGITS and int(word) >= top
    if is_top or (word == "h" and not has_header):
        words.word("h")
        return None
    return words.whole("the weight of a clause", least=1, most=_MOST_WEIGHT)


# ------------------------------------------------------------ kernels

# Any non-zero entry of x counts as a one, so that no entry, however wrong, can lead an index out of its table.


@njit(**EXACT)
def clause_sum(
    x: Bits,
    starts: NDArray[np.int64],
    variables: NDArray[np.int64],
    wanted: Bits,
    weights: NDArray[np.float64],
    out: Fitness,
) -> None:
    """Sum the weights of clauses in which a variable is as wanted; clause c has literals starts[c]..starts[c + 1]."""
    for r in range(x.shape[0]):
        total = 0.0
        for c in range(starts.shape[0] - 1):
            for p in range(starts[c], starts[c + 1]):
                if (x[r, variables[p]] != 0) == (wanted[p] != 0):
                    total += weights[c]
                    break
        out[r] = total


@njit(**EXACT)
def clause_lacks(
    x: Bits, starts: NDArray[np.int64], variables: NDArray[np.int64], wanted: Bits, out: NDArray[np.float64]
) -> None:
    """Fill out, shape (rows, clauses), with 1 less the number of literals of the clause that hold."""
    for r in range(x.shape[0]):
        for c in range(starts.shape[0] - 1):
            hold = 0
            for p in range(starts[c], starts[c + 1]):
                if (x[r, variables[p]] != 0) == (wanted[p] != 0):
                    hold += 1
            out[r, c] = 1 - hold
