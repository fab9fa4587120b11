"""A whole fit, or several side by side, as one program: epochs until the errors say stop, the best parameters kept."""

from __future__ import annotations

from functools import cache, partial
from typing import Any, NamedTuple

from daedal.models.jax_backend.epochs import Given, Numbers, Plan, begin, error_of, go_on, watch
from daedal.models.jax_backend.modules import jax, jnp, lax
from daedal.models.jax_backend.network import Layer, Learner
from daedal.models.jax_backend.stopping import converged


class Progress(NamedTuple):
    """How far training is; of several networks, all that has an axis for them goes on until the last one stops."""

    learner: Learner
    best: tuple[Layer, ...]  # parameters of the lowest measured error
    error: Any  # the training error of these
    lowest: Any  # the error that decides: of validation where there is one
    train: Any  # (checks,)
    validation: Any | None  # (checks,)
    epochs: Any  # () int32: until each network stopped
    active: Any  # () bool
    checks: Any  # () int32, the same for all
    epoch: Any  # () int32, the same for all


class Trained(NamedTuple):
    """What a fit gives, with one more axis, the first, for several networks."""

    layers: tuple[Layer, ...]
    error: Any  # (); inf where no error was a number
    lowest: Any  # ()
    epochs: Any  # ()
    train: Any  # (checks,): measured after every `check_every` epochs, and the last


@cache
def fit_program(plan: Plan) -> Any:
    """Give the program that fits: of `Numbers` and `Given` it makes `Trained`."""
    return jax.jit(partial(_fit, plan))


def _fit(plan: Plan, numbers: Numbers, given: Given) -> Trained:
    each = jax.vmap if plan.many else lambda function: function
    watched, held_out = each(partial(watch, plan))(given)
    learner = each(partial(begin, plan, numbers))(given, watched)

    def go(now: Progress) -> Progress:
        count = jnp.minimum(numbers.check_every, numbers.max_epochs - now.epoch)
        train = each(lambda given, learner: go_on(plan, numbers, given, learner, now.epoch, count))
        learner = train(given, now.learner)
        measure = each(partial(error_of, plan))
        validation = None if held_out is None else measure(learner, held_out)
        return _noted(plan, numbers, now, learner, measure(learner, watched), validation, now.epoch + count)

    start = _progress(plan, learner, each(partial(error_of, plan))(learner, watched))
    end = lax.while_loop(lambda now: now.active.any() & (now.epoch < numbers.max_epochs), go, start)
    return Trained(end.best, end.error, end.lowest, end.epochs, end.train)


def _progress(plan: Plan, learner: Learner, like: Any) -> Progress:
    """Begin: nothing was measured yet; `like` has one number for each network."""
    nothing = jnp.full(like.shape, jnp.inf, jnp.float32)
    errors = jnp.zeros((*like.shape, plan.checks), jnp.float32)
    none = jnp.int32(0)
    return Progress(
        learner, learner.layers, nothing, nothing, errors, errors if plan.held_out else None,
        jnp.zeros(like.shape, jnp.int32), jnp.ones(like.shape, bool), none, none,
    )  # fmt: skip


def _noted(
    plan: Plan, numbers: Numbers, now: Progress, learner: Learner, error: Any, validation: Any | None, epoch: Any
) -> Progress:
    """Take notice of errors, shape () each: what is best so far, and who stops."""
    decisive = error if validation is None else validation
    improved = now.active & (decisive <= now.lowest) & jnp.isfinite(decisive)
    train, checks = now.train.at[..., now.checks].set(error), now.checks + 1
    held_out = None if now.validation is None else now.validation.at[..., now.checks].set(validation)
    over = partial(converged, count=checks, gamma=numbers.gamma, overfitting=numbers.overfitting)
    stop = (jax.vmap(over) if plan.many else over)(train, held_out)
    stop = (stop & (epoch >= numbers.min_epochs)) | ~jnp.isfinite(decisive)
    return Progress(
        learner=learner,
        best=jax.tree.map(lambda new, old: _where(improved, new, old), learner.layers, now.best),
        error=jnp.where(improved, error, now.error),
        lowest=jnp.where(improved, decisive, now.lowest),
        train=train,
        validation=held_out,
        epochs=jnp.where(now.active, epoch, now.epochs),
        active=now.active & ~stop,
        checks=checks,
        epoch=epoch,
    )


def _where(condition: Any, new: Any, old: Any) -> Any:
    """Choose whole arrays by a condition for each network."""
    return jnp.where(condition.reshape(condition.shape + (1,) * (new.ndim - condition.ndim)), new, old)
