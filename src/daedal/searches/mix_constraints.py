"""The model of `mix` for problems with constraints: of the objective, and of the amount of each constraint.

The maxima of the modeled problem are evaluated, and climbs may begin there. Linear functions are tried first; they are
often exact. Sparse Walsh functions are fitted only if they are not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from daedal.archive import to_candidates, to_rows
from daedal.engine import Engine
from daedal.types import Bits, Outputs

if TYPE_CHECKING:
    from daedal.surrogates.constrained import ConstrainedModel
    from daedal.surrogates.walsh import Walsh
    from daedal.surrogates.walsh_function import WalshFunction

FIRST, SPARE = 1.3, 12
"""Candidates per variable, and candidates beyond these, with which the first model is fitted."""

OFTEN, SELDOM = 1.25, 1.6
"""Factors by which the candidates grow until the next fit: of a model that is exact, and of any other."""

LEAST_R2 = 0.5
"""Share of the variance of each function that a model has to explain before its maxima are evaluated."""

MOVES, MOVES_PER_CANDIDATE = 10_000, 500
"""Moves in the search for maxima: per variable at least, and per known candidate."""

LINEAR, NOT_LINEAR, MOST_LINEAR = 8, 4, 2000
"""Candidates per variable that linear fits use, at most; candidates per variable from which on functions that are not
linear are looked for; and variables, at most."""

PROBES = 3
"""Maximum number of times that candidates are evaluated to learn how large an amount is that was cut off at 0."""


class Constraints:
    """Fits models of a problem with constraints when there are enough new candidates.

    Parameters
    ----------
    f
        The engine.
    walsh
        Returns how functions are fitted that are not linear.

    Attributes
    ----------
    r2
        Share of the variance that the last model explains of the function that is known least well.
    is_probing
        Whether the last candidates were proposed to learn more, not because they are maxima.
    """

    def __init__(self, f: Engine, walsh: Callable[[], Walsh]) -> None:
        self.f = f
        self.walsh = walsh
        self.r2 = 0.0
        self._columns = len(next(outputs for outputs in f.archive.outputs if outputs is not None))
        self._due = int(FIRST * f.n) + SPARE  # candidates
        self.is_probing = False
        self._probed = 0

    @property
    def is_due(self) -> bool:
        """Whether there are enough candidates for the next model."""
        return len(self.f.archive) >= self._due and self.f.n <= MOST_LINEAR

    def propose(self, count: int, rng: np.random.Generator) -> list[int]:
        """Fit a model and return candidates: its maxima, or some that tell more about outputs that are cut off."""
        f = self.f
        outputs = f.archive.outputs_of(range(len(f.archive)), self._columns)
        places = np.flatnonzero(~np.isnan(outputs).any(axis=1) & np.isfinite(outputs[:, 0]))
        model = self._fit(places, outputs, rng)
        self.r2 = 0.0 if model is None else max(0.0, model.r2)
        is_exact = self.r2 == 1.0
        self._due = int((OFTEN if is_exact else SELDOM) * len(f.archive)) + 1
        probes = [] if is_exact else self._probe(places, outputs[places, 1:])
        self.is_probing = bool(probes)
        if probes:
            return probes
        if model is None or self.r2 < LEAST_R2:
            return []
        moves = MOVES_PER_CANDIDATE * len(f.archive)
        if is_exact:
            moves = max(MOVES * f.n, moves)
        assert f.best is not None
        return to_candidates(model.maxima(count, moves=moves, rng=rng, start=to_rows([f.best], f.n)))

    def _fit(self, places: NDArray[np.intp], outputs: Outputs, rng: np.random.Generator) -> ConstrainedModel | None:
        """Fit linear functions, and, if these are not exact, others, if there are enough candidates."""
        from daedal.surrogates.constrained import fit_constrained  # here, because Numba is slow to load

        most = LINEAR * self.f.n + 100
        chosen = places if len(places) <= most else np.sort(rng.permutation(places)[:most])
        x, y = self.f.archive.rows(chosen), outputs[chosen]
        model = fit_constrained(x, y)
        if (model is not None and model.r2 == 1.0) or len(places) < NOT_LINEAR * self.f.n:
            return model
        return fit_constrained(x, y, [self._fit_walsh(k, x, y[:, k], outputs[:, k], rng) for k in range(self._columns)])

    def _fit_walsh(
        self, k: int, x: Bits, y: NDArray[np.float64], known: NDArray[np.float64], rng: np.random.Generator
    ) -> WalshFunction | None:
        """Fit a sparse Walsh function to the differences of one column between candidates and their parents."""
        from daedal.surrogates.linear import is_exact

        archive, n, walsh = self.f.archive, self.f.n, self.walsh()
        places = {candidate: at for at, candidate in enumerate(archive.order)}
        pairs = [(places[p], at) for at, p in enumerate(archive.parents) if p is not None and p in places]
        if not pairs:
            return None
        before, after = np.array(pairs).T
        with np.errstate(invalid="ignore"):
            change = known[after] - known[before]
        usable = np.flatnonzero(np.isfinite(change))
        if len(usable) > 2 * walsh.max_rows:
            usable = np.sort(rng.permutation(usable)[: 2 * walsh.max_rows])
        parents = archive.rows(before[usable])
        flipped, change = parents ^ archive.rows(after[usable]), change[usable]
        kept = flipped.sum(axis=1) <= max(2, n // 4)
        if np.count_nonzero(kept) < 2 * n:
            return None
        function = walsh.fit_differences(parents[kept], flipped[kept], change[kept], rng=rng)
        function = dataclasses.replace(function, constant=float((y - function.predict(x)).mean()))
        return dataclasses.replace(function, r2=1.0 if is_exact(function.predict(x), y) else min(function.r2, 1 - 1e-9))

    def _probe(self, places: NDArray[np.intp], outputs: Outputs) -> list[int]:
        """Return candidates near one that violates much, if outputs are never below 0 and too few are above it.

        The function behind an amount that is cut off at 0 can be learned only where it is not cut off.
        """
        n = self.f.n
        cut = (outputs.min(axis=0, initial=0.0) >= 0) & ((outputs > 0).sum(axis=0) < FIRST * n + SPARE)
        if not cut.any() or self._probed >= PROBES or not len(places):
            return []
        self._probed += 1
        scale = np.maximum(outputs[:, cut].max(axis=0), 1e-300)
        base = self.f.archive.order[int(places[int(np.argmax((outputs[:, cut] / scale).min(axis=1)))])]
        self._due = len(self.f.archive) + 1
        flips = [1 << i for i in range(n)]
        pairs = [flips[i] | flips[i - 1] for i in range(0, n, 3)] if n > 2 else []
        return [base ^ flip for flip in flips + pairs]
