"""`mix`: a population that climbs and mixes, and a sparse model of the function, learned on the way."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from daedal.limits import Limits, StopReason
from daedal.models.walsh import Walsh
from daedal.optimizers.base import BaseOptimizer
from daedal.optimizers.configuration import NARROW, BatchedConfiguration
from daedal.optimizers.constraint_surrogate import ConstraintSurrogate
from daedal.optimizers.insight import Insight
from daedal.optimizers.popsize import check_population
from daedal.optimizers.population import Population
from daedal.optimizers.records import Info
from daedal.optimizers.surrogate import FIRST, Surrogate
from daedal.rng import Stream, stream
from daedal.settings.checks import check_whole
from daedal.spaces.encoding import Encoding
from daedal.types import Bits, Fitness, State

MEMBERS = 14
"""Members of the first population: fewer, and too often a building block is in none of them."""

TRUSTED = 0.9
"""r2 of a model, from which on climbs of the next population begin at its maxima."""

_SLOTS, _WIDTH = 16, 2
_WIDE = 8  # rows of a wide batch for each member; a mixing tries twice as many groups, for not all can be tried
_MAXIMA = 8  # of a model
_TINY, _SMALL = 50, 60  # variables


class Mix(BaseOptimizer):
    """Climb, mix, and learn a model of the function.

    A row climbs by trying all flips at once and merging those that gain. The climbed rows are a population, whose
    linkage tree (average linkage on mutual information) says which variables hang together; such groups are copied
    from member to member where that makes them no worse. A population that no longer gets better begins again, with
    more members. Meanwhile a sparse Walsh model is fitted to differences between rows that were evaluated anyway; its
    maxima are evaluated too. There is nothing to tune. A generation, in records and limits, is n calls.

    Parameters
    ----------
    n
        Number of variables.
    seed
        Same seed, same run; None: a fresh one, to be read from `seed`.
    limits
        What ends the run.
    initial
        Rows to begin with, shape (rows, n): the first climbs begin there.
    members
        Members of the first population.
    model
        Whether the Walsh model is used.
    min_batch
        Rows that a batch should have, about; up to 16 it changes nothing. Wide batches take more evaluations:
        docs/benchmarks.md has how many.

    Examples
    --------
    >>> import daedal
    >>> daedal.maximize("trap:k=5,n=50", algorithm="mix", seed=1).success
    True
    """

    reproducible: ClassVar[bool] = True  # what is asked for is in the memory

    def __init__(
        self,
        *,
        n: int,
        seed: int | None = None,
        limits: Limits | None = None,
        initial: Bits | None = None,
        members: int = MEMBERS,
        model: bool = True,
        min_batch: int = 1,
    ) -> None:
        super().__init__(n=n, seed=seed, limits=limits, initial=initial)
        wide = check_whole("min_batch", min_batch, least=1) > NARROW
        check_population(check_whole("members", members, least=2), self.n, name="members")
        slots = max(_SLOTS, -(-min_batch // _WIDE)) if wide else _SLOTS
        self.min_batch = min_batch
        self.population = self._new_population(
            n=self.n,
            members=max(members, -(-min_batch // _WIDE)) if wide else members,
            slots=slots,
            width=2 * _WIDE if wide else _WIDTH,
            eager=wide,
            word=int(stream(self.seed, Stream.START).bit_generator.random_raw()),
        )
        self.surrogate = Surrogate(self.n, _model_for(self.n)) if model else None
        self.constraints: ConstraintSurrogate | None = None  # from the first row with amounts on
        self._model = model
        self._since = 0  # rows of this generation
        self._top = -np.inf  # the best value so far

    def _new_population(self, **how: Any) -> Population:
        return Population(**how)

    def encode(self, encoding: Encoding | None) -> None:
        """Hear, before the first row, what the bits are codes of."""
        super().encode(encoding)
        self.population.encode(encoding)

    def propose(self) -> Bits:
        """Give the rows that climbs, mixings and the model wait for, shape (rows, n)."""
        if self.population.memory.count == 0:
            self.population.begin(self.initial)
        return self.population.memory.waiting_rows()

    def learn(self, rows: Bits, fitness: Fitness) -> Info | None:
        """Let climbs and mixings go on, and fit the model where it is time."""
        memory, top = self.population.memory, self._top
        if self.amounts is not None or self.constraints is not None:
            self._hear(memory.known, len(fitness))
        memory.answer(fitness)
        self._top = max(top, float(fitness.max()))
        if memory.waiting:  # some rows were cut off, because the evaluations are used up
            return self._info()
        self.population.go_on()
        assert self.best is not None
        if self.constraints is not None:
            if self._model and self.constraints.is_due:
                self._ask_constrained(self.constraints)
        elif self.surrogate is not None and self.surrogate.look(memory, top):
            rng = stream(self.seed, Stream.FIT, self.surrogate.fits)
            self.surrogate.fit(memory, rng)
            maxima = self.surrogate.ask(memory, max(_MAXIMA, self.min_batch // 4), self.best.x, rng)
            if self.surrogate.r2 >= TRUSTED:
                self.population.offer(maxima)
        if not memory.waiting:
            self.stop = StopReason.EXHAUSTED
        self._since += len(rows)
        if self._since < self.n and self.stop is None:
            return None
        self._since = 0
        return self._info()

    def _hear(self, known: int, rows: int) -> None:
        """Take the amounts of so many rows whose values are told next: from now on there are constraints."""
        amounts = self.amounts
        if self.constraints is None:
            assert amounts is not None
            self.constraints = ConstraintSurrogate(self.n, _model_for(self.n), amounts.shape[1])
            self.constraints.hear(0, np.full((known, amounts.shape[1]), np.nan))
        if amounts is None:  # all of them were told before, to who searched then
            amounts = np.full((rows, self.constraints.columns), np.nan)
        self.constraints.hear(known, amounts)

    def _ask_constrained(self, constraints: ConstraintSurrogate) -> None:
        """Ask for the maxima of a model of the problem and its constraints; climbs may begin there, too."""
        assert self.best is not None
        rng = stream(self.seed, Stream.FIT, constraints.rounds)
        maxima = constraints.ask(self.population.memory, max(_MAXIMA, self.min_batch // 4), self.best.x, rng)
        if constraints.r2 >= TRUSTED:
            self.population.offer(maxima)

    def description(self, *, constrained: bool) -> str:
        """Say what it does, and how large its population is by now."""
        wide = f" of {self.min_batch} rows at once" if self.min_batch > NARROW else ""
        model = "a fitted model, also of the constraints" if constrained else "a fitted model"
        how = f"hill climbing, recombination{wide}, {model}"
        return f"mix ({how}), with a population of {self.population.members:,} at the end"

    def insight(self) -> Insight | None:
        """Show the members, and the dependence that the linkage tree is built on."""
        return self.population.insight()

    def _info(self) -> Info:
        info: dict[str, float] = {"members": self.population.members}
        if self.constraints is not None:
            return info | {"r2": self.constraints.r2}
        if self.surrogate is not None and self.surrogate.function is not None:
            info |= {"r2": self.surrogate.r2, "terms": len(self.surrogate.function.terms)}
        return info

    def prepare(self) -> None:
        """Compile or load the kernels: the model's only where the calls suffice for a fit."""
        most = self.limits.max_evaluations
        if self.surrogate is not None and (most is None or most > FIRST * self.n):
            self.surrogate.model.prepare()
        _load_kernels()

    def state(self) -> State:
        """Give what is needed to go on from here."""
        parts = {"own": super().state().extend(arrays={}, fields={"since": self._since})}
        parts["population"] = self.population.state()
        if self.surrogate is not None:
            parts["surrogate"] = self.surrogate.state()
        if self.constraints is not None:
            parts["constraints"] = self.constraints.state()
        return State.join(parts)

    def restore(self, state: State) -> None:
        """Go on where another one, built alike, stood."""
        own = state.part("own")
        super().restore(own)
        self._since = own.whole("since")
        self.population.restore(state.part("population"))
        check_population(self.population.members, self.n, name="members")
        memory = self.population.memory
        self._top = float(memory.table.values[: memory.known].max(initial=-np.inf))
        if self.surrogate is not None:
            self.surrogate.restore(state.part("surrogate"))
        self.constraints = None
        if state.given("constraints"):
            amounts = state.part("constraints").array("amounts")
            self.constraints = ConstraintSurrogate(self.n, _model_for(self.n), amounts.shape[-1])
            self.constraints.restore(state.part("constraints"), memory.known)


