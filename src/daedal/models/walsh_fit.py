"""The fit of a sparse Walsh function to equations: pairs first, then higher orders as long as they explain more."""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np
from numpy.typing import NDArray

from daedal.models.walsh_candidates import Candidates
from daedal.models.walsh_equations import NOTHING, Equations, Sets
from daedal.models.walsh_growth import grow, keys_of_sets, supersets
from daedal.models.walsh_lasso import ActiveSet, Solution
from daedal.models.walsh_path import EXACT, ITERATIONS, RELAXED_TOLERANCE, TRIED, follow_path, least_squares, reweight
from daedal.types import Bits, Fitness

GAIN = 0.98
"""Share of the error held out to which a higher order has to lower it."""

BACK = 1.5
"""A path with more candidates starts at the best price so far times this."""

WARM = 4.0
"""The path starts at the price of the previous fit times this."""

LARGEST_POOL = 1024
"""Variables of which all pairs are looked at, at most."""

ROUNDS = 2
"""How often sets are screened whatever their subsets, at most."""

SCREENED = 0.6
"""Share of the error below which it has to be for that, unless sets are few: what goes with the rest may by chance."""

RARER = 4
"""Above order 3, so many times fewer sets are screened: those that no subset points to are rare."""

SHARPENED = 0.3
"""Share of the error from which an exact solution is looked for near the one found."""

BLOCK = 500
"""Columns, or variables, that are in memory at a time when sets, or variables, are screened."""

LAST_PASSES = 10
"""Passes over all equations, those held out included, that end a fit."""

TINY = 1e-9
"""Share of the largest coefficient below which an exact fit has none."""


def choose_pool(x: Bits, d: Bits | None, y: Fitness, max_order: int) -> NDArray[np.int64]:
    """Choose the variables of which all pairs are looked at: those whose effect varies most with the others."""
    n = x.shape[1]
    if n <= LARGEST_POOL or max_order == 1:
        return np.arange(n if max_order > 1 else 0)
    varies = np.empty(n)
    for first in range(0, n, BLOCK):
        part = slice(first, first + BLOCK)
        effects = y[:, None] * (1.0 - 2.0 * x[:, part])
        stands = np.ones((len(y), 1)) if d is None else d[:, part]
        mean = (effects * stands).sum(axis=0) / np.maximum(stands.sum(axis=0), 1)
        varies[part] = (np.square(effects - mean) * stands).sum(axis=0)
    return np.sort(np.argsort(-varies, kind="stable")[:LARGEST_POOL])


def solve(equations: Equations, max_order: int, most: int, screened: int, previous: Solution | None = None) -> Solution:
    """Find the sets and coefficients that explain the equations; y is of about 1 in absolute value.

    The path starts from the previous solution, if there is one, or from nothing.
    """
    active, candidates = ActiveSet(equations), Candidates(equations, previous)
    if previous is not None:
        candidates.resume(active, previous)
        exact = least_squares(candidates, active, previous.price) if previous.error <= EXACT else previous
        if exact.error <= EXACT * equations.base:
            return finish(equations, exact)
    best = follow_path(candidates, active, None if previous is None else WARM * previous.price)
    if previous is None:
        best = _grow_orders(equations, best, max_order, most)
    for _ in range(ROUNDS):
        if best.error <= EXACT * equations.base:
            break
        new = _screen(equations, best, max_order, most, screened) if screened else NOTHING
        if previous is not None:  # the orders below are there, as a rule: all are grown at once
            new = distinct(new + _grown(best, max_order, most))
        found = _try(equations, best, new) if len(new) else best
        if found.error > GAIN * best.error:
            break
        best = found
    if EXACT < best.error / equations.base < SHARPENED:
        best = _sharpen(equations, best)
    return finish(equations, best)


