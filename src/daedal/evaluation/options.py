"""How evaluations are made: workers, and what happens when one fails."""

from __future__ import annotations

import dataclasses
import math
import os
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING

from daedal.evaluation.failures import OnError
from daedal.settings.parameters import plain
from daedal.types import Json

if TYPE_CHECKING:
    from concurrent.futures import Executor


EXECUTOR_TIMEOUT = 60.0
"""Seconds without a sign of Dask's scheduler, or of any worker there, after which it is lost."""


def check_executor_timeout(seconds: float) -> float:
    """Refuse what is no time."""
    if not isinstance(seconds, Real) or isinstance(seconds, bool) or not 0 < seconds < math.inf:
        raise ValueError(
            f"expected executor_timeout (--dask-timeout) to be a number of seconds above 0, got {seconds!r}"
        )
    return float(seconds)


MOST_WORKERS = 10_000
"""Processes: more than any machine here holds, which guards against a typo."""


def available_cores() -> int:
    """Say how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """How evaluations are made: see `maximize`."""

    workers: int = 1
    executor: Executor | None = None
    executor_timeout: float = EXECUTOR_TIMEOUT
    on_error: str = "raise"  # see `OnError`
    timeout: float | None = None  # seconds that one evaluation may take
    asynchronous: bool = False  # whether each worker gets the next candidate as soon as it is free
    deduplicate: bool = True  # whether a row that comes again has the value that it had before, without a call

    def __post_init__(self) -> None:
        whole = isinstance(self.workers, Integral) and not isinstance(self.workers, bool)
        if not whole or not 1 <= self.workers <= MOST_WORKERS:
            expected = f"a whole number of at least 1, and at most {MOST_WORKERS:,}"
            raise ValueError(f"expected workers to be {expected}, got workers={self.workers!r}")
        if self.executor is not None and not callable(getattr(self.executor, "submit", None)):
            raise TypeError(f"expected an executor with a submit method, got executor={self.executor!r}")
        if self.executor is not None and self.workers != 1:
            raise ValueError("expected workers or an executor, got both; the executor has workers of its own")
        number = isinstance(self.timeout, Real) and not isinstance(self.timeout, bool)
        if self.timeout is not None and not (number and self.timeout > 0):
            raise ValueError(f"expected timeout to be a number of seconds above 0, got timeout={self.timeout!r}")
        check_executor_timeout(self.executor_timeout)
        OnError.read(self.on_error)

    def to_json(self) -> dict[str, Json]:
        """Return what a run file keeps: all but the executor, and what is about it."""
        return {
            field.name: plain(getattr(self, field.name))
            for field in dataclasses.fields(self)
            if not field.name.startswith("executor")
        }


DEFAULTS = EvaluationOptions()
