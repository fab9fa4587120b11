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
_DUST = 1e-9  # of the largest: what is left of sums that cancel


def _modelled(result: Result, trace: Trace) -> Fitness:
    """Give what flipping each bit of x alone does to the value, as a model says that explains all rows, shape (n,).

    nan where there is none. In a space a flip need not be another value; and what would be better than the best, and
    was not tried, is not allowed, or the model is wrong.
    """
    unknown = np.full(result.n, np.nan)
    if result.space is not None or not len(trace.top) or (trace.top[0] != result.x).any():
        return unknown
    found = interactions_of(trace) if np.isnan(trace.flips).any() else None
    if found is None or found.r2 < _ALL:
        return unknown
    worse = found.effect >= 0 if result.minimize else found.effect <= 0
    return np.where(worse, found.effect, np.nan)


def losses(result: Result, variables: Variables) -> tuple[NDArray[np.float64], NDArray[np.bool_]] | None:
    """Give by how much the best value gets worse with another value of each variable, and whether by that alone.

    What nobody has tried is taken from a model of the rows evaluated, if that explains all of them.
    """
    trace = result.trace
    if trace is None:
        return None
    sign = 1.0 if result.minimize else -1.0
    with np.errstate(invalid="ignore"):
        seen = sign * (trace.others - result.fitness)
        alone = sign * np.where(np.isnan(trace.flips), _modelled(result, trace), trace.flips)
    if variables.are_bits:
        exact = ~np.isnan(alone)
        return _without_dust(np.where(exact, alone, seen)), exact
    # Another value of a variable is another bit, whichever; whatever else was changed with it.
    return _without_dust(np.fmin.reduceat(seen, variables.starts)), np.zeros(len(variables.labels), np.bool_)


def ranked(loss: NDArray[np.float64]) -> NDArray[np.intp]:
    """Give the variables of which anything is known, what matters most first, of equal ones the first."""
    known = np.flatnonzero(np.isfinite(loss))
    largest = np.abs(loss[known]).max(initial=0.0)
    rounded = np.rint(loss[known] / largest / _DUST) if largest > 0 else loss[known]
    return known[np.argsort(-rounded, kind="stable")]


def _without_dust(loss: NDArray[np.float64]) -> NDArray[np.float64]:
    largest = np.abs(loss[np.isfinite(loss)]).max(initial=0.0)
    return np.where(np.abs(loss) <= _DUST * largest, 0.0, loss)
