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
