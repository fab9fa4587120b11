"""A result for eyes."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from daedal.cli.again import write_command
from daedal.cli.output import write_line
from daedal.result import Result
from daedal.result.wording import effort_text, fitness_text, value_text, verdict, violation_text
from daedal.settings.checks import counted, printable
from daedal.types import to_text

MARGIN = 8
"""Columns for what a line is about."""


def show(result: Result, console: Console, *, again: Sequence[str] | None = None) -> None:
    """Write a result, and the words of the command that makes it again, if there is one."""
    console.print()
    write_line(console, _headline(result))
    for name, text in _solution(result):
        # In one piece, to be copied: what a terminal has to break begins at its edge, as all its parts do.
        broken = result.best is None and console.is_terminal and MARGIN + len(text) > console.width
        console.print(Text(f"{name}\n{text}" if broken else f"{name:<{MARGIN}}{text}"), soft_wrap=True)
    lines = [*_violated(result), ("effort", effort_text(result)), ("stop", result.stop.message)]
    if result.explanation:
        lines.append(("chosen", printable(result.explanation)))
    if result.failures:
        lines.append(("failed", f"{counted(result.failed, 'row')}, the first: {printable(result.failures[0].error)}"))
    for name, text in lines:
        write_line(console, Text(text), margin=f"{name:<{MARGIN}}")
    if again is not None:
        write_command(console, f"{'again':<{MARGIN}}", again)


def _headline(result: Result) -> Text:
    styles = {True: "bold green", False: "bold yellow", None: "bold"}
    word = (verdict(result), styles[result.success] if result.feasible else "bold yellow")
    known = "" if result.optimum is None else f" of {result.optimum:.10g}"
    return Text.assemble(word, f", fitness {fitness_text(result)}{known}{_measured(result)}")


def _solution(result: Result) -> list[tuple[str, str]]:
    """Give the lines for the solution: its bits, or a value a line, the names in the first one's margin."""
    best = result.best
    if best is None:
        return [("x", to_text(result.x))]
    names = {printable(name): printable(value_text(value)) for name, value in best.items()}
    width = max(map(len, names))
    return [("" if at else "best", f"{name:<{width}}  {value}") for at, (name, value) in enumerate(names.items())]


def _violated(result: Result) -> list[tuple[str, str]]:
    return [("beyond", text)] if (text := violation_text(result)) else []


def _measured(result: Result) -> str:
    return "" if result.measurements == 1 else f", mean of {result.measurements:,}"
