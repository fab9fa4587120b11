"""The autoencoder: noise, gradient and updates against plain formulas, its settings, its training, its samples."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from daedal.models.dae import (
    BIAS_FACTOR,
    DAE,
    FittedDAE,
    Layer,
    Theta,
    corrupt,
    first_parameters,
    gradient,
    mean_error,
    reconstruct,
    train_epoch,
)

AT_ONCE = 1e9  # gamma: every late gain is below it
STILL: dict[str, Any] = {"learning_rate": 0.0, "max_epochs": 1}
DEEP: dict[str, Any] = {"hidden": (10, 8), "init_scale": "glorot"}


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def draw_pairs(rows: int, n: int, seed: int = 0) -> np.ndarray:
    """Draw rows in which neighbors are equal in pairs, so that there is something to learn."""
    return np.repeat(rng_of(seed).integers(0, 2, (rows, -(-n // 2)), dtype=np.uint8), 2, axis=1)[:, :n]


def draw_theta(*widths: int, seed: int = 0) -> Theta:
    rng = rng_of(seed)
    return tuple(
        Layer(rng.standard_normal((n, m)), rng.standard_normal(m), rng.standard_normal(n))
        for n, m in itertools.pairwise(widths)
    )


def fit(model: DAE, x: np.ndarray, seed: int = 0, previous: FittedDAE | None = None) -> FittedDAE:
    return model.fit(x, rng=rng_of(seed), previous=previous)


def arrays(fitted: FittedDAE) -> list[np.ndarray]:
    return [array for layer in fitted.theta for array in layer]


# ------------------------------------------------------------ the network


@pytest.mark.parametrize("corruption", [0.0, 0.03, 0.5, 1.0])
def test_noise_replaces_each_entry_by_a_fair_bit_with_its_probability(corruption: float) -> None:
    x = np.tile(np.array([0, 0.25, 1], dtype=np.float32), (100_000, 1))
    noisy = corrupt(x, corruption, rng_of(1))
    assert noisy.dtype == np.float32
    for column, old in zip(noisy.T, (0, 0.25, 1), strict=True):
        for value in (0, 0.25, 1):
            expected = corruption / 2 * (value != 0.25) + (1 - corruption) * (value == old)
            assert (column == value).mean() == pytest.approx(expected, abs=0.006)
    assert x[0].tolist() == [0, 0.25, 1]


@pytest.mark.parametrize("widths", [(6, 4), (5, 5, 3), (6, 4, 5, 2)])
def test_reconstruction_error_and_gradient_are_those_of_the_formulas(widths: tuple[int, ...]) -> None:
    """The gradient is checked by central differences, in float64."""
    theta, rng = draw_theta(*widths), rng_of(1)
    x, noisy = rng.integers(0, 2, (2, 7, widths[0])).astype(np.float64)
    z = noisy
    for layer in theta:
        z = expit(z @ layer.weights + layer.hidden_bias)
    for layer in reversed(theta):
        z = expit(z @ layer.weights.T + layer.output_bias)
    np.testing.assert_allclose(reconstruct(noisy, theta), z, atol=1e-12)
    error = -(x * np.log(z) + (1 - x) * np.log(1 - z)).sum() / len(x)
    assert mean_error(x, noisy, theta) == pytest.approx(error, rel=1e-9)
    for layer, slopes in zip(theta, gradient(x, noisy, theta), strict=True):
        for values, slope in zip(layer, slopes, strict=True):
            for index in np.ndindex(values.shape):
                sides, old = [], values[index]
                for shift in (1e-5, -1e-5):
                    values[index] = old + shift
                    sides.append(len(x) * mean_error(x, noisy, theta))
                values[index] = old
                assert slope[index] == pytest.approx((sides[0] - sides[1]) / 2e-5, abs=1e-6)


def test_an_epoch_descends_along_the_gradients_of_its_batches() -> None:
    """Momentum is for weights only, decay too; biases have five times the rate; the rows that are left over wait."""
    model = DAE(corruption=0.0, learning_rate=0.5, momentum=0.4, weight_decay=0.1)
    x = rng_of(2).integers(0, 2, (11, 6)).astype(np.float64)
    theta, slow = draw_theta(6, 4), draw_theta(6, 4)
    train_epoch(model, x, 5, theta, [np.zeros((6, 4))], rng_of(0))  # type: ignore[arg-type]
    weights, hidden_bias, output_bias = slow[0]
    velocity = np.zeros((6, 4))
    for first in (0, 5):
        batch = x[first : first + 5]
        slope = gradient(batch, batch, (Layer(weights, hidden_bias, output_bias),))[0]
        velocity = 0.4 * velocity + slope.weights / 5
        weights = (1 - 0.5 * 0.1) * weights - 0.5 * velocity
        hidden_bias = hidden_bias - 0.5 * BIAS_FACTOR * slope.hidden_bias / 5
        output_bias = output_bias - 0.5 * BIAS_FACTOR * slope.output_bias / 5
    for found, expected in zip(theta[0], (weights, hidden_bias, output_bias), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)


# ------------------------------------------------------------ settings


def test_the_papers_settings() -> None:
    """REFERENCE.md, section 1, "DAE (settings of the 2015 paper)", line by line."""
    assert dataclasses.asdict(DAE.paper_2015()) == {
        "hidden": None,  # n-n-n
        "corruption": 0.1,
        "learning_rate": 0.2,
        "momentum": 0.0,
        "weight_decay": -0.001,  # the wrong sign of the authors' program: W grows by 1.0002
        "init_scale": 0.01,
        "biases": "normal",
        "warm_start": 0.0,
        "batch_size": 100,
        "max_rows": None,
        "validation": 0.1,
        "gamma": 0.05,
        "check_every": 5,
        "min_epochs": 25,
        "max_epochs": 2000,
        "sampling_steps": 10,
        "binarise": False,
    }
    assert BIAS_FACTOR == 5


def test_the_later_settings_are_those_of_the_authors_program() -> None:
    """The same place, "the authors' later settings"; corruption and decay are daedal's own choice."""
    later = {
        "learning_rate": 0.1,
        "momentum": 0.3,
        "init_scale": 0.005,
        "validation": 0.0,
        "min_epochs": 50,
        "corruption": 0.05,
        "weight_decay": 0.0,
    }
    assert dataclasses.asdict(DAE.author_2016()) == dataclasses.asdict(DAE.paper_2015()) | later


