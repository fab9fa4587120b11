"""What each feature says about the target by itself: no model is fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]


def relevance(data: Any, target: Any, *, classes: bool) -> Floats:
    """Give the share of each feature's variance that goes with the target, shape (features,), from 0 to 1.

    For classes it is the correlation ratio, which ranks features as the F-test does; for numbers the squared
    correlation, the largest of them where there are several targets. Where nothing can be said, because there is no
    target or values are missing, it is 0.

    Parameters
    ----------
    data
        An array or a sparse matrix, shape (samples, features).
    target
        Shape (samples,) or (samples, targets), or None.
    classes
        Whether targets are classes.

    Examples
    --------
    >>> data = np.array([[0.0, 1.0, 5.0], [0.0, 2.0, 5.0], [1.0, 1.0, 5.0], [1.0, 2.0, 5.0]])
    >>> relevance(data, ["a", "a", "b", "b"], classes=True)
    array([1., 0., 0.])
    """
    if target is None:
        return np.zeros(data.shape[1])
    try:
        columns = np.asarray(target).reshape(data.shape[0], -1)
        sides = [_indicators(column) if classes else np.asarray(column, np.float64)[:, None] for column in columns.T]
        shares = [_explained(data, side) for side in sides]
    except (TypeError, ValueError):  # targets that are no numbers: it is only where to begin
        return np.zeros(data.shape[1])
    most: Floats = np.max([np.zeros(data.shape[1]), *shares], axis=0)
    return most


def _indicators(column: NDArray[Any]) -> Floats:
    """Give a column for each class, shape (samples, classes)."""
    names, which = np.unique(column, return_inverse=True)
    indicators: Floats = (which[:, None] == np.arange(len(names))).astype(np.float64)
    return indicators


def _explained(data: Any, side: Floats) -> Floats:
    """Give the share of the variance of each column of the data that lies in the space of the side's columns.

    These are indicators of classes, or one column of numbers: centred, they are at right angles, or alone.
    """
    samples = data.shape[0]
    if sparse.issparse(data):
        mean = np.asarray(data.mean(axis=0), np.float64).ravel()
        squares = np.asarray(data.multiply(data).sum(axis=0), np.float64).ravel()
        rounding = 1e-12 * squares
    else:
        data = np.asarray(data, np.float64)
        rounding = 1e-26 * (data * data).sum(axis=0)
        data = data - data.mean(axis=0)  # or large means would drown small differences
        mean, squares = np.zeros(data.shape[1]), (data * data).sum(axis=0)
    total = squares - samples * mean * mean
    weights = side if side.shape[1] > 1 else side - side.mean(axis=0)
    products = np.asarray(weights.T @ data, np.float64)
    lengths = (weights * weights).sum(axis=0)
    between = (products**2 / np.maximum(lengths, np.finfo(np.float64).tiny)[:, None]).sum(axis=0)
    if side.shape[1] > 1:
        between = between - samples * mean * mean
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(total > rounding, between / total, 0.0)
    bounded: Floats = np.clip(np.nan_to_num(share, nan=0.0, posinf=0.0, neginf=0.0), 0.0, 1.0)
    return bounded
