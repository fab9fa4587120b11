"""BOA's model: a Bayesian network, grown edge by edge as long as the Bayesian information criterion rises."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.compilation import announce
from daedal.models.base import BYTES_A_PAIR, PRODUCTS_A_SECOND, Fitted, Model, check_parents
from daedal.rng import words32
from daedal.settings.checks import check_at_least, check_between
from daedal.types import Bits


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
        """Give the parents of variable i."""
        return self.parents[self.parent_starts[i] : self.parent_starts[i + 1]]

    def table_of(self, i: int) -> NDArray[np.float64]:
        """Give the probability that variable i is one, for each configuration of its parents."""
        return self.tables[self.table_starts[i] : self.table_starts[i + 1]]

    linkage_source: ClassVar[str] = "the edges of the Bayesian network"

    def linkage(self) -> NDArray[np.float64]:
        """Give, for each edge, by how much the parent changes the probability of a one, shape (n, n).

        It is the mean over what the other parents may be.
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
        kernels.bayesnet.sample(self.order, self.parents, self.parent_starts, self._limits, starts, words, out)
        return out

    @cached_property
    def _limits(self) -> NDArray[np.uint64]:
        return np.rint(self.tables * 2.0**32).astype(np.uint64)


@dataclass(frozen=True, kw_only=True)
class BayesNet(Model):
    """Bayesian network with the greedy construction of BOA.

    A network scores, in bits, the sum over its variables of -N H(X | parents) - penalty 2^|parents| log2(N) / 2: what
    the N rows cost with it, and half a logarithm for each probability. It starts without edges, and the edge that
    raises the score most is added, unless it closes a cycle, until none raises it. Of equal gains the lowest child's
    goes first, then the lowest parent's; equal means after rounding to 1 / `kernels.bayesnet.UNIT` bits.
    Probabilities are the frequencies among the rows, 0.5 for a configuration of the parents that no row has.

    The search is greedy: a parent that says something only together with another one (exclusive or) is not found.

    Parameters
    ----------
    max_parents
        Most parents of a variable; None sets no limit other than the score's own, about log2(N), and 0 leaves
        independent bits.
    penalty
        Factor of the price of a probability, 0.1 to 100; 1 is the Bayesian information criterion. Below 1, weaker
        dependencies become edges: deceptive traps need smaller populations, and small populations overfit.

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
        """Give the memory, about, that a fit takes: tables of all pairs, and a copy of the rows."""
        return BYTES_A_PAIR * n * n + 4 * rows * n

    def working_seconds(self, rows: int, n: int) -> float:
        """Give the CPU time, about: the pairs; with each of 3 n edges, all rows and variables are looked at again."""
        most = 3 if self.max_parents is None else min(3, self.max_parents)
        return n * n * (rows / PRODUCTS_A_SECOND + 50e-9) + most * n * n * (40e-12 * rows + 6e-12 * n)

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> FittedBayesNet:
        """Build the network of rows x, shape (rows, n), without drawing random numbers.

        Takes O(n^2 rows + edges n rows) steps, and memory for a copy of x and O(n^2 + rows) numbers.
        """
        kernel = kernels.bayesnet
        announce(kernel.grow)
        rows, n = check_parents(x)
        self.check_memory(rows, n)
        if rows >= kernel.MOST_ROWS:
            raise ValueError(f"expected fewer than {kernel.MOST_ROWS} rows to fit, got x.shape={x.shape}")
        price = kernel.price(rows, self.penalty)
        most = n - 1 if self.max_parents is None else min(int(self.max_parents), n - 1)
        limit = min(kernel.most_parents(rows, price), most)
        data, net = kernel.make_parents(x), kernel.make_network(n, limit)
        work = kernel.make_workspace(data, limit)
        kernel.grow(data, price, limit, net, work)

        parent_starts = np.concatenate(([0], np.cumsum(net.degrees)))
        table_starts = np.concatenate(([0], np.cumsum(1 << net.degrees)))
        tables = np.empty(table_starts[-1])
        kernel.fill_tables(data, net, work, table_starts, tables)
        score = (int(net.fits.sum()) - price * int(table_starts[-1])) / kernel.UNIT
        return FittedBayesNet(
            order=kernel.parents_first(net.reach),
            parents=net.parents[np.arange(limit) < net.degrees[:, None]],
            parent_starts=parent_starts,
            tables=tables,
            table_starts=table_starts,
            info={"edges": int(parent_starts[-1]), "max_in_degree": int(net.degrees.max()), "score": score},
        )
