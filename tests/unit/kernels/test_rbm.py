"""Each kernel of the Boltzmann machine against a plain NumPy twin that is given the same random words."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from daedal.kernels import rbm as kernels
from daedal.kernels.noise import shuffle
from daedal.kernels.products import padded
from daedal.kernels.tiles import LANES
from daedal.rng import words16, words32
from daedal.threads import one_blas_thread

SHAPES = [(1, 1), (3, 2), (8, 8), (13, 6), (64, 32), (300, 40)]
"""n, m: one below, at and above a vector; one row length that is made longer for the cache; one for BLAS."""

Floats = NDArray[np.float64]


def twin_draw(inputs: Floats, words: NDArray[np.uint16]) -> Floats:
    """Bits from words, row by row; the inputs must be such that no word falls on the edge."""
    edge = expit(inputs) * 65536 - words[: inputs.size].reshape(inputs.shape) - 0.5
    assert np.abs(edge).min() > 0.07, "float32 could decide either way: choose another seed"
    return (edge > 0).astype(float)


class Twin:
    """A Boltzmann machine in float64, one obvious line a step."""

    def __init__(self, theta: kernels.Parameters, n: int, m: int) -> None:
        self.w = theta.weights[:n, :m].astype(float)
        self.c = theta.hidden_bias[:m].astype(float)
        self.a = theta.visible_bias[:n].astype(float)
        self.mean = theta.mean[:n].astype(float)
        self.velocity = np.zeros_like(self.w)

    def hidden_input(self, v: Floats) -> Floats:
        return self.c + (v - self.mean) @ self.w

    def visible_input(self, h: Floats) -> Floats:
        return self.a + h @ self.w.T

    def gibbs_step(self, v: Floats, words: NDArray[np.uint16]) -> tuple[Floats, Floats]:
        h = twin_draw(self.hidden_input(v), words)
        return h, twin_draw(self.visible_input(h), words[h.size :])

    def update(
        self, v0: Floats, words: NDArray[np.uint16], cd_steps: int, rate: float, bias_rate: float, momentum: float
    ) -> None:
        v, h0 = v0, None
        for _ in range(cd_steps):
            h, v = self.gibbs_step(v, words)
            h0 = h if h0 is None else h0
            words = words[h.size + v.size :]
        p = expit(self.hidden_input(v))
        self.velocity *= momentum
        self.velocity += ((v0 - self.mean).T @ h0 - (v - self.mean).T @ p) / len(v0)
        self.w += rate * self.velocity
        self.a += bias_rate * (v0 - v).mean(axis=0)
        self.c += bias_rate * (h0 - p).mean(axis=0)


def machine(n: int, m: int, *, rng: np.random.Generator, centred: bool = True) -> kernels.Parameters:
    theta = kernels.zero_parameters(n, m)
    theta.weights[:n, :m] = rng.standard_normal((n, m)) / np.sqrt(n)
    theta.weights_t[...] = theta.weights.T
    theta.hidden_bias[:m] = rng.standard_normal(m)
    theta.visible_bias[:n] = rng.standard_normal(n)
    if centred:
        theta.mean[:n] = rng.random(n)
    return theta


def rows_of(count: int, n: int, *, rng: np.random.Generator) -> NDArray[np.uint8]:
    x = np.zeros((count, padded(n)), dtype=np.uint8)
    x[:, :n] = rng.integers(0, 2, (count, n))
    return x


def stream(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(seed))


def assert_no_padding(array: NDArray[np.float32], columns: int) -> None:
    assert not array[..., columns:].any()


@pytest.mark.parametrize("n", [n for n, _ in SHAPES])
def test_draw(n: int) -> None:
    rng = stream(2)
    rows = 7
    inputs = np.zeros((rows, padded(n)), dtype=np.float32)
    inputs[:, :n] = 4 * rng.standard_normal((rows, n))
    mean = np.zeros(padded(n), dtype=np.float32)
    mean[:n] = rng.random(n)
    words = words16(rng, rows * n + LANES)
    out = np.zeros_like(inputs)
    kernels.draw(inputs, words, n, kernels.make_workspace(n, 1, 1).live_visible, mean, out)
    np.testing.assert_allclose(out[:, :n], twin_draw(inputs[:, :n].astype(float), words) - mean[:n], atol=1e-6)
    assert_no_padding(out, n)


def test_the_probability_of_a_one_is_the_logistic_function_to_within_half_a_word() -> None:
    """All 65536 words at once: the share of ones is the probability, rounded; float32 may be off by one word more."""
    words = np.arange(65536 + LANES).astype(np.uint16)
    nothing = np.zeros(65536, dtype=np.float32)
    live = np.ones(65536, dtype=np.float32)
    out = np.zeros((1, 65536), dtype=np.float32)
    for x in (-30.0, -12.0, -8.0, -1.0, 0.0, 0.3, 2.0, 11.0, 30.0):
        kernels.draw(np.full((1, 65536), x, dtype=np.float32), words, 65536, live, nothing, out)
        assert abs(out.sum(dtype=float) - 65536 * expit(x)) <= 0.55
        assert set(np.unique(out)) <= {0.0, 1.0}


@pytest.mark.parametrize("cd_steps", [1, 2, 3])
@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_train(n: int, m: int, cd_steps: int) -> None:
    """Two epochs of three batches, with one row to spare: the same parameters as the twin's, to float32."""
    rng = stream(5)
    rows, batch, epochs = 13, 4, 2
    theta, x = machine(n, m, rng=rng), rows_of(rows, n, rng=rng)
    twin = Twin(theta, n, m)
    swaps = words32(rng, epochs * rows)
    noise = words16(rng, epochs * rows * cd_steps * (n + m) + LANES)
    gradient, work = np.zeros_like(theta.weights), kernels.make_workspace(n, m, batch)
    order = np.arange(rows)
    with one_blas_thread():
        kernels.train(
            x, order, swaps, noise, epochs, batch, cd_steps, n, m, 0.05, 0.5, 0.8, theta, gradient, work
        )  # fmt: skip
    again = np.arange(rows)
    for epoch in range(epochs):
        shuffle(again, swaps[epoch * rows : (epoch + 1) * rows])
        for first in range(0, rows - batch + 1, batch):
            words = noise[(epoch * rows + first) * cd_steps * (n + m) :]
            twin.update(x[again[first : first + batch], :n].astype(float), words, cd_steps, 0.05, 0.5, 0.8)
    np.testing.assert_array_equal(order, again)
    np.testing.assert_allclose(theta.weights[:n, :m], twin.w, atol=1e-5)
    np.testing.assert_allclose(theta.hidden_bias[:m], twin.c, atol=1e-5)
    np.testing.assert_allclose(theta.visible_bias[:n], twin.a, atol=1e-5)
    for array, columns in ((theta.weights, m), (theta.hidden_bias, m), (theta.visible_bias, n), (gradient, m)):
        assert_no_padding(array, columns)
    assert not theta.weights[n:].any()
    assert_no_padding(work.visible, n)
    assert_no_padding(work.hidden, m)


