"""Sets that may interact because most of their subsets do."""

from __future__ import annotations

from functools import cache
from itertools import chain, combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from daedal import kernels

_Integers = NDArray[np.int64]

MOST_VARIABLES = 4096
"""Variables that a key of 12 bits can tell apart."""

JOINS = 40
"""Pairs of sets that are joined for each set that is wanted, at most."""


def grow(members: _Integers, strengths: NDArray[np.float64], most: int) -> _Integers:
    """Find the sets of one variable more of which at least all subsets but one are given.

    Where they are more than `most`, only the stronger half of the given ones counts, and so on.

    Parameters
    ----------
    members
        Sets of k variables each, ascending, shape (sets, k).
    strengths
        How strong each is, shape (sets,).
    most
        How many sets are wanted at most.

    Returns
    -------
    _Integers
        Sets of k + 1 variables, ascending, in lexicographic order, shape (found, k + 1).

    Examples
    --------
    >>> import numpy as np
    >>> grow(np.array([[0, 1], [1, 2], [5, 6]]), np.ones(3), 10)
    array([[0, 1, 2]])
    """
    ranked = members[np.argsort(-np.abs(strengths), kind="stable")]
    while len(ranked) > 1:
        grown = _grow(ranked, most)
        if grown is not None:
            return grown
        ranked = ranked[: len(ranked) // 2]
    return np.empty((0, members.shape[1] + 1), dtype=np.int64)


def _grow(members: _Integers, most: int) -> _Integers | None:
    """Find the sets, or None where they are too many."""
    count, order = members.shape
    variables, numbers = np.unique(members, return_inverse=True)
    if len(variables) > MOST_VARIABLES:
        return None
    numbers = numbers.reshape(members.shape)
    # A set without one of its members, for each member: sets that share such a core are joined.
    cores = np.concatenate([keys_of_sets(np.delete(numbers, q, axis=1)) for q in range(order)])
    by_core = np.argsort(cores, kind="stable")
    cores = cores[by_core]
    starts = np.concatenate(([0], np.flatnonzero(np.diff(cores)) + 1, [len(cores)]))
    sizes = np.diff(starts)
    joins = int((sizes * (sizes - 1) // 2).sum())
    if joins > JOINS * most:
        return None
    keys = np.empty(joins, dtype=np.uint64)
    kernels.walsh.join_sets(numbers, by_core % count, numbers.T.ravel()[by_core], starts, keys)
    found, times = np.unique(keys, return_counts=True)
    found = found[times >= order * (order - 1) // 2].astype(np.int64)  # as many pairs among `order` subsets
    if len(found) > most:
        return None
    grown: _Integers = variables[sets_of_keys(found, order + 1)]
    return grown


def supersets(members: _Integers, strengths: NDArray[np.float64], n: int, most: int) -> _Integers:
    """List sets of one variable more than the given ones: all of n variables, where these are at most `most`.

    Otherwise those that contain one of the given sets, the strongest first, as many as there is room for.

    Examples
    --------
    >>> import numpy as np
    >>> supersets(np.array([[0, 3]]), np.ones(1), 5, 5)
    array([[0, 1, 3],
           [0, 2, 3],
           [0, 3, 4]])
    """
    order = members.shape[1] + 1
    if comb(n, order) <= most:
        return _all_sets(n, order)
    if n > MOST_VARIABLES:
        return np.empty((0, order), dtype=np.int64)
    ranked = members[np.argsort(-np.abs(strengths), kind="stable")[: most // n]]
    every = np.concatenate([np.repeat(ranked, n, axis=0), np.tile(np.arange(n), len(ranked))[:, None]], axis=1)
    every = every[(every[:, :-1] != every[:, -1:]).all(axis=1)]
    every.sort(axis=1)
    return sets_of_keys(np.unique(keys_of_sets(every)), order)


@cache
def _all_sets(n: int, order: int) -> _Integers:
    """List all sets of so many of n variables."""
    found: _Integers
    found = np.fromiter(chain.from_iterable(combinations(range(n), order)), dtype=np.int64).reshape(-1, order)
    found.flags.writeable = False
    return found


def keys_of_sets(members: _Integers) -> _Integers:
    """Give one number for each set, shape (sets,), in lexicographic order; there are at most `MOST_VARIABLES`."""
    keys: _Integers = (members << _shifts(members.shape[1])).sum(axis=1)
    return keys


def sets_of_keys(keys: _Integers, order: int) -> _Integers:
    """Give the sets, shape (sets, order), that have these keys."""
    return (keys[:, None] >> _shifts(order)) & (MOST_VARIABLES - 1)


def _shifts(order: int) -> _Integers:
    return 12 * np.arange(order)[::-1]
