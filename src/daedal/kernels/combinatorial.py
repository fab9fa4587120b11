"""Fitness of a batch of rows, as in `landscapes`, of problems that researchers bring: clauses, pairs, loads, sequences.

Functions take x, shape (rows, n), and fill out. Any non-zero entry of x counts as a one, so that no entry, however
wrong, can lead an index out of its table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import EXACT, njit
from daedal.types import Bits, Fitness

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


@njit(**EXACT)
def unitation(x: Bits, k: int, step: int, values: _Floats, out: Fitness) -> None:
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


@njit(**EXACT)
def leadingones(x: Bits, out: Fitness) -> None:
    """Count the ones before the first zero of each row."""
    rows, n = x.shape
    for r in range(rows):
        ones = 0
        while ones < n and x[r, ones]:
            ones += 1
        out[r] = ones


@njit(**EXACT)
def labs(x: Bits, out: Fitness) -> None:
    """Give the merit factor n^2 / 2E of each row as a sequence of -1 and 1, E its squared autocorrelations summed."""
    rows, n = x.shape
    for r in range(rows):
        energy = 0
        for lag in range(1, n):
            agree = 0
            for i in range(n - lag):
                agree += 1 if (x[r, i] != 0) == (x[r, i + lag] != 0) else -1
            energy += agree * agree
        out[r] = n * n / (2.0 * energy)


@njit(**EXACT)
def pair_sum(x: Bits, pairs: _Ints, weights: _Floats, table: _Floats, out: Fitness) -> None:
    """Sum weights[p] table[2 a + b] over the pairs, shape (m, 2), whose variables are a and b."""
    for r in range(x.shape[0]):
        total = 0.0
        for p in range(pairs.shape[0]):
            index = 2 if x[r, pairs[p, 0]] else 0
            if x[r, pairs[p, 1]]:
                index += 1
            total += weights[p] * table[index]
        out[r] = total


@njit(**EXACT)
def clause_sum(x: Bits, starts: _Ints, variables: _Ints, wanted: Bits, weights: _Floats, out: Fitness) -> None:
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
def clause_lacks(x: Bits, starts: _Ints, variables: _Ints, wanted: Bits, out: _Floats) -> None:
    """Fill out, shape (rows, clauses), with 1 less the number of literals of the clause that hold."""
    for r in range(x.shape[0]):
        for c in range(starts.shape[0] - 1):
            hold = 0
            for p in range(starts[c], starts[c + 1]):
                if (x[r, variables[p]] != 0) == (wanted[p] != 0):
                    hold += 1
            out[r, c] = 1 - hold


@njit(**EXACT)
def weighted_ones(x: Bits, weights: _Floats, out: Fitness) -> None:
    """Sum the weights, shape (n,), of the ones of each row."""
    rows, n = x.shape
    for r in range(rows):
        total = 0.0
        for i in range(n):
            if x[r, i]:
                total += weights[i]
        out[r] = total


@njit(**EXACT)
def excess_loads(x: Bits, weights: _Floats, capacities: _Floats, out: _Floats) -> None:
    """Fill out, shape (rows, m), with the weights, shape (m, n), of the ones of each row, less the capacities."""
    rows, n = x.shape
    for r in range(rows):
        for c in range(weights.shape[0]):
            total = 0.0
            for i in range(n):
                if x[r, i]:
                    total += weights[c, i]
            out[r, c] = total - capacities[c]
