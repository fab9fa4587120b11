"""Dependence tree: each bit depends on one other at most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.compilation import announce
from daedal.models.base import BYTES_A_PAIR, PRODUCTS_A_SECOND, Fitted, Model, check_parents
from daedal.rng import words32
from daedal.settings.checks import check_between
from daedal.threads import one_blas_thread
from daedal.types import Bits


@dataclass(frozen=True, kw_only=True)
class Forest(Fitted):
    """Trees of conditional probabilities; `information` of `info` is the mutual information of all edges in bits."""

    order: NDArray[np.int64]  # (n,): all variables, each after its parent
    parents: NDArray[np.int64]  # (n,): -1 for a root
    probabilities: NDArray[np.float64]  # (n, 2): of a one, where the parent is 0 or 1; for a root both are the same

    linkage_source: ClassVar[str] = "the edges of the tree"

    def linkage(self) -> NDArray[np.float64]:
        """Give, for each edge, by how much the parent changes the probability of a one, shape (n, n)."""
        out = np.zeros((len(self.parents), len(self.parents)))
        children = np.flatnonzero(self.parents >= 0)
        effect = np.abs(self.probabilities[children, 1] - self.probabilities[children, 0])
        out[children, self.parents[children]] = out[self.parents[children], children] = effect
        return out

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Draw rows, shape (rows, n), each bit given its parent's."""
        out = np.empty((rows, len(self.parents)), dtype=np.uint8)
        kernels.tree.sample_forest(words32(rng, out.size), self.order, self.parents, self.probabilities, out)
        return out


@dataclass(frozen=True, kw_only=True)
class Tree(Model):
    """Maximum-weight dependence tree (Chow and Liu, 1968), cut to a forest where edges are not significant.

    Of all trees over the variables, it is the one under which the parents are most likely: the one whose edges have
    the largest sum of mutual information. Probabilities are the parents' frequencies. Ties: see
    `daedal.kernels.tree.spanning_forest`.

    Parameters
    ----------
    significance
        p-value of the chi-square test of independence (2 N ln 2 times the mutual information in bits, 1 degree of
        freedom) up to which an edge is taken. The default is that of BMDA (Pelikan and Mühlenbein, 1999). 1 takes
        the whole tree; 0 takes no edge, as UMDA does.

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
        """Give the memory, about, that a fit takes: tables of all pairs, and a copy of the rows."""
        return BYTES_A_PAIR * n * n + 4 * rows * n

    def working_seconds(self, rows: int, n: int) -> float:
        """Give the CPU time, about: a product for each pair and row, and 50 ns for each pair."""
        return n * n * (rows / PRODUCTS_A_SECOND + 50e-9)

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> Forest:
        """Find the forest of x, shape (rows, n); nothing is drawn from rng."""
        from scipy.special import chdtri  # here, because SciPy is slow to load

        self.check_memory(*check_parents(x))
        announce(kernels.tree.spanning_forest)
        pairs = pair_counts(x)
        weights = np.empty(pairs.shape)
        kernels.tree.pair_information(pairs, kernels.tree.count_logs(len(x)), weights)
        weights[weights < chdtri(1, self.significance) / (2 * np.log(2))] = -1.0
        order, parents = np.empty(len(pairs), dtype=np.int64), np.empty(len(pairs), dtype=np.int64)
        kernels.tree.spanning_forest(weights, order, parents)
        children = np.flatnonzero(parents >= 0)
        information = float(weights[children, parents[children]].sum()) / len(x)
        probabilities = conditional_probabilities(pairs, len(x), parents)
        info = {"edges": len(children), "information": information}
        return Forest(order=order, parents=parents, probabilities=probabilities, info=info)


def pair_counts(x: Bits) -> NDArray[np.int64]:
    """Count the rows of x, shape (rows, n), in which both bits are one, for all pairs: shape (n, n)."""
    # Whole numbers up to 2^24 are exact in float32.
    ones: NDArray[np.floating] = x.astype(np.float32) if len(x) <= 2**24 else x.astype(np.float64)
    with one_blas_thread():
        return (ones.T @ ones).astype(np.int64)


def conditional_probabilities(pairs: NDArray[np.int64], rows: int, parents: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give the frequencies of a one, shape (n, 2), where the parent is 0 and 1; 0.5 where the parent never is."""
    ones = np.diagonal(pairs)
    given, both = ones[parents], pairs[np.arange(len(pairs)), parents]
    hits, cases = np.stack([ones - both, both], axis=1), np.stack([rows - given, given], axis=1)
    root = parents < 0
    hits[root], cases[root] = ones[root, None], rows
    out = np.full(hits.shape, 0.5)
    np.divide(hits, cases, out=out, where=cases > 0)
    return out
