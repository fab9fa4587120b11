"""`daedal list`: what there is."""

from __future__ import annotations

import warnings

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from daedal.cli.output import say
from daedal.optimizers.configuration import Algorithm
from daedal.optimizers.registry import algorithms
from daedal.problems.registry import ProblemKind, problem_kinds
from daedal.settings.parameters import REQUIRED, Parameter
from daedal.settings.texts import printable, visible


def list_all() -> None:
    """Show problems, algorithms and their settings with defaults."""
    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        kinds, known = problem_kinds(), algorithms()
    console = Console(highlight=False)
    console.print(_problems(kinds))
    for algorithm in known.values():
        console.print()
        console.print(f"[bold]{_plain(algorithm.name)}[/]  {_plain(algorithm.summary)}")
        console.print(f"  {_ending(algorithm)}")
        console.print(_settings(algorithm.parameters()))
    console.print("\n[bold]FILE.py:NAME[/]  Your own: a model, or what builds an optimizer")
    for complaint in complaints:
        say(f"warning: {printable(str(complaint.message))}")


def _problems(kinds: dict[str, ProblemKind]) -> Table:
    table = Table("problem", "what it is", "example", box=None, pad_edge=False, header_style="bold")
    for kind in kinds.values():
        table.add_row(f"[bold]{_plain(kind.name)}[/]", _plain(kind.summary), _plain(kind.example))
    table.add_row("[bold]FILE.py:FUNCTION[/]", "Your own, with --n", "score.py:f --n 40")
    table.add_row("[bold]cmd:PROGRAM[/]", "Any program, with --n", '"cmd:./score" --n 40')
    return table


def _ending(algorithm: Algorithm) -> str:
    """Say when a run ends unless told otherwise."""
    most, patience = algorithm.limits.max_generations, algorithm.limits.patience
    if most is None and patience is None:
        last = algorithm.last_resort.patience
        without = "" if last is None else f"; without either, after {last} generations without progress"
        return f"ends at its target, or when its budget is used up{without}"
    if patience is None:
        return f"ends after {most} generations"
    return f"ends after {'' if most is None else f'{most} generations, or '}{patience} without progress"


def _settings(parameters: dict[str, Parameter]) -> Table:
    table = Table.grid(padding=(0, 2))
    for parameter in parameters.values():
        default = "" if parameter.default is REQUIRED else _shown(parameter.default)
        table.add_row("", _plain(parameter.name), _plain(default), f"[dim]{_plain(parameter.describe())}[/]")
    return table


def _plain(text: str) -> str:
    """Give a text of somebody else's as it is, neither obeyed by a terminal nor read as markup."""
    return escape(visible(text))


def _shown(value: object) -> str:
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
