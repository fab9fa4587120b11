"""daedal finds good bit strings for functions that nobody can look into."""

from importlib.metadata import version

from daedal import models, problems
from daedal.evaluation.caller import ObjectiveError
from daedal.evaluation.failures import Failure
from daedal.limits import Limits, StopReason
from daedal.objectives.program import Program
from daedal.optimize import maximize, minimize, resume
from daedal.optimizers.base import Best, Generation, Optimizer
from daedal.optimizers.eda import EDA
from daedal.optimizers.presets import Algorithm, Rules, algorithms, register_algorithm
from daedal.problems.registry import ProblemKind, problem_kinds, register_problem
from daedal.result import Result
from daedal.types import Bits, Fitness

__version__ = version("daedal")

__all__ = [
    "EDA",
    "Algorithm",
    "Best",
    "Bits",
    "Failure",
    "Fitness",
    "Generation",
    "Limits",
    "ObjectiveError",
    "Optimizer",
    "ProblemKind",
    "Program",
    "Result",
    "Rules",
    "StopReason",
    "__version__",
    "algorithms",
    "maximize",
    "minimize",
    "models",
    "problem_kinds",
    "problems",
    "register_algorithm",
    "register_problem",
    "resume",
]
