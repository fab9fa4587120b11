"""The linkage tree: which variables hang together in a population, from pairs to large groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit
from daedal.kernels.counting import WORD, count_pairs
from daedal.rng import draw_below, draw_unit

_Words = NDArray[np.uint64]
_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]

BLOCK = 2048
"""Most variables in one tree: its distances are a matrix. More variables are dealt out to several trees at random."""

SAME = 1e-6
"""Distance below which two groups say the same of every row, and are not split."""

_JITTER = 1e-9  # decides between equal distances
_ONE = np.uint64(1)


@njit(**OPTIONS)
def columns_of(rows: _Words, variables: _Integers) -> _Words:
    """Give some variables of packed rows, shape (rows, words), as packed columns, shape (variables, words of rows)."""
    columns = np.zeros((variables.size, (len(rows) + WORD - 1) // WORD), np.uint64)
    for v in range(variables.size):
        word, bit = variables[v] // WORD, np.uint64(variables[v] % WORD)
        for r in range(len(rows)):
            columns[v, r // WORD] |= ((rows[r, word] >> bit) & _ONE) << np.uint64(r % WORD)
    return columns


@njit(**OPTIONS)
def information_distances(columns: _Words, rows: int) -> _Floats:
    """Give 2 - (H(i) + H(j)) / H(i, j), shape (n, n), of packed columns: 0 where one tells the other, 1 at most."""
    n = len(columns)
    entropy = np.zeros(rows + 1)
    for c in range(1, rows + 1):
        entropy[c] = -c / rows * np.log(c / rows)
    pairs = np.zeros((n, n), np.int64)
    count_pairs(columns, pairs)
    distances = np.zeros((n, n))
    for i in range(n):
        a = pairs[i, i]
        for j in range(i):
            b, both = pairs[j, j], pairs[i, j]
            joint = entropy[both] + entropy[a - both] + entropy[b - both] + entropy[rows - a - b + both]
            apart = entropy[a] + entropy[rows - a] + entropy[b] + entropy[rows - b]
            distances[i, j] = distances[j, i] = 0.0 if joint <= 1e-12 else 2.0 - apart / joint
    return distances


@njit(**OPTIONS)
def average_linkage(distances: _Floats, merges: _Integers, heights: _Floats) -> None:
    """Join the two groups of the least mean distance until one is left, by chains of nearest neighbours, in O(n^2).

    distances (n, n) are used up. merges (n - 1, 2) gets the two groups joined in each step, where n + k is the group
    made in step k; heights (n - 1,) their distance. A step comes after those that made its groups; heights need not
    rise from step to step.
    """
    n = len(distances)
    group, size, alive = np.arange(n), np.ones(n), np.ones(n, np.bool_)
    chain, length, first = np.empty(n, np.int64), 0, 0
    for step in range(n - 1):
        if length == 0:
            while not alive[first]:
                first += 1
            chain[0], length = first, 1
        while True:
            a = chain[length - 1]
            b = chain[length - 2] if length > 1 else -1
            nearest = distances[a, b] if length > 1 else np.inf
            for j in range(n):
                if alive[j] and j != a and distances[a, j] < nearest:
                    b, nearest = j, distances[a, j]
            if length > 1 and b == chain[length - 2]:
                break
            chain[length] = b
            length += 1
        length -= 2
        merges[step, 0], merges[step, 1], heights[step] = group[a], group[b], nearest
        total = size[a] + size[b]
        for j in range(n):
            if alive[j] and j != a and j != b:
                mean = (size[a] * distances[a, j] + size[b] * distances[b, j]) / total
                distances[a, j] = distances[j, a] = mean
        alive[b], size[a], group[a] = False, total, n + step


@njit(**OPTIONS)
def _join_units(distances: _Floats, units: _Integers) -> None:
    """Leave no distance between the bits of a unit, shape (n,); average linkage does the rest."""
    for i in range(units.size):
        for j in range(units.size):
            if units[i] == units[j]:
                distances[i, j] = 0.0


@njit(**OPTIONS)
def _add_tree(
    rows: _Words, variables: _Integers, units: _Integers, state: _Words, masks: _Words, sizes: _Floats, count: int
) -> int:
    """Write the groups of one tree behind the `count` masks that are there; give the new count."""
    n = variables.size
    distances = information_distances(columns_of(rows, variables), len(rows))
    if units.size:
        _join_units(distances, units[variables])
    for i in range(n):
        for j in range(i):
            distances[i, j] += _JITTER * draw_unit(state)
            distances[j, i] = distances[i, j]
    merges, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    average_linkage(distances, merges, heights)
    groups, group_sizes, kept = np.zeros((2 * n - 1, rows.shape[1]), np.uint64), np.ones(2 * n - 1), np.ones(2 * n - 1)
    for v in range(n):
        groups[v, variables[v] // WORD] |= _ONE << np.uint64(variables[v] % WORD)
    for step in range(n - 1):
        a, b = merges[step]
        for w in range(rows.shape[1]):
            groups[n + step, w] = groups[a, w] | groups[b, w]
        group_sizes[n + step] = group_sizes[a] + group_sizes[b]
        if heights[step] < SAME:
            kept[a] = kept[b] = 0.0
    for g in range(2 * n - 2):  # without the last, which is all of them
        if kept[g]:
            masks[count] = groups[g]
            sizes[count] = group_sizes[g] + 0.5 * draw_unit(state)
            count += 1
    return count


@njit(**OPTIONS)
def linkage_groups(rows: _Words, n: int, units: _Integers, state: _Words, masks: _Words) -> int:
    """Write the groups of the linkage tree of packed rows, shape (rows, words), as masks, shape (2 n, words).

    Bits of one unit, where there are units (n,), are not split. The smallest groups come first, equal ones in random
    order; groups that the rows never tell apart are not split, and that of all variables is left out. Gives how many
    there are.
    """
    variables, count, sizes = np.arange(n), 0, np.empty(2 * n)
    if n > BLOCK:
        for i in range(n - 1, 0, -1):
            j = draw_below(state, i + 1)
            variables[i], variables[j] = variables[j], variables[i]
    trees = (n + BLOCK - 1) // BLOCK
    for t in range(trees):
        start, end = t * n // trees, (t + 1) * n // trees
        count = _add_tree(rows, variables[start:end], units, state, masks, sizes, count)
    masks[:count] = masks[:count][np.argsort(sizes[:count])]
    return count
