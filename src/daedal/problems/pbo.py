"""PBO: the pseudo-Boolean functions of IOHexperimenter, through its package `ioh`."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from daedal.limits import meets
from daedal.settings.checks import check_whole
from daedal.settings.lazy import missing_extra
from daedal.types import Bits, Fitness, check_bits

FUNCTIONS = 25  # they are numbered from 1 on
INSTANCES = 100
"""1 is the function itself; up to 50 some of its bits are flipped, up to 100 they stand in another order; from 2 on its
values are scaled and shifted."""

_LARGEST = 100_000  # Variables: beyond, ioh itself takes minutes to make some of them, and cannot be interrupted
_SMALLEST = {18: 2}  # Variables: a single bit has no autocorrelation, and ioh divides by it
_SQUARES = (21, 23)  # Functions of a square board
_CHUNK = 2**20  # Bits that are given to ioh at once, as a list of lists, which takes eight bytes for each

_MIS, _QUEENS, _TRAP = 22, 23, 24
_WITHOUT_OPTIMUM = (18, 25)  # LABS and the NK landscape


def import_ioh() -> Any:
    """Return the package `ioh`; where it is missing, say how to install it."""
    try:
        return importlib.import_module("ioh")
    except ImportError as error:
        raise missing_extra("PBO and its logs need the package ioh", "ioh") from error


@dataclass(frozen=True)
class PBO:
    """A function of the PBO suite, with the values and optima of `ioh`.

    Parameters
    ----------
    function
        Its number, 1 (OneMax) to 25 (NK landscape).
    n
        Number of variables; functions 21 and 23 need a square.
    instance
        1 to 100: 1 is the function itself, the others are transformed.
    """

    function: int
    n: int = 100
    instance: int = 1

    def __post_init__(self) -> None:
        for name, least, most in (
            ("function", 1, FUNCTIONS),
            ("n", _SMALLEST.get(self.function, 1), _LARGEST),
            ("instance", 1, INSTANCES),
        ):
            if check_whole(name, getattr(self, name), least=least, of="pbo") > most:
                raise ValueError(f"expected {name} of pbo to be at most {most:,}, got {name}={getattr(self, name)}")
        side = math.isqrt(self.n)
        if self.function in _SQUARES and side**2 != self.n:
            fits = f"{side**2} or {(side + 1) ** 2}"
            raise ValueError(f"pbo:{self.function} needs n to be a square, got n={self.n}; try {fits}")
        self._evaluate  # noqa: B018  made now, so that what ioh refuses is refused here

    def __reduce__(self) -> tuple[type[PBO], tuple[int, int, int]]:
        """Travel by the numbers alone: another process makes a problem of its own."""
        return PBO, (self.function, self.n, self.instance)

    def made(self) -> Any:
        """Make a problem of `ioh`: one with a state of its own, for a logger."""
        return _made(self.function, self.instance, self.n)

    @cached_property
    def _evaluate(self) -> Callable[[list[list[int]]], list[float]]:
        problem: Callable[[list[list[int]]], list[float]] = self.made()
        return problem

    @cached_property
    def optimum(self) -> float | None:
        """Largest fitness, or None where it is unknown, or where what ioh states is wrong and no formula is at hand.

        Of ioh 0.3.22 it is wrong for 22 (scaled twice), for 23 on boards of two and three, which do not take as many
        queens, and for 24 unless the traps, of five bits, come out even.
        """
        if self.function in _WITHOUT_OPTIMUM or (self.function == _TRAP and self.n > 5 and self.n % 5):
            return None
        if self.function in (_MIS, _QUEENS):
            stated = float(_made(self.function, 1, self.n).optimum.y)
            return self._transformed(stated - (self.function == _QUEENS and self.n in (4, 9)))
        return float(self.made().optimum.y)

    @cached_property
    def solution(self) -> Bits | None:
        """A row, shape (n,), that attains the optimum, where ioh has one: it states all zeros where it has none."""
        row = np.array(self.made().optimum.x, dtype=np.uint8)
        if self.optimum is None or row.shape != (self.n,):
            return None
        return row if meets(float(self.evaluate(row[None])[0]), self.optimum) else None

    def evaluate(self, x: Bits) -> Fitness:
        """Return the fitness, shape (rows,), of each row of x, shape (rows, n)."""
        check_bits(x, self.n)
        rows = max(1, _CHUNK // self.n)
        parts = [self._evaluate(x[start : start + rows].tolist()) for start in range(0, len(x), rows)]
        return np.array([value for part in parts for value in part], dtype=np.float64)

    def _transformed(self, value: float) -> float:
        """Return a value of the function itself as this instance has it: scaled and shifted, as with all functions."""
        one, two = (float(_made(1, self.instance, n).optimum.y) for n in (1, 2))  # OneMax: 1 and 2
        return one + (two - one) * (value - 1.0)


def _made(function: int, instance: int, n: int) -> Any:
    ioh = import_ioh()
    try:
        return ioh.get_problem(function, instance, n, ioh.ProblemClass.PBO)
    except (ValueError, TypeError, LookupError, RuntimeError, MemoryError) as error:
        said = " ".join(str(error).split())[:200]
        raise ValueError(f"ioh does not make pbo:{function},n={n},instance={instance}: {said}") from error