def _sharpen(equations: Equations, best: Solution) -> Solution:
    """Look for an exact solution near the best one."""
    active, candidates = ActiveSet(equations), Candidates(equations, best)
    candidates.resume(active, best)
    best = reweight(candidates, active, best)
    if best.error < TRIED * equations.base:
        active.put(best.w)
        best = min(best, least_squares(candidates, active, best.price), key=lambda solution: solution.error)
    return best.without_zeros()


def _grow_orders(equations: Equations, best: Solution, max_order: int, most: int) -> Solution:
    for order in range(3, max_order + 1):
        if best.error <= EXACT * equations.base:
            break
        below = best.sets.orders == order - 1
        grown = grow(best.sets.members[below, : order - 1], best.w[below], most)
        new = Sets.of(without_known(grown, best.sets))
        found = _try(equations, best, new) if len(new) else best
        if found.error > GAIN * best.error and not (best.sets.orders >= order).any():
            break
        best = found if found.error < GAIN * best.error else best
    return best


def _grown(best: Solution, max_order: int, most: int) -> Sets:
    """List what grows from the sets of each order."""
    found = NOTHING
    for order in range(3, max_order + 1):
        below = best.sets.orders == order - 1
        grown = grow(best.sets.members[below, : order - 1], best.w[below], most)
        found = found + Sets.of(without_known(grown, best.sets))
    return found


def distinct(sets: Sets) -> Sets:
    """Give each set once."""
    _, first = np.unique(sets.members, axis=0, return_index=True)
    return sets[np.sort(first)]


def _try(equations: Equations, best: Solution, new: Sets) -> Solution:
    """Follow the path once more, with new candidates."""
    active, candidates = ActiveSet(equations), Candidates(equations, best, new)
    candidates.resume(active, best)
    return follow_path(candidates, active, best.price * BACK)


def _screen(equations: Equations, best: Solution, max_order: int, most: int, screened: int) -> Sets:
    """List the sets above pairs that go best with what is left unexplained, whatever is known of their subsets."""
    active = ActiveSet(equations)
    active.add(best.columns)
    active.put(best.w)
    found, strengths = [NOTHING], [np.empty(0, dtype=np.float32)]
    for order in range(3, max_order + 1):
        below = best.sets.orders == order - 1
        most_here = screened if order == 3 else screened // RARER
        if best.error > SCREENED * equations.base and comb(equations.n, order) > min(most_here, 2 * equations.used):
            continue
        sets = supersets(best.sets.members[below, : order - 1], best.w[below], equations.n, most_here)
        sets = without_known(sets, best.sets)
        found.append(Sets.of(sets))
        strengths.append(equations.strengths(sets, active.residual))
    chosen = np.sort(np.argsort(-np.concatenate(strengths), kind="stable")[:most])
    return sum(found[1:], found[0])[chosen]


def without_known(members: NDArray[np.int64], known: Sets) -> NDArray[np.int64]:
    """Give those of some sets of one order, shape (sets, order), that are not among the known ones."""
    order = members.shape[1]
    same = known.members[known.orders == order, :order]
    if not len(same) or not len(members):
        return members
    return members[~np.isin(keys_of_sets(members), keys_of_sets(same))]


def finish(equations: Equations, best: Solution) -> Solution:
    """Fit the coefficients once more, to all equations, those held out included."""
    active = ActiveSet(equations)
    active.add(best.columns)
    active.put(best.w)
    everything = np.arange(len(active))
    if best.relaxed > 0:
        price = best.price * best.relaxed * (len(equations.y) / equations.used) ** 0.5
        active.descend(price, everything, passes=LAST_PASSES, tolerance=RELAXED_TOLERANCE, everything=True)
        return replace(best, w=active.w).without_zeros()
    active.least_squares(everything, iterations=2 * ITERATIONS, everything=True)
    kept = np.flatnonzero(np.abs(active.w) > TINY * np.abs(active.w).max(initial=0.0))
    return replace(best, w=active.w).of(kept)
