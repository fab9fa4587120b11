"""The sparse Walsh model: learns a function of bits as a sum over few sets of variables, from few values.

The fit is a lasso. Its path goes from a strong penalty to weak ones, over all single variables and pairs first, and
then over larger sets. Part of the equations is held out and says which penalty is best. If the path comes close to an
exact solution, least squares on the largest coefficients find it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from daedal.compilation import OPTIONS, njit
from daedal.settings.checks import as_numbers, check_between
from daedal.settings.parameters import check_types
from daedal.surrogates.walsh_function import MAX_ORDER, Sets, WalshFunction
from daedal.types import Bits, Fitness

FEWEST = 10
"""Number of equations below which nothing is learned."""

HELD_OUT = 10
"""One in this number of equations is held out. Of 184 fits for `mix` on 16 functions, 29 are exact, and 23 with 5."""

LEAST = 3
"""Training equations that a set must stand in to be looked at."""

LARGEST_POOL = 1024
"""Maximum number of variables of which all pairs are looked at."""

STEP, STEPS, PATIENCE = 0.5, 30, 2
"""Factor from one penalty to the next; the number of penalties, at most; and of those that do not lower the error."""

MOST_NEW = 200
"""Sets that join at one penalty, or n if that is more; the others join at the next one."""

PASSES, TOLERANCE = 4, 1e-2
"""Passes of coordinate descent at a penalty, and the change of coefficients, relative to residuals, that ends them."""

BETTER, BACK = 0.98, 1.5
"""Share of the error to which more sets must lower it. A path that goes on from a solution starts at its penalty times
BACK."""

PROMISING, REWEIGHTED, WEIGHTS, UNIT, JOINING = 0.3, 4, (4.0, 2.0, 1.0, 0.5), 0.1, 0.2
"""Share of the error below which an exact solution may be near; rounds of reweighting; shares of the best penalty that
are tried in each; share of the largest coefficient at which a coefficient costs half as much as a new one; and share of
the best penalty that sets must be worth to join then. With 10 equations per variable, this finds spin glasses of 64
variables exactly where the lasso alone explains 0.72 to 0.83 of the variance."""

EXACT, NEAR = 1e-12, 0.03
"""Shares of the error without any coefficient: a solution below the first is exact; least squares are tried below the
second."""

LARGE, ITERATIONS = 0.05, 60
"""Share of the largest coefficient above which sets enter least squares, and iterations of least squares."""

SHARPENED = 0.05
"""Share of the penalty with which the coefficients of a reweighted lasso are fitted to all equations in the end."""

JOINS = 40
"""Pairs of sets that are joined for each larger set that is wanted, at most."""

RARER = 4
"""Factor by which fewer sets of orders above 3 are screened: those that no subset points to are rare."""

MOST_VARIABLES = 4096
"""Variables that can be told apart in the number of a set."""

_BLOCK = 2000  # sets whose columns are in memory at a time when sets are screened

_Integers = NDArray[np.int64]
_Floats = NDArray[np.float64]
_Rows = NDArray[np.uint32]
_NOTHING = Sets.of(np.empty((0, 1), dtype=np.int64))


@dataclass(frozen=True, kw_only=True)
class Walsh:
    """Settings of the sparse Walsh surrogate.

    Every function of n bits is a sum f(x) = constant + sum of c_C chi_C(x) over all sets C of variables, where
    chi_C(x) = (-1)^(ones of x in C) (Walsh, 1923). If only few sets of few variables have a coefficient, these can be
    learned from few values: which variables interact, and how much.

    The fit is a lasso over all single variables and pairs, and then over larger sets of which all subsets but one have
    a coefficient. Last, other large sets are screened. From enough values, a function of few sets is found exactly, and
    r2 is 1.

    Parameters
    ----------
    max_order
        Maximum number of variables in a set, 1 to 5.
    max_rows
        Maximum number of values, or equations, of a fit; it takes a random part if there are more.
    candidates
        Maximum number of sets of each order above 2 that are considered because of their subsets.
    screened
        Maximum number of sets of each order above 2 that are considered whatever their subsets: all of them, or those
        that contain one with a coefficient. 0 makes the fit faster.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.integers(0, 2, (200, 10), dtype=np.uint8)
    >>> values = x[:, 0] * 3.0 + (x[:, 4] ^ x[:, 7])
    >>> f = Walsh().fit(x, values, rng=rng)
    >>> round(f.r2, 6), f.sets
    (1.0, [(0,), (4, 7)])
    >>> f.interactions()[0].variables
    (4, 7)
    >>> f.predict(f.maxima(1, rng=rng)).round(6)
    array([4.])
    """

    max_order: int = MAX_ORDER
    max_rows: int = 5000
    candidates: int = 2000
    screened: int = 20_000

    def __post_init__(self) -> None:
        check_types(self)
        check_between("max_order", self.max_order, 1, MAX_ORDER)
        check_between("max_rows", self.max_rows, FEWEST, 10**6)
        check_between("candidates", self.candidates, 0, 10**5)
        check_between("screened", self.screened, 0, 10**6)

    def fit(self, x: Bits, values: Fitness, *, rng: np.random.Generator) -> WalshFunction:
        """Learn from rows x, shape (rows, n), and their values, shape (rows,); values that are not finite are left out.

        rng draws which rows are taken and which are held out.
        """
        x, values = _checked(x, values)
        return self._fit(x, None, values, rng, None)

    def fit_differences(
        self, x: Bits, d: Bits, df: Fitness, *, rng: np.random.Generator, previous: WalshFunction | None = None
    ) -> WalshFunction:
        """Learn from differences df = f(x xor d) - f(x), shape (equations,).

        x and d have shape (equations, n). A set C stands in an equation if |C and d| is odd: df = -2 (sum of c_C
        chi_C(x) over these). The constant remains unknown, and is 0. `previous` is the function learned from part of
        the equations, and makes the fit faster.
        """
        x, df = _checked(x, df)
        d, _ = _checked(d, df)
        if d.shape != x.shape:
            raise ValueError(f"d must have the shape of x, {x.shape}; got d.shape={d.shape}")
        return self._fit(x, d, df, rng, previous)

    def _fit(
        self, x: Bits, d: Bits | None, y: Fitness, rng: np.random.Generator, previous: WalshFunction | None
    ) -> WalshFunction:
        n = x.shape[1]
        chosen = np.flatnonzero(np.isfinite(y) & (True if d is None else d.any(axis=1)))
        chosen = rng.permutation(chosen)[: self.max_rows]
        y = y[chosen]
        mean = float(y.mean()) if d is None and len(y) else 0.0
        y = y - mean
        nothing = WalshFunction(n=n, constant=mean, terms=_NOTHING, coefficients=np.empty(0), r2=0.0)
        scale = float(np.abs(y).mean()) if len(y) else 0.0
        train = len(y) - len(y) // HELD_OUT
        if len(y) < FEWEST or scale <= 1e-12 * max(1.0, abs(mean)) or not y[train:].any():
            return nothing
        equations = Equations(x[chosen], None if d is None else d[chosen], y / scale, train)
        known = None
        if previous is not None and len(previous.terms) and previous.penalty > 0:
            kept = previous.terms.orders <= self.max_order
            w = previous.coefficients[kept] * (-2.0 / scale)
            known = Solution(previous.terms[kept], w, 1 - previous.r2, previous.penalty, 1.0)
        fit = Fit(equations, self)
        solution = fit.solve(known)
        r2 = max(0.0, 1.0 - solution.error / fit.base)
        if r2 <= 0 or not len(solution.sets):
            return nothing
        solution = _fit_everything(equations, solution)
        # Equations of differences have w = -2 c; those of values have w = c.
        coefficients = solution.w * (scale if d is None else -0.5 * scale)
        constant = solution.sets.orders == 0
        return WalshFunction(
            n=n,
            constant=mean + float(coefficients[constant].sum()),
            terms=solution.sets[~constant],
            coefficients=coefficients[~constant],
            r2=r2,
            penalty=solution.penalty,
        )


def _checked(x: Bits, values: Fitness) -> tuple[Bits, Fitness]:
    """Return rows as uint8 and values as float64; refuse others, and arrays that do not fit together."""
    x = np.asarray(x)
    if x.ndim != 2 or x.shape[1] == 0 or x.dtype.kind not in "iu" or (x.size and (x.min() < 0 or x.max() > 1)):
        raise ValueError(f"x must be rows of 0 and 1, shape (rows, n); got shape={x.shape}, dtype={x.dtype}")
    values = as_numbers(values, source="as values")
    if values.shape != x.shape[:1]:
        raise ValueError(f"{len(x)} rows need {len(x)} values; got values.shape={values.shape}")
    return np.ascontiguousarray(x, dtype=np.uint8), values


# ---------------------------------------------------------------- equations and their columns


@dataclass(frozen=True)
class Columns:
    """The columns of some sets: the equations in which each stands, first those with sign +1, then those with -1."""

    bounds: _Integers  # where each part starts, and the last one ends, shape (2 sets + 1,)
    rows: _Rows  # unsigned, so that no kernel checks for places from the end

    def __add__(self, other: Columns) -> Columns:
        bounds = np.concatenate([self.bounds, self.bounds[-1] + other.bounds[1:]])
        return Columns(bounds, np.concatenate([self.rows, other.rows]))

    @property
    def counts(self) -> _Integers:
        """Number of equations of each set."""
        return np.diff(self.bounds[::2])

    def totals(self, residual: _Floats) -> _Floats:
        """Return the sum of sign times residual for each set."""
        out = np.empty(len(self.bounds) // 2)
        totals(self.bounds, self.rows, residual, out)
        return out

    def take_from(self, residual: _Floats, w: _Floats) -> None:
        """Subtract the columns, each times its coefficient, from the residual."""
        subtract(self.bounds, self.rows, w, residual)


@dataclass(frozen=True)
class Equations:
    """Equations y = sum of w_C chi_C(x) over the sets C with |C and d| odd; without d, over all sets.

    The first `train` of them are for training, the others are held out.
    """

    x: Bits
    d: Bits | None
    y: Fitness
    train: int

    @property
    def n(self) -> int:
        """Number of variables."""
        return int(self.x.shape[1])

    @property
    def parts(self) -> tuple[slice, slice, slice]:
        """The equations for training, those held out, and all of them."""
        return slice(0, self.train), slice(self.train, len(self.y)), slice(0, len(self.y))

    @cached_property
    def _by_variable(self) -> tuple[Bits, Bits, _Integers]:
        """All bits and flips, shape (n, equations), and the places of the flips.

        Without d, there is one more variable, which is 0, which every equation flips, and every set contains.
        """
        if self.d is not None:
            x, d = np.ascontiguousarray(self.x.T), np.ascontiguousarray(self.d.T)
        else:
            x = np.concatenate([self.x.T, np.zeros((1, len(self.y)), np.uint8)])
            d = np.zeros_like(x)
            d[-1] = 1
        return x, d, np.flatnonzero(d)

    def columns(self, sets: Sets, part: slice) -> Columns:
        """Return the columns of sets in one part of the equations, counted from its beginning."""
        x, d, flips = self._by_variable
        members, orders = sets.members, sets.orders
        if self.d is None:
            members = np.column_stack([np.full(len(members), self.n), members])
            orders = orders + 1
        first = np.arange(len(d)) * len(self.y)
        starts, ends = np.searchsorted(flips, first + part.start), np.searchsorted(flips, first + part.stop)
        most = np.append(ends - starts, 0)[members].sum(axis=1)  # a member -1 has no equations
        bounds, rows = np.zeros(2 * len(sets) + 1, np.int64), np.empty(int(most.sum()), np.uint32)
        negative = np.empty(int(most.max(initial=0)), np.uint32)
        end = fill_columns(members, orders, starts, ends, flips, d, x, part.start, bounds, rows, negative)
        return Columns(bounds, rows[:end])

    @cached_property
    def pool(self) -> _Integers:
        """The variables of which all pairs are looked at: those whose effect varies most with the others."""
        if self.n <= LARGEST_POOL:
            return np.arange(self.n)
        varies = np.empty(self.n)
        for first in range(0, self.n, 500):
            part = slice(first, first + 500)
            effects = self.y[:, None] * (1.0 - 2.0 * self.x[:, part])
            stands = np.ones((len(self.y), 1)) if self.d is None else self.d[:, part]
            mean = (effects * stands).sum(axis=0) / np.maximum(stands.sum(axis=0), 1)
            varies[part] = (np.square(effects - mean) * stands).sum(axis=0)
        return np.sort(np.argsort(-varies, kind="stable")[:LARGEST_POOL])

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.float32], csr_array | None, NDArray[np.float32]]:
        """Signs of the pool in training equations; those that are flipped as a sparse matrix, and the others."""
        signs = 1 - 2 * self.x[: self.train, self.pool].astype(np.float32)
        if self.d is None:
            return signs, None, signs
        d = self.d[: self.train, self.pool]
        variables, rows = np.nonzero(np.ascontiguousarray(d.T))
        starts = np.searchsorted(variables, np.arange(len(self.pool) + 1))
        return signs, csr_array((signs[rows, variables], rows, starts), shape=signs.T.shape), signs * (d == 0)

    def pair_totals(self, residual: _Floats) -> _Floats:
        """Return the sum of sign times residual for all pairs of the pool; the diagonal is of single variables."""
        signs, flipped, still = self._pairs
        r = residual.astype(np.float32)
        if flipped is None:
            out: _Floats = signs.T @ (signs * r[:, None])
            np.fill_diagonal(out, r @ signs)
            return out
        weighted = csr_array((flipped.data * r[flipped.indices], flipped.indices, flipped.indptr), shape=flipped.shape)
        half = weighted @ still
        out = half + half.T
        np.fill_diagonal(
            out, np.add.reduceat(np.append(weighted.data, 0), flipped.indptr[:-1]) * (np.diff(flipped.indptr) > 0)
        )
        return out

    @cached_property
    def pair_scales(self) -> _Floats:
        """1 / sqrt of the number of equations of each pair of the pool; 0 if they are too few."""
        size = len(self.pool)
        if self.d is None:
            return np.full((size, size), self.train**-0.5)
        _, flipped, still = self._pairs
        assert flipped is not None
        half = abs(flipped) @ np.abs(still)
        counts = half + half.T
        np.fill_diagonal(counts, np.diff(flipped.indptr))
        return _scales(counts)


def _scales(counts: NDArray[Any]) -> _Floats:
    return np.where(counts >= LEAST, np.maximum(counts, 1).astype(np.float64) ** -0.5, 0.0)


# ---------------------------------------------------------------- the lasso


@dataclass(frozen=True)
class Solution:
    """Sets with their coefficients."""

    sets: Sets
    w: _Floats
    error: float  # squared, of the equations held out
    penalty: float  # with which the sets were chosen
    share: float  # of it with which the coefficients are fitted in the end; 0 for least squares

    def without_zeros(self) -> Solution:
        """Return the sets that have a coefficient."""
        kept = np.flatnonzero(self.w)
        return replace(self, sets=self.sets[kept], w=self.w[kept])


class Active:
    """The sets that take part in the lasso, with their coefficients, and the residual of the training equations."""

    def __init__(self, equations: Equations, sets: Sets, w: _Floats, *, everything: bool = False) -> None:
        self.equations = equations
        train, test, both = equations.parts
        self.train, self.test = both if everything else train, slice(0, 0) if everything else test
        self.sets, self.w = sets, w.copy()
        self.columns, self.test_columns = equations.columns(sets, self.train), equations.columns(sets, self.test)
        self.put(self.w)

    def add(self, sets: Sets) -> None:
        """Add sets with coefficient 0."""
        self.sets = self.sets + sets
        self.w = np.concatenate([self.w, np.zeros(len(sets))])
        self.columns = self.columns + self.equations.columns(sets, self.train)
        self.test_columns = self.test_columns + self.equations.columns(sets, self.test)

    def put(self, w: _Floats) -> None:
        """Set the coefficients of the first sets, and the others to zero."""
        self.w = np.concatenate([w, np.zeros(len(self.sets) - len(w))])
        self.residual = self.equations.y[self.train].copy()
        self.columns.take_from(self.residual, self.w)

    def error(self) -> float:
        """Return the squared error of the equations held out."""
        residual = self.equations.y[self.test].copy()
        self.test_columns.take_from(residual, self.w)
        return float(residual @ residual)

    def descend(
        self, penalty: float, *, passes: int = PASSES, tolerance: float = TOLERANCE, factors: _Floats | float = 1.0
    ) -> None:
        """Minimize the lasso's error by coordinate descent; factors, shape (sets,), make sets cheaper."""
        limits = penalty * factors * np.sqrt(self.columns.counts)
        limits[self.sets.orders == 0] = 0.0
        least = tolerance * float(np.sqrt(np.square(self.residual).mean()))
        columns = self.columns
        descend(columns.bounds, columns.rows, limits, passes, least, self.residual, self.w)

    def least_squares(self, chosen: NDArray[np.bool_], iterations: int) -> None:
        """Minimize the error over some sets by conjugate gradients (CGLS), from where they are."""
        direction, before, first = np.zeros(len(self.w)), 0.0, 0.0
        for done in range(iterations):
            gradient = np.where(chosen, self.columns.totals(self.residual), 0.0)
            norm = float(gradient @ gradient)
            first = first or norm
            if norm <= 1e-20 * first:
                return
            direction = gradient + (norm / before if done else 0.0) * direction
            image = np.zeros(len(self.residual))
            self.columns.take_from(image, -direction)
            step = norm / float(image @ image)
            self.w = self.w + step * direction
            self.residual -= step * image
            before = norm


