"""BOA's model: a Bayesian network, grown edge by edge as long as the Bayesian information criterion rises.

Scores are whole numbers of 1/UNIT bit. Sums of them do not depend on their order. So the two directions of a first edge
tie exactly, a column without information gains exactly nothing, and every machine builds the same network. No kernel
takes a logarithm: counts look up k log2 k.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, announce, njit
from daedal.models.base import BYTES_A_PAIR, PRODUCTS_A_SECOND, Fitted, Model, check_parents
from daedal.models.tree import pair_counts
from daedal.rng import words32
from daedal.settings.checks import check_at_least, check_between
from daedal.types import Bits

UNIT = 2**30  # steps of a score in one bit
MOST_ROWS = 2**26  # rows up to which rows * log2(rows) * UNIT, the largest sum, fits into 62 bits

_Integers = NDArray[np.int64]
_u64 = np.uint64


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
        """Draw rows, shape (rows, n), each variable after its parents: one if a word is below 2^32 times its table."""
        words = np.ascontiguousarray(words32(rng, rows * self.n)[: rows * self.n].reshape(rows, self.n).T)
        columns = np.empty((self.n, rows), dtype=np.uint8)
        for i in self.order:
            limit = np.rint(self.table_of(i) * 2.0**32)
            configuration = np.zeros(rows, dtype=np.int64)
            for k, parent in enumerate(self.parents_of(i)):
                configuration |= columns[parent].astype(np.int64) << k
            np.less(words[i], limit.take(configuration), out=columns[i].view(np.bool_))
        return np.ascontiguousarray(columns.T)


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
        """Return the approximate memory of a fit: tables of all pairs, copies of the rows, and counts of groups."""
        groups = 2 << self._limit(rows, n)
        return BYTES_A_PAIR * n * n + 6 * rows * n + 4 * groups * n

    def working_seconds(self, rows: int, n: int) -> float:
        """Return the approximate CPU time: the pairs, and 3 n edges, each of which looks at all rows and variables."""
        most = 3 if self.max_parents is None else min(3, self.max_parents)
        return n * n * (rows / PRODUCTS_A_SECOND + 50e-9) + most * n * n * (40e-12 * rows + 6e-12 * n)

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> FittedBayesNet:
        """Build the network of rows x, shape (rows, n), without drawing random numbers.

        Takes O(n^2 rows + edges n rows) steps, and memory for O(n^2 + n rows) numbers.
        """
        announce(grow)
        rows, n = check_parents(x)
        self.check_memory(rows, n)
        if rows >= MOST_ROWS:
            raise ValueError(f"expected fewer than {MOST_ROWS:,} rows to fit, got x.shape={x.shape}")
        price = probability_price(rows, self.penalty)
        limit = self._limit(rows, n)
        data, k = (x != 0).astype(np.uint8, order="C"), np.arange(rows + 1, dtype=np.float64)
        k_log_k = np.rint(k * np.log2(np.maximum(k, 1.0)) * UNIT).astype(np.int64)
        net = Network(
            parents=np.zeros((n, limit), dtype=np.int64),
            degrees=np.zeros(n, dtype=np.int64),
            fits=np.zeros(n, dtype=np.int64),
            reach=np.eye(n, dtype=np.uint8),
        )
        work = Workspace(
            gains=pair_counts(data),
            best=np.full(n, -1, dtype=np.int64),
            sizes=np.zeros(2 << limit, dtype=np.int64),
            ones=np.zeros((2 << limit, n), dtype=np.uint32),
        )
        grow(data, k_log_k, price, limit, net, work)

        parent_starts = np.concatenate(([0], np.cumsum(net.degrees)))
        table_starts = np.concatenate(([0], np.cumsum(1 << net.degrees)))
        tables = np.empty(table_starts[-1])
        fill_tables(data, net, work.sizes, table_starts, tables)
        score = (int(net.fits.sum()) - price * int(table_starts[-1])) / UNIT
        return FittedBayesNet(
            order=np.argsort(net.reach.sum(axis=0), kind="stable"),  # a variable has more ancestors than any ancestor
            parents=net.parents[np.arange(limit) < net.degrees[:, None]],
            parent_starts=parent_starts,
            tables=tables,
            table_starts=table_starts,
            info={"edges": int(parent_starts[-1]), "max_in_degree": int(net.degrees.max()), "score": score},
        )

    def _limit(self, rows: int, n: int) -> int:
        """Return the maximum number of parents that the settings and the score allow."""
        most = n - 1 if self.max_parents is None else min(int(self.max_parents), n - 1)
        return min(most_parents(rows, probability_price(rows, self.penalty)), most)


# ---------------------------------------------------------------- the arrays of a fit


class Network(NamedTuple):
    """A network as it grows."""

    parents: _Integers  # (n, most parents): in the order in which they came
    degrees: _Integers  # (n,): number of parents
    fits: _Integers  # (n,): -N H(X | parents) in units
    reach: Bits  # (n, n): 1 if the second is the first or one of its descendants


class Workspace(NamedTuple):
    """The arrays of the search; a group of rows has the same bits in a child and its parents."""

    gains: _Integers  # (n, n): child x parent, in units; before the search, the rows in which both are one
    best: _Integers  # (n,): the parent of the highest gain of each child, or -1 if none is positive
    sizes: _Integers  # (groups,): rows of each group
    ones: NDArray[np.uint32]  # (groups, n): ones of each column in each group


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


# ---------------------------------------------------------------- construction


@njit(**OPTIONS)
def _first_gains(t: _Integers, price: int, net: Network, gains: _Integers) -> None:
    """Fit the empty network and set the gains of all first edges: mutual information less its price, both ways."""
    n, rows = len(gains), len(t) - 1
    for i in range(n):
        net.fits[i] = t[gains[i, i]] + t[rows - gains[i, i]] - t[rows]
    for i in range(n):
        for j in range(i):
            both, only_i = gains[i, j], gains[i, i] - gains[i, j]
            only_j = gains[j, j] - both
            joint = t[both] + t[only_i] + t[only_j] + t[rows - both - only_i - only_j] - t[rows]
            gains[i, j] = gains[j, i] = joint - net.fits[i] - net.fits[j] - price


@njit(inline="always", **OPTIONS)
def _group(row: Bits, child: int, parents: _Integers) -> int:
    """Return the group of a row: 2 * (parents' bits) + child's bit; the first parent is the lowest of the bits."""
    group = np.int64(row[child])
    for k in range(parents.size):
        group |= np.int64(row[parents[k]]) << (k + 1)
    return group  # type: ignore[return-value]


@njit(**OPTIONS)
def _child_gains(x: Bits, t: _Integers, price: int, net: Network, child: int, work: Workspace) -> None:
    """Recompute the gains of all further parents of a child in one pass over the rows."""
    rows, n = x.shape
    degree = net.degrees[child]
    parents, gains = net.parents[child, :degree], work.gains[child]
    sizes, ones = work.sizes[: 2 << degree], work.ones[: 2 << degree]
    sizes[:] = 0
    ones[:, :] = 0
    for r in range(rows):
        group = _group(x[r], child, parents)
        sizes[group] += 1
        for i in range(n):
            ones[group, i] += x[r, i]
    gains[:] = -net.fits[child] - (price << degree)
    for q in range(1 << degree):
        all_0, all_1 = _u64(sizes[2 * q]), _u64(sizes[2 * q + 1])
        if all_0 > 0 and all_1 > 0:  # if the child does not vary, no parent can improve the fit
            for i in range(n):  # a further parent splits the rows with child 0 and those with child 1 by its own bit
                a, b = _u64(ones[2 * q, i]), _u64(ones[2 * q + 1, i])
                c, d = all_0 - a, all_1 - b
                gains[i] += t[a] + t[b] - t[a + b] + t[c] + t[d] - t[c + d]


@njit(**OPTIONS)
def _best_parent(gains: _Integers, reach: Bits, child: int) -> int:
    """Return the lowest of the parents with the highest positive gain, without the child's descendants; -1 if none.

    A parent that the child already has gains nothing and has a price, so it needs no exclusion.
    """
    best, highest = -1, 0
    for i in range(reach.shape[0]):
        if gains[child, i] > highest and not reach[child, i]:
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
        if reach[v, parent]:
            for i in range(reach.shape[1]):
                reach[v, i] |= reach[child, i]
            if work.best[v] >= 0 and reach[v, work.best[v]]:
                work.best[v] = _best_parent(work.gains, reach, v)


@njit(**OPTIONS)
def grow(x: Bits, t: _Integers, price: int, limit: int, net: Network, work: Workspace) -> None:
    """Add the edge of the highest gain until no gain is positive.

    Of equal gains, that of the lowest child is first, and of those that of the lowest parent. x has rows of 0 and 1,
    shape (rows, n), and t k log2 k in units for k = 0 .. rows. `limit` is the maximum number of parents of a variable,
    at most `most_parents`.
    """
    _first_gains(t, price, net, work.gains)
    for i in range(x.shape[1]):
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
            _child_gains(x, t, price, net, child, work)
            work.best[child] = _best_parent(work.gains, net.reach, child)
        child = _best_child(work.gains, work.best)


@njit(**OPTIONS)
def fill_tables(x: Bits, net: Network, sizes: _Integers, starts: _Integers, tables: NDArray[np.float64]) -> None:
    """Set the probability of a one for each configuration of each variable's parents; 0.5 if it was not seen."""
    for child in range(x.shape[1]):
        degree = net.degrees[child]
        sizes[: 2 << degree] = 0
        for r in range(x.shape[0]):
            sizes[_group(x[r], child, net.parents[child, :degree])] += 1
        for q in range(1 << degree):
            seen = sizes[2 * q] + sizes[2 * q + 1]
            tables[starts[child] + q] = sizes[2 * q + 1] / seen if seen > 0 else 0.5
