"""Linear functions of bits, learned by least squares from values, from values cut off at 0, or from absolute values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal.models.walsh_equations import Sets
from daedal.models.walsh_function import WalshFunction
from daedal.types import Bits, Fitness

EXACT = 1e-7
"""Share of the largest value, by which an exact fit may miss held-out values."""

HELD_OUT = 5
"""One row of so many is held out of a fit, to see how well it predicts."""

_ROUNDS = 12  # of fits and signs, where signs are unknown
_SPARE = 10  # rows beyond those that a fit needs


def fit_linear(x: Bits, y: Fitness) -> WalshFunction | None:
    """Fit y, shape (rows,), to rows x, shape (rows, n); None where the rows do not say all of a linear function."""
    n = x.shape[1]
    held_out = np.arange(len(x)) % HELD_OUT == HELD_OUT - 1
    if np.count_nonzero(~held_out) < n + 1 or not held_out.any():
        return None
    solution = _solved(x[~held_out], y[~held_out])
    return None if solution is None else _function(solution, x[held_out], y[held_out])


def fit_cut(x: Bits, y: Fitness) -> WalshFunction | None:
    """Fit a function whose positive values are y, and which is not above 0 where y is 0; None where there is none."""
    above = y > 0
    found = fit_linear(x[above], y[above]) if np.count_nonzero(above) > x.shape[1] + _SPARE else None
    if found is None or not is_exact(found.predict(x[above]), y[above]):
        return None
    return found if (found.predict(x[~above]) <= EXACT * y.max()).all() else None


def fit_absolute(x: Bits, y: Fitness) -> WalshFunction | None:
    """Fit a function whose absolute values are y; None where there is none.

    Beside a row of a large value, values are those of the function or its negative. From there signs and coefficients
    are found in turn.
    """
    n = x.shape[1]
    for base in (int(np.argmax(y)), 0):
        near = np.argsort((x != x[base]).sum(axis=1), kind="stable")[: n + 1 + n // _SPARE]
        solution = _solved(x[near], y[near])
        for _ in range(_ROUNDS if solution is not None else 0):
            assert solution is not None
            guessed = _values(solution, x)
            if is_exact(np.abs(guessed), y):
                return _function(solution, x, np.sign(guessed) * y)
            solution = _solved(x, np.where(guessed < 0, -y, y))
            if solution is None:
                break
    return None


def is_exact(predicted: Fitness, y: Fitness) -> bool:
    """Whether predictions are right, but for rounding."""
    return bool((np.abs(predicted - y) <= EXACT * np.abs(y).max(initial=1e-300)).all())


def _solved(x: Bits, y: Fitness) -> NDArray[np.float64] | None:
    """Give constant and coefficients, shape (n + 1,), by least squares; None where the rows do not determine them."""
    design = np.column_stack([np.ones(len(x)), 1.0 - 2.0 * x])
    solution, _, rank, _ = np.linalg.lstsq(design, y, rcond=None)
    return np.asarray(solution, dtype=np.float64) if rank == design.shape[1] else None


def _values(solution: NDArray[np.float64], x: Bits) -> Fitness:
    return np.asarray(solution[0] + (1.0 - 2.0 * x) @ solution[1:])


def _function(solution: NDArray[np.float64], x: Bits, y: Fitness) -> WalshFunction:
    """Give the function, with the share of the variance that it explains of values y at rows x."""
    n, error = x.shape[1], y - _values(solution, x)
    spread = float(np.square(y - y.mean()).sum())
    r2 = 1.0 if is_exact(y - error, y) else 1.0 - float(np.square(error).sum()) / spread if spread > 0 else 0.0
    sets = Sets.of(np.arange(n)[:, None])
    return WalshFunction(n=n, constant=float(solution[0]), terms=sets, coefficients=solution[1:], r2=r2, price=0.0)
