"""The one place where objectives are called: counted, checked, cached, spread over workers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation import memory_cache
from daedal.evaluation.answers import first_error, nothing_worked
from daedal.evaluation.batch import AnsweredRows, Batch, Recorder
from daedal.evaluation.caller import Caller, ObjectiveError, Places
from daedal.evaluation.engine import SECONDS_BETWEEN_NOTES, Engine, start_engine
from daedal.evaluation.failures import FAILURES_KEPT, Failure, OnError, OutOfTime
from daedal.evaluation.layered_cache import LayeredCache, RowCache
from daedal.evaluation.memory_cache import Lookup
from daedal.evaluation.merit import Standing
from daedal.evaluation.options import DEFAULTS, EvaluationOptions
from daedal.evaluation.standings import Standings
from daedal.types import Amounts, Bits, Fitness, Json, State


class Evaluator:
    """Evaluates batches of rows.

    Every row that is asked for is evaluated, answered from the cache, or failed: `evaluations` is the sum of the
    three, and `calls`, which are limited, that of the first and the last; a row that is tried again is one call. The
    fitness that comes out is always maximised, whatever the sign of the caller. `order`, shape (n,), says which
    variable of the optimizer each variable of the objective is; None: the same. `cache` keeps values beyond this run,
    too.

    With constraints, fitness is the merit of a row (`daedal.evaluation.merit`). How many there are is known with the
    first answer, and whether there are any, too, unless `constrained` says so before. For `on_exit` see `ProcessPool`,
    for `seconds_between_notes` see `Serial`.
    """

    def __init__(
        self,
        caller: Caller,
        *,
        n: int,
        order: NDArray[np.intp] | None = None,
        options: EvaluationOptions = DEFAULTS,
        cache: RowCache | None = None,
        constrained: bool = False,
        on_exit: Callable[[], object] | None = None,
        seconds_between_notes: float = SECONDS_BETWEEN_NOTES,
    ) -> None:
        self.caller = caller
        self.n = n
        self.order = order
        self.options = options
        self.on_exit = on_exit
        self.seconds_between_notes = seconds_between_notes
        self.cached = 0  # rows that were known
        self.failed = 0  # rows that the objective failed for
        self.failures: list[Failure] = []  # the first of these
        self.batches = 0  # that were committed
        self.deadline: float | None = None  # when to stop in the middle of a batch, on the monotonic clock
        self.listener: Callable[[], None] | None = None  # called now and then in the middle of a batch
        self.recorder: Recorder | None = None
        self._on_error = OnError.read(options.on_error)
        self._evaluated = 0  # in batches that were committed
        self.known = LayeredCache(n, order=order, sign=caller.sign, deduplicate=options.deduplicate, shared=cache)
        self._standings = Standings(caller.sign, certain=constrained or bool(caller.constraints))
        self._batch: Batch | None = None  # the one that is not committed
        self._leftover: AnsweredRows | None = None  # of one that was broken off, maybe in another process
        self._engine: Engine | None = None

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def evaluated(self) -> int:
        """Rows that the objective gave a value for, also in a batch that is not complete."""
        if (batch := self._batch) is not None:  # looked up once: a display asks from a thread of its own
            return self._evaluated + batch.answered
        return self._evaluated + (0 if self._leftover is None else len(self._leftover.rows))

    @property
    def under_way(self) -> Batch | None:
        """The batch that is not committed."""
        return self._batch

    @property
    def evaluations(self) -> int:
        """Rows asked for, and answered."""
        return self.evaluated + self.cached + self.failed

    @property
    def calls(self) -> int:
        """Rows that the objective was called for, in batches that were committed."""
        return self._evaluated + self.failed

    def prepare(self) -> None:
        """Compile or load what remembers rows, if anything does."""
        if self.options.deduplicate:
            memory_cache.prepare()

    def close(self) -> None:
        """End the workers; record what came of a batch that was broken off, and tell nobody any more."""
        self.listener = None  # who listens holds this: two that hold each other stay until garbage is collected
        if self._engine is not None:
            self._engine.close()
            self._engine = None
        if self._batch is not None:
            places = np.arange(len(self._batch.new))[self._batch.answered_places()]
            self._record(self._batch, np.sort(places))
        self.recorder = None

    @property
    def constraints(self) -> int | None:
        """How many constraints the objective has; None as long as no row has an answer."""
        return self._standings.count

    def preload(self, x: Bits, values: Fitness) -> None:
        """Take values of rows, in the objective's own sign, that need not be evaluated."""
        self.known.add(x, values)
        self._standings.preloaded = True

    def __call__(self, x: Bits) -> Fitness:
        """Give the fitness, shape (rows,), to be maximised, of the rows of x, shape (rows, n)."""
        fitness = self.evaluate(x)
        self.commit()
        return fitness

    def evaluate(self, x: Bits, *, most: int | None = None, fresh: bool = False) -> Fitness:
        """Do the same, but count and remember nothing yet: `commit` does, once the answer has arrived.

        Until then x is not to change. Of the rows only the first are answered, as many as there are with no more than
        `most` calls of the objective, at least one. Those of a fresh batch are evaluated even where they are known.
        """
        leftover = self._uncommitted()
        if self.known.shared is not None:
            self.known.begin(self.calls)
        if fresh:
            lookup = Lookup.all_new(len(x))
        else:
            lookup, leftover = self.known.look_up(x, leftover, self._standings)
        if most is not None:
            lookup = lookup.prefix(most)
        batch = Batch(x[: len(lookup.values)], lookup)
        if leftover is not None:
            found = leftover.find(batch.new)
            places = np.flatnonzero(found >= 0)
            amounts = None if leftover.amounts is None else leftover.amounts[found[places]]
            batch.note(places, leftover.values[found[places]], amounts)
        self._batch, self._leftover = batch, None
        self._standings.hear(batch.all_amounts())
        if batch.answered < len(batch.new):
            self._answer(batch)
        values = batch.all_values()
        return values.copy() if self.caller.sign > 0 else -values

    def commit(self) -> None:
        """Count and remember the answers of a batch that is complete."""
        if (batch := self._batch) is None:
            return
        self._standings.best = self.standing()
        self.known.remember(batch)
        self._record(batch)
        self._evaluated += batch.answered
        self.cached += batch.known
        self.failed += len(batch.failed)
        self.failures += batch.failures[: FAILURES_KEPT - len(self.failures)]
        self.batches += 1
        self._batch = None

    def pending_best(self) -> tuple[Bits, float] | None:
        """Give the best row, shape (n,), in the optimizer's order, and its fitness, of what is not committed."""
        if self._batch is not None:
            return self._batch.best(self.caller.sign)
        return None if self._leftover is None else self._leftover.best(self.caller.sign)

    def amounts(self) -> Amounts | None:
        """Give values, to be maximised, and amounts, shape (rows, 1 + constraints), of the batch that is not committed.

        Rows of earlier batches have nan; None without constraints.
        """
        amounts = None if self._batch is None else self._batch.all_amounts()
        return amounts if amounts is None else amounts * np.r_[self.caller.sign, np.ones(amounts.shape[1] - 1)]

    @property
    def leader(self) -> Standing | None:
        """The best row of those committed, with constraints; the same object until there is a better one."""
        return self._standings.best

    def standing(self) -> Standing | None:
        """Give the best row so far, exactly, with constraints; what is not committed counts. None without any."""
        if (batch := self._batch) is not None:
            evaluations = self.evaluations + batch.known + len(batch.failed)
            return self._standings.best_with(batch.x, batch.all_amounts(), evaluations)
        left = self._leftover
        return self.leader if left is None else self._standings.best_with(left.rows, left.amounts, self.evaluations)

    def state(self) -> State:
        """Give what was counted and is known, as of the last commit, and the answers that came since."""
        known, arrays = self.known.state(), dict[str, NDArray[Any]]()
        uncommitted = self._uncommitted()
        if uncommitted is not None and len(uncommitted.rows):
            arrays = {"partial": uncommitted.rows.copy(), "partial_values": uncommitted.values.copy()}
        constrained = self._standings.state(uncommitted.amounts if arrays and uncommitted is not None else None)
        known = known.extend(arrays=constrained.arrays, fields=constrained.fields)
        counts: dict[str, Json] = {"evaluated": self._evaluated, "cached": self.cached, "failed": self.failed}
        failures: list[Json] = [[failure.x, failure.error] for failure in self.failures]
        return known.extend(arrays=arrays, fields={**counts, "batches": self.batches, "failures": failures})

    def restore(self, state: State) -> None:
        """Go on where another evaluator stood when it gave its state."""
        self._evaluated, self.batches = state.whole("evaluated"), state.whole("batches")
        self.cached, self.failed = state.whole("cached"), state.whole("failed")
        self.failures = [Failure.from_json(kept) for kept in state.listed("failures")]
        self.known.restore(state)
        self._batch = self._leftover = None
        amounts = self._standings.restore(state, self.n)
        if "partial" in state.arrays:
            values = state.numbers("partial_values", like="partial")
            self._leftover = AnsweredRows(state.bits("partial", self.n), values, amounts)

    def _uncommitted(self) -> AnsweredRows | None:
        """Give the answers that came since the last commit."""
        return self._leftover if self._batch is None else self._batch.answered_rows()

    def _answer(self, batch: Batch) -> None:
        """Evaluate the new rows, as often as the policy says; those that fail for good are the worst there is."""
        rows = self.known.to_objective(batch.new)
        todo = np.flatnonzero(np.isnan(batch.values)) if batch.answered else None
        policy, errors = self._on_error, dict[int, str]()
        for attempt in range(1 + policy.retries):
            raising = attempt == policy.retries and not policy.worst
            errors = self._attempt(batch, rows, todo, raising)
            if not errors:
                return
            todo = np.array(sorted(errors), dtype=np.intp)
        self._give_up(batch, rows, errors)

    def _attempt(self, batch: Batch, rows: Bits, todo: NDArray[np.intp] | None, raising: bool) -> dict[int, str]:
        """Evaluate some of the new rows once; give the errors of those that failed, or raise the first."""
        if self._engine is None:
            self._engine = start_engine(self.caller, self.options, self.on_exit, self.seconds_between_notes)
        errors: dict[int, str] = {}
        asked = rows if todo is None else rows[todo]
        for which, answers in self._engine.answers(asked, first_failure_only=raising):
            places = which if todo is None else todo[which]
            self._standings.check(answers)
            if not answers.errors:
                self._note(batch, rows, places, answers.values, answers.amounts)
            else:
                numbers, good = np.arange(len(rows))[places], ~np.isnan(answers.values)
                amounts = None if answers.amounts is None else answers.amounts[good]
                self._note(batch, rows, numbers[good], answers.values[good], amounts)
                errors |= {int(numbers[index]): error for index, error in answers.errors.items()}
                if raising:
                    causes = {int(numbers[index]): cause for index, cause in answers.causes.items()}
                    raise first_error(errors, len(rows)) from causes.get(min(errors))
            self._check_time(errors)
        return errors

    def _note(self, batch: Batch, rows: Bits, places: Places, values: Fitness, amounts: Amounts | None = None) -> None:
        """Keep what came, whatever may happen next."""
        if len(values):
            batch.note(places, values, amounts)
            self.known.share(rows, places, values, amounts)
        if self.listener is not None:
            self.listener()

    def _record(self, batch: Batch, places: Places = slice(None)) -> None:
        """Tell of some of the new rows, in the order of the batch, whoever answered first."""
        if self.recorder is not None:
            self.recorder(self.known.to_objective(batch.new[places]), batch.values[places])

    def _check_time(self, errors: dict[int, str]) -> None:
        """Break off when the time is over, and there is something to show for it."""
        if self.deadline is None or time.monotonic() <= self.deadline:
            return
        if self._has_values():
            raise OutOfTime
        if errors:
            first = errors[min(errors)]
            raise ObjectiveError(f"the time is used up, and no row has a value yet; the first failed so: {first}")

    def _has_values(self) -> bool:
        """Whether any row has a value: evaluated, known, or answered in this batch."""
        return self.evaluations > 0 or self.pending_best() is not None

    def _give_up(self, batch: Batch, rows: Bits, errors: dict[int, str]) -> None:
        """Count rows that failed for good as the worst, and write them down."""
        failed = np.array(sorted(errors), dtype=np.intp)
        if len(failed) == len(rows) and not self._has_values():
            raise nothing_worked(errors)
        failures = [Failure(self.caller.shown(rows[index]), errors[int(index)]) for index in failed[:FAILURES_KEPT]]
        batch.fail(failed, -self.caller.sign * math.inf, failures)
