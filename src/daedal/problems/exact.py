"""What problems share that are sums of small tables over bits: their exact optimum, where it can be afforded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from daedal.problems.elimination import Plan, check_plan, maximise, plan
from daedal.types import Bits

EXACT_MEMORY = 2**30
"""Bytes of tables up to which the optimum is computed when asked for: at most about ten seconds of work."""

QUICK_MEMORY = 2**26
"""Bytes of tables up to which the optimum takes no more than a few tenths of a second."""


class SumOfTables(ABC):
    """A sum of tables, each of which looks at a few variables.

    Attributes
    ----------
    n
        Number of variables.
    known_optimum
        Largest fitness, where the source of the problem states it.
    affordable
        Bytes of tables up to which the optimum is computed when asked for.
    """

    n: int
    known_optimum: float | None
    affordable = EXACT_MEMORY

    @abstractmethod
    def scopes(self) -> list[list[int]]:
        """Give for each table the variables that it looks at, all different."""

    @abstractmethod
    def factors(self) -> list[NDArray[np.float64]]:
        """Give the tables, each of shape (2^len(scope),); a scope's first variable is the most significant bit."""

    def can_be_planned(self) -> bool:
        """Whether it is small enough that looking for an order of elimination takes no more than a moment."""
        return True

    @property
    def optimum(self) -> float | None:
        """Largest fitness: as stated, or computed on first use; None where that takes more than is affordable."""
        if self.known_optimum is not None:
            return self.known_optimum
        return None if self._exact is None else self._exact[1]

    @property
    def solution(self) -> Bits | None:
        """A row, shape (n,), of the largest fitness, or None where computing it takes more than is affordable."""
        return None if self._exact is None else self._exact[0].copy()

    def maximise(self) -> tuple[Bits, float]:
        """Compute a row of the largest fitness, and that fitness, whatever time it takes.

        Raises
        ------
        ValueError
            If it is too large, or the tables would take more than `elimination.MEMORY_LIMIT`; raised before any of it
            is taken.

        Examples
        --------
        >>> from daedal.problems import NK
        >>> row, value = NK.random(n=10, k=2, seed=1).maximise()
        """
        if not self.can_be_planned():
            raise ValueError(f"{self!r} is too large for its exact optimum; take fewer variables or smaller tables")
        check_plan(self._plan)  # before the tables are made
        return maximise(self.n, self.scopes(), self.factors(), planned=self._plan)

    def quick_optimum(self) -> float | None:
        """Compute the largest fitness where that takes no more than a moment, whatever the source states."""
        quick = self.can_be_planned() and self._plan.peak_bytes <= QUICK_MEMORY
        return None if not quick or self._exact is None else self._exact[1]

    @cached_property
    def _plan(self) -> Plan:
        return plan(self.n, self.scopes())

    @cached_property
    def _exact(self) -> tuple[Bits, float] | None:
        affordable = self.can_be_planned() and self._plan.peak_bytes <= self.affordable
        return self.maximise() if affordable else None
