"""An autoencoder of several layers in float64, one obvious line a step, and the way from it to the kernels' arrays."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import kernels_helpers as twin
import numpy as np
from kernels_helpers import Floats, Net, Rule
from scipy.special import expit

from daedal.kernels import dae, network


@dataclass
class DeepNet:
    """Layers from the bottom up, each with its encoder and its decoder."""

    layers: list[Net]

    @property
    def tied(self) -> bool:
        return self.layers[0].decoder is self.layers[0].encoder

    @property
    def widths(self) -> tuple[int, ...]:
        return (self.layers[0].encoder.shape[0], *(layer.encoder.shape[1] for layer in self.layers))

    def states(self, x: Floats) -> tuple[list[Floats], list[Floats]]:
        """Give what encoders read, and the code; and what decoders read, from the code down, and the output."""
        up, down = [x], []
        for layer in self.layers:
            up.append(layer.hidden(up[-1]))
        down.append(up[-1])
        for layer in reversed(self.layers):
            down.append(expit(down[-1] @ layer.decoder.T + layer.output_bias))
        return up, down

    def reconstruct(self, x: Floats) -> Floats:
        return self.states(x)[1][-1]

    def error(self, x: Floats, corrupted: Floats, squared: bool) -> float:
        z = self.reconstruct(corrupted)
        if squared:
            return float(((z - x) ** 2).sum())
        return float(-np.log(np.maximum(np.where(x == 1, z, 1 - z), dae.SMALLEST_PROBABILITY)).sum())

    def gradient(self, x: Floats, corrupted: Floats, squared: bool) -> list[Net]:
        up, down = self.states(corrupted)
        depth, z = len(self.layers), down[-1]
        found = [
            Net(*(np.zeros_like(a) for a in (n.encoder, n.decoder, n.hidden_bias, n.output_bias))) for n in self.layers
        ]
        error = (z - x) * (2 * z * (1 - z) if squared else 1)
        for k, layer in enumerate(self.layers):  # up through the decoders
            reads = down[depth - 1 - k]
            found[k].decoder, found[k].output_bias = error.T @ reads, error.sum(axis=0)
            error = error @ layer.decoder * reads * (1 - reads)
        for k, layer in reversed(list(enumerate(self.layers))):  # down through the encoders
            found[k].encoder, found[k].hidden_bias = up[k].T @ error, error.sum(axis=0)
            error = error @ layer.encoder.T * up[k] * (1 - up[k])
        if self.tied:
            for one in found:
                one.encoder = one.decoder = one.encoder + one.decoder
        return found


def draw_deep(widths: tuple[int, ...], *, tied: bool, scale: float = 2.0) -> DeepNet:
    return DeepNet([twin.draw_net(n, m, tied=tied, seed=k, scale=scale) for k, (n, m) in enumerate(pairwise(widths))])


def to_stack(net: DeepNet) -> network.Stack:
    return tuple(map(twin.to_parameters, net.layers))


def make_works(net: DeepNet, batch: int, corruption: float = 0.1, *, walkback: bool = False) -> network.Workspaces:
    return tuple(
        dae.make_workspace(n, m, batch, corruption, inner=k > 0 and not net.tied, walkback=walkback and k == 0)
        for k, (n, m) in enumerate(pairwise(net.widths))
    )


def assert_same_stack(
    stack: tuple[dae.Parameters, ...] | tuple[dae.Gradient, ...], nets: list[Net], within: float
) -> None:
    for theta, net in zip(stack, nets, strict=True):
        twin.assert_same(theta, net, within)


def slow_train(
    net: DeepNet, x: Floats, swaps: Floats, noise: Floats, batch: int, limit: int, rule: Rule,
    *, walkback: int = 0, used: int | None = None,
) -> None:  # fmt: skip
    """Train in place."""
    (rows, n), order, count = x.shape, list(range(len(x))), 0
    used = rows if used is None else used
    memory = [{name: [0.0, 0.0] for name in layer.arrays()} for layer in net.layers]
    for epoch in range(swaps.size // rows):
        order = twin.slow_shuffle(order, swaps[epoch * rows : (epoch + 1) * rows].tolist())
        for first in range(0, used // batch * batch, batch):
            chosen = x[order[first : first + batch]].astype(float)
            read = chosen
            for step in range(1 + walkback):
                words = noise[((epoch * used + first) * (1 + walkback) + step * batch) * n :]
                corrupted = twin.slow_corrupt(read, words, limit)
                read, gradients = net.reconstruct(corrupted), net.gradient(chosen, corrupted, False)
                count += 1
                for layer, gradient, kept in zip(net.layers, gradients, memory, strict=True):
                    for name, values in layer.arrays().items():
                        _move(values, getattr(gradient, name) / batch, kept[name], name.endswith("bias"), rule, count)


def _move(values: Floats, slope: Floats, kept: list[Floats | float], bias: bool, rule: Rule, count: int) -> None:
    rate, keep = (rule.bias_rate, 1.0) if bias else (rule.rate, rule.keep)
    if rule.adam:
        kept[0] = 0.9 * kept[0] + 0.1 * slope
        kept[1] = 0.999 * kept[1] + 0.001 * slope**2
        step = kept[0] / (1 - 0.9**count) / (np.sqrt(kept[1] / (1 - 0.999**count)) + 1e-8)
    else:
        kept[0] = (0 if bias else rule.momentum) * kept[0] + slope
        step = kept[0]
    values[...] = keep * values - rate * step
