"""A result in words: what the terminal, cards and pages say alike."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from daedal.settings.checks import counted
from daedal.settings.plugins import is_file_spec
from daedal.spaces.variables import Value

if TYPE_CHECKING:
    from daedal.result.result import Result

_MOST_LISTED = 10  # constraints that are violated


def verdict(result: Result) -> str:
    """Say in two words how it went."""
    if not result.feasible:
        return "nothing feasible found"
    return {True: "solved", False: "not solved", None: "done"}[result.success]


def problem_text(result: Result) -> str:
    """Call the objective by a name that fits a title: a file without its folders, and a lambda as what it is."""
    if is_file_spec(result.problem):
        return os.path.basename(result.problem)
    return "a function (lambda)" if result.problem == "<lambda>" else result.problem


def fitness_text(result: Result) -> str:
    """Write a value to ten digits, and a mean with as many as its standard error has two of."""
    error = result.standard_error
    if error is None or not math.isfinite(error):
        return f"{result.fitness + 0.0:.10g}"  # no -0
    digits = max(0, 1 - math.floor(math.log10(error))) if error > 0 else 2
    return f"{result.fitness:.{digits}f} +- {error:.{digits}f}"


def effort_text(result: Result) -> str:
    """Say what a run has cost."""
    free = f" ({free_text(result)})" if result.cached else ""
    return (
        f"{counted(calls_of(result), 'call')} of the objective{free}, "
        f"the best after {counted(result.evaluations_to_best, 'row')}, "
        f"{counted(result.generations, 'generation')}, {result.cpu_seconds:.1f} s CPU"
    )


def calls_of(result: Result) -> int:
    """Give how many rows the objective was called for, which is what `max_evaluations` limits."""
    return result.evaluated + result.failed


def free_text(result: Result) -> str:
    """Say how many rows came again, or were in a cache, and cost no call."""
    return f"{counted(result.cached, 'repeated row')} {'was' if result.cached == 1 else 'were'} free"


def evaluations_title(*, repeated: bool) -> str:
    """Call an axis of evaluations, which has more than calls of the objective where rows came again."""
    return "evaluations, repeated rows included" if repeated else "evaluations"


def violation_text(result: Result) -> str:
    """Say by how much x is not feasible; nothing where it is, or nobody knows."""
    if result.feasible or not math.isfinite(result.violation):
        return ""
    broken = [(k, amount) for k, amount in enumerate(result.violations, start=1) if amount > 0]
    each = ", ".join(f"{amount:.6g} of constraint {k}" for k, amount in broken[:_MOST_LISTED])
    more = f", {len(broken) - _MOST_LISTED} more" if len(broken) > _MOST_LISTED else ""
    of_which = f" in sum: {each}{more}" if len(result.violations) > 1 else ""
    return f"not feasible, by {result.violation:.10g}{of_which}"


def value_text(value: Value) -> str:
    """Write a value for eyes; texts as they are, lists with blanks."""
    if isinstance(value, list):
        return " ".join(map(str, value)) if value else "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def short_number(value: float, digits: int = 6) -> str:
    """Write the number of a tick or a label.

    Examples
    --------
    >>> [short_number(value) for value in (0.02, 500, 1500, 2e6)]
    ['0.02', '500', '1.5k', '2M']
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.{digits}g}{letter}"
    return f"{value:.{digits}g}"
