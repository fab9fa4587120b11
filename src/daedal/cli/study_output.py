"""What the commands of studies show: tables, the status, figures."""

from __future__ import annotations

from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from rich.console import Console
from rich.text import Text

from daedal.cli.output import is_standard, say, shown, write_line, write_pieces
from daedal.cli.status_table import status_table
from daedal.cli.study_tables import table_text, terminal_table
from daedal.plot.study_figures import check_figures, draw_figures
from daedal.plot.style import save
from daedal.settings.checks import counted, printable
from daedal.studies.files import TABLES
from daedal.studies.rank_tests import Test
from daedal.studies.snapshot import Snapshot
from daedal.studies.status import Status
from daedal.studies.tables.table import StudyTable

_ERRORS_SHOWN = 10
_FILE_WIDTH = 140  # characters of a line, where there is no terminal to ask


class Form(StrEnum):
    """How a table is written."""

    RICH = "rich"
    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV = "csv"
    JSON = "json"


class TestName(StrEnum):
    """Which test decides about the stars."""

    SIGNED_RANK = "signed-rank"
    MANN_WHITNEY = "mann-whitney"


StarTest: TypeAlias = Annotated[
    TestName, typer.Option("--test", help="Pairs of the same seed (signed-rank), or two samples (mann-whitney).")
]
Holm: TypeAlias = Annotated[bool, typer.Option("--holm", help="Correct for the number of pairs (Holm).")]


def show_status(found: Status) -> None:
    """Show how far a study is, cell by cell, and what has failed."""
    console = Console(highlight=False, markup=False, emoji=False)
    console.print(status_table(found))
    budgeted = any(cell.budget is not None for cell in found.cells)
    done, failed, left, killed = (found.total(name) for name in ("done", "failed", "left", "killed"))
    ahead = f"{'' if budgeted else 'at least '}{left:,} left" if left else "none left: the study is complete"
    ended = f"{failed:,} failed" + (f", {killed:,} killed" if killed else "")
    console.print(f"\n{counted(done, 'run')} done, {ended}, {ahead}", markup=False)
    for error, times in islice(found.errors.items(), _ERRORS_SHOWN):
        write_line(console, Text(f"{counted(times, 'time')}: {printable(error)}"), hanging="  ")
    others = len(found.errors) - _ERRORS_SHOWN
    if others > 0:
        console.print(f"and {others:,} other errors; --json has them all", markup=False)
    if failed:
        console.print("--retry-failed runs them again", markup=False)
    if killed:
        console.print("the same command runs again what was killed", markup=False)


def test_named(name: TestName) -> Test:
    """Give the test of a name."""
    return "signed-rank" if name is TestName.SIGNED_RANK else "mann-whitney"


def write_table(table: StudyTable, form: Form, output: Path | None) -> None:
    """Write a table in a format, with the paper's numbers beside ours where it has them."""
    for name in table.unjudged:
        say(f"{name}: no optimum or target is known, so no run can have solved it; see daedal study table --sizes")
    if form is Form.RICH and is_standard(output):
        Console(highlight=False).print(terminal_table(table))
        return
    pieces = {
        Form.RICH: lambda: [table_text(table, _FILE_WIDTH).encode() + b"\n"],
        Form.MARKDOWN: lambda: [table.markdown().encode()],
        Form.LATEX: lambda: [table.latex().encode()],
    }
    written = pieces[form]() if form in pieces else table.exported(form.value)
    write_pieces(written, output, TABLES[form.value])


def write_figures(snapshot: Snapshot, problems: list[str], folder: Path) -> None:
    """Draw the figures of the problems that are named, or of all, to a folder."""
    check_figures(snapshot.study, folder, shown(folder))
    for name, figure in draw_figures(snapshot, problems):
        for written in save(figure, folder / name):
            say(shown(written))
