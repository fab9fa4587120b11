"""BOA's model: a Bayesian network, grown edge by edge as long as the Bayesian information criterion rises.

Scores are whole numbers of 1/UNIT bit. Sums of them do not depend on their order. So the two directions of a first edge
tie exactly, a column without information gains exactly nothing, and every machine builds the same network. No kernel
takes a logarithm: counts look up k log2 k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, announce, njit
from daedal.models.base import BYTES_A_PAIR, PRODUCTS_A_SECOND, Fitted, Model, check_parents
from daedal.rng import words32
from daedal.settings.checks import check_at_least, check_between
from daedal.types import Bits

UNIT = 2**30  # steps of a score in one bit
MOST_ROWS = 2**26  # rows up to which rows * log2(rows) * UNIT, the largest sum, fits into 62 bits

LANES = 32  # bytes in one vector; rows are padded to a multiple of it, so that no loop has a slow tail
WORD = 64  # bits in one word of a packed column or of a set of variables
BLOCK = 256  # words of a packed column taken at a time, so that some columns stay in the first-level cache
MOST_IN_A_BYTE = 255  # rows that can be added up in bytes

_Bytes = NDArray[np.uint8]
_Words = NDArray[np.uint64]
_Integers = NDArray[np.int64]
_u64 = np.uint64
_u32 = np.uint32
_u8 = np.uint8


@dataclass(frozen=True, kw_only=True)
class FittedBayesNet(Fitted):
    """A network of n variables with its conditional probabilities."""

    order: NDArray[np.int64]  # (n,): the variables, each after all its parents
    parents: NDArray[np.int64]  # (edges,): of one variable after the other, as they were added
    parent_starts: NDArray[np.int64]  # (n + 1,): where those of each variable begin
    tables: NDArray[np.float64]  # of a one, by the number whose lowest bit is that of the first parent
    table_starts: NDArray[np.int64]  # (n + 1,): where the table of each variable begins

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self.order)

    def parents_of(self, i: int) -> NDArray[np.int64]:
        """Return the parents of variable i."""
        return self.parents[self.parent_starts[i] : self.parent_starts[i + 1]]

    def table_of(self, i: int) -> NDArray[np.float64]:
        """Return the probability that variable i is one, for each configuration of its parents."""
        return self.tables[self.table_starts[i] : self.table_starts[i + 1]]

    linkage_source: ClassVar[str] = "the edges of the Bayesian network"

    def linkage(self) -> NDArray[np.float64]:
        """Return, for each edge, by how much the parent changes the probability of a one, shape (n, n).

        It is the mean over all configurations of the other parents.
        """
        out = np.zeros((self.n, self.n))
        for child in range(self.n):
            table = self.table_of(child)
            for place, parent in enumerate(self.parents_of(child)):  # the first parent is the lowest bit
                halves = table.reshape(-1, 2, 1 << place)
                effect = float(np.abs(halves[:, 1] - halves[:, 0]).mean())
                out[child, parent] = out[parent, child] = max(effect, out[parent, child])
        return out

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Draw rows, shape (rows, n), each variable after its parents."""
        out = np.empty((rows, self.n), dtype=np.uint8)
        words, starts = words32(rng, rows * self.n), self.table_starts
        sample_network(self.order, self.parents, self.parent_starts, self._limits, starts, words, out)
        return out

    @cached_property
    def _limits(self) -> NDArray[np.uint64]:
        return np.rint(self.tables * 2.0**32).astype(np.uint64)


