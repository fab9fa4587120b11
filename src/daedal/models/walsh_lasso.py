"""The columns that the lasso works on, with their coefficients and the residual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.models.walsh_equations import Equations, Sets

_Integers = NDArray[np.int64]
_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Solution:
    """Sets with their coefficients, the squared error of the equations held out, and the price of coefficients."""

    sets: Sets
    w: _Floats
    error: float
    price: float
    relaxed: float


class ActiveSet:
    """Sets with their columns and coefficients, all zero at first, and the residual y - A w of all equations."""

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self.sets = Sets.of(np.empty((0, 1), dtype=np.int64))
        self.bounds = np.empty((0, 5), dtype=np.int64)
        self.entries = np.empty(0, dtype=np.uint32)
        self.w = np.empty(0)
        self.residual = equations.y.copy()

    def __len__(self) -> int:
        return len(self.w)

    def add(self, sets: Sets) -> None:
        """Add sets with coefficient 0."""
        new = self.equations.columns(sets)
        self.sets = self.sets + sets
        self.bounds = np.concatenate([self.bounds, new.bounds + len(self.entries)])
        self.entries = np.concatenate([self.entries, new.entries])
        self.w = np.concatenate([self.w, np.zeros(len(sets))])

    @property
    def support(self) -> _Integers:
        """Which sets have a coefficient."""
        return np.flatnonzero(self.w)

    def error(self) -> float:
        """Give the squared error of the equations held out."""
        y, train = self.equations.y, self.equations.train
        error: float = kernels.lasso.held_out_error(self.bounds, self.entries, self.w, y, train, self.residual)
        return error

    def put(self, w: _Floats) -> None:
        """Set the coefficients of the first sets, and the others to zero."""
        self.w = np.concatenate([w, np.zeros(len(self) - len(w))])
        self.residual = self.equations.y.copy()
        kernels.lasso.take_columns(self.support, self.bounds, self.entries, self.w, self.residual)

    def descend(
        self, price: float, columns: _Integers, *, rounds: int, passes: int, tolerance: float, everything: bool = False
    ) -> None:
        """Minimise the lasso's error over some of the columns at a price of coefficients."""
        limits = price * np.sqrt(self.bounds[:, 4 if everything else 2] - self.bounds[:, 0])
        limits[self.sets.orders == 0] = 0.0
        kernels.lasso.descend(
            columns, self.bounds, self.entries, limits, rounds, passes, tolerance, everything, self.residual, self.w
        )

    def least_squares(self, columns: _Integers, *, everything: bool = False, iterations: int = 100) -> None:
        """Minimise the error over some of the columns, of the training equations or of everything."""
        kernels.lasso.least_squares(
            columns, self.bounds, self.entries, iterations, 1e-10, everything, self.residual, self.w
        )
