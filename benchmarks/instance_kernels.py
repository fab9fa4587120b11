"""Functions of the benchmarks on plain arrays: x, shape (rows, n), uint8, fills out, shape (rows,)."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Bits = NDArray[np.uint8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@njit(cache=True)
def disguise(x: Bits, order: Ints, mask: Bits) -> Bits:
    """Give the rows that the function sees: variable i is x[order[i]], flipped where the mask is one."""
    rows, n = x.shape
    y = np.empty((rows, n), dtype=np.uint8)
    for r in range(rows):
        for i in range(n):
            y[r, i] = x[r, order[i]] ^ mask[i]
    return y


@njit(cache=True)
def tables(x: Bits, starts: Ints, scopes: Ints, offsets: Ints, entries: Floats, out: Floats) -> None:
    """Sum one entry per table; the first variable of a scope is the most significant bit of the index."""
    for r in range(x.shape[0]):
        total = 0.0
        for t in range(starts.shape[0] - 1):
            index = 0
            for p in range(starts[t], starts[t + 1]):
                index = 2 * index + x[r, scopes[p]]
            total += entries[offsets[t] + index]
        out[r] = total


@njit(cache=True)
def blocks(x: Bits, k: int, step: int, values: Floats, out: Floats) -> None:
    """Sum values[ones] over blocks of k variables, one every `step` variables, around the end."""
    rows, n = x.shape
    for r in range(rows):
        total = 0.0
        for start in range(0, n, step):
            ones = 0
            for i in range(start, start + k):
                ones += x[r, i % n]
            total += values[ones]
        out[r] = total


@njit(cache=True)
def hiff(x: Bits, out: Floats) -> None:
    """Sum the sizes of all uniform blocks, single bits included."""
    rows, n = x.shape
    work = np.empty(n, dtype=np.uint8)
    for r in range(rows):
        work[:] = x[r]
        total, size, count = n, 2, n // 2
        while count > 0:
            for b in range(count):
                same = work[2 * b] == work[2 * b + 1] and work[2 * b] < 2
                work[b] = work[2 * b] if same else 2
                if same:
                    total += size
            size, count = 2 * size, count // 2
        out[r] = total


@njit(cache=True)
def leadingones(x: Bits, out: Floats) -> None:
    """Count the ones before the first zero."""
    rows, n = x.shape
    for r in range(rows):
        ones = 0
        while ones < n and x[r, ones]:
            ones += 1
        out[r] = ones


@njit(cache=True)
def quadratic(x: Bits, weights: Floats, out: Floats) -> None:
    """Sum weights[i, j] over the pairs i <= j that are both one."""
    rows, n = x.shape
    for r in range(rows):
        total = 0.0
        for i in range(n):
            if x[r, i]:
                for j in range(i, n):
                    if x[r, j]:
                        total += weights[i, j]
        out[r] = total


@njit(cache=True)
def knapsack(x: Bits, profits: Floats, weights: Floats, capacity: float, penalty: float, out: Floats) -> None:
    """Sum the profits, less the penalty for each unit of weight above the capacity."""
    rows, n = x.shape
    for r in range(rows):
        profit, weight = 0.0, 0.0
        for i in range(n):
            if x[r, i]:
                profit += profits[i]
                weight += weights[i]
        out[r] = profit - penalty * max(0.0, weight - capacity)


@njit(cache=True)
def labs(x: Bits, out: Floats) -> None:
    """Give the merit factor n^2 / 2E of the +-1 sequence, E the sum of its squared autocorrelations."""
    rows, n = x.shape
    for r in range(rows):
        energy = 0
        for lag in range(1, n):
            agree = 0
            for i in range(n - lag):
                agree += 1 if x[r, i] == x[r, i + lag] else -1
            energy += agree * agree
        out[r] = n * n / (2.0 * energy)


@njit(cache=True)
def features(x: Bits, likelihood: Floats, prior: Floats, label: Ints, price: float, out: Floats) -> None:
    """Give the share of rows that naive Bayes puts in their class, less a price for each feature it looks at.

    `likelihood`, shape (features, cases, classes), and `prior`, shape (cases, classes), are logarithms, each case's
    from the folds that it is not in.
    """
    rows, n = x.shape
    cases, classes = prior.shape
    for r in range(rows):
        score = prior.copy()
        for i in range(n):
            if x[r, i]:
                for c in range(cases):
                    for k in range(classes):
                        score[c, k] += likelihood[i, c, k]
        right = 0
        for c in range(cases):
            right += 1 if np.argmax(score[c]) == label[c] else 0
        out[r] = right / cases - price * x[r].sum()
