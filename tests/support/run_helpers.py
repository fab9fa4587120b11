"""What tests of runs share: how results are compared, objectives that break off, clocks and disks of one's own."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import daedal
from daedal.evaluation.options import EvaluationOptions
from daedal.limits import Limits
from daedal.optimizers import registry as algorithm_registry
from daedal.optimizers.registry import find_algorithm
from daedal.problems import registry as problem_registry
from daedal.run.config import RunConfig
from daedal.storage.checkpoint_file import read_checkpoint_file, write_checkpoint_file

EXAMPLES = Path(__file__).parents[2] / "examples"
OWN_ALGORITHM = f"{EXAMPLES / 'own_algorithm.py'}:HillClimber"
OWN_MODEL = f"{EXAMPLES / 'own_model.py'}:Copies"

PAUSE = 0.12
"""Seconds after which rows that are evaluated one by one are noted down, and a little more."""


def sized(algorithm: str, popsize: int) -> dict[str, Any]:
    """Give a population size as a keyword, for an algorithm that has one."""
    return {"popsize": popsize} if "popsize" in find_algorithm(algorithm).settings() else {}


def told(result: daedal.Result) -> dict[str, Any]:
    """Give all that a result tells, but for the clocks and what the objective is called; signs of zeros too."""
    fields = {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    del fields["problem"], fields["again"]
    fields["x"] = (str(result.x.dtype), result.x.tolist())
    fields["history"] = [repr(without_clocks(record)) for record in result.history]
    fields["trace"] = None if result.trace is None else shown_trace(result.trace)
    return {name: value for name, value in fields.items() if "seconds" not in name}


def without_clocks(record: daedal.Generation) -> daedal.Generation:
    return dataclasses.replace(record, cpu_seconds=0.0, seconds=0.0, objective_seconds=0.0)


def shown_trace(trace: daedal.Trace) -> dict[str, Any]:
    """Give all of a trace as values that can be compared: nan is nan."""
    fields = {field.name: getattr(trace, field.name) for field in dataclasses.fields(trace)}
    fields["curves"] = [(one.generation, one.epochs.tolist(), one.errors.tolist()) for one in trace.curves]
    return {
        name: (str(value.dtype), value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value
        for name, value in fields.items()
    }


def at(generation: int) -> Callable[[daedal.Generation], bool]:
    """Stop after a generation."""
    return lambda record: record.generation == generation


def score(row: Any) -> float:
    return float((row * np.arange(len(row))).sum() % 7)


def batch(x: Any) -> Any:
    return np.array([score(row) for row in x])


class Rows:
    """A function of one row that remembers its calls; raises in one of them, and takes long in another."""

    def __init__(
        self, raises: int | None = None, error: type[BaseException] = KeyboardInterrupt, *, pauses: int | None = None
    ) -> None:
        self.raises = raises
        self.error = error
        self.pauses = pauses
        self.calls: list[str] = []

    def __call__(self, row: Any) -> float:
        if len(self.calls) + 1 == self.raises:
            raise self.error
        self.calls.append("".join(map(str, row)))
        if len(self.calls) == self.pauses:
            time.sleep(PAUSE)
        return score(row)


def config(objective: Any, n: int | None = None, **how: Any) -> RunConfig:
    """Describe a run as `maximize` does."""

    def taken(kind: type) -> Any:
        return kind(**{one.name: how.pop(one.name) for one in dataclasses.fields(kind) if one.name in how})

    algorithm, limits, evaluation = (
        find_algorithm(how.pop("algorithm", "umda")),
        taken(Limits),
        taken(EvaluationOptions),
    )
    own = {name: how.pop(name) for name in ("seed", "minimize", "vectorized", "initial") if name in how}
    chosen = algorithm.with_settings(how)
    return RunConfig(objective=objective, n=n, algorithm=chosen, limits=limits, evaluation=evaluation, **own)


def rewrite(path: Path, changes: Mapping[str, Mapping[str, Any]]) -> None:
    """Change some fields of a checkpoint: part, name, value."""
    arrays, fields = read_checkpoint_file(path)
    for part, values in changes.items():
        inner = fields[part]
        assert isinstance(inner, dict)
        inner.update(values)
    write_checkpoint_file(path, arrays=arrays, fields=fields)


@contextmanager
def registries_restored() -> Iterator[None]:
    """Forget what is registered meanwhile."""
    known = [algorithm_registry._registered, problem_registry._PROBLEMS]
    before = [dict(names) for names in known]
    try:
        yield
    finally:
        for now, then in zip(known, before, strict=True):
            now.clear()
            now.update(then)  # type: ignore[arg-type]
