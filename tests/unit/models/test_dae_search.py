"""The autoencoder that improves rows: what it is trained on, where its samples begin."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from daedal.models import DAE, DAESearch
from daedal.models.dae import Layer


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def blocks(rows: int, blocks: int, size: int, seed: int = 0) -> np.ndarray:
    return np.repeat(rng(seed).integers(0, 2, (rows, blocks), dtype=np.uint8), size, axis=1)


def test_it_is_trained_on_the_best_of_the_population_alone() -> None:
    """A fifth of the population is two fifths of the parents, which come best first; the others do not matter."""
    x = blocks(100, 3, 4)
    other = x.copy()
    other[40:] ^= 1
    fits = [DAESearch().fit(x, rng=rng(1)), DAESearch().fit(other, rng=rng(1)), DAE().fit(x[:40], rng=rng(1))]
    first, second, expected = (fitted.theta[0].weights for fitted in fits)
    assert np.array_equal(first, second)
    assert np.array_equal(first, expected)
    assert not np.array_equal(first, DAESearch(trained=0.5).fit(x, rng=rng(1)).theta[0].weights)


def test_candidates_are_near_the_parents_and_repaired_by_what_the_best_have_in_common() -> None:
    """One bit of each parent beyond the best is wrong: most candidates differ from a whole block in none."""
    x = blocks(200, 4, 5)
    x[80:][np.arange(120), rng(3).integers(0, 20, 120)] ^= 1
    drawn = DAESearch(min_epochs=300, max_epochs=300).fit(x, rng=rng(1)).sample(1000, rng=rng(2))
    whole = (drawn.reshape(1000, 4, 5) == drawn.reshape(1000, 4, 5)[:, :, :1]).all(axis=(1, 2))
    assert whole.mean() > 0.8
    distances = (drawn[:, None, :] != x[None]).sum(axis=2).min(axis=1)
    assert np.mean(distances <= 1) > 0.9


def test_each_parent_is_a_start_as_often_as_the_others() -> None:
    """A network that copies its input, without noise, gives back the parents."""
    x = np.eye(6, dtype=np.uint8)
    copying = Layer(60 * np.eye(6, dtype=np.float32), *np.full((2, 6), -30, dtype=np.float32))
    fitted = replace(DAESearch().fit(x, rng=rng()), theta=(copying,), corruption=0.0)
    drawn = fitted.sample(15, rng=rng(1))
    assert set((drawn[:, None] == x[None]).all(axis=2).sum(axis=0).tolist()) <= {2, 3}


@pytest.mark.parametrize("trained", [0.0, 0.6, -1.0, float("nan")])
def test_a_share_that_makes_no_sense_is_refused(trained: float) -> None:
    with pytest.raises(ValueError, match="trained"):
        DAESearch(trained=trained)
