"""Noise in the shape of what is linked: an order of the variables in which neighbours depend on each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.threads import one_blas_thread
from daedal.types import Bits

NOISES = ("salt+pepper", "masking", "block")


def shape_of(kind: str, x: Bits, *, corruption: float, length: int) -> kernels.noise.NoiseShape:
    """Describe the noise of a kind for rows x, shape (rows, n)."""
    path = correlated_path(x) if kind == "block" else None
    return kernels.noise.noise_shape(masking=kind == "masking", path=path, corruption=corruption, length=length)


def correlated_path(x: Bits) -> NDArray[np.int64]:
    """Order variables so that neighbours are correlated in rows x, shape (rows, n).

    It begins with one of the most correlated pair, and goes on with whatever is most correlated with the last one:
    what the parents say now is simpler than weights of the last generation, and nothing has to be kept for it.

    Examples
    --------
    >>> a, b = np.array([[0, 0, 1, 1, 0, 1], [0, 1, 0, 1, 1, 0]], dtype=np.uint8)
    >>> correlated_path(np.stack([a, b, a, b], axis=1))
    array([0, 2, 1, 3])
    """
    n = x.shape[1]
    centred = x.astype(np.float32) - x.mean(axis=0, dtype=np.float64).astype(np.float32)
    length = np.sqrt((centred**2).sum(axis=0))
    centred /= np.where(length > 0, length, 1)
    with one_blas_thread():
        strength = np.abs(centred.T @ centred)
    np.fill_diagonal(strength, -1.0)
    path = np.empty(n, dtype=np.int64)
    path[0] = strength.max(axis=1).argmax()
    for p in range(1, n):
        strength[:, path[p - 1]] = -1.0
        path[p] = strength[path[p - 1]].argmax()
    return path
