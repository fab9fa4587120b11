"""Subsets that differ from one by a feature more, a feature less, or one in place of another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal.types import Bits


def neighbours(row: Bits, *, at_least: int, at_most: int, features: NDArray[np.intp] | None = None) -> Bits:
    """Give the neighbours of a subset, shape (n,), that have at_least to at_most features, shape (rows, n).

    Parameters
    ----------
    row
        The subset.
    at_least, at_most
        How many features a neighbour has.
    features
        Those that may come in; None: all.

    Examples
    --------
    >>> neighbours(np.array([1, 0, 0], np.uint8), at_least=1, at_most=1)
    array([[0, 1, 0],
           [0, 0, 1]], dtype=uint8)
    """
    members = np.flatnonzero(row)
    others = np.flatnonzero(row == 0) if features is None else features[row[features] == 0]
    flips = []
    if len(members) < at_most:
        flips.append(np.stack([others, others], axis=1))
    if len(members) > at_least:
        flips.append(np.stack([members, members], axis=1))
    flips.append(np.stack(np.meshgrid(members, others, indexing="ij"), axis=-1).reshape(-1, 2))
    pairs = np.concatenate(flips)
    rows = np.repeat(row[None], len(pairs), axis=0)
    which = np.arange(len(pairs))
    rows[which, pairs[:, 0]] = 1 - row[pairs[:, 0]]
    rows[which, pairs[:, 1]] = 1 - row[pairs[:, 1]]
    return rows
