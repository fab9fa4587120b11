"""Who evaluates: this process, processes of our own, or somebody's executor."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import numpy as np

from daedal.evaluation.caller import Answers, Caller, ObjectiveMisuse, Places
from daedal.evaluation.options import EvaluationOptions
from daedal.types import Bits

SECONDS_BETWEEN_NOTES = 0.1


class Engine(Protocol):
    """Evaluates rows: `Serial`, or a `Dispatcher` with a pool."""

    def answers(self, rows: Bits, *, first_failure_only: bool) -> Iterable[tuple[Places, Answers]]:
        """Evaluate rows; give which, and their answers, as they come."""

    def close(self) -> None:
        """End whatever works."""


def start_engine(
    caller: Caller, options: EvaluationOptions, on_exit: Callable[[], object] | None, seconds_between_notes: float
) -> Engine:
    """Start whoever evaluates; what is not needed is not loaded."""
    if options.executor is None and options.workers == 1 and options.timeout is None:
        return Serial(caller, seconds_between_notes)
    from daedal.evaluation.chunks import ChunkFunction, RowsFunction, TimedFunction
    from daedal.evaluation.dispatcher import Dispatcher
    from daedal.evaluation.executor_pool import ExecutorPool
    from daedal.evaluation.process_pool import ProcessPool

    timeout = options.timeout
    if options.executor is not None:
        function = ChunkFunction(caller) if timeout is None else TimedFunction(caller, timeout)
        workers = ExecutorPool(options.executor, function, timeout=options.executor_timeout)
        return Dispatcher(workers, shown=caller.shown)
    if timeout is not None:  # only the end of its process ends a function that hangs
        pool = ProcessPool(options.workers, RowsFunction(caller), on_exit=on_exit, spare=True)
        return Dispatcher(pool, timeout=timeout, in_parts=True, shown=caller.shown)
    return Dispatcher(ProcessPool(options.workers, ChunkFunction(caller), on_exit=on_exit), shown=caller.shown)


class Serial:
    """Evaluates in this process: a batch at once, or rows one by one, given together every few moments."""

    def __init__(self, caller: Caller, seconds_between_notes: float) -> None:
        self.caller = caller
        self.seconds_between_notes = seconds_between_notes

    def answers(self, rows: Bits, *, first_failure_only: bool) -> Iterable[tuple[Places, Answers]]:
        """Evaluate rows; give which, and their answers, as they come."""
        if not self.caller.vectorized:
            return self._one_by_one(rows, first_failure_only)
        if self.caller.is_one_part(rows):
            return [(slice(0, len(rows)), self.caller.answers(rows, first_failure_only=first_failure_only))]
        answers = self.caller.answers
        return ((part, answers(rows[part], first_failure_only=first_failure_only)) for part in self.caller.parts(rows))

    def _one_by_one(self, rows: Bits, first_failure_only: bool) -> Iterator[tuple[Places, Answers]]:
        stop, ending = 0, None
        while stop < len(rows) and ending is None:
            start, until = stop, time.monotonic() + self.seconds_between_notes
            answers = Answers(np.full(len(rows) - start, np.nan))
            while stop < len(rows) and (stop == start or time.monotonic() <= until):
                try:
                    self.caller.one(rows[start:], stop - start, answers)
                except (KeyboardInterrupt, ObjectiveMisuse) as error:  # what came before it is not lost
                    ending = error
                    break
                stop += 1
                if first_failure_only and answers.errors:
                    break
            answers.cut(stop - start)
            yield slice(start, stop), answers
        if ending is not None:
            raise ending

    def close(self) -> None:
        """Nothing has to end."""
