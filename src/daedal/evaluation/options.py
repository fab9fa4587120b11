"""Options of evaluations: workers, timeout, and the failure policy."""

from __future__ import annotations

import dataclasses
import math
import os
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING

from daedal.settings.parameters import plain
from daedal.types import Json

if TYPE_CHECKING:
    from concurrent.futures import Executor

EXECUTOR_TIMEOUT = 60.0
"""Seconds without a sign of Dask's scheduler or of any of its workers after which they count as lost."""

MOST_WORKERS = 10_000
"""Limit of worker processes, against typing errors."""


def check_executor_timeout(seconds: float) -> float:
    """Return the seconds as a float; refuse other values."""
    if not isinstance(seconds, Real) or isinstance(seconds, bool) or not 0 < seconds < math.inf:
        raise ValueError(
            f"expected executor_timeout (--dask-timeout) to be a number of seconds above 0, got {seconds!r}"
        )
    return float(seconds)


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class OnError:
    """Failure policy: retries of a candidate, and whether one that failed for good counts as the worst."""

    retries: int = 0
    worst: bool = False

    @classmethod
    def read(cls, text: str) -> OnError:
        """Read "raise", "worst", "retry:3" (then raise) or "retry:3,worst" (then count as worst)."""
        if text in ("raise", "worst"):
            return cls(worst=text == "worst")
        if isinstance(text, str) and text.startswith("retry:"):
            number, comma, then = text.removeprefix("retry:").partition(",")
            if number.isdigit() and int(number) > 0 and (then in ("worst", "raise") or not comma):
                return cls(retries=int(number), worst=then == "worst")
        raise ValueError(f"expected on_error to be raise, worst, retry:N or retry:N,worst, got on_error={text!r}")


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """Options of evaluations; see `maximize`."""

    workers: int = 1
    executor: Executor | None = None
    executor_timeout: float = EXECUTOR_TIMEOUT
    on_error: str = "raise"  # see `OnError`
    timeout: float | None = None  # seconds per evaluation
    asynchronous: bool = False
    deduplicate: bool = True

    def __post_init__(self) -> None:
        whole = isinstance(self.workers, Integral) and not isinstance(self.workers, bool)
        if not whole or not 1 <= self.workers <= MOST_WORKERS:
            expected = f"a whole number of at least 1, and at most {MOST_WORKERS:,}"
            raise ValueError(f"expected workers to be {expected}, got workers={self.workers!r}")
        if self.executor is not None and not callable(getattr(self.executor, "submit", None)):
            raise TypeError(f"expected an executor with a submit method, got executor={self.executor!r}")
        if self.executor is not None and self.workers != 1:
            raise ValueError("workers and executor cannot be combined; the executor has its own workers")
        number = isinstance(self.timeout, Real) and not isinstance(self.timeout, bool)
        if self.timeout is not None and not (number and self.timeout > 0):
            raise ValueError(f"expected timeout to be a number of seconds above 0, got timeout={self.timeout!r}")
        check_executor_timeout(self.executor_timeout)
        OnError.read(self.on_error)

    def to_json(self) -> dict[str, Json]:
        """Return the options that a run file keeps: all but the executor and its timeout."""
        return {
            field.name: plain(getattr(self, field.name))
            for field in dataclasses.fields(self)
            if not field.name.startswith("executor")
        }


DEFAULTS = EvaluationOptions()
