"""The application. Its commands are loaded when they are called, so that help and completion answer at once."""

from __future__ import annotations

import importlib
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

COMMANDS = {
    "solve": ("solve", "solve", "Search for the best solution of a problem."),
    "resume": ("solve", "resume", "Continue a run from its run file."),
    "report": ("report", "report", "Write an HTML page about a run or a study."),
    "compare": ("compare", "compare", "Compare algorithms on a problem."),
    "list": ("listing", "list_all", "List problems, algorithms and settings."),
    "optimum": ("listing", "optimum", "Print the best possible value of a problem."),
    "instance": ("listing", "instance", "Write a problem instance to a file."),
    "study": ("study", "app", "Compare algorithms on many problems."),
    "reproduce": ("reproduce", "app", "Repeat the experiment of the paper."),
}
"""The module, function or application, and summary of each command."""

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

# Contexts and commands are Any because the version of Typer decides which click their classes come from.


class LazyGroup(TyperGroup):
    """A group that knows the names and summaries of its commands, and loads the one that is called."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = {name: TyperCommand(name, help=line) for name, (_, _, line) in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name of the command that was called, the command, and its arguments."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command and load(command.name or ""), rest


def load(name: str) -> Any:
    """Load a command."""
    module, attribute, _ = COMMANDS[name]
    found = getattr(importlib.import_module(f"daedal.cli.{module}"), attribute)
    if not isinstance(found, typer.Typer):
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(name=name)(found)
        found = single
    command = typer.main.get_command(found)
    command.name = name
    return command


app = typer.Typer(
    cls=LazyGroup,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Optimize black-box functions of discrete and mixed variables.",
    context_settings=CONTEXT,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from daedal import __version__

        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", help="Show the version.", callback=_show_version, is_eager=True),
) -> None:
    pass
