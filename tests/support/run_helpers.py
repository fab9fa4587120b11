"""What tests of runs share: how results are compared, objectives that remember their calls, and runs cut short."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import daedal
from daedal.archive import to_candidates
from daedal.evaluation.options import EvaluationOptions
from daedal.limits import Limits
from daedal.problems import registry as problem_registry
from daedal.run.config import RunConfig
from daedal.searches import presets
from daedal.searches.presets import find_algorithm

EXAMPLES = Path(__file__).parents[2] / "examples"
OWN_ALGORITHM = f"{Path(__file__).with_name('own_search.py')}:climber"
OWN_MODEL = f"{EXAMPLES / 'own_model.py'}:Copies"

PAUSE = 0.22
"""Seconds after which evaluations are written to a run file, and a little more."""


def sized(algorithm: str, popsize: int) -> dict[str, Any]:
    """Give a population size as a keyword, for an algorithm that has one."""
    return {"popsize": popsize} if "popsize" in find_algorithm(algorithm).settings() else {}


ALGORITHMS: dict[str, dict[str, Any]] = {
    **{name: {"algorithm": name, **sized(name, 24)} for name in sorted(daedal.algorithms())},
    "own": {"algorithm": OWN_ALGORITHM},
    "own model": {"algorithm": OWN_MODEL, "popsize": 24},
    "umda, doubled": {"algorithm": "umda", "popsize": "auto"},
    "hboa, doubled": {"algorithm": "hboa", "popsize": "auto"},
    "mix, wide": {"algorithm": "mix", "min_batch": 5},
    "ils, wide": {"algorithm": "ils", "min_batch": 5},
}
"""The algorithms under contract, as keywords of `maximize`; a new one is there by being registered."""


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


def ragged(x: Any) -> Any:
    """Return values with many local optima and few ties; the same in float64 for any number of rows."""
    weights = np.sqrt(np.arange(1, x.shape[-1] + 1))
    return np.array([float(sum(w for w, bit in zip(weights, row, strict=True) if bit)) % 5 for row in x])


class Calls:
    """A function of a batch that remembers what it was called for, one candidate at a time, as integers.

    Parameters
    ----------
    function
        Evaluates rows, shape (rows, n).
    interrupted_at
        The number of the evaluation, from 1 on, in which Ctrl-C is pressed.
    """

    def __init__(self, function: Callable[[Any], Any] = ragged, interrupted_at: int | None = None) -> None:
        self.function = function
        self.interrupted_at = interrupted_at
        self.seen: list[int] = []

    def __call__(self, row: Any) -> Any:
        if len(self.seen) + 1 == self.interrupted_at:
            raise KeyboardInterrupt
        self.seen += to_candidates(np.asarray(row, np.uint8)[None])
        answer = self.function(np.asarray(row)[None])
        return (answer[0][0], answer[1][0]) if isinstance(answer, tuple) else answer[0]


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


@contextmanager
def registries_restored() -> Iterator[None]:
    """Forget what is registered meanwhile."""
    known = [presets._registered, problem_registry._PROBLEMS]
    before = [dict(names) for names in known]
    try:
        yield
    finally:
        for now, then in zip(known, before, strict=True):
            now.clear()
            now.update(then)  # type: ignore[arg-type]
