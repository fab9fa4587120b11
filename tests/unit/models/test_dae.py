"""The autoencoder as a model: its settings, its training and what it keeps of it, its samples."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from daedal.kernels import dae as kernels
from daedal.kernels.products import padded
from daedal.models import DAE
from daedal.models import dae as module
from daedal.models.convergence import late_gain
from daedal.models.dae import FittedDAE

AT_ONCE = 1e9  # gamma: every late gain is below it


def draw_blocks(rows: int, n: int, seed: int = 0) -> np.ndarray:
    """Rows in which neighbours are equal in pairs, so that there is something to learn."""
    return np.repeat(np.random.default_rng(seed).integers(0, 2, (rows, -(-n // 2)), dtype=np.uint8), 2, axis=1)[:, :n]


def fit(model: DAE, x: np.ndarray, seed: int = 0) -> FittedDAE:
    return model.fit(x, rng=np.random.default_rng(seed))


def arrays(fitted: FittedDAE) -> dict[str, list[Any]]:
    return {name: getattr(fitted.theta, name).tolist() for name in kernels.Parameters._fields}


@dataclasses.dataclass
class Calls:
    """What a fit handed to the kernels, and what they measured."""

    batches: set[int] = dataclasses.field(default_factory=set)
    epochs: int = 0
    measured: list[tuple[int, float, kernels.Parameters]] = dataclasses.field(
        default_factory=list
    )  # rows, error, theta
    errors: Callable[[int, float], float] | None = None  # what to say instead, from the count and the true error


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Listen to the kernels `train` and `mean_error`."""
    seen, train, mean_error = Calls(), kernels.train, kernels.mean_error

    def listen_train(x, order, swaps, noise, epochs, batch, *rest):
        seen.batches.add(batch)
        seen.epochs += epochs
        train(x, order, swaps, noise, epochs, batch, *rest)

    def listen_error(x, corrupted, n, m, squared, theta, work):
        error = mean_error(x, corrupted, n, m, squared, theta, work)
        if seen.errors is not None:
            error = seen.errors(len(seen.measured), error)
        seen.measured.append((len(x), error, kernels.copy_parameters(theta)))
        return error

    monkeypatch.setattr(module, "announce", lambda kernel: None)
    monkeypatch.setattr(kernels, "train", listen_train)
    monkeypatch.setattr(kernels, "mean_error", listen_error)
    return seen


# --- Settings. ------------------------------------------------------------------------------------------------------


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
    }


def test_the_later_settings_are_the_default() -> None:
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
    assert dataclasses.asdict(DAE()) == dataclasses.asdict(DAE.paper_2015()) | later


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hidden", 0),
        ("hidden", -3),
        ("error", "entropy"),
        ("corruption", -0.1),
        ("corruption", 1.1),
        ("corruption", float("nan")),
        ("learning_rate", -0.1),
        ("learning_rate", float("nan")),
        ("learning_rate", float("inf")),
        ("bias_factor", -1.0),
        ("momentum", -0.1),
        ("momentum", 1.0),
        ("weight_decay", 1.5),
        ("weight_decay", -1.5),
        ("init_scale", -1.0),
        ("batch_size", 0),
        ("validation", -0.1),
        ("validation", 0.95),
        ("overfitting", -0.1),
        ("gamma", -0.1),
        ("check_every", 0),
        ("min_epochs", -1),
        ("min_updates", -1),
        ("max_epochs", 0),
        ("sampling_steps", 0),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name_and_value(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"expected {name} .*got {name}=") as refusal:
        DAE(**{name: value})
    assert (value if isinstance(value, str) else f"{value:g}") in str(refusal.value)


def test_a_model_is_frozen_and_its_settings_have_names() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        DAE().hidden = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        DAE(10)  # type: ignore[misc]
    with pytest.raises(TypeError):
        DAE(corrupton=0.1)  # type: ignore[call-arg]


