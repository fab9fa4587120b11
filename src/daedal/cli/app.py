"""The application and its commands."""

from __future__ import annotations

import typer

from daedal import __version__
from daedal.cli import compare, instance, listing, optimum, reproduce, resume, solve, study

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Find good bit strings for functions that nobody can look into.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", help="Show the version.", callback=_show_version, is_eager=True),
) -> None:
    pass


app.command(name="solve")(solve.solve)
app.command(name="resume")(resume.resume)
app.command(name="compare")(compare.compare)
app.command(name="list")(listing.list_all)
app.command(name="optimum")(optimum.optimum)
app.add_typer(instance.app, name="instance")
app.add_typer(study.app, name="study")
app.add_typer(reproduce.app, name="reproduce")
