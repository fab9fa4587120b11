"""The Boltzmann machine as a model, and the schedule of its training."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from daedal.models.rbm import RBM, FittedRBM, Machine, Schedule, train_epoch


def blocks(rows: int, count: int, size: int, seed: int) -> np.ndarray:
    """Rows of blocks, each all 0 or all 1."""
    return np.repeat(np.random.default_rng(seed).integers(0, 2, (rows, count), dtype=np.uint8), size, axis=1)


def fit_and_sample(x: np.ndarray, rows: int, model: RBM | None = None, seed: int = 0) -> tuple[FittedRBM, np.ndarray]:
    rng = np.random.Generator(np.random.SFC64(seed))
    fitted = (model or RBM()).fit(x, rng=rng)
    return fitted, fitted.sample(rows, rng=rng)


def assert_sound(fitted: FittedRBM, drawn: np.ndarray, rows: int, n: int) -> None:
    assert drawn.shape == (rows, n)
    assert all(np.isfinite(array).all() for array in fitted.machine)
    assert all(np.isfinite(value) for value in fitted.info.values())


@pytest.mark.parametrize(("rows", "min_gain"), [(500, 0.05), (800, 0.01), (2000, 0.01)])
def test_blocks_are_learned_and_sampled_intact(rows: int, min_gain: float) -> None:
    """Of few rows the error is so noisy that a gain of 1 % may be none, and end training: hence the min_gain."""
    x = blocks(rows, 4, 4, 0)
    fitted, drawn = fit_and_sample(x, 1000, RBM(min_gain=min_gain))
    assert_sound(fitted, drawn, 1000, 16)
    intact = np.ptp(drawn.reshape(1000, 4, 4), axis=2) == 0
    assert intact.mean() > 0.85  # independent bits: 1/8
    values = drawn[:, ::4] @ (1 << np.arange(4))
    assert len(np.unique(values)) == 16, "every combination of blocks is found"
    start = x[np.resize(np.arange(rows), 1000)]
    assert (drawn != start).mean() > 0.1, "the chains leave the parents"


def test_rows_that_are_all_equal_come_out_nearly_unchanged() -> None:
    row = np.random.default_rng(5).integers(0, 2, 20, dtype=np.uint8)
    fitted, drawn = fit_and_sample(np.tile(row, (400, 1)), 1000)
    assert_sound(fitted, drawn, 1000, 20)
    assert (drawn != row).mean() == pytest.approx(0.005, abs=0.003)  # no bit is ever certain


def test_each_parent_starts_equally_many_chains() -> None:
    """Of a machine that copies its rows, the samples are the parents."""
    x = np.eye(8, dtype=np.uint8)[:5]
    fitted = RBM(max_epochs=1).fit(x, rng=np.random.Generator(np.random.SFC64(0)))
    weights, hidden_bias, visible_bias, _ = fitted.machine
    weights[...] = 60 * np.eye(8, 4)
    hidden_bias[:] = visible_bias[:] = -30
    drawn = fitted.sample(15, rng=np.random.default_rng(0))
    assert drawn[:, :4].sum(axis=0).tolist() == [3, 3, 3, 3]


def test_training_tells_of_itself() -> None:
    fitted, _ = fit_and_sample(blocks(300, 3, 4, 9), 1)
    assert fitted.info["epochs"] % 2 == 0
    assert 0 < fitted.info["epochs"] <= 1000
    assert 0 <= fitted.info["error"] < 0.3
    short, _ = fit_and_sample(blocks(300, 3, 4, 9), 1, RBM(max_epochs=3))
    assert short.info["epochs"] == 3


@pytest.mark.parametrize(
    ("rows", "batch"), [(1, 1), (3, 1), (40, 10), (799, 199), (800, 66), (1000, 62), (2000, 64), (6400, 64)]
)
def test_batches_are_about_64_rows_and_few_rows_are_four(rows: int, batch: int) -> None:
    assert RBM().batch_rows(rows) == batch
    assert RBM(batch_size=10**6).batch_rows(max(rows, 800)) == max(rows, 800), "one batch of all rows"


def test_hidden_units_and_steps_can_be_set() -> None:
    for hidden, n, m in ((9, 6, 9), (None, 6, 3), (None, 7, 3), (None, 1, 1)):
        model = RBM(hidden=hidden, cd_steps=1, gibbs_steps=2, max_epochs=4)
        fitted, drawn = fit_and_sample(blocks(50, 7, 1, 1)[:, :n], 5, model)
        assert fitted.machine.weights.shape == (n, m)
        assert not fitted.machine.mean.any(), "what it is centered by has gone into the biases"
        assert_sound(fitted, drawn, 5, n)


def test_an_epoch_ascends_along_the_gradients_of_its_batches() -> None:
    """With units that are certain, each step is known: momentum is for weights only, biases have their own rate."""
    model = RBM(cd_steps=2, learning_rate=0.5, bias_factor=3.0, momentum=0.4)
    x = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [1, 0]], dtype=np.float32)
    flat = np.zeros((2, 1), dtype=np.float32)
    on, off, mean = (np.full(width, value, dtype=np.float32) for width, value in ((1, 100), (2, -100), (2, 0.5)))
    machine = Machine(flat, on.copy(), off.copy(), mean)
    train_epoch(model, x - 0.5, 2, machine, np.zeros_like(flat), Schedule(model), np.random.default_rng(0))
    first, second = x[:2].sum(axis=0), x[2:4].sum(axis=0)  # hidden units are on, so they stand for the rows' sums
    velocity = 0.4 * first / 2 + second / 2
    np.testing.assert_allclose(machine.weights[:, 0], 0.5 * (first / 2 + velocity), rtol=1e-5)
    np.testing.assert_allclose(machine.visible_bias - off, 1.5 * (first + second) / 2, rtol=1e-4)
    np.testing.assert_allclose(machine.hidden_bias, on)


# The schedule


def schedule_of(errors: list[float], *, epoch: int = 0, updates: int = 0, **changed: float) -> Schedule:
    schedule = Schedule(dataclasses.replace(RBM(smoothing=0.0), **changed))  # type: ignore[arg-type]
    for error in errors:
        schedule.add(error, epoch=epoch, updates=updates)
    return schedule


def test_r_is_the_gain_of_the_last_quarter_over_all_gain() -> None:
    falling = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
    assert schedule_of(falling).late_gain() == pytest.approx(2 / 8)
    assert schedule_of(falling[:4]).late_gain() == 1.0, "too early to tell"
    assert schedule_of([1.0, 0.5, 0.4, 0.3, 0.4]).late_gain() == 0.0, "a rise is no gain"
    assert schedule_of([1.0, 1.1, 1.2, 1.3, 1.2]).late_gain() == 0.0, "no gain at all"
    assert schedule_of([1.0, 1.1, 1.2, 1.3, 0.9]).late_gain() == 1.0


@pytest.mark.parametrize(
    ("end", "late", "halvings", "stop"),
    [(0.40, False, 0, False), (0.46, True, 0, False), (0.48, True, 1, False), (0.497, True, 1, True)],
)
def test_a_low_r_first_raises_momentum_then_halves_the_rate_then_stops(
    end: float, late: bool, halvings: int, stop: bool
) -> None:
    schedule = schedule_of([1.0, 0.9, 0.7, 0.5, end])
    assert (schedule.late, schedule.halvings, schedule.stop) == (late, halvings, stop)


def test_the_rate_is_halved_at_every_low_r_and_the_momentum_follows_r() -> None:
    schedule = schedule_of([1.0, 0.9, 0.7, 0.5, 0.48, 0.47, 0.46, 0.3])
    assert schedule.halvings == 3
    assert schedule.late_gain() > 0.1
    assert not schedule.late
    assert schedule_of([1.0, 0.9, 0.7, 0.5, 0.48, 0.47]).late
    assert not schedule.stop


def test_nothing_happens_before_the_error_has_fallen_and_a_low_one_is_enough() -> None:
    schedule = schedule_of([0.5, 0.496, 0.496, 0.496, 0.496, 0.496])
    assert (schedule.late, schedule.halvings, schedule.stop) == (False, 0, False)
    assert schedule_of([0.009]).stop
    assert not schedule_of([0.011]).stop


@pytest.mark.parametrize(
    ("epoch", "updates", "end", "stop"),
    [(30, 2000, 0.52, True), (30, 2000, 0.509, False), (29, 2000, 0.52, False), (30, 1999, 0.52, False)],
)
def test_a_rise_ends_long_training(epoch: int, updates: int, end: float, stop: bool) -> None:
    assert schedule_of([0.5, 0.5, 0.5, 0.5, end], epoch=epoch, updates=updates).stop is stop
