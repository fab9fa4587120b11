"""The paper's parameter control scheme on the device: `daedal.models.training` on errors in a buffer of fixed size."""

from __future__ import annotations

from typing import Any

from daedal.models.jax_backend.modules import jnp

_WIDEST = 4  # half width of the widest moving average


def _half_width(count: Any) -> Any:
    return 2 + (count >= 20).astype(jnp.int32) + (count >= 30).astype(jnp.int32)


def smoothed(errors: Any, index: Any, half: Any) -> Any:
    """Average errors, shape (checks,), over index - half ... index + half, with the first repeated before the first."""
    offsets = jnp.arange(-_WIDEST, _WIDEST + 1, dtype=jnp.int32)
    window = errors[jnp.clip(index + offsets, 0, errors.shape[0] - 1)]
    return jnp.where(jnp.abs(offsets) <= half, window, 0).sum() / (2 * half + 1).astype(jnp.float32)


def late_gain(errors: Any, count: Any) -> Any:
    """Give the share of all gain that the last third of the first `count` errors brought; -inf without any gain."""
    half = _half_width(count)
    last = count - 1 - half
    end = smoothed(errors, last, half)
    gain = smoothed(errors, jnp.int32(0), half) - end
    late = smoothed(errors, (2 * last) // 3, half) - end
    share = jnp.where(gain > 0, late / jnp.where(gain > 0, gain, 1), -jnp.inf)
    return jnp.where(last < 1, jnp.float32(1), share)  # too early to tell


def gap(train: Any, validation: Any, count: Any) -> Any:
    """Give how far the validation error is above the training error, as a share of the latter, both smoothed."""
    half = _half_width(count)
    last = count - 1 - half
    level, other = (
        jnp.where(last >= 0, smoothed(errors, last, half), errors[count - 1]) for errors in (train, validation)
    )
    return jnp.where(level > 0, (other - level) / jnp.where(level > 0, level, 1), 0)


def converged(train: Any, validation: Any | None, count: Any, gamma: Any, overfitting: Any) -> Any:
    """Whether to stop: no gain, too little of it late, or overfitting."""
    stop = late_gain(train, count) < gamma
    if validation is None:
        return stop
    return stop | (late_gain(validation, count) < gamma) | (gap(train, validation, count) > overfitting)
