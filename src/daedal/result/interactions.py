"""Which variables act together in the function itself, as far as the rows that were evaluated tell.

Nothing more is evaluated: a sparse Walsh function is fitted to the values, and to the differences between rows that are
neighbours, of which climbing algorithms leave many.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from daedal.result.trace import Trace
from daedal.types import Bits, Fitness

MOST_VARIABLES = 2000
"""Variables up to which pairs are looked at."""

_SPARE = 2  # rows beyond the unknowns of a sum, which have to fit it, too
_EXACT = 1e-9  # share of the variance that a sum may miss
_NEARLY = 1e-3  # the same, where pairs explain no more
_HELPS = 0.8  # share of a sum's error that may be left where interactions explain anything
_LEAST_ROWS = 2  # for each variable, below which nothing is said of pairs
_EQUATIONS = 4  # differences for each variable, with which they are fitted
_CLIMBED = 1 / 3  # differences for each row, from which on rows come from climbs
_VALUES = 0.2  # weight of the fit to values beside the one to differences: rows of a climb are all alike
_ROWS, _SCREENED = 8000, 100_000  # of a fit
_FEWEST, _PRODUCTS = 2000, 10**6  # rows where there are many variables; variables of all rows: a matter of seconds


@dataclass(frozen=True, kw_only=True, eq=False)
class Interactions:
    """What the evaluated rows say of pairs of variables.

    Attributes
    ----------
    strength
        How much each pair acts together, shape (n, n), 0 for not at all.
    r2
        Share of the variance that the fit explains of what it has not seen.
    rows
        How many rows it was fitted to.
    effect
        By how much the fitted function would change if one variable of x were flipped, shape (n,).
    """

    strength: NDArray[np.float64]
    r2: float
    rows: int
    effect: Fitness

    @property
    def is_sum(self) -> bool:
        """Whether nothing acts together: each variable has an effect of its own, and that is all."""
        return not self.strength.any()


@lru_cache(maxsize=8)
def interactions_of(trace: Trace) -> Interactions | None:
    """Fit what a run has seen; None where that is too little to say anything, or there are too many variables."""
    x, values = trace.seen, trace.seen_fitness
    rows, n = x.shape
    if rows < n + 1 + _SPARE or not 2 <= n <= MOST_VARIABLES or not len(trace.top):
        return None
    scale = float(values.std())
    if scale == 0.0:
        return None
    effects, error = _fit_sum(x, values / scale)
    best = 1.0 - 2.0 * trace.top[0]
    if error < _EXACT:
        return Interactions(strength=np.zeros((n, n)), r2=1.0, rows=rows, effect=-2.0 * scale * effects * best)
    if rows < _LEAST_ROWS * n:
        return None
    return _fit_pairs(trace, values / scale, scale, error)


def _fit_sum(x: Bits, values: Fitness) -> tuple[Fitness, float]:
    """Fit a sum of effects of single variables: the effects, shape (n,), and the variance that is left.

    What is left is that of rows held out, or of all rows where there are hardly more than unknowns.
    """
    signs = np.c_[np.ones(len(x)), 1.0 - 2.0 * x]
    held = np.arange(len(x)) % 5 == 0
    enough = np.count_nonzero(~held) > signs.shape[1] + _SPARE
    train, test = (~held, held) if enough else (np.ones_like(held), np.ones_like(held))
    found = np.linalg.lstsq(signs[train], values[train], rcond=None)[0]
    return found[1:], float(np.square(values[test] - signs[test] @ found).mean())


def _fit_pairs(trace: Trace, values: Fitness, scale: float, error: float) -> Interactions | None:
    """Fit sparse Walsh functions; nothing acts together where they explain no more than a sum that explains it all."""
    from daedal.surrogates.walsh import Walsh  # here, because Numba is slow to load

    x, rng = trace.seen, np.random.default_rng(0)
    model = Walsh(max_rows=min(_ROWS, max(_FEWEST, _PRODUCTS // x.shape[1])), screened=_SCREENED)
    function = model.fit(x, values, rng=rng)
    strength, r2 = function.pair_strengths(), function.r2
    near, flipped, far = neighbours(x)
    if len(near) >= max(_EQUATIONS * x.shape[1], _CLIMBED * len(x)):
        d = np.zeros((len(near), x.shape[1]), np.uint8)
        d[np.arange(len(near)), flipped] = 1
        by_differences = model.fit_differences(x[near], d, values[far] - values[near], rng=rng)
        strength = _scaled(by_differences.pair_strengths()) + _VALUES * _scaled(strength)
        r2 = by_differences.r2
    elif 1.0 - function.r2 > _HELPS * error:  # a sum does as well: that is all there is, or nobody knows
        if error > _NEARLY:
            return None
        strength = np.zeros_like(strength)
    flips = trace.top[:1] ^ np.eye(x.shape[1], dtype=np.uint8)
    effect = scale * (function.predict(flips) - function.predict(trace.top[:1]))
    return Interactions(strength=strength, r2=r2, rows=len(x), effect=effect)


def _scaled(strength: NDArray[np.float64]) -> NDArray[np.float64]:
    largest = float(strength.max())
    return strength / largest if largest > 0 else strength


def neighbours(x: Bits) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Find the pairs of rows of x, shape (rows, n), that differ in one variable: one row, the variable, the other row.

    Rows are known by hashes, the exclusive or of a random word for each variable that is one: so a flip is one more.
    """
    words: NDArray[np.uint64] = np.random.default_rng(1).integers(0, 2**63, size=(x.shape[1],), dtype=np.uint64)
    hashes = np.array([np.bitwise_xor.reduce(words[row != 0]) for row in x], dtype=np.uint64)
    order = np.argsort(hashes, kind="stable")
    ranked = hashes[order]
    found = []
    for variable, word in enumerate(words):
        zeros = np.flatnonzero(x[:, variable] == 0)
        wanted = hashes[zeros] ^ word
        at = np.minimum(np.searchsorted(ranked, wanted), len(x) - 1)
        hits = np.flatnonzero(ranked[at] == wanted)
        found.append((zeros[hits], np.full(len(hits), variable), order[at[hits]]))
    near, flipped, far = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return near, flipped, far
