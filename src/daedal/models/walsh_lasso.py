"""The columns that the lasso works on, with their coefficients and the residual."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.models.walsh_equations import NOTHING, Columns, Equations, Sets

_Integers = NDArray[np.int64]
_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Solution:
    """Sets with their coefficients, and how they came about."""

    columns: Columns
    w: _Floats
    error: float  # squared, of the equations held out
    price: float  # of a coefficient, when the sets were chosen
    relaxed: float  # share of that price when the coefficients were fitted

    @property
    def sets(self) -> Sets:
        """The sets."""
        return self.columns.sets

    def without_zeros(self) -> Solution:
        """Give the sets that have a coefficient."""
        return self.of(np.flatnonzero(self.w))

    def of(self, which: _Integers) -> Solution:
        """Give some of the sets."""
        return replace(self, columns=self.columns[which], w=self.w[which])


class ActiveSet:
    """Columns with their coefficients, all zero at first, and the residual y - A w of all equations."""

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self.columns = equations.columns(NOTHING)
        self.w = np.empty(0)
        self.residual = equations.y.copy()

    def __len__(self) -> int:
        return len(self.w)

    def add(self, columns: Columns) -> None:
        """Add columns with coefficient 0."""
        self.columns = self.columns + columns
        self.w = np.concatenate([self.w, np.zeros(len(columns))])

    @property
    def support(self) -> _Integers:
        """Which columns have a coefficient."""
        return np.flatnonzero(self.w)

    def put(self, w: _Floats) -> None:
        """Set the coefficients of the first columns, and the others to zero."""
        self.w = np.concatenate([w, np.zeros(len(self) - len(w))])
        self.residual = self.equations.y.copy()
        kernels.lasso.take_columns(self.support, self.columns.bounds, self.columns.entries, self.w, self.residual)

    def error(self) -> float:
        """Give the squared error of the equations held out."""
        y, train, columns = self.equations.y, self.equations.train, self.columns
        error: float = kernels.lasso.held_out_error(columns.bounds, columns.entries, self.w, y, train, self.residual)
        return error

    def spread(self) -> float:
        """Give the root mean square of the residual of the training equations."""
        residual = self.residual[: self.equations.train]
        return float(np.sqrt(residual @ residual / self.equations.used))

    def descend(
        self,
        price: float,
        chosen: _Integers,
        *,
        passes: int,
        tolerance: float,
        everything: bool = False,
        factors: _Floats | None = None,
    ) -> None:
        """Minimise the lasso's error over some of the columns at a price of coefficients, times factors, if given."""
        bounds = self.columns.bounds
        limits = price * np.sqrt(bounds[:, 4 if everything else 2] - bounds[:, 0])
        limits[self.columns.sets.orders == 0] = 0.0
        if factors is not None:
            limits *= factors
        kernels.lasso.descend(
            chosen, bounds, self.columns.entries, limits, passes, tolerance, everything, self.residual, self.w
        )

    def least_squares(self, chosen: _Integers, *, iterations: int, everything: bool = False) -> None:
        """Minimise the error over some of the columns, of the training equations or of everything."""
        kernels.lasso.least_squares(
            chosen, self.columns.bounds, self.columns.entries, iterations, 1e-10, everything, self.residual, self.w
        )
