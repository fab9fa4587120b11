"""Which solutions become parents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.types import Fitness

Selection: TypeAlias = Callable[[Fitness, np.random.Generator], NDArray[np.intp]]
"""Fitness, shape (rows,), and a generator -> indices of the parents, shape (rows // 2,)."""


def tournament(fitness: Fitness, rng: np.random.Generator) -> NDArray[np.intp]:
    """Pair all rows at random; the better one of each pair wins, and the second of equals.

    Tournament selection of size two without replacement: every row competes once. With an odd number one row is left
    out.
    """
    order = rng.permutation(len(fitness))
    pairs = len(fitness) // 2
    first, second = order[: 2 * pairs : 2], order[1 : 2 * pairs : 2]
    return np.where(fitness[first] > fitness[second], first, second)


def truncation(fitness: Fitness, rng: np.random.Generator) -> NDArray[np.intp]:
    """Take the better half; among equals the first."""
    return np.argsort(-fitness, kind="stable")[: len(fitness) // 2]


SELECTIONS: dict[str, Selection] = {"tournament": tournament, "truncation": truncation}
"""The strategies by name."""
