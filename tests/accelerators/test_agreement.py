"""JAX's network beside the Numba kernels and the float64 twin, on the same words."""

from __future__ import annotations

from typing import Any

import deep_twin
import jax
import jax.numpy as jnp
import kernels_helpers as twin
import numpy as np
import pytest

from daedal import kernels
from daedal.models.dae import DAE
from daedal.models.jax_backend import network, noise
from daedal.models.jax_backend.chains import ChainNumbers, ChainPlan, rebuilt
from daedal.models.jax_backend.epochs import Plan, epoch
from daedal.models.jax_backend.fitting import job_of, numbers_of
from daedal.models.jax_backend.start import layers_of, stack_from
from daedal.models.network_noise import shape_of

AGREED = 2e-5
"""What parameters of size 1 may differ by after three epochs of 12 updates: sums of float32 in another order, and
logistic functions that differ by 4e-7."""

ROWS, BATCH, EPOCHS = 60, 5, 3

CASES: dict[str, dict[str, Any]] = {
    "tied": {},
    "squared, decay, momentum": {"error": "squared", "momentum": 0.5, "weight_decay": 0.01},
    "not tied": {"tied": False, "hidden": 7},
    "deep": {"hidden": (9, 6)},
    "deep, not tied, adam": {"hidden": (9, 6), "tied": False, "optimizer": "adam", "learning_rate": 0.01},
    "masking, walkback": {"noise": "masking", "walkback": 2},
    "block, walkback": {"noise": "block", "block_size": 3, "walkback": 1},
    "some rows": {"max_rows": 50},
}