class Fit:
    """One fit: follows the path of the lasso, and adds larger sets as long as they explain more."""

    def __init__(self, equations: Equations, model: Walsh) -> None:
        self.equations, self.model = equations, model
        self.n, self.train = equations.n, equations.parts[0]
        self.base = float(np.square(equations.y[equations.train :]).sum())

    def solve(self, known: Solution | None) -> Solution:
        """Find the sets and coefficients that explain the equations; y is of about 1 in absolute value."""
        first = (
            Sets(_NOTHING.members, _NOTHING.orders)
            if self.equations.d is not None
            else Sets.of(np.empty((1, 0), np.int64))
        )
        start = known or Solution(first, np.zeros(len(first)), np.inf, 0.0, 1.0)
        best = self.follow(start, _NOTHING, BACK * start.penalty)
        best = self.sharpen(best)
        best = self.extended(best, self.grown)
        return self.extended(best, self.screened) if self.model.screened else best

    def extended(self, best: Solution, larger: Callable[[Solution], Sets]) -> Solution:
        """Return the solution with larger sets, as long as they lower the error."""
        for _ in range(self.model.max_order - 2):
            new = larger(best)
            if self.is_exact(best) or not len(new):
                break
            found = self.follow(best, new, BACK * best.penalty)
            if found.error > BETTER * best.error:
                break
            best = found
        return best

    def is_exact(self, solution: Solution) -> bool:
        """Tell whether a solution leaves no error but rounding."""
        return solution.error <= EXACT * self.base

    def follow(self, start: Solution, new: Sets, penalty: float) -> Solution:
        """Follow the path from a solution, with new sets besides its own, single variables and pairs."""
        active = Active(self.equations, start.sets, start.w)
        listed, open_pairs = self._candidates(start.sets, new)
        columns = self.equations.columns(listed, self.train)
        scales = _scales(columns.counts)
        best = Solution(active.sets, active.w, np.inf, penalty, 1.0)
        refit, refit_below, stalled = best, NEAR * self.base, 0
        for _ in range(STEPS):
            if penalty == 0:
                penalty = STEP * self._strongest(active, open_pairs, columns, scales)
            self._join(active, open_pairs, listed, columns, scales, penalty)
            active.descend(penalty)
            error = active.error()
            if error < 0.997 * best.error:
                best, stalled = Solution(active.sets, active.w.copy(), error, penalty, 1.0), 0
            else:
                stalled += 1
            if error < refit_below:
                refit_below = 0.5 * error
                refit = min(refit, self.refit(active, penalty), key=lambda solution: solution.error)
                if self.is_exact(refit):
                    return refit.without_zeros()
            if stalled >= PATIENCE or np.count_nonzero(active.w) > 0.8 * self.equations.train:
                break
            penalty *= STEP
        if best.error < NEAR * self.base:
            active.put(best.w)
            refit = min(refit, self.refit(active, best.penalty), key=lambda solution: solution.error)
        return min(best, refit, key=lambda solution: solution.error).without_zeros()

    def _candidates(self, known: Sets, new: Sets) -> tuple[Sets, _Floats]:
        """Return the sets besides pairs of the pool that are not active, and the scales of the pairs that are not."""
        pool = self.equations.pool if self.model.max_order > 1 else np.arange(0)
        others = Sets.of(np.setdiff1d(np.arange(self.n), pool)[:, None])
        others = others[_are_new(others.members, known.members)]
        if not len(pool):
            return others + new, np.empty((0, 0))
        place = np.full(self.n + 1, -1)
        place[pool] = np.arange(len(pool))
        scales = np.triu(self.equations.pair_scales)
        low = place[known.members[:, 0]]
        high = np.where(known.orders == 1, low, place[known.members[:, 1]])
        inside = (low >= 0) & (high >= 0) & (known.orders >= 1) & (known.orders <= 2)
        scales[low[inside], high[inside]] = 0.0
        return others + new, scales

    def _strengths(
        self, active: Active, open_pairs: _Floats, columns: Columns, scales: _Floats
    ) -> tuple[_Floats, _Floats]:
        """Return how well pairs of the pool, and listed sets, go with the residual; 0 for those that are active."""
        pairs = open_pairs
        if open_pairs.size:
            pairs = np.abs(self.equations.pair_totals(active.residual)) * open_pairs
        return pairs, np.abs(columns.totals(active.residual)) * scales

    def _strongest(self, active: Active, open_pairs: _Floats, columns: Columns, scales: _Floats) -> float:
        return float(max(part.max(initial=0.0) for part in self._strengths(active, open_pairs, columns, scales)))

    def _join(
        self, active: Active, open_pairs: _Floats, listed: Sets, columns: Columns, scales: _Floats, penalty: float
    ) -> None:
        """Let the strongest sets join that are worth the penalty."""
        pairs, others = self._strengths(active, open_pairs, columns, scales)
        i, j = np.nonzero(pairs > penalty)
        more = np.flatnonzero(others > penalty)
        strengths = np.concatenate([pairs[i, j], others[more]])
        most = max(MOST_NEW, self.n)
        chosen = np.arange(len(strengths))
        if len(chosen) > most:
            chosen = np.sort(np.argpartition(-strengths, most)[:most])
        split = int(np.searchsorted(chosen, len(i)))
        i, j, more = i[chosen[:split]], j[chosen[:split]], more[chosen[split:] - len(i)]
        members = np.full((len(i), MAX_ORDER), -1, dtype=np.int64)
        members[:, 0], members[:, 1] = self.equations.pool[i], np.where(i == j, -1, self.equations.pool[j])
        open_pairs[i, j] = 0.0
        scales[more] = 0.0
        active.add(Sets(members, np.where(i == j, 1, 2)) + listed[more])

    def sharpen(self, best: Solution) -> Solution:
        """Make small coefficients costlier than large ones, again and again while that helps (reweighted lasso).

        If the lasso is close to an exact solution, this gets there with fewer equations (Candès, Wakin and Boyd, 2008).
        """
        if not EXACT < best.error / self.base < PROMISING:
            return best
        active = Active(self.equations, best.sets, best.w)
        listed, open_pairs = self._candidates(best.sets, _NOTHING)
        columns = self.equations.columns(listed, self.train)
        scales = _scales(columns.counts)
        for _ in range(REWEIGHTED):
            before = best
            active.put(best.w)
            self._join(active, open_pairs, listed, columns, scales, JOINING * best.penalty)
            sizes = np.abs(active.w)
            factors = UNIT * sizes.max() / (sizes + UNIT * sizes.max())
            for share in WEIGHTS:
                active.descend(share * best.penalty, passes=16, factors=factors)
                error = active.error()
                if error < best.error:
                    best = replace(best, sets=active.sets, w=active.w.copy(), error=error, share=SHARPENED)
            if best.error > 0.9 * before.error:
                break
        if best.error < NEAR * self.base:
            active.put(best.w)
            best = min(best, self.refit(active, best.penalty), key=lambda solution: solution.error)
        return best.without_zeros()

    def refit(self, active: Active, penalty: float) -> Solution:
        """Return the solution by least squares on the largest coefficients."""
        before = active.w
        large = (np.abs(before) > LARGE * np.abs(before).max(initial=0.0)) | (active.sets.orders == 0)
        if np.count_nonzero(large) > 0.7 * self.equations.train:
            return Solution(active.sets, before, np.inf, penalty, 0.0)
        active.put(np.where(large, before, 0.0))
        first = active.error()
        active.least_squares(large, 6)
        if active.error() < 0.1 * first:  # otherwise it is far from exact, and more iterations would not change that
            active.least_squares(large, ITERATIONS)
        solution = Solution(active.sets, active.w, active.error(), penalty, 0.0)
        active.put(before)
        return solution

    def grown(self, best: Solution) -> Sets:
        """Return the larger sets of which all subsets but one have a coefficient."""
        found = _NOTHING
        for order in range(3, self.model.max_order + 1):
            below = best.sets.orders == order - 1
            found = found + Sets.of(grow(best.sets.of_order(order - 1), best.w[below], self.model.candidates))
        return found[_are_new(found.members, best.sets.members)]

    def screened(self, best: Solution) -> Sets:
        """Return the larger sets that go best with what is left unexplained, whatever their subsets."""
        active = Active(self.equations, best.sets, best.w)
        found, strengths = [_NOTHING], [np.empty(0)]
        for order in range(3, self.model.max_order + 1):
            most = self.model.screened if order == 3 else self.model.screened // RARER
            if best.error > 0.6 * self.base and comb(self.n, order) > min(most, 2 * self.equations.train):
                continue
            below = best.sets.orders == order - 1
            members = supersets(best.sets.of_order(order - 1), best.w[below], self.n, most)
            sets = Sets.of(members)
            sets = sets[_are_new(sets.members, best.sets.members)]
            for first in range(0, len(sets), _BLOCK):
                some = sets[np.arange(first, min(first + _BLOCK, len(sets)))]
                columns = self.equations.columns(some, self.train)
                found.append(some)
                strengths.append(np.abs(columns.totals(active.residual)) * _scales(columns.counts))
        chosen = np.sort(np.argsort(-np.concatenate(strengths), kind="stable")[: self.model.candidates])
        return sum(found[1:], found[0])[chosen]