@dataclass(frozen=True, kw_only=True)
class BayesNet(Model):
    """Bayesian network with the greedy construction of BOA.

    The score of a network, in bits, is the sum over its variables of -N H(X | parents) - penalty 2^|parents| log2(N) /
    2: the cost of the N rows with it, and half a logarithm for each probability. The network starts without edges. The
    edge that raises the score most is added, unless it closes a cycle, until none raises it. Of equal gains, that of
    the lowest child is first, and then that of the lowest parent; gains are equal after rounding to 1 / `UNIT` bits.
    Probabilities are the frequencies among the rows, or 0.5 for a configuration of the parents that no row has.

    The search is greedy. So it does not find a parent that has an effect only together with another one (exclusive or).

    Parameters
    ----------
    max_parents
        Maximum number of parents of a variable; 0 makes all variables independent. Default: only the score limits
        it, to about log2(N).
    penalty
        Factor of the price of a probability, 0.1 to 100; 1 is the Bayesian information criterion. Below 1, weaker
        dependencies become edges. Then deceptive traps need smaller populations, but small populations overfit.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.repeat(np.array([[0, 0, 1], [1, 1, 1]], dtype=np.uint8), 20, axis=0)
    >>> net = BayesNet().fit(x, rng=np.random.default_rng(0))
    >>> net.parents_of(0), net.table_of(0)
    (array([1]), array([0., 1.]))
    >>> net.info["edges"], net.info["max_in_degree"]
    (1, 1)
    """

    compiled: ClassVar[bool] = True

    max_parents: int | None = None
    penalty: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("penalty", self.penalty, 0.1, 100.0)
        if self.max_parents is not None:
            check_at_least("max_parents", self.max_parents, 0)

    def working_bytes(self, rows: int, n: int) -> int:
        """Return the approximate memory of a fit: tables of all pairs, and a copy of the rows."""
        return BYTES_A_PAIR * n * n + 4 * rows * n

    def working_seconds(self, rows: int, n: int) -> float:
        """Return the approximate CPU time: the pairs, and 3 n edges, each of which looks at all rows and variables."""
        most = 3 if self.max_parents is None else min(3, self.max_parents)
        return n * n * (rows / PRODUCTS_A_SECOND + 50e-9) + most * n * n * (40e-12 * rows + 6e-12 * n)

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> FittedBayesNet:
        """Build the network of rows x, shape (rows, n), without drawing random numbers.

        Takes O(n^2 rows + edges n rows) steps, and memory for a copy of x and O(n^2 + rows) numbers.
        """
        announce(grow)
        rows, n = check_parents(x)
        self.check_memory(rows, n)
        if rows >= MOST_ROWS:
            raise ValueError(f"expected fewer than {MOST_ROWS:,} rows to fit, got x.shape={x.shape}")
        price = probability_price(rows, self.penalty)
        most = n - 1 if self.max_parents is None else min(int(self.max_parents), n - 1)
        limit = min(most_parents(rows, price), most)
        data, net = make_parents(x), make_network(n, limit)
        work = make_workspace(data, limit)
        grow(data, price, limit, net, work)

        parent_starts = np.concatenate(([0], np.cumsum(net.degrees)))
        table_starts = np.concatenate(([0], np.cumsum(1 << net.degrees)))
        tables = np.empty(table_starts[-1])
        fill_tables(data, net, work, table_starts, tables)
        score = (int(net.fits.sum()) - price * int(table_starts[-1])) / UNIT
        return FittedBayesNet(
            order=parents_first(net.reach),
            parents=net.parents[np.arange(limit) < net.degrees[:, None]],
            parent_starts=parent_starts,
            tables=tables,
            table_starts=table_starts,
            info={"edges": int(parent_starts[-1]), "max_in_degree": int(net.degrees.max()), "score": score},
        )


# ---------------------------------------------------------------- the arrays of a fit


class Parents(NamedTuple):
    """The rows to fit, once padded and once packed, and the table of logarithms."""

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
    """The arrays of the search, O(n^2 + rows) numbers."""

    gains: _Integers  # (n, n): child x parent, in units
    best: _Integers  # (n,): the parent of the highest gain of each child, or -1 if none is positive
    groups: NDArray[np.uint32]  # (64 words,): 2 * (parents' bits) + child's bit of each row
    order: NDArray[np.uint32]  # (rows,): the rows sorted by group
    ends: _Integers  # (groups,): end of each group in the order
    totals: _Integers  # (padded n,): fit with each further parent
    bytes: _Bytes  # (padded n,): ones of up to 255 rows
    ones: NDArray[np.uint32]  # (2, padded n): ones of each column among the rows with child 0, and with child 1