def parents(n: int = 12) -> np.ndarray:
    rng = np.random.default_rng(3)
    return np.repeat(rng.integers(0, 2, (ROWS, n // 2), dtype=np.uint8), 2, axis=1)


def words(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**16, count, dtype=np.uint16)


def train_both(settings: dict[str, Any]) -> tuple[tuple[network.Layer, ...], tuple[network.Layer, ...]]:
    """Train by both from the same parameters, on the same words; give the parameters of both."""
    own = {"batch_size": BATCH, "corruption": 0.2, "learning_rate": 0.1, **settings}
    model, x, n = DAE(backend="jax", **own), parents(), 12
    plan: Plan = job_of(model, x, np.random.default_rng(0), None).plan
    net = deep_twin.draw_deep(model.widths(n), tied=model.tied, scale=1.0)
    stack, used = deep_twin.to_stack(net), min(model.max_rows or ROWS, ROWS)
    start = layers_of(stack, net.widths)
    rounds, batches = 1 + model.walkback, used // BATCH
    swaps = np.random.default_rng(1).integers(0, 2**32, EPOCHS * ROWS, dtype=np.uint32)
    drawn = words(EPOCHS * used * rounds * n + kernels.tiles.LANES, 2)
    shape = shape_of(model.noise, x, corruption=model.corruption, length=model.block_size)
    numbers = numbers_of(model, x.shape[1], batches, None)

    learner = network.new_learner(start, adam=plan.adam)
    given = drawn[: EPOCHS * used * rounds * n].astype(np.uint32).reshape(EPOCHS, batches * rounds, BATCH, n)
    one = jax.jit(
        lambda learner, rows, words: epoch(
            plan, numbers, noise.noise_of(shape, model.corruption)[1], learner, rows, lambda i: words[i]
        )
    )
    order = np.arange(ROWS)
    for e in range(EPOCHS):
        kernels.noise.shuffle(order, swaps[e * ROWS : (e + 1) * ROWS])
        learner = one(learner, x[order], given[e])

    data = np.zeros((ROWS, kernels.products.padded(n)), dtype=np.uint8)
    data[:, :n] = x
    rate = model.rate(n)
    rule = twin.Rule(
        rate, rate * model.bias_factor, model.momentum, 1 - rate * model.weight_decay, model.optimizer == "adam"
    )
    works = deep_twin.make_works(net, BATCH, model.corruption, walkback=model.walkback > 0)
    gradients = tuple(kernels.dae.zero_gradient(theta) for theta in stack)
    updates = twin.train(
        stack, net.widths, works, gradients, data, np.arange(ROWS), swaps, drawn, BATCH, model.tied,
        model.error == "squared", rule, walkback=model.walkback, used=used, shape=shape,
    )  # fmt: skip
    assert updates == int(learner.updates) == EPOCHS * batches * rounds
    return jax.device_get(learner.layers), layers_of(stack, net.widths)


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_training_on_the_same_words_agrees_with_the_kernels(settings: dict[str, Any]) -> None:
    found, expected = train_both(settings)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, other, rtol=0, atol=AGREED)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("tied", [False, True])
def test_error_gradient_and_samples_are_those_of_the_float64_twin(tied: bool, squared: bool) -> None:
    net = deep_twin.draw_deep((12, 9, 6), tied=tied)
    layers = layers_of(deep_twin.to_stack(net), net.widths)
    x, corrupted = parents().astype(np.float32), np.random.default_rng(1).random((ROWS, 12), dtype=np.float32)
    error = jax.jit(network.mean_error, static_argnames="squared")(layers, x, corrupted, squared=squared)
    assert float(error) == pytest.approx(net.error(x, corrupted, squared) / ROWS, rel=1e-5)
    gradient, rebuilt = jax.jit(network.batch_gradient, static_argnames="squared")(
        layers, x, corrupted, squared=squared
    )
    np.testing.assert_allclose(rebuilt, net.reconstruct(corrupted), atol=3 * twin.LAYER)
    for one, expected in zip(gradient, net.gradient(x, corrupted, squared), strict=True):
        for name, values in one._asdict().items():
            if values is not None:
                np.testing.assert_allclose(values, getattr(expected, name), atol=2e-4, rtol=1e-4)


def test_a_bit_never_counts_as_impossible() -> None:
    layer = network.Layer(np.full((2, 1), 500.0, np.float32), None, np.zeros(1, np.float32), np.zeros(2, np.float32))
    error = network.mean_error((layer,), jnp.zeros((1, 2)), jnp.ones((1, 2)), squared=False)
    assert float(error) == pytest.approx(-2 * np.log(kernels.dae.SMALLEST_PROBABILITY), rel=1e-6)


@pytest.mark.parametrize("kind", ["salt+pepper", "masking", "block"])
def test_words_corrupt_as_in_the_kernels(kind: str) -> None:
    x, n = parents(), 12
    shape = shape_of(kind, x, corruption=0.3, length=3)
    drawn = words(ROWS * n + kernels.tiles.LANES, 5)
    plan, numbers = noise.noise_of(shape, 0.3)
    found = noise.corrupt(x.astype(np.float32), drawn[: ROWS * n].astype(np.uint32).reshape(ROWS, n), plan, numbers)
    data, out = np.zeros((ROWS, 16), dtype=np.uint8), np.zeros((ROWS, 16), dtype=np.float32)
    data[:, :n] = x
    limits = kernels.dae.make_workspace(n, n, 1, 0.3).limits
    kernels.noise.corrupt_some_bits(data, np.arange(ROWS), drawn.copy(), n, limits, shape, out)
    assert np.array_equal(found, out[:, :n])


def test_words_are_uniform_and_fair() -> None:
    drawn = np.asarray(noise.draw_words(noise.wrapped(np.array([1, 2], dtype=np.uint32)), 301, 100))
    assert drawn.shape == (301, 100)
    assert drawn.max() < 2**16
    assert abs((drawn & 1).mean() - 0.5) < 0.01
    assert abs((drawn < 2**14).mean() - 0.25) < 0.01
    assert abs(np.corrcoef(drawn[:150].ravel(), drawn[151:301].ravel())[0, 1]) < 0.03


def test_a_round_of_sampling_is_a_reconstruction_of_what_was_corrupted() -> None:
    net = deep_twin.draw_deep((12, 9), tied=True)
    layers, key = layers_of(deep_twin.to_stack(net), net.widths), noise.wrapped(np.array([1, 2], dtype=np.uint32))
    kind, numbers = noise.noise_of(kernels.noise.noise_shape(), 0.3)
    plan = ChainPlan(ROWS, 12, kind, False)
    z = np.random.default_rng(0).random((ROWS, 12), dtype=np.float32)
    given = ChainNumbers(np.int32(1), np.float32(1), numbers)
    drawn = np.asarray(noise.draw_words(jax.random.fold_in(jax.random.fold_in(key, 1), 0), ROWS, 12))
    expected = net.reconstruct(twin.slow_corrupt(z, drawn.ravel(), int(numbers.limit)))
    np.testing.assert_allclose(rebuilt(plan, layers, given, key, 0, z, None), expected, atol=3 * twin.LAYER)


def test_parameters_go_to_the_kernels_and_back() -> None:
    for tied in (False, True):
        stack = deep_twin.to_stack(deep_twin.draw_deep((12, 9, 6), tied=tied))
        again = stack_from(layers_of(stack, (12, 9, 6)), (12, 9, 6))
        for one, other in zip(stack, again, strict=True):
            assert (one.decoder is one.encoder) == (other.decoder is other.encoder) == tied
            assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