# --- A fit. ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [DAE(), DAE.paper_2015(), DAE(tied=False, error="squared")])
def test_the_same_seed_gives_the_same_fit_and_samples(model: DAE) -> None:
    x = draw_blocks(120, 12)
    first, second = fit(model, x), fit(model, x)
    assert first.info == second.info
    assert arrays(first) == arrays(second)
    for rows in (1, 40):
        samples = [f.sample(rows, rng=np.random.default_rng(3)).tolist() for f in (first, second, first)]
        assert samples[0] == samples[1] == samples[2]
    other = fit(model, x, seed=1)
    assert arrays(other) != arrays(first)
    assert first.sample(40, rng=np.random.default_rng(4)).tolist() != samples[0]


def test_a_fit_forgets_the_previous_one_and_leaves_x_alone() -> None:
    x = draw_blocks(60, 8)
    x.setflags(write=False)
    before = x.copy()
    first = fit(DAE(), x)
    again = DAE().fit(x, rng=np.random.default_rng(0), previous=first)
    assert arrays(again) == arrays(first)
    assert (x == before).all()


def test_the_layout_of_x_does_not_matter() -> None:
    x = draw_blocks(60, 9)
    expected = arrays(fit(DAE(max_epochs=10), x))
    assert arrays(fit(DAE(max_epochs=10), np.asfortranarray(x))) == expected
    assert arrays(fit(DAE(max_epochs=10), np.repeat(x, 2, axis=0)[::2])) == expected


def test_sampling_leaves_the_fit_alone() -> None:
    fitted = fit(DAE(max_epochs=10), draw_blocks(60, 9))
    before = arrays(fitted)
    fitted.sample(700, rng=np.random.default_rng(0))
    assert arrays(fitted) == before


@pytest.mark.parametrize("rows", [0, 1, 127, 128, 129, 512, 513, 1100])
def test_samples_are_rows_of_bits(rows: int) -> None:
    sample = fit(DAE(max_epochs=5), draw_blocks(40, 9)).sample(rows, rng=np.random.default_rng(0))
    assert sample.shape == (rows, 9)
    assert sample.dtype == np.uint8
    assert sample.flags.c_contiguous
    assert set(np.unique(sample)) <= {0, 1}


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


@pytest.mark.parametrize("model", [DAE(), DAE.paper_2015(), DAE(validation=0.9)])
@pytest.mark.parametrize("rows", [1, 2, 3, 9])
@pytest.mark.parametrize("n", [1, 2, 9])
def test_the_smallest_populations(model: DAE, n: int, rows: int) -> None:
    fitted = fit(model, draw_blocks(rows, n))
    assert np.isfinite(fitted.info["error"])
    assert fitted.sample(5, rng=np.random.default_rng(0)).shape == (5, n)


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


# --- What the rows are used for. ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "model", "batch", "watched", "held_out"),
    [
        (1000, DAE(), 100, 300, 0),
        (400, DAE(), 80, 240, 0),  # a fifth of the rows
        (4, DAE(), 1, 3, 0),
        (1, DAE(), 1, 1, 0),
        (100, DAE(batch_size=7), 7, 21, 0),
        (1000, DAE.paper_2015(), 100, 300, 100),
        (300, DAE.paper_2015(), 54, 162, 30),  # floor(270 / 5)
        (6000, DAE.paper_2015(), 100, 300, 500),  # 500 rows at most
    ],
)
def test_batches_and_watched_rows(calls: Calls, rows: int, model: DAE, batch: int, watched: int, held_out: int) -> None:
    fit(dataclasses.replace(model, max_epochs=5), draw_blocks(rows, 6))
    assert calls.batches == {batch}
    assert [count for count, _, _ in calls.measured] == [watched] + [held_out] * (held_out > 0)


@pytest.mark.parametrize("tied", [True, False])
def test_first_parameters_are_small_and_normal(tied: bool) -> None:
    n, m = 60, 50
    theta = DAE(tied=tied, init_scale=0.01)._initial(n, m, rng=np.random.default_rng(0))
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


