"""Populations of doubled size, one after the other: for those who cannot know which size is needed."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Protocol

from daedal.limits import Limits, StopReason
from daedal.optimizers.base import BaseOptimizer
from daedal.optimizers.insight import Insight
from daedal.optimizers.popsize import default_popsize, fits_memory
from daedal.optimizers.records import Info
from daedal.rng import Stream, stream
from daedal.spaces.encoding import Encoding
from daedal.types import Bits, Fitness, State

FIRST_POPSIZE = 16
POPULATION_LIMITS = Limits(max_generations=150, patience=50)
LAST_POPSIZE = 2**16
"""Where doubling ends: nobody has asked for an end by evaluations, a target or a time, and this is large enough."""

_IDLE_GENERATIONS = 3
"""Generations in a row without a row that was not known, after which a population is given up."""


class PopulationBuilder(Protocol):
    """Makes an optimizer that has a population."""

    def __call__(self, *, popsize: int, seed: int, limits: Limits, initial: Bits | None) -> BaseOptimizer:
        """Make one of a size, which ends by itself, or by its generations and its patience."""


class Restarts(BaseOptimizer):
    """Runs one population after the other, each twice as large as the one before, until a limit of the run is reached.

    A population ends when it has converged, draws nothing but known rows for some generations, or reaches
    `max_generations` or `patience`, which are limits of one population here. Nothing but the best solution is kept of
    it. Evaluations and generations of all of them count, and each record has the size as `popsize`. Where no
    `max_evaluations`, target or time ends the run, it ends after a population of `LAST_POPSIZE`, or the largest that
    fits into memory.

    Parameters
    ----------
    n
        Number of variables.
    build
        Makes the optimizer of one population.
    seed
        Same seed, same run.
    limits
        What ends the run, and a population; without a limit on its generations it is that of `EDA`.
    initial
        Rows to begin with, for the first population, which is large enough for them.
    slowness
        That of the model, see `Model.slowness`: it makes the first population smaller where evaluations are few.

    Attributes
    ----------
    popsize
        The size of the population under way.
    """

    reproducible: ClassVar[bool] = True  # the population keeps what is needed

    def __init__(
        self,
        *,
        n: int,
        build: PopulationBuilder,
        seed: int | None = None,
        limits: Limits | None = None,
        initial: Bits | None = None,
        slowness: float = 1.0,
    ) -> None:
        super().__init__(n=n, seed=seed, limits=limits, initial=initial)
        self.build = build
        self._population_limits = Limits(max_generations=self.limits.max_generations, patience=self.limits.patience)
        if self._population_limits == Limits():
            self._population_limits = POPULATION_LIMITS
        self.limits = replace(self.limits, max_generations=None, patience=None)
        self.popsize = min(FIRST_POPSIZE, default_popsize(self.n, self.limits.max_evaluations, slowness=slowness))
        self._first = self.popsize
        while self.initial is not None and self.popsize < len(self.initial):
            self.popsize *= 2
        self.restarts = 0
        self._idle = 0  # generations in a row without a new row
        self._paid = 0  # calls of all batches that were learned from
        self._population = self._built()

    def encode(self, encoding: Encoding | None) -> None:
        """Hear, before the first row, what the bits are codes of."""
        super().encode(encoding)
        self._population.encode(encoding)

    def prepare(self) -> None:
        """Compile or load what a population needs, unless the evaluations end with the first one of the first."""
        if self.generation or self.rows_left(self.popsize + 1) > self.popsize:
            self._population.prepare()

    @property
    def explanation(self) -> str:  # type: ignore[override]
        """What the population has to say of itself."""
        return self._population.explanation

    def propose(self) -> Bits:
        """Ask the population, shape (rows, n)."""
        return self._population.ask()

    def learn(self, rows: Bits, fitness: Fitness) -> Info | None:
        """Tell the population; begin the next one where it has ended."""
        self.initial = None
        cost, self._paid = self.calls - self._paid, self.calls
        self._population.settle(len(rows), calls=cost, amounts=self.amounts)
        record = self._population.tell(fitness)
        self._idle = 0 if cost else self._idle + (record is not None)
        info = None if record is None else {"popsize": self.popsize, **record.info}
        if self._population.stop is not None or self._idle >= _IDLE_GENERATIONS:
            self._restart()
        return info

    def insight(self) -> Insight | None:
        """Show what the population does."""
        return self._population.insight()

    def contenders(self) -> Bits:
        """Give those of the population, shape (any, n)."""
        return self._population.contenders()

    def _restart(self) -> None:
        if 2 * self.popsize > LAST_POPSIZE or not fits_memory(2 * self.popsize, self.n):
            self.stop = StopReason.CONVERGED
            return
        self.popsize *= 2
        self.restarts += 1
        self._idle = 0
        self._population = self._built()

    def _built(self) -> BaseOptimizer:
        """Make a population, whose random numbers depend on the seed and on how many were before it."""
        seed = self.seed
        if self.restarts:
            seed = int(stream(self.seed, Stream.RESTART, self.restarts).integers(2**63))
        made = self.build(popsize=self.popsize, seed=seed, limits=self._population_limits, initial=self.initial)
        made.metered = True  # this one cuts batches, and says what they cost
        made.encode(self.encoding)
        return made

    def state(self) -> State:
        """Give what is needed to go on from here: where the doubling stands, and the population."""
        fields = {"popsize": self.popsize, "restarts": self.restarts, "idle": self._idle}
        own = super().state().extend(arrays={}, fields=fields)
        return State.join({"own": own, "population": self._population.state()})

    def restore(self, state: State) -> None:
        """Go on where another one of the same kind stood when it gave its state."""
        own = state.part("own")
        super().restore(own)
        restarts, popsize = own.whole("restarts"), own.whole("popsize")
        least = self._first << min(restarts, 64)  # more where it began with rows that were given
        if not least <= popsize <= max(LAST_POPSIZE, least) or popsize % least:
            raise ValueError(f"no run has a population of {popsize} after {restarts} restarts")
        self.popsize, self.restarts = popsize, restarts
        self._idle, self._paid = own.whole("idle"), self.calls
        self._population = self._built()
        self._population.restore(state.part("population"))
