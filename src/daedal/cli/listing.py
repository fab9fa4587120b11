"""`daedal list`: what there is."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from daedal.limits import Limits
from daedal.optimizers.registry import algorithms
from daedal.problems.registry import problem_kinds
from daedal.settings.parameters import REQUIRED, Parameter


def list_all() -> None:
    """Show problems, algorithms and their settings with defaults."""
    console = Console(highlight=False)
    console.print(_problems())
    for algorithm in algorithms().values():
        console.print()
        console.print(f"[bold]{algorithm.name}[/]  {algorithm.summary}")
        console.print(f"  {_ending(algorithm.limits)}")
        console.print(_settings(algorithm.parameters()))


def _problems() -> Table:
    table = Table("problem", "what it is", "example", box=None, pad_edge=False, header_style="bold")
    for kind in problem_kinds().values():
        table.add_row(f"[bold]{kind.name}[/]", kind.summary, kind.example)
    table.add_row("[bold]FILE.py:FUNCTION[/]", "Your own, with --n", "score.py:f --n 40")
    table.add_row("[bold]cmd:PROGRAM[/]", "Any program, with --n", '"cmd:./score" --n 40')
    return table


def _ending(limits: Limits) -> str:
    """Say when a run ends unless told otherwise."""
    if limits.max_generations is None or limits.patience is None:
        return "ends with its budget or at its target"
    return f"ends after {limits.max_generations} generations, or {limits.patience} without progress"


def _settings(parameters: dict[str, Parameter]) -> Table:
    table = Table.grid(padding=(0, 2))
    for parameter in parameters.values():
        default = "" if parameter.default is REQUIRED else _shown(parameter.default)
        table.add_row("", parameter.name, default, f"[dim]{parameter.describe()}[/]")
    return table


def _shown(value: object) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
