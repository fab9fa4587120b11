"""A population for values that scatter, and an answer that was measured more than once."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np

from daedal.limits import Limits, StopReason
from daedal.models.univariate import UMDA
from daedal.models.walsh import Walsh
from daedal.optimizers.base import BaseOptimizer
from daedal.optimizers.eda import EDA
from daedal.optimizers.popsize import fits_memory
from daedal.optimizers.records import Best, Info
from daedal.rng import Stream, stream
from daedal.spaces.encoding import Encoding
from daedal.types import Bits, Fitness, State, StateError

CHECKED = 0.08
"""Share of the calls that is left for measuring the candidates again."""

CANDIDATES = 4
"""Rows that are measured again: what most of the last population agree on, maxima of a model, the best of all."""

MODELLED = 2
"""How many of them come from a model of what was measured."""

REMEMBERED = 5000
"""Rows that the model is learned from, the last ones."""

POPULATIONS = 4
"""How many populations follow each other, each twice as large, where there is no limit on the calls."""

REPEATS = 25
"""How often each is measured where there is no limit on the calls."""

DOUBT = 1.0
"""Standard errors of a difference by which another mean has to be better than that of what most agree on."""

_ARRAYS = ("candidates", "sums", "squares", "counts", "rows", "values")
_FIRST_POPSIZE = 100  # where there is no limit on the calls
_LEAST_POPSIZE = 10


def noisy_popsize(calls: int | None) -> int:
    """Give a population size for so many calls: large enough that chance does not decide, small enough to converge.

    Examples
    --------
    >>> noisy_popsize(3000)
    120
    """
    return _FIRST_POPSIZE if calls is None else max(_LEAST_POPSIZE, min(calls // 3, round(2.2 * math.sqrt(calls))))


class Noisy(BaseOptimizer):
    """Independent bits (UMDA), whose outcome is measured again.

    A population averages over what scatters, where a climber follows chance. What most members of the last one agree
    on is better than the row that happened to get the best value: so that row, maxima of a model of all that was
    measured, and the best of the population are measured again with the last calls, half of them dropped half-way. The
    answer is what most agree on, unless another mean is better by more than chance. Without a limit on the calls
    larger populations follow.

    Parameters
    ----------
    n, seed, limits, initial
        As for `EDA`.
    """

    reproducible: ClassVar[bool] = True  # the population keeps what is needed
    fresh = True

    def __init__(
        self, *, n: int, seed: int | None = None, limits: Limits | None = None, initial: Bits | None = None
    ) -> None:
        super().__init__(n=n, seed=seed, limits=limits, initial=initial)
        self.limits = replace(self.limits, max_generations=None, patience=None)
        self.popsize = noisy_popsize(self.limits.max_evaluations)
        self.restarts = 0
        self._paid = 0  # calls of all batches that were learned from
        self._measured = False  # whether the best is a mean
        self._population = self._built()
        self._rows = np.empty((0, self.n), np.uint8)  # the last ones, from which a model is learned
        self._values = np.empty(0)
        self._candidates = np.empty((0, self.n), np.uint8)
        self._sums = np.empty(0)
        self._squares = np.empty(0)
        self._counts = np.empty(0)

    def encode(self, encoding: Encoding | None) -> None:
        """Hear, before the first row, what the bits are codes of."""
        super().encode(encoding)
        self._population.encode(encoding)

    def prepare(self) -> None:
        """Compile or load what the population needs."""
        self._population.prepare()

    def propose(self) -> Bits:
        """Ask the population, or give the candidates, each as often as it is measured, shape (rows, n)."""
        if not len(self._candidates):
            return self._population.ask()
        return np.tile(self._candidates, (self._repeats(), 1))

    def learn(self, rows: Bits, fitness: Fitness) -> Info | None:
        """Tell the population, or take the measurements."""
        cost, self._paid = self.calls - self._paid, self.calls
        if len(self._candidates):
            return self._take(fitness)
        self._rows = np.concatenate([self._rows, rows])[-REMEMBERED:]
        self._values = np.concatenate([self._values, fitness])[-REMEMBERED:]
        self._population.settle(len(rows), calls=cost, amounts=self.amounts)
        record = self._population.tell(fitness)
        most = self.limits.max_evaluations
        few = most is not None and most - self.calls <= max(CANDIDATES, CHECKED * most)
        if self._population.stop is not None or few:
            self._choose_candidates()
        return None if record is None else {"popsize": self.popsize, **record.info}

    def _choose_candidates(self) -> None:
        rows, values = self._population.population
        ranked = rows[np.argsort(-values, kind="stable")]
        agreed = self._population.majority()[None]
        found = np.concatenate([agreed, self._maxima(agreed), ranked])
        found = found if self.encoding is None else self.encoding.repair(found)
        _, first = np.unique(found, axis=0, return_index=True)
        self._candidates = found[np.sort(first)[:CANDIDATES]]
        self._sums, self._squares = np.zeros((2, len(self._candidates)))
        self._counts = np.zeros(len(self._candidates))

    def _maxima(self, start: Bits) -> Bits:
        """Give the best rows, shape (any, n), of a model of what was measured, which averages over the scatter."""
        rng = stream(self.seed, Stream.FIT, self.restarts)
        function = Walsh(max_rows=REMEMBERED, screened=0).fit(self._rows, self._values, rng=rng)
        return function.maxima(MODELLED, rng=rng, start=start) if function.r2 > 0 else start[:0]

    def _repeats(self) -> int:
        """Give how often each candidate is measured now: half of the calls that are left, and in the end all."""
        if self.limits.max_evaluations is None:
            return REPEATS
        left = self.limits.max_evaluations - self.calls
        share = 1 if len(self._candidates) <= 2 else 2
        return max(1, -(-left // (share * len(self._candidates))))

    def _take(self, fitness: Fitness) -> Info:
        which = np.arange(len(fitness)) % len(self._candidates)
        for total, added in ((self._sums, fitness), (self._squares, np.square(fitness)), (self._counts, 1)):
            np.add.at(total, which, added)
        measured = np.maximum(self._counts, 1)
        means = np.where(self._counts > 0, self._sums / measured, -np.inf)
        errors = np.sqrt(np.maximum(self._squares / measured - np.square(self._sums / measured), 0.0) / measured)
        score = means - np.where(np.arange(len(means)) == 0, 0.0, DOUBT * np.hypot(errors, errors[0]))
        order = np.argsort(-score, kind="stable")  # the first is what most agree on, until it is beaten
        self._keep_best(self._candidates[order[0]], float(means[order[0]]))
        if len(order) > 2:
            kept = np.sort(order[: max(2, len(order) // 2)])
            self._candidates, self._sums = self._candidates[kept], self._sums[kept]
            self._squares, self._counts = self._squares[kept], self._counts[kept]
        elif self.limits.max_evaluations is None and self.restarts == POPULATIONS - 1:
            self.stop = StopReason.CONVERGED
        elif self.rows_left(1) > 0:
            self._restart()
        return {"popsize": self.popsize}

    def _keep_best(self, x: Bits, fitness: float) -> None:
        """Take a mean as the best in place of single measurements, or of a mean that is smaller."""
        if self._measured and self.best is not None and fitness <= self.best.fitness:
            return
        self._measured = True
        x = x.copy()
        x.flags.writeable = False
        self.best = Best(x=x, fitness=fitness, generation=self.generation, evaluations=self.evaluations)

    def _update_best(self, rows: Bits, fitness: Fitness) -> None:
        """Keep single measurements only until something was measured again."""
        if not self._measured and not len(self._candidates):
            super()._update_best(rows, fitness)

    def _restart(self) -> None:
        self._candidates = np.empty((0, self.n), np.uint8)
        if fits_memory(2 * self.popsize, self.n):
            self.popsize *= 2
        self.restarts += 1
        self._population = self._built()

    def _built(self) -> EDA:
        seed = self.seed if not self.restarts else int(stream(self.seed, Stream.RESTART, self.restarts).integers(2**63))
        limits = Limits(max_generations=150, patience=50)
        initial = None if self.initial is None or self.restarts else self.initial[: self.popsize]
        made = EDA(n=self.n, model=UMDA(), popsize=self.popsize, seed=seed, limits=limits, initial=initial)
        made.metered = True
        made.encode(self.encoding)
        return made

    def state(self) -> State:
        """Give what is needed to go on from here."""
        fields = {"popsize": self.popsize, "restarts": self.restarts, "measured": self._measured}
        arrays = {name: getattr(self, f"_{name}").copy() for name in _ARRAYS}
        own = super().state().extend(arrays=arrays, fields=fields)
        return State.join({"own": own, "population": self._population.state()})

    def restore(self, state: State) -> None:
        """Go on where another one of the same kind stood when it gave its state."""
        own = state.part("own")
        super().restore(own)
        self.popsize, self.restarts = own.whole("popsize"), own.whole("restarts")
        self._measured, self._paid = own.truth("measured"), self.calls
        self._candidates = own.bits("candidates", self.n)
        self._rows, self._values = own.bits("rows", self.n), own.numbers("values", like="rows")
        measured = (own.numbers(name, like="candidates") for name in ("sums", "squares", "counts"))
        self._sums, self._squares, self._counts = measured
        if not 2 <= self.popsize <= 2**40 or not fits_memory(self.popsize, self.n):
            raise StateError(f"no run has a population of {self.popsize}")
        self._population = self._built()
        self._population.restore(state.part("population"))
