"""The quotient that stands for the logistic function, against the exact one."""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.special import expit

from daedal.kernels.logistic import logistic
from daedal.kernels.tiles import OPTIONS

STATED_ERROR = 4e-7


@njit(**OPTIONS)
def _apply(x: np.ndarray, out: np.ndarray) -> None:
    for i in range(x.size):
        out[i] = logistic(x[i])


def apply(x: np.ndarray) -> np.ndarray:
    out = np.empty(x.shape, dtype=np.float32)
    _apply(x.astype(np.float32), out)
    return out.astype(np.float64)


def grid() -> np.ndarray:
    far = np.array([1e2, 1e4, 1e10, 1e30, np.finfo(np.float32).max])
    tiny = np.geomspace(1e-38, 1e-2, 10_000)
    near = np.linspace(-40, 40, 2_000_001)  # the clamp is at +-16.6
    return np.concatenate([near, far, -far, tiny, -tiny, [0.0]]).astype(np.float32)


def test_within_the_stated_error_everywhere() -> None:
    x = grid()
    assert np.abs(apply(x) - expit(x.astype(np.float64))).max() <= STATED_ERROR


def test_half_at_zero_and_symmetric() -> None:
    x = grid()
    assert apply(np.zeros(1)).item() == 0.5
    # Both sides round once more when 1/2 is added: one unit in the last place of 1.
    assert np.abs(apply(x) + apply(-x) - 1).max() <= np.finfo(np.float32).eps
