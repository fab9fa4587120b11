"""Exact maximum of a sum of small tables over bits, by eliminating one variable after another.

Max-sum dynamic programming: to eliminate a variable, add up all tables that look at it and keep, for each
setting of the other variables they look at, the larger of its two values (a new table, the message) and which
one it was. The largest message sets the price, and the order of the variables sets the largest message,
so `elimination_plan` looks for a cheap order and states the memory before any table is built.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.problems.elimination_plan import CHUNK_BITS, Plan, plan
from daedal.settings.checks import readable_bytes
from daedal.types import Bits

MEMORY_LIMIT = 4 * 2**30
"""Bytes that `maximise` may take unless told otherwise."""


def maximise(
    n: int,
    scopes: Sequence[Sequence[int]],
    tables: Sequence[NDArray[np.float64]],
    *,
    limit: int = MEMORY_LIMIT,
    planned: Plan | None = None,
) -> tuple[Bits, float]:
    """Find a row of the largest sum of table entries, and that sum.

    Parameters
    ----------
    n
        Number of variables.
    scopes
        For each table the variables it looks at, all different; the first is the index's most significant bit.
    tables
        Tables, shape (2^len(scope),) each.
    limit
        Bytes that the tables built here may take.
    planned
        The result of `plan`, where the caller has it already.

    Returns
    -------
    row
        Bits, shape (n,).
    value
        The entries of that row, added up in the order of the tables.

    Raises
    ------
    ValueError
        If the plan needs more than `limit`; raised before any of it is taken.

    Examples
    --------
    >>> import numpy as np
    >>> maximise(2, [(0,), (0, 1)], [np.array([0.0, 1.0]), np.array([1.0, 4.0, 2.0, 0.0])])
    (array([0, 1], dtype=uint8), 4.0)
    """
    planned = plan(n, scopes) if planned is None else planned
    if planned.peak_bytes > limit:
        raise ValueError(
            f"the exact optimum needs a table of 2^{planned.entries.bit_length() - 1} entries and "
            f"{readable_bytes(planned.peak_bytes)} of memory, more than the limit of {readable_bytes(limit)}; "
            "take fewer variables or smaller tables",
        )
    row = _best_row(planned.order, _eliminate(n, planned.order, scopes, tables))
    return row, _total(row, scopes, tables)


def _best_row(order: Sequence[int], choices: list[tuple[list[int], NDArray[np.uint8]]]) -> Bits:
    """Set the variables, last eliminated first, each by those that decide it."""
    row = np.zeros(len(order), dtype=np.uint8)
    for v in reversed(order):
        seen, choice = choices[v]
        index = sum(int(row[u]) << place for place, u in enumerate(seen))
        row[v] = choice[index >> 3] >> (index & 7) & 1
    return row


def _total(row: Bits, scopes: Sequence[Sequence[int]], tables: Sequence[NDArray[np.float64]]) -> float:
    """Add up the entries of a row, in the order of the tables."""
    value = 0.0
    for scope, table in zip(scopes, tables, strict=True):
        index = 0
        for u in scope:
            index = 2 * index + int(row[u])
        value += float(table[index])
    return value


def _eliminate(
    n: int,
    order: Sequence[int],
    scopes: Sequence[Sequence[int]],
    tables: Sequence[NDArray[np.float64]],
) -> list[tuple[list[int], NDArray[np.uint8]]]:
    """Give for each variable the others that decide it, lowest first, and its best bit for each setting."""
    when = {v: step for step, v in enumerate(order)}
    # Each table waits at the first of its variables to go, with the weight of each variable in its index.
    waiting: list[list[tuple[NDArray[np.float64], dict[int, int]]]] = [[] for _ in range(n)]
    for scope, table in zip(scopes, tables, strict=True):
        weights = {u: 1 << place for place, u in enumerate(reversed(scope))}
        waiting[min(scope, key=when.__getitem__)].append((table, weights))
    choices: list[tuple[list[int], NDArray[np.uint8]]] = [([], np.zeros(1, dtype=np.uint8)) for _ in range(n)]
    for v in order:
        # The variable that goes next is the least significant, so that its two values lie side by side.
        seen = sorted({u for _, weights in waiting[v] for u in weights} - {v}, key=when.__getitem__)
        message, choice = _message(v, seen, waiting[v])
        waiting[v] = []
        choices[v] = (seen, choice)
        if seen:
            waiting[seen[0]].append((message, {u: 1 << place for place, u in enumerate(seen)}))
    return choices


def _message(
    v: int,
    seen: list[int],
    factors: list[tuple[NDArray[np.float64], dict[int, int]]],
) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Maximise the sum of factors over v: the values, shape (2^len(seen),), and the best bits, packed."""
    rows = 1 << len(seen)
    chunk = min(rows, 1 << CHUNK_BITS)
    message = np.empty(rows)
    choice = np.zeros((rows + 7) // 8, dtype=np.uint8)
    zero, one = np.zeros(chunk), np.zeros(chunk)
    # A row's index in a factor is a sum over its bits, so it splits in a high part and a low part.
    parts = [
        (table, weights[v], _offsets(seen[CHUNK_BITS:], weights), _offsets(seen[:CHUNK_BITS], weights))
        for table, weights in factors
    ]
    for c, start in enumerate(range(0, rows, chunk)):
        for table, step, high, low in parts:
            kernels.elimination.add_factor(table, high[c], step, low, zero, one)
        bits = choice[start // 8 : (start + chunk + 7) // 8]
        kernels.elimination.keep_better(zero, one, message[start : start + chunk], bits)
    return message, choice


def _offsets(seen: Sequence[int], weights: dict[int, int]) -> NDArray[np.int64]:
    """Give the part of a table's index that the variables seen account for, for each of their settings."""
    offsets = np.zeros(1, dtype=np.int64)
    for u in seen:
        offsets = np.concatenate([offsets, offsets + weights.get(u, 0)])
    return offsets
