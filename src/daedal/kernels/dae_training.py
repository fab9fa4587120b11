"""Training of the denoising autoencoder: backpropagation and stochastic descent, Algorithm 2 of the paper."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from daedal.kernels.compilation import OPTIONS
from daedal.kernels.dae import Parameters, Workspace, activate
from daedal.kernels.logistic import logistic
from daedal.kernels.noise import corrupt_bits, shuffle
from daedal.kernels.products import (
    accumulate_outer_products,
    affine,
    affine_transposed,
    keep_transpose,
    whole_vectors,
)

_Floats = NDArray[np.float32]
_Bytes = NDArray[np.uint8]
_Words = NDArray[np.uint16]
_Index = NDArray[np.int64]
_f = np.float32
_i = np.int32


class Gradient(NamedTuple):
    """Gradient of the error for each parameter, summed over a batch; for the weights with momentum."""

    encoder: _Floats
    decoder: _Floats
    hidden_bias: _Floats
    output_bias: _Floats


def zero_gradient(theta: Parameters) -> Gradient:
    """Make a gradient of the right shapes, all zero."""
    return Gradient(
        encoder=np.zeros_like(theta.encoder),
        decoder=np.zeros_like(theta.decoder),
        hidden_bias=np.zeros_like(theta.hidden_bias),
        output_bias=np.zeros_like(theta.output_bias),
    )


@njit(**OPTIONS)
def output_error(z: _Floats, x: _Bytes, order: _Index, n: int, squared: bool, live: _Floats, total: _Floats) -> None:
    """Turn z, the input of the output layer, into the gradient of Err(x, logistic(z)) for it; total sums its rows."""
    columns = whole_vectors(n)
    total[:] = _f(0)
    for i in range(z.shape[0]):
        row = order[i]
        for j in range(columns):
            y = logistic(z[i, j])
            slope = _f(2) * y * (_f(1) - y) if squared else _f(1)
            gradient = (y - _f(_i(x[row, j]))) * slope * live[j]
            z[i, j] = gradient
            total[j] += gradient


@njit(**OPTIONS)
def hidden_error(d: _Floats, h: _Floats, m: int, total: _Floats) -> None:
    """Take d, the gradient for h = logistic(a), back to that for a; total sums its rows."""
    columns = whole_vectors(m)
    total[:] = _f(0)
    for i in range(d.shape[0]):
        for j in range(columns):
            gradient = d[i, j] * h[i, j] * (_f(1) - h[i, j])
            d[i, j] = gradient
            total[j] += gradient


@njit(**OPTIONS)
def batch_gradient(
    x: _Bytes, order: _Index, n: int, m: int, tied: bool, squared: bool, momentum: np.float32,
    theta: Parameters, gradient: Gradient, work: Workspace,
) -> None:  # fmt: skip
    """Backpropagate one batch, whose corrupted rows stand in work.inputs (Algorithm 2, lines 5-7).

    Stacked as they are in the workspace, the two outer products of tied weights, corrupted^T hidden error and
    output error^T hidden, are one.
    """
    b = order.size
    corrupted, output = work.inputs[:b], work.inputs[b : 2 * b]
    back, hidden = work.hiddens[:b], work.hiddens[b : 2 * b]
    affine(corrupted, theta.encoder, theta.hidden_bias, n, m, hidden)
    activate(hidden, m, work.live_hidden)
    affine_transposed(hidden, theta.decoder, theta.decoder_t, theta.output_bias, m, n, output)
    output_error(output, x, order, n, squared, work.live_output, gradient.output_bias)
    affine(output, theta.decoder, work.no_bias, n, m, back)
    hidden_error(back, hidden, m, gradient.hidden_bias)
    if tied:
        accumulate_outer_products(
            work.inputs[: 2 * b], work.hiddens[: 2 * b], n, m, momentum, gradient.encoder, work.scratch
        )
    else:
        accumulate_outer_products(corrupted, back, n, m, momentum, gradient.encoder, work.scratch)
        accumulate_outer_products(output, hidden, n, m, momentum, gradient.decoder, work.scratch)


@njit(**OPTIONS)
def _descend(weights: _Floats, gradient: _Floats, rate: np.float32, keep: np.float32) -> None:
    for i in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            weights[i, j] = keep * weights[i, j] - rate * gradient[i, j]


@njit(**OPTIONS)
def train(
    x: _Bytes, order: _Index, shuffle_words: NDArray[np.uint32], noise: _Words, epochs: int, batch: int,
    n: int, m: int, tied: bool, squared: bool, rate: float, bias_rate: float, momentum: float, keep: float,
    theta: Parameters, gradient: Gradient, work: Workspace,
) -> None:  # fmt: skip
    """Stochastic gradient descent for some epochs; the rows left over by an epoch's last batch are dropped.

    x (rows, padded n), order (rows,), shuffle_words (epochs * rows,), noise (epochs * rows * n + LANES,).
    """
    rows = order.size
    step = _f(rate / batch)
    bias_step = _f(bias_rate / batch)
    for epoch in range(epochs):
        shuffle(order, shuffle_words[epoch * rows : (epoch + 1) * rows])
        for first in range(0, rows - batch + 1, batch):
            chosen = order[first : first + batch]
            words = noise[(epoch * rows + first) * n :]
            corrupt_bits(x, chosen, words, n, work.limits, work.inputs[:batch])
            batch_gradient(x, chosen, n, m, tied, squared, _f(momentum), theta, gradient, work)
            _descend(theta.encoder, gradient.encoder, step, _f(keep))
            if not tied:
                _descend(theta.decoder, gradient.decoder, step, _f(keep))
            keep_transpose(theta.decoder, theta.decoder_t)
            for j in range(m):
                theta.hidden_bias[j] -= bias_step * gradient.hidden_bias[j]
            for j in range(n):
                theta.output_bias[j] -= bias_step * gradient.output_bias[j]
