"""The application and its commands, each loaded when it is called."""

from __future__ import annotations

import importlib
from typing import Any

import typer
from typer.core import TyperCommand

from daedal.cli.help import HelpfulCommand, HelpfulGroup

COMMANDS = {
    "solve": ("solve", "solve", "Look for the best bits of a problem."),
    "resume": ("resume", "resume", "Continue a run from its file, as if it had never been interrupted."),
    "report": ("report", "report", "Make a page that shows a run, or a study."),
    "compare": ("compare", "compare", "Compare algorithms on a problem: the same seeds for each."),
    "list": ("listing", "list_all", "Show problems and algorithms; given a name, what each of its settings means."),
    "optimum": ("optimum", "optimum", "Print the largest fitness of a problem."),
    "instance": ("instance", "app", "Write a problem instance to a file."),
    "study": ("study", "app", "Compare algorithms on many problems; a store keeps every run."),
    "reproduce": ("reproduce", "app", "Repeat the experiment of the paper."),
}
"""Module, function or application, and the line of help: --help and completion have to answer at once."""

WORDS = "daedal.words"
"""Where a context keeps the words of the command line, as they were given."""

# Contexts and commands are Any: which click their classes come from depends on the version of Typer.


class LazyGroup(HelpfulGroup):
    """A group whose commands are loaded when they are called; a list of them needs their names and lines alone."""

    listing = False

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Begin, and keep the words as they were given."""
        words = list(args)
        context = super().make_context(info_name, args, parent, **extra)
        context.meta[WORDS] = words
        return context

    def list_commands(self, ctx: Any) -> list[str]:
        """Give the names."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Load a command, or give what a list shows of it."""
        if cmd_name not in COMMANDS:
            return None
        module, name, line = COMMANDS[cmd_name]
        if self.listing:
            return TyperCommand(cmd_name, help=line)
        found = getattr(importlib.import_module(f"daedal.cli.{module}"), name)
        if not isinstance(found, typer.Typer):
            single = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings=CONTEXT)
            single.command(name=cmd_name, cls=HelpfulCommand)(found)
            found = single
        command = typer.main.get_command(found)
        command.name = cmd_name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the words name, or say which one may have been meant."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from daedal.settings.parameters import unknown  # here, because it needs NumPy

            ctx.fail(unknown("command", args[0], COMMANDS))
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        self.listing = True
        super().format_help(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete the name of a command."""
        self.listing = True
        return super().shell_complete(ctx, incomplete)


CONTEXT = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    cls=LazyGroup,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Find good bit strings for black-box functions.",
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
