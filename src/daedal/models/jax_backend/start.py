"""Where training starts on the device: drawn parameters; and the way between a device's arrays and the kernels'."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from daedal import kernels
from daedal.models.jax_backend.modules import jax, jnp
from daedal.models.jax_backend.network import Layer
from daedal.models.network_start import MEAN_WITHIN, SIGMOID_GAIN, stack_arrays, stack_of


def draw_layers(
    widths: tuple[int, ...], key: Any, scale: Any, *, tied: bool, glorot: bool, mean: Any | None
) -> tuple[Layer, ...]:
    """Draw small normal parameters (Algorithm 2, line 1), as `network_start.drawn_stack` does.

    scale (), mean (n,) or None.
    """
    layers = []
    for k, (n, m) in enumerate(pairwise(widths)):
        keys = jax.random.split(jax.random.fold_in(key, k), 4)
        sd = jnp.float32(SIGMOID_GAIN * math.sqrt(2 / (n + m))) if glorot else scale
        encoder = sd * jax.random.normal(keys[0], (n, m), jnp.float32)
        decoder = None if tied else sd * jax.random.normal(keys[1], (n, m), jnp.float32)
        if mean is None:
            biases = [scale * jax.random.normal(keys[2 + i], (size,), jnp.float32) for i, size in enumerate((m, n))]
        else:
            likely = jnp.clip(mean, *map(jnp.float32, MEAN_WITHIN))
            down = encoder if decoder is None else decoder
            biases = [-mean @ encoder, jnp.log(likely / (1 - likely)) - down.sum(axis=1) / 2]
            mean = jnp.full(m, 0.5, jnp.float32)
        layers.append(Layer(encoder, decoder, *biases))
    return tuple(layers)


def blended(new: tuple[Layer, ...], old: tuple[Layer, ...], share: Any) -> tuple[Layer, ...]:
    """Give a share, shape (), of old parameters and, for the rest, new ones."""
    found: tuple[Layer, ...] = jax.tree.map(lambda one, before: (1 - share) * one + share * before, new, old)
    return found


def layers_of(stack: kernels.network.Stack, widths: tuple[int, ...]) -> tuple[Layer, ...]:
    """Give the kernels' parameters without padding."""
    arrays = stack_arrays(stack, widths)
    return tuple(Layer(*(arrays.get(f"{k}/{name}") for name in Layer._fields)) for k in range(len(stack)))


def stack_from(layers: tuple[Layer, ...], widths: tuple[int, ...]) -> kernels.network.Stack:
    """Give parameters, of NumPy, as the kernels have them."""
    arrays = {
        f"{k}/{name}": np.asarray(values)
        for k, layer in enumerate(layers)
        for name, values in layer._asdict().items()
        if values is not None
    }
    return stack_of(arrays, widths, tied=layers[0].decoder is None)


def zero_layers(widths: tuple[int, ...], *, tied: bool) -> tuple[Layer, ...]:
    """Make parameters of NumPy that are all zero."""
    zeros = [[np.zeros(size, dtype=np.float32) for size in ((n, m), (n, m), m, n)] for n, m in pairwise(widths)]
    return tuple(Layer(up, None if tied else down, *biases) for up, down, *biases in zeros)
