"""The one place where objectives are called: counted, checked, cached, spread over workers."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from daedal.evaluation.caller import Answers, Caller, ObjectiveError
from daedal.evaluation.dispatcher import ChunkFunction, Dispatcher, RowsFunction, TimedFunction
from daedal.evaluation.executor_pool import ExecutorPool
from daedal.evaluation.failures import Failure, OnError
from daedal.evaluation.memory_cache import MemoryCache, distinct
from daedal.evaluation.options import EvaluationOptions
from daedal.evaluation.process_pool import ProcessPool
from daedal.evaluation.serial import Serial
from daedal.types import Bits, Fitness, Json, State, to_text

FAILURES_KEPT = 100
"""How many failures a run can show; all of them are counted."""


class OutOfTime(Exception):  # noqa: N818  no error: the run has had its time
    """The deadline came in the middle of a batch."""


class RowCache(Protocol):
    """What remembers the values of rows."""

    def find(self, rows: Bits) -> tuple[Fitness, NDArray[np.bool_]]:
        """Give the values, nan where unknown, and whether they are known."""

    def add(self, rows: Bits, values: Fitness) -> None:
        """Take the values of rows."""


class _Engine(Protocol):
    def answers(self, rows: Bits, *, first_failure_only: bool) -> Iterator[tuple[NDArray[np.intp], Answers]]:
        """Evaluate rows; give indices and answers as they come."""

    def close(self) -> None:
        """End whatever works."""


class Evaluator:
    """Evaluates batches of rows.

    Every row that is asked for is carried out, answered from the cache, or failed: `evaluations` is the sum of the
    three.

    Parameters
    ----------
    objective
        The function.
    vectorized
        Whether it takes a batch, shape (rows, n), or one row, shape (n,), at a time.
    sign
        1 where larger is better, -1 where smaller is: the fitness that comes out is always maximised.
    dtype
        Of the rows that the objective gets: see `Caller`.
    order
        Which variable of the optimizer each variable of the objective is, shape (n,); None: the same.
    deduplicate
        Whether a row that comes again has the value that it had before, without a call.
    cache
        Where values are kept beyond this run, too.
    workers, executor
        Processes of our own, or somebody's executor, to evaluate with.
    on_error
        What to do when an evaluation fails.
    timeout
        Seconds that one evaluation may take.

    Attributes
    ----------
    cached, failed
        Rows that were known, and that the objective failed for; `carried_out` are those that it gave a value for.
    failures
        The first of those that failed.
    best
        The best row so far, in the optimizer's order, and its fitness; also in the middle of a batch.
    deadline
        When to stop in the middle of a batch, on the monotonic clock.
    listener
        Called now and then in the middle of a batch.

    Examples
    --------
    >>> import numpy as np
    >>> evaluate = Evaluator(Caller(lambda x: x.sum(axis=1)), n=2)
    >>> evaluate(np.array([[1, 0], [1, 1], [1, 0]], dtype=np.uint8)), evaluate.evaluated, evaluate.cached
    (array([1., 2., 1.]), 2, 1)
    """

    def __init__(
        self,
        caller: Caller,
        *,
        n: int,
        order: NDArray[np.intp] | None = None,
        options: EvaluationOptions = EvaluationOptions(),
        cache: RowCache | None = None,
        on_exit: Any = None,
    ) -> None:
        self.caller = caller
        self.n = n
        self.order = order
        self.deduplicate = options.deduplicate
        self.cache = cache
        self.workers = options.workers
        self.executor = options.executor
        self.on_error = OnError.read(options.on_error)
        self.timeout = options.timeout
        self.batches = 0
        self._carried_out = 0  # in whole batches
        self.cached = 0
        self.failed = 0
        self.failures: list[Failure] = []
        self.best: tuple[Bits, float] | None = None
        self.deadline: float | None = None
        self.listener: Callable[[], None] | None = None
        self._memory: MemoryCache | None = None
        self._partial: list[tuple[Bits, Fitness]] = []  # answers for a batch that is not complete
        self._failing: list[tuple[Bits, Fitness, list[Failure]]] = []
        self._known_before = 0
        self._resumed: list[tuple[Bits, Fitness]] = []  # the same, of the run that this one goes on with
        self._engine: _Engine | None = None

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def evaluated(self) -> int:
        """Rows that the objective gave a value for, also in a batch that is not complete."""
        return self._carried_out + sum(len(values) for _, values in self._resumed + self._partial)

    @property
    def evaluations(self) -> int:
        """Rows asked for, and answered."""
        return self.evaluated + self.cached + self.failed

    def close(self) -> None:
        """End the workers, and tell nobody any more."""
        self.listener = None  # who listens holds this: two that hold each other stay until garbage is collected
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def preload(self, x: Bits, values: Fitness) -> None:
        """Take values of rows, in the objective's own sign, that need not be evaluated."""
        self._remembered(x.shape[1]).add(x, values)

    def __call__(self, x: Bits) -> Fitness:
        """Give the fitness, shape (rows,), to be maximised, of the rows of x, shape (rows, n)."""
        fitness = self.evaluate(x)
        self.commit()
        return fitness

    def evaluate(self, x: Bits) -> Fitness:
        """Do the same, but count and remember nothing yet: `commit` does, once the answer has arrived."""
        values, known = self._known(x)
        self._note_best(x[known], self.caller.sign * values[known])
        asked, duplicates = x[~known], 0
        if len(asked) and self.deduplicate:
            first, inverse = distinct(asked)
            values[~known] = self._carry_out(asked[first])[inverse]
            duplicates = len(asked) - len(first)
        elif len(asked):
            values[~known] = self._carry_out(asked)
        self._known_before = int(known.sum()) + duplicates
        return self.caller.sign * values

    def commit(self) -> None:
        """Count and remember the answers of a batch that is complete."""
        for x, values in self._partial:
            self._carried_out += len(values)
            if self.deduplicate:
                self._remembered(x.shape[1]).add(x, values)
        for x, values, failures in self._failing:
            self.failed += len(x)
            self.failures += failures[: FAILURES_KEPT - len(self.failures)]
            if self.deduplicate:  # what hangs or dies once will do so again
                self._remembered(x.shape[1]).add(x, values)
        self.cached += self._known_before
        self.batches += 1
        self._partial, self._failing, self._known_before = [], [], 0

    def pending_best(self) -> tuple[Bits, float] | None:
        return self.best

    def state(self) -> State:
        """Give what was counted and is known, as of the last whole batch, and the answers that came since."""
        memory = {} if self._memory is None else self._memory.state()
        arrays: dict[str, NDArray[Any]] = {f"memory/{name}": array for name, array in memory.items()}
        if came := self._resumed + self._partial:
            arrays["partial"] = np.concatenate([rows for rows, _ in came])
            arrays["partial_values"] = np.concatenate([values for _, values in came])
        failures: list[Json] = [[failure.x, failure.error] for failure in self.failures]
        counts: dict[str, Json] = {
            "batches": self.batches,
            "evaluated": self._carried_out,
            "cached": self.cached,
            "failed": self.failed,
        }
        return State(arrays=arrays, fields={**counts, "failures": failures})

    def restore(self, state: State) -> None:
        """Go on where another evaluator stood when it gave its state."""
        n = self.n
        self.batches = state.whole("batches")
        self._carried_out = state.whole("evaluated")
        self.cached, self.failed = state.whole("cached"), state.whole("failed")
        self.failures = [Failure(*map(str, one)) for one in state.listed("failures") if isinstance(one, list)]
        memory = {
            name.removeprefix("memory/"): array for name, array in state.arrays.items() if name.startswith("memory/")
        }
        self._memory = MemoryCache.from_state(n, memory) if memory else None
        if "partial" in state.arrays:
            rows, values = state.bits("partial", n), state.numbers("partial_values", like="partial")
            self._resumed = [(rows, values)]
            self._note_best(rows, self.caller.sign * values)

    def _remembered(self, n: int) -> MemoryCache:
        if self._memory is None:
            self._memory = MemoryCache(n)
        return self._memory

    def _known(self, x: Bits) -> tuple[Fitness, NDArray[np.bool_]]:
        """Look rows up: in memory, then in the cache that others share."""
        if not self.deduplicate and self._memory is None:
            return np.full(len(x), np.nan), np.zeros(len(x), dtype=np.bool_)
        values, known = self._remembered(x.shape[1]).find(x)
        if self.cache is not None and not known.all():
            elsewhere, found = self.cache.find(self._own(x[~known]))
            for rows, _ in self._resumed:  # these were carried out, by the run that this one goes on with
                found &= ~_among(x[~known], rows)
            found &= elsewhere != self.caller.sign * np.inf  # infeasible to who has looked for the other side
            places = np.flatnonzero(~known)[found]
            values[places], known[places] = elsewhere[found], True
            self._remembered(x.shape[1]).add(x[places], elsewhere[found])
        return values, known

    def _own(self, x: Bits) -> Bits:
        """Give rows in the order of the objective's own variables."""
        return x if self.order is None else np.ascontiguousarray(x[:, self.order])

    def _carry_out(self, x: Bits) -> Fitness:
        """Evaluate rows, as often as the policy says; those that fail for good are the worst there is."""
        rows = self._own(x)
        values, todo = self._answered_before(x)
        errors: dict[int, str] = {}
        causes: dict[int, BaseException] = {}
        for attempt in range(1 + self.on_error.retries if len(todo) else 0):
            stop_early = attempt == self.on_error.retries and not self.on_error.worst
            errors, causes = {}, {}
            for indices, answers in self._answers(rows[todo], first_failure_only=stop_early):
                places = todo[indices]
                self._note(x, rows, places, answers.values, values)
                errors |= {int(places[index]): error for index, error in answers.errors.items()}
                causes |= {int(places[index]): cause for index, cause in answers.causes.items()}
                if errors and stop_early:
                    self._raise(rows, errors, causes)
                self._check_time(errors)
            todo = np.array(sorted(errors), dtype=np.intp)
            if not errors:
                break
        self._give_up(x, rows, errors, values)
        return values

    def _answered_before(self, x: Bits) -> tuple[Fitness, NDArray[np.intp]]:
        """Give the values that came before the run was broken off, and the rows that are left."""
        values, found = np.full(len(x), np.nan), np.full(len(x), np.nan)
        if self._resumed:
            came: dict[bytes, deque[float]] = {}  # without deduplication a row may have come more than once
            for rows, numbers in self._resumed:
                for row, number in zip(rows, numbers.tolist(), strict=True):
                    came.setdefault(row.tobytes(), deque()).append(number)
            for index, row in enumerate(x):
                if waiting := came.get(row.tobytes()):
                    found[index] = waiting.popleft()
            self._resumed = []
            self._note(x, None, np.arange(len(x)), found, values)
        return values, np.flatnonzero(np.isnan(values))

    def _answers(self, rows: Bits, *, first_failure_only: bool) -> Iterator[tuple[NDArray[np.intp], Answers]]:
        if self._engine is None:
            self._engine = self._start()
        return self._engine.answers(rows, first_failure_only=first_failure_only)

    def _start(self) -> _Engine:
        """Start whoever evaluates: nobody else, our own processes, or somebody's executor."""
        if self.executor is not None:
            function = ChunkFunction(self.caller) if self.timeout is None else TimedFunction(self.caller, self.timeout)
            return Dispatcher(ExecutorPool(self.executor, function))
        if self.timeout is not None:  # only the end of its process ends a function that hangs
            return Dispatcher(ProcessPool(self.workers, RowsFunction(self.caller)), timeout=self.timeout, in_parts=True)
        if self.workers > 1:
            return Dispatcher(ProcessPool(self.workers, ChunkFunction(self.caller)))
        return Serial(self.caller)

    def _note(self, x: Bits, rows: Bits | None, places: NDArray[np.intp], came: Fitness, values: Fitness) -> None:
        """Keep what came, whatever may happen next."""
        good = ~np.isnan(came)
        places, found = places[good], came[good]
        if len(places):
            values[places] = found
            self._partial.append((x[places], found))
            if self.cache is not None and rows is not None:
                self.cache.add(rows[places], found)
            self._note_best(x[places], self.caller.sign * found)
        if self.listener is not None:
            self.listener()

    def _note_best(self, x: Bits, fitness: Fitness) -> None:
        if len(fitness):
            i = int(np.argmax(fitness))
            if self.best is None or fitness[i] > self.best[1]:
                self.best = x[i].copy(), float(fitness[i])

    def _raise(self, rows: Bits, errors: dict[int, str], causes: dict[int, BaseException]) -> None:
        index = min(errors)
        others = f" ({len(errors)} of {len(rows)} rows failed so far)" if len(errors) > 1 else ""
        raise ObjectiveError(errors[index] + others) from causes.get(index)

    def _check_time(self, errors: dict[int, str]) -> None:
        """Break off when the time is over, and there is something to show for it."""
        if self.deadline is None or time.monotonic() <= self.deadline:
            return
        if self.best is not None:
            raise OutOfTime
        if errors:
            first = errors[min(errors)]
            raise ObjectiveError(f"the time is used up, and no row has a value yet; the first failed so: {first}")

    def _give_up(self, x: Bits, rows: Bits, errors: dict[int, str], values: Fitness) -> None:
        """Count rows that failed for good as the worst, and write them down."""
        if not errors:
            return
        if len(errors) == len(rows) and self.evaluations == 0 and self.best is None:  # nor was any known from before
            index = min(errors)
            raise ObjectiveError(f"every one of the first {len(rows)} rows failed, the first so: {errors[index]}")
        failed = np.array(sorted(errors), dtype=np.intp)
        values[failed] = -self.caller.sign * math.inf
        failures = [Failure(to_text(rows[index]), errors[int(index)]) for index in failed[:FAILURES_KEPT]]
        self._failing.append((x[failed], values[failed], failures))


def _among(x: Bits, rows: Bits) -> NDArray[np.bool_]:
    """Whether each row of x is one of some rows."""
    known = {row.tobytes() for row in rows}
    return np.array([row.tobytes() in known for row in x], dtype=np.bool_)
