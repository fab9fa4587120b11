"""The autoencoder in float64, one obvious line a step, and the way from it to the kernels' arrays and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from daedal.kernels import dae, network
from daedal.kernels.descent import Rule as KernelRule
from daedal.kernels.descent import zero_moments
from daedal.kernels.noise import NoiseShape, noise_shape
from daedal.kernels.products import TILED_UP_TO, padded

LAYER = 3e-6
"""What one float32 layer may be off by: the stated 4e-7 of the logistic, and roundings of sums of n terms of size 1."""

BLAS = TILED_UP_TO + 1
SHAPES = [(1, 1), (5, 4), (8, 8), (9, 17), (34, 20), (64, 64), (256, 130), (BLAS, 20), (20, BLAS)]
"""Below and above a vector, at a whole number of them, beyond one logarithm's 32 bits, and on the side of BLAS."""

Floats = np.ndarray


@dataclass
class Net:
    """Theta without padding, in float64; tied weights are one array."""

    encoder: Floats  # (n, m)
    decoder: Floats  # (n, m)
    hidden_bias: Floats
    output_bias: Floats

    def arrays(self) -> dict[str, Floats]:
        names = ["encoder", "hidden_bias", "output_bias"]
        return {name: getattr(self, name) for name in names + ["decoder"] * (self.decoder is not self.encoder)}

    def hidden(self, x: Floats) -> Floats:
        return expit(x @ self.encoder + self.hidden_bias)

    def reconstruct(self, x: Floats) -> Floats:
        return expit(self.hidden(x) @ self.decoder.T + self.output_bias)

    def error(self, x: Floats, corrupted: Floats, squared: bool) -> float:
        """Err(x, z), summed over rows and bits."""
        z = self.reconstruct(corrupted)
        if squared:
            return float(((z - x) ** 2).sum())
        right = np.where(x == 1, z, 1 - z)
        return float(-np.log(np.maximum(right, dae.SMALLEST_PROBABILITY)).sum())

    def gradient(self, x: Floats, corrupted: Floats, squared: bool) -> Net:
        h = self.hidden(corrupted)
        z = expit(h @ self.decoder.T + self.output_bias)
        output = (z - x) * (2 * z * (1 - z) if squared else 1)
        hidden = output @ self.decoder * h * (1 - h)
        encoder, decoder = corrupted.T @ hidden, output.T @ h
        if self.decoder is self.encoder:
            encoder = decoder = encoder + decoder
        return Net(encoder, decoder, hidden.sum(axis=0), output.sum(axis=0))


def slow_shuffle(order: list[int], words: list[int]) -> list[int]:
    order = list(order)
    for i in reversed(range(1, len(order))):
        j = words[i] * (i + 1) // 2**32
        order[i], order[j] = order[j], order[i]
    return order


def slow_corrupt(x: Floats, words: Floats, limit: int) -> Floats:
    """Replace entry k, counted row by row, where word k is below the limit."""
    words = words[: x.size].astype(np.int64).reshape(x.shape)
    return np.where(words < limit, words % 2, x)


@dataclass(frozen=True)
class Rule:
    """How the weights are changed."""

    rate: float = 0.2
    bias_rate: float = 0.5
    momentum: float = 0.0
    keep: float = 1.0
    adam: bool = False


def train(
    stack: network.Stack, widths: network.Widths, works: network.Workspaces, gradients: network.Gradients,
    data: Floats, order: Floats, swaps: Floats, noise: Floats, batch: int, tied: bool, squared: bool, rule: Rule,
    *, walkback: int = 0, used: int | None = None, shape: NoiseShape | None = None,
) -> int:  # fmt: skip
    """Let the kernel train, for as many epochs as there are words to shuffle; give the number of updates."""
    rows = len(order)
    moments = tuple(zero_moments(theta, adam=rule.adam) for theta in stack)
    how = KernelRule(rule.rate, rule.bias_rate, rule.momentum, rule.keep, rule.adam)
    return network.train(
        data, order, rows if used is None else used, swaps, noise, noise_shape() if shape is None else shape,
        swaps.size // rows, batch, walkback, tied, squared, how, 0, stack, widths, works, gradients, moments,
    )  # fmt: skip


