"""A trained network as something that samples."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from daedal import kernels
from daedal.models.network_samples import FittedDAE
from daedal.models.network_training import TrainedNetwork
from daedal.types import Bits

if TYPE_CHECKING:
    from daedal.models.dae import DAE


def fitted_of(model: DAE, stack: kernels.network.Stack, n: int) -> FittedDAE:
    """Give parameters as something that samples as the model says, from random bits, with salt+pepper."""
    units = model.widths(n)[1:]
    shared: dict[str, Any] = {
        "theta": stack[0],
        "n": n,
        "m": units[0],
        "deeper": stack[1:],
        "deeper_units": units[1:],
        "corruption": model.corruption,
        "sampling_steps": 1 if model.sampling_steps == "auto" else model.sampling_steps,
        "temperature": model.temperature,
        "binarise": model.binarise,
    }
    return FittedDAE(**shared)


def finished(model: DAE, trained: TrainedNetwork, x: Bits, rng: np.random.Generator) -> FittedDAE:
    """Give what was trained on rows x, shape (rows, n), as something that samples; choose the rounds of that."""
    fitted = fitted_of(model, trained.stack, x.shape[1])
    fitted = replace(fitted, info=trained.info, shape=trained.shape, training=trained.curve)
    if model.sampling_start == "parents":
        fitted = replace(fitted, parents=x.copy())
    if model.sampling_steps == "auto":
        steps = len(fitted.correlations(rng=rng))
        fitted = replace(fitted, sampling_steps=steps, info={**trained.info, "sampling_steps": steps})
    return fitted


@cache
def load_kernels(model: DAE) -> None:
    """Fit and sample something too small to matter."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (10, 3), dtype=np.uint8)
    model.fit(x, rng=rng).sample(2, rng=rng)