def _fit_everything(equations: Equations, solution: Solution) -> Solution:
    """Fit the coefficients once more, to all equations, those held out included."""
    active = Active(equations, solution.sets, solution.w, everything=True)
    share = len(equations.y) / equations.train
    if solution.share > 0:
        active.descend(solution.penalty * solution.share * share**0.5, passes=10, tolerance=1e-3)
        return replace(solution, w=active.w).without_zeros()
    active.least_squares(np.ones(len(active.w), np.bool_), 2 * ITERATIONS)
    w = np.where(np.abs(active.w) > 1e-9 * np.abs(active.w).max(initial=0.0), active.w, 0.0)
    return replace(solution, w=w).without_zeros()


# ---------------------------------------------------------------- larger sets


def grow(members: _Integers, strengths: _Floats, most: int) -> _Integers:
    """Return the sets of one variable more of which at least all subsets but one are given, shape (found, k + 1).

    If they are more than `most`, only the stronger half of the given ones counts, and so on.

    Parameters
    ----------
    members
        Sets of k variables each, ascending, shape (sets, k).
    strengths
        How strong each is, shape (sets,).
    most
        Maximum number of sets to return.

    Examples
    --------
    >>> import numpy as np
    >>> grow(np.array([[0, 1], [1, 2], [5, 6]]), np.ones(3), 10)
    array([[0, 1, 2]])
    """
    ranked = members[np.argsort(-np.abs(strengths), kind="stable")]
    while len(ranked) > 1:
        found = _grow(ranked, most)
        if found is not None:
            return found
        ranked = ranked[: len(ranked) // 2]
    return np.empty((0, members.shape[1] + 1), dtype=np.int64)


def _grow(members: _Integers, most: int) -> _Integers | None:
    """Find the sets; None if they are too many."""
    count, order = members.shape
    variables, numbers = np.unique(members, return_inverse=True)
    if len(variables) > MOST_VARIABLES:
        return None
    numbers = numbers.reshape(members.shape)
    # A set without one of its members, for each member: sets that share such a core are joined.
    cores = np.concatenate([_keys(np.delete(numbers, q, axis=1)) for q in range(order)])
    ranked = np.argsort(cores, kind="stable")
    cores, owners, others = cores[ranked], ranked % count, numbers.T.ravel()[ranked]
    _, sizes = np.unique(cores, return_counts=True)
    if (sizes * (sizes - 1) // 2).sum() > JOINS * most:
        return None
    joined = [np.empty(0, np.int64)]
    for shift in range(1, int(sizes.max())):
        a = np.flatnonzero(cores[shift:] == cores[:-shift])
        joined.append(_keys(np.sort(np.column_stack([numbers[owners[a]], others[a + shift]]), axis=1)))
    found, times = np.unique(np.concatenate(joined), return_counts=True)
    found = found[times >= order * (order - 1) // 2]  # the number of pairs among `order` subsets
    return None if len(found) > most else variables[_sets(found, order + 1)]


def supersets(members: _Integers, strengths: _Floats, n: int, most: int) -> _Integers:
    """Return sets of one variable more than the given ones: all of n variables, if these are at most `most`.

    Otherwise those that contain one of the given sets, the strongest first, up to `most`.

    Examples
    --------
    >>> import numpy as np
    >>> supersets(np.array([[0, 3]]), np.ones(1), 5, 5)
    array([[0, 1, 3],
           [0, 2, 3],
           [0, 3, 4]])
    """
    order = members.shape[1] + 1
    if comb(n, order) <= most:
        every = chain.from_iterable(combinations(range(n), order))
        return np.fromiter(every, dtype=np.int64).reshape(-1, order)
    if n > MOST_VARIABLES:
        return np.empty((0, order), dtype=np.int64)
    ranked = members[np.argsort(-np.abs(strengths), kind="stable")[: most // n]]
    grown = np.concatenate([np.repeat(ranked, n, axis=0), np.tile(np.arange(n), len(ranked))[:, None]], axis=1)
    grown = grown[(grown[:, :-1] != grown[:, -1:]).all(axis=1)]
    grown.sort(axis=1)
    return _sets(np.unique(_keys(grown)), order)


def _are_new(members: _Integers, known: _Integers) -> NDArray[np.bool_]:
    """Tell which sets are not among the known ones, all shape (any, MAX_ORDER)."""
    seen = set(map(bytes, np.ascontiguousarray(known)))
    return np.array([row not in seen for row in map(bytes, np.ascontiguousarray(members))], dtype=np.bool_)


def _keys(members: _Integers) -> _Integers:
    """Return one number for each set, shape (sets,), in lexicographic order."""
    return np.asarray((members << _shifts(members.shape[1])).sum(axis=1))


def _sets(keys: _Integers, order: int) -> _Integers:
    """Return the sets, shape (sets, order), that have these numbers."""
    return (keys[:, None] >> _shifts(order)) & (MOST_VARIABLES - 1)


def _shifts(order: int) -> _Integers:
    return 12 * np.arange(order)[::-1]


# ---------------------------------------------------------------- kernels


@njit(**OPTIONS)
def fill_columns(
    members: _Integers, orders: _Integers, starts: _Integers, ends: _Integers, flips: _Integers, d: Bits, x: Bits,
    offset: int, bounds: _Integers, rows: _Rows, negative: _Rows,
) -> int:  # fmt: skip
    """Write the columns of sets one after the other, and set bounds, shape (2 sets + 1,); return where the last ends.

    d and x, shape (n, equations), hold all flips and bits. flips[starts[i] : ends[i]] are the places in d where
    variable i is flipped, in the equations from `offset` on. negative is for use here: the equations with sign -1.
    """
    end = 0
    for c in range(orders.size):
        count = 0
        for a in range(orders[c]):
            i = members[c, a]
            for k in range(starts[i], ends[i]):
                e = flips[k] - i * d.shape[1]
                odd, earlier, ones = 0, 0, 0
                for b in range(orders[c]):
                    j = members[c, b]
                    odd += d[j, e]
                    earlier += d[j, e] if b < a else 0
                    ones += x[j, e]
                if odd % 2 == 1 and earlier == 0:
                    if ones % 2 == 0:
                        rows[end] = e - offset
                        end += 1
                    else:
                        negative[count] = e - offset
                        count += 1
        bounds[2 * c + 1] = end
        for k in range(count):
            rows[end] = negative[k]
            end += 1
        bounds[2 * c + 2] = end
    return end


@njit(**OPTIONS)
def _sum(residual: _Floats, rows: _Rows, first: int, last: int) -> float:
    """Add up the residual over rows[first : last], in four sums, so that none waits for the one before."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    k = first
    while k + 3 < last:
        a += residual[rows[k]]
        b += residual[rows[k + 1]]
        c += residual[rows[k + 2]]
        d += residual[rows[k + 3]]
        k += 4
    while k < last:
        a += residual[rows[k]]
        k += 1
    return (a + b) + (c + d)


@njit(**OPTIONS)
def totals(bounds: _Integers, rows: _Rows, residual: _Floats, out: _Floats) -> None:
    """Set out to the sum of sign times residual over each column."""
    for c in range(out.size):
        middle = bounds[2 * c + 1]
        out[c] = _sum(residual, rows, bounds[2 * c], middle) - _sum(residual, rows, middle, bounds[2 * c + 2])


@njit(**OPTIONS)
def _take(residual: _Floats, rows: _Rows, bounds: _Integers, c: int, step: float) -> None:
    """Subtract a column, times a step, from the residual."""
    for k in range(bounds[2 * c], bounds[2 * c + 1]):
        residual[rows[k]] -= step
    for k in range(bounds[2 * c + 1], bounds[2 * c + 2]):
        residual[rows[k]] += step


@njit(**OPTIONS)
def subtract(bounds: _Integers, rows: _Rows, w: _Floats, residual: _Floats) -> None:
    """Subtract all columns, each times its coefficient, from the residual."""
    for c in range(w.size):
        if w[c] != 0.0:
            _take(residual, rows, bounds, c, w[c])


@njit(**OPTIONS)
def descend(
    bounds: _Integers, rows: _Rows, limits: _Floats, passes: int, tolerance: float, residual: _Floats, w: _Floats
) -> None:
    """Minimize |y - A w|^2 / 2 + sum of limits |w| by coordinate descent, and keep the residual y - A w.

    One pass goes over all columns, and up to `passes` over those with a coefficient, until none changes by more than
    `tolerance`.
    """
    for done in range(passes + 1):
        largest = 0.0
        for c in range(w.size):
            first, middle, last = bounds[2 * c], bounds[2 * c + 1], bounds[2 * c + 2]
            if first == last or (done > 0 and w[c] == 0.0):
                continue
            z = _sum(residual, rows, first, middle) - _sum(residual, rows, middle, last) + (last - first) * w[c]
            new = 0.0
            if z > limits[c]:
                new = (z - limits[c]) / (last - first)
            elif z < -limits[c]:
                new = (z + limits[c]) / (last - first)
            step = new - w[c]
            if step != 0.0:
                w[c] = new
                largest = max(largest, abs(step))
                _take(residual, rows, bounds, c, step)
        if largest < tolerance:
            return
