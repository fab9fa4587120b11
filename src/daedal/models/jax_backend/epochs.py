"""Epochs on the device: batches, walkback, pretraining of layers, and starts that are trained side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.models.jax_backend.modules import jax, jnp, lax
from daedal.models.jax_backend.network import (
    Layer,
    Learner,
    Rule,
    batch_gradient,
    encode,
    mean_error,
    move,
    new_learner,
)
from daedal.models.jax_backend.noise import Noise, NoiseNumbers, corrupt, draw_words, shuffled, wrapped
from daedal.models.jax_backend.start import blended, draw_layers

_WATCHED, _HELD_OUT, _START, _TRAINING = range(4)  # what a fit's random numbers are for


class Plan(NamedTuple):
    """What a program is compiled for, beside the shapes of its arrays."""

    widths: tuple[int, ...]
    tied: bool
    squared: bool
    adam: bool
    glorot: bool
    marginals: bool
    warm: bool  # whether there may be parameters to start from
    noise: Noise
    walkback: int
    batch: int
    watched: int
    held_out: int
    starts: int
    pretrained: bool
    checks: int  # how often errors are measured, at most
    many: bool  # whether there are several networks: all arrays of `Given` then have one more axis, the first


class Numbers(NamedTuple):
    """Numbers that are the same for all networks of a program, which takes them as they come; shape () each."""

    rule: Rule
    batches: NDArray[np.int32]  # of an epoch
    check_every: NDArray[np.int32]
    min_epochs: NDArray[np.int32]
    max_epochs: NDArray[np.int32]
    short: NDArray[np.int32]  # epochs that each of several starts gets
    pretrain: NDArray[np.int32]
    gamma: NDArray[np.float32]
    overfitting: NDArray[np.float32]  # inf: never
    init_scale: NDArray[np.float32]


class Given(NamedTuple):
    """What a network is trained on, and what its random numbers come from."""

    x: Any  # (rows, n) uint8, those held out first
    key: Any  # (2,) uint32
    noise: NoiseNumbers
    old: tuple[Layer, ...] | None  # parameters of the last generation
    share: Any  # () float32: how much of them stays


class Watched(NamedTuple):
    """Rows that errors are measured on, and how they were corrupted, once."""

    x: Any
    corrupted: Any


def epoch(
    plan: Plan, numbers: Numbers, noise: NoiseNumbers, learner: Learner, rows: Any, words_of: Callable[[Any], Any]
) -> Learner:
    """Train on rows, shape (rows, n), in their order; those left over by the last batch are dropped.

    `words_of(i)` gives the words, shape (batch, n), that corrupt the batch of update i of this epoch. With walkback, a
    batch is followed by its reconstructions, which are corrupted again, and have the same rows as their aim.
    """
    rounds = 1 + plan.walkback

    def update(i: Any, state: tuple[Learner, Any]) -> tuple[Learner, Any]:
        learner, read = state
        aim = lax.dynamic_slice_in_dim(rows, (i // rounds) * plan.batch, plan.batch).astype(jnp.float32)
        read = aim if rounds == 1 else jnp.where(i % rounds == 0, aim, read)
        corrupted = corrupt(read, words_of(i), plan.noise, noise)
        gradient, rebuilt = batch_gradient(learner.layers, aim, corrupted, squared=plan.squared)
        return move(learner, gradient, numbers.rule, plan.batch), None if rounds == 1 else rebuilt

    nothing = None if rounds == 1 else jnp.zeros((plan.batch, rows.shape[1]), jnp.float32)
    trained: Learner = lax.fori_loop(0, numbers.batches * rounds, update, (learner, nothing))[0]
    return trained


def train(
    plan: Plan, numbers: Numbers, noise: NoiseNumbers, learner: Learner, rows: Any, key: Any, first: Any, count: Any
) -> Learner:
    """Train for `count` epochs on rows, shape (rows, n), shuffled anew for each; `first` were before them."""
    n = rows.shape[1]

    def one(e: Any, learner: Learner) -> Learner:
        order_key, words_key = jax.random.split(jax.random.fold_in(key, first + e))
        return epoch(
            plan, numbers, noise, learner, shuffled(rows, order_key),
            lambda i: draw_words(jax.random.fold_in(words_key, i), plan.batch, n),
        )  # fmt: skip

    trained: Learner = lax.fori_loop(0, count, one, learner)
    return trained


def go_on(plan: Plan, numbers: Numbers, given: Given, learner: Learner, first: Any, count: Any) -> Learner:
    """Train the network itself for `count` epochs, after `first` others."""
    key = jax.random.fold_in(wrapped(given.key), _TRAINING)
    return train(plan, numbers, given.noise, learner, given.x[plan.held_out :], key, first, count)


def watch(plan: Plan, given: Given) -> tuple[Watched, Watched | None]:
    """Corrupt, once, the rows that the training error is measured on, and those held out."""
    own, held_out = given.x[plan.held_out :][: plan.watched], given.x[: plan.held_out]
    key = wrapped(given.key)

    def watched(rows: Any, purpose: int) -> Watched:
        x = rows.astype(jnp.float32)
        words = draw_words(jax.random.fold_in(key, purpose), *x.shape)
        return Watched(x, corrupt(x, words, plan.noise, given.noise))

    return watched(own, _WATCHED), watched(held_out, _HELD_OUT) if plan.held_out else None


def error_of(plan: Plan, learner: Learner, watched: Watched) -> Any:
    """Measure the error per row."""
    return mean_error(learner.layers, watched.x, watched.corrupted, squared=plan.squared)


def begin(plan: Plan, numbers: Numbers, given: Given, watched: Watched) -> Learner:
    """Make the learner to go on with: of several starts, the one with the lowest error after a short while."""
    key = jax.random.fold_in(wrapped(given.key), _START)
    if plan.starts == 1:
        return _start(plan, numbers, given, key)

    def short(key: Any) -> tuple[Learner, Any]:
        learner = _start(plan, numbers, given, jax.random.fold_in(key, 0))
        rows, own_key = given.x[plan.held_out :], jax.random.fold_in(key, 1)
        learner = train(plan, numbers, given.noise, learner, rows, own_key, 0, numbers.short)
        return learner, error_of(plan, learner, watched)

    learners, errors = jax.vmap(short)(jax.random.split(key, plan.starts))
    best = jnp.argmin(jnp.where(jnp.isfinite(errors), errors, jnp.inf))
    learner: Learner = jax.tree.map(lambda values: values[best], learners)
    return learner


def _start(plan: Plan, numbers: Numbers, given: Given, key: Any) -> Learner:
    """Draw parameters, take part of the last generation's, and pretrain them, as far as that is wanted."""
    mean = given.x.astype(jnp.float32).mean(axis=0) if plan.marginals else None
    layers = draw_layers(
        plan.widths, key, numbers.init_scale, tied=plan.tied, glorot=plan.glorot, mean=mean
    )  # fmt: skip
    if plan.warm and given.old is not None:
        layers = blended(layers, given.old, given.share)
    if plan.pretrained and len(layers) > 1:
        layers = _pretrained(plan, numbers, given, layers, key)
    return new_learner(layers, adam=plan.adam)


def _pretrained(plan: Plan, numbers: Numbers, given: Given, layers: tuple[Layer, ...], key: Any) -> tuple[Layer, ...]:
    """Train each layer by itself, on bits drawn from the codes of the layers below, with salt+pepper."""
    rows, own = given.x[plan.held_out :], plan._replace(noise=Noise())
    done = []
    for k, layer in enumerate(layers):
        train_key, code_key = jax.random.split(jax.random.fold_in(key, len(layers) + k))
        learner = new_learner((layer,), adam=plan.adam)
        learner = train(own, numbers, given.noise, learner, rows, train_key, 0, numbers.pretrain)
        done.append(learner.layers[0])
        codes = encode(learner.layers, rows.astype(jnp.float32))
        rows = (jax.random.uniform(code_key, codes.shape, jnp.float32) < codes).astype(jnp.uint8)
    return tuple(done)
