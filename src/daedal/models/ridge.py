"""Ridge regression: a linear function of bits, learned from values that scatter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal.threads import one_blas_thread
from daedal.types import Bits, Fitness

PRICES = 10.0 ** np.arange(-1.0, 4.0, 0.5)
"""What the squares of coefficients may cost, of which one is chosen."""

MOST_NUMBERS = 2**24
"""Bits of the rows that a fit has in memory, as floats; of more rows it takes some, evenly spread."""

_TINY = 1e-3


def ridge(x: Bits, values: Fitness) -> tuple[NDArray[np.float64], float]:
    """Fit a linear function, its price chosen by leaving out one row at a time.

    Parameters
    ----------
    x
        Rows, shape (rows, n), at least two.
    values
        Finite values, shape (rows,).

    Returns
    -------
    weights, r2
        How much better a 1 is than a 0, shape (n,), and the share of the variance that it explains of rows left out.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.integers(0, 2, (100, 3), dtype=np.uint8)
    >>> weights, r2 = ridge(x, x @ np.array([1.0, -2.0, 0.0]) + 0.1 * rng.normal(size=100))
    >>> weights.round(1) + 0.0, r2 > 0.9
    (array([ 1., -2.,  0.]), True)
    """
    step = -(-x.size // MOST_NUMBERS)
    x, values = x[::step], values[::step]
    beside = values - values.mean()
    scale = float(np.abs(beside).max())
    if scale == 0 or not np.isfinite(scale):
        return np.zeros(x.shape[1]), 0.0
    beside = beside / scale
    with one_blas_thread():
        u, s, v = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
        along = u.T @ beside
        errors = []
        for price in PRICES:
            kept = np.square(s) / (np.square(s) + price)
            leverage = np.square(u) @ kept + 1 / len(x)
            errors.append(float(np.square((beside - u @ (kept * along)) / np.maximum(1 - leverage, _TINY)).mean()))
        best = int(np.argmin(errors))
        weights = v.T @ (s / (np.square(s) + PRICES[best]) * along)
    return scale * weights, max(0.0, 1.0 - errors[best] / float(np.square(beside).mean()))
