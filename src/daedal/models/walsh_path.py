"""The path of the lasso from dear coefficients to cheap ones, and what follows where it leads to an exact function."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from daedal.models.walsh_candidates import Candidates
from daedal.models.walsh_lasso import ActiveSet, Solution

STEP = 0.5
"""Factor from one price to the next, and from the strongest correlation to the first."""

STEPS = 30
"""Prices, at most."""

PATIENCE = 2
"""Prices without a smaller error after which the path ends."""

MOST_NEW = 200
"""Sets that join at a price, at most, or n where that is more: those that are left join at the next."""

PASSES, TOLERANCE = 4, 1e-2
"""Passes at a price, and the change of a coefficient at which they end, as a share of the residual."""

CLOSE = 0.02
"""Share of the error without any coefficient from which it pays to go more slowly, for an exact solution is near."""

CLOSE_STEP, CLOSE_PASSES, CLOSE_PATIENCE = 0.7, 16, 3

RELAXED = (0.3, 0.05)
"""Shares of the best price that are tried on the sets found."""

RELAXED_PASSES, RELAXED_TOLERANCE = 8, 1e-3

REWEIGHTED, REWEIGHTED_SHARES = 4, (4.0, 2.0, 1.0, 0.5)
"""How often prices are set anew by the coefficients, at most, and shares of the best price that are tried each time."""

UNIT = 0.1
"""Share of the largest coefficient at which a coefficient has half of the price of a new one."""

JOINING = 0.2
"""Share of the best price that others have to be worth to join then."""

EXACT = 1e-12
"""Share of the error without any coefficient from which a solution counts as exact."""

TRIED = 0.03
"""Share of that error from which least squares are tried, for the solution may be exact."""

NEARLY = 0.02
"""Share of that error from which what least squares give is taken, exact or not."""

COMPLETED = 1e-4
"""Share of that error from which small coefficients are looked for that are missing to an exact solution."""

SHARES = (0.1, 0.01, 0.0)
"""Shares of the largest coefficient above which sets enter least squares."""

ITERATIONS = 60
"""Iterations of least squares."""

FIRST, PROMISING = 6, 0.1
"""Iterations that show whether the others are worth it, and the share of the error to which they have to lower it."""


def follow_path(candidates: Candidates, active: ActiveSet, price: float | None) -> Solution:
    """Lower the price of coefficients step by step while the error of the equations held out falls.

    Returns the best that was met: the relaxed lasso, or least squares on its largest coefficients.
    """
    base, used, most = active.equations.base, active.equations.used, max(MOST_NEW, active.equations.n)
    best = Solution(active.columns, active.w, np.inf, 0.0, 1.0)
    free, tried, bad, close = best, TRIED * base, 0, False
    for _ in range(STEPS):
        candidates.correlate(active.residual)
        if price is None:
            price = STEP * candidates.strongest()
        candidates.join(active, price, most)
        passes = CLOSE_PASSES if close else PASSES
        active.descend(price, np.arange(len(active)), passes=passes, tolerance=TOLERANCE * active.spread())
        error = active.error()
        if error < 0.997 * best.error:
            best, bad = Solution(active.columns, active.w.copy(), error, price, 1.0), 0
        else:
            bad += 1
        if error < tried:
            tried = 0.5 * error
            free = min(free, least_squares(candidates, active, price), key=lambda solution: solution.error)
            if free.error <= EXACT * base:
                return free.without_zeros()
        if bad >= (CLOSE_PATIENCE if close else PATIENCE) or len(active.support) > 0.8 * used:
            break
        close = best.error < CLOSE * base
        price *= CLOSE_STEP if close else STEP
    active.put(best.w)
    best = relax(active, best)
    if best.error < TRIED * base:
        active.put(best.w)
        free = min(free, least_squares(candidates, active, best.price), key=lambda solution: solution.error)
    if free.error < NEARLY * base:
        best = min(best, free, key=lambda solution: solution.error)
    return best.without_zeros()


def relax(active: ActiveSet, best: Solution) -> Solution:
    """Lower the price on the support alone while that helps (the relaxed lasso)."""
    support = active.support
    for share in RELAXED:
        active.w = active.w.copy()
        active.descend(share * best.price, support, passes=RELAXED_PASSES, tolerance=RELAXED_TOLERANCE)
        error = active.error()
        if error >= best.error:
            break
        best = replace(best, columns=active.columns, w=active.w, error=error, relaxed=share)
    return best


def reweight(candidates: Candidates, active: ActiveSet, best: Solution) -> Solution:
    """Make small coefficients dearer than large ones, again and again while that helps (reweighted lasso).

    Where the lasso is close to an exact solution, this gets there with fewer equations (Candès, Wakin and Boyd, 2008).
    """
    for _ in range(REWEIGHTED):
        before = best
        active.put(best.w)
        candidates.correlate(active.residual)
        candidates.join(active, JOINING * best.price, max(MOST_NEW, active.equations.n))
        sizes = np.abs(active.w)
        unit = UNIT * sizes.max()
        for share in REWEIGHTED_SHARES:
            active.w = active.w.copy()
            active.descend(
                share * best.price, np.arange(len(active)), passes=CLOSE_PASSES, tolerance=TOLERANCE * active.spread(),
                factors=unit / (sizes + unit),
            )  # fmt: skip
            error = active.error()
            if error < best.error:
                best = replace(best, columns=active.columns, w=active.w, error=error, relaxed=min(RELAXED))
        if best.error > 0.9 * before.error:
            break
    return best


def least_squares(candidates: Candidates, active: ActiveSet, price: float) -> Solution:
    """Give the best solution without a price, on the largest coefficients, of more and more of them until it is exact.

    The active set is left with the coefficients that it had.
    """
    before, base = active.w, active.equations.base
    best = Solution(active.columns, before, np.inf, price, 0.0)
    size, largest = np.count_nonzero(before), np.abs(before).max(initial=0.0)
    for share in SHARES:
        large = np.abs(before) > share * largest
        if np.count_nonzero(large) > 0.7 * active.equations.used:
            break
        active.put(np.where(large, before, 0.0))
        first = active.error()
        active.least_squares(np.flatnonzero(large), iterations=FIRST)
        error = active.error()
        if error < PROMISING * first:  # otherwise far from exact, and more iterations would not change that
            active.least_squares(np.flatnonzero(large), iterations=ITERATIONS)
            error = active.error()
        if error < best.error:
            best = replace(best, w=active.w, error=error)
        if error <= EXACT * base or np.count_nonzero(large) == size:
            break
    if EXACT * base < best.error < COMPLETED * base:
        best = complete(candidates, active, best)
    active.put(before)
    return best


def complete(candidates: Candidates, active: ActiveSet, best: Solution) -> Solution:
    """Add what goes best with the residual of a solution that is next to exact, as long as that halves its error."""
    for _ in range(STEPS):
        active.put(best.w)
        candidates.correlate(active.residual)
        candidates.join(active, STEP * candidates.strongest(), MOST_NEW)
        active.put(best.w)
        support = np.concatenate([active.support, np.arange(len(best.w), len(active))])
        active.least_squares(support, iterations=ITERATIONS)
        error = active.error()
        if error > 0.5 * best.error:
            break
        best = replace(best, columns=active.columns, w=active.w, error=error)
    return best
