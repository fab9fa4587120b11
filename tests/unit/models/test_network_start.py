"""Where training starts: scales, biases, the last generation's parameters, the best of several, single layers."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from daedal.models.dae import DAE, FittedDAE
from daedal.models.network_start import drawn_stack, stack_arrays

STILL: dict[str, Any] = {"learning_rate": 0.0, "max_epochs": 1}


def draw_blocks(rows: int, n: int, seed: int = 0) -> np.ndarray:
    """Rows in which neighbours are equal in pairs, so that there is something to learn."""
    return np.repeat(np.random.default_rng(seed).integers(0, 2, (rows, -(-n // 2)), dtype=np.uint8), 2, axis=1)[:, :n]


X = draw_blocks(60, 10)


def fit(model: DAE, x: np.ndarray = X, previous: FittedDAE | None = None, seed: int = 0) -> FittedDAE:
    return model.fit(x, rng=np.random.default_rng(seed), previous=previous)


def arrays(fitted: FittedDAE) -> dict[str, np.ndarray]:
    return stack_arrays(fitted.stack, fitted.widths)


@pytest.mark.parametrize("tied", [True, False])
def test_glorot_scales_each_layer_by_what_it_connects(tied: bool) -> None:
    widths = (80, 120, 30)
    rng = np.random.default_rng(0)
    stack = drawn_stack(widths, tied=tied, init="glorot", scale=0.01, mean=None, rng=rng)
    for k, theta in enumerate(stack):
        n, m = widths[k : k + 2]
        sd = 4 * np.sqrt(2 / (n + m))
        for weights in (theta.encoder[:n, :m], theta.decoder[:n, :m]):
            assert abs(weights.std() - sd) < 4 * sd / np.sqrt(2 * weights.size)
        assert theta.hidden_bias[:m].std() < 0.02
        assert (theta.decoder_t == theta.decoder.T).all()


@pytest.mark.parametrize("init", ["normal", "glorot"])
@pytest.mark.parametrize("widths", [(9, 30), (9, 30, 20)])
def test_biases_from_marginals_reconstruct_them(widths: tuple[int, ...], init: Any) -> None:
    """At hidden units that are half on, which they are at the mean."""
    mean = np.array([0.0, 0.1, 0.25, 0.5, 0.5, 0.6, 0.8, 0.9, 1.0])
    stack = drawn_stack(widths, tied=True, init=init, scale=0.01, mean=mean, rng=np.random.default_rng(0))
    code = expit(mean @ stack[0].encoder[:9] + stack[0].hidden_bias)
    np.testing.assert_allclose(code, 0.5, atol=1e-5)
    output = expit(code @ stack[0].decoder[:9].T + stack[0].output_bias[:9])
    np.testing.assert_allclose(output, np.clip(mean, 0.005, 0.995), atol=1e-4)
    for theta, m in zip(stack[1:], widths[2:], strict=True):
        n = theta.encoder.shape[0]
        above = expit(np.where(np.arange(n) < 30, 0.5, 0) @ theta.encoder + theta.hidden_bias)
        np.testing.assert_allclose(above[:m], 0.5, atol=1e-5)


@pytest.mark.parametrize("hidden", [None, (7, 4)])
@pytest.mark.parametrize("tied", [True, False])
def test_a_warm_start_blends_the_last_parameters_and_new_ones(tied: bool, hidden: Any) -> None:
    model = DAE(hidden=hidden, tied=tied, max_epochs=5)
    before = fit(model, seed=1)
    cold, warm, half = (
        arrays(fit(dataclasses.replace(model, warm_start=share, **STILL), previous=before)) for share in (0.0, 1.0, 0.5)
    )
    assert cold["0/encoder"].tolist() != arrays(before)["0/encoder"].tolist()
    for name, old in arrays(before).items():
        assert warm[name].tolist() == old.tolist(), name
        np.testing.assert_allclose(half[name], (old + cold[name]) / 2, atol=1e-7)


def test_another_network_is_no_start() -> None:
    before = fit(DAE(hidden=5, max_epochs=5))
    model = DAE(warm_start=1.0, **STILL)
    assert (fit(model, previous=before).theta.encoder == fit(model).theta.encoder).all()


@pytest.mark.parametrize("hidden", [None, 4, (7, 4)])
@pytest.mark.parametrize("tied", [True, False])
def test_what_is_remembered_is_what_was_learned(tied: bool, hidden: Any) -> None:
    model = DAE(hidden=hidden, tied=tied, max_epochs=5, warm_start=0.5)
    fitted = fit(model)
    again = model.remembered(model.memory(fitted), 10)
    assert again is not None
    assert again.widths == fitted.widths
    for theta, other in zip(again.stack, fitted.stack, strict=True):
        assert (theta.decoder is theta.encoder) == tied
        for one, same in zip(theta, other, strict=True):
            assert (one == same).all()
    assert arrays(fit(model, previous=again)).keys() == arrays(fitted).keys()
    assert fit(model, previous=again).sample(20, rng=np.random.default_rng(3)).tolist() == (
        fit(model, previous=fitted).sample(20, rng=np.random.default_rng(3)).tolist()
    )


def test_nothing_is_remembered_where_nothing_is_kept() -> None:
    assert DAE(warm_start=0.0).memory(fit(DAE(max_epochs=1))) == {}
    assert DAE(warm_start=1.0).memory(None) == {}
    assert DAE(warm_start=1.0).remembered({}, 10) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda kept: kept.pop("0/encoder"),
        lambda kept: kept.update({"0/encoder": kept["0/encoder"][:-1]}),
        lambda kept: kept.update({"0/hidden_bias": kept["0/hidden_bias"].astype(np.float64)}),
        lambda kept: kept["0/output_bias"].fill(np.nan),
    ],
)
def test_damaged_memories_are_refused(damage: Any) -> None:
    model = DAE(warm_start=1.0, max_epochs=1)
    kept = model.memory(fit(model))
    damage(kept)
    with pytest.raises(ValueError, match=r"expected parameters 0/.* of an autoencoder"):
        model.remembered(kept, 10)


def test_the_best_of_several_starts_goes_on() -> None:
    """Without learning, the first start of several is the only one of one, and the others are as good by chance."""
    errors = [fit(DAE(starts=starts, init_scale=2.0, **STILL)).info["error"] for starts in (1, 2, 3, 10)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0]


def test_pretraining_is_of_layers_by_themselves() -> None:
    x = draw_blocks(300, 12)
    model = DAE(hidden=(12, 8), init="glorot", max_epochs=1)
    plain, pretrained = (fit(dataclasses.replace(model, pretrain=epochs), x) for epochs in (0, 60))

    def alone(fitted: FittedDAE) -> float:
        """How wrong the first layer is when it reconstructs without those above it."""
        theta, n, m = fitted.theta, fitted.n, fitted.m
        code = expit(x @ theta.encoder[:n, :m] + theta.hidden_bias[:m])
        return float(np.abs(expit(code @ theta.decoder[:n, :m].T + theta.output_bias[:n]) - x).mean())

    assert alone(pretrained) < 0.7 * alone(plain)
    assert pretrained.info["error"] < plain.info["error"]


def test_one_layer_needs_no_pretraining() -> None:
    one, other = fit(DAE(max_epochs=5)), fit(DAE(max_epochs=5, pretrain=20))
    assert (one.theta.encoder == other.theta.encoder).all()
