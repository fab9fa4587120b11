"""`auto`: looks at the budget, the width of batches and whether values scatter, and picks what fits; the default."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from daedal.limits import Limits, StopReason
from daedal.optimizers.base import BaseOptimizer
from daedal.optimizers.configuration import NARROW
from daedal.optimizers.contest import Contest
from daedal.optimizers.ils import ILS
from daedal.optimizers.insight import Insight
from daedal.optimizers.mix import Mix
from daedal.optimizers.noisy import Noisy
from daedal.optimizers.records import Info
from daedal.optimizers.scatter import Scatter
from daedal.optimizers.stuck import is_stuck, stuck_after
from daedal.rng import Stream, stream
from daedal.settings.checks import check_whole
from daedal.spaces.encoding import Encoding
from daedal.types import Bits, Fitness, State, StateError

FEW = 100
"""Calls for each variable, below which the search begins with local search: a population would take too long."""

PROBED = 20
"""Calls in all, from which on one is spent on the question whether values scatter."""

WATCHED = 30
"""Calls before that, at most, so that it is known how much values differ from row to row."""

REPEATS = 4
"""How often the row is evaluated again, where they do."""

SOUGHT = 8
"""Random rows at once, where the first one was infeasible, until one is not, or a quarter of the calls is spent."""

MOST_SOUGHT = 1000
"""Calls that are spent on that at most."""

_WATCH, _PROBE, _REPEAT, _SEARCH, _POPULATION, _FEASIBLE = range(6)  # stages
_ILS, _MIX, _NOISY = range(3)
_KINDS = (ILS, Mix, Contest)


class Auto(BaseOptimizer):
    """Picks the search that fits, and says why.

    With few calls for each variable it begins with `ils`, and goes over to `mix` where that is stuck; else it is `mix`
    from the start, with batches as wide as the workers ask for. The first row is evaluated a second time. If its value
    differs, values scatter, and a population takes over that averages over it, unless the scatter is small beside the
    differences between rows. With constraints it is `mix`, whatever the budget.

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
        self._given = self.limits
        self._began = 0  # calls made before the present search took over
        self._generation = 0  # the one in which it did
        self._improved = 0  # calls at which the best row was found
        self._constrained = False
        self._scatter = Scatter(self.n)
        self._start = self.initial
        self._inner: BaseOptimizer = self._built(_ILS if self._is_few() else _MIX)

    def encode(self, encoding: Encoding | None) -> None:
        """Hear, before the first row, what the bits are codes of."""
        super().encode(encoding)
        self._inner.encode(encoding)

    @property
    def fresh(self) -> bool:  # type: ignore[override]
        """Whether the rows asked for are to be evaluated even where their values are known."""
        return self._stage in (_PROBE, _REPEAT) or self._inner.fresh

    @property
    def explanation(self) -> str:  # type: ignore[override]
        """What it does, and why."""
        if self._stage == _POPULATION:
            return f"Values scatter (by {self._scatter.deviation:.3g} for one row). {self._inner.explanation}"
        calls = self.limits.max_evaluations or 0  # ils is for a limit alone
        few = f"ils (iterated local search), for few calls ({calls:,} for {self.n} variables)"
        if not isinstance(self._inner, Mix):
            return f"{few}."
        first = f"{few}, stuck after {self._began:,}; then " if self._was_stuck else ""
        return f"{first}{self._inner.description(constrained=self._constrained)}."

    @property
    def _was_stuck(self) -> bool:
        return self._began > 0 and self._is_few() and isinstance(self._inner, Mix) and not self._constrained

    def _is_few(self) -> bool:
        return self._few_calls() > 0

    def _few_calls(self) -> int:
        """Give all calls where they are few, for batches that are narrow; else 0."""
        most = self.limits.max_evaluations
        return most if most is not None and most < FEW * self.n and self.min_batch <= NARROW else 0

    def insight(self) -> Insight | None:
        """Show what the present search does."""
        return self._inner.insight()

    def prepare(self) -> None:
        """Compile or load what is needed at first, and what may take over where that is stuck.

        Whether values scatter, or come with violations, nobody knows before the first of them.
        """
        self._inner.prepare()
        if stuck_after(self.n, self._few_calls()) is not None:
            Mix(n=4, seed=0).prepare()

    def propose(self) -> Bits:
        """Ask whoever searches, or for one row again, shape (rows, n)."""
        if self._stage == _PROBE:
            return self._scatter.row.copy()
        if self._stage == _REPEAT:
            return np.repeat(self._scatter.row, REPEATS, axis=0)
        if self._stage == _FEASIBLE:
            rng = stream(self.seed, Stream.START, 1 + self.evaluations)
            return self.random_rows(SOUGHT, rng)
        return self._inner.ask()

    def learn(self, rows: Bits, fitness: Fitness) -> Info | None:
        """Tell whoever searches, or find out whether values scatter."""
        cost, self._paid = self.calls - self._paid, self.calls
        if self._stage in (_PROBE, _REPEAT):
            self._scatter.repeat(fitness)
            self._decide()
            return None
        if self._stage == _FEASIBLE:
            self._seek(rows, fitness)
            return None
        self._inner.settle(len(rows), calls=cost, amounts=self.amounts)
        record = self._inner.tell(fitness)
        self.stop = self._inner.stop
        if self.amounts is not None and self._stage in (_WATCH, _FEASIBLE):
            self._constrain(rows)
        elif self._stage == _POPULATION:
            self._adopt_best()
        elif self._stage == _WATCH and self._inner.evaluations == len(rows) and not np.isfinite(fitness).any():
            self._stage = _FEASIBLE
        elif self._stage == _WATCH:
            self._watch(rows, fitness, known=cost < len(rows))
        if self.best and self.best.evaluations == self.evaluations:
            self._improved = self.calls
        if self._is_stuck():
            self._take_over(_MIX)
        return None if record is None else record.info

    def _constrain(self, rows: Bits) -> None:
        """Search with constraints from now on."""
        self._stage, self._constrained = _SEARCH, True
        if isinstance(self._inner, ILS):
            self._start = rows
            self._take_over(_MIX)

    def _watch(self, rows: Bits, fitness: Fitness, *, known: bool) -> None:
        """Keep the first row, and how values differ; after some calls, let it be evaluated again.

        Where values are known from elsewhere, whoever kept them takes them for exact.
        """
        self._scatter.watch(rows, fitness)
        most = self.limits.max_evaluations
        if known or (most is not None and most < PROBED):
            self._stage = _SEARCH
        elif len(self._scatter.row) and self.calls >= min(self.n, WATCHED, WATCHED if most is None else most // 5):
            self._stage = _PROBE

    def _seek(self, rows: Bits, fitness: Fitness) -> None:
        """Begin again at the best random row that is feasible; flips of one that is not say nothing."""
        most = self.limits.max_evaluations
        if np.isfinite(fitness).any():
            self._start = rows[[int(np.argmax(fitness))]]
            self._stage = _WATCH
            self._take_over(_KINDS.index(type(self._inner)))
        elif self.calls >= (MOST_SOUGHT if most is None else min(MOST_SOUGHT, most // 4)):
            self._stage = _SEARCH

    def _decide(self) -> None:
        """Go on as before where the row had the same value again; else measure how much values scatter, and decide."""
        if self._scatter.is_none:
            self._stage = _SEARCH
        elif self._stage == _PROBE:
            self._stage = _REPEAT
        elif not self._scatter.matters:
            self._stage = _SEARCH
        else:
            self._stage = _POPULATION
            self._leave_limits()
            self._take_over(_NOISY)

    def _leave_limits(self) -> None:
        """Let the contest decide when it has ended: a single value is neither progress nor the target."""
        self.limits = replace(self.limits, max_generations=None, patience=None, target=None)

    def _adopt_best(self) -> None:
        """Take the contest's best: a mean counts more than a single value that was better."""
        best, before = self._inner.best, self.best
        assert best is not None
        since = self if before is None or (best.x != before.x).any() else before
        self.best = replace(best, generation=since.generation, evaluations=since.evaluations)
        if self.stop is StopReason.TARGET:
            self.limits = replace(self.limits, target=self._given.target)  # which a mean has reached

    def _update_best(self, rows: Bits, fitness: Fitness) -> None:
        """Leave it to the population what is best where values scatter."""
        if self._stage != _POPULATION:
            super()._update_best(rows, fitness)

    def _is_stuck(self) -> bool:
        """Whether local search has found nothing for long, and enough calls are left for something else."""
        if self._stage != _SEARCH or not isinstance(self._inner, ILS) or self.stop is not None:
            return False
        return is_stuck(self.n, self._few_calls(), made=self.calls, idle=self.calls - self._improved)

    def _take_over(self, kind: int) -> None:
        self._began, self._generation = self.calls, self.generation
        self._inner = self._built(kind)
        self._inner.prepare()

    def _built(self, kind: int) -> BaseOptimizer:
        """Make what searches from now on, with the calls that are left."""
        most = self.limits.max_evaluations
        left = None if most is None else max(1, most - self._began)
        limits = Limits(max_evaluations=left)
        made: BaseOptimizer
        if kind == _NOISY:
            last = self._given.max_generations
            last = None if last is None else last - self._generation
            limits = replace(self._given, max_evaluations=left, max_generations=last, patience=None)
            made = Contest(n=self.n, build=Noisy, seed=self.seed, limits=limits, initial=self.initial)
        else:
            search = ILS if kind == _ILS else Mix
            made = search(n=self.n, seed=self.seed, limits=limits, initial=self._start, min_batch=self.min_batch)
        made.metered = True
        made.encode(self.encoding)
        return made

    def state(self) -> State:
        """Give what is needed to go on from here."""
        arrays = self._scatter.state()
        if self._start is not None:
            arrays["start"] = self._start
        fields = {"stage": self._stage, "kind": _KINDS.index(type(self._inner)), "began": self._began}
        fields |= {"began_generation": self._generation, "improved": self._improved, "constrained": self._constrained}
        own = super().state().extend(arrays=arrays, fields=fields)
        return State.join({"own": own, "inner": self._inner.state()})

    def restore(self, state: State) -> None:
        """Go on where another one of the same kind stood when it gave its state."""
        own = state.part("own")
        super().restore(own)
        self._stage, self._paid = own.whole("stage"), self.calls
        self._scatter.restore(own)
        if self._stage > _FEASIBLE:
            raise StateError("expected where auto stands, got something else")
        self._constrained = own.given("constrained") and own.truth("constrained")
        self._start = own.bits("start", self.n) if "start" in own.arrays else None
        if self._stage in (_PROBE, _REPEAT, _POPULATION) and not len(self._scatter.row):
            raise StateError("expected a row that was evaluated again, got none")
        self._began, self._improved = own.whole("began"), own.whole("improved")
        self._generation = own.whole("began_generation") if own.given("began_generation") else 0
        kind = own.whole("kind")
        if kind > _NOISY or (kind == _NOISY) != (self._stage == _POPULATION) or self._began > self.calls:
            raise StateError("expected which search auto has chosen, got something else")
        if kind == _NOISY:
            self._leave_limits()
        self._inner = self._built(kind)
        self._inner.restore(state.part("inner"))
