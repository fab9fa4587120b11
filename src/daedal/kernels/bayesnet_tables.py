"""The tables of a Bayesian network of bits, and rows drawn from them, each variable after its parents."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from daedal.kernels.bayesnet import Network, Parents, Workspace, contains
from daedal.kernels.compilation import OPTIONS
from daedal.kernels.counting import group_rows
from daedal.types import Bits

_Words = NDArray[np.uint64]
_Integers = NDArray[np.int64]
_u64 = np.uint64


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