@cache
def _load_kernels() -> None:
    """Use all kernels of the search in a small run, once."""
    small = Mix(n=4, seed=0, limits=Limits(), model=False)
    while small.stop is None:
        small.tell(small.ask().sum(axis=1) % 3)
        small.insight()
    small.population.memory.add_rows(np.zeros((1, 4), np.uint8))  # as the model does
    small.population.memory.grow()  # as where it is full


def _model_for(n: int) -> Walsh:
    """Give how the model is fitted: from as much as the time that an evaluation may take allows."""
    if n <= _SMALL:
        return Walsh(max_rows=3000, candidates=1000, screened=400 * n if n <= _TINY else 5000)
    return Walsh(max_rows=8000, screened=100_000)


@dataclass(frozen=True, kw_only=True)
class MixConfiguration(BatchedConfiguration):
    """What `mix` is built from; see `Mix`.

    Parameters
    ----------
    members
        Members of the first population.
    model
        Whether the Walsh model is used.
    min_batch
        Rows that a batch should have, about; None: the number of workers, from 17 on.
    """

    optimizer: ClassVar[type[Mix]] = Mix

    members: int = MEMBERS
    model: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("members", self.members, least=2)

    def build(
        self, *, n: int, seed: int | None = None, limits: Limits | None = None, initial: Bits | None = None
    ) -> Mix:
        """Make the optimizer."""
        return self.optimizer(
            n=n,
            seed=seed,
            limits=limits,
            initial=initial,
            members=self.members,
            model=self.model,
            min_batch=self.min_batch or 1,
            **self._own(),
        )

    def _own(self) -> dict[str, Any]:
        """Give what else the optimizer takes."""
        return {}
