"""Samples from given rows with some variables held fixed, against a slow twin in float64, given the same words."""

from __future__ import annotations

import kernels_helpers as twin
import numpy as np
import pytest

from daedal.kernels import chains, clamped, dae
from daedal.kernels.noise import noise_shape
from daedal.kernels.tiles import LANES


def kernel_sample(
    net: twin.Net, start: twin.Floats, held: twin.Floats, noise: twin.Floats, draws: twin.Floats, steps: int, batch: int
) -> twin.Floats:
    n, m = net.encoder.shape
    out = np.full(start.shape, 9, dtype=np.uint8)
    works = (dae.make_workspace(n, m, batch, 0.1),)
    clamped.sample_given(
        start, held, noise, draws.ravel(), steps, noise_shape(), 1.0, (twin.to_parameters(net),), (n, m), works, out
    )
    return out


def as_draws(probability: twin.Floats) -> twin.Floats:
    return np.clip(probability * 2.0**32, 0, 2**32 - 1).astype(np.uint32)


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("n", "m"), twin.SHAPES)
def test_draws_just_beside_the_twins_probabilities(n: int, m: int, tied: bool, steps: int) -> None:
    """They pin those of the kernel between them; what is clamped comes out as it went in, whatever is drawn."""
    rows, net = 23, twin.draw_net(n, m, tied=tied, scale=2.0)
    start, held = twin.draw_bits(rows, n, seed=3), twin.draw_bits(rows, n, seed=4)
    noise = twin.draw_words(steps * rows * n + LANES, seed=8)
    z = twin.slow_sample_given(net, start, held, noise, steps, twin.limit_of(0.1))
    tolerance = 2e-5
    assert z.min() > tolerance
    assert z.max() < 1 - tolerance
    for batch in (5, 23, 64):
        for shift, drawn in ((-tolerance, 1), (tolerance, 0)):
            out = kernel_sample(net, start, held, noise, as_draws(z + shift), steps, batch)
            assert np.array_equal(out, np.where(held == 1, start, drawn))


def test_without_clamped_bits_it_is_the_sample_of_the_autoencoder() -> None:
    """From the same random bits, by the same words."""
    rows, n, m, steps, net = 40, 12, 9, 3, twin.draw_net(12, 9, tied=True)
    start, noise = twin.draw_bits(rows, n), twin.draw_words(steps * rows * n + LANES)
    draws = twin.draw_words(rows * n, 32)
    out = np.empty((rows, n), np.uint8)
    works, coins = (dae.make_workspace(n, m, 16, 0.1),), np.empty(0, np.uint16)
    chains.sample(
        start.astype(np.uint16).ravel(), noise, coins, draws, steps, noise_shape(), 1.0, (twin.to_parameters(net),),
        (n, m), works, out,
    )  # fmt: skip
    assert np.array_equal(kernel_sample(net, start, np.zeros_like(start), noise, draws, steps, 16), out)
