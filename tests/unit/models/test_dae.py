"""The autoencoder as a model: its settings, what the rows are used for, how long it trains, what it samples."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from daedal.kernels import dae as kernels
from daedal.kernels.products import padded
from daedal.models.dae import DAE, FittedDAE
from daedal.models.network_start import drawn_stack

AT_ONCE = 1e9  # gamma: every late gain is below it


def draw_blocks(rows: int, n: int, seed: int = 0) -> np.ndarray:
    """Rows in which neighbours are equal in pairs, so that there is something to learn."""
    return np.repeat(np.random.default_rng(seed).integers(0, 2, (rows, -(-n // 2)), dtype=np.uint8), 2, axis=1)[:, :n]


def fit(model: DAE, x: np.ndarray, seed: int = 0) -> FittedDAE:
    return model.fit(x, rng=np.random.default_rng(seed))


def arrays(fitted: FittedDAE) -> dict[str, list[Any]]:
    return {name: getattr(fitted.theta, name).tolist() for name in kernels.Parameters._fields}


def test_the_papers_settings() -> None:
    """REFERENCE.md, section 1, "DAE (settings of the 2015 paper)", line by line."""
    assert dataclasses.asdict(DAE.paper_2015()) == {
        "hidden": None,  # n-n-n
        "tied": True,
        "error": "cross-entropy",
        "corruption": 0.1,
        "learning_rate": 0.2,
        "bias_factor": 5.0,
        "momentum": 0.0,
        "weight_decay": -0.001,  # the wrong sign of the authors' program: W grows by 1.0002
        "init_scale": 0.01,
        "batch_size": 100,
        "validation": 0.1,
        "overfitting": 0.1,
        "gamma": 0.05,
        "check_every": 5,
        "min_epochs": 25,
        "min_updates": 0,
        "max_epochs": 2000,
        "sampling_steps": 10,
        # What the paper does not have is left out.
        "noise": "salt+pepper",
        "block_size": 4,
        "optimizer": "sgd",
        "init": "normal",
        "biases": "normal",
        "warm_start": 0.0,
        "starts": 1,
        "pretrain": 0,
        "walkback": 0,
        "max_rows": None,
        "distinct": False,
        "sampling_start": "random",
        "temperature": 1.0,
        "binarise": False,
        "backend": "numba",
        "device": None,
    }


def test_the_later_settings_are_those_of_the_authors_program() -> None:
    """The same place, "the authors' later settings"; corruption and decay are daedal's own choice."""
    later = {
        "learning_rate": 0.1,
        "momentum": 0.3,
        "init_scale": 0.005,
        "validation": 0.0,
        "overfitting": None,
        "min_epochs": 50,
        "min_updates": 200,
        "corruption": 0.05,
        "weight_decay": 0.0,
    }
    assert dataclasses.asdict(DAE.author_2016()) == dataclasses.asdict(DAE.paper_2015()) | later


@pytest.mark.parametrize(
    ("rows", "model", "held_out", "batch", "watched"),
    [
        (1000, DAE(), 0, 100, 300),
        (400, DAE(), 0, 80, 240),  # a fifth of the rows
        (4, DAE(), 0, 1, 3),
        (1, DAE(), 0, 1, 1),
        (100, DAE(batch_size=7), 0, 7, 21),
        (1000, DAE.paper_2015(), 100, 100, 300),
        (300, DAE.paper_2015(), 30, 54, 162),  # floor(270 / 5)
        (6000, DAE.paper_2015(), 500, 100, 300),  # 500 rows at most
        (2, DAE(validation=0.9), 1, 1, 1),
    ],
)
def test_what_rows_are_used_for(rows: int, model: DAE, held_out: int, batch: int, watched: int) -> None:
    assert model.divide(rows) == (held_out, batch, watched)


@pytest.mark.parametrize("tied", [True, False])
def test_first_parameters_are_small_and_normal(tied: bool) -> None:
    n, m = 60, 50
    (theta,) = drawn_stack((n, m), tied=tied, init="normal", scale=0.01, mean=None, rng=np.random.default_rng(0))
    drawn = [theta.encoder[:n, :m], theta.hidden_bias[:m], theta.output_bias[:n]]
    if not tied:
        drawn.append(theta.decoder[:n, :m])
        assert (theta.decoder[:n, :m] != theta.encoder[:n, :m]).all()
    for values in drawn:
        standard_error = 0.01 / np.sqrt(values.size)
        assert abs(values.mean()) < 4 * standard_error
        assert abs(values.std() - 0.01) < 4 * standard_error
    assert (theta.decoder_t == theta.decoder.T).all()
    for name, real in (("encoder", (n, m)), ("decoder", (n, m)), ("hidden_bias", (m,)), ("output_bias", (n,))):
        padding = getattr(theta, name).copy()
        padding[tuple(slice(k) for k in real)] = 0
        assert not padding.any(), name


def test_info_tells_epochs_and_errors() -> None:
    x = draw_blocks(200, 10)
    plain, watched = fit(DAE(), x), fit(DAE(validation=0.2), x)
    assert set(plain.info) == {"epochs", "error"}
    assert set(watched.info) == {"epochs", "error", "validation_error"}
    for fitted in (plain, watched):
        assert 50 <= fitted.info["epochs"] <= 2000
        assert 0 < fitted.info["error"] < 10 * np.log(2), "no better than a guess"
        assert isinstance(fitted.info["epochs"], int)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("n", "hidden"), [(12, 1), (12, 5), (12, 24), (12, None), (70, 9), (1, 3)])
