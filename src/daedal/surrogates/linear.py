"""Linear functions of bits, learned by least squares from values, values cut off at 0, or absolute values."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from daedal.surrogates.walsh_function import Sets, WalshFunction
from daedal.types import Bits, Fitness

EXACT = 1e-7
"""Share of the largest value by which an exact fit may miss held-out values."""

HELD_OUT = 5
"""One in this number of rows is held out of a fit, to measure how well it predicts."""

_ROUNDS = 12  # of fits and signs, if signs are unknown
_INDEPENDENT = 1e-6  # share of a column's length that the others have to leave
_NEAR = (1.1, 1.6, 2.4)  # rows per variable, the nearest ones, from which signs are guessed first
_SPARE = 10  # rows beyond those that a fit needs


def fit_linear(x: Bits, y: NDArray[np.float64]) -> list[WalshFunction]:
    """Fit a linear function to each column of y, shape (rows, columns), at rows x, shape (rows, n).

    The list is empty if the rows do not determine a linear function.
    """
    held_out = np.arange(len(x)) % HELD_OUT == HELD_OUT - 1
    solutions = _solve(x[~held_out], y[~held_out]) if held_out.any() else None
    if solutions is None:
        return []
    return [_function(solutions[:, k], x[held_out], y[held_out, k]) for k in range(y.shape[1])]


def fit_cut(x: Bits, y: Fitness) -> WalshFunction | None:
    """Fit a function whose positive values are y, and which is not above 0 where y is 0; None if there is none."""
    above = y > 0
    listed = fit_linear(x[above], y[above, None]) if np.count_nonzero(above) > x.shape[1] + _SPARE else []
    if not listed or not is_exact(listed[0].predict(x[above]), y[above]):
        return None
    return listed[0] if (listed[0].predict(x[~above]) <= EXACT * y.max()).all() else None


def fit_absolute(x: Bits, y: Fitness) -> WalshFunction | None:
    """Fit a function whose absolute values are y; None if there is none.

    Near a row of a large value, all values have the same sign. From there, signs and coefficients are found in turn.
    """
    n = x.shape[1]
    for base, share in itertools.product((int(np.argmax(y)), 0), _NEAR):
        near = np.argsort((x != x[base]).sum(axis=1), kind="stable")[: int(share * n) + 1]
        solution = _solve(x[near], y[near])
        for _ in range(_ROUNDS):
            if solution is None:
                break
            guessed = _values(solution, x)
            if is_exact(np.abs(guessed), y):
                return _function(solution, x, np.sign(guessed) * y)
            solution = _solve(x, np.where(guessed < 0, -y, y))
    return None


def is_exact(predicted: Fitness, y: Fitness) -> bool:
    """Tell whether predictions are right, except for rounding."""
    return bool((np.abs(predicted - y) <= EXACT * np.abs(y).max(initial=1e-300)).all())


def _solve(x: Bits, y: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return constants and coefficients by least squares, shape (n + 1,) or (n + 1, columns).

    None if the rows do not determine them. Columns of 1 and -1 are either dependent or far from it, so the normal
    equations do; a second step removes the rounding.
    """
    design = np.column_stack([np.ones(len(x)), 1.0 - 2.0 * x])
    if len(x) < design.shape[1]:
        return None
    gram = design.T @ design
    try:
        factor = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return None
    if np.square(np.diag(factor)).min() < _INDEPENDENT * len(x):
        return None
    solution = np.linalg.solve(gram, design.T @ y)
    return np.asarray(solution + np.linalg.solve(gram, design.T @ (y - design @ solution)))


def _values(solution: NDArray[np.float64], x: Bits) -> Fitness:
    return np.asarray(solution[0] + (1.0 - 2.0 * x) @ solution[1:])


def _function(solution: NDArray[np.float64], x: Bits, y: Fitness) -> WalshFunction:
    """Return the function, with the share of the variance of values y at rows x that it explains."""
    n, error = x.shape[1], y - _values(solution, x)
    spread = float(np.square(y - y.mean()).sum())
    r2 = 1.0 if is_exact(y - error, y) else 1.0 - float(np.square(error).sum()) / spread if spread > 0 else 0.0
    sets = Sets.of(np.arange(n)[:, None])
    return WalshFunction(n=n, constant=float(solution[0]), terms=sets, coefficients=solution[1:], r2=r2)
