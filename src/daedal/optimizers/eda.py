"""The estimation of distribution algorithm: the paper's Algorithm 1 as ask and tell."""

from __future__ import annotations

from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.limits import Limits, StopReason
from daedal.models.base import Fitted, Info, Model
from daedal.optimizers.base import Best, Generation
from daedal.optimizers.replacement import REPLACEMENTS, Scored
from daedal.optimizers.selection import SELECTIONS
from daedal.rng import Stream, check_seed, stream
from daedal.settings.checks import check_fits, check_one_of
from daedal.types import Bits, Fitness, Json, State, as_numbers, check_bits

_BYTES_AN_ENTRY = 12
"""Memory for each bit of a population: candidates, parents, the model's copies and its noise."""


def default_popsize(n: int) -> int:
    """Give a population size that solves deceptive problems of n variables as a rule (docs/models.md has the runs).

    Examples
    --------
    >>> default_popsize(50)
    2500
    """
    return min(500 + 40 * n, 16_000)


class EDA:
    """Estimation of distribution algorithm.

    The first batch is popsize uniform rows. Then, generation by generation, half of the population is selected, the
    model is fitted to these parents, popsize / 2 candidates are sampled from it, and parents and candidates are the
    next population. A random mask, drawn once, is XORed onto every row on its way between the model and the caller, so
    that no model profits from a bias towards 0 or 1.

    Parameters
    ----------
    n
        Number of variables.
    model
        What is fitted to the parents.
    popsize
        Parents and candidates together; None: `default_popsize(n)`.
    seed
        Same seed, same run; None: a fresh one, to be read from `seed`.
    limits
        What ends the run.
    selection
        "tournament" (of size two, without replacement) or "truncation".
    replacement
        "parents" (parents and candidates are the next population) or "rtr" (restricted tournament replacement).
    initial
        Rows to begin with, shape (rows, n), at most popsize; random ones fill up the first population.

    Examples
    --------
    >>> import daedal
    >>> optimizer = daedal.EDA(n=20, model=daedal.models.UMDA(), popsize=100, seed=1)
    >>> while optimizer.stop is None:
    ...     optimizer.tell(optimizer.ask().sum(axis=1))
    >>> optimizer.best.fitness
    20.0
    """

    def __init__(
        self,
        *,
        n: int,
        model: Model,
        popsize: int | None = None,
        seed: int | None = None,
        limits: Limits | None = None,
        selection: str = "tournament",
        replacement: str = "parents",
        initial: Bits | None = None,
    ) -> None:
        self.n = check_count("n", n, 1, "give the number of variables")
        if not isinstance(model, Model):
            raise TypeError(f"expected a model, such as daedal.models.DAE(), got model={model!r}")
        self.model = model
        self.popsize = choose_popsize(popsize, self.n)
        self.seed = check_seed(seed)
        self.limits = Limits(max_generations=150, patience=50) if limits is None else limits
        check_one_of("selection", selection, tuple(SELECTIONS))
        check_one_of("replacement", replacement, tuple(REPLACEMENTS))
        self.selection = selection
        self.replacement = replacement
        self.initial = None if initial is None else self._check_initial(initial)
        self.stop: StopReason | None = None
        self.best: Best | None = None
        self.last: Generation | None = None
        self._generation = 0  # of the batch to be asked for next
        self._evaluations = 0
        self._asked: Bits | None = None  # in the model's coding, as all rows inside
        nothing = (np.empty((0, self.n), dtype=np.uint8), np.empty(0))
        self._population: Scored = nothing
        self._parents: Scored = nothing
        self._fitted: Fitted | None = None
        self._fitted_before: Fitted | None = None  # of the generation told last, while the next is asked for

    def ask(self) -> Bits:
        """Give the next rows to evaluate, shape (rows, n); asked again before `tell`, the same ones."""
        if self.stop is not None:
            raise ValueError(f"expected a run that goes on, got one that has ended ({self.stop}): make a new EDA")
        if self._asked is None:
            self._asked = self._candidates() if self._generation else self._first_population()
        return self._asked ^ self._mask

    def tell(self, fitness: Fitness) -> None:
        """Take the fitness, shape (rows,), of the rows that `ask` gave, in their order."""
        if self._asked is None:
            raise ValueError("expected ask() before tell(): there are no rows whose fitness is awaited")
        values = as_numbers(fitness)
        if values.shape != (len(self._asked),):
            raise ValueError(f"expected a fitness of shape ({len(self._asked)},), got shape={values.shape}")
        if np.isnan(values).any() or (values == np.inf).any():
            bad = "nan" if np.isnan(values).any() else "inf"
            raise ValueError(f"expected numbers as fitness, got {bad}; use -inf for what is infeasible")
        rows, self._asked = self._asked, None
        self._fitted_before = self._fitted
        self._evaluations += len(rows)
        improved = self._update_best(rows, values)
        self._merge((rows, values))
        same = self._select()
        self.last = self._record(values)
        assert self.best is not None
        self.stop = self.limits.reached(
            generation=self._generation,
            since_best=self._generation - self.best.generation,
            evaluations=self._evaluations,
            best=self.best.fitness,
        )
        if self.stop is None and same and not improved:
            self.stop = StopReason.CONVERGED
        self._generation += 1

    def state(self) -> State:
        """Give what the run needs to go on from the generation told last, also while rows are asked for."""
        arrays: dict[str, NDArray[Any]] = {
            "population": self._population[0],
            "population_fitness": self._population[1],
            "parents": self._parents[0],
            "parents_fitness": self._parents[1],
            **{f"model/{name}": array for name, array in self.model.memory(self._fitted_before).items()},
        }
        fields: dict[str, Json] = {
            "generation": self._generation,
            "evaluations": self._evaluations,
            "stop": None if self.stop is None else self.stop.value,
            "best": None,
        }
        if self._generation == 0 and self.initial is not None:
            arrays["initial"] = self.initial
        if self.best is not None:
            arrays["best"] = self.best.x
            best = {"fitness": self.best.fitness, "generation": self.best.generation}
            fields["best"] = {**best, "evaluations": self.best.evaluations}
        return State(arrays=arrays, fields=fields)

    def restore(self, state: State) -> None:
        """Go on where another optimizer of the same kind stood when it gave its state.

        Examples
        --------
        >>> import daedal
        >>> first, second = (daedal.EDA(n=8, model=daedal.models.UMDA(), popsize=20, seed=1) for _ in range(2))
        >>> first.tell(first.ask().sum(axis=1))
        >>> second.restore(first.state())
        >>> bool((first.ask() == second.ask()).all())
        True
        """
        arrays = state.arrays
        self._generation = state.whole("generation")
        self._evaluations = state.whole("evaluations")
        self.stop = StopReason(state.text("stop")) if state.given("stop") else None
        self.initial = self._check_initial(state.bits("initial", self.n)) if "initial" in arrays else None
        self._population = state.bits("population", self.n), state.numbers("population_fitness", like="population")
        self._parents = state.bits("parents", self.n), state.numbers("parents_fitness", like="parents")
        kept = {name.removeprefix("model/"): array for name, array in arrays.items() if name.startswith("model/")}
        self._fitted = self._fitted_before = self.model.remembered(kept, self.n)
        self._asked = None
        self.best = None
        if state.given("best"):
            best = state.inner("best")
            self.best = Best(
                x=state.row("best", self.n),
                fitness=best.number("fitness"),
                generation=best.whole("generation"),
                evaluations=best.whole("evaluations"),
            )
            self.best.x.flags.writeable = False
        self._check_restored()

    def _check_restored(self) -> None:
        """Refuse a state that no run has; kernels trust what they are given."""
        rows, parents, best = len(self._population[0]), len(self._parents[0]), self.best
        if self._generation == 0:
            fits = best is None and self.stop is None and rows == parents == self._evaluations == 0
        else:
            fits = (
                1 <= rows <= self.popsize
                and parents == max(1, rows // 2)
                and rows <= self._evaluations
                and best is not None
                and best.generation < self._generation
                and best.evaluations <= self._evaluations
                and (self.stop is not None or self._batch_rows(1) == 1)
            )
        if not fits:
            raise ValueError(
                f"expected what a run of popsize={self.popsize} has after {self._generation} generations, got a "
                f"population of {rows}, {parents} parents, {self._evaluations} evaluations and a best solution of "
                f"generation {None if best is None else best.generation}"
            )

    @cached_property
    def _mask(self) -> Bits:
        return stream(self.seed, Stream.MASK).integers(0, 2, self.n, dtype=np.uint8)

    def _batch_rows(self, rows: int) -> int:
        """Cut a batch where the evaluations run out."""
        most = self.limits.max_evaluations
        return rows if most is None else min(rows, most - self._evaluations)

    def _first_population(self) -> Bits:
        rng = stream(self.seed, Stream.START)
        rows = rng.integers(0, 2, (self._batch_rows(self.popsize), self.n), dtype=np.uint8)
        if self.initial is not None:
            given = self.initial[: len(rows)]
            rows[: len(given)] = given ^ self._mask
        return rows

    def _check_initial(self, initial: Bits) -> Bits:
        check_bits(initial, self.n)
        if len(initial) > self.popsize:
            raise ValueError(
                f"expected at most popsize={self.popsize} initial rows, got {len(initial)}; give fewer, or a larger "
                "popsize"
            )
        return initial

    def _candidates(self) -> Bits:
        """Build the model and sample it (Algorithm 1, lines 4 and 5)."""
        fit_rng = stream(self.seed, Stream.FIT, self._generation)
        self._fitted = self.model.fit(self._parents[0], rng=fit_rng, previous=self._fitted)
        rows = self._batch_rows(self.popsize - self.popsize // 2)
        return self._fitted.sample(rows, rng=stream(self.seed, Stream.SAMPLE, self._generation))

    def _update_best(self, rows: Bits, fitness: Fitness) -> bool:
        """Whether a row is strictly better than all before it."""
        i = int(np.argmax(fitness))
        if self.best is not None and fitness[i] <= self.best.fitness:
            return False
        x = rows[i] ^ self._mask
        x.flags.writeable = False
        self.best = Best(
            x=x,
            fitness=float(fitness[i]),
            generation=self._generation,
            evaluations=self._evaluations,
        )
        return True

    def _merge(self, told: Scored) -> None:
        """Make the next population (Algorithm 1, line 6)."""
        if self._generation == 0:
            self._population = told
            return
        rng = stream(self.seed, Stream.REPLACE, self._generation)
        self._population = REPLACEMENTS[self.replacement](self._population, self._parents, told, rng)

    def _select(self) -> bool:
        """Choose the parents (Algorithm 1, line 3), best first; whether they are all the same solution."""
        population, fitness = self._population
        chosen = SELECTIONS[self.selection](fitness, stream(self.seed, Stream.SELECT, self._generation))
        if len(chosen) == 0:  # a population of one, where the evaluations ran out
            chosen = np.array([0])
        chosen = chosen[np.argsort(-fitness[chosen], kind="stable")]
        self._parents = population[chosen], fitness[chosen]
        return bool((self._parents[0] == self._parents[0][0]).all())

    def _record(self, fitness: Fitness) -> Generation:
        finite = fitness[np.isfinite(fitness)]
        info: Info = {} if self._fitted is None else self._fitted.info
        assert self.best is not None
        return Generation(
            generation=self._generation,
            evaluations=self._evaluations,
            best=self.best.fitness,
            mean=_mean(finite),
            info=info,
        )


def _mean(values: Fitness) -> float:
    """Give the mean; that of none is -inf, and that of numbers whose sum is too large for a float is inf."""
    with np.errstate(over="ignore"):
        return float(values.mean()) if len(values) else float("-inf")


def check_count(name: str, value: object, least: int, hint: str) -> int:
    """Give a whole number; refuse anything else, or less, with a hint at what to do.

    Examples
    --------
    >>> check_count("runs", 20, 1, "20 is the paper's number")
    20
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"expected {name} to be a whole number of at least {least}, got {name}={value!r}; {hint}")
    return int(value)


def choose_popsize(popsize: int | None, n: int) -> int:
    """Give popsize, or the default for n where it is None; refuse what does not fit into memory."""
    default = default_popsize(n)
    popsize = default if popsize is None else check_count("popsize", popsize, 2, f"the default for n={n} is {default}")
    check_fits(popsize * n * _BYTES_AN_ENTRY, f"a population of popsize={popsize} with n={n}")
    return popsize
