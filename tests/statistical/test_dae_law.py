"""Samples of a trained autoencoder against the exact law of its chain: chi-square, fixed seeds."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chisquare

from daedal.models import DAE
from daedal.models.dae import FittedDAE

N, DRAWS, CORRUPTION = 3, 100_000, 0.3
ROWS = np.array(list(itertools.product((0, 1), repeat=N)), dtype=np.uint8)
NOISE = [
    (np.prod([1 - CORRUPTION if bit is None else CORRUPTION / 2 for bit in bits]), bits)
    for bits in itertools.product((None, 0, 1), repeat=N)
]


@pytest.fixture(scope="module")
def fitted() -> FittedDAE:
    """A pair of equal bits and a free one, a tenth of them disturbed; much noise, so that every path counts."""
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, (300, 2), dtype=np.uint8)[:, [0, 0, 1]]
    x ^= (rng.random(x.shape) < 0.1).astype(np.uint8)
    return replace(DAE.author_2016(), corruption=CORRUPTION, min_epochs=400).fit(x, rng=rng)


def chances(z: np.ndarray) -> np.ndarray:
    """Probability of each row, with bits drawn from probabilities z."""
    return np.where(ROWS == 1, z, 1 - z).prod(axis=1)


def exact_law(fitted: FittedDAE, start: np.ndarray, steps: int, *, binarise: bool) -> np.ndarray:
    """Go through all that noise can do, step by step; return the probability of each row."""
    weights, hidden_bias, output_bias = (array.astype(float) for array in fitted.theta[0])
    paths = [(1.0, start.astype(float))]
    for step in range(steps):
        if binarise and step > 0:
            paths = [(chance * p, row) for chance, z in paths for p, row in zip(chances(z), ROWS, strict=True)]
        after = []
        for (chance, z), (share, bits) in itertools.product(paths, NOISE):
            noisy = np.array([old if new is None else new for old, new in zip(z, bits, strict=True)])
            code = expit(noisy @ weights + hidden_bias)
            after.append((chance * share, expit(code @ weights.T + output_bias)))
        paths = after
    return sum(chance * chances(z) for chance, z in paths)


def p_value(drawn: np.ndarray, law: np.ndarray) -> float:
    counts = np.bincount(drawn @ (1 << np.arange(N)[::-1]), minlength=2**N)
    assert law.sum() == pytest.approx(1.0)
    return float(chisquare(counts, law * len(drawn), sum_check=False).pvalue)


@pytest.mark.parametrize("binarise", [False, True])
@pytest.mark.parametrize("steps", [1, 2])
def test_rows_follow_the_law_of_the_chain(fitted: FittedDAE, steps: int, binarise: bool) -> None:
    """From a given row, and from random bits; the law of one step more is another one, and the test can tell."""
    model = replace(fitted, sampling_steps=steps, binarise=binarise)
    start = np.array([1, 0, 1], dtype=np.uint8)
    drawn = model.sample_from(np.tile(start, (DRAWS, 1)), rng=np.random.default_rng(7))
    assert p_value(drawn, exact_law(fitted, start, steps, binarise=binarise)) > 1e-3
    assert p_value(drawn, exact_law(fitted, start, 3 - steps, binarise=binarise)) < 1e-6
    law = np.mean([exact_law(fitted, row, steps, binarise=binarise) for row in ROWS], axis=0)
    assert p_value(model.sample(DRAWS, rng=np.random.default_rng(8)), law) > 1e-3
