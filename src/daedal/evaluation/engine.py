"""Who evaluates: this process, processes of our own, or somebody's executor."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from daedal.evaluation.caller import Answers, Caller, Places
from daedal.evaluation.options import EvaluationOptions
from daedal.evaluation.serial import Serial
from daedal.types import Bits


class Engine(Protocol):
    """Evaluates rows: `Serial`, or a `Dispatcher` with a pool."""

    def answers(self, rows: Bits, *, first_failure_only: bool) -> Iterable[tuple[Places, Answers]]:
        """Evaluate rows; give which, and their answers, as they come."""

    def close(self) -> None:
        """End whatever works."""


def start_engine(
    caller: Caller,
    options: EvaluationOptions,
    *,
    on_exit: Callable[[], object] | None,
    seconds_between_notes: float,
) -> Engine:
    """Start whoever evaluates; what is not needed is not loaded."""
    if options.executor is None and options.workers == 1 and options.timeout is None:
        return Serial(caller, seconds_between_notes=seconds_between_notes)
    from daedal.evaluation.chunks import ChunkFunction, RowsFunction, TimedFunction
    from daedal.evaluation.dispatcher import Dispatcher
    from daedal.evaluation.executor_pool import ExecutorPool
    from daedal.evaluation.process_pool import ProcessPool

    timeout = options.timeout
    if options.executor is not None:
        function = ChunkFunction(caller) if timeout is None else TimedFunction(caller, timeout)
        return Dispatcher(ExecutorPool(options.executor, function))
    if timeout is not None:  # only the end of its process ends a function that hangs
        pool = ProcessPool(options.workers, RowsFunction(caller), on_exit=on_exit)
        return Dispatcher(pool, timeout=timeout, in_parts=True)
    return Dispatcher(ProcessPool(options.workers, ChunkFunction(caller), on_exit=on_exit))
