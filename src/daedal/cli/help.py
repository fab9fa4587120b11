"""Help for a command: every name whole, and lines that break between words, however narrow the terminal is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from rich.console import Console

_INDENT, _GAP = 2, 2
_WIDEST = 100  # columns: longer lines are hard to read
_NARROWEST = 40  # columns of text beside the names; below that they go under them

# Contexts and commands are Any: which click their classes come from depends on the version of Typer.


class HelpfulCommand(TyperCommand):
    """A command that writes its help itself."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        write_help(self, ctx)


class HelpfulGroup(TyperGroup):
    """A group of commands that writes its help itself."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        write_help(self, ctx)


def group_of_commands(line: str) -> typer.Typer:
    """Make an application for several commands, with a line of help; its commands are to be `HelpfulCommand`."""
    return typer.Typer(cls=HelpfulGroup, help=line, add_completion=False, rich_markup_mode=None)


def write_help(command: Any, context: Any) -> None:
    """Write to standard output how a command is used, what it does, and its arguments, options and commands."""
    from rich.console import Console  # here, because completion has no use for it
    from rich.padding import Padding
    from rich.text import Text

    console = Console(highlight=False)
    console.width = min(console.width, _WIDEST)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    console.print(Text.assemble(("Usage: ", "bold"), usage))
    console.print(Padding(Text(_one_line(command.help)), (1, _INDENT)))
    sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], "Commands": []}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            sections["Arguments" if parameter.param_type_name == "argument" else "Options"].append(record)
    if isinstance(command, TyperGroup):
        found = [(name, command.get_command(context, name)) for name in command.list_commands(context)]
        sections["Commands"] = [(name, _one_line(one.help)) for name, one in found if one and not one.hidden]
    for title, records in sections.items():
        if records:
            _write_section(console, title, [(name, _one_line(text)) for name, text in records])


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _write_section(console: Console, title: str, records: list[tuple[str, str]]) -> None:
    """Write names and texts: side by side, or, where that would leave little room, one below the other."""
    from rich.text import Text

    console.print(Text(f"{title}:", style="bold"))
    width = max(len(name) for name, _ in records)
    beside = console.width - _INDENT - width - _GAP
    for name, text in records:
        names = " " * _INDENT + name.ljust(width)
        margin = len(names) + _GAP if beside >= _NARROWEST else 3 * _INDENT
        lines = Text(text).wrap(console, console.width - margin)
        if beside >= _NARROWEST:
            console.print(Text.assemble((names, "cyan"), " " * _GAP, lines.pop(0) if lines else ""))
        else:
            console.print(Text(names.rstrip(), style="cyan"))
        for line in lines:
            console.print(Text(" " * margin) + line)
    console.print()
