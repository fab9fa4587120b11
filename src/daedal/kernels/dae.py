"""The denoising autoencoder on plain arrays: its training and its samples (Algorithms 2 and 3 of the paper).

Rows are padded as `products` says, and the padding is zero throughout. Random words are drawn by the caller.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.kernels.compilation import OPTIONS, njit
from daedal.kernels.logistic import logistic
from daedal.kernels.noise import corrupt_bits, corrupt_values, shuffle
from daedal.kernels.products import (
    accumulate_outer_products,
    affine,
    affine_transposed,
    keep_transpose,
    padded,
    whole_vectors,
)

_Floats = NDArray[np.float32]
_Bytes = NDArray[np.uint8]
_Words = NDArray[np.uint16]
_Index = NDArray[np.int64]
_f = np.float32
_i = np.int32

SMALLEST_PROBABILITY = 1e-7
"""No reconstruction counts as more certain of a bit than this, so that the cross entropy stays finite."""

_BITS_A_LOGARITHM = 32  # SMALLEST_PROBABILITY to this power is still a float64


class Parameters(NamedTuple):
    """Theta of the paper. With tied weights, encoder and decoder are one array."""

    encoder: _Floats  # (padded n, padded m): x -> h
    decoder: _Floats  # (padded n, padded m): the transpose of h -> z
    decoder_t: _Floats  # (padded m, padded n): the decoder as `keep_transpose` has it
    hidden_bias: _Floats  # (padded m,)
    output_bias: _Floats  # (padded n,)


class Workspace(NamedTuple):
    """Where a batch of b rows is processed; nothing is allocated inside an epoch."""

    inputs: _Floats  # (2b, padded n): the corrupted rows above the error of the output
    hiddens: _Floats  # (2b, padded m): the error of the hidden layer above the hidden layer
    scratch: _Floats  # (padded n, padded m)
    no_bias: _Floats  # (padded m,): zeros
    live_hidden: _Floats  # (padded m,): 1, and 0 in the padding
    live_output: _Floats  # (padded n,): 1, and 0 in the padding
    limits: NDArray[np.int32]  # (padded n,): a word below its limit corrupts; 0 in the padding


class Gradient(NamedTuple):
    """Gradient of the error for each parameter, summed over a batch; for the weights with momentum."""

    encoder: _Floats
    decoder: _Floats
    hidden_bias: _Floats
    output_bias: _Floats


def zero_parameters(n: int, m: int, *, tied: bool) -> Parameters:
    """Make parameters of the right shapes, all zero."""
    encoder = np.zeros((padded(n), padded(m)), dtype=np.float32)
    return Parameters(
        encoder=encoder,
        decoder=encoder if tied else np.zeros_like(encoder),
        decoder_t=np.zeros((padded(m), padded(n)), dtype=np.float32),
        hidden_bias=np.zeros(padded(m), dtype=np.float32),
        output_bias=np.zeros(padded(n), dtype=np.float32),
    )


def copy_parameters(theta: Parameters) -> Parameters:
    """Copy the arrays; tied ones stay one array."""
    copied = Parameters(*(array.copy() for array in theta))
    return copied._replace(decoder=copied.encoder) if theta.decoder is theta.encoder else copied


def zero_gradient(theta: Parameters) -> Gradient:
    """Make a gradient of the right shapes, all zero."""
    return Gradient(*(np.zeros_like(getattr(theta, name)) for name in Gradient._fields))


def make_workspace(n: int, m: int, batch: int, corruption: float) -> Workspace:
    """Make the workspace for batches of up to `batch` rows."""
    workspace = Workspace(
        inputs=np.zeros((2 * batch, padded(n)), dtype=np.float32),
        hiddens=np.zeros((2 * batch, padded(m)), dtype=np.float32),
        scratch=np.zeros((padded(n), padded(m)), dtype=np.float32),
        no_bias=np.zeros(padded(m), dtype=np.float32),
        live_hidden=np.zeros(padded(m), dtype=np.float32),
        live_output=np.zeros(padded(n), dtype=np.float32),
        limits=np.zeros(padded(n), dtype=np.int32),
    )
    workspace.live_hidden[:m] = 1
    workspace.live_output[:n] = 1
    # An even limit: the lowest bit of a word below it, which becomes the noise, is then fair.
    workspace.limits[:n] = 2 * round(corruption * 2**15)
    return workspace


@njit(**OPTIONS)
def activate(a: _Floats, m: int, live: _Floats) -> None:
    """Set a = logistic(a) in place, for m real columns."""
    columns = whole_vectors(m)
    for i in range(a.shape[0]):
        for j in range(columns):
            a[i, j] = logistic(a[i, j]) * live[j]


@njit(**OPTIONS)
def _row_error(z: _Floats, x: _Bytes, n: int, squared: bool) -> float:
    """Err(x, logistic(z)) of one row: cross entropy in nats, or squared error, summed over its bits."""
    total = 0.0
    for first in range(0, n, _BITS_A_LOGARITHM):
        last = min(first + _BITS_A_LOGARITHM, n)
        if squared:
            for j in range(first, last):
                difference = logistic(z[j]) - _f(_i(x[j]))
                total += np.float64(difference * difference)
        else:
            product = 1.0
            for j in range(first, last):
                one = logistic(z[j])
                right = one if _i(x[j]) != _i(0) else _f(1) - one
                product *= np.float64(max(right, _f(SMALLEST_PROBABILITY)))
            total -= np.log(product)
    return total


@njit(**OPTIONS)
def mean_error(
    x: _Bytes, corrupted: _Floats, n: int, m: int, squared: bool, theta: Parameters, work: Workspace
) -> float:
    """Reconstruction error per row: x (rows, padded n), corrupted (rows, padded n)."""
    batch = work.inputs.shape[0] // 2
    rows = x.shape[0]
    total = 0.0
    for first in range(0, rows, batch):
        b = min(batch, rows - first)
        hidden, output = work.hiddens[:b], work.inputs[:b]
        affine(corrupted[first : first + b], theta.encoder, theta.hidden_bias, n, m, hidden)
        activate(hidden, m, work.live_hidden)
        affine_transposed(hidden, theta.decoder, theta.decoder_t, theta.output_bias, m, n, output)
        for i in range(b):
            total += _row_error(output[i], x[first + i], n, squared)
    return float(total / rows)


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
    step, bias_step = _f(rate / batch), _f(bias_rate / batch)
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


@njit(**OPTIONS)
def sample(
    start: _Words, noise: _Words, draws: NDArray[np.uint32], steps: int, n: int, m: int,
    theta: Parameters, work: Workspace, out: _Bytes,
) -> None:  # fmt: skip
    """Algorithm 3 and the final Bernoulli draw: real-valued reconstructions are fed back without binarising.

    start and draws (rows * n,), noise (steps * rows * n + LANES,), out (rows, n).
    """
    batch = work.inputs.shape[0] // 2
    rows = out.shape[0]
    for first in range(0, rows, batch):
        b = min(batch, rows - first)
        corrupted, z, hidden = work.inputs[:b], work.inputs[batch : batch + b], work.hiddens[:b]
        for i in range(b):
            for j in range(n):
                z[i, j] = _f(_i(start[(first + i) * n + j]) & _i(1))
        for step in range(steps):
            corrupt_values(z, noise[(step * rows + first) * n :], n, work.limits, corrupted)
            affine(corrupted, theta.encoder, theta.hidden_bias, n, m, hidden)
            activate(hidden, m, work.live_hidden)
            affine_transposed(hidden, theta.decoder, theta.decoder_t, theta.output_bias, m, n, z)
            activate(z, n, work.live_output)
        for i in range(b):
            for j in range(n):
                out[first + i, j] = np.float64(draws[(first + i) * n + j]) < np.float64(z[i, j]) * 4294967296.0
