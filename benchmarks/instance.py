"""One function to compare optimizers on, and how it is made from tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import instance_kernels as kernels
from instance_kernels import Bits, Floats

CLOSE = 1e-6
"""A value this close to the optimum is the optimum."""


@dataclass(frozen=True, eq=False)
class Instance:
    """A function of n bits, to be maximised."""

    name: str
    n: int
    kernel: Callable[..., None]
    arguments: tuple[Any, ...]
    optimum: float | None = None
    solution: Bits | None = None
    noise: float = 0.0

    def evaluate(self, x: Bits) -> Floats:
        """Give the value of each row, shape (rows, n), without noise."""
        out = np.empty(len(x))
        self.kernel(x, *self.arguments, out)
        return out

    def with_noise(self, sd: float) -> Instance:
        return replace(self, noise=sd)


def from_tables(
    name: str,
    n: int,
    scopes: Sequence[Sequence[int]],
    rows: Sequence[Floats],
    optimum: float | None = None,
    solution: Bits | None = None,
) -> Instance:
    """Make a sum of tables, each over the variables of its scope; the first is the index's most significant bit."""
    starts = np.cumsum([0, *map(len, scopes)]).astype(np.int64)
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)[:-1]
    flat = np.array([variable for scope in scopes for variable in scope], dtype=np.int64)
    entries = np.concatenate(rows).astype(np.float64)
    return Instance(name, n, kernels.tables, (starts, flat, offsets, entries), optimum, solution)
