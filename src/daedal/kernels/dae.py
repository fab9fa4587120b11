"""One layer of a denoising autoencoder on plain arrays: its parameters, its workspace, its errors.

`network` trains one or more of them, and `chains` samples. Rows are padded as `products` says, and the padding is zero
throughout. Random words are drawn by the caller.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit
from daedal.kernels.logistic import logistic
from daedal.kernels.products import padded, whole_vectors

_Floats = NDArray[np.float32]
_Bytes = NDArray[np.uint8]
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
    encoder_t: _Floats  # (padded m, padded n): as `keep_transpose` has it, for layers above the first that are not tied
    rows: _Floats  # (b, padded n): reconstructions, where they are trained on


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


def make_workspace(
    n: int, m: int, batch: int, corruption: float = 0.0, *, inner: bool = False, walkback: bool = False
) -> Workspace:
    """Make the workspace for batches of up to `batch` rows.

    `inner` is for layers that are not tied and not the first, `walkback` for a first layer that is trained on its own
    reconstructions.
    """
    workspace = Workspace(
        inputs=np.zeros((2 * batch, padded(n)), dtype=np.float32),
        hiddens=np.zeros((2 * batch, padded(m)), dtype=np.float32),
        scratch=np.zeros((padded(n), padded(m)), dtype=np.float32),
        no_bias=np.zeros(padded(m), dtype=np.float32),
        live_hidden=np.zeros(padded(m), dtype=np.float32),
        live_output=np.zeros(padded(n), dtype=np.float32),
        limits=np.zeros(padded(n), dtype=np.int32),
        encoder_t=np.zeros((padded(m), padded(n)) if inner else (0, 0), dtype=np.float32),
        rows=np.zeros((batch if walkback else 0, padded(n)), dtype=np.float32),
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
def row_error(z: _Floats, x: _Bytes, n: int, squared: bool) -> float:
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