def test_hidden_units_need_not_be_as_many_as_variables(n: int, hidden: int | None, tied: bool) -> None:
    fitted = fit(DAE(hidden=hidden, tied=tied, max_epochs=10), draw_blocks(60, n))
    m = n if hidden is None else hidden
    assert (fitted.n, fitted.m) == (n, m)
    assert (fitted.theta.decoder is fitted.theta.encoder) == tied
    assert fitted.theta.encoder.shape == (padded(n), padded(m))
    assert fitted.theta.encoder[:n, :m].all()
    assert not fitted.theta.encoder[n:].any()
    assert not fitted.theta.encoder[:, m:].any()
    assert fitted.sample(7, rng=np.random.default_rng(0)).shape == (7, n)


def test_one_layer_is_the_same_however_it_is_given() -> None:
    layers: list[Any] = [8, (8,), [8]]
    assert {DAE(hidden=hidden) for hidden in layers} == {DAE(hidden=8)}
    assert DAE(hidden=[8, 4]) == DAE(hidden=(8, 4))  # type: ignore[arg-type]


@pytest.mark.parametrize("model", [DAE(), DAE.paper_2015()])
def test_constant_columns_stay_nearly_constant(model: DAE) -> None:
    x = np.random.default_rng(0).integers(0, 2, (300, 10), dtype=np.uint8)
    x[:, :3], x[:, 3:5] = 0, 1
    means = fit(model, x).sample(4000, rng=np.random.default_rng(1)).mean(axis=0)
    # Half the corruption is what a bit costs that the noise has just changed and nothing tells.
    assert (means[:3] < 0.05).all()
    assert (means[3:5] > 0.95).all()
    assert (np.abs(means[5:] - 0.5) < 0.25).all()


@pytest.mark.parametrize("rows", [1, 6, 100])
def test_duplicates_of_one_row_are_sampled_back(rows: int) -> None:
    row = np.array([1, 0, 0, 1, 1, 0, 1, 0, 1], dtype=np.uint8)
    sample = fit(DAE(), np.tile(row, (rows, 1))).sample(2000, rng=np.random.default_rng(1))
    assert (sample == row).mean() > 0.95


@pytest.mark.parametrize(
    ("settings", "epochs"),
    [
        ({"min_epochs": 50, "min_updates": 0}, 50),
        ({"min_epochs": 0, "min_updates": 0}, 5),
        ({"min_epochs": 51, "min_updates": 0}, 55),  # the next check
        ({"min_epochs": 25, "min_updates": 0, "check_every": 7}, 28),
        ({"min_epochs": 10, "min_updates": 200}, 40),  # 5 batches of 10 rows an epoch
        ({"min_epochs": 10, "min_updates": 201}, 45),
        ({"min_epochs": 60, "min_updates": 200}, 60),
        ({"min_epochs": 50, "min_updates": 0, "max_epochs": 12}, 12),
        ({"min_epochs": 0, "min_updates": 10**9, "max_epochs": 33}, 33),
        ({"min_epochs": 1, "min_updates": 0, "check_every": 1}, 1),
    ],
)
def test_training_ends_at_the_first_check_it_may(settings: dict[str, int], epochs: int) -> None:
    fitted = fit(DAE(**{"gamma": AT_ONCE, "max_epochs": 2000, **settings}), draw_blocks(50, 6))
    assert fitted.info["epochs"] == epochs


def test_overfitting_ends_training() -> None:
    """Bits without any structure: what is learned of 40 rows does not hold for the ten others."""
    x = np.random.default_rng(0).integers(0, 2, (50, 12), dtype=np.uint8)
    model = DAE(gamma=0.0, learning_rate=0.1, min_epochs=0, min_updates=0, validation=0.2, max_epochs=400)
    epochs = [fit(dataclasses.replace(model, overfitting=most), x).info["epochs"] for most in (0.1, 0.5)]
    assert 5 < epochs[0] < epochs[1] < 400


@pytest.mark.parametrize("error", ["cross-entropy", "squared"])
@pytest.mark.parametrize("tied", [True, False])
def test_the_parameters_of_the_lowest_error_are_kept(tied: bool, error: Any) -> None:
    """Broken off after every check, with the same words: what is kept changes when a lower error is told, only then."""
    model = DAE(tied=tied, error=error, learning_rate=0.8, min_epochs=1000)
    fits = [fit(dataclasses.replace(model, max_epochs=epochs), draw_blocks(80, 8)) for epochs in range(5, 155, 5)]
    kept = 0
    for before, after in itertools.pairwise(fits):
        assert after.info["error"] <= before.info["error"]
        assert (after.info["error"] == before.info["error"]) == (arrays(after) == arrays(before))
        kept += after.info["error"] == before.info["error"]
    assert 0 < kept < len(fits) - 1


def test_training_learns() -> None:
    x = draw_blocks(500, 20)
    short, long = fit(DAE(max_epochs=5), x), fit(DAE(), x)
    assert long.info["error"] < 0.5 * short.info["error"]


@pytest.mark.parametrize(("decay", "grows"), [(-0.05, True), (0.05, False)])
def test_negative_weight_decay_lets_weights_grow(decay: float, grows: bool) -> None:
    x = draw_blocks(200, 10)
    settings = {"min_epochs": 60, "max_epochs": 60}
    plain, changed = fit(DAE(**settings), x), fit(DAE(weight_decay=decay, **settings), x)  # type: ignore[arg-type]
    assert (np.linalg.norm(changed.theta.encoder) > np.linalg.norm(plain.theta.encoder)) == grows