@pytest.mark.parametrize(
    ("rows", "model", "held_out", "used", "batch"),
    [
        (1000, DAE(), 0, 500, 100),
        (400, DAE(), 0, 400, 80),  # a fifth of the rows
        (4, DAE(), 0, 4, 1),
        (1, DAE(), 0, 1, 1),
        (100, DAE(batch_size=7), 0, 100, 7),
        (800, DAE(max_rows=300), 0, 300, 60),
        (1000, DAE.paper_2015(), 100, 900, 100),
        (300, DAE.paper_2015(), 30, 270, 54),
        (6000, DAE.paper_2015(), 500, 5500, 100),  # at most 500 rows are held out
        (2, DAE(validation=0.9), 1, 1, 1),
    ],
)
def test_the_rows_of_training(rows: int, model: DAE, held_out: int, used: int, batch: int) -> None:
    assert model.divide(rows) == (held_out, used, batch)


def test_one_layer_is_the_same_however_it_is_given() -> None:
    layers: list[Any] = [8, (8,), [8]]
    assert {DAE(hidden=hidden) for hidden in layers} == {DAE(hidden=8)}
    assert DAE(hidden=[8, 4]) == DAE(hidden=(8, 4))  # type: ignore[arg-type]


# ------------------------------------------------------------ the start of training


@pytest.mark.parametrize("scale", [0.01, "glorot"])
def test_first_parameters_are_normal(scale: Any) -> None:
    widths = (60, 80, 50)
    theta = first_parameters(DAE(hidden=widths[1:], init_scale=scale), draw_pairs(5, 60), rng_of(0))
    for layer, (n, m) in zip(theta, itertools.pairwise(widths), strict=True):
        assert [array.shape for array in layer] == [(n, m), (m,), (n,)]
        for array in layer:
            sd = 0.01 if scale == 0.01 else 4 * np.sqrt(2 / (n + m)) if array.ndim == 2 else 0.0
            assert abs(array.mean()) <= 4 * sd / np.sqrt(array.size)
            assert abs(array.std() - sd) <= 4 * sd / np.sqrt(2 * array.size)


@pytest.mark.parametrize("scale", [0.01, "glorot"])
@pytest.mark.parametrize("hidden", [30, (30, 20)])
def test_biases_from_marginals_reconstruct_them(hidden: Any, scale: Any) -> None:
    """At hidden units that are half on, which they are at the mean."""
    mean = np.array([0.0, 0.1, 0.25, 0.5, 0.6, 0.8, 0.9, 1.0])
    x = (np.arange(20)[:, None] < 20 * mean).astype(np.uint8)
    theta = first_parameters(DAE(hidden=hidden, init_scale=scale, biases="marginals"), x, rng_of(0))
    inputs = mean
    for layer, expected in zip(theta, (np.clip(mean, 0.005, 0.995), np.full(30, 0.5)), strict=False):
        code = expit(inputs @ layer.weights + layer.hidden_bias)
        np.testing.assert_allclose(code, 0.5, atol=1e-5)
        np.testing.assert_allclose(expit(code @ layer.weights.T + layer.output_bias), expected, atol=1e-4)
        inputs = code


@pytest.mark.parametrize("hidden", [None, (7, 4)])
def test_a_warm_start_blends_the_last_parameters_and_new_ones(hidden: Any) -> None:
    x, model = draw_pairs(60, 10), DAE(hidden=hidden, max_epochs=5)
    before = fit(model, x, seed=1)
    cold, warm, half = (
        fit(dataclasses.replace(model, warm_start=share, **STILL), x, previous=before) for share in (0.0, 1.0, 0.5)
    )
    for old, drawn, kept, blend in zip(*map(arrays, (before, cold, warm, half)), strict=True):
        assert not np.array_equal(old, drawn)
        assert np.array_equal(old, kept)
        np.testing.assert_allclose(blend, (old + drawn) / 2, atol=1e-7)


