"""The search for values that scatter: populations of independent bits, which average over it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np

from daedal.limits import Limits, StopReason
from daedal.models.univariate import UMDA
from daedal.optimizers.base import BaseOptimizer
from daedal.optimizers.contenders import distinct
from daedal.optimizers.eda import EDA
from daedal.optimizers.insight import Insight
from daedal.optimizers.popsize import fits_memory
from daedal.optimizers.records import Info
from daedal.rng import Stream, stream
from daedal.spaces.encoding import Encoding
from daedal.types import Bits, Fitness, State, StateError

POPULATIONS = 4
"""How many populations follow each other, each twice as large, where there is no limit on the calls."""

_FIRST_POPSIZE = 100  # where there is no limit on the calls
_LEAST_POPSIZE = 10


def noisy_popsize(calls: int | None) -> int:
    """Give a population size for so many calls: large enough that chance does not decide, small enough to converge.

    Examples
    --------
    >>> noisy_popsize(300), noisy_popsize(3000)
    (38, 215)
    """
    if calls is None:
        return _FIRST_POPSIZE
    most = min(calls, 10**9)
    return max(_LEAST_POPSIZE, min(most // 3, round(0.53 * math.pow(most, 0.75))))


class Noisy(BaseOptimizer):
    """Populations of independent bits (UMDA), one after the other, each twice as large as the one before.

    A population averages over what scatters, where a climber follows chance: what most members of it agree on is better
    than the row that happened to get the best value. Which row is the answer is left to a `Contest`.

    Parameters
    ----------
    n, seed, limits, initial
        As for `EDA`.
    """

    reproducible: ClassVar[bool] = True  # the population keeps what is needed
    fresh = True
    explanation = "umda, because values scatter."

    def __init__(
        self, *, n: int, seed: int | None = None, limits: Limits | None = None, initial: Bits | None = None
    ) -> None:
        super().__init__(n=n, seed=seed, limits=limits, initial=initial)
        self.limits = replace(self.limits, patience=None)  # single values are no progress, and no lack of it
        self.popsize = noisy_popsize(self.limits.max_evaluations)
        self.restarts = 0
        self._paid = 0  # calls of all batches that were learned from
        self._answers = np.empty((0, self.n), np.uint8)  # of the populations before
        self._population = self._built()

    def encode(self, encoding: Encoding | None) -> None:
        """Hear, before the first row, what the bits are codes of."""
        super().encode(encoding)
        self._population.encode(encoding)

    def prepare(self) -> None:
        """Compile or load what the population needs."""
        self._population.prepare()

    def propose(self) -> Bits:
        """Ask the population, shape (rows, n)."""
        return self._population.ask()

    def learn(self, rows: Bits, fitness: Fitness) -> Info | None:
        """Tell the population; begin the next one where it has ended."""
        cost, self._paid = self.calls - self._paid, self.calls
        self._population.settle(len(rows), calls=cost, amounts=self.amounts)
        record = self._population.tell(fitness)
        info = None if record is None else {"popsize": self.popsize, **record.info}
        if self._population.stop is not None:
            self._restart()
        return info

    def insight(self) -> Insight | None:
        """Show what the population does."""
        return self._population.insight()

    def contenders(self) -> Bits:
        """Give what most of a population agree on, shape (any, n), the last one first."""
        return distinct(np.concatenate([self._population.contenders(), self._answers[::-1]]))

    def _restart(self) -> None:
        self._answers = np.concatenate([self._answers, self._population.contenders()])
        if self.limits.max_evaluations is None and self.restarts == POPULATIONS - 1:
            self.stop = StopReason.CONVERGED
            return
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
        fields = {"popsize": self.popsize, "restarts": self.restarts}
        own = super().state().extend(arrays={"answers": self._answers}, fields=fields)
        return State.join({"own": own, "population": self._population.state()})

    def restore(self, state: State) -> None:
        """Go on where another one of the same kind stood when it gave its state."""
        own = state.part("own")
        super().restore(own)
        self.popsize, self.restarts = own.whole("popsize"), own.whole("restarts")
        self._paid, self._answers = self.calls, own.bits("answers", self.n)
        if not 2 <= self.popsize <= 2**40 or not fits_memory(self.popsize, self.n):
            raise StateError(f"no run has a population of {self.popsize}")
        self._population = self._built()
        self._population.restore(state.part("population"))
