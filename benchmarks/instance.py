"""One function to compare optimizers on, and how it is made from a problem of daedal or from tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

import instance_kernels as kernels
from daedal.problems import Problem
from instance_kernels import Bits, Floats

CLOSE = 1e-6
"""A value this close to the optimum is the optimum."""


@dataclass(frozen=True, eq=False)
class Instance:
    """A function of n bits, to be maximized."""

    name: str
    n: int
    evaluate: Callable[[Bits], Floats]
    """Gives the value of each row, shape (rows, n), without noise."""
    optimum: float | None = None
    solution: Bits | None = None
    noise: float = 0.0

    def with_noise(self, sd: float) -> Instance:
        return replace(self, noise=sd)


def with_optimum(name: str, problem: Problem) -> Instance:
    """Make a function whose optimum is to be found."""
    return Instance(name, problem.n, problem.evaluate, problem.optimum, getattr(problem, "solution", None))


def without_optimum(name: str, problem: Problem) -> Instance:
    """Make a function of which the best value at some budget counts, whatever its optimum is."""
    return Instance(name, problem.n, problem.evaluate)


def from_tables(name: str, n: int, scopes: Sequence[Sequence[int]], rows: Sequence[Floats]) -> Instance:
    """Make a sum of tables, each over the variables of its scope; the first is the index's most significant bit."""
    starts = np.cumsum([0, *map(len, scopes)]).astype(np.int64)
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)[:-1]
    flat = np.array([variable for scope in scopes for variable in scope], dtype=np.int64)
    return from_kernel(name, n, kernels.tables, starts, flat, offsets, np.concatenate(rows).astype(np.float64))


def from_kernel(name: str, n: int, kernel: Callable[..., None], *arguments: object) -> Instance:
    """Make a function that a kernel computes."""

    def evaluate(x: Bits) -> Floats:
        out = np.empty(len(x))
        kernel(x, *arguments, out)
        return out

    return Instance(name, n, evaluate)
