"""How evaluations are made: workers, caches, what happens when one fails."""

from __future__ import annotations

import dataclasses
import math
import os
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING

from daedal.evaluation.failures import OnError
from daedal.settings.parameters import plain
from daedal.types import Json, State, StateError

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
"""Processes: more than any machine here holds, so that a slip of the pen does not bring it down."""


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
    deduplicate: bool = True  # whether a row that comes again has the value that it had before, without a call
    cache: str | None = None  # the file in which values are kept beyond this run
    name: str | None = None  # of the objective there
    version: str = ""

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
        if self.cache is not None and not self.deduplicate:
            raise ValueError("expected a cache or deduplicate=False, got both: a cache gives every row one value")
        OnError.read(self.on_error)

    def to_json(self) -> dict[str, Json]:
        """Give what a checkpoint keeps: all but the executor, and what is about it."""
        return {**{name: plain(getattr(self, name)) for name in _KEPT}, "version": str(self.version)}

    @classmethod
    def from_json(cls, state: State) -> EvaluationOptions:
        """Make the options that `to_json` gave."""
        odd = [name for name in state.fields if name not in _KEPT]
        if odd:
            raise StateError(f"expected only {', '.join(_KEPT)} as options of evaluations, got {odd[0]!r}")
        return cls(
            workers=min(state.whole("workers"), MOST_WORKERS),
            on_error=state.text("on_error"),
            timeout=state.number("timeout") if state.given("timeout") else None,
            deduplicate=state.truth("deduplicate"),
            cache=state.text("cache") if state.given("cache") else None,
            name=state.text("name") if state.given("name") else None,
            version=state.text("version"),
        )


_KEPT = tuple(field.name for field in dataclasses.fields(EvaluationOptions) if not field.name.startswith("executor"))
DEFAULTS = EvaluationOptions()
