"""Which sets may enter the lasso, and its path from dear coefficients to cheap ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.models.walsh_equations import MAX_ORDER, Equations, Sets
from daedal.models.walsh_lasso import ActiveSet, Solution

STEP = 0.5
STEPS = 16
PATIENCE = 2
ROUNDS = 2
PASSES = 8
TOLERANCE = 1e-2
EXACT = 1e-12
TRIED = 0.5
ITERATIONS = 60
RELAXED = (0.4, 0.15, 0.02)
RPASSES = 20
RTOL = 1e-3
MOST_NEW = 200


class Candidates:
    """All singles and pairs of the pool, and listed sets: which of them are active, and which are to join."""

    def __init__(self, equations: Equations, listed: Sets) -> None:
        size = len(equations.pool)
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
        """Make the sets of a solution active, with its coefficients; all beyond the pool's pairs have to be listed."""
        place = np.full(self.equations.n, -1, dtype=np.int64)
        place[self.equations.pool] = np.arange(len(self.equations.pool))
        sets = solution.sets
        i, j = place[sets.members[:, 1]], place[sets.members[:, 0]]
        i = np.where(sets.orders == 1, j, i)
        paired = (np.minimum(i, j) >= 0) & (sets.orders >= 1) & (sets.orders <= 2)
        high, low = np.maximum(i, j)[paired], np.minimum(i, j)[paired]
        where = {members: q for q, members in enumerate(self.listed.sets.tuples())}
        listed = [where[members] for members in sets[~paired].tuples()]
        self.enter(active, high * len(self._singles) + low, np.array(listed, dtype=np.int64))
        active.put(np.concatenate([solution.w[paired], solution.w[~paired]]))

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

    Returns the best that was met, relaxed.
    """
    best, bad, used = Solution(active.sets, active.w, np.inf, 0.0, 1.0), 0, active.equations.used
    base = active.equations.base
    tried = TRIED * base
    for _ in range(STEPS):
        candidates.correlate(active.residual)
        if price is None:
            price = STEP * candidates.strongest()
        candidates.join(active, price, MOST_NEW)
        active.descend(price, np.arange(len(active)), rounds=ROUNDS, passes=PASSES, tolerance=TOLERANCE)
        error, size = active.error(), len(active.support)
        if error < 0.997 * best.error:
            best, bad = Solution(active.sets, active.w.copy(), error, price, 1.0), 0
        else:
            bad += 1
        if error < tried and size <= 0.7 * used:
            tried = 0.5 * error
            exact = least_squares(active, best)
            if exact.error < EXACT * base:
                return exact
        if bad >= PATIENCE or size > 0.8 * used:
            break
        price *= STEP
    active.put(best.w)
    return relax(active, best)


def least_squares(active: ActiveSet, best: Solution) -> Solution:
    """Give the solution without any price on its support; the active set is left as it was."""
    before = active.w
    active.w = before.copy()
    active.least_squares(active.support, iterations=ITERATIONS)
    error, w = active.error(), active.w
    active.put(before)
    support = np.flatnonzero(w)
    return replace(best, sets=active.sets[support], w=w[support], error=error, relaxed=0.0)


def relax(active: ActiveSet, best: Solution) -> Solution:
    """Lower the price on the support alone while that helps (the relaxed lasso), and leave out what has no coefficient."""
    support = active.support
    for share in RELAXED:
        active.w = active.w.copy()
        active.descend(share * best.price, support, rounds=1, passes=RPASSES, tolerance=RTOL)
        error = active.error()
        if error >= best.error:
            break
        best = replace(best, sets=active.sets, w=active.w, error=error, relaxed=share)
    support = np.flatnonzero(best.w)
    return replace(best, sets=best.sets[support], w=best.w[support])
