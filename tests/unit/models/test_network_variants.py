"""Every kind of network learns what its rows have in common, uses as many rows as it says, and samples as it says."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from daedal import kernels
from daedal.models.dae import DAE, FittedDAE
from daedal.models.network_noise import correlated_path
from daedal.models.network_samples import MOST_STEPS
from daedal.models.network_training import Training


def draw_blocks(rows: int, n: int, seed: int = 0) -> np.ndarray:
    """Rows in which neighbours are equal in pairs, so that there is something to learn."""
    return np.repeat(np.random.default_rng(seed).integers(0, 2, (rows, -(-n // 2)), dtype=np.uint8), 2, axis=1)[:, :n]


def fit(model: DAE, x: np.ndarray, seed: int = 0) -> FittedDAE:
    return model.fit(x, rng=np.random.default_rng(seed))


DEEP: dict[str, Any] = {"hidden": (10, 8), "init": "glorot"}
VARIANTS: dict[str, dict[str, Any]] = {
    "glorot": {"init": "glorot"},
    "marginals": {"biases": "marginals"},
    "three starts": {"starts": 3},
    "masking": {"noise": "masking", "corruption": 0.2},
    "blocks": {"noise": "block", "block_size": 2, "corruption": 0.1},
    "adam": {"optimizer": "adam", "learning_rate": 0.02, "bias_factor": 1.0},
    "walkback": {"walkback": 2},
    "distinct": {"distinct": True},
    "some rows": {"max_rows": 150},
    "deep": DEEP,
    "deep, not tied": {**DEEP, "tied": False},
    "deep, pretrained": {**DEEP, "pretrain": 20},
    "three layers": {"hidden": (10, 9, 8), "init": "glorot", "optimizer": "adam", "learning_rate": 0.02},
    "from parents": {"sampling_start": "parents", "sampling_steps": 3},
    "bits in every round": {"binarise": True},
    "cool": {"temperature": 0.7},
    "as many rounds as needed": {"sampling_steps": "auto"},
    "all at once": {
        **DEEP, "biases": "marginals", "starts": 2, "pretrain": 5, "walkback": 1, "noise": "block", "block_size": 2,
        "distinct": True, "max_rows": 250, "sampling_start": "parents", "sampling_steps": "auto", "binarise": True,
        "validation": 0.1,
    },
}  # fmt: skip


@pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS)
def test_every_variant_learns_which_bits_are_equal(settings: dict[str, Any]) -> None:
    x = draw_blocks(300, 10)
    fitted = fit(dataclasses.replace(DAE.author_2016(), **settings), x)
    rows = fitted.sample(1000, rng=np.random.default_rng(1))
    assert rows.shape == (1000, 10)
    assert set(np.unique(rows)) == {0, 1}
    assert (rows[:, ::2] == rows[:, 1::2]).mean() > 0.85
    assert np.abs(rows.mean(axis=0) - 0.5).max() < 0.45
    assert len(np.unique(rows, axis=0)) > 25, "all modes are there"
    linkage = fitted.linkage()
    pairs = linkage[np.arange(0, 10, 2), np.arange(1, 10, 2)]
    assert (linkage == linkage.T).all()
    assert pairs.min() > 3 * np.median(linkage[np.triu_indices(10, 1)])


@pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS)
def test_the_same_words_give_the_same_network_and_samples(settings: dict[str, Any]) -> None:
    x = draw_blocks(80, 10)
    one, other = (fit(DAE(max_epochs=10, **settings), x) for _ in range(2))
    assert one.info == other.info
    assert (
        one.sample(50, rng=np.random.default_rng(1)).tolist() == other.sample(50, rng=np.random.default_rng(1)).tolist()
    )


@pytest.mark.parametrize("settings", [{}, {"hidden": (3, 2)}, {"walkback": 1, "noise": "block"}, {"distinct": True}])
@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (1, 9), (7, 2)])
def test_the_smallest_rows(shape: tuple[int, int], settings: dict[str, Any]) -> None:
    x = np.random.default_rng(0).integers(0, 2, shape, dtype=np.uint8)
    model = DAE(sampling_steps="auto", sampling_start="parents", biases="marginals", max_epochs=6, **settings)
    assert fit(model, x).sample(3, rng=np.random.default_rng(1)).shape == (3, shape[1])


def training(model: DAE, n: int) -> Training:
    return Training(model, model.widths(n), kernels.noise.noise_shape(), np.random.default_rng(0))


def test_an_epoch_of_distinct_rows() -> None:
    data = np.repeat(np.eye(8, dtype=np.uint8), [1, 1, 1, 1, 1, 1, 34, 60], axis=0)
    held_out, lessons, watched = training(DAE(distinct=True), 8).divided(data)
    assert (len(held_out), len(lessons.rows), lessons.used, lessons.batch, len(watched)) == (0, 100, 8, 1, 3)
    held_out, lessons, watched = training(DAE(distinct=True, validation=0.5), 8).divided(data)
    assert (len(held_out), len(lessons.rows), lessons.used, lessons.batch, len(watched)) == (50, 50, 1, 1, 1)
    _, lessons, _ = training(DAE(), 8).divided(data)
    assert (lessons.used, lessons.batch) == (100, 20)


def test_an_epoch_of_at_most_so_many_rows() -> None:
    data = np.repeat(np.eye(8, dtype=np.uint8), 100, axis=0)
    for most, distinct, used, batch in (
        (None, False, 800, 100),
        (300, False, 300, 60),
        (7, True, 7, 1),
        (9, True, 8, 1),
    ):
        _, lessons, watched = training(DAE(max_rows=most, distinct=distinct), 8).divided(data)
        assert (len(lessons.rows), lessons.used, lessons.batch) == (800, used, batch)
        assert len(watched) == min(3 * batch, 800)


def test_chains_that_start_at_parents_stay_near_them() -> None:
    """Parents of which no bit tells anything of another: only where a chain starts does."""
    x = np.random.default_rng(0).integers(0, 2, (40, 30), dtype=np.uint8)
    model = DAE(sampling_steps=1, min_epochs=300, max_epochs=300)

    def nearest(rows: np.ndarray) -> float:
        return float((rows[:, None] != x[None]).sum(axis=2).min(axis=1).mean())

    distances = {
        start: nearest(
            fit(dataclasses.replace(model, sampling_start=start), x).sample(80, rng=np.random.default_rng(1))
        )
        for start in ("random", "parents")
    }
    assert distances["parents"] < 0.6 * distances["random"]


def test_a_high_temperature_forgets_what_is_likely() -> None:
    x = (np.random.default_rng(0).random((400, 12)) < 0.9).astype(np.uint8)
    warm, hot = (
        fit(DAE(temperature=temperature), x).sample(2000, rng=np.random.default_rng(1)).mean()
        for temperature in (1.0, 100.0)
    )
    assert warm > 0.8
    assert abs(hot - 0.5) < 0.03


def test_as_many_rounds_as_chains_need_to_forget() -> None:
    """Bits that are free forget within a round; blocks that hold together do not, and the search for more ends."""
    rng = np.random.default_rng(0)
    free = rng.integers(0, 2, (400, 10), dtype=np.uint8)
    blocks = np.repeat(rng.integers(0, 2, (400, 2), dtype=np.uint8), 8, axis=1)
    model = DAE(sampling_steps="auto", sampling_start="parents", corruption=0.3, min_epochs=20, max_epochs=20)
    loose = fit(dataclasses.replace(model, learning_rate=0.0), free)
    assert loose.sampling_steps == loose.info["sampling_steps"] == 1
    bound = fit(dataclasses.replace(model, min_epochs=200, max_epochs=200), blocks)
    assert 1 <= bound.sampling_steps <= MOST_STEPS
    correlations = bound.correlations(rng=np.random.default_rng(1))
    assert all(-1 <= value <= 1 for value in correlations)
    assert correlations[0] > 0.5


def test_the_path_joins_what_is_correlated() -> None:
    x = draw_blocks(500, 12)[:, np.random.default_rng(4).permutation(12)]
    x = np.concatenate([x, np.ones((500, 1), dtype=np.uint8)], axis=1)  # and what never changes
    path = correlated_path(x)
    assert sorted(path.tolist()) == list(range(13))
    together = sum(bool((x[:, a] == x[:, b]).all()) for a, b in itertools.pairwise(path))
    assert together == 6
