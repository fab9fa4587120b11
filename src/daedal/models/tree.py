"""Dependence tree: each variable depends on at most one other variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, announce, njit
from daedal.models.base import BYTES_A_PAIR, PRODUCTS_A_SECOND, Fitted, Model, check_parents
from daedal.rng import words32
from daedal.settings.checks import check_between
from daedal.threads import one_blas_thread
from daedal.types import Bits

GRID = 2.0**20
"""Steps in one bit, to which information is rounded. What is equal on paper is then equal here, whatever the order of a
sum, so the rule for ties decides instead of the last digit."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Forest(Fitted):
    """Trees of conditional probabilities; `information` of `info` is the mutual information of all edges in bits."""

    order: Integers  # (n,): all variables, each after its parent
    parents: Integers  # (n,): -1 for a root
    probabilities: Floats  # (n, 2): of a one if the parent is 0, and if it is 1; for a root both are the same

    linkage_source: ClassVar[str] = "the edges of the tree"

    def linkage(self) -> Floats:
        """Return, for each edge, by how much the parent changes the probability of a one, shape (n, n)."""
        out = np.zeros((len(self.parents), len(self.parents)))
        children = np.flatnonzero(self.parents >= 0)
        effect = np.abs(self.probabilities[children, 1] - self.probabilities[children, 0])
        out[children, self.parents[children]] = out[self.parents[children], children] = effect
        return out

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Draw rows, shape (rows, n), each bit given its parent's: one if a word, as a fraction of 2^32, is below."""
        n = len(self.parents)
        words = np.ascontiguousarray(words32(rng, rows * n)[: rows * n].reshape(rows, n).T)
        limits = self.probabilities * 2.0**32
        columns = np.empty((n, rows), dtype=np.uint8)
        for i in self.order:
            parent = self.parents[i]
            limit = limits[i, 0] if parent < 0 else limits[i].take(columns[parent])
            np.less(words[i], limit, out=columns[i].view(np.bool_))
        return np.ascontiguousarray(columns.T)


@dataclass(frozen=True, kw_only=True)
class Tree(Model):
    """Maximum-weight dependence tree (Chow and Liu, 1968), cut to a forest where edges are not significant.

    Of all trees over the variables, it is the one under which the parents are most likely, which is the one with the
    largest sum of mutual information over its edges. Probabilities are the parents' frequencies. For ties, see
    `spanning_forest`.

    Parameters
    ----------
    significance
        Largest p-value of an edge, in the chi-square test of independence (2 N ln 2 times the mutual information in
        bits, 1 degree of freedom). The default is that of BMDA (Pelikan and Mühlenbein, 1999). With 1, the model is
        the whole tree; with 0, it has no edges, like UMDA.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0, 1, 0], [0, 0, 0], [1, 1, 1], [1, 0, 1]], dtype=np.uint8)
    >>> fitted = Tree().fit(x, rng=np.random.default_rng(0))
    >>> fitted.parents
    array([-1, -1,  0])
    >>> fitted.info
    {'edges': 1, 'information': 1.0}
    """

    compiled: ClassVar[bool] = True

    significance: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("significance", self.significance, 0.0, 1.0)

    def working_bytes(self, rows: int, n: int) -> int:
        """Return the approximate memory of a fit: tables of all pairs, and a copy of the rows."""
        return BYTES_A_PAIR * n * n + 4 * rows * n

    def working_seconds(self, rows: int, n: int) -> float:
        """Return the approximate CPU time: a product for each pair and row, and 50 ns for each pair."""
        return n * n * (rows / PRODUCTS_A_SECOND + 50e-9)

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> Forest:
        """Find the forest of x, shape (rows, n), without drawing random numbers."""
        from scipy.special import chdtri  # here, because SciPy is slow to load

        self.check_memory(*check_parents(x))
        announce(spanning_forest)
        pairs = pair_counts(x)
        weights = np.empty(pairs.shape)
        pair_information(pairs, count_logs(len(x)), weights)
        weights[weights < chdtri(1, self.significance) / (2 * np.log(2))] = -1.0
        order, parents = np.empty(len(pairs), dtype=np.int64), np.empty(len(pairs), dtype=np.int64)
        spanning_forest(weights, order, parents)
        children = np.flatnonzero(parents >= 0)
        information = float(weights[children, parents[children]].sum()) / len(x)
        probabilities = conditional_probabilities(pairs, len(x), parents)
        info = {"edges": len(children), "information": information}
        return Forest(order=order, parents=parents, probabilities=probabilities, info=info)


def pair_counts(x: Bits) -> Integers:
    """Count the rows of x, shape (rows, n), in which both bits are one, for all pairs: shape (n, n)."""
    # Whole numbers up to 2^24 are exact in float32.
    ones: NDArray[np.floating] = x.astype(np.float32) if len(x) <= 2**24 else x.astype(np.float64)
    with one_blas_thread():
        return (ones.T @ ones).astype(np.int64)


def conditional_probabilities(pairs: Integers, rows: int, parents: Integers) -> Floats:
    """Return the frequencies of a one if the parent is 0, and if it is 1, shape (n, 2); 0.5 if the parent never is."""
    ones = np.diagonal(pairs)
    given, both = ones[parents], pairs[np.arange(len(pairs)), parents]
    hits, cases = np.stack([ones - both, both], axis=1), np.stack([rows - given, given], axis=1)
    root = parents < 0
    hits[root], cases[root] = ones[root, None], rows
    out = np.full(hits.shape, 0.5)
    np.divide(hits, cases, out=out, where=cases > 0)
    return out


# ---------------------------------------------------------------- kernels


@njit(**OPTIONS)
def on_grid(bits: float) -> float:
    """Round to the nearest multiple of 1 / GRID."""
    rounded: float = np.floor(bits * GRID + 0.5) / GRID
    return rounded


@njit(**OPTIONS)
def count_logs(rows: int) -> Floats:
    """Return c log2 c for c = 0 .. rows, shape (rows + 1,): N times an entropy is a sum of these."""
    logs = np.zeros(rows + 1)
    for c in range(1, rows + 1):
        logs[c] = c * np.log2(c)
    return logs


@njit(**OPTIONS)
def pair_information(pairs: Integers, logs: Floats, out: Floats) -> None:
    """Set out[i, j] to N times the mutual information of bits i and j, in bits and on the grid.

    pairs (n, n) counts the rows in which both are one, logs (N + 1,) comes from `count_logs`, out (n, n) is symmetric.
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
def spanning_forest(weights: Floats, order: Integers, parents: Integers) -> None:
    """Find the heaviest spanning forest by Prim's algorithm, in O(n^2).

    The tree takes the vertex with the heaviest edge to it. Of equal ones it takes the vertex of the smallest number,
    and joins it to the vertex that came first. If no edge leads on, the smallest vertex left begins a new tree.

    weights (n, n) is symmetric, negative for no edge; order (n,) is set to the vertices, each after its parent;
    parents (n,) to their parents, -1 for a root.
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
