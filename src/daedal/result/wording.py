"""A result in words: the texts that the terminal, reports and notebooks share, and the card that notebooks show."""

from __future__ import annotations

import html
import math
import os
from typing import TYPE_CHECKING

from daedal.limits import StopReason
from daedal.settings.checks import counted, printable
from daedal.settings.plugins import is_file_spec
from daedal.spaces.variables import Value

if TYPE_CHECKING:
    from daedal.result.result import Result

_MOST_LISTED = 10  # violated constraints
_WIDTH, _HEIGHT, _MOST_POINTS = 220, 36, 120
_BOX = (
    "display:inline-block;box-sizing:border-box;max-width:min(44em,100%);overflow-wrap:anywhere;padding:10px 14px;"
    "border:1px solid #8888;border-radius:6px;line-height:1.5"
)
_SOFT = "opacity:.7;font-size:.9em"


def verdict(result: Result) -> str:
    """Return one or two words for how the run ended."""
    if not result.feasible:
        return "nothing feasible found"
    if result.success is None and result.stop is StopReason.INTERRUPTED:
        return "interrupted"
    return {True: "solved", False: "not solved", None: "done"}[result.success]


def problem_text(result: Result) -> str:
    """Return a name of the objective that fits a title: a file without its folders."""
    if is_file_spec(result.problem):
        return os.path.basename(result.problem)
    return "a function (lambda)" if result.problem == "<lambda>" else result.problem


def fitness_text(result: Result) -> str:
    """Return the best value to ten digits, or a mean to the second digit of its standard error."""
    error = result.standard_error
    if error is None or not math.isfinite(error):
        return f"{result.fitness + 0.0:.10g}"  # no -0
    digits = max(0, 1 - math.floor(math.log10(error))) if error > 0 else 2
    return f"{result.fitness:.{digits}f} +- {error:.{digits}f}"


def effort_text(result: Result) -> str:
    """Return the evaluations, generations and CPU time of a run."""
    free = f" ({free_text(result)})" if result.repeated else ""
    return (
        f"{counted(result.evaluations, 'evaluation')}{free}, the best after {result.evaluations_to_best:,}, "
        f"{counted(result.generations, 'generation')}, {result.cpu_seconds:.1f} s CPU"
    )


def free_text(result: Result) -> str:
    """Return how many candidates were free, because they were repeated or known."""
    return f"{counted(result.repeated, 'repeated candidate')} {'was' if result.repeated == 1 else 'were'} free"


def violation_text(result: Result) -> str:
    """Return by how much x violates constraints; an empty text if it is feasible, or the violation is not known."""
    if result.feasible or not math.isfinite(result.violation):
        return ""
    broken = [(k, amount) for k, amount in enumerate(result.violations, start=1) if amount > 0]
    each = ", ".join(f"{amount:.6g} of constraint {k}" for k, amount in broken[:_MOST_LISTED])
    more = f", {len(broken) - _MOST_LISTED} more" if len(broken) > _MOST_LISTED else ""
    of_which = f" in total: {each}{more}" if len(result.violations) > 1 else ""
    return f"not feasible, by {result.violation:.10g}{of_which}"


def value_text(value: Value) -> str:
    """Return a value as people read it: lists with blanks, yes and no."""
    if isinstance(value, list):
        return " ".join(map(str, value)) if value else "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def short_number(value: float, digits: int = 6) -> str:
    """Return the short form of a number, for ticks and labels.

    Examples
    --------
    >>> [short_number(value) for value in (0.02, 500, 1500, 2e6)]
    ['0.02', '500', '1.5k', '2M']
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.{digits}g}{letter}"
    return f"{value:.{digits}g}"


# ---------------------------------------------------------------- the card of notebooks


def card(result: Result) -> str:
    """Return an HTML card: the best value, the problem, why the run ended, and its effort.

    The report has more, such as interactions: see `Result.report`.
    """
    goal = "" if result.optimum is None else f" of {result.optimum:.10g}"
    name = f" on {problem_text(result)}" if result.problem else ""
    lines = [
        f"<div><b>{_escaped(fitness_text(result) + goal)}</b>, {_escaped(verdict(result))}</div>",
        f'<div style="{_SOFT}">{_escaped(f"{result.algorithm}{name}, seed {result.seed}")}</div>',
        sparkline([record.best for record in result.history]),
        f"<div>{_escaped(result.stop.message)}</div>",
        f'<div style="{_SOFT}">{_escaped(effort_text(result))}</div>',
    ]
    return f'<div style="{_BOX}">{"".join(lines)}</div>'


def sparkline(values: list[float]) -> str:
    """Draw values as a small line in SVG; an empty text if no two differ."""
    step = max(1, -(-len(values) // _MOST_POINTS))
    finite = [value for value in [*values[:-1:step], *values[-1:]] if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    if not high > low or not math.isfinite(high - low):
        return ""
    points = [
        (2 + (_WIDTH - 4) * place / (len(finite) - 1), 2 + (_HEIGHT - 4) * (1 - (value - low) / (high - low)))
        for place, value in enumerate(finite)
    ]
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="best value by generation">'
        f'<polyline points="{drawn}" fill="none" stroke="#3f7fbd" stroke-width="2"/></svg>'
    )


def _escaped(text: str) -> str:
    return html.escape(printable(text))
