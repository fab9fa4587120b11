"""A denoising autoencoder of one or more layers: its errors and its training (Algorithm 2 of the paper).

A deep network is a stack of layers, each with an encoder and, mirrored, its decoder: rows go up through all encoders
and back down through all decoders. Layer k of it is between widths[k] and widths[k + 1] units; widths[0] is n. Stacks
are tuples, so that each depth is compiled for itself. Rows are padded as `products` says, and the padding is zero
throughout. Random words are drawn by the caller.

In the workspace of layer k stand, for a batch of b rows: inputs, what its encoder reads above the error of what its
decoder gives; hiddens, the error of what its encoder gives above what its decoder reads. Stacked like this, the two
outer products of tied weights are one.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit
from daedal.kernels.dae import Gradient, Parameters, Workspace, activate, hidden_error, output_error, row_error
from daedal.kernels.descent import Moments, Rule, move
from daedal.kernels.logistic import logistic
from daedal.kernels.noise import NoiseShape, corrupt_some_bits, corrupt_some_values, shuffle
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

Stack: TypeAlias = tuple[Parameters, ...]
Workspaces: TypeAlias = tuple[Workspace, ...]
Gradients: TypeAlias = tuple[Gradient, ...]
Widths: TypeAlias = tuple[int, ...]


@njit(**OPTIONS)
def encode(x: _Floats, stack: Stack, widths: Widths, works: Workspaces) -> None:
    """Take rows x, shape (b, padded n), up to where the top decoder reads them; each encoder's input is kept."""
    b, top = x.shape[0], len(stack) - 1
    below = x
    for k in range(top + 1):
        code = works[k].hiddens[b : 2 * b] if k == top else works[k + 1].inputs[:b]
        affine(below, stack[k].encoder, stack[k].hidden_bias, widths[k], widths[k + 1], code)
        activate(code, widths[k + 1], works[k].live_hidden)
        below = code


@njit(**OPTIONS)
def decode(b: int, stack: Stack, widths: Widths, works: Workspaces) -> None:
    """Take b codes down to the input of the output layer, in works[0].inputs[b:2 b]; each decoder's input is kept."""
    for k in range(len(stack) - 1, -1, -1):
        code = works[k].hiddens[b : 2 * b]
        out = works[0].inputs[b : 2 * b] if k == 0 else works[k - 1].hiddens[b : 2 * b]
        affine_transposed(
            code, stack[k].decoder, stack[k].decoder_t, stack[k].output_bias, widths[k + 1], widths[k], out
        )
        if k > 0:
            activate(out, widths[k], works[k].live_output)


@njit(**OPTIONS)
def mean_error(x: _Bytes, corrupted: _Floats, squared: bool, stack: Stack, widths: Widths, works: Workspaces) -> float:
    """Reconstruction error per row: x (rows, padded n), corrupted (rows, padded n)."""
    batch = works[0].inputs.shape[0] // 2
    rows = x.shape[0]
    total = 0.0
    for first in range(0, rows, batch):
        b = min(batch, rows - first)
        encode(corrupted[first : first + b], stack, widths, works)
        decode(b, stack, widths, works)
        output = works[0].inputs[b : 2 * b]
        for i in range(b):
            total += row_error(output[i], x[first + i], widths[0], squared)
    return float(total / rows)


@njit(**OPTIONS)
def _keep_reconstruction(z: _Floats, n: int, live: _Floats, out: _Floats) -> None:
    columns = whole_vectors(n)
    for i in range(z.shape[0]):
        for j in range(columns):
            out[i, j] = logistic(z[i, j]) * live[j]


