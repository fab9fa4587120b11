"""MAX-SAT: the weight of the clauses that a row satisfies; hard clauses are constraints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import EXACT, njit
from daedal.problems.base import fill_fitness
from daedal.problems.exact import QUICK_MEMORY, SumOfTables
from daedal.problems.satisfying import satisfying_row
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
    """The weight of the clauses of which at least one literal holds.

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

    affordable = QUICK_MEMORY  # a file is read anew for each run

    def __post_init__(self) -> None:
        check_whole("n", self.n, least=1, of="maxsat")
        object.__setattr__(self, "clauses", _checked(self.clauses, self.n))
        weights = [1.0] * len(self.clauses) if self.weights is None else [float(weight) for weight in self.weights]
        if len(weights) != len(self.clauses) or not all(0.0 <= weight < math.inf for weight in weights):
            raise ValueError(
                f"expected {len(self.clauses)} finite weights of at least 0, got {len(weights)}: {weights}"
            )
        object.__setattr__(self, "weights", tuple(weights))
        if self.known_optimum is not None and not math.isfinite(self.known_optimum):
            raise ValueError(f"expected a finite known_optimum or None, got {self.known_optimum}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n}, clauses={len(self.clauses)})"

    @property
    def total(self) -> float:
        """The weight of all clauses, which no row can exceed."""
        return float(self._weights.sum())

    def all_clauses(self) -> list[Sequence[int]]:
        """Give all clauses that a row can satisfy."""
        return list(self.clauses)

    def scopes(self) -> list[list[int]]:
        """Give the variables of each clause."""
        return [list(dict.fromkeys(abs(literal) - 1 for literal in clause)) for clause in self.all_clauses() if clause]

    def factors(self) -> list[NDArray[np.float64]]:
        """Give the table of each clause: its weight, but for the one setting that fails it."""
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
        return self.maximise() if affordable else None

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        return np.array(self.weights, dtype=np.float64)

    @cached_property
    def _literals(self) -> _Literals:
        return _flat(self.clauses)

    def evaluate(self, x: Bits) -> Fitness:
        """Give the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        return fill_fitness(clause_sum, x, self.n, *self._literals, self._weights)


@dataclass(frozen=True, eq=False, repr=False)
class HardMaxSat(MaxSat):
    """MAX-SAT with hard clauses, which are constraints: they add nothing to the fitness, and must be satisfied.

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
        """Give all clauses that a row can satisfy, the hard ones last."""
        return [*self.clauses, *self.hard]

    def factors(self) -> list[NDArray[np.float64]]:
        """Give the table of each clause: a hard one forbids the setting that fails it."""
        return super().factors() + [_table(clause, 0.0, -math.inf) for clause in self.hard if clause]

    def maximise(self) -> tuple[Bits, float]:
        """Compute a row of the largest fitness that satisfies the hard clauses, and that fitness, as `MaxSat` does."""
        row, value = super().maximise()
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
        """Give for each row and hard clause, shape (rows, m), 1 less the number of its literals that hold.

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
    """Give what a clause is worth for each setting of its variables, the first the most significant bit."""
    variables = list(dict.fromkeys(abs(literal) for literal in clause))
    table = np.full(2 ** len(variables), satisfied)
    if not any(-literal in clause for literal in clause):  # else it holds whatever comes
        table[sum((-variable in clause) << place for place, variable in enumerate(reversed(variables)))] = failed
    return table


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
