"""A result for eyes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from daedal.cli.again import write_command
from daedal.cli.output import write_line
from daedal.result import Result
from daedal.settings.texts import printable
from daedal.spaces.plain import Value
from daedal.types import to_text

MARGIN = 8
"""Columns for what a line is about."""

_MOST_LISTED = 10  # constraints that are violated


def show(result: Result, console: Console, *, again: Sequence[str] | None = None) -> None:
    """Write a result, and the words of the command that makes it again, if there is one."""
    console.print()
    write_line(console, _headline(result))
    for name, text in _solution(result):
        console.print(Text(f"{name:<{MARGIN}}{text}"), soft_wrap=True)  # in one piece, to be copied
    lines = [*_violated(result), ("effort", _effort(result)), ("stop", result.stop.message)]
    if result.explanation:
        lines.append(("chosen", printable(result.explanation)))
    if result.failures:
        lines.append(("failed", f"{result.failed:,} rows, the first: {printable(result.failures[0].error)}"))
    for name, text in lines:
        write_line(console, Text(text), margin=f"{name:<{MARGIN}}")
    if again is not None:
        write_command(console, f"{'again':<{MARGIN}}", again)


def _headline(result: Result) -> Text:
    words = {True: ("solved", "bold green"), False: ("not solved", "bold yellow"), None: ("done", "bold")}
    word = words[result.success] if result.feasible else ("nothing feasible found", "bold yellow")
    known = "" if result.optimum is None else f" of {result.optimum:g}"
    return Text.assemble(word, f", fitness {_fitness(result)}{known}{_measured(result)}")


def _solution(result: Result) -> list[tuple[str, str]]:
    """Give the lines for the solution: its bits, or a value a line, the names in the first one's margin."""
    best = result.best
    if best is None:
        return [("x", to_text(result.x))]
    names = {printable(name): printable(_value(value)) for name, value in best.items()}
    width = max(map(len, names))
    return [("" if at else "best", f"{name:<{width}}  {value}") for at, (name, value) in enumerate(names.items())]


def _value(value: Value) -> str:
    """Write a value for eyes; texts as they are, lists with blanks."""
    if isinstance(value, list):
        return " ".join(map(str, value)) if value else "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _violated(result: Result) -> list[tuple[str, str]]:
    """Say by how much x is not feasible, if it is not, and if anybody knows."""
    if result.feasible or not math.isfinite(result.violation):
        return []
    broken = [(k, amount) for k, amount in enumerate(result.violations, start=1) if amount > 0]
    each = ", ".join(f"{amount:.6g} of constraint {k}" for k, amount in broken[:_MOST_LISTED])
    more = f", {len(broken) - _MOST_LISTED} more" if len(broken) > _MOST_LISTED else ""
    of_which = f" in sum: {each}{more}" if len(result.violations) > 1 else ""
    return [("beyond", f"not feasible, by {result.violation:.10g}{of_which}")]


def _fitness(result: Result) -> str:
    """Write a value to ten digits, and a mean with as many as its standard error has two of."""
    error = result.standard_error
    if error is None:
        return f"{result.fitness:.10g}"
    digits = max(0, 1 - math.floor(math.log10(error))) if error > 0 else 2
    return f"{result.fitness:.{digits}f} +- {error:.{digits}f}"


def _measured(result: Result) -> str:
    return "" if result.measurements == 1 else f", mean of {result.measurements:,}"


def _effort(result: Result) -> str:
    known = f" ({result.cached:,} of them known from before)" if result.cached else ""
    return (
        f"{result.evaluations_to_best:,} evaluations to the best, {result.evaluations:,} in all{known}, "
        f"{result.generations} generations, {result.cpu_seconds:.1f} s CPU"
    )
