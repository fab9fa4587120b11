"""The logistic function in a form that the compiler turns into vector instructions."""

from __future__ import annotations

import numpy as np

from daedal.compilation import OPTIONS, njit

_f = np.float32


@njit(inline="always", **OPTIONS)
def tanh_quotient(x: np.float32) -> tuple[np.float32, np.float32]:
    """Give numerator and denominator, which is positive, of tanh(x / 2), within 8e-7.

    tanh t is t p(t^2) / q(t^2), the minimax quotient of degrees 3 and 4 for |t| <= 8.3 (found by Lawson's iteration).
    There is no call of exp, which would cost more than the matrix product around it, and no overflow: the argument is
    clamped to where tanh is 1 in float32.
    """
    t = _f(0.5) * x
    t = _f(8.3) if t > _f(8.3) else t
    t = _f(-8.3) if t < _f(-8.3) else t
    s = t * t
    p = _f(1.100012923416216e-05)
    p = p * s + _f(0.002909604227170348)
    p = p * s + _f(0.12886178493499756)
    p = p * s + _f(0.9999991655349731)
    q = _f(2.32586174320204e-07)
    q = q * s + _f(0.00023293166304938495)
    q = q * s + _f(0.023643558844923973)
    q = q * s + _f(0.46219202876091003)
    q = q * s + _f(1.0)
    return t * p, q


@njit(inline="always", **OPTIONS)
def logistic(x: np.float32) -> np.float32:
    """Give 1 / (1 + exp(-x)) = (1 + tanh(x / 2)) / 2, within 4e-7; it may leave [0, 1] by that much."""
    numerator, denominator = tanh_quotient(x)
    return _f(_f(0.5) + _f(0.5) * (numerator / denominator))
