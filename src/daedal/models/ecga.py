"""ECGA: groups of bits that depend on each other, and on nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.compilation import announce
from daedal.models.base import BYTES_A_PAIR, PRODUCTS_A_SECOND, Fitted, Model, check_parents
from daedal.models.tree import pair_counts
from daedal.settings.checks import check_at_least
from daedal.types import Bits


@dataclass(frozen=True, kw_only=True)
class MarginalProduct(Fitted):
    """Independent groups of variables, with the parents' frequencies; `score` is the description length in bits."""

    group: NDArray[np.int64]  # (n,): group of each variable, numbered in the order of their smallest variables
    seen: Bits  # (parents, n): the parents, which are the table of every group

    linkage_source: ClassVar[str] = "the groups of the model"

    def linkage(self) -> NDArray[np.float64]:
        """Give 1 for pairs of one group, shape (n, n), and 0 for others."""
        out: NDArray[np.float64] = (self.group[:, None] == self.group[None, :]).astype(np.float64)
        np.fill_diagonal(out, 0.0)
        return out

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Draw rows, shape (rows, n): each group is copied from a parent that is drawn for it."""
        donors = rng.integers(len(self.seen), size=(rows, int(self.group.max()) + 1))
        return np.take_along_axis(self.seen, np.take(donors, self.group, axis=1), axis=0)


@dataclass(frozen=True, kw_only=True)
class ECGA(Model):
    """Marginal product model of minimum description length (Harik, 1999).

    The description is that of the tables, log2(N + 1) bits for each of the 2^|group| - 1 free entries of a group's
    table, and that of the N parents under the model, N times the entropy of each group. Groups are merged greedily,
    the largest gain first; ties: see `daedal.kernels.ecga.merge_groups`.

    Parameters
    ----------
    max_group
        Most variables in one group; without it, the description length alone decides.

    Examples
    --------
    >>> import numpy as np
    >>> bit = np.arange(16, dtype=np.uint8) % 2
    >>> x = np.stack([bit, 1 - bit, np.arange(16, dtype=np.uint8) // 8], axis=1)
    >>> fitted = ECGA().fit(x, rng=np.random.default_rng(0))
    >>> fitted.group
    array([0, 0, 1])
    >>> fitted.info["groups"], fitted.info["largest_group"]
    (2, 2)
    """

    compiled: ClassVar[bool] = True

    max_group: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_group is not None:
            check_at_least("max_group", self.max_group, 1)

    def working_bytes(self, rows: int, n: int) -> int:
        """Give the memory, about, that a fit takes: tables of all pairs, and a copy of the rows."""
        return BYTES_A_PAIR * n * n + 4 * rows * n

    def working_seconds(self, rows: int, n: int) -> float:
        """Give the CPU time, about: the pairs; with each of n / 2 merges, all of it is looked at again.

        Fewer variables are merged where they are independent and rows are many; more, later in a run.
        """
        merges = 0.0 if self.max_group == 1 else n / 2
        return n * n * (rows / PRODUCTS_A_SECOND + 50e-9) + merges * n * (0.5e-9 * n + 2e-9 * rows)

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> MarginalProduct:
        """Find the groups of x, shape (rows, n); nothing is drawn from rng."""
        rows, n = check_parents(x)
        self.check_memory(rows, n)
        announce(kernels.ecga.merge_groups)
        seen = np.array(x, dtype=np.uint8, order="C")
        names, merges, gains = np.empty(n, dtype=np.int64), np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
        limit = n if self.max_group is None else min(self.max_group, n)
        pairs, logs = pair_counts(seen), kernels.tree.count_logs(len(seen))
        _, score = kernels.ecga.merge_groups(seen, pairs, logs, limit, names, merges, gains)
        group = np.unique(names, return_inverse=True)[1]
        sizes = np.bincount(group)
        info = {"groups": len(sizes), "largest_group": int(sizes.max()), "score": score}
        return MarginalProduct(group=group, seen=seen, info=info)
