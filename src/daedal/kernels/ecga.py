"""Groups of bits by minimum description length: greedy merging with a cache of gains.

A group's rows are kept as numbers of the configurations that were seen in it, so that the joint configuration of two
groups is one multiplication away, whatever their sizes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit
from daedal.kernels.tree import on_grid, pair_information
from daedal.types import Bits

NO_GAIN = -1.0  # Stands for every gain that is known not to be positive without having been counted

_Floats = NDArray[np.float64]
_Integers = NDArray[np.int64]
_Numbers = NDArray[np.int32]


@njit(**OPTIONS)
def count_joint(a: _Numbers, b: _Numbers, kinds_a: int, kinds_b: int, cells: _Numbers) -> None:
    """Count the rows of each joint configuration: cells[i * kinds_b + j], where a is i and b is j, shapes (rows,)."""
    for cell in range(kinds_a * kinds_b):
        cells[cell] = 0
    width = np.int32(kinds_b)
    for r in range(len(a)):
        cells[a[r] * width + b[r]] += 1


@njit(**OPTIONS)
def merge_gain(
    a: int, b: int, sizes: _Integers, max_group: int, numbers: _Numbers, kinds: _Integers, content: _Floats,
    logs: _Floats, cells: _Numbers,
) -> float:  # fmt: skip
    """Give the bits that the description gets shorter by merging groups a and b, on the grid.

    The table of the pair has (2^|a| - 1)(2^|b| - 1) more entries than the two tables, at log2(N + 1) bits each. What
    is saved is the mutual information, and that is at most the content of either group: a merge that cannot pay
    needs no counting. As the content is below N log2(N + 1), a merge that is counted has fewer than 4 N cells.
    """
    if sizes[a] + sizes[b] > max_group:
        return NO_GAIN
    rows = len(logs) - 1
    price = np.log2(rows + 1.0) * ((2.0 ** sizes[a] - 1.0) * (2.0 ** sizes[b] - 1.0))
    if min(content[a], content[b]) <= price:
        return NO_GAIN
    count_joint(numbers[a], numbers[b], kinds[a], kinds[b], cells)
    joint = logs[rows]
    for cell in range(kinds[a] * kinds[b]):
        joint -= logs[cells[cell]]
    gain: float = on_grid(content[a] + content[b] - joint - price)
    return gain


@njit(**OPTIONS)
def merge(
    a: int, b: int, numbers: _Numbers, kinds: _Integers, content: _Floats, logs: _Floats, cells: _Numbers
) -> None:
    """Put group b into group a: number the configurations that were seen, in the order of their cells."""
    rows = len(logs) - 1
    count_joint(numbers[a], numbers[b], kinds[a], kinds[b], cells)
    joint, seen = logs[rows], 0
    for cell in range(kinds[a] * kinds[b]):
        if cells[cell] > 0:
            joint -= logs[cells[cell]]
            cells[cell] = seen
            seen += 1
    for r in range(rows):
        numbers[a, r] = cells[numbers[a, r] * kinds[b] + numbers[b, r]]
    kinds[a], content[a] = seen, joint


@njit(**OPTIONS)
def start_singly(
    x: Bits, pairs: _Integers, logs: _Floats, numbers: _Numbers, kinds: _Integers, content: _Floats
) -> None:
    """Make each bit of x (rows, n) a group: numbers (n, rows), kinds and content (n,) as in `merge_groups`."""
    rows, n = x.shape
    for i in range(n):
        ones = pairs[i, i]
        kinds[i] = 2 if 0 < ones < rows else 1
        content[i] = logs[rows] - logs[ones] - logs[rows - ones]
    for r in range(rows):
        for i in range(n):
            numbers[i, r] = x[r, i] if kinds[i] == 2 else 0


@njit(**OPTIONS)
def pair_gains(pairs: _Integers, logs: _Floats, max_group: int, cache: _Floats) -> None:
    """Set cache (n, n) to the gains of merging two single bits, on the grid."""
    pair_information(pairs, logs, cache)
    unit = np.log2(float(len(logs)))
    for i in range(len(cache)):
        for j in range(len(cache)):
            cache[i, j] = on_grid(cache[i, j] - unit) if max_group >= 2 else NO_GAIN


@njit(**OPTIONS)
def best_pair(cache: _Floats, alive: _Integers) -> tuple[int, int]:
    """Find the places in alive, ascending names of groups, of the first pair with the largest gain, or -1, -1."""
    best, first, second = 0.0, -1, -1
    for i in range(len(alive)):
        for j in range(i + 1, len(alive)):
            if cache[alive[i], alive[j]] > best:
                best, first, second = cache[alive[i], alive[j]], i, j
    return first, second


@njit(**OPTIONS)
def merge_groups(
    x: Bits, pairs: _Integers, logs: _Floats, max_group: int, group: _Integers, merges: _Integers, gains: _Floats
) -> tuple[int, float]:
    """Merge, from single bits on, the two groups with the largest gain, until no gain is positive.

    Groups go by the name of their smallest variable. Among equal gains the pair (a, b), a < b, of the smallest a,
    then b, is merged.

    x (rows, n); pairs (n, n) and logs (rows + 1,) as for `pair_information`; group (n,) becomes each variable's
    group; merges (n - 1, 2) and gains (n - 1,) the record of what was merged. Gives the number of merges and the
    description length.
    """
    rows, n = x.shape
    numbers = np.empty((n, rows), dtype=np.int32)  # Each row's configuration of a group, below kinds.
    kinds = np.empty(n, dtype=np.int64)  # How many different configurations of a group were seen.
    content = np.empty(n)  # N times the entropy of a group, in bits.
    sizes = np.ones(n, dtype=np.int64)
    cells = np.empty(4 * rows, dtype=np.int32)
    cache = np.empty((n, n))  # The gain of merging each two groups.
    start_singly(x, pairs, logs, numbers, kinds, content)
    pair_gains(pairs, logs, max_group, cache)
    group[:] = np.arange(n)
    alive, left = np.arange(n), n
    while True:
        first, second = best_pair(cache, alive[:left])
        if first < 0:
            break
        a, b = alive[first], alive[second]
        done = n - left
        merges[done, 0], merges[done, 1], gains[done] = a, b, cache[a, b]
        merge(a, b, numbers, kinds, content, logs, cells)
        sizes[a] += sizes[b]
        for i in range(n):
            if group[i] == b:
                group[i] = a
        left -= 1
        for i in range(second, left):
            alive[i] = alive[i + 1]
        for i in range(left):
            c = alive[i]
            if c != a:
                cache[min(a, c), max(a, c)] = merge_gain(a, c, sizes, max_group, numbers, kinds, content, logs, cells)
    unit, length = np.log2(rows + 1.0), 0.0
    for a in alive[:left]:  # what the tables take, and what the rows take with them
        length += unit * (2.0 ** sizes[a] - 1.0) + content[a]
    return n - left, length