@njit(**OPTIONS)
def backpropagate(
    b: int, tied: bool, momentum: np.float32, stack: Stack, widths: Widths, works: Workspaces, gradients: Gradients
) -> None:
    """Take the error of the output, in works[0].inputs[b:2 b], back to all weights and to the biases below it."""
    top = len(stack) - 1
    for k in range(top + 1):  # up through the decoders
        theta, work = stack[k], works[k]
        back = work.hiddens[:b] if k == top else works[k + 1].inputs[b : 2 * b]
        total = gradients[k].hidden_bias if k == top else gradients[k + 1].output_bias
        affine(work.inputs[b : 2 * b], theta.decoder, work.no_bias, widths[k], widths[k + 1], back)
        hidden_error(back, work.hiddens[b : 2 * b], widths[k + 1], total)
    for k in range(top, 0, -1):  # down through the encoders
        theta, work = stack[k], works[k]
        back, transposed = works[k - 1].hiddens[:b], theta.decoder_t if tied else work.encoder_t
        no_bias = works[k - 1].no_bias
        affine_transposed(work.hiddens[:b], theta.encoder, transposed, no_bias, widths[k + 1], widths[k], back)
        hidden_error(back, work.inputs[:b], widths[k], gradients[k - 1].hidden_bias)
    for k in range(top + 1):
        gradient, work, n, m = gradients[k], works[k], widths[k], widths[k + 1]
        inputs, hiddens = work.inputs[: 2 * b], work.hiddens[: 2 * b]
        if tied:
            accumulate_outer_products(inputs, hiddens, n, m, momentum, gradient.encoder, work.scratch)
        else:
            accumulate_outer_products(inputs[:b], hiddens[:b], n, m, momentum, gradient.encoder, work.scratch)
            accumulate_outer_products(inputs[b:], hiddens[b:], n, m, momentum, gradient.decoder, work.scratch)


@njit(**OPTIONS)
def batch_gradient(
    x: _Bytes, order: _Index, tied: bool, squared: bool, momentum: np.float32,
    stack: Stack, widths: Widths, works: Workspaces, gradients: Gradients,
) -> None:  # fmt: skip
    """Backpropagate one batch, whose corrupted rows stand in works[0].inputs (Algorithm 2, lines 5-7)."""
    b, n, work = order.size, widths[0], works[0]
    encode(work.inputs[:b], stack, widths, works)
    decode(b, stack, widths, works)
    output = work.inputs[b : 2 * b]
    if work.rows.shape[0] > 0:
        _keep_reconstruction(output, n, work.live_output, work.rows)
    output_error(output, x, order, n, squared, work.live_output, gradients[0].output_bias)
    backpropagate(b, tied, momentum, stack, widths, works, gradients)


@njit(**OPTIONS)
def keep_transposes(tied: bool, stack: Stack, works: Workspaces) -> None:
    """Copy all weights into their transposes, after they have changed."""
    for k in range(len(stack)):
        keep_transpose(stack[k].decoder, stack[k].decoder_t)
        if not tied and k > 0:
            keep_transpose(stack[k].encoder, works[k].encoder_t)


@njit(**OPTIONS)
def train(
    x: _Bytes, order: _Index, used: int, shuffle_words: NDArray[np.uint32], noise: _Words, shape: NoiseShape,
    epochs: int, batch: int, walkback: int, tied: bool, squared: bool, rule: Rule, updates: int,
    stack: Stack, widths: Widths, works: Workspaces, gradients: Gradients, moments: tuple[Moments, ...],
) -> int:  # fmt: skip
    """Stochastic gradient descent for some epochs; the rows left over by an epoch's last batch are dropped.

    x (rows, padded n), order (rows,), shuffle_words (epochs * rows,), noise (epochs * used * (1 + walkback) * n +
    LANES,). An epoch is of the first `used` rows in the new order. With walkback, a batch is followed by its
    reconstructions, which are corrupted again, and have the same rows as their aim. Gives the number of updates, those
    before included.
    """
    rows, n = order.size, widths[0]
    momentum = _f(0.0) if rule.adam else _f(rule.momentum)
    keep_transposes(tied, stack, works)
    for epoch in range(epochs):
        shuffle(order, shuffle_words[epoch * rows : (epoch + 1) * rows])
        for first in range(0, used - batch + 1, batch):
            chosen = order[first : first + batch]
            for step in range(1 + walkback):
                words = noise[((epoch * used + first) * (1 + walkback) + step * batch) * n :]
                if step == 0:
                    corrupt_some_bits(x, chosen, words, n, works[0].limits, shape, works[0].inputs[:batch])
                else:
                    corrupt_some_values(works[0].rows, words, n, works[0].limits, shape, works[0].inputs[:batch])
                batch_gradient(x, chosen, tied, squared, momentum, stack, widths, works, gradients)
                updates += 1
                for k in range(len(stack)):
                    move(stack[k], gradients[k], moments[k], rule, tied, batch, updates, widths[k], widths[k + 1])
                keep_transposes(tied, stack, works)
    return updates
