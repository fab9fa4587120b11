"""Greedy construction of a Bayesian network of bits, its tables, and rows drawn from them, on plain arrays.

Scores are whole numbers of 1/UNIT bit. Sums of them do not depend on their order, so that the two directions of a
first edge tie exactly, a column that says nothing gains exactly nothing, and every machine builds the same network.
No kernel takes a logarithm: counts look up k log2 k.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit
from daedal.kernels.counting import LANES, WORD, count_ones, count_pairs, group_rows, pack, sort_rows
from daedal.types import Bits

UNIT = 2**30  # Steps of a score in one bit
MOST_ROWS = 2**26  # Rows up to which rows * log2(rows) * UNIT, the largest sum, fits into 62 bits

_Bytes = NDArray[np.uint8]
_Words = NDArray[np.uint64]
_Integers = NDArray[np.int64]
_u64 = np.uint64


class Parents(NamedTuple):
    """The selected rows in the two forms that counting likes, and the table of logarithms."""

    rows: _Bytes  # (rows, padded n): 0 or 1, and 0 in the padding
    columns: _Words  # (n, words): row r is bit r % 64 of word r // 64
    k_log_k: _Integers  # (rows + 1,): k log2 k in units


class Network(NamedTuple):
    """A network as it grows."""

    parents: _Integers  # (n, most parents): in the order in which they came
    degrees: _Integers  # (n,): number of parents
    fits: _Integers  # (n,): -N H(X | parents) in units
    reach: _Words  # (n, words of n): the set of a variable and all its descendants


class Workspace(NamedTuple):
    """The arrays of the search, O(n^2 + rows) numbers; nothing is allocated in its loops."""

    gains: _Integers  # (n, n): child x parent, in units
    best: _Integers  # (n,): the parent of the highest gain of each child, or -1 where none is positive
    groups: NDArray[np.uint32]  # (64 words,): 2 * (parents' bits) + child's bit of each row
    order: NDArray[np.uint32]  # (rows,): the rows sorted by group
    ends: _Integers  # (groups,): where each group ends in the order
    totals: _Integers  # (padded n,): fit with each further parent
    bytes: _Bytes  # (padded n,): ones of up to 255 rows
    ones: NDArray[np.uint32]  # (2, padded n): ones of each column among the rows whose child is 0, or 1


def price(rows: int, penalty: float) -> int:
    """Give penalty * log2(rows) / 2, what one probability costs, in units."""
    return round(penalty * math.log2(rows) / 2 * UNIT)


def most_parents(rows: int, price: int) -> int:
    """Give the number of parents above which no gain can be positive.

    The next parent after p costs 2^p prices and saves at most the entropy of the column, N bits. So a table has fewer
    than 4 N / (penalty log2 N) entries. A single row tells nothing, and its price is 0: no parents.
    """
    most = 0
    while rows > 1 and price << most < rows * UNIT:
        most += 1
    return most


def make_parents(x: Bits) -> Parents:
    """Prepare rows x, shape (rows, n); any non-zero entry counts as a one."""
    rows, n = x.shape
    k = np.arange(rows + 1, dtype=np.float64)
    parents = Parents(
        rows=np.zeros((rows, -(-n // LANES) * LANES), dtype=np.uint8),
        columns=np.zeros((n, -(-rows // WORD)), dtype=np.uint64),
        k_log_k=np.rint(k * np.log2(np.maximum(k, 1.0)) * UNIT).astype(np.int64),
    )
    pack(np.ascontiguousarray(x), parents.rows, parents.columns)
    return parents


def make_network(n: int, most: int) -> Network:
    """Make the arrays of a network of n variables with up to `most` parents each; `grow` fills them."""
    return Network(
        parents=np.zeros((n, most), dtype=np.int64),
        degrees=np.zeros(n, dtype=np.int64),
        fits=np.zeros(n, dtype=np.int64),
        reach=np.zeros((n, -(-n // WORD)), dtype=np.uint64),
    )


def make_workspace(data: Parents, most: int) -> Workspace:
    """Make the workspace for networks with up to `most` parents a variable."""
    n, words = data.columns.shape
    rows, width = data.rows.shape
    return Workspace(
        gains=np.zeros((n, n), dtype=np.int64),
        best=np.zeros(n, dtype=np.int64),
        groups=np.zeros(words * WORD, dtype=np.uint32),
        order=np.zeros(rows, dtype=np.uint32),
        ends=np.zeros(2 << most, dtype=np.int64),
        totals=np.zeros(width, dtype=np.int64),
        bytes=np.zeros(width, dtype=np.uint8),
        ones=np.zeros((2, width), dtype=np.uint32),
    )


@njit(inline="always", **OPTIONS)
def contains(reach: _Words, v: int, i: int) -> bool:
    """Whether variable i is v or one of its descendants."""
    return bool((reach[v, i // WORD] >> _u64(i % WORD)) & _u64(1))


@njit(**OPTIONS)
def _first_gains(data: Parents, price: int, net: Network, work: Workspace) -> None:
    """Fit the empty network and set the gains of all first edges: mutual information less its price, both ways."""
    n, rows = data.columns.shape[0], data.rows.shape[0]
    t, gains = data.k_log_k, work.gains
    gains[:, :] = 0
    count_pairs(data.columns, gains)
    for i in range(n):
        net.fits[i] = t[gains[i, i]] + t[rows - gains[i, i]] - t[rows]
    for i in range(n):
        for j in range(i):
            both, only_i = gains[i, j], gains[i, i] - gains[i, j]
            only_j = gains[j, j] - both
            joint = t[both] + t[only_i] + t[only_j] + t[rows - both - only_i - only_j] - t[rows]
            gains[i, j] = joint - net.fits[i] - net.fits[j] - price
            gains[j, i] = gains[i, j]


@njit(**OPTIONS)
def _add_fits(t: _Integers, ones: NDArray[np.uint32], size_0: int, size_1: int, totals: _Integers) -> None:
    """Add what one configuration of the parents contributes to the fit with each column as a further parent.

    The further parent splits the size_0 rows with child 0 and the size_1 rows with child 1 by its own bit.
    """
    all_0, all_1 = _u64(size_0), _u64(size_1)
    for i in range(totals.size):
        a, b = _u64(ones[0, i]), _u64(ones[1, i])
        c, d = all_0 - a, all_1 - b
        totals[i] += t[a] + t[b] - t[a + b] + t[c] + t[d] - t[c + d]


@njit(**OPTIONS)
def _child_gains(data: Parents, price: int, net: Network, child: int, work: Workspace) -> None:
    """Recompute the gains of all further parents of a child in one pass over the rows."""
    n = data.columns.shape[0]
    degree = net.degrees[child]
    ends, order = work.ends[: 2 << degree], work.order
    group_rows(data.columns, child, net.parents[child, :degree], work.groups)
    sort_rows(work.groups, order, ends)
    work.totals[:] = 0
    first = 0
    for q in range(1 << degree):
        middle, last = ends[2 * q], ends[2 * q + 1]
        # Where the child does not vary, there is nothing to fit better.
        if first < middle < last:
            count_ones(data.rows, order[first:middle], work.bytes, work.ones[0])
            count_ones(data.rows, order[middle:last], work.bytes, work.ones[1])
            _add_fits(data.k_log_k, work.ones, middle - first, last - middle, work.totals)
        first = last
    for i in range(n):
        work.gains[child, i] = work.totals[i] - net.fits[child] - (price << degree)


@njit(**OPTIONS)
def _best_parent(gains: _Integers, reach: _Words, child: int) -> int:
    """Find the lowest of the parents with the highest positive gain, the child's descendants excluded; -1 if none.

    A parent that the child already has gains nothing and costs, so it needs no exclusion.
    """
    best, highest = -1, 0
    for i in range(reach.shape[0]):
        if gains[child, i] > highest and not contains(reach, child, i):
            best, highest = i, gains[child, i]
    return best


@njit(**OPTIONS)
def _best_child(gains: _Integers, best: _Integers) -> int:
    """Find the lowest of the children whose best parent gains most; -1 if none gains."""
    child, highest = -1, 0
    for i in range(best.size):
        if best[i] >= 0 and gains[i, best[i]] > highest:
            child, highest = i, gains[i, best[i]]
    return child


@njit(**OPTIONS)
def _connect(net: Network, parent: int, child: int, work: Workspace) -> None:
    """Let all that reaches the parent reach what the child reaches, and give up the edges that would close a cycle."""
    reach = net.reach
    for v in range(reach.shape[0]):
        if contains(reach, v, parent):
            for w in range(reach.shape[1]):
                reach[v, w] |= reach[child, w]
            if work.best[v] >= 0 and contains(reach, v, work.best[v]):
                work.best[v] = _best_parent(work.gains, reach, v)


@njit(**OPTIONS)
def grow(data: Parents, price: int, limit: int, net: Network, work: Workspace) -> None:
    """Add the edge of the highest gain until no gain is positive.

    Of equal gains, the lowest child's goes first, and of those the lowest parent's. `limit` is the most parents of a
    variable, at most `most_parents`.
    """
    n = data.columns.shape[0]
    net.degrees[:] = 0
    net.reach[:, :] = 0
    for i in range(n):
        net.reach[i, i // WORD] = _u64(1) << _u64(i % WORD)
    _first_gains(data, price, net, work)
    for i in range(n):
        work.best[i] = _best_parent(work.gains, net.reach, i) if limit > 0 else -1
    child = _best_child(work.gains, work.best)
    while child >= 0:
        parent, degree = work.best[child], net.degrees[child]
        net.parents[child, degree] = parent
        net.degrees[child] = degree + 1
        net.fits[child] += work.gains[child, parent] + (price << degree)
        work.best[child] = -1
        _connect(net, parent, child, work)
        # Another parent saves at most the entropy that is left.
        if degree + 1 < limit and -net.fits[child] > price << (degree + 1):
            _child_gains(data, price, net, child, work)
            work.best[child] = _best_parent(work.gains, net.reach, child)
        child = _best_child(work.gains, work.best)


@njit(**OPTIONS)
def fill_tables(data: Parents, net: Network, work: Workspace, starts: _Integers, tables: NDArray[np.float64]) -> None:
    """Set the probability of a one for each configuration of each variable's parents; 0.5 where none was seen."""
    rows = data.rows.shape[0]
    for child in range(net.degrees.size):
        degree = net.degrees[child]
        sizes = work.ends[: 2 << degree]
        sizes[:] = 0
        group_rows(data.columns, child, net.parents[child, :degree], work.groups)
        for r in range(rows):
            sizes[work.groups[r]] += 1
        for q in range(sizes.size // 2):
            seen = sizes[2 * q] + sizes[2 * q + 1]
            tables[starts[child] + q] = sizes[2 * q + 1] / seen if seen > 0 else 0.5


@njit(**OPTIONS)
def parents_first(reach: _Words) -> _Integers:
    """Order the variables by their number of ancestors, which is always larger than that of any ancestor."""
    n = reach.shape[0]
    ancestors = np.zeros(n, dtype=np.int64)
    for v in range(n):
        for i in range(n):
            ancestors[i] += contains(reach, v, i)
    return np.argsort(ancestors, kind="mergesort")


@njit(**OPTIONS)
def sample(
    order: _Integers, parents: _Integers, parent_starts: _Integers, limits: _Words, table_starts: _Integers,
    words: NDArray[np.uint32], out: Bits,
) -> None:  # fmt: skip
    """Draw out, shape (rows, n), variable by variable in order: one where the word is below the table's limit.

    words (rows * n,): the one of row r and variable i is r * n + i. limits: probability * 2^32, laid out as tables.
    """
    rows, n = out.shape
    for r in range(rows):
        for i in order:
            configuration = 0
            first = parent_starts[i]
            for k in range(first, parent_starts[i + 1]):
                configuration |= np.int64(out[r, parents[k]]) << (k - first)
            out[r, i] = _u64(words[r * n + i]) < limits[table_starts[i] + configuration]