def slow_train(net: Net, x: Floats, swaps: Floats, noise: Floats, batch: int, limit: int, squared: bool, rule: Rule):
    """Train in place; give the order of the rows that the last epoch had, and the weights' velocity."""
    rows, n = x.shape
    order = list(range(rows))
    velocity = {"encoder": np.zeros_like(net.encoder), "decoder": np.zeros_like(net.encoder)}
    for epoch in range(swaps.size // rows):
        order = slow_shuffle(order, swaps[epoch * rows : (epoch + 1) * rows].tolist())
        for first in range(0, rows // batch * batch, batch):
            chosen = x[order[first : first + batch]].astype(float)
            corrupted = slow_corrupt(chosen, noise[(epoch * rows + first) * n :], limit)
            gradient = net.gradient(chosen, corrupted, squared)
            for name in ["encoder"] + ["decoder"] * (net.decoder is not net.encoder):
                velocity[name] = rule.momentum * velocity[name] + getattr(gradient, name)
                weights = getattr(net, name)
                weights[...] = rule.keep * weights - rule.rate / batch * velocity[name]
            net.hidden_bias -= rule.bias_rate / batch * gradient.hidden_bias
            net.output_bias -= rule.bias_rate / batch * gradient.output_bias
    return order, velocity


def slow_sample(net: Net, start: Floats, noise: Floats, steps: int, limit: int) -> Floats:
    """Give the probabilities after the last step."""
    z = (start % 2).astype(float)
    for step in range(steps):
        z = net.reconstruct(slow_corrupt(z, noise[step * z.size :], limit))
    return z


def slow_sample_given(net: Net, start: Floats, held: Floats, noise: Floats, steps: int, limit: int) -> Floats:
    """Give the probabilities after the last step, where what is held goes into each as it is in the start."""
    z = start.astype(float)
    for step in range(steps):
        z = net.reconstruct(np.where(held == 1, start, slow_corrupt(z, noise[step * z.size :], limit)))
    return z


def draw_net(n: int, m: int, *, tied: bool, seed: int = 0, scale: float = 1.0) -> Net:
    """Draw weights at which the layers are neither flat nor saturated, whatever their widths."""
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> Floats:
        return rng.standard_normal(shape).astype(np.float32).astype(np.float64)

    encoder = (draw(n, m) * scale / np.sqrt(max(n, m))).astype(np.float32).astype(np.float64)
    decoder = encoder if tied else (draw(n, m) * scale / np.sqrt(max(n, m))).astype(np.float32).astype(np.float64)
    return Net(encoder, decoder, draw(m), draw(n))


def to_parameters(net: Net) -> dae.Parameters:
    n, m = net.encoder.shape
    theta = dae.zero_parameters(n, m, tied=net.decoder is net.encoder)
    theta.encoder[:n, :m] = net.encoder
    theta.decoder[:n, :m] = net.decoder
    theta.decoder_t[...] = theta.decoder.T
    theta.hidden_bias[:m] = net.hidden_bias
    theta.output_bias[:n] = net.output_bias
    return theta


def assert_same(theta: dae.Parameters | dae.Gradient, net: Net, tolerance: float) -> None:
    """Compare every parameter, and refuse anything but zero in the padding."""
    n, m = net.encoder.shape
    for name, expected in net.arrays().items():
        got = getattr(theta, name)
        size = {"hidden_bias": (m,), "output_bias": (n,)}.get(name, (n, m))
        real = tuple(slice(0, k) for k in size)
        np.testing.assert_allclose(got[real], expected, rtol=tolerance, atol=tolerance, err_msg=name)
        padding = got.copy()
        padding[real] = 0
        assert not padding.any(), f"padding of {name}"


def pad(x: Floats, dtype: type = np.uint8) -> Floats:
    out = np.zeros((len(x), padded(x.shape[1])), dtype=dtype)
    out[:, : x.shape[1]] = x
    return out


def draw_bits(rows: int, n: int, seed: int = 1) -> Floats:
    return np.random.default_rng(seed).integers(0, 2, (rows, n), dtype=np.uint8)


def draw_words(count: int, bits: int = 16, seed: int = 2) -> Floats:
    return np.random.default_rng(seed).integers(0, 2**bits, count, dtype=f"uint{bits}")


def limit_of(corruption: float) -> int:
    return int(dae.make_workspace(1, 1, 1, corruption).limits[0])
