"""A contest behind a search, for values that scatter: the answer is what measured best, again and again."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Protocol

import numpy as np

from daedal.limits import Limits, StopReason, meets
from daedal.optimizers.base import BaseOptimizer, Optimizer
from daedal.optimizers.contenders import Seen, distinct
from daedal.optimizers.contest_plan import MOST_ROWS, Plan, check_calls, plan, search_calls
from daedal.optimizers.insight import Insight
from daedal.optimizers.measurements import Measurements
from daedal.optimizers.records import Info
from daedal.rng import Stream, stream
from daedal.settings.checks import check_whole
from daedal.spaces.encoding import Encoding
from daedal.types import Bits, Fitness, State, StateError

DOUBT = 1.0
"""Standard errors of a difference by which another mean has to be better than that of the search's own answer."""

TOPS = 64
"""Rows with the best values that are kept."""

INTERIM = 500
"""Calls after which the first contest is held where nobody knows when the run will end; then at twice as many, ..."""

_SEARCH, _HALVING, _FINAL, _CHECK = range(4)  # stages


class SearchBuilder(Protocol):
    """Makes the optimizer that searches, such as `Configuration.build`."""

    def __call__(self, *, n: int, seed: int | None, limits: Limits | None, initial: Bits | None) -> Optimizer:
        """Make one."""