@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_sample(n: int, m: int) -> None:
    """Five chains in batches of two, three steps each."""
    rng = stream(6)
    steps, batch = 3, 2
    theta, x, order = machine(n, m, rng=rng), rows_of(8, n, rng=rng), rng.permutation(8)[:5]
    words = words16(rng, steps * 5 * (n + m) + LANES)
    out = np.empty((5, n), dtype=np.uint8)
    with one_blas_thread():
        kernels.sample(x, order, words, steps, n, m, theta, kernels.make_workspace(n, m, batch), out)
    twin = Twin(theta, n, m)
    for first in range(0, 5, batch):
        v = x[order[first : first + batch], :n].astype(float)
        for step in range(steps):
            _, v = twin.gibbs_step(v, words[(first * steps + step * len(v)) * (n + m) :])
        np.testing.assert_array_equal(out[first : first + batch], v)


@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_reconstruction_error(n: int, m: int) -> None:
    rng = stream(7)
    batch = 2
    theta, x, order = machine(n, m, rng=rng), rows_of(8, n, rng=rng), rng.permutation(8)[:5]
    words = words16(rng, 5 * (n + m) + LANES)
    with one_blas_thread():
        error = kernels.reconstruction_error(x, order, words, n, m, theta, kernels.make_workspace(n, m, batch))
    twin = Twin(theta, n, m)
    changed = 0.0
    for first in range(0, 5, batch):
        v = x[order[first : first + batch], :n].astype(float)
        changed += np.abs(v - twin.gibbs_step(v, words[first * (n + m) :])[1]).sum()
    assert error == pytest.approx(changed / (5 * n), abs=1e-5)
