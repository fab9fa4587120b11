"""A Boltzmann machine small enough to enumerate: the exact gradient of its likelihood, and the law of its samples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logsumexp
from scipy.stats import chisquare

from daedal.models.rbm import RBM, FittedRBM, Machine, Schedule, train_epoch

N, M = 4, 3
ALL_V = np.array(list(itertools.product((0, 1), repeat=N)))
Floats = NDArray[np.float64]


def machine(scale: float, *, mean: Floats, rng: np.random.Generator) -> Machine:
    arrays = scale * rng.standard_normal((N, M)), 0.5 * rng.standard_normal(M), 0.5 * rng.standard_normal(N), mean
    return Machine(*(array.astype(np.float32) for array in arrays))


def log_law(w: Floats, c: Floats, a: Floats, mean: Floats) -> Floats:
    """Log probability of each of the 2^n visible rows, the hiddens summed out."""
    unnormalized = ALL_V @ a + np.logaddexp(0, c + (ALL_V - mean) @ w).sum(axis=1)
    return unnormalized - logsumexp(unnormalized)


def parameters(theta: Machine) -> tuple[Floats, Floats, Floats, Floats]:
    return tuple(part.astype(float) for part in theta)  # type: ignore[return-value]


def exact_gradient(theta: Machine, data: Floats) -> tuple[Floats, Floats, Floats]:
    """Gradient of the mean log-likelihood of data, a law over the 2^n rows, for W and both biases."""
    w, c, a, mean = parameters(theta)
    surplus = data - np.exp(log_law(w, c, a, mean))
    h = expit(c + (ALL_V - mean) @ w)
    return (surplus[:, None] * (ALL_V - mean)).T @ h, surplus @ h, surplus @ ALL_V


def cd_gradient(theta: Machine, x: NDArray[np.uint8], steps: int, *, rng: np.random.Generator) -> Floats:
    """Mean over the rows of what contrastive divergence adds to the weights: one step with a rate of 1."""
    moved, model = Machine(*map(np.copy, theta)), RBM(cd_steps=steps, learning_rate=1.0)
    velocity = np.zeros_like(moved.weights)
    train_epoch(model, x - theta.mean, len(x), moved, velocity, Schedule(model), rng)
    return velocity.astype(float) / len(x)


@pytest.fixture(name="data")
def _data() -> Floats:
    """Two favored rows among all."""
    law = np.full(2**N, 0.02)
    law[[3, 12]] += (1 - law.sum()) / 2
    return law


def rows_from(law: Floats, rows: int, *, rng: np.random.Generator) -> NDArray[np.uint8]:
    return ALL_V[rng.choice(2**N, size=rows, p=law)].astype(np.uint8)


def test_the_exact_gradient_is_that_of_the_likelihood(data: Floats) -> None:
    """Enumeration against central differences, so that what follows stands on firm ground."""
    theta = machine(1.0, mean=data @ ALL_V, rng=np.random.default_rng(0))
    values = list(parameters(theta))
    for which, gradient in enumerate(exact_gradient(theta, data)):
        for index in np.ndindex(gradient.shape):
            sides = []
            for shift in (1e-5, -1e-5):
                moved = [value.copy() for value in values]
                moved[which][index] += shift
                sides.append(data @ log_law(*moved))
            assert gradient[index] == pytest.approx((sides[0] - sides[1]) / 2e-5, abs=1e-8)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_contrastive_divergence_approaches_the_exact_gradient(seed: int, data: Floats) -> None:
    """40,000 rows: an entry has a standard error of at most .004, and 12 entries stay within four of them."""
    rng = np.random.Generator(np.random.SFC64(seed))
    theta = machine(1.5, mean=data @ ALL_V, rng=rng)
    x = rows_from(data, 40_000, rng=rng)
    sampled = np.bincount(x @ (1 << np.arange(N)[::-1]), minlength=2**N) / len(x)
    exact = exact_gradient(theta, sampled)[0]
    error = {steps: np.abs(cd_gradient(theta, x, steps, rng=rng) - exact).max() for steps in (1, 40)}
    assert error[40] < 0.016
    assert error[1] > 3 * error[40], "one step is biased, so the test can tell them apart"


@pytest.mark.parametrize("seed", [4, 5])
def test_gibbs_chains_reach_the_law_of_the_machine(seed: int) -> None:
    rng = np.random.Generator(np.random.SFC64(seed))
    theta = machine(1.0, mean=np.zeros(N), rng=rng)
    parents = np.zeros((3, N), dtype=np.uint8)
    drawn = FittedRBM(machine=theta, parents=parents, gibbs_steps=40).sample(100_000, rng=rng)
    counts = np.bincount(drawn @ (1 << np.arange(N)[::-1]), minlength=2**N)
    law = np.exp(log_law(*parameters(theta)))
    assert chisquare(counts, law * len(drawn), sum_check=False).pvalue > 0.001
    other = np.exp(log_law(*parameters(machine(1.0, mean=np.zeros(N), rng=rng))))
    assert chisquare(counts, other * len(drawn), sum_check=False).pvalue < 1e-6
