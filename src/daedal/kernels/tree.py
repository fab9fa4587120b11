"""Information between pairs of bits, the heaviest forest over them, and samples of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit
from daedal.types import Bits

GRID = 2.0**20
"""Steps in one bit, to which information is rounded: what is equal on paper is then equal here, whatever the order of
a sum, and the rule for ties decides instead of the last digit."""

_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]


@njit(**OPTIONS)
def on_grid(bits: float) -> float:
    """Round to the nearest multiple of 1 / GRID."""
    rounded: float = np.floor(bits * GRID + 0.5) / GRID
    return rounded


@njit(**OPTIONS)
def count_logs(rows: int) -> _Floats:
    """Give c log2 c for c = 0 .. rows, shape (rows + 1,): N times an entropy is a sum of these."""
    logs = np.zeros(rows + 1)
    for c in range(1, rows + 1):
        logs[c] = c * np.log2(c)
    return logs


@njit(**OPTIONS)
def pair_information(pairs: _Integers, logs: _Floats, out: _Floats) -> None:
    """Set out[i, j] to N times the mutual information of bits i and j, in bits and on the grid.

    pairs (n, n) counts the rows where both are one, logs (N + 1,) comes from `count_logs`, out (n, n) is symmetric.
    """
    rows, n = len(logs) - 1, len(pairs)
    for i in range(n):
        a = pairs[i, i]
        for j in range(i + 1):
            b, both = pairs[j, j], pairs[i, j]
            joint = logs[both] + logs[a - both] + logs[b - both] + logs[rows - a - b + both]
            apart = (logs[a] + logs[rows - a]) + (logs[b] + logs[rows - b])
            out[i, j] = out[j, i] = on_grid((joint + logs[rows]) - apart)


@njit(**OPTIONS)
def spanning_forest(weights: _Floats, order: _Integers, parents: _Integers) -> None:
    """Find the heaviest spanning forest (Prim), in O(n^2).

    The tree takes the vertex with the heaviest edge to it: among equals the one of the smallest number, joined to the
    vertex that came first. Where no edge leads on, the smallest vertex left begins a new tree.

    weights (n, n) is symmetric, negative for no edge; order (n,) becomes the vertices, each after its parent;
    parents (n,) their parents, -1 for a root.
    """
    n = len(weights)
    heaviest = np.full(n, -1.0)
    link = np.full(n, -1, dtype=np.int64)
    placed = np.zeros(n, dtype=np.bool_)
    for k in range(n):
        chosen = -1
        for i in range(n):
            if not placed[i] and (chosen < 0 or heaviest[i] > heaviest[chosen]):
                chosen = i
        placed[chosen] = True
        order[k] = chosen
        parents[chosen] = link[chosen]
        for i in range(n):
            if weights[chosen, i] > heaviest[i] and not placed[i]:
                heaviest[i] = weights[chosen, i]
                link[i] = chosen


@njit(**OPTIONS)
def sample_forest(
    words: NDArray[np.uint32], order: _Integers, parents: _Integers, probabilities: _Floats, out: Bits
) -> None:
    """Draw each bit after its parent: one where its word, as a fraction of 2^32, is below its probability.

    words (rows * n,) or more, probabilities (n, 2) of a one given the parent's bit, out (rows, n).
    """
    rows, n = out.shape
    for r in range(rows):
        for k in range(n):
            i = order[k]
            parent = parents[i]
            given = 0 if parent < 0 else out[r, parent]
            out[r, i] = np.float64(words[r * n + i]) < probabilities[i, given] * 4294967296.0
