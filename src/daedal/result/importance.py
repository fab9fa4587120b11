"""How much each variable matters to the best value, from evaluations that were made anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from daedal.result.interactions import interactions_of
from daedal.result.trace import Trace
from daedal.result.variables import Variables
from daedal.types import Fitness

if TYPE_CHECKING:
    from daedal.result.result import Result


_ALL = 1 - 5e-4  # share of the variance from which on a model explains all there is


def _flips(result: Result, trace: Trace) -> Fitness:
    """Give the change of the value for each bit of x alone, shape (n,), nan where nobody knows."""
    if not np.isnan(trace.flips).any() or not len(trace.top) or (trace.top[0] != result.x).any():
        return trace.flips
    found = interactions_of(trace)
    if found is None or found.r2 < _ALL:
        return trace.flips
    return np.where(np.isnan(trace.flips), found.effect, trace.flips)


def losses(result: Result, variables: Variables) -> tuple[NDArray[np.float64], NDArray[np.bool_]] | None:
    """Give by how much the best value gets worse with another value of each variable, and whether by that alone.

    What nobody has tried is taken from a model of the rows evaluated, if that explains all of them.
    """
    trace = result.trace
    if trace is None:
        return None
    sign = 1.0 if result.minimize else -1.0
    with np.errstate(invalid="ignore"):
        flipped = sign * _flips(result, trace)
        best = sign * (trace.others - result.fitness)
    if variables.are_bits:
        exact = ~np.isnan(flipped)
        return np.where(exact, flipped, best), exact
    # Another value of a variable is another bit, whichever; whatever else was changed with it.
    either = np.fmin(flipped, best)
    return np.fmin.reduceat(either, variables.starts), np.zeros(len(variables.labels), np.bool_)
