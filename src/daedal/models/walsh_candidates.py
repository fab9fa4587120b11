"""Which sets may enter the lasso, and which of them are worth it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.models.walsh_equations import MAX_ORDER, NOTHING, Equations, Sets
from daedal.models.walsh_lasso import ActiveSet, Solution


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
        self.equations = equations
        self.always = always_listed(equations)
        listed = equations.columns(self.always)
        if solution is not None:
            listed = listed + solution.columns[np.flatnonzero(solution.sets.orders > 2)]
        self.listed = listed + equations.columns(new)
        self.prices = self.listed.prices
        self.listed_active = np.zeros(len(self.listed), dtype=np.bool_)
        self.pairs_active = np.zeros((size, size), dtype=np.bool_)
        self._singles = np.empty(size, dtype=np.float32)
        self._half = np.empty((size, size), dtype=np.float32)
        self._found = np.empty(size * (size + 1) // 2, dtype=np.int64)
        self._strengths = np.empty(len(self._found), dtype=np.float32)
        self._values = np.empty(len(self.listed), dtype=np.float32)

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
        pairs, listed = self._found[chosen[:split]], more[chosen[split:] - count]
        active.add(self.equations.columns(self._mark(pairs, listed)) + self.listed[listed])

    def resume(self, active: ActiveSet, solution: Solution) -> None:
        """Make the sets of the solution active, with its coefficients; none is yet."""
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
        self._mark(high[paired] * len(self._singles) + low[paired], listed)
        active.add(solution.columns)
        active.put(solution.w)

    def _mark(self, pairs: NDArray[np.int64], listed: NDArray[np.int64]) -> Sets:
        """Note that pairs, i * size + j of the pool with j <= i, and listed sets are active; the pairs as sets."""
        i, j = np.divmod(pairs, max(1, len(self._singles)))
        self.pairs_active[i, j] = self.pairs_active[j, i] = True
        self.listed_active[listed] = True
        members = np.full((len(pairs), MAX_ORDER), -1, dtype=np.int64)
        members[:, 0], members[:, 1] = self.equations.pool[j], np.where(i == j, -1, self.equations.pool[i])
        return Sets(members, np.where(i == j, 1, 2))
