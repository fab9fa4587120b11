"""The estimation of distribution algorithm: the paper's Algorithm 1 as ask and tell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from daedal.limits import Limits, StopReason
from daedal.models.base import Fitted, Model
from daedal.optimizers.base import BaseOptimizer
from daedal.optimizers.configuration import Configuration
from daedal.optimizers.insight import Insight
from daedal.optimizers.popsize import LEAST_POPSIZE, check_population, choose_popsize, three_generations
from daedal.optimizers.records import Info
from daedal.optimizers.replacement import REPLACEMENTS, Scored, load_kernels
from daedal.optimizers.restarts import POPULATION_LIMITS, Restarts
from daedal.optimizers.selection import SELECTIONS
from daedal.rng import Stream, stream
from daedal.settings.checks import check_one_of
from daedal.settings.parameters import check_types
from daedal.types import Bits, Fitness, State


class EDA(BaseOptimizer):
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
        Parents and candidates together; None: 500 + 40 n, at most 16,000, or less where `max_evaluations` says so.
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
    ...     record = optimizer.tell(optimizer.ask().sum(axis=1))
    >>> optimizer.best.fitness, record.generation
    (20.0, 12)
    """

    reproducible: ClassVar[bool] = True  # a generation's streams depend on the seed and its number alone

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
        super().__init__(n=n, seed=seed, limits=POPULATION_LIMITS if limits is None else limits, initial=initial)
        if not isinstance(model, Model):
            raise TypeError(f"expected a model, such as daedal.models.DAE(), got model={model!r}")
        self.model = model
        self.popsize = choose_popsize(popsize, self.n, self.limits.max_evaluations, model=model)
        check_one_of("selection", selection, tuple(SELECTIONS))
        check_one_of("replacement", replacement, tuple(REPLACEMENTS))
        self.selection, self.replacement = selection, replacement
        self._check_initial()
        # Rows below are in the model's coding: XORed with the mask.
        nothing = (np.empty((0, self.n), dtype=np.uint8), np.empty(0))
        self._population: Scored = nothing
        self._parents: Scored = nothing
        self._fitted: Fitted | None = None
        self._fitted_before: Fitted | None = None  # of the generation told last, while the next is asked for

    def prepare(self) -> None:
        """Compile or load what model and replacement need, unless the run ends with the first population."""
        if self.limits.max_generations != 0 and (self.generation or self.rows_left(self.popsize + 1) > self.popsize):
            half = self.popsize // 2
            self.model.prepare_for(parents=max(1, half), candidates=self.popsize - half, n=self.n)
            load_kernels(self.replacement)

    @property
    def explanation(self) -> str:  # type: ignore[override]
        """What the model has to say of itself."""
        return self.model.explanation

    def propose(self) -> Bits:
        """Give the first population, or candidates, shape (rows, n)."""
        return (self._candidates() if self.generation else self._first_population()) ^ self._mask

    def learn(self, rows: Bits, fitness: Fitness) -> Info:
        """Merge rows into the population and choose the parents; every batch is a generation."""
        self._fitted_before = self._fitted
        self._merge((rows ^ self._mask, fitness))
        self.initial = None  # they are in the population now
        improved = self.best is not None and self.best.evaluations == self.evaluations
        if self._select() and not improved:
            self.stop = StopReason.CONVERGED
        return {} if self._fitted is None else self._fitted.info

    @property
    def population(self) -> Scored:
        """The population, shape (rows, n), and its fitness, shape (rows,)."""
        rows, fitness = self._population
        return rows ^ self._mask, fitness

    def majority(self) -> Bits:
        """Give the row, shape (n,), on each bit of which most of the population agree."""
        ones = self._population[0].sum(axis=0, dtype=np.int64)
        agreed: Bits = (2 * ones > len(self._population[0])).astype(np.uint8) ^ self._mask
        return agreed

    def insight(self) -> Insight:
        """Show the population, and what the model says of pairs."""
        return Insight.of_model(*self.population, self._fitted)

    def contenders(self) -> Bits:
        """Give what most of the population agree on, shape (1, n): it averages over what scatters."""
        return self.majority()[None] if self.generation else super().contenders()

    def state(self) -> State:
        """Give what is needed to go on from the generation told last."""
        arrays: dict[str, NDArray[Any]] = {
            "population": self._population[0],
            "population_fitness": self._population[1],
            "parents": self._parents[0],
            "parents_fitness": self._parents[1],
            **{f"model/{name}": array for name, array in self.model.memory(self._fitted_before).items()},
        }
        return super().state().extend(arrays=arrays, fields={})

    def restore(self, state: State) -> None:
        """Go on where another optimizer of the same kind stood when it gave its state.

        Examples
        --------
        >>> import daedal
        >>> first, second = (daedal.EDA(n=8, model=daedal.models.UMDA(), popsize=20, seed=1) for _ in range(2))
        >>> _ = first.tell(first.ask().sum(axis=1))
        >>> second.restore(first.state())
        >>> bool((first.ask() == second.ask()).all())
        True
        """
        super().restore(state)
        self._check_initial()
        self._population = state.bits("population", self.n), state.numbers("population_fitness", like="population")
        self._parents = state.bits("parents", self.n), state.numbers("parents_fitness", like="parents")
        start = "model/"
        kept = {name.removeprefix(start): array for name, array in state.arrays.items() if name.startswith(start)}
        self._fitted = self._fitted_before = self.model.remembered(kept, self.n)
        rows, parents = len(self._population[0]), len(self._parents[0])
        if self.generation == 0:
            fits = rows == parents == 0
        else:
            fits = 1 <= rows <= min(self.popsize, self.evaluations) and parents == max(1, rows // 2)
        if not fits:  # kernels trust what they are given
            raise ValueError(
                f"no run of popsize={self.popsize} has a population of {rows} and {parents} parents after "
                f"{self.generation} generations"
            )

    @cached_property
    def _mask(self) -> Bits:
        return stream(self.seed, Stream.MASK).integers(0, 2, self.n, dtype=np.uint8)

    def _check_initial(self) -> None:
        if self.initial is not None and len(self.initial) > self.popsize:
            raise ValueError(
                f"expected at most popsize={self.popsize} initial rows, got {len(self.initial)}; give fewer, or a "
                "larger popsize"
            )

    def _first_population(self) -> Bits:
        rng = stream(self.seed, Stream.START)
        rows = self.random_rows(self._rows(self.popsize), rng)
        if self.encoding is not None:
            rows ^= self._mask
        if self.initial is not None:
            rows[: len(self.initial)] = self.initial[: len(rows)] ^ self._mask
        return rows

    def _candidates(self) -> Bits:
        """Build the model and sample it (Algorithm 1, lines 4 and 5)."""
        fit_rng = stream(self.seed, Stream.FIT, self.generation)
        self._fitted = self.model.fit(self._parents[0], rng=fit_rng, previous=self._fitted)
        rows = self._rows(self.popsize - self.popsize // 2)
        return self._fitted.sample(rows, rng=stream(self.seed, Stream.SAMPLE, self.generation))

    def _rows(self, wanted: int) -> int:
        """Give how many rows to draw: all that are wanted where nobody knows yet which of them will be free."""
        return wanted if self.metered else self.rows_left(wanted)

    def _merge(self, told: Scored) -> None:
        """Make the next population (Algorithm 1, line 6)."""
        if self.generation == 0:
            self._population = told
            return
        rng = stream(self.seed, Stream.REPLACE, self.generation)
        self._population = REPLACEMENTS[self.replacement](self._population, self._parents, told, rng)

    def _select(self) -> bool:
        """Choose the parents (Algorithm 1, line 3), best first; tell whether they are all the same solution."""
        population, fitness = self._population
        chosen = SELECTIONS[self.selection](fitness, stream(self.seed, Stream.SELECT, self.generation))
        if len(chosen) == 0:  # a population of one, where the evaluations ran out
            chosen = np.array([0])
        chosen = chosen[np.argsort(-fitness[chosen], kind="stable")]
        self._parents = population[chosen], fitness[chosen]
        return bool((self._parents[0] == self._parents[0][0]).all())


@dataclass(frozen=True, kw_only=True)
class EDAConfiguration(Configuration):
    """What an EDA is built from: a model, and how the population is treated.

    Parameters
    ----------
    model
        What is fitted to the parents.
    selection
        Which solutions become parents: "tournament" or "truncation".
    replacement
        How candidates enter the population: "parents" (beside the parents) or "rtr" (restricted tournament replacement,
        which keeps different solutions side by side).
    popsize
        Parents and candidates together; None: 500 + 40 n, at most 16,000, or less where `max_evaluations` says so;
        "auto": one population after the other, each twice as large as the one before, from 16 on.

    Examples
    --------
    >>> import daedal
    >>> EDAConfiguration(model=daedal.models.UMDA(), popsize=50).build(n=20, seed=1).popsize
    50
    """

    model: Model
    selection: Literal["tournament", "truncation"] = "tournament"
    replacement: Literal["parents", "rtr"] = "parents"
    popsize: int | Literal["auto"] | None = None

    def __post_init__(self) -> None:
        check_types(self)

    @property
    def kind(self) -> str:
        """The model's name; that of a model which is not daedal's own cannot be taken for one that is."""
        model = type(self.model)
        return model.__name__ if model.__module__.startswith("daedal.models.") else f"own {model.__name__}"

    def resolved(self, n: int, *, max_evaluations: int | None = None, workers: int = 1) -> EDAConfiguration:
        """Choose the population size where it is not given."""
        if self.popsize == "auto":
            check_population(LEAST_POPSIZE, n, self.model)
            return self
        return replace(self, popsize=choose_popsize(self.popsize, n, max_evaluations, model=self.model))

    def budget_warning(self, max_evaluations: int) -> str | None:
        """Warn where the first population and two more generations are too many evaluations."""
        size = LEAST_POPSIZE if self.popsize == "auto" else self.popsize
        if size is None or max_evaluations >= three_generations(size):
            return None
        return (
            f"{max_evaluations:,} evaluations do not pay for three generations with popsize={size:,}, so hardly "
            "anything can be learned; try more evaluations, or a smaller popsize (without one it is chosen to fit)"
        )

    def generation_seconds(self, n: int) -> float:
        """Give the CPU time, about, of fitting the model to half of the population, and drawing the other half."""
        size = LEAST_POPSIZE if self.popsize is None or self.popsize == "auto" else self.popsize
        return self.model.working_seconds(size // 2, n)

    def build(
        self, *, n: int, seed: int | None = None, limits: Limits | None = None, initial: Bits | None = None
    ) -> EDA | Restarts:
        """Make the optimizer."""
        build = partial(EDA, n=n, model=self.model, selection=self.selection, replacement=self.replacement)
        if self.popsize == "auto":
            slowness = self.model.slowness
            return Restarts(n=n, build=build, seed=seed, limits=limits, initial=initial, slowness=slowness)
        return build(popsize=self.popsize, seed=seed, limits=limits, initial=initial)
