"""The autoencoder that improves rows: what it is trained on, where its samples begin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from daedal.models import DAE, DAESearch


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def blocks(rows: int, blocks: int, size: int, seed: int = 0) -> np.ndarray:
    return np.repeat(rng(seed).integers(0, 2, (rows, blocks), dtype=np.uint8), size, axis=1)


def test_it_is_trained_on_the_best_of_the_population_alone() -> None:
    """A fifth of the population is two fifths of the parents, which come best first; the others do not matter."""
    x = blocks(100, 3, 4)
    other = x.copy()
    other[40:] ^= 1
    first, second = (DAESearch().fit(rows, rng=rng(1)).network for rows in (x, other))
    expected = DAE(sampling_steps=1).fit(x[:40], rng=rng(1))
    assert np.array_equal(first.theta.encoder, second.theta.encoder)
    assert np.array_equal(first.theta.encoder, expected.theta.encoder)
    assert not np.array_equal(first.theta.encoder, DAESearch(trained=0.5).fit(x, rng=rng(1)).network.theta.encoder)


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
    """Weights of zero and no noise leave nothing of the start; certain ones, here by clamping all, leave all of it."""
    x = np.eye(6, dtype=np.uint8)
    fitted = DAESearch().fit(x, rng=rng())
    seen: list[np.ndarray] = []

    class Network:
        def sample_from(self, rows: np.ndarray, **_: object) -> np.ndarray:
            seen.append(rows)
            return rows

    object.__setattr__(fitted, "network", Network())
    assert len(fitted.sample(15, rng=rng(1))) == 15
    counts = (seen[0][:, None] == x[None]).all(axis=2).sum(axis=0)
    assert set(counts.tolist()) <= {2, 3}


@pytest.mark.parametrize("trained", [0.0, 0.6, -1.0, float("nan")])
def test_a_share_that_makes_no_sense_is_refused(trained: float) -> None:
    with pytest.raises(ValueError, match="trained"):
        DAESearch(trained=trained)


def test_settings_of_the_network_are_checked_as_those_of_dae() -> None:
    with pytest.raises(ValueError, match="error of DAESearch to be cross-entropy or squared"):
        DAESearch(error="cubed")  # type: ignore[arg-type]


def test_rows_of_another_shape_are_refused() -> None:
    fitted = DAE().fit(blocks(20, 2, 3), rng=rng())
    rows = blocks(4, 2, 3)
    for wrong in ({"rows": rows[:, :5]}, {"rows": rows, "clamped": rows[:2]}, {"rows": rows, "steps": 0}):
        with pytest.raises(ValueError, match="expected rows of 6 bits"):
            fitted.sample_from(**wrong, rng=rng())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "settings", [{"hidden": (8, 4)}, {"noise": "masking"}, {"noise": "block"}, {"temperature": 0.5}]
)
def test_networks_of_any_kind_hold_what_is_clamped(settings: dict[str, Any]) -> None:
    x = blocks(60, 3, 4)
    start, held = rng(1).integers(0, 2, (2, 500, 12), dtype=np.uint8)
    drawn = DAE(**settings).fit(x, rng=rng()).sample_from(start, clamped=held, steps=3, rng=rng())
    assert (drawn == start)[held == 1].all()
    assert 0.1 < (drawn != start)[held == 0].mean() < 0.9
    assert DAESearch(**settings).fit(x, rng=rng()).sample(5, rng=rng()).shape == (5, 12)
