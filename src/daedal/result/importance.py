"""How much each variable matters to the best value, from evaluations that were made anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from daedal.result.variables import Variables

if TYPE_CHECKING:
    from daedal.result.result import Result


def losses(result: Result, variables: Variables) -> tuple[NDArray[np.float64], NDArray[np.bool_]] | None:
    """Give by how much the best value gets worse with another value of each variable, and whether by that alone."""
    trace = result.trace
    if trace is None:
        return None
    sign = 1.0 if result.minimize else -1.0
    with np.errstate(invalid="ignore"):
        flipped = sign * trace.flips
        best = sign * (trace.others - result.fitness)
    if variables.are_bits:
        exact = ~np.isnan(flipped)
        return np.where(exact, flipped, best), exact
    # Another value of a variable is another bit, whichever; whatever else was changed with it.
    either = np.fmin(flipped, best)
    return np.fmin.reduceat(either, variables.starts), np.zeros(len(variables.labels), np.bool_)
