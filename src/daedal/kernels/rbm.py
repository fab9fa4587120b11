"""Training and sampling of the restricted Boltzmann machine on plain arrays: contrastive divergence, Gibbs steps.

Rows are padded as `products` says, and the padding is zero throughout. Random words are drawn by the caller. A unit is
drawn by comparing its probability with a 16-bit word, so that each probability is met within 2^-17 = 7.6e-6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit
from daedal.kernels.logistic import logistic, tanh_quotient
from daedal.kernels.noise import shuffle
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


class Parameters(NamedTuple):
    """The law p(v, h) ~ exp(visible_bias v + hidden_bias h + (v - mean) W h)."""

    weights: _Floats  # W, (padded n, padded m)
    weights_t: _Floats  # (padded m, padded n): W as `keep_transpose` has it
    hidden_bias: _Floats  # (padded m,)
    visible_bias: _Floats  # (padded n,)
    mean: _Floats  # (padded n,): what the visible units are centred by; zero outside training


class Workspace(NamedTuple):
    """Where a batch of b rows is processed; nothing is allocated inside an epoch."""

    visible: _Floats  # (2b, padded n): the centred data above the centred end of the chain
    hidden: _Floats  # (2b, padded m): the hiddens of the data above the negated probabilities at the chain's end
    visible_input: _Floats  # (b, padded n)
    hidden_input: _Floats  # (b, padded m)
    scratch: _Floats  # (padded n, padded m)
    live_visible: _Floats  # (padded n,): 1, and 0 in the padding
    live_hidden: _Floats  # (padded m,): 1, and 0 in the padding
    no_mean: _Floats  # (padded m,): zeros


def zero_parameters(n: int, m: int) -> Parameters:
    """Make parameters of the right shapes, all zero."""
    return Parameters(
        weights=np.zeros((padded(n), padded(m)), dtype=np.float32),
        weights_t=np.zeros((padded(m), padded(n)), dtype=np.float32),
        hidden_bias=np.zeros(padded(m), dtype=np.float32),
        visible_bias=np.zeros(padded(n), dtype=np.float32),
        mean=np.zeros(padded(n), dtype=np.float32),
    )


def make_workspace(n: int, m: int, batch: int) -> Workspace:
    """Make the workspace for batches of up to `batch` rows."""
    workspace = Workspace(
        visible=np.zeros((2 * batch, padded(n)), dtype=np.float32),
        hidden=np.zeros((2 * batch, padded(m)), dtype=np.float32),
        visible_input=np.zeros((batch, padded(n)), dtype=np.float32),
        hidden_input=np.zeros((batch, padded(m)), dtype=np.float32),
        scratch=np.zeros((padded(n), padded(m)), dtype=np.float32),
        live_visible=np.zeros(padded(n), dtype=np.float32),
        live_hidden=np.zeros(padded(m), dtype=np.float32),
        no_mean=np.zeros(padded(m), dtype=np.float32),
    )
    workspace.live_visible[:n] = 1
    workspace.live_hidden[:m] = 1
    return workspace


@njit(**OPTIONS)
def centre(x: _Bytes, order: _Index, n: int, mean: _Floats, out: _Floats) -> None:
    """Row i of out becomes row order[i] of x, less the mean: x (any, padded n), out (rows, padded n)."""
    columns = whole_vectors(n)
    for i in range(order.size):
        row = x[order[i]]
        for j in range(columns):
            out[i, j] = _f(_i(row[j])) - mean[j]


@njit(**OPTIONS)
def draw(inputs: _Floats, words: _Words, n: int, live: _Floats, mean: _Floats, out: _Floats) -> None:
    """Draw units of n real columns: out is 1 with probability logistic(inputs), else 0, less the mean.

    inputs and out (rows, padded n), words (rows * n + LANES,), live and mean (padded n,). A word is taken at the
    middle of its step, so that the probability of a 1 is the logistic function rounded to whole steps of 2^-16. The
    words beyond a row's n are read for its padding, and without effect.
    """
    columns = whole_vectors(n)
    for i in range(inputs.shape[0]):
        row_words = words[i * n : i * n + columns]
        for j in range(columns):
            u = _f(_i(row_words[j])) * _f(2**-15) - _f(1 - 2**-16)
            # Whether u, in -1..1, is below tanh(x / 2) = 2 logistic(x) - 1: multiplied out, it takes no division.
            numerator, denominator = tanh_quotient(inputs[i, j])
            bit = live[j] if u * denominator < numerator else _f(0)
            out[i, j] = bit - mean[j]


@njit(**OPTIONS)
def negated_probabilities(inputs: _Floats, m: int, live: _Floats, out: _Floats) -> None:
    """Set out = -logistic(inputs), for m real columns; both (rows, padded m), live (padded m,)."""
    columns = whole_vectors(m)
    for i in range(inputs.shape[0]):
        for j in range(columns):
            out[i, j] = -logistic(inputs[i, j]) * live[j]


@njit(**OPTIONS)
def ascend_bias(first: _Floats, second: _Floats, sign: np.float32, step: np.float32, n: int, bias: _Floats) -> None:
    """Add step * (sum of first's rows + sign * sum of second's) to bias, for n real columns."""
    columns = whole_vectors(n)
    for i in range(first.shape[0]):
        for j in range(columns):
            bias[j] += step * (first[i, j] + sign * second[i, j])


@njit(**OPTIONS)
def contrastive_divergence(
    b: int, words: _Words, cd_steps: int, n: int, m: int, theta: Parameters, work: Workspace
) -> None:
    """Run the chain from b centred rows in work.visible and leave both phases of the gradient in the workspace.

    The positive phase has drawn hiddens, the negative one hidden probabilities, negated: so stacked, the difference of
    the two outer products is one product. words (cd_steps * b * (n + m) + LANES,).
    """
    data, end = work.visible[:b], work.visible[b : 2 * b]
    data_hidden, end_hidden = work.hidden[:b], work.hidden[b : 2 * b]
    hidden_input, visible_input = work.hidden_input[:b], work.visible_input[:b]
    affine(data, theta.weights, theta.hidden_bias, n, m, hidden_input)
    draw(hidden_input, words, m, work.live_hidden, work.no_mean, data_hidden)
    used = b * m
    for step in range(cd_steps):
        if step > 0:
            draw(hidden_input, words[used:], m, work.live_hidden, work.no_mean, end_hidden)
            used += b * m
        given = end_hidden if step > 0 else data_hidden
        affine_transposed(given, theta.weights, theta.weights_t, theta.visible_bias, m, n, visible_input)
        draw(visible_input, words[used:], n, work.live_visible, theta.mean, end)
        used += b * n
        affine(end, theta.weights, theta.hidden_bias, n, m, hidden_input)
    negated_probabilities(hidden_input, m, work.live_hidden, end_hidden)


@njit(**OPTIONS)
def _ascend(weights: _Floats, gradient: _Floats, step: np.float32) -> None:
    for i in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            weights[i, j] += step * gradient[i, j]


@njit(**OPTIONS)
def train(
    x: _Bytes, order: _Index, shuffle_words: NDArray[np.uint32], noise: _Words, epochs: int, batch: int,
    cd_steps: int, n: int, m: int, rate: float, bias_rate: float, momentum: float,
    theta: Parameters, gradient: _Floats, work: Workspace,
) -> None:  # fmt: skip
    """Stochastic gradient ascent for some epochs; the rows left over by an epoch's last batch are dropped.

    x (rows, padded n), order (rows,), shuffle_words (epochs * rows,), noise (epochs * rows * cd_steps * (n + m) +
    LANES,), gradient (padded n, padded m): the weights' own, summed over a batch, with momentum.
    """
    rows = order.size
    step, bias_step = _f(rate / batch), _f(bias_rate / batch)
    for epoch in range(epochs):
        shuffle(order, shuffle_words[epoch * rows : (epoch + 1) * rows])
        for first in range(0, rows - batch + 1, batch):
            centre(x, order[first : first + batch], n, theta.mean, work.visible[:batch])
            words = noise[(epoch * rows + first) * cd_steps * (n + m) :]
            contrastive_divergence(batch, words, cd_steps, n, m, theta, work)
            visible, hidden = work.visible[: 2 * batch], work.hidden[: 2 * batch]
            accumulate_outer_products(visible, hidden, n, m, _f(momentum), gradient, work.scratch)
            _ascend(theta.weights, gradient, step)
            keep_transpose(theta.weights, theta.weights_t)
            ascend_bias(visible[:batch], visible[batch:], _f(-1), bias_step, n, theta.visible_bias)
            ascend_bias(hidden[:batch], hidden[batch:], _f(1), bias_step, m, theta.hidden_bias)


@njit(**OPTIONS)
def gibbs_step(b: int, words: _Words, n: int, m: int, theta: Parameters, work: Workspace) -> None:
    """Draw hiddens from the first b rows of work.visible, then those rows anew; words (b * (n + m) + LANES,)."""
    visible, hidden = work.visible[:b], work.hidden[:b]
    hidden_input, visible_input = work.hidden_input[:b], work.visible_input[:b]
    affine(visible, theta.weights, theta.hidden_bias, n, m, hidden_input)
    draw(hidden_input, words, m, work.live_hidden, work.no_mean, hidden)
    affine_transposed(hidden, theta.weights, theta.weights_t, theta.visible_bias, m, n, visible_input)
    draw(visible_input, words[b * m :], n, work.live_visible, theta.mean, visible)


@njit(**OPTIONS)
def sample(
    x: _Bytes, order: _Index, words: _Words, steps: int, n: int, m: int,
    theta: Parameters, work: Workspace, out: _Bytes,
) -> None:  # fmt: skip
    """Gibbs chains: row i of out is where the one that starts at row order[i] of x stands after some steps.

    x (any, padded n), order (rows,), words (steps * rows * (n + m) + LANES,), out (rows, padded n).
    """
    batch = work.hidden_input.shape[0]
    rows = order.size
    for first in range(0, rows, batch):
        b = min(batch, rows - first)
        visible = work.visible[:b]
        centre(x, order[first : first + b], n, theta.mean, visible)
        for step in range(steps):
            gibbs_step(b, words[(step * b + first * steps) * (n + m) :], n, m, theta, work)
        for i in range(b):
            for j in range(n):
                out[first + i, j] = visible[i, j] + theta.mean[j] > _f(0.5)


@njit(**OPTIONS)
def reconstruction_error(
    x: _Bytes, order: _Index, words: _Words, n: int, m: int, theta: Parameters, work: Workspace
) -> float:
    """Give the share of bits that one Gibbs step changes: x (any, padded n), order (rows,), words as for one step."""
    batch = work.hidden_input.shape[0]
    rows = order.size
    total = 0.0
    for first in range(0, rows, batch):
        b = min(batch, rows - first)
        visible, data = work.visible[:b], work.visible[batch : batch + b]
        centre(x, order[first : first + b], n, theta.mean, visible)
        centre(x, order[first : first + b], n, theta.mean, data)
        gibbs_step(b, words[first * (n + m) :], n, m, theta, work)
        for i in range(b):
            changed = _f(0)
            for j in range(n):
                changed += abs(visible[i, j] - data[i, j])
            total += np.float64(changed)
    return total / (rows * n)
