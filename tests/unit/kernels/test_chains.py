"""Samples of networks, by every kind of chain, against slow twins in float64 that are given the same words."""

from __future__ import annotations

import kernels_helpers as twin
import numpy as np
import pytest
from deep_twin import DeepNet, draw_deep, make_works, to_stack
from scipy.special import expit, logit

from daedal.kernels import chains
from daedal.kernels.noise import noise_shape
from daedal.kernels.tiles import LANES

ROWS, STEPS = 23, 3


def slow_chain(net: DeepNet, start: twin.Floats, noise: twin.Floats, coins: twin.Floats, cooling: float) -> twin.Floats:
    z = (start % 2).astype(float)
    for step in range(STEPS):
        if step and coins.size:
            drawn = coins[(step - 1) * z.size : step * z.size].reshape(z.shape) / 2**16
            assert np.abs(drawn - z).min() > 1e-6, "another seed: a coin is too close to call"
            z = (drawn < z).astype(float)
        z = net.reconstruct(twin.slow_corrupt(z, noise[step * z.size :], twin.limit_of(0.1)))
        z = expit(cooling * logit(z))
    return z


@pytest.mark.parametrize("cooling", [1.0, 0.5, 3.0])
@pytest.mark.parametrize("bits", [False, True])
@pytest.mark.parametrize("widths", [(12, 9), (12, 9, 5)])
def test_chains(widths: tuple[int, ...], bits: bool, cooling: float) -> None:
    """Draws just below and just above the twin's probabilities pin those of the kernel between them."""
    net, n = draw_deep(widths, tied=True), widths[0]
    start, noise = twin.draw_words(ROWS * n, seed=7).reshape(ROWS, n), twin.draw_words(STEPS * ROWS * n + LANES, seed=8)
    coins = twin.draw_words((STEPS - 1) * ROWS * n if bits else 0, seed=6)
    z = slow_chain(net, start, noise, coins, cooling)
    tolerance = 5e-5
    for batch in (5, 64):
        for shift, expected in ((-tolerance, 1), (tolerance, 0)):
            draws = np.clip((z + shift) * 2.0**32, 0, 2**32 - 1).astype(np.uint32).ravel()
            out = np.full((ROWS, n), 9, dtype=np.uint8)
            chains.sample(
                start.ravel(), noise.copy(), coins, draws, STEPS, noise_shape(), cooling, to_stack(net), widths,
                make_works(net, batch), out,
            )  # fmt: skip
            sure = (z > tolerance) & (z < 1 - tolerance)
            assert (out[sure] == expected).all()
            assert sure.mean() > 0.9
