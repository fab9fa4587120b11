"""daedal finds good bit strings for black-box functions."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daedal import models as models
    from daedal import problems as problems
    from daedal.evaluation.caller import ObjectiveError as ObjectiveError
    from daedal.evaluation.failures import Failure as Failure
    from daedal.limits import Limits as Limits
    from daedal.limits import StopReason as StopReason
    from daedal.objectives.program import Program as Program
    from daedal.optimize import maximize as maximize
    from daedal.optimize import minimize as minimize
    from daedal.optimize import resume as resume
    from daedal.optimizers.base import BaseOptimizer as BaseOptimizer
    from daedal.optimizers.base import Best as Best
    from daedal.optimizers.base import Generation as Generation
    from daedal.optimizers.base import Optimizer as Optimizer
    from daedal.optimizers.configuration import Algorithm as Algorithm
    from daedal.optimizers.configuration import Configuration as Configuration
    from daedal.optimizers.eda import EDA as EDA
    from daedal.optimizers.eda import EDAConfiguration as EDAConfiguration
    from daedal.optimizers.registry import algorithms as algorithms
    from daedal.optimizers.registry import register_algorithm as register_algorithm
    from daedal.problems.registry import ProblemKind as ProblemKind
    from daedal.problems.registry import problem_kinds as problem_kinds
    from daedal.problems.registry import register_problem as register_problem
    from daedal.result import Result as Result
    from daedal.types import Bits as Bits
    from daedal.types import Fitness as Fitness
    from daedal.types import State as State

    __version__: str

_HOMES = {
    "BaseOptimizer": "optimizers.base",
    "Best": "optimizers.base",
    "Generation": "optimizers.base",
    "Optimizer": "optimizers.base",
    "Algorithm": "optimizers.configuration",
    "Configuration": "optimizers.configuration",
    "EDA": "optimizers.eda",
    "EDAConfiguration": "optimizers.eda",
    "algorithms": "optimizers.registry",
    "register_algorithm": "optimizers.registry",
    "ProblemKind": "problems.registry",
    "problem_kinds": "problems.registry",
    "register_problem": "problems.registry",
    "Program": "objectives.program",
    "ObjectiveError": "evaluation.caller",
    "Failure": "evaluation.failures",
    "Limits": "limits",
    "StopReason": "limits",
    "Result": "result",
    "Bits": "types",
    "Fitness": "types",
    "State": "types",
    "maximize": "optimize",
    "minimize": "optimize",
    "resume": "optimize",
}
"""Where the public names live; each is loaded when it is first used, because loading all of them takes a second."""

__all__ = [*_HOMES, "__version__", "models", "problems"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"daedal.{_HOMES[name]}"), name)
    elif name in ("models", "problems"):
        return importlib.import_module(f"daedal.{name}")
    elif name == "__version__":
        value = importlib.import_module("importlib.metadata").version("daedal")
    else:
        raise AttributeError(f"module 'daedal' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