class Contest(BaseOptimizer):
    """Lets a search spend most of the calls, and measures what it found again with the rest.

    Contenders are the rows that the search itself would answer with, maxima of a model of all that was measured, and
    rows that had the best values. They are measured in rounds, and the better half goes on (successive halving). The
    winner is measured once more: these values had no part in the choice, so that their mean is not too good. Where
    nobody knows when the run will end, because there is no limit on the calls or one on the time, contests are held on
    the way, too.

    A row whose values seem to reach the target is measured again at once, by itself; the target counts as reached when
    a mean does. `max_generations` and `patience` are limits of the search, and a contest belongs to the generation
    before it.

    Parameters
    ----------
    n, seed, limits, initial
        As for `EDA`.
    build
        Makes the search.
    repeats
        How often the winner is measured at least, where the calls allow it; None: as fits.
    """

    reproducible: ClassVar[bool] = True  # the search keeps what is needed, and contests draw nothing
    fresh = True

    def __init__(
        self,
        *,
        n: int,
        build: SearchBuilder,
        seed: int | None = None,
        limits: Limits | None = None,
        initial: Bits | None = None,
        repeats: int | None = None,
    ) -> None:
        super().__init__(n=n, seed=seed, limits=limits, initial=initial)
        self.repeats = None if repeats is None else check_whole("repeats", repeats, least=1)
        self._target = self.limits.target
        most = self.limits.max_evaluations
        self._search_calls = None if most is None else search_calls(most, self.repeats)
        own = replace(self.limits, max_evaluations=self._search_calls, target=None)
        self.inner = build(n=self.n, seed=self.seed, limits=own, initial=initial)
        if isinstance(self.inner, BaseOptimizer):
            self.inner.metered = True
        self.limits = replace(self.limits, max_generations=None, patience=None, target=None)
        self._paid = 0  # calls of all batches that were learned from
        self._checks = 0  # calls that were spent on checks
        self._interim = INTERIM if most is None or self.limits.max_seconds is not None else None  # when the next is due
        self._measured = False  # whether the best is the mean of a contest
        self._stage = _SEARCH
        self._plan = Plan(contenders=1, halving=0, final=0)
        self._tops = Measurements(self.n, most=TOPS)
        self._seen = Seen(self.n)
        self._contenders, self._winner = Measurements(self.n), Measurements(self.n)

    @property
    def popsize(self) -> int | None:
        """The population size of the search, if it has one."""
        return getattr(self.inner, "popsize", None)

    @property
    def explanation(self) -> str:  # type: ignore[override]
        """What the search has to say, and how the answer was chosen."""
        said = getattr(self.inner, "explanation", "")
        best = self.best
        if best is None or not self._measured:
            return said
        return f"{said} The answer was chosen by means, and measured {best.measurements:,} times.".strip()

    def encode(self, encoding: Encoding | None) -> None:
        """Hear, before the first row, what the bits are codes of."""
        super().encode(encoding)
        if isinstance(self.inner, BaseOptimizer):
            self.inner.encode(encoding)

    def insight(self) -> Insight | None:
        """Show what the search does."""
        return self.inner.insight() if isinstance(self.inner, BaseOptimizer) else None

    def prepare(self) -> None:
        """Compile or load what the search needs, and the model that says what is worth measuring again."""
        self.inner.prepare()
        self._seen.prepare()

    def propose(self) -> Bits:
        """Ask the search, or give rows as often as they are measured, shape (rows, n)."""
        if self._stage == _SEARCH:
            rows = self.inner.ask()
            most = self._search_calls
            return rows if most is None else rows[: max(1, most - self.calls)]
        if self._stage == _HALVING:
            return np.tile(self._contenders.rows, (self._plan.times(len(self._contenders)), 1))
        return np.repeat(self._winner.rows, max(1, min(self._plan.final, MOST_ROWS)), axis=0)

    def learn(self, rows: Bits, fitness: Fitness) -> Info | None:
        """Tell the search, or take the measurements."""
        cost, self._paid = self.calls - self._paid, self.calls
        if self._stage == _SEARCH:
            return self._tell_search(rows, fitness, cost)
        if self._stage == _HALVING:
            self._halve(rows, fitness)
        else:
            self._finish(rows, fitness)
        return None

    def _tell_search(self, rows: Bits, fitness: Fitness, cost: int) -> Info | None:
        self.initial = None
        self._seen.add(rows, fitness)
        inner, record = self.inner, None
        if isinstance(inner, BaseOptimizer):
            inner.settle(len(rows), calls=cost, amounts=self.amounts)
            record = inner.tell(fitness)
        elif len(rows) == len(inner.ask()):  # nobody else can be told of a part
            record = inner.tell(fitness)
        if self._is_search_over():
            self._begin()
            return None  # the contest belongs to this generation
        if self._interim is not None and self.calls >= self._interim:
            self._begin()
        elif self._target is not None:
            self._check()
        return None if record is None else record.info

    def _is_search_over(self) -> bool:
        most = self._search_calls
        return self.inner.stop is not None or (most is not None and self.calls >= most)

    def _left(self) -> int | None:
        most = self.limits.max_evaluations
        return None if most is None else most - self.calls

    def _begin(self) -> None:
        """Choose the contenders, and share out the calls of the contest."""
        used_up = self._search_calls is not None and self.calls >= self._search_calls
        self._plan = plan(self.calls, self._left(), self.repeats, everything=used_up)
        if self._plan.total == 0:
            return  # all calls are spent
        self._contenders = Measurements(self.n)
        self._contenders.expect(self._choose(self._plan.contenders))
        if len(self._contenders) > 1:
            self._stage = _HALVING
        else:
            self._let_win(0)

    def _choose(self, contenders: int) -> Bits:
        """Give the rows to be measured, at least one: those that are most likely to be good first."""
        own = self.inner.contenders() if isinstance(self.inner, BaseOptimizer) else np.empty((0, self.n), np.uint8)
        found = [own]
        if contenders > 1:
            start = own if len(own) else self._tops.rows[self._tops.ranked()[:1]]
            maxima = self._seen.maxima(start, rng=stream(self.seed, Stream.CONTEST, self.calls))
            found = [maxima[:1], own, maxima[1:]]
        if self._measured and self.best is not None:
            found.append(self.best.x[None])
        found.append(self._tops.rows[self._tops.ranked()])
        rows = np.concatenate(found)
        return distinct(rows if self.encoding is None else self.encoding.repair(rows))[:contenders]

    def _halve(self, rows: Bits, fitness: Fitness) -> None:
        """Take the measurements of a round, and keep the better half."""
        self._contenders.add(rows, fitness)
        self._plan = replace(self._plan, halving=max(0, self._plan.halving - len(rows)))
        means, counts = self._contenders.means, np.maximum(self._contenders.counts, 1.0)
        doubt = DOUBT * self._contenders.noise * np.sqrt(1 / counts + 1 / counts[0])
        doubt[0] = 0.0  # the first is the search's own answer, until it is beaten
        order = np.argsort(doubt - means, kind="stable")
        if not self._measured:
            self._take(self._contenders, int(order[0]))
        if len(order) == 2:
            self._let_win(int(order[0]))
        else:
            self._contenders.keep(np.sort(order[: -(-len(order) // 2)]))

    def _let_win(self, place: int) -> None:
        """Measure the winner with the rest of the calls; where there was no choice at all, all its values count."""
        self._stage = _FINAL
        self._plan = replace(self._plan, halving=0, final=self._plan.total)
        self._winner = Measurements(self.n)
        if len(self._tops) == 1 and self._tops.counts[0] == self.evaluations:
            self._winner.restore(self._tops.state())
        self._winner.expect(self._contenders.rows[[place]])

    def _check(self) -> None:
        """Measure the row again that seems to reach the target, if one does, and not too much was spent on that."""
        assert self._target is not None
        top = int(self._tops.ranked()[0])
        wanted = check_calls(self.repeats)
        left = self._left()
        is_paid = self._checks + wanted <= max(wanted, self.calls // 10) and (left is None or left > 0)
        if not is_paid or not meets(float(self._tops.means[top]), self._target):
            return
        self._checks += wanted
        self._stage = _CHECK
        self._plan = Plan(contenders=1, halving=0, final=wanted if left is None else min(wanted, left))
        self._winner = Measurements(self.n)
        self._winner.expect(self._tops.rows[[top]])

    def _finish(self, rows: Bits, fitness: Fitness) -> None:
        """Take the measurements of the winner, and end the run or go on with the search."""
        self._winner.add(rows, fitness)
        self._plan = replace(self._plan, final=max(0, self._plan.final - len(rows)))
        if self._plan.final and self.rows_left(1) > 0:
            return  # they did not fit into one batch
        mean, count = float(self._winner.means[0]), self._winner.counts[0]
        is_met = self._target is not None and count > 1 and meets(mean, self._target)
        if self._stage == _FINAL or is_met:
            self._measured = True
            self._take(self._winner, 0)
        if is_met:
            self.limits = replace(self.limits, target=self._target)  # which ends the run
        elif self._is_search_over():
            reason = self.inner.stop or StopReason.EVALUATIONS
            self.stop = StopReason.CONVERGED if reason is StopReason.EXHAUSTED else reason
        elif self._interim is not None and self.calls >= self._interim:
            self._interim = 2 * self.calls
        self._stage = _SEARCH

    def _take(self, measured: Measurements, place: int) -> None:
        """Take a row with its mean as the best."""
        self.best = measured.best(place, self.best, generation=self.generation, evaluations=self.evaluations)

    def _update_best(self, rows: Bits, fitness: Fitness) -> None:
        """Note all values; before any contest, the best is what is most surely good."""
        self._tops.add(rows, fitness)
        if not self._measured and self._stage in (_SEARCH, _CHECK):
            self._take(self._tops, int(self._tops.ranked()[0]))

    def state(self) -> State:
        """Give what is needed to go on from here."""
        fields = {
            "stage": self._stage,
            "checks": self._checks,
            "interim": self._interim,
            "measured": self._measured,
            "halving": self._plan.halving,
            "final": self._plan.final,
        }
        own = super().state().extend(arrays={}, fields=fields)
        parts = {"own": own, "seen": self._seen.state(), "inner": self.inner.state()}
        parts |= {"tops": self._tops.state(), "contenders": self._contenders.state(), "winner": self._winner.state()}
        return State.join(parts)

    def restore(self, state: State) -> None:
        """Go on where another one, built alike, stood when it gave its state."""
        own = state.part("own")
        super().restore(own)
        self._stage, self._checks, self._paid = own.whole("stage"), own.whole("checks"), self.calls
        self._measured = own.truth("measured")
        self._interim = own.whole("interim") if own.given("interim") else None
        self._plan = Plan(contenders=1, halving=own.whole("halving"), final=own.whole("final"))
        for name, part in (("seen", self._seen), ("tops", self._tops)):
            part.restore(state.part(name))
        for name, part in (("contenders", self._contenders), ("winner", self._winner)):
            part.restore(state.part(name))
        self.inner.restore(state.part("inner"))
        rows = {_HALVING: len(self._contenders) >= 2, _FINAL: len(self._winner) == 1, _CHECK: len(self._winner) == 1}
        most = 10**9 if self.limits.max_evaluations is None else self.limits.max_evaluations
        if not rows.get(self._stage, self._stage == _SEARCH) or self._plan.total > most:
            raise StateError("expected where a contest stands, got something else")
