"""Samples of a trained autoencoder from given rows against the exact law of its chain: chi-square, fixed seeds."""

from __future__ import annotations

import itertools
from dataclasses import replace

import kernels_helpers as twin
import numpy as np
import pytest
from scipy.stats import chisquare

from daedal.models import DAE
from daedal.models.dae import FittedDAE

N, DRAWS = 4, 100_000
ROWS = np.array(list(itertools.product((0, 1), repeat=N)), dtype=np.uint8)


@pytest.fixture(scope="module")
def fitted() -> FittedDAE:
    """Two pairs of equal bits, a tenth of them disturbed; much noise, so that every path counts."""
    rng = np.random.default_rng(5)
    x = np.repeat(rng.integers(0, 2, (300, 2), dtype=np.uint8), 2, axis=1)
    x ^= (rng.random(x.shape) < 0.1).astype(np.uint8)
    return replace(DAE.author_2016(), corruption=0.3, min_epochs=400).fit(x, rng=rng)


def exact_law(fitted: FittedDAE, start: np.ndarray, held: np.ndarray, steps: int) -> np.ndarray:
    """Go through all that noise can do to bits that are not held, step by step; give the probability of each row."""
    theta = fitted.theta
    n, m = fitted.n, fitted.m
    weights = theta.encoder[:n, :m].astype(float)
    net = twin.Net(weights, weights, theta.hidden_bias[:m].astype(float), theta.output_bias[:n].astype(float))
    hit = twin.limit_of(fitted.corruption) / 2**16
    paths = [(1.0, start.astype(float))]
    for _ in range(steps):
        after = []
        for chance, z in paths:
            for noise in itertools.product((None, 0, 1), repeat=n):
                free = [value for value, fixed in zip(noise, held, strict=True) if not fixed]
                if any(value is not None for value, fixed in zip(noise, held, strict=True) if fixed):
                    continue
                share = np.prod([1 - hit if value is None else hit / 2 for value in free])
                given = np.array([old if new is None else new for old, new in zip(z, noise, strict=True)])
                given = np.where(held == 1, start, given)
                after.append((chance * share, net.reconstruct(given[None])[0]))
        paths = after
    law = np.zeros(len(ROWS))
    for chance, z in paths:
        drawn = np.where(ROWS == 1, z, 1 - z)
        law += chance * np.where(held == 1, start == ROWS, drawn).prod(axis=1)
    return law


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("held", [(0, 0, 0, 0), (1, 0, 0, 0), (1, 0, 1, 0), (0, 1, 1, 1), (1, 1, 1, 1)])
def test_rows_follow_the_law_of_the_chain(fitted: FittedDAE, held: tuple[int, ...], steps: int) -> None:
    start, mask = np.array([1, 0, 1, 1], dtype=np.uint8), np.array(held, dtype=np.uint8)
    law = exact_law(fitted, start, mask, steps)
    assert law.sum() == pytest.approx(1.0)
    drawn = fitted.sample_from(
        np.tile(start, (DRAWS, 1)), clamped=np.tile(mask, (DRAWS, 1)), steps=steps, rng=np.random.default_rng(7)
    )
    assert (drawn[:, mask == 1] == start[mask == 1]).all()
    counts = np.bincount(drawn @ (1 << np.arange(N)[::-1]), minlength=2**N)
    assert not counts[law == 0].any()
    assert mask.all() or chisquare(counts[law > 0], law[law > 0] * DRAWS, sum_check=False).pvalue > 1e-3


def test_the_chi_square_would_notice_bits_that_were_not_held_in_between(fitted: FittedDAE) -> None:
    """The law of two steps of a free chain, with the start put back in the end, is another one."""
    start, mask = np.array([1, 0, 1, 1], dtype=np.uint8), np.array([1, 0, 1, 0], dtype=np.uint8)
    drawn = fitted.sample_from(np.tile(start, (DRAWS, 1)), steps=2, rng=np.random.default_rng(7))
    drawn[:, mask == 1] = start[mask == 1]
    law = exact_law(fitted, start, mask, 2)
    counts = np.bincount(drawn @ (1 << np.arange(N)[::-1]), minlength=2**N)
    assert chisquare(counts[law > 0], law[law > 0] * DRAWS, sum_check=False).pvalue < 1e-6
