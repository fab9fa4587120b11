"""How a batch's gradient moves the parameters of a layer: plain descent, or Adam (Kingma and Ba, 2015)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit
from daedal.kernels.dae import Gradient, Parameters, zero_gradient

_Floats = NDArray[np.float32]
_f = np.float32

MEAN_KEPT, SQUARE_KEPT = 0.9, 0.999
"""Shares of themselves that Adam's moving averages keep at every update: beta_1 and beta_2 of its authors."""

SMALLEST_DEVIATION = 1e-8
"""What Adam adds to the root of the average square: epsilon of its authors."""


class Rule(NamedTuple):
    """How much parameters move."""

    rate: float  # of weights
    bias_rate: float
    momentum: float  # share of its last update that a weight keeps moving by; Adam has its own
    keep: float  # share of itself that a weight keeps at every update
    adam: bool


class Moments(NamedTuple):
    """Adam's moving averages of a layer's gradient and of its squares."""

    mean: Gradient
    square: Gradient


def zero_moments(theta: Parameters, *, adam: bool) -> Moments:
    """Make averages of the right shapes, all zero; without Adam, of no numbers."""
    if adam:
        return Moments(zero_gradient(theta), zero_gradient(theta))
    nothing = Gradient(*(np.zeros((0,) * getattr(theta, name).ndim, dtype=np.float32) for name in Gradient._fields))
    return Moments(nothing, nothing)


@njit(**OPTIONS)
def descend(weights: _Floats, gradient: _Floats, rate: np.float32, keep: np.float32) -> None:
    """Set weights = keep weights - rate gradient."""
    for i in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            weights[i, j] = keep * weights[i, j] - rate * gradient[i, j]


@njit(**OPTIONS)
def descend_adaptively(
    values: _Floats, gradient: _Floats, mean: _Floats, square: _Floats, share: np.float32, rate: np.float32,
    widening: np.float32, keep: np.float32,
) -> None:  # fmt: skip
    """Make one step of Adam, all arrays of one shape, (numbers,); share is one row's share of the batch.

    rate has the correction of the first average in it, and widening is that of the second.
    """
    kept, new = _f(MEAN_KEPT), _f(1 - MEAN_KEPT)
    square_kept, square_new = _f(SQUARE_KEPT), _f(1 - SQUARE_KEPT)
    for i in range(values.size):
        slope = share * gradient[i]
        mean[i] = kept * mean[i] + new * slope
        square[i] = square_kept * square[i] + square_new * slope * slope
        deviation = np.sqrt(widening * square[i]) + _f(SMALLEST_DEVIATION)
        values[i] = keep * values[i] - rate * (mean[i] / deviation)


@njit(**OPTIONS)
def _adam(
    theta: Parameters, gradient: Gradient, moments: Moments, rule: Rule, tied: bool, batch: int, count: int
) -> None:
    share, keep = _f(1.0 / batch), _f(rule.keep)
    narrowing = 1.0 - MEAN_KEPT**count
    widening = _f(1.0 / (1.0 - SQUARE_KEPT**count))
    rate, bias_rate, one = _f(rule.rate / narrowing), _f(rule.bias_rate / narrowing), _f(1)
    mean, square = moments.mean, moments.square
    descend_adaptively(
        theta.encoder.ravel(), gradient.encoder.ravel(), mean.encoder.ravel(), square.encoder.ravel(), share, rate,
        widening, keep,
    )  # fmt: skip
    if not tied:
        descend_adaptively(
            theta.decoder.ravel(), gradient.decoder.ravel(), mean.decoder.ravel(), square.decoder.ravel(), share, rate,
            widening, keep,
        )  # fmt: skip
    descend_adaptively(
        theta.hidden_bias, gradient.hidden_bias, mean.hidden_bias, square.hidden_bias, share, bias_rate, widening, one
    )
    descend_adaptively(
        theta.output_bias, gradient.output_bias, mean.output_bias, square.output_bias, share, bias_rate, widening, one
    )


@njit(**OPTIONS)
def move(
    theta: Parameters, gradient: Gradient, moments: Moments, rule: Rule, tied: bool, batch: int, count: int,
    n: int, m: int,
) -> None:  # fmt: skip
    """Move the parameters of a layer against the gradient of a batch; count is the number of this update, from 1."""
    if rule.adam:
        _adam(theta, gradient, moments, rule, tied, batch, count)
        return
    step, bias_step = _f(rule.rate / batch), _f(rule.bias_rate / batch)
    descend(theta.encoder, gradient.encoder, step, _f(rule.keep))
    if not tied:
        descend(theta.decoder, gradient.decoder, step, _f(rule.keep))
    for j in range(m):
        theta.hidden_bias[j] -= bias_step * gradient.hidden_bias[j]
    for j in range(n):
        theta.output_bias[j] -= bias_step * gradient.output_bias[j]
