"""ECGA: groups of variables that depend on each other, and on nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, announce, njit
from daedal.models.base import BYTES_A_PAIR, PRODUCTS_A_SECOND, Fitted, Model, check_parents
from daedal.models.tree import Floats, Integers, count_logs, on_grid, pair_counts, pair_information
from daedal.settings.checks import check_at_least
from daedal.types import Bits

NO_GAIN = -1.0  # stands for every gain that is known not to be positive without having been counted

_Numbers = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class MarginalProduct(Fitted):
    """Independent groups of variables, with the parents' frequencies; `score` is the description length in bits."""

    group: Integers  # (n,): group of each variable, numbered in the order of their smallest variables
    seen: Bits  # (parents, n): the parents, which are the table of every group

    linkage_source: ClassVar[str] = "the groups of the model"

    def linkage(self) -> Floats:
        """Return 1 for pairs of one group, and 0 for others, shape (n, n)."""
        out: Floats = (self.group[:, None] == self.group[None, :]).astype(np.float64)
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
    the largest gain first; for ties, see `merge_groups`.

    Parameters
    ----------
    max_group
        Maximum number of variables in one group. Default: the description length alone decides.

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
        """Return the approximate memory of a fit: tables of all pairs, and a copy of the rows."""
        return BYTES_A_PAIR * n * n + 4 * rows * n

    def working_seconds(self, rows: int, n: int) -> float:
        """Return the approximate CPU time: the pairs, and n / 2 merges, each of which looks at all rows and groups."""
        merges = 0.0 if self.max_group == 1 else n / 2
        return n * n * (rows / PRODUCTS_A_SECOND + 50e-9) + merges * n * (0.5e-9 * n + 2e-9 * rows)

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> MarginalProduct:
        """Find the groups of x, shape (rows, n), without drawing random numbers."""
        rows, n = check_parents(x)
        self.check_memory(rows, n)
        announce(merge_groups)
        seen, names = np.array(x, dtype=np.uint8, order="C"), np.empty(n, dtype=np.int64)
        limit = n if self.max_group is None else min(self.max_group, n)
        score = merge_groups(seen, pair_counts(seen), count_logs(len(seen)), limit, names)
        group = np.unique(names, return_inverse=True)[1]
        sizes = np.bincount(group)
        info = {"groups": len(sizes), "largest_group": int(sizes.max()), "score": score}
        return MarginalProduct(group=group, seen=seen, info=info)


# ---------------------------------------------------------------- kernels

# A group's rows are kept as numbers of the configurations that were seen in it, so that the joint configuration of two
# groups is one multiplication away, whatever their sizes.


@njit(**OPTIONS)
def count_joint(a: _Numbers, b: _Numbers, kinds_a: int, kinds_b: int, cells: _Numbers) -> None:
    """Count the rows of each joint configuration: cells[i * kinds_b + j] for a = i and b = j, both of shape (rows,)."""
    for cell in range(kinds_a * kinds_b):
        cells[cell] = 0
    width = np.int32(kinds_b)
    for r in range(len(a)):
        cells[a[r] * width + b[r]] += 1


@njit(**OPTIONS)
def merge_gain(
    a: int, b: int, sizes: Integers, max_group: int, numbers: _Numbers, kinds: Integers, content: Floats, logs: Floats,
    cells: _Numbers,
) -> float:  # fmt: skip
    """Return the bits that the description gets shorter by merging groups a and b, on the grid.

    The table of the pair has (2^|a| - 1)(2^|b| - 1) more entries than the two tables, at log2(N + 1) bits each. The
    merge saves the mutual information, which is at most the content of either group. So a merge that cannot pay needs
    no counting. As the content is below N log2(N + 1), a merge that is counted has fewer than 4 N cells.
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
def merge(a: int, b: int, numbers: _Numbers, kinds: Integers, content: Floats, logs: Floats, cells: _Numbers) -> None:
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
def start_singly(x: Bits, pairs: Integers, logs: Floats, numbers: _Numbers, kinds: Integers, content: Floats) -> None:
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
def pair_gains(pairs: Integers, logs: Floats, max_group: int, cache: Floats) -> None:
    """Set cache (n, n) to the gains of merging two single bits, on the grid."""
    pair_information(pairs, logs, cache)
    unit = np.log2(float(len(logs)))
    for i in range(len(cache)):
        for j in range(len(cache)):
            cache[i, j] = on_grid(cache[i, j] - unit) if max_group >= 2 else NO_GAIN


@njit(**OPTIONS)
def best_pair(cache: Floats, alive: Integers) -> tuple[int, int]:
    """Return the places in alive, ascending names of groups, of the first pair with the largest gain, or -1, -1."""
    best, first, second = 0.0, -1, -1
    for i in range(len(alive)):
        for j in range(i + 1, len(alive)):
            if cache[alive[i], alive[j]] > best:
                best, first, second = cache[alive[i], alive[j]], i, j
    return first, second


@njit(**OPTIONS)
def merge_groups(x: Bits, pairs: Integers, logs: Floats, max_group: int, group: Integers) -> float:
    """Merge the two groups with the largest gain, beginning with single bits, until no gain is positive.

    A group has the name of its smallest variable. Of equal gains, the pair (a, b), a < b, with the smallest a, and
    then the smallest b, is merged.

    x (rows, n); pairs (n, n) and logs (rows + 1,) as for `pair_information`; group (n,) is set to the group of each
    variable. Returns the description length.
    """
    rows, n = x.shape
    numbers = np.empty((n, rows), dtype=np.int32)  # configuration of a group in each row, below kinds
    kinds = np.empty(n, dtype=np.int64)  # number of configurations of a group that were seen
    content = np.empty(n)  # N times the entropy of a group, in bits
    sizes = np.ones(n, dtype=np.int64)
    cells = np.empty(4 * rows, dtype=np.int32)
    cache = np.empty((n, n))  # gain of merging each two groups
    start_singly(x, pairs, logs, numbers, kinds, content)
    pair_gains(pairs, logs, max_group, cache)
    group[:] = np.arange(n)
    alive, left = np.arange(n), n
    while True:
        first, second = best_pair(cache, alive[:left])
        if first < 0:
            break
        a, b = alive[first], alive[second]
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
    for a in alive[:left]:  # the bits of the tables, and of the rows
        length += unit * (2.0 ** sizes[a] - 1.0) + content[a]
    return length
