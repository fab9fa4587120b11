"""What an optimizer is: ask for rows, tell their fitness, until it says stop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from daedal.limits import Limits, StopReason
from daedal.optimizers.insight import Insight
from daedal.optimizers.records import Best, Generation, Info
from daedal.optimizers.told import checked_fitness, mean_and_sd
from daedal.rng import Stream, check_seed, restore_rng, rng_state, stream
from daedal.settings.checks import check_whole
from daedal.spaces.encoding import Encoding
from daedal.types import Amounts, Bits, Fitness, Json, State, check_bits, is_feasible


class Optimizer(Protocol):
    """Anything that can be asked for rows and told their fitness; it maximises.

    This is the whole contract: runs, checkpoints, workers, comparisons and studies know nothing else of an optimizer.
    `BaseOptimizer` keeps most of it, and is told by runs what was free (`settle`). The last batch of any other
    optimizer is not told to it where the run's evaluations do not suffice for all of its rows.
    """

    @property
    def n(self) -> int:
        """Number of variables."""

    @property
    def stop(self) -> StopReason | None:
        """Why the run has ended, or None while it goes on."""

    @property
    def best(self) -> Best | None:
        """The best solution so far, or None before the first tell."""

    @property
    def evaluations(self) -> int:
        """Rows told so far."""

    def prepare(self) -> None:
        """Compile or load what is needed, so that the clock measures the run alone."""

    def ask(self) -> Bits:
        """Give rows to evaluate, shape (rows, n), any number of them; the same ones until they are told."""

    def tell(self, fitness: Fitness) -> Generation | None:
        """Take the fitness, shape (rows,), of the rows asked for; give a record if that completes a generation."""

    def state(self) -> State:
        """Give all that is needed to go on from here, also while rows wait for their fitness."""

    def restore(self, state: State) -> None:
        """Go on where another one, built alike, gave its state; refuse any other.

        Rows that were waiting for their fitness are asked for again before they are told.
        """


class BaseOptimizer(ABC):
    """Keeps counts, the best solution, limits and the state; subclasses propose and learn.

    Parameters
    ----------
    n
        Number of variables.
    seed
        Same seed, same run; None: a fresh one, to be read from `seed`.
    limits
        What ends the run.
    initial
        Rows to begin with, shape (rows, n), for subclasses that use them.

    Attributes
    ----------
    rng
        Random numbers for the subclass; they are part of the state.
    generation
        The number of the generation under way, from 0 on.
    evaluations
        Rows told so far.
    calls
        Those of them that the objective was called for, which `max_evaluations` limits: in a run, rows that are known
        are free. An optimizer by itself has no memory, and every row counts.
    metered
        Whether somebody else, such as a run, cuts the last batch and tells what it cost: see `settle`.
    fresh
        Whether the rows asked for are to be evaluated even where their values are known: where values scatter.
    amounts
        While rows are told: what the objective and its constraints gave for each, see `settle`; None without any.
    explanation
        What it chose to do, and why, for the result; maybe nothing.
    encoding
        What the bits are codes of, or None where they are just bits: see `encode`.
    """

    metered = False
    fresh = False
    explanation = ""
    reproducible: ClassVar[bool] = False
    """Whether `propose` gives the same rows again from the state before it, so that neither they nor `rng` are kept:
    where all random numbers come from the seed and the generation, or from optimizers that this one is made of."""

    def __init__(
        self, *, n: int, seed: int | None = None, limits: Limits | None = None, initial: Bits | None = None
    ) -> None:
        self.n = check_whole("n", n, least=1, hint="give the number of variables")
        self.seed = check_seed(seed)
        self.limits = Limits() if limits is None else limits
        if initial is not None:
            check_bits(initial, self.n)
        self.initial = initial if initial is not None and len(initial) else None
        self.rng = stream(self.seed, Stream.SEARCH)
        self.encoding: Encoding | None = None
        self.stop: StopReason | None = None
        self.best: Best | None = None
        self.evaluations = 0
        self.calls = 0
        self.generation = 0
        self._asked: Bits | None = None
        self.amounts: Amounts | None = None
        self._cost: int | None = None  # calls for the rows asked for; None: one for each
        self._told: list[Fitness] = []  # fitness of feasible rows of this generation, batch by batch

    @abstractmethod
    def propose(self) -> Bits:
        """Give the next rows, shape (rows, n); the last may be cut off. Of the state, only `rng` may change."""

    @abstractmethod
    def learn(self, rows: Bits, fitness: Fitness) -> Info | None:
        """Take the fitness, shape (rows,), of the rows proposed.

        Returns
        -------
        Info or None
            What there is to report, maybe nothing, if this completes a generation; None if it does not.
        """

    def contenders(self) -> Bits:
        """Give rows, shape (any, n), that it would answer with where values scatter, the best first: maybe none.

        The row that had the best value is not one of them: it was lucky, as a rule.
        """
        return np.empty((0, self.n), np.uint8)

    def insight(self) -> Insight | None:
        """Show the population and what was learned, between a tell and the next ask; None: nothing to show."""
        return None

    def prepare(self) -> None:  # noqa: B027  most need nothing
        """Compile or load what is needed: nothing, unless a subclass says otherwise."""

    def encode(self, encoding: Encoding | None) -> None:
        """Hear, before the first row, what the bits are codes of.

        Rows that are proposed are repaired, so that all bits are codes, before they are asked for and learned from.
        """
        self.encoding = encoding

    def random_rows(self, rows: int, rng: np.random.Generator) -> Bits:
        """Give so many random rows, shape (rows, n): uniform bits, or uniform values of all variables."""
        if self.encoding is not None:
            return self.encoding.sample(rows, rng=rng)
        return rng.integers(0, 2, (rows, self.n), dtype=np.uint8)

    def rows_left(self, rows: int) -> int:
        """Limit a number of rows to the calls of the objective that are left."""
        most = self.limits.max_evaluations
        return rows if most is None else min(rows, most - self.calls)

    def ask(self) -> Bits:
        """Give the next rows to evaluate, shape (rows, n); the same ones until they are told."""
        if self.stop is not None:
            raise ValueError(f"the run has ended ({self.stop}); make a new optimizer")
        if self._asked is None:
            before = self.rng.bit_generator.state
            try:
                rows = self.propose()
                rows = rows if self.encoding is None else self.encoding.repair(rows)
                self._asked = rows if self.metered else rows[: self.rows_left(len(rows))]
            finally:
                if self._asked is None:  # Ctrl-C, say: the checkpoint that is written then has to give the same rows
                    self.rng.bit_generator.state = before
        return self._asked.copy()

    def settle(self, rows: int, *, calls: int, amounts: Amounts | None = None) -> None:
        """Hear, before `tell`, how many of the rows asked for will be told, the first ones, and what they cost.

        Fewer than all are the last that the evaluations suffice for. Rows whose values were known cost nothing. With
        constraints there are amounts, shape (rows, 1 + constraints): the value of the objective and the signed amount
        of each constraint; nan for rows that were told before.
        """
        if self._asked is None or not 1 <= rows <= len(self._asked) or not 0 <= calls <= rows:
            raise ValueError(f"expected some of the rows asked for, and at most a call for each, got {rows=}, {calls=}")
        self._asked, self._cost, self.amounts = self._asked[:rows], calls, amounts

    def tell(self, fitness: Fitness) -> Generation | None:
        """Take the fitness, shape (rows,), of the rows that `ask` gave, in their order."""
        if self._asked is None:
            raise ValueError("tell() comes after ask(): no rows are waiting for their fitness")
        values = checked_fitness(fitness, len(self._asked))
        rows, self._asked = self._asked, None
        self.evaluations += len(rows)
        self.calls += len(rows) if self._cost is None else self._cost
        self._cost = None
        self._update_best(rows, values)
        self._told.append(values[is_feasible(values)])
        info = self.learn(rows, values)
        self.amounts = None
        assert self.best is not None
        limit = self.limits.reached(
            evaluations=self.calls,
            best=self.best.fitness,
            generation=None if info is None else self.generation,
            since_best=self.generation - self.best.generation,
        )
        self.stop = limit or self.stop
        if info is None and self.stop is None:
            return None
        mean, sd = mean_and_sd(self._told)
        record = Generation(
            generation=self.generation,
            evaluations=self.evaluations,
            best=self.best.fitness,
            mean=mean,
            sd=sd,
            info=info or {},
        )
        self.generation += 1
        self._told = []
        return record

    def state(self) -> State:
        """Give what is needed to go on from here; subclasses extend it."""
        arrays: dict[str, NDArray[Any]] = {"told": np.concatenate([np.empty(0), *self._told])}
        fields: dict[str, Json] = {
            "generation": self.generation,
            "evaluations": self.evaluations,
            "calls": self.calls,
            "stop": None if self.stop is None else self.stop.value,
            "best": None,
        }
        if self.initial is not None:
            arrays["initial"] = self.initial
        if not self.reproducible:
            fields["rng"] = rng_state(self.rng)
            if self._asked is not None:
                arrays["asked"] = self._asked
        if self.best is not None:
            arrays["best"] = self.best.x
            fields["best"] = self.best.to_json()
        return State(arrays=arrays, fields=fields)

    def restore(self, state: State) -> None:
        """Go on where another optimizer, built alike, stood when it gave its state; subclasses extend it."""
        self.generation, self.evaluations = state.whole("generation"), state.whole("evaluations")
        self.calls, self._cost = state.whole("calls"), None
        self.stop = StopReason(state.text("stop")) if state.given("stop") else None
        self.initial = state.bits("initial", self.n) if "initial" in state.arrays else None
        self._told = [state.floats("told")]
        self._asked = None
        if not self.reproducible:
            restore_rng(self.rng, state.listed("rng"))
            self._asked = state.bits("asked", self.n) if "asked" in state.arrays else None
        self.best = None
        if state.given("best"):
            self.best = Best.from_json(state.row("best", self.n), state.inner("best"))
        if not self._is_possible():
            found = None if self.best is None else self.best.generation
            raise ValueError(
                f"no run has {self.evaluations} evaluations and {self.calls} calls in generation {self.generation} "
                f"with a best solution of generation {found}"
            )

    def _is_possible(self) -> bool:
        rows = 1 if self._asked is None or (self.metered and len(self._asked)) else len(self._asked)
        goes_on = 1 <= rows == self.rows_left(rows) if self.stop is None else self._asked is None
        goes_on = goes_on and 0 <= self.calls <= self.evaluations
        if self.best is None:
            return goes_on and self.evaluations == self.generation == 0 and self.stop is None
        return goes_on and self.best.generation <= self.generation and 0 < self.best.evaluations <= self.evaluations

    def _update_best(self, rows: Bits, fitness: Fitness) -> None:
        i = int(np.argmax(fitness))
        if self.best is not None and fitness[i] <= self.best.fitness:
            return
        x = rows[i].copy()
        x.flags.writeable = False
        self.best = Best(x=x, fitness=float(fitness[i]), generation=self.generation, evaluations=self.evaluations)


def is_fresh(optimizer: Optimizer) -> bool:
    """Whether an optimizer, whoever wrote it, wants every row evaluated: a single value then proves nothing."""
    return isinstance(optimizer, BaseOptimizer) and optimizer.fresh
