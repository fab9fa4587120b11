"""What the fit of an autoencoder takes, about: memory and time."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from daedal.models.base import PRODUCTS_A_SECOND
from daedal.models.network_samples import MOST_STEPS, SAMPLED_AT_A_TIME

if TYPE_CHECKING:
    from daedal.models.dae import DAE

_WEIGHT_COPIES = 9  # encoder, decoder, gradients, scratch, the best so far, and the first draw, which is in float64
_COPIES_A_START = 5  # encoder, decoder, gradients
_COPIES_OF_ADAM = 4  # averages of gradients and of their squares
_BYTES_AN_ENTRY = 8  # of the rows: padded, corrupted, and the noise of an epoch
_TYPICAL_STEPS = 10  # of sampling, where their number is chosen


def network_bytes(model: DAE, rows: int, n: int) -> int:
    """Give the memory, about, that a fit takes: weights, and noise, also that of drawing rows."""
    adam = _COPIES_OF_ADAM if model.optimizer == "adam" else 0
    copies = _WEIGHT_COPIES + adam + (model.starts - 1) * (_COPIES_A_START + adam)
    steps = MOST_STEPS if model.sampling_steps == "auto" else model.sampling_steps
    drawn = 2 * (1 + model.binarise) * steps * min(rows, SAMPLED_AT_A_TIME) * n
    pairs = 8 * n * n if model.noise == "block" else 0
    noise = 2 * model.walkback * _used(model, rows) * n
    kept = 4 * copies * _weights(model, n) + _BYTES_AN_ENTRY * rows * n
    return kept + noise + drawn + pairs


def network_seconds(model: DAE, rows: int, n: int) -> float:
    """Give the CPU time, about: five products of rows and weights an epoch, two a step of drawing.

    Training takes half as many epochs again as it must, as a rule.
    """
    used = _used(model, rows)
    batch, _ = model.batch_of(used)
    least = max(model.min_epochs, model.min_updates / max(used // batch, 1))
    epochs = min(1.5 * least, model.max_epochs) * (1 + model.walkback)
    steps = _TYPICAL_STEPS if model.sampling_steps == "auto" else model.sampling_steps
    return (5 * epochs * used + 2 * steps * rows) * _weights(model, n) / PRODUCTS_A_SECOND


def _used(model: DAE, rows: int) -> int:
    """Give the rows of an epoch."""
    left = rows - model.divide(rows)[0]
    return left if model.max_rows is None else min(left, model.max_rows)


def _weights(model: DAE, n: int) -> int:
    return sum(below * above for below, above in pairwise(model.widths(n)))
