"""daedal finds good bit strings for functions that nobody can look into."""

from importlib.metadata import version

from daedal import models, problems
from daedal.bits import Bits, Fitness
from daedal.calling import ObjectiveError
from daedal.eda import EDA
from daedal.external import Program
from daedal.failures import Failure
from daedal.optimize import maximize, minimize, resume
from daedal.optimizer import Best, Generation, Optimizer
from daedal.presets import Algorithm, Rules, algorithms, register_algorithm
from daedal.registry import ProblemKind, problem_kinds, register_problem
from daedal.result import Result
from daedal.stopping import Limits, StopReason

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
