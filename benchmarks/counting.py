"""The one wrapper through which every optimizer of the benchmarks sees a function: it counts, disguises and records."""

from __future__ import annotations

import time
from bisect import bisect_right
from typing import Any

import numpy as np
from numpy.typing import NDArray

from instances import CLOSE, Bits, Floats, Instance, disguise


class Spent(Exception):  # noqa: N818, since it is not an error
    """The budget is spent, or the optimum found: thrown through optimizers that have no such limits of their own."""


class Counting:
    """A function of a batch of rows, with its variables shuffled and masked by the seed.

    Parameters
    ----------
    instance
        What to evaluate.
    seed
        Sets order and mask of the variables, and the noise.
    budget
        Calls, that is rows passed to the function, after which `Spent` is raised if `ends` is true. Rows that come
        later, in the last batch, are counted, but do not enter the best.
    ends
        Whether to raise, before the call that would be one too many and after the one that found the optimum.
    """

    def __init__(self, instance: Instance, seed: int, budget: int, *, ends: bool = True) -> None:
        rng = np.random.default_rng([seed, instance.n, 0xC0])
        self.instance, self.n, self.budget, self.ends = instance, instance.n, budget, ends
        self._order = rng.permutation(instance.n).astype(np.int64)
        self._mask = rng.integers(2, size=instance.n, dtype=np.uint8)
        self._noise = rng if instance.noise else None
        self._goal = None if instance.optimum is None or instance.noise else instance.optimum - CLOSE
        self.calls = self.batches = 0
        self.calls_to_optimum: int | None = None
        self.best, self.best_x = -np.inf, np.zeros(instance.n, dtype=np.uint8)
        self.cpu_seconds = 0.0
        self._when: list[int] = []
        self._values: list[float] = []

    def __call__(self, x: NDArray[Any]) -> Floats:
        """Give the value of each row, shape (rows, n)."""
        if self.ends and self.calls >= self.budget:
            raise Spent
        started = time.process_time()
        values = self._evaluate(x)
        self.cpu_seconds += time.process_time() - started
        if self.ends and self.calls_to_optimum is not None:
            raise Spent
        return values

    def _evaluate(self, x: NDArray[Any]) -> Floats:
        x = np.ascontiguousarray(x, dtype=np.uint8)
        values = self.instance.evaluate(disguise(x, self._order, self._mask))
        if self._noise is not None:
            values += self._noise.normal(0.0, self.instance.noise, size=len(values))
        self._record(x, values)
        return values

    def one(self, x: NDArray[Any]) -> float:
        """Give the value of one row, shape (n,)."""
        return float(self(x[None])[0])

    def _record(self, x: Bits, values: Floats) -> None:
        within = values[: max(self.budget - self.calls, 0)]
        if len(within) and within.max() > self.best:
            for r in np.flatnonzero(within > self.best):
                if within[r] > self.best:
                    self.best, self.best_x = float(within[r]), x[r].copy()
                    self._when.append(self.calls + int(r) + 1)
                    self._values.append(self.best)
        self.calls += len(values)
        self.batches += 1
        if self._goal is not None and self.calls_to_optimum is None and self.best >= self._goal:
            self.calls_to_optimum = self.calls  # with the whole batch, which has been paid for

    @property
    def calls_to_best(self) -> int:
        """Calls to the best value, with that one."""
        return self._when[-1] if self._when else 0

    def best_at(self, calls: int) -> float:
        """Give the best value of the first so many calls."""
        place = bisect_right(self._when, calls)
        return self._values[place - 1] if place else -np.inf

    def true_value(self, x: NDArray[Any]) -> float:
        """Give the value of a row, shape (n,), without noise and without counting it."""
        row = np.ascontiguousarray(x, dtype=np.uint8)[None]
        return float(self.instance.evaluate(disguise(row, self._order, self._mask))[0])