def probability_price(rows: int, penalty: float) -> int:
    """Return the price of one probability, penalty * log2(rows) / 2, in units."""
    return round(penalty * math.log2(rows) / 2 * UNIT)


def most_parents(rows: int, price: int) -> int:
    """Return the number of parents above which no gain can be positive.

    The next parent after p costs 2^p prices and saves at most the entropy of the column, N bits. So a table has fewer
    than 4 N / (penalty log2 N) entries. With a single row, the price is 0 and there are no parents.
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


# ---------------------------------------------------------------- construction


@njit(inline="always", **OPTIONS)
def contains(reach: _Words, v: int, i: int) -> bool:
    """Return True if variable i is v or one of its descendants."""
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
    """Add the contribution of one configuration of the parents to the fit with each column as a further parent.

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
        # If the child does not vary, no parent can improve the fit.
        if first < middle < last:
            count_ones(data.rows, order[first:middle], work.bytes, work.ones[0])
            count_ones(data.rows, order[middle:last], work.bytes, work.ones[1])
            _add_fits(data.k_log_k, work.ones, middle - first, last - middle, work.totals)
        first = last
    for i in range(n):
        work.gains[child, i] = work.totals[i] - net.fits[child] - (price << degree)


@njit(**OPTIONS)
def _best_parent(gains: _Integers, reach: _Words, child: int) -> int:
    """Return the lowest of the parents with the highest positive gain, without the child's descendants; -1 if none.

    A parent that the child already has gains nothing and has a price, so it needs no exclusion.
    """
    best, highest = -1, 0
    for i in range(reach.shape[0]):
        if gains[child, i] > highest and not contains(reach, child, i):
            best, highest = i, gains[child, i]
    return best


@njit(**OPTIONS)
def _best_child(gains: _Integers, best: _Integers) -> int:
    """Return the lowest of the children whose best parent gains most; -1 if none gains."""
    child, highest = -1, 0
    for i in range(best.size):
        if best[i] >= 0 and gains[i, best[i]] > highest:
            child, highest = i, gains[i, best[i]]
    return child


@njit(**OPTIONS)
def _connect(net: Network, parent: int, child: int, work: Workspace) -> None:
    """Add the child's descendants to those of the parent's ancestors, and drop the edges that would close a cycle."""
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

    Of equal gains, that of the lowest child is first, and of those that of the lowest parent. `limit` is the maximum
    number of parents of a variable, at most `most_parents`.
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
    """Set the probability of a one for each configuration of each variable's parents; 0.5 if it was not seen."""
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
def sample_network(
    order: _Integers, parents: _Integers, parent_starts: _Integers, limits: _Words, table_starts: _Integers,
    words: NDArray[np.uint32], out: Bits,
) -> None:  # fmt: skip
    """Draw out, shape (rows, n), variable by variable in order: one if the word is below the table's limit.

    words (rows * n,): that of row r and variable i is r * n + i. limits: probability * 2^32, laid out as tables.
    """
    rows, n = out.shape
    for r in range(rows):
        for i in order:
            configuration = 0
            first = parent_starts[i]
            for k in range(first, parent_starts[i + 1]):
                configuration |= np.int64(out[r, parents[k]]) << (k - first)
            out[r, i] = _u64(words[r * n + i]) < limits[table_starts[i] + configuration]


# ---------------------------------------------------------------- counts

# Rows come in two forms. Padded rows, shape (rows, padded n), have a byte for each bit, and zeros in the padding.
# Packed columns, shape (n, words), have row r in bit r % 64 of word r // 64.


