"""`auto`: looks at the budget, the width of batches and whether values scatter, and picks what fits; the default."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from daedal.limits import Limits
from daedal.optimizers.base import BaseOptimizer
from daedal.optimizers.configuration import Configuration
from daedal.optimizers.ils import ILS
from daedal.optimizers.mix import NARROW, Mix, widened
from daedal.optimizers.noisy import Noisy
from daedal.optimizers.records import Info
from daedal.settings.checks import check_whole
from daedal.settings.parameters import check_types
from daedal.types import Bits, Fitness, State, StateError

FEW = 100
"""Calls for each variable, below which the search begins with local search: a population would take too long."""

STUCK = 10
"""Calls for each variable without a better row, and at least a fifth of all, after which local search is stuck."""

ENOUGH = 20
"""Calls for each variable that have to be left then for a population to take over."""

PROBED = 20
"""Calls in all, from which on one is spent on the question whether values scatter."""

WATCHED = 30
"""Calls before that, at most, so that it is known how much values differ from row to row."""

REPEATS = 4
"""How often the row is evaluated again, where they do."""

MATTERS = 0.02
"""Share of the spread of values, above which their scatter is not to be neglected."""

_ROUNDING = 1e-9
_WATCH, _PROBE, _REPEAT, _SEARCH, _POPULATION = range(5)  # stages
_ILS, _MIX, _NOISY = range(3)
_KINDS = (ILS, Mix, Noisy)


class Auto(BaseOptimizer):
    """Picks the search that fits, and says why.

    With few calls for each variable it begins with `ils`, and goes over to `mix` where that is stuck; else it is `mix`
    from the start, with batches as wide as the workers ask for. The first row is evaluated a second time. If its value
    differs, values scatter, and a population takes over that averages over it, unless the scatter is small beside the
    differences between rows.

    Parameters
    ----------
    n, seed, limits, initial
        As for `Mix`.
    min_batch
        Rows that a batch should have, about.

    Examples
    --------
    >>> import daedal
    >>> result = daedal.maximize(lambda x: x.sum(axis=1), n=100, seed=1, target=100)
    >>> result.fitness, result.evaluations < 200
    (100.0, True)
    """

    reproducible: ClassVar[bool] = True  # what it is made of keeps what is needed

    def __init__(
        self,
        *,
        n: int,
        seed: int | None = None,
        limits: Limits | None = None,
        initial: Bits | None = None,
        min_batch: int = 1,
    ) -> None:
        super().__init__(n=n, seed=seed, limits=limits, initial=initial)
        self.min_batch = check_whole("min_batch", min_batch, least=1)
        self._stage = _WATCH
        self._paid = 0  # calls of all batches that were learned from
        self._began = 0  # calls made before the present search took over
        self._improved = 0  # calls at which the best row was found
        self._row = np.empty((0, self.n), np.uint8)  # the one that is evaluated again
        self._values = np.empty(0)  # that it had
        self._moments = np.zeros(3)  # count, sum and sum of squares of the first values
        most = self.limits.max_evaluations
        few = most is not None and most < FEW * self.n and self.min_batch <= NARROW
        self._inner: BaseOptimizer = self._built(_ILS if few else _MIX)

    @property
    def fresh(self) -> bool:  # type: ignore[override]
        """Whether the rows asked for are to be evaluated even where their values are known."""
        return self._stage in (_PROBE, _REPEAT) or self._inner.fresh

    @property
    def explanation(self) -> str:  # type: ignore[override]
        """What it does, and why."""
        calls = self.limits.max_evaluations
        if self._stage == _POPULATION:
            return f"umda: values scatter (by {self._scatter():.3g} for one row); the outcome was measured again."
        few = f"ils, for few calls ({calls:,} for {self.n} variables)" if calls is not None else ""
        if not isinstance(self._inner, Mix):
            return f"{few}."
        wide = f" for {self.min_batch} at once" if self.min_batch > NARROW else ""
        first = f"{few}, stuck after {self._began:,}; then " if self._began else ""
        return f"{first}mix: climbing, mixing{wide}, a model; {self._inner.population.members} members at the end."

    def prepare(self) -> None:
        """Compile or load what is needed at first."""
        self._inner.prepare()

    def propose(self) -> Bits:
        """Ask whoever searches, or for one row again, shape (rows, n)."""
        if self._stage == _PROBE:
            return self._row.copy()
        if self._stage == _REPEAT:
            return np.repeat(self._row, REPEATS, axis=0)
        return self._inner.ask()

    def learn(self, rows: Bits, fitness: Fitness) -> Info | None:
        """Tell whoever searches, or find out whether values scatter."""
        cost, self._paid = self.calls - self._paid, self.calls
        if self._stage in (_PROBE, _REPEAT):
            self._values = np.append(self._values, fitness)
            self._decide()
            return None
        self._inner.settle(len(rows), calls=cost)
        record = self._inner.tell(fitness)
        self.stop = self._inner.stop
        if self._stage == _POPULATION:
            self._adopt_best()
        elif self._stage == _WATCH:
            self._watch(rows, fitness, known=cost < len(rows))
        if self.best is not None and self.best.evaluations == self.evaluations:
            self._improved = self.calls
        if self._is_stuck():
            self._take_over(_MIX)
        return None if record is None else record.info

    def _watch(self, rows: Bits, fitness: Fitness, *, known: bool) -> None:
        """Keep the first row, and how values differ; after some calls, let it be evaluated again.

        Where values are known from elsewhere, whoever kept them takes them for exact.
        """
        finite = fitness[np.isfinite(fitness)]
        if not len(self._row) and len(finite):
            first = int(np.isfinite(fitness).argmax())
            self._row, self._values = rows[first : first + 1].copy(), fitness[first : first + 1].copy()
            self._moments[:] = 0
        shifted = finite - (self._values[0] if len(self._values) else 0.0)
        self._moments += len(shifted), shifted.sum(), np.square(shifted).sum()
        most = self.limits.max_evaluations
        if known or (most is not None and most < PROBED):
            self._stage = _SEARCH
        elif len(self._row) and self.calls >= min(self.n, WATCHED, WATCHED if most is None else most // 5):
            self._stage = _PROBE

    def _decide(self) -> None:
        """Go on as before where the row had the same value again; else measure how much values scatter, and decide."""
        scatter = self._scatter()
        if scatter <= _ROUNDING * max(self._spread(), abs(float(self._values[0]))):
            self._stage = _SEARCH
        elif self._stage == _PROBE:
            self._stage = _REPEAT
        elif scatter <= MATTERS * self._spread():
            self._stage = _SEARCH
        else:
            self._stage = _POPULATION
            self._take_over(_NOISY)

    def _scatter(self) -> float:
        """Give the standard deviation of the values that one row had; inf where one of them was -inf."""
        return float(self._values.std(ddof=1)) if np.isfinite(self._values).all() else np.inf

    def _spread(self) -> float:
        """Give the standard deviation of the first values, each of another row."""
        count, total, squares = self._moments.tolist()
        return float(np.sqrt(max(0.0, squares / count - (total / count) ** 2))) if count else 0.0

    def _adopt_best(self) -> None:
        """Take the population's best: a mean counts more than a single value that was better."""
        best, before = self._inner.best, self.best
        if best is not None and (before is None or best.fitness != before.fitness or (best.x != before.x).any()):
            self.best = replace(best, generation=self.generation, evaluations=self.evaluations)

    def _update_best(self, rows: Bits, fitness: Fitness) -> None:
        """Leave it to the population what is best where values scatter."""
        if self._stage != _POPULATION:
            super()._update_best(rows, fitness)

    def _is_stuck(self) -> bool:
        """Whether local search has found nothing for long, and enough calls are left for something else."""
        most = self.limits.max_evaluations
        if self._stage != _SEARCH or not isinstance(self._inner, ILS) or most is None or self.stop is not None:
            return False
        patience = max(STUCK * self.n, most // 5)
        return self.calls - self._improved >= patience and most - self.calls >= ENOUGH * self.n

    def _take_over(self, kind: int) -> None:
        self._began = self.calls
        self._inner = self._built(kind)
        self._inner.prepare()

    def _built(self, kind: int) -> BaseOptimizer:
        """Make what searches from now on, with the calls that are left."""
        most = self.limits.max_evaluations
        left = None if most is None else max(1, most - self._began)
        limits = Limits(max_evaluations=left)
        made: BaseOptimizer
        if kind == _NOISY:
            made = Noisy(n=self.n, seed=self.seed, limits=limits, initial=self.initial)
        else:
            search = ILS if kind == _ILS else Mix
            made = search(n=self.n, seed=self.seed, limits=limits, initial=self.initial, min_batch=self.min_batch)
        made.metered = True
        return made

    def state(self) -> State:
        """Give what is needed to go on from here."""
        own = (
            super()
            .state()
            .extend(
                arrays={"row": self._row, "values": self._values, "moments": self._moments.copy()},
                fields={
                    "stage": self._stage,
                    "kind": _KINDS.index(type(self._inner)),
                    "began": self._began,
                    "improved": self._improved,
                },
            )
        )
        return State.join({"own": own, "inner": self._inner.state()})

    def restore(self, state: State) -> None:
        """Go on where another one of the same kind stood when it gave its state."""
        own = state.part("own")
        super().restore(own)
        self._stage, self._paid = own.whole("stage"), self.calls
        self._row, self._values = own.bits("row", self.n), own.floats("values")
        self._moments = own.floats("moments")
        if self._stage > _POPULATION or len(self._moments) != 3 or len(self._row) > 1:
            raise StateError("expected where auto stands, got something else")
        if self._stage != _WATCH and self._stage != _SEARCH and not (len(self._row) and len(self._values)):
            raise StateError("expected a row that was evaluated again, got none")
        self._began, self._improved = own.whole("began"), own.whole("improved")
        kind = own.whole("kind")
        if kind > _NOISY or (kind == _NOISY) != (self._stage == _POPULATION) or self._began > self.calls:
            raise StateError("expected which search auto has chosen, got something else")
        self._inner = self._built(kind)
        self._inner.restore(state.part("inner"))


@dataclass(frozen=True, kw_only=True)
class AutoConfiguration(Configuration):
    """What `auto` is built from; see `Auto`.

    Parameters
    ----------
    min_batch
        Rows that a batch should have, about; None: the number of workers, from 17 on.
    """

    hint: ClassVar[str] = '; to set more, name an algorithm: algorithm="dae" (--algorithm dae)'

    min_batch: int | None = None

    def __post_init__(self) -> None:
        check_types(self)
        if self.min_batch is not None:
            check_whole("min_batch", self.min_batch, least=1)

    def resolved(self, n: int, *, max_evaluations: int | None = None, workers: int = 1) -> AutoConfiguration:
        """Choose how wide batches are, where that is not given."""
        return replace(self, min_batch=widened(self.min_batch, workers))

    def build(
        self, *, n: int, seed: int | None = None, limits: Limits | None = None, initial: Bits | None = None
    ) -> Auto:
        """Make the optimizer."""
        return Auto(n=n, seed=seed, limits=limits, initial=initial, min_batch=self.min_batch or 1)