# --- How long it trains, and what it keeps. -------------------------------------------------------------------------


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
def test_training_ends_at_the_first_check_it_may(calls: Calls, settings: dict[str, int], epochs: int) -> None:
    fitted = fit(DAE(gamma=AT_ONCE, **settings), draw_blocks(50, 6))  # type: ignore[arg-type]
    assert fitted.info["epochs"] == calls.epochs == epochs
    assert len(calls.measured) == -(-epochs // settings.get("check_every", 5))


def test_training_without_convergence_ends_at_max_epochs(calls: Calls) -> None:
    calls.errors = lambda k, error: 1000.0 - k
    fitted = fit(DAE(gamma=0.05, max_epochs=123), draw_blocks(50, 6))
    assert fitted.info["epochs"] == calls.epochs == 123
    assert len(calls.measured) == 25


@pytest.mark.parametrize("at_a_time", [1, 2**22])
def test_noise_in_small_pieces_does_not_change_how_long_it_trains(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, at_a_time: int
) -> None:
    monkeypatch.setattr(module, "_NOISE_AT_A_TIME", at_a_time)
    fitted = fit(DAE(gamma=AT_ONCE, min_epochs=21), draw_blocks(50, 6))
    assert fitted.info["epochs"] == calls.epochs == 40


def test_the_rule_ends_training_when_the_error_stands_still(calls: Calls) -> None:
    # Falls by ten for ten measurements, then not at all: the share of the last third sinks from one to nothing.
    calls.errors = lambda k, error: 200.0 - 10 * min(k, 10)
    fitted = fit(DAE(min_epochs=0, min_updates=0), draw_blocks(50, 6))
    measurements = len(calls.measured)
    assert fitted.info["epochs"] == 5 * measurements
    assert 12 < measurements < 30
    # The same rule, by hand, says no one measurement earlier and yes at the last one.
    series = [error for _, error, _ in calls.measured]
    shares = [late_gain(series[:count]) for count in (measurements - 1, measurements)]
    assert shares[0] >= 0.05 > shares[1]


@pytest.mark.parametrize(("overfitting", "epochs"), [(0.1, 5), (0.3, 200), (None, 200)])
def test_overfitting_ends_training(calls: Calls, overfitting: float | None, epochs: int) -> None:
    # Training error and validation error in turn: both fall steadily, the second always 20 % above.
    calls.errors = lambda k, error: (1000.0 - k // 2) * (1.2 if k % 2 else 1.0)
    model = DAE(min_epochs=0, min_updates=0, validation=0.2, overfitting=overfitting, max_epochs=200)
    assert fit(model, draw_blocks(50, 6)).info["epochs"] == epochs


def assert_kept(fitted: FittedDAE, theta: kernels.Parameters) -> None:
    for name in kernels.Parameters._fields:
        assert (getattr(fitted.theta, name) == getattr(theta, name)).all(), name


def test_the_parameters_of_the_lowest_error_are_kept(calls: Calls) -> None:
    errors = [9.0, 7.0, 8.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    calls.errors = lambda k, error: errors[k]
    fitted = fit(DAE(max_epochs=40, min_epochs=1000), draw_blocks(60, 8))
    assert fitted.info == {"epochs": 40.0, "error": 4.0}
    assert_kept(fitted, calls.measured[3][2])
    assert (calls.measured[3][2].encoder != calls.measured[7][2].encoder).any()


def test_the_validation_error_decides_where_there_is_one(calls: Calls) -> None:
    pairs = [(9.0, 9.0), (8.0, 5.0), (7.0, 6.0), (1.0, 8.0)]
    errors = list(itertools.chain(*pairs))
    calls.errors = lambda k, error: errors[k]
    fitted = fit(DAE(max_epochs=20, min_epochs=1000, validation=0.2), draw_blocks(60, 8))
    assert fitted.info == {"epochs": 20.0, "error": 8.0, "validation_error": 5.0}
    assert_kept(fitted, calls.measured[3][2])


@pytest.mark.parametrize("error", ["cross-entropy", "squared"])
@pytest.mark.parametrize("tied", [True, False])
def test_the_told_error_is_that_of_the_kept_parameters(calls: Calls, tied: bool, error: Any) -> None:
    fitted = fit(DAE(tied=tied, error=error, learning_rate=0.8, max_epochs=300), draw_blocks(80, 8))
    series = [measured for _, measured, _ in calls.measured]
    assert fitted.info["error"] == min(series)
    last = max(k for k, value in enumerate(series) if value == min(series))
    assert_kept(fitted, calls.measured[last][2])


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
