"""The autoencoder's parameters, error and samples against slow twins in float64, given the same words."""

from __future__ import annotations

import kernels_helpers as twin
import numpy as np
import pytest

from daedal.kernels import chains, dae, network
from daedal.kernels.noise import noise_shape
from daedal.kernels.tiles import LANES

NO_COINS = np.empty(0, dtype=np.uint16)


def test_tied_parameters_stay_one_array_when_copied() -> None:
    for tied in (True, False):
        theta = twin.to_parameters(twin.draw_net(5, 4, tied=tied))
        copy = dae.copy_parameters(theta)
        assert (copy.decoder is copy.encoder) == tied
        for name in dae.Parameters._fields:
            assert (getattr(copy, name) == getattr(theta, name)).all()
            assert not np.shares_memory(getattr(copy, name), getattr(theta, name))


@pytest.mark.parametrize("rows", [1, 7, 8, 30])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("n", "m"), [*twin.SHAPES, (31, 8), (32, 8), (33, 8), (65, 8)])
def test_mean_error(n: int, m: int, tied: bool, squared: bool, rows: int) -> None:
    """In batches of seven, the last one full or not."""
    net, x = twin.draw_net(n, m, tied=tied), twin.draw_bits(rows, n)
    corrupted = twin.slow_corrupt(x, twin.draw_words(x.size), 2**13)
    work = dae.make_workspace(n, m, 7, 0.1)
    stack = (twin.to_parameters(net),)
    got = network.mean_error(twin.pad(x), twin.pad(corrupted, np.float32), squared, stack, (n, m), (work,))
    assert got == pytest.approx(net.error(x, corrupted, squared) / rows, rel=1e-5)


def test_the_cross_entropy_of_a_net_that_is_sure_and_wrong_is_finite() -> None:
    n = 100
    theta = dae.zero_parameters(n, 3, tied=True)
    theta.output_bias[:n] = np.where(np.arange(n) % 2, 1e6, -1e6)
    wrong = (1 - np.arange(n) % 2).astype(np.uint8)[None]
    work = dae.make_workspace(n, 3, 1, 0.1)

    def error_of(x: twin.Floats, squared: bool) -> float:
        return network.mean_error(twin.pad(x), twin.pad(wrong, np.float32), squared, (theta,), (n, 3), (work,))

    error = error_of(wrong, False)
    # The logistic may be off by 4e-7, which is more than the smallest probability.
    sureness = dae.SMALLEST_PROBABILITY
    assert -n * np.log(4e-7 + sureness) <= error <= -n * np.log(sureness) * (1 + 1e-6)
    assert error_of(1 - wrong, False) <= n * 5e-7
    assert error_of(wrong, True) == pytest.approx(n)


def kernel_sample(
    net: twin.Net, start: twin.Floats, noise: twin.Floats, draws: twin.Floats, steps: int, batch: int
) -> twin.Floats:
    n, m = net.encoder.shape
    out = np.full(start.shape, 9, dtype=np.uint8)
    work = dae.make_workspace(n, m, batch, 0.1)
    stack, shape = (twin.to_parameters(net),), noise_shape()
    chains.sample(start.ravel(), noise, NO_COINS, draws.ravel(), steps, shape, 1.0, stack, (n, m), (work,), out)
    return out


def as_draws(probability: twin.Floats) -> twin.Floats:
    return np.clip(probability * 2.0**32, 0, 2**32 - 1).astype(np.uint32)


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("n", "m"), twin.SHAPES)
def test_sample(n: int, m: int, tied: bool, steps: int) -> None:
    """Draws just below and just above the twin's probabilities pin those of the kernel between them."""
    rows, net = 23, twin.draw_net(n, m, tied=tied, scale=2.0)
    start, noise = twin.draw_words(rows * n, seed=7).reshape(rows, n), twin.draw_words(steps * rows * n + LANES, seed=8)
    z = twin.slow_sample(net, start, noise, steps, twin.limit_of(0.1))
    tolerance = 2e-5
    assert z.min() > tolerance
    assert z.max() < 1 - tolerance
    for batch in (5, 23, 64):
        assert kernel_sample(net, start, noise, as_draws(z - tolerance), steps, batch).all()
        assert not kernel_sample(net, start, noise, as_draws(z + tolerance), steps, batch).any()


def test_sample_draws_each_bit_once_in_the_end() -> None:
    rows, n, steps, net = 400, 12, 3, twin.draw_net(12, 12, tied=True)
    start, noise = twin.draw_words(rows * n, seed=7).reshape(rows, n), twin.draw_words(steps * rows * n + LANES, seed=8)
    draws = twin.draw_words(rows * n, 32, seed=9).reshape(rows, n)
    z = twin.slow_sample(net, start, noise, steps, twin.limit_of(0.1))
    assert np.abs(draws / 2**32 - z).min() > 1e-5, "another seed: a draw is too close to call"
    assert (kernel_sample(net, start, noise, draws, steps, 128) == (draws / 2**32 < z)).all()


@pytest.mark.parametrize("sample_of", [0, 1])
def test_a_net_that_is_sure_draws_certainties(sample_of: int) -> None:
    net = twin.draw_net(9, 5, tied=True)
    net.output_bias[...] = 1e4 if sample_of else -1e4
    start, noise = np.zeros((6, 9), dtype=np.uint16), twin.draw_words(6 * 9 + LANES)
    # 4e-7 of 2^32 draws is what the logistic may be off by.
    for value in (1_718, 2**31, 2**32 - 1_719):
        draws = np.full((6, 9), value, dtype=np.uint32)
        assert (kernel_sample(net, start, noise, draws, 1, 6) == sample_of).all()
