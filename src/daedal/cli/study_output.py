"""What the commands of studies show: tables, the status, figures."""

from __future__ import annotations

import io
from enum import StrEnum
from itertools import chain, count, islice
from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from daedal.cli.output import file_name, is_standard, new_folder, say, shown, write_line, write_pieces
from daedal.cli.status_table import status_table
from daedal.cli.study_tables import budget_table, rich_table, sizes_table
from daedal.plot.budget_figure import draw_budgets
from daedal.plot.size_figure import draw_sizes
from daedal.plot.style import figure_files, find_matplotlib, save
from daedal.settings.parameters import unknown
from daedal.settings.texts import printable
from daedal.storage.kinds import check_place
from daedal.studies.analysis import Row, Runs
from daedal.studies.budgets import BudgetRow, analyse_budgets
from daedal.studies.export import export as exported
from daedal.studies.files import FIGURES, TABLES
from daedal.studies.published import published
from daedal.studies.rank_tests import Test
from daedal.studies.spec import Study, StudyProblem
from daedal.studies.status import Status
from daedal.studies.tables import (
    BUDGET_COLUMNS,
    ROW_COLUMNS,
    SIZE_COLUMNS,
    budget_latex,
    budget_markdown,
    flat_budgets,
    flat_rows,
    flat_sizes,
    latex,
    markdown,
    sizes_markdown,
)
from daedal.studies.wording import counted

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


def show_sizes(study: Study, runs: Runs, form: Form, output: Path | None) -> None:
    """Write a line for each population size, in a format."""
    if form is Form.LATEX:
        raise ValueError("expected --sizes with --format rich, markdown, csv or json, got --format latex")
    if form is Form.RICH:
        _write(sizes_table(study, runs), form, output)
    elif form is Form.MARKDOWN:
        _write(sizes_markdown(study, runs), form, output)
    else:
        write_pieces(exported(flat_sizes(study, runs), form.value, SIZE_COLUMNS), output, TABLES[form.value])


def test_named(name: TestName) -> Test:
    """Give the test of a name."""
    return "signed-rank" if name is TestName.SIGNED_RANK else "mann-whitney"


def show_rows(rows: list[Row], form: Form, output: Path | None, *, test: Test, holm: bool) -> None:
    """Write the table in a format, with the paper's numbers beside ours where it has them."""
    for name in dict.fromkeys(row.problem.name for row in rows if not row.judged):
        say(f"{name}: no optimum or target is known, so no run can have solved it; see daedal study table --sizes")
    if form is Form.RICH:
        _write(rich_table(rows, published=published(), test=test, correct=holm), form, output)
    elif form is Form.MARKDOWN:
        _write(markdown(rows, published=published(), test=test, correct=holm), form, output)
    elif form is Form.LATEX:
        _write(latex(rows, published=published(), test=test, correct=holm), form, output)
    else:
        write_pieces(
            exported(flat_rows(rows, published=published()), form.value, ROW_COLUMNS), output, TABLES[form.value]
        )


def show_budgets(rows: list[BudgetRow], form: Form, output: Path | None, *, test: Test, holm: bool) -> None:
    """Write the table of a study with budgets in a format."""
    if form is Form.RICH:
        _write(budget_table(rows, test=test, correct=holm), form, output)
    elif form is Form.MARKDOWN:
        _write(budget_markdown(rows, test=test, correct=holm), form, output)
    elif form is Form.LATEX:
        _write(budget_latex(rows, test=test, correct=holm), form, output)
    else:
        write_pieces(exported(flat_budgets(rows), form.value, BUDGET_COLUMNS), output, TABLES[form.value])


def _write(what: RenderableType, form: Form, output: Path | None) -> None:
    """Write a table or a text for eyes."""
    if isinstance(what, str):
        write_pieces([what.encode()], output, TABLES[form.value])
    elif is_standard(output):
        Console(highlight=False).print(what)
    else:
        text = io.StringIO()
        Console(file=text, width=_FILE_WIDTH, highlight=False, color_system=None).print(what)
        write_pieces([text.getvalue().encode()], output, TABLES[form.value])


def plot_problems(study: Study, runs: Runs, names: list[str], folder: Path) -> None:
    """Draw the figures of the problems that are named, or of all; one for all of them where there are budgets."""
    known = [problem.name for problem in study.problems]
    for name in names:
        if name not in known:
            raise ValueError(unknown("problem of the study", name, known))
    for problem, path in prepare_figures(study, folder).items():
        if problem is None:
            figure = draw_budgets(analyse_budgets(study, runs), names)
        elif names and problem.name not in names:
            continue
        else:
            figure = draw_sizes(study, runs, problem)
        for written in save(figure, path):
            say(shown(written))


def _free_name(name: str, taken: set[str]) -> str:
    """Give a name with a number where it is taken: two problems may stand for one file."""
    numbered = chain([name], (f"{name}-{times}" for times in count(2)))
    return next(one for one in numbered if one.lower() not in taken)


def prepare_figures(study: Study, folder: Path) -> dict[StudyProblem | None, Path]:
    """Check that figures can be drawn, and written to a folder; give where that of each problem goes, or of all."""
    find_matplotlib()
    new_folder(folder)
    taken: dict[StudyProblem | None, str] = {}
    for problem in (None,) if study.budgets else study.problems:
        name = "anytime" if problem is None else file_name(problem.name)
        taken[problem] = _free_name(name, {one.lower() for one in taken.values()})
    paths = {problem: folder / name for problem, name in taken.items()}
    for path in paths.values():
        for form, file in figure_files(path).items():
            check_place(file, FIGURES[form])
    return paths