@njit(**OPTIONS)
def count_bits(word: np.uint64) -> int:
    """Count the ones of a 64-bit word. LLVM knows this formula, and uses the machine's own vector instruction."""
    word = word - ((word >> _u64(1)) & _u64(0x5555555555555555))
    word = (word & _u64(0x3333333333333333)) + ((word >> _u64(2)) & _u64(0x3333333333333333))
    word = (word + (word >> _u64(4))) & _u64(0x0F0F0F0F0F0F0F0F)
    ones: int = np.int64((word * _u64(0x0101010101010101)) >> _u64(56))  # type: ignore[assignment]
    return ones


@njit(**OPTIONS)
def pack(x: Bits, rows: _Bytes, columns: _Words) -> None:
    """Copy x, shape (rows, n), into padded rows and packed columns, both of them zeros before."""
    count, n = x.shape
    words = np.zeros(n, dtype=np.uint64)
    for w in range(columns.shape[1]):
        words[:] = 0
        for r in range(w * WORD, min((w + 1) * WORD, count)):
            for i in range(n):
                bit = _u8(x[r, i] != 0)
                rows[r, i] = bit
                words[i] |= _u64(bit) << _u64(r % WORD)
        for i in range(n):
            columns[i, w] = words[i]


@njit(**OPTIONS)
def count_pairs(columns: _Words, counts: _Integers) -> None:
    """Add to counts[i, j], j <= i, the number of rows in which both columns are one."""
    n, words = columns.shape
    for first in range(0, words, BLOCK):
        last = min(first + BLOCK, words)
        for i in range(n):
            for j in range(i + 1):
                both = 0
                for w in range(first, last):
                    both += count_bits(columns[i, w] & columns[j, w])
                counts[i, j] += both


@njit(**OPTIONS)
def group_rows(columns: _Words, child: int, parents: _Integers, groups: NDArray[np.uint32]) -> None:
    """Set the group of each row to 2 * (parents' bits) + child's bit; the first parent is the lowest of the bits."""
    for w in range(columns.shape[1]):
        here = groups[w * WORD : (w + 1) * WORD]
        word = columns[child, w]
        for b in range(WORD):
            here[b] = _u32((word >> _u64(b)) & _u64(1))
        for k in range(parents.size):
            word = columns[parents[k], w]
            for b in range(WORD):
                here[b] |= _u32(((word >> _u64(b)) & _u64(1)) << _u64(k + 1))


@njit(**OPTIONS)
def sort_rows(groups: NDArray[np.uint32], order: NDArray[np.uint32], ends: _Integers) -> None:
    """Sort the rows by group, stably: group g is order[ends[g - 1] : ends[g]]."""
    ends[:] = 0
    for r in range(order.size):
        ends[groups[r]] += 1
    start = 0
    for g in range(ends.size):
        size = ends[g]
        ends[g] = start
        start += size
    for r in range(order.size):
        g = groups[r]
        order[ends[g]] = r
        ends[g] += 1


@njit(**OPTIONS)
def count_ones(rows: _Bytes, members: NDArray[np.uint32], small: _Bytes, ones: NDArray[np.uint32]) -> None:
    """Count the ones of each column among some rows, in bytes as far as these cannot overflow."""
    ones[:] = 0
    for first in range(0, members.size, MOST_IN_A_BYTE):
        last = min(first + MOST_IN_A_BYTE, members.size)
        fours = first + (last - first) // 4 * 4
        small[:] = 0
        for k in range(first, fours, 4):  # four rows at a time, so that sums are read and written less often
            a, b, c, d = rows[members[k]], rows[members[k + 1]], rows[members[k + 2]], rows[members[k + 3]]
            for i in range(small.size):
                small[i] += (a[i] + b[i]) + (c[i] + d[i])
        for k in range(fours, last):
            a = rows[members[k]]
            for i in range(small.size):
                small[i] += a[i]
        for i in range(small.size):
            ones[i] += small[i]
