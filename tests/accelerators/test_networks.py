"""Every kind of network learns by JAX, alone and side by side, and one program serves a whole run."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import pytest

import daedal
from daedal.models import DAE
from daedal.models.dae import FittedDAE
from daedal.models.jax_backend import stopping
from daedal.models.jax_backend.fitting import job_of, numbers_of
from daedal.models.jax_backend.training import fit_program
from daedal.models.training import TrainingErrors


def draw_blocks(rows: int = 200, n: int = 10, seed: int = 0) -> np.ndarray:
    return np.repeat(np.random.default_rng(seed).integers(0, 2, (rows, n // 2), dtype=np.uint8), 2, axis=1)


def fit(model: DAE, x: np.ndarray, seed: int = 0) -> FittedDAE:
    return model.fit(x, rng=np.random.default_rng(seed))


def sample(fitted: FittedDAE, rows: int = 1000) -> np.ndarray:
    return fitted.sample(rows, rng=np.random.default_rng(1))


DEEP: dict[str, Any] = {"hidden": (10, 8), "init": "glorot"}
VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "adam, three starts, marginals": {
        "optimizer": "adam", "learning_rate": 0.02, "bias_factor": 1.0, "starts": 3, "biases": "marginals"
    },
    "distinct, cool, bits in every round": {"distinct": True, "temperature": 0.7, "binarise": True},
    "masking, not tied": {"noise": "masking", "corruption": 0.2, "tied": False, "init": "glorot"},
    "all at once": {
        **DEEP, "biases": "marginals", "starts": 2, "pretrain": 5, "walkback": 1, "noise": "block", "block_size": 2,
        "max_rows": 170, "sampling_start": "parents", "sampling_steps": "auto", "binarise": True, "validation": 0.1,
    },
}  # fmt: skip


@pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS)
def test_every_variant_learns_which_bits_are_equal(settings: dict[str, Any]) -> None:
    x = draw_blocks()
    fitted = fit(DAE(backend="jax", **settings), x)
    rows = sample(fitted)
    assert (rows[:, ::2] == rows[:, 1::2]).mean() > 0.85
    assert np.abs(rows.mean(axis=0) - 0.5).max() < 0.45
    assert len(np.unique(rows, axis=0)) > 25, "all modes are there"
    linkage = fitted.linkage()
    pairs = linkage[np.arange(0, 10, 2), np.arange(1, 10, 2)]
    assert pairs.min() > 3 * np.median(linkage[np.triu_indices(10, 1)])
    if settings.get("validation"):
        assert math.isfinite(fitted.info["validation_error"])
    if settings.get("sampling_steps") == "auto":
        assert fitted.info["sampling_steps"] == fitted.sampling_steps
        found = fitted.correlations(rng=np.random.default_rng(3))
        assert 1 <= len(found) <= 50
        assert max(found) < 1


def test_what_is_clamped_stays() -> None:
    x = draw_blocks()
    fitted, held = fit(DAE(backend="jax"), x), np.zeros_like(x)
    held[:, ::2] = 1
    rows = fitted.sample_from(1 - x, clamped=held, steps=5, rng=np.random.default_rng(1))
    assert (rows[:, ::2] == 1 - x[:, ::2]).all()
    assert (rows[:, ::2] == rows[:, 1::2]).mean() > 0.9
    assert fitted.sample_from(x[:0], rng=np.random.default_rng(1)).shape == (0, 10)
    with pytest.raises(ValueError, match="expected rows of 10 bits"):
        fitted.sample_from(x[:, :3], rng=np.random.default_rng(1))


def test_samples_come_in_blocks() -> None:
    rows = sample(fit(DAE(backend="jax"), draw_blocks()), 2000)
    assert rows.shape == (2000, 10)
    assert not np.array_equal(rows[:900], rows[1024:1924])
    assert np.abs(rows[:1024].mean(axis=0) - rows[1024:].mean(axis=0)).max() < 0.08


@pytest.mark.parametrize("settings", [{}, {"starts": 2, "validation": 0.2}])
def test_networks_side_by_side_are_those_one_by_one(settings: dict[str, Any]) -> None:
    """Within what sums in another order do to float32 in so many epochs; they stop when each would."""
    model, seeds = DAE(backend="jax", max_epochs=30, min_epochs=10, gamma=0.5, **settings), range(3)
    xs = [draw_blocks(seed=seed) for seed in seeds]
    together = model.fit_many(xs, rngs=[np.random.default_rng(seed) for seed in seeds])
    alone = [fit(model, x, seed) for seed, x in zip(seeds, xs, strict=True)]
    for one, other in zip(together, alone, strict=True):
        assert one.info["epochs"] == other.info["epochs"]
        assert one.info["error"] == pytest.approx(other.info["error"], rel=1e-4)
        np.testing.assert_allclose(one.theta.encoder, other.theta.encoder, atol=1e-4)
        curves = one.curve(), other.curve()
        assert None not in curves
        np.testing.assert_allclose(curves[0].errors, curves[1].errors, rtol=1e-4)


def test_networks_of_several_shapes() -> None:
    xs = [draw_blocks(50, 8), draw_blocks(60, 6), draw_blocks(50, 8, seed=1)]
    found = DAE(backend="jax", max_epochs=5).fit_many(xs, rngs=[np.random.default_rng(k) for k in range(3)])
    assert [one.n for one in found] == [8, 6, 8]
    with pytest.raises(ValueError, match="3 arrays, 2 streams and 3 fits"):
        DAE(backend="jax").fit_many(xs, rngs=[np.random.default_rng(k) for k in range(2)])


def test_fits_by_the_kernels_are_the_same_one_by_one_and_together() -> None:
    model, x = DAE(max_epochs=10), draw_blocks()
    together = model.fit_many([x, x], rngs=[np.random.default_rng(k) for k in range(2)])
    for k, one in enumerate(together):
        assert np.array_equal(one.theta.encoder, fit(model, x, k).theta.encoder)


def test_one_program_serves_a_whole_run() -> None:
    """Also where the parameters of the last generation are used, which the first one does not have."""
    model = DAE(backend="jax", max_epochs=11, warm_start=0.5, learning_rate=0.05)
    daedal.maximize("onemax:n=9", algorithm=model, popsize=30, seed=1, max_generations=4)
    x = draw_blocks(15, 10)[:, :9]
    plan = job_of(model, x, np.random.default_rng(0), None).plan
    assert fit_program(plan)._cache_size() == 1
    other = DAE(backend="jax", max_epochs=11, warm_start=0.25, learning_rate=0.1, momentum=0.5, corruption=0.3)
    fit(other, x)
    assert fit_program(job_of(other, x, np.random.default_rng(0), None).plan) is fit_program(plan)
    assert fit_program(plan)._cache_size() == 1, "numbers are not compiled into it"


def test_the_estimate_of_memory_holds() -> None:
    model, rng = DAE(backend="jax", starts=3), np.random.default_rng(0)
    job = job_of(model, draw_blocks(300, 100), rng, None)
    compiled = (
        fit_program(job.plan).lower(numbers_of(model, job.given.x.shape[1], job.batches, None), job.given).compile()
    )
    found = compiled.memory_analysis()
    needed = found.temp_size_in_bytes + found.argument_size_in_bytes + found.output_size_in_bytes
    assert needed < model.working_bytes(300, 100) < 5 * needed


@pytest.mark.parametrize("validation", [False, True])
def test_training_stops_when_the_rule_in_python_says_so(validation: bool) -> None:
    rng, size = np.random.default_rng(0), 40
    rule = jax.jit(stopping.converged)
    seen = set()
    for _ in range(20):
        fall = np.exp(-np.arange(size) * rng.uniform(0.01, 0.5))
        series = [(5 + scale * fall + rng.normal(0, 0.02, size)).astype(np.float32) for scale in (2, 1)]
        errors = TrainingErrors(gamma=0.1, overfitting=0.02 if validation else None)
        for count in range(1, size + 1):
            errors.add(float(series[0][count - 1]), float(series[1][count - 1]) if validation else None)
            told = [np.where(np.arange(size) < count, one, 0).astype(np.float32) for one in series]
            stop = rule(told[0], told[1] if validation else None, np.int32(count), np.float32(0.1), np.float32(0.02))
            assert bool(stop) == errors.converged()
            seen.add(bool(stop))
    assert seen == {False, True}


def test_a_users_own_jax_is_left_alone() -> None:
    before = dict(jax.config.values)
    with jax.enable_x64(True):
        rows = sample(fit(DAE(backend="jax", max_epochs=5, sampling_steps="auto"), draw_blocks()), 10)
    assert rows.dtype == np.uint8
    assert dict(jax.config.values) == before
