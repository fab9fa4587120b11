"""A stand-in for the package ioh, which the tests cannot rely on, and what else tests of PBO share."""

from __future__ import annotations

import enum
import math
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from daedal.problems import registry


def skip_without_ioh(spec: str) -> None:
    """Skip a test of a problem that needs ioh, where that is missing."""
    if spec.startswith("pbo"):
        pytest.importorskip("ioh", reason="the extra ioh is not installed")


class ProblemClass(enum.Enum):
    PBO = 1
    INTEGER = 2


class OptimizationType(enum.Enum):
    MAX = 1
    MIN = -1


class Problem:
    """Counts ones, weighted by the number of the function; as ioh's, it counts calls and tells its logger."""

    def __init__(self, function: int, instance: int, n: int, answer: Any = None) -> None:
        self.meta_data = types.SimpleNamespace(problem_id=function, instance=instance, name=f"Ones{function}")
        self.optimum = types.SimpleNamespace(x=[1] * n, y=float(function * n * instance))
        self.evaluations = 0
        self.asked: list[int] = []  # rows of each call
        self._answer = answer or (lambda row: float(function * sum(row) * instance))
        self._logger: Analyzer | None = None

    def __call__(self, x: list[Any]) -> Any:
        many = isinstance(x[0], list)
        self.asked.append(len(x) if many else 1)
        values = [self._one(row) for row in (x if many else [x])]
        return values if many else values[0]

    def _one(self, row: list[int]) -> float:
        value: float = self._answer(row)
        self.evaluations += 1
        if self._logger is not None:
            self._logger.lines.append((self.evaluations, tuple(row), value))
        return value

    def set_id(self, number: int) -> None:
        self.meta_data.problem_id = number

    def set_name(self, name: str) -> None:
        self.meta_data.name = name

    def attach_logger(self, logger: Analyzer) -> None:
        self._logger = logger

    def reset(self) -> None:
        self.evaluations = 0


class Analyzer:
    """Keeps all that it is told."""

    opened: list[Analyzer]

    def __init__(self, *, root: str, folder_name: str, **words: Any) -> None:
        self.folder, self.words = Path(root) / folder_name, words
        self.lines: list[tuple[int, tuple[int, ...], float]] = []
        self.attributes: dict[str, float] = {}
        self.closed = 0
        type(self).opened.append(self)

    def add_run_attribute(self, name: str, value: float) -> None:
        self.attributes[name] = value

    def close(self) -> None:
        self.closed += 1


def get_problem(function: int, instance: int, n: int, kind: ProblemClass) -> Problem:
    assert kind is ProblemClass.PBO
    if n == 13:
        raise IndexError("vector::_M_range_check:\n13")
    return Problem(function, instance, n)


def wrap_problem(answer: Any, *, dimension: int, instance: int, optimization_type: Any, **_: Any) -> Problem:
    made = Problem(0, instance, dimension, answer)
    made.optimum.y = math.inf * optimization_type.value
    return made


def install(patch: pytest.MonkeyPatch) -> types.ModuleType:
    """Put the stand-in where ioh would be; no problem that was made with the one is used with the other."""
    module = types.ModuleType("ioh")
    Analyzer.opened = []
    trigger = types.SimpleNamespace(OnImprovement=object)
    parts: dict[str, Any] = {
        "ProblemClass": ProblemClass,
        "OptimizationType": OptimizationType,
        "get_problem": get_problem,
        "wrap_problem": wrap_problem,
        "logger": types.SimpleNamespace(Analyzer=Analyzer, trigger=trigger),
    }
    vars(module).update(parts)
    patch.setitem(sys.modules, "ioh", module)
    registry._made.cache_clear()
    return module
