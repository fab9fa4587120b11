"""The autoencoder's parameters, error and samples against slow twins in float64, given the same words."""

from __future__ import annotations

import numpy as np
import pytest
from kernels_helpers import (
    SHAPES,
    Floats,
    Net,
    draw_bits,
    draw_net,
    draw_words,
    limit_of,
    pad,
    slow_corrupt,
    slow_sample,
    to_parameters,
)
from scipy.special import expit

from daedal.kernels import dae
from daedal.kernels.tiles import LANES


@pytest.mark.parametrize("m", [1, 7, 8, 20, 64, 300])
def test_activate(m: int) -> None:
    a = 5 * np.random.default_rng(0).standard_normal((13, m)).astype(np.float32)
    out = pad(a, np.float32)
    dae.activate(out, m, dae.make_workspace(3, m, 1, 0.1).live_hidden)
    np.testing.assert_allclose(out[:, :m], expit(a.astype(np.float64)), rtol=0, atol=4e-7)
    assert not out[:, m:].any()


def test_tied_parameters_stay_one_array_when_copied() -> None:
    for tied in (True, False):
        theta = to_parameters(draw_net(5, 4, tied=tied))
        copy = dae.copy_parameters(theta)
        assert (copy.decoder is copy.encoder) == tied
        for name in dae.Parameters._fields:
            assert (getattr(copy, name) == getattr(theta, name)).all()
            assert not np.shares_memory(getattr(copy, name), getattr(theta, name))


@pytest.mark.parametrize("rows", [1, 7, 8, 30])
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("n", "m"), [*SHAPES, (31, 8), (32, 8), (33, 8), (65, 8)])
def test_mean_error(n: int, m: int, tied: bool, squared: bool, rows: int) -> None:
    """In batches of seven, the last one full or not."""
    net, x = draw_net(n, m, tied=tied), draw_bits(rows, n)
    corrupted = slow_corrupt(x, draw_words(x.size), 2**13)
    work = dae.make_workspace(n, m, 7, 0.1)
    got = dae.mean_error(pad(x), pad(corrupted, np.float32), n, m, squared, to_parameters(net), work)
    assert got == pytest.approx(net.error(x, corrupted, squared) / rows, rel=1e-5)


def test_the_cross_entropy_of_a_net_that_is_sure_and_wrong_is_finite() -> None:
    n = 100
    theta = dae.zero_parameters(n, 3, tied=True)
    theta.output_bias[:n] = np.where(np.arange(n) % 2, 1e6, -1e6)
    wrong = (1 - np.arange(n) % 2).astype(np.uint8)[None]
    work = dae.make_workspace(n, 3, 1, 0.1)
    error = dae.mean_error(pad(wrong), pad(wrong, np.float32), n, 3, False, theta, work)
    # The logistic may be off by 4e-7, which is more than the smallest probability.
    sureness = dae.SMALLEST_PROBABILITY
    assert -n * np.log(4e-7 + sureness) <= error <= -n * np.log(sureness) * (1 + 1e-6)
    assert dae.mean_error(pad(1 - wrong), pad(wrong, np.float32), n, 3, False, theta, work) <= n * 5e-7
    assert dae.mean_error(pad(wrong), pad(wrong, np.float32), n, 3, True, theta, work) == pytest.approx(n)


def kernel_sample(net: Net, start: Floats, noise: Floats, draws: Floats, steps: int, batch: int) -> Floats:
    n, m = net.encoder.shape
    out = np.full(start.shape, 9, dtype=np.uint8)
    work = dae.make_workspace(n, m, batch, 0.1)
    dae.sample(start.ravel(), noise, draws.ravel(), steps, n, m, to_parameters(net), work, out)
    return out


def as_draws(probability: Floats) -> Floats:
    return np.clip(probability * 2.0**32, 0, 2**32 - 1).astype(np.uint32)


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_sample(n: int, m: int, tied: bool, steps: int) -> None:
    """Draws just below and just above the twin's probabilities pin those of the kernel between them."""
    rows, net = 23, draw_net(n, m, tied=tied, scale=2.0)
    start, noise = draw_words(rows * n, seed=7).reshape(rows, n), draw_words(steps * rows * n + LANES, seed=8)
    z = slow_sample(net, start, noise, steps, limit_of(0.1))
    tolerance = 2e-5
    assert z.min() > tolerance
    assert z.max() < 1 - tolerance
    for batch in (5, 23, 64):
        assert kernel_sample(net, start, noise, as_draws(z - tolerance), steps, batch).all()
        assert not kernel_sample(net, start, noise, as_draws(z + tolerance), steps, batch).any()


def test_sample_draws_each_bit_once_in_the_end() -> None:
    rows, n, steps, net = 400, 12, 3, draw_net(12, 12, tied=True)
    start, noise = draw_words(rows * n, seed=7).reshape(rows, n), draw_words(steps * rows * n + LANES, seed=8)
    draws = draw_words(rows * n, 32, seed=9).reshape(rows, n)
    z = slow_sample(net, start, noise, steps, limit_of(0.1))
    assert np.abs(draws / 2**32 - z).min() > 1e-5, "another seed: a draw is too close to call"
    assert (kernel_sample(net, start, noise, draws, steps, 128) == (draws / 2**32 < z)).all()


@pytest.mark.parametrize("sample_of", [0, 1])
def test_a_net_that_is_sure_draws_certainties(sample_of: int) -> None:
    net = draw_net(9, 5, tied=True)
    net.output_bias[...] = 1e4 if sample_of else -1e4
    start, noise = np.zeros((6, 9), dtype=np.uint16), draw_words(6 * 9 + LANES)
    # 4e-7 of 2^32 draws is what the logistic may be off by.
    for value in (1_718, 2**31, 2**32 - 1_719):
        draws = np.full((6, 9), value, dtype=np.uint32)
        assert (kernel_sample(net, start, noise, draws, 1, 6) == sample_of).all()
