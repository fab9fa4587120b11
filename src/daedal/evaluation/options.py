"""By what means evaluations are made: workers, caches, what happens when one fails."""

from __future__ import annotations

import dataclasses
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass
from numbers import Integral, Real

from daedal.evaluation.evaluator import Evaluator
from daedal.evaluation.failures import OnError
from daedal.evaluation.sqlite_cache import SQLiteCache
from daedal.objectives.bound import BoundObjective
from daedal.settings.parameters import plain
from daedal.types import Json


@dataclass(frozen=True, kw_only=True)
class EvaluationOptions:
    """By what means evaluations are made: see `maximize`."""

    workers: int = 1
    executor: Executor | None = None
    on_error: str = "raise"
    timeout: float | None = None
    deduplicate: bool = True
    cache: str | None = None
    name: str | None = None
    version: str = ""

    def __post_init__(self) -> None:
        whole = isinstance(self.workers, Integral) and not isinstance(self.workers, bool)
        if not whole or self.workers < 1:
            raise ValueError(f"expected workers to be a whole number of at least 1, got workers={self.workers!r}")
        if self.executor is not None and not callable(getattr(self.executor, "submit", None)):
            raise TypeError(f"expected an executor with a submit method, got executor={self.executor!r}")
        if self.executor is not None and self.workers != 1:
            raise ValueError("expected workers or an executor, got both; the executor has workers of its own")
        number = isinstance(self.timeout, Real) and not isinstance(self.timeout, bool)
        if self.timeout is not None and not (number and self.timeout > 0):
            raise ValueError(f"expected timeout to be a number of seconds above 0, got timeout={self.timeout!r}")
        if self.cache is not None and not self.deduplicate:
            raise ValueError("expected a cache or deduplicate=False, got both: a cache gives every row one value")
        OnError.read(self.on_error)

    def evaluator(self, task: BoundObjective, *, sign: int, closing: ExitStack) -> Evaluator:
        """Make the evaluator; what has to be closed after the run is given to `closing`."""
        return Evaluator(
            task.objective,
            vectorized=task.vectorized,
            sign=sign,
            dtype=task.dtype,
            order=task.places,
            deduplicate=self.deduplicate,
            cache=None if self.cache is None else closing.enter_context(self._file(task)),
            workers=self.workers,
            executor=self.executor,
            on_error=OnError.read(self.on_error),
            timeout=self.timeout,
        )

    def _file(self, task: BoundObjective) -> SQLiteCache:
        name = self.name or task.cache_name()
        if name is None:
            raise ValueError(
                f"expected a name for the values of {task.name} in the cache: name=... (--name); a version, too, if "
                "the objective will change"
            )
        assert self.cache is not None
        return SQLiteCache(self.cache, n=task.n, objective=name, version=self.version)

    def as_json(self) -> dict[str, Json]:
        """Give what a checkpoint keeps: all but the executor."""
        kept = [field.name for field in dataclasses.fields(self) if field.name != "executor"]
        return {**{name: plain(getattr(self, name)) for name in kept}, "version": str(self.version)}
