"""Checks of an autoencoder's hyperparameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daedal.settings.checks import check_at_least, check_between
from daedal.settings.parameters import written

if TYPE_CHECKING:
    from daedal.models.dae import DAE

_BETWEEN = {
    "corruption": (0.0, 1.0),
    "momentum": (0.0, 0.999),
    "validation": (0.0, 0.9),
    "weight_decay": (-1.0, 1.0),
    "init_scale": (0.0, 100.0),
    "warm_start": (0.0, 1.0),
    "starts": (1, 1000),
    "pretrain": (0, 10_000),
    "walkback": (0, 100),
    "temperature": (0.01, 100.0),
}
_AT_LEAST_0 = ("learning_rate", "bias_factor", "gamma", "min_epochs", "min_updates", "overfitting")
_AT_LEAST_1 = ("batch_size", "check_every", "max_epochs", "block_size", "max_rows")


def check_network(model: DAE) -> None:
    """Refuse hyperparameters that make no sense, by name and value."""
    _check_hidden(model)
    for name, (low, high) in _BETWEEN.items():
        check_between(name, getattr(model, name), low, high)
    for least, names in enumerate((_AT_LEAST_0, _AT_LEAST_1)):
        for name in names:
            value = getattr(model, name)
            if value is not None:
                check_at_least(name, value, least)
    if model.sampling_steps != "auto":
        check_between("sampling_steps", model.sampling_steps, 1, 10_000)


def _check_hidden(model: DAE) -> None:
    """Refuse a network without hidden layers, and layers of no units."""
    hidden = model.hidden
    layers = hidden if isinstance(hidden, tuple) else () if hidden is None else (hidden,)
    if hidden == () or any(units < 1 for units in layers):
        raise ValueError(
            "expected hidden to be one or more layers of at least 1 unit each, as in 100 or 100,50, got "
            f"hidden={written(hidden) or '()'}"
        )
