"""Where the training of an autoencoder starts: drawn parameters, biases from the parents, or the last generation's."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from daedal import kernels

MEAN_WITHIN = (0.005, 0.995)
"""A first bias is the logit of a mean, clipped so that no bit is ever certain."""

SIGMOID_GAIN = 4.0
"""The logistic function is a quarter as steep as what Glorot and Bengio's scale is for."""


def drawn_stack(
    widths: tuple[int, ...],
    *,
    tied: bool,
    init: Literal["normal", "glorot"],
    scale: float,
    mean: NDArray[np.float64] | None,
    rng: np.random.Generator,
) -> kernels.network.Stack:
    """Draw small normal parameters (Algorithm 2, line 1), layer by layer.

    Parameters
    ----------
    widths
        Variables, and the units of each hidden layer.
    tied
        Whether decoders are the transposes of encoders.
    init, scale
        Standard deviation: `scale`, or, of weights, 4 sqrt(2 / (inputs + outputs)).
    mean
        Share of ones of each variable, shape (n,): biases are then set so that the first reconstruction of anything is
        about this, and hidden units are half on. None: biases are drawn, too.
    rng
        Randomness.
    """

    def draw(sd: float, *shape: int) -> NDArray[np.float32]:
        return (sd * rng.standard_normal(shape)).astype(np.float32)

    stack = []
    for n, m in pairwise(widths):
        sd = scale if init == "normal" else SIGMOID_GAIN * math.sqrt(2 / (n + m))
        theta = kernels.dae.zero_parameters(n, m, tied=tied)
        theta.encoder[:n, :m] = draw(sd, n, m)
        if not tied:
            theta.decoder[:n, :m] = draw(sd, n, m)
        if mean is None:
            theta.hidden_bias[:m] = draw(scale, m)
            theta.output_bias[:n] = draw(scale, n)
        else:
            _set_biases(theta, mean)
            mean = np.full(m, 0.5)
        theta.decoder_t[...] = theta.decoder.T
        stack.append(theta)
    return tuple(stack)


def _set_biases(theta: kernels.dae.Parameters, mean: NDArray[np.float64]) -> None:
    """Let hidden units be half on at the mean, and outputs be the mean where hidden units are half on."""
    n, likely = mean.size, np.clip(mean, *MEAN_WITHIN)
    theta.hidden_bias[...] = -mean @ theta.encoder[:n]
    theta.output_bias[:n] = np.log(likely / (1 - likely)) - theta.decoder[:n].sum(axis=1) / 2


def blended(new: kernels.network.Stack, old: kernels.network.Stack, share: float) -> kernels.network.Stack:
    """Give a share of old parameters and, for the rest, new ones, in place of the new: shrunk and perturbed."""
    for theta, before in zip(new, old, strict=True):
        for name in kernels.dae.Gradient._fields:
            if name != "decoder" or theta.decoder is not theta.encoder:
                values = getattr(theta, name)
                values *= np.float32(1 - share)
                values += np.float32(share) * getattr(before, name)
        theta.decoder_t[...] = theta.decoder.T
    return new


def stack_arrays(stack: kernels.network.Stack, widths: tuple[int, ...]) -> dict[str, NDArray[np.float32]]:
    """Give all parameters by name, without padding; tied ones once."""
    found = {}
    for k, theta in enumerate(stack):
        shapes = _shapes(widths[k], widths[k + 1], tied=theta.decoder is theta.encoder)
        for name, shape in shapes.items():
            found[f"{k}/{name}"] = getattr(theta, name)[tuple(map(slice, shape))].copy()
    return found


def stack_of(arrays: dict[str, NDArray[np.float32]], widths: tuple[int, ...], *, tied: bool) -> kernels.network.Stack:
    """Give what `stack_arrays` was given; arrays from a file are refused where they are not that."""
    stack = []
    for k, (n, m) in enumerate(pairwise(widths)):
        theta = kernels.dae.zero_parameters(n, m, tied=tied)
        for name, shape in _shapes(n, m, tied=tied).items():
            kept = arrays.get(f"{k}/{name}")
            if kept is None or kept.shape != shape or kept.dtype != np.float32 or not np.isfinite(kept).all():
                came = "none" if kept is None else f"shape={kept.shape}, dtype={kept.dtype}"
                raise ValueError(
                    f"expected parameters {k}/{name} of an autoencoder, shape={shape}, float32, got {came}"
                )
            getattr(theta, name)[tuple(map(slice, shape))] = kept
        theta.decoder_t[...] = theta.decoder.T
        stack.append(theta)
    return tuple(stack)


def _shapes(n: int, m: int, *, tied: bool) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {"encoder": (n, m), "hidden_bias": (m,), "output_bias": (n,)}
    return shapes if tied else {**shapes, "decoder": (n, m)}