def test_a_network_of_another_size_is_no_start() -> None:
    x = draw_pairs(60, 10)
    before, model = fit(DAE(hidden=5, max_epochs=5), x), DAE(warm_start=1.0, **STILL)
    assert np.array_equal(fit(model, x, previous=before).theta[0].weights, fit(model, x).theta[0].weights)


# ------------------------------------------------------------ training


@pytest.mark.parametrize(("n", "hidden"), [(12, 1), (12, 24), (70, 9), (1, 3), (1, (3, 2)), (9, (3, 2))])
@pytest.mark.parametrize("rows", [1, 7, 60])
def test_any_number_of_rows_variables_and_units(rows: int, n: int, hidden: Any) -> None:
    fitted = fit(DAE(hidden=hidden, biases="marginals", max_epochs=6), draw_pairs(rows, n))
    assert fitted.widths == (n, *(hidden if isinstance(hidden, tuple) else (hidden,)))
    assert fitted.sample(7, rng=rng_of(0)).shape == (7, n)


@pytest.mark.parametrize(
    ("settings", "epochs"),
    [
        ({"min_epochs": 50}, 50),
        ({"min_epochs": 0}, 5),
        ({"min_epochs": 51}, 55),  # the next check
        ({"min_epochs": 25, "check_every": 7}, 28),
        ({"min_epochs": 50, "max_epochs": 12}, 12),
        ({"min_epochs": 1, "check_every": 1}, 1),
    ],
)
def test_training_ends_at_the_first_check_it_may(settings: dict[str, int], epochs: int) -> None:
    fitted = fit(DAE(**{"gamma": AT_ONCE, "max_epochs": 2000, **settings}), draw_pairs(50, 6))
    assert fitted.info["epochs"] == epochs
    curve = fitted.curve()
    assert curve is not None
    every = settings.get("check_every", 5)
    assert curve.epochs.tolist() == [*range(every, epochs, every), epochs]


def test_overfitting_ends_training() -> None:
    """Random bits have no structure, so what is learned of 40 rows does not hold for the ten others."""
    x = rng_of(0).integers(0, 2, (50, 12), dtype=np.uint8)
    model = DAE(gamma=0.0, learning_rate=0.1, min_epochs=0, validation=0.2, max_epochs=400)
    assert 5 < fit(model, x).info["epochs"] < 400


@pytest.mark.parametrize("validation", [0.0, 0.2])
def test_the_parameters_of_the_lowest_error_are_kept(validation: float) -> None:
    """Training is broken off after each check; the parameters change exactly when the error that decides is lower."""
    model, x = DAE(learning_rate=0.8, min_epochs=1000, validation=validation), draw_pairs(80, 8)
    fits = [fit(dataclasses.replace(model, max_epochs=epochs), x) for epochs in range(5, 155, 5)]
    name, kept = "validation_error" if validation else "error", 0
    for before, after in itertools.pairwise(fits):
        same = all(map(np.array_equal, arrays(before), arrays(after)))
        assert after.info[name] <= before.info[name]
        assert (after.info[name] == before.info[name]) == same
        kept += same
    assert 0 < kept < len(fits) - 1


# ------------------------------------------------------------ samples


VARIANTS: dict[str, dict[str, Any]] = {
    "glorot": {"init_scale": "glorot"},
    "marginals": {"biases": "marginals"},
    "some rows": {"max_rows": 150},
    "deep": DEEP,
    "three layers": {"hidden": (10, 9, 8), "init_scale": "glorot", "learning_rate": 0.2},
    "bits in every round": {"binarise": True},
    "all at once": {**DEEP, "biases": "marginals", "max_rows": 250, "binarise": True, "validation": 0.1},
}


@pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS)
def test_every_variant_learns_which_bits_are_equal(settings: dict[str, Any]) -> None:
    x = draw_pairs(300, 10)
    fitted = fit(dataclasses.replace(DAE.author_2016(), **settings), x)
    rows = fitted.sample(1000, rng=rng_of(1))
    assert (rows[:, ::2] == rows[:, 1::2]).mean() > 0.85
    assert np.abs(rows.mean(axis=0) - 0.5).max() < 0.45
    assert len(np.unique(rows, axis=0)) > 25, "all modes are there"
    linkage = fitted.linkage()
    pairs = linkage[np.arange(0, 10, 2), np.arange(1, 10, 2)]
    assert pairs.min() > 3 * np.median(linkage[np.triu_indices(10, 1)])


@pytest.mark.parametrize("rows", [1, 6, 100])
def test_duplicates_of_one_row_are_sampled_back(rows: int) -> None:
    row = np.array([1, 0, 0, 1, 1, 0, 1, 0, 1], dtype=np.uint8)
    sample = fit(DAE(), np.tile(row, (rows, 1))).sample(2000, rng=rng_of(1))
    assert (sample == row).mean() > 0.95
