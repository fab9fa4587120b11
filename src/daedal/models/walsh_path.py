"""Which sets may enter the lasso, and its path from dear coefficients to cheap ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.models.walsh_equations import MAX_ORDER, NOTHING, Equations, Sets
from daedal.models.walsh_lasso import ActiveSet, Solution

STEP = 0.5
STEPS = 16
PATIENCE = 2
ROUNDS = 2
PASSES = 4
TOLERANCE = 1e-2
EXACT = 1e-12
TRIED = 0.1
ITERATIONS = 60
NEARLY = 0.02
SHARES = (0.2, 0.03, 0.004, 0.0)
RELAXED = (0.4, 0.15, 0.02)
RPASSES = 20
RTOL = 1e-3
MOST_NEW = 200


def always_listed(equations: Equations) -> Sets:
    """List the sets that are candidates from the start beside the pool: the empty one for values, single variables."""
    left = np.setdiff1d(np.arange(equations.n), equations.pool)[:, None]
    if equations.d is not None:
        return Sets.of(left)
    return Sets.of(np.empty((1, 0), dtype=np.int64)) + Sets.of(left)


class Candidates:
    """All singles and pairs of the pool, and listed sets: which of them are active, and which are to join."""

    def __init__(self, equations: Equations, solution: Solution | None = None, new: Sets = NOTHING) -> None:
        size = len(equations.pool)
        self.always = always_listed(equations)
        higher = NOTHING if solution is None else solution.sets[solution.sets.orders > 2]
        listed = self.always + higher + new
        self.equations = equations
        self.listed = equations.columns(listed)
        self.prices = self.listed.prices
        self.listed_active = np.zeros(len(listed), dtype=np.bool_)
        self.pairs_active = np.zeros((size, size), dtype=np.bool_)
        self._singles = np.empty(size, dtype=np.float32)
        self._half = np.empty((size, size), dtype=np.float32)
        self._found = np.empty(size * (size + 1) // 2, dtype=np.int64)
        self._strengths = np.empty(len(self._found), dtype=np.float32)
        self._values = np.empty(len(listed), dtype=np.float32)

    def correlate(self, residual: NDArray[np.float64]) -> None:
        """Look at how all candidates go with a residual."""
        self.equations.correlate_pairs(residual, self._singles, self._half)
        columns = self.listed
        kernels.walsh.correlate(columns.bounds, columns.entries, residual, self._values)

    def strongest(self) -> float:
        """Give the price above which no coefficient is worth it, after `correlate`."""
        pairs = np.abs(self._half + self._half.T)
        np.fill_diagonal(pairs, np.abs(self._singles))
        listed = np.abs(self._values) * self.prices
        return float(max((pairs * self.equations.prices).max(initial=0), listed.max(initial=0)))

    def join(self, active: ActiveSet, price: float, most: int) -> None:
        """Make those active that are worth the price, the strongest if these are more than `most`."""
        count = kernels.walsh.strong_pairs(
            self._singles, self._half, self.equations.prices, self.pairs_active, price, self._found, self._strengths
        )
        strengths = np.abs(self._values) * self.prices
        more = np.flatnonzero(~self.listed_active & (strengths > price))
        strengths = np.concatenate([self._strengths[:count], strengths[more]])
        chosen = np.arange(len(strengths))
        if len(chosen) > most:
            chosen = np.sort(np.argpartition(-strengths, most)[:most])
        split = int(np.searchsorted(chosen, count))
        self.enter(active, self._found[chosen[:split]], more[chosen[split:] - count])

    def resume(self, active: ActiveSet, solution: Solution) -> None:
        """Make the sets of the solution active, with its coefficients."""
        place = np.full(self.equations.n, -1, dtype=np.int64)
        place[self.equations.pool] = np.arange(len(self.equations.pool))
        sets = solution.sets
        low = place[sets.members[:, 0]]
        high = np.where(sets.orders == 1, low, place[sets.members[:, 1]])
        paired = (np.minimum(low, high) >= 0) & (sets.orders >= 1) & (sets.orders <= 2)
        higher = sets.orders > 2
        others = ~paired & ~higher
        where = {members: q for q, members in enumerate(self.always.tuples())}
        listed = np.array([where[members] for members in sets[others].tuples()], dtype=np.int64)
        listed = np.concatenate([listed, len(self.always) + np.arange(np.count_nonzero(higher))])
        self.enter(active, high[paired] * len(self._singles) + low[paired], listed)
        active.put(np.concatenate([solution.w[paired], solution.w[others], solution.w[higher]]))

    def enter(self, active: ActiveSet, pairs: NDArray[np.int64], listed: NDArray[np.int64]) -> None:
        """Make pairs, i * size + j of the pool with j <= i, and listed sets active, in this order."""
        i, j = np.divmod(pairs, len(self._singles))
        members = np.full((len(pairs), MAX_ORDER), -1, dtype=np.int64)
        members[:, 0], members[:, 1] = self.equations.pool[j], np.where(i == j, -1, self.equations.pool[i])
        active.add(Sets(members, np.where(i == j, 1, 2)) + self.listed.sets[listed])
        self.pairs_active[i, j] = self.pairs_active[j, i] = True
        self.listed_active[listed] = True


def follow_path(candidates: Candidates, active: ActiveSet, price: float | None) -> Solution:
    """Lower the price of coefficients step by step while the error of the equations held out falls.

    Returns the best that was met: the relaxed lasso, or least squares on its largest coefficients.
    """
    base, used = active.equations.base, active.equations.used
    best = Solution(active.sets, active.w, np.inf, 0.0, 1.0)
    free, tried, bad = best, TRIED * base, 0
    for _ in range(STEPS):
        candidates.correlate(active.residual)
        if price is None:
            price = STEP * candidates.strongest()
        candidates.join(active, price, MOST_NEW)
        active.descend(price, np.arange(len(active)), rounds=ROUNDS, passes=PASSES, tolerance=TOLERANCE)
        error = active.error()
        if error < 0.997 * best.error:
            best, bad = Solution(active.sets, active.w.copy(), error, price, 1.0), 0
        else:
            bad += 1
        if error < tried:
            tried = 0.5 * error
            free = min(free, least_squares(candidates, active, price), key=lambda solution: solution.error)
            if free.error <= EXACT * base:
                return free
        if bad >= PATIENCE or len(active.support) > 0.8 * used:
            break
        price *= STEP
    active.put(best.w)
    best = relax(active, best)
    if best.error < TRIED * base:
        active.put(best.w)
        free = min(free, least_squares(candidates, active, best.price), key=lambda solution: solution.error)
    if free.error < NEARLY * base:
        best = min(best, free, key=lambda solution: solution.error)
    support = np.flatnonzero(best.w)
    return replace(best, sets=best.sets[support], w=best.w[support])


def relax(active: ActiveSet, best: Solution) -> Solution:
    """Lower the price on the support alone while that helps (the relaxed lasso)."""
    support = active.support
    for share in RELAXED:
        active.w = active.w.copy()
        active.descend(share * best.price, support, rounds=1, passes=RPASSES, tolerance=RTOL)
        error = active.error()
        if error >= best.error:
            break
        best = replace(best, sets=active.sets, w=active.w, error=error, relaxed=share)
    return best


def least_squares(candidates: Candidates, active: ActiveSet, price: float) -> Solution:
    """Give the best solution without a price, on the largest coefficients, of more and more of them until it is exact.

    The active set is left with the coefficients that it had.
    """
    before, base = active.w, active.equations.base
    best = Solution(active.sets, before, np.inf, price, 0.0)
    size, largest = np.count_nonzero(before), np.abs(before).max(initial=0.0)
    for share in SHARES:
        large = np.abs(before) > share * largest
        if np.count_nonzero(large) > 0.7 * active.equations.used:
            break
        active.put(np.where(large, before, 0.0))
        first = active.error()
        active.least_squares(np.flatnonzero(large), iterations=ITERATIONS // 5)
        error = active.error()
        if error < 0.1 * first:  # otherwise far from exact, and more iterations would not change that
            active.least_squares(np.flatnonzero(large), iterations=ITERATIONS)
            error = active.error()
        if error < best.error:
            best = replace(best, w=active.w, error=error)
        if error <= EXACT * base or np.count_nonzero(large) == size:
            break
    if EXACT * base < best.error < 1e-4 * base:
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
        best = replace(best, sets=active.sets, w=active.w, error=error)
    return best
