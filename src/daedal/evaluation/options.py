"""By what means evaluations are made: workers, caches, what happens when one fails."""

from __future__ import annotations

import dataclasses
from concurrent.futures import Executor
from dataclasses import dataclass
from numbers import Integral, Real

from daedal.evaluation.failures import OnError
from daedal.settings.parameters import plain
from daedal.types import Json, State, StateError


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

    def to_json(self) -> dict[str, Json]:
        """Give what a checkpoint keeps: all but the executor."""
        kept = [field.name for field in dataclasses.fields(self) if field.name != "executor"]
        return {**{name: plain(getattr(self, name)) for name in kept}, "version": str(self.version)}

    @classmethod
    def from_json(cls, kept: State) -> EvaluationOptions:
        known = {one.name for one in dataclasses.fields(cls)} - {"executor"}
        odd = [name for name in kept.fields if name not in known]
        if odd:
            raise StateError(f"expected evaluation options, got {odd[0]!r}")
        return cls(**kept.fields)  # type: ignore[arg-type]
