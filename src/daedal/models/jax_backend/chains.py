"""Samples as one program: chains of corruption and reconstruction (Algorithm 3), and how fast they forget."""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.models.jax_backend.modules import jax, jnp, lax
from daedal.models.jax_backend.network import Layer, logits
from daedal.models.jax_backend.noise import Noise, NoiseNumbers, corrupt, draw_words, wrapped
from daedal.models.network_samples import FORGOTTEN, MOST_STEPS, STUCK

_START, _ROUNDS, _COINS, _DRAWS = range(4)  # what random numbers are for


class ChainPlan(NamedTuple):
    """What a program is compiled for, beside the shapes of its arrays."""

    rows: int  # chains that are side by side
    n: int
    noise: Noise
    binarise: bool


class ChainNumbers(NamedTuple):
    """Numbers that a program takes as they come."""

    steps: NDArray[np.int32]  # ()
    cooling: NDArray[np.float32]  # (): one over the temperature
    noise: NoiseNumbers


@cache
def sample_program(plan: ChainPlan) -> Any:
    """Give the program that draws bits, shape (blocks, rows, n), from keys, shape (blocks, 2).

    It takes layers, `ChainNumbers`, keys and, or None, where chains start and what is clamped there (1: held fixed),
    both of shape (blocks, rows, n). Blocks come one after the other, so that memory is that of one.
    """

    def program(layers: tuple[Layer, ...], numbers: ChainNumbers, keys: Any, start: Any, clamped: Any) -> Any:
        return lax.map(lambda block: _sample(plan, layers, numbers, *block), (keys, start, clamped))

    return jax.jit(program)


def _sample(
    plan: ChainPlan, layers: tuple[Layer, ...], numbers: ChainNumbers, key: Any, start: Any, clamped: Any
) -> Any:
    key = wrapped(key)
    first = _first(plan, key, start)

    def advance(step: Any, z: Any) -> Any:
        z = rebuilt(plan, layers, numbers, key, step, z, None if clamped is None else (clamped, first))
        return jnp.where(step < numbers.steps - 1, _coins(key, step, z), z) if plan.binarise else z

    z = lax.fori_loop(0, numbers.steps, advance, first)
    bits = jax.random.uniform(jax.random.fold_in(key, _DRAWS), z.shape, jnp.float32) < z
    return (bits if clamped is None else jnp.where(clamped > 0, first > 0, bits)).astype(jnp.uint8)


def _first(plan: ChainPlan, key: Any, start: Any) -> Any:
    """Give where chains start: at fair bits, unless that is given."""
    if start is not None:
        return start.astype(jnp.float32)
    words = draw_words(jax.random.fold_in(key, _START), plan.rows, plan.n)
    return (words & jnp.uint32(1)).astype(jnp.float32)


def rebuilt(
    plan: ChainPlan, layers: tuple[Layer, ...], numbers: ChainNumbers, key: Any, step: Any, z: Any, held: Any
) -> Any:
    """Corrupt and reconstruct rows z, shape (rows, n); of what is held, (clamped, first), nothing is corrupted."""
    words = draw_words(jax.random.fold_in(jax.random.fold_in(key, _ROUNDS), step), plan.rows, plan.n)
    corrupted = corrupt(z, words, plan.noise, numbers.noise)
    if held is not None:
        corrupted = jnp.where(held[0] > 0, held[1], corrupted)
    return jax.nn.sigmoid(logits(layers, corrupted) * numbers.cooling)


def _coins(key: Any, step: Any, z: Any) -> Any:
    coins = jax.random.uniform(jax.random.fold_in(jax.random.fold_in(key, _COINS), step), z.shape, jnp.float32)
    return (coins < z).astype(jnp.float32)


@cache
def correlation_program(plan: ChainPlan) -> Any:
    """Give the program behind `FittedDAE.correlations`: correlations, shape (MOST_STEPS,), and how many there are.

    It takes layers, `ChainNumbers`, a key, shape (2,), and, or None, where chains start, shape (rows, n).
    """
    return jax.jit(partial(_correlations, plan))


def _correlations(plan: ChainPlan, layers: tuple[Layer, ...], numbers: ChainNumbers, key: Any, start: Any) -> Any:
    key = wrapped(key)
    first = _first(plan, key, start)

    def advance(state: Any) -> Any:
        z, found, count, before, _ = state
        z = rebuilt(plan, layers, numbers, key, count, z, None)
        z = _coins(key, count, z) if plan.binarise else z
        now = _correlation(first, z)
        goes_on = (count + 1 < MOST_STEPS) & (now >= FORGOTTEN) & (before - now >= STUCK)
        return z, found.at[count].set(now), count + 1, now, goes_on

    nothing = jnp.zeros(MOST_STEPS, jnp.float32)
    start_state = first, nothing, jnp.int32(0), jnp.float32(1), jnp.array(True)
    _, found, count, _, _ = lax.while_loop(lambda state: state[4], advance, start_state)
    return found, count


def _correlation(one: Any, other: Any) -> Any:
    """Give the correlation of bits drawn by two arrays of probabilities, shape (rows, n); see `network_samples`."""
    means = one.mean(axis=0), other.mean(axis=0)
    together = ((one - means[0]) * (other - means[1])).mean(axis=0).sum()
    spreads = [jnp.clip(mean * (1 - mean), 0, None).sum() for mean in means]
    spread = jnp.sqrt(spreads[0] * spreads[1])
    return jnp.where(spread > 0, together / jnp.where(spread > 0, spread, 1), 0)
