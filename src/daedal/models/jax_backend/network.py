"""The autoencoder of one or more layers in JAX: reconstruction, error, gradient, and how a batch moves parameters.

It is the network of `daedal.kernels.network`, in float32 on every device; arrays are not padded.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.models.jax_backend.modules import jax, jnp, lax


class Layer(NamedTuple):
    """Parameters of a layer, or one number or array for each of them."""

    encoder: Any  # (n, m)
    decoder: Any  # (n, m): the transpose of h -> z; None where it is the encoder
    hidden_bias: Any  # (m,)
    output_bias: Any  # (n,)


class Learner(NamedTuple):
    """Parameters in training, and what their updates remember."""

    layers: tuple[Layer, ...]
    mean: tuple[Layer, ...]  # the last update (plain descent), or Adam's average of gradients
    square: tuple[Layer, ...] | None  # Adam's average of their squares
    updates: Any  # ()


class Rule(NamedTuple):
    """How much parameters move, shape () each; see `daedal.kernels.descent`."""

    rate: NDArray[np.float32]
    bias_rate: NDArray[np.float32]
    momentum: NDArray[np.float32]
    keep: NDArray[np.float32]


def new_learner(layers: tuple[Layer, ...], *, adam: bool) -> Learner:
    """Make one that has made no update."""
    zeros = jax.tree.map(jnp.zeros_like, layers)
    return Learner(layers, zeros, zeros if adam else None, jnp.int32(0))


def _product(rows: Any, weights: Any) -> Any:
    return jnp.matmul(rows, weights, precision=lax.Precision.HIGHEST)  # float32 also where less would be the rule


def encode(layers: tuple[Layer, ...], rows: Any) -> Any:
    """Take rows, shape (rows, n), up to the code of the top layer."""
    for layer in layers:
        rows = jax.nn.sigmoid(_product(rows, layer.encoder) + layer.hidden_bias)
    return rows


def logits(layers: tuple[Layer, ...], corrupted: Any) -> Any:
    """Give the input of the output layer, shape (rows, n), for corrupted rows."""
    rows = encode(layers, corrupted)
    for k in range(len(layers) - 1, -1, -1):
        decoder = layers[k].encoder if layers[k].decoder is None else layers[k].decoder
        rows = _product(rows, decoder.T) + layers[k].output_bias
        if k > 0:
            rows = jax.nn.sigmoid(rows)
    return rows


def mean_error(layers: tuple[Layer, ...], x: Any, corrupted: Any, *, squared: bool) -> Any:
    """Reconstruction error per row, of rows x and corrupted, shape (rows, n); no bit counts as impossible."""
    z = logits(layers, corrupted)
    if squared:
        errors = (jax.nn.sigmoid(z) - x) ** 2
    else:
        right = jax.nn.log_sigmoid(jnp.where(x > 0, z, -z))
        errors = -jnp.maximum(right, jnp.float32(math.log(kernels.dae.SMALLEST_PROBABILITY)))
    return errors.sum() / x.shape[0]


def batch_gradient(
    layers: tuple[Layer, ...], x: Any, corrupted: Any, *, squared: bool
) -> tuple[tuple[Layer, ...], Any]:
    """Give the gradient of the error, summed over a batch (Algorithm 2, lines 5-7), and the reconstructions."""

    def error(layers: tuple[Layer, ...]) -> tuple[Any, Any]:
        z = logits(layers, corrupted)
        y = jax.nn.sigmoid(z)
        return ((y - x) ** 2).sum() if squared else (jax.nn.softplus(z) - x * z).sum(), y

    gradient: tuple[tuple[Layer, ...], Any] = jax.grad(error, has_aux=True)(layers)
    return gradient


def move(learner: Learner, gradient: tuple[Layer, ...], rule: Rule, batch: int) -> Learner:
    """Move all parameters against the gradient of a batch; weights have momentum and decay, biases neither."""
    each = jax.tree.map
    one, none = jnp.float32(1), jnp.float32(0)
    rates, keeps = _for_each(learner, rule.rate, rule.bias_rate), _for_each(learner, rule.keep, one)
    share, count = jnp.float32(1 / batch), learner.updates + 1
    if learner.square is None:
        momenta = _for_each(learner, rule.momentum, none)
        mean = each(lambda v, g, momentum: momentum * v + g, learner.mean, gradient, momenta)
        layers = each(lambda w, v, rate, keep: keep * w - rate * share * v, learner.layers, mean, rates, keeps)
        return Learner(layers, mean, None, count)
    kept, square_kept = kernels.descent.MEAN_KEPT, kernels.descent.SQUARE_KEPT
    mean = each(lambda v, g: _average(v, share * g, kept), learner.mean, gradient)
    square = each(lambda s, g: _average(s, (share * g) ** 2, square_kept), learner.square, gradient)
    narrowing, widening = _begun(kept, count), 1 / _begun(square_kept, count)
    least = jnp.float32(kernels.descent.SMALLEST_DEVIATION)

    def step(w: Any, v: Any, s: Any, rate: Any, keep: Any) -> Any:
        return keep * w - rate / narrowing * (v / (jnp.sqrt(widening * s) + least))

    return Learner(each(step, learner.layers, mean, square, rates, keeps), mean, square, count)


def _for_each(learner: Learner, weights: Any, biases: Any) -> tuple[Layer, ...]:
    """Give a number for each parameter: one for weights, another for biases."""
    return tuple(Layer(weights, None if layer.decoder is None else weights, biases, biases) for layer in learner.layers)


def _average(old: Any, new: Any, kept: float) -> Any:
    return jnp.float32(kept) * old + jnp.float32(1 - kept) * new


def _begun(kept: float, count: Any) -> Any:
    """Give 1 - kept^count without the loss of digits that float32 has where kept is nearly 1."""
    return -jnp.expm1(count.astype(jnp.float32) * jnp.float32(math.log(kept)))
