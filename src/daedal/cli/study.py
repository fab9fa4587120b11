"""`daedal study`: many runs, kept in a store, and the tables and figures of them."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from enum import StrEnum
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from daedal.cli import INTERRUPTED, options
from daedal.cli.output import check_output, is_standard, say, shown, stdout_kept, write_pieces
from daedal.cli.study_display import StudyDisplay
from daedal.cli.study_tables import Laid, status_table, table_text
from daedal.evaluation.executor_pool import dask_executor
from daedal.evaluation.options import EXECUTOR_TIMEOUT, MOST_WORKERS, available_cores, check_executor_timeout
from daedal.plot.studies import check_figures, save_figures
from daedal.settings.checks import counted, printable
from daedal.studies.analysis import Test
from daedal.studies.plan import Status
from daedal.studies.runner import MOST_CONFIRMED, Order, Progress, run_study
from daedal.studies.snapshot import Snapshot, read_store
from daedal.studies.spec import Study
from daedal.studies.store import COLUMNS, Store
from daedal.studies.tables import TABLE, StudyTable
from daedal.studies.writers import export as exported

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
        console.print(Text(f"{counted(times, 'time')}: {printable(error)}"), soft_wrap=True)
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
    """Write a table in a format."""
    if form is Form.RICH and is_standard(output):
        Console(highlight=False).print(Laid(table.sheet()))
        return
    texts: dict[Form, Callable[[], str]] = {
        Form.RICH: lambda: table_text(table, _FILE_WIDTH) + "\n",
        Form.MARKDOWN: table.markdown,
        Form.LATEX: table.latex,
    }
    pieces = [texts[form]().encode()] if form in texts else table.export(form.value)
    write_pieces(pieces, output, TABLE)


def write_figures(snapshot: Snapshot, problems: list[str], folder: Path) -> None:
    """Draw the figures of the problems that are named, or of all, to a folder."""
    check_figures(snapshot.study, folder, shown(folder))
    for _, files in save_figures(snapshot, folder, problems):
        for file in files:
            say(shown(file))


def checked_order(*, workers: int | None, full_grid: bool | None, confirm: int | None, retry_failed: bool) -> Order:
    """Check what was asked for on the command line."""
    if workers is not None and not 1 <= workers <= MOST_WORKERS:
        raise ValueError(f"expected --workers of at least 1, and at most {MOST_WORKERS:,}, got --workers {workers}")
    if confirm is not None and not 0 <= confirm <= MOST_CONFIRMED:
        raise ValueError(f"expected --confirm of 0 to {MOST_CONFIRMED:,}, got --confirm {confirm}")
    return Order(
        workers=available_cores() if workers is None else workers,
        full_grid=full_grid,
        confirm=confirm,
        retry_failed=retry_failed,
    )


def run_and_show(
    study: Study,
    path: Path,
    order: Order,
    *,
    dask: str | None = None,
    dask_timeout: float = EXECUTOR_TIMEOUT,
    form: Form = Form.RICH,
    test: Test = "signed-rank",
    holm: bool = False,
) -> None:
    """Run a study, then show its table; after Ctrl-C the table so far."""
    with Store(path) as store:
        finished = run_with_display(study, store, order, dask=dask, dask_timeout=dask_timeout)
    snapshot = read_store(path, study=study, histories=False)
    write_table(StudyTable.of(snapshot, test=test, holm=holm), form, None)
    if failed := snapshot.status().total("failed"):
        told = f"daedal study status --store {shlex.quote(shown(path))} says why"
        say(f"{counted(failed, 'run')} of this study failed: {told}")
    if not finished:
        sys.exit(INTERRUPTED)


def run_with_display(
    study: Study, store: Store, order: Order, *, dask: str | None = None, dask_timeout: float = EXECUTOR_TIMEOUT
) -> bool:
    """Run a study; whether it came to its end, or Ctrl-C ended it."""
    check_executor_timeout(dask_timeout)
    try:
        with (
            stdout_kept(),
            nullcontext() if dask is None else dask_executor(dask, dask_timeout) as executor,
            StudyDisplay() as display,
        ):
            progress = run_study(study, store, order, display, executor=executor, executor_timeout=dask_timeout)
    except KeyboardInterrupt:
        say("interrupted: all finished runs are in the store, and the same command continues from there")
        return False
    say(_closing(progress, store.path))
    if order.confirm is None and progress.order.confirm:
        say(f"--confirm {progress.order.confirm} holds, as before; --confirm 0 ends it")
    if order.full_grid is None and progress.order.full_grid:
        say("--full-grid holds, as before; --no-full-grid ends it")
    return True


def _closing(progress: Progress, path: Path) -> str:
    made = f"{counted(progress.done, 'run')} made" if progress.done else "nothing was left to run"
    failed = f", {progress.failed:,} of them failed" if progress.failed else ""
    killed = f", {progress.killed:,} killed, to be run again by the same command" if progress.killed else ""
    return f"{made}{failed}{killed}; {progress.found:,} of this study were in {shown(path)} before"


app = options.group("Compare algorithms on many problems; a store keeps every run.")

StorePath: TypeAlias = Annotated[
    Path, typer.Option("--store", callback=options.absolute, help="The file with the results (SQLite).")
]
Workers: TypeAlias = Annotated[
    int | None, typer.Option(help="Processes, as many as there are cores where not given; results do not depend on it.")
]
FullGrid: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--full-grid/--no-full-grid",
        show_default=False,
        help="Run every size in full, though the answer is known earlier; as the last time where not given.",
    ),
]
Confirm: TypeAlias = Annotated[
    int | None,
    typer.Option(metavar="N", help="Measure each chosen size again, with N new seeds; as the last time if not given."),
]
RetryFailed: TypeAlias = Annotated[bool, typer.Option("--retry-failed", help="Run again what has failed.")]


class Export(StrEnum):
    """How runs are written."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


TableForm: TypeAlias = Annotated[Form, typer.Option("--format", help="How to write the table.")]
Number: TypeAlias = Annotated[
    int | None,
    typer.Option("--study", metavar="N", help="Which study of the store; the one last run where not given."),
]
Figures: TypeAlias = Annotated[
    Path, typer.Option("--output", "-o", callback=options.absolute, help="The folder to write the figures to.")
]
_Kind = TypeVar("_Kind", bound=StrEnum)
_ENDINGS = (".md", ".tex", ".csv", ".json", ".parquet")
Output: TypeAlias = Annotated[
    Path | None,
    typer.Option("--output", "-o", callback=options.absolute, help="A file, not standard output."),
]


@app.command()
def init(file: Annotated[Path, typer.Argument(help="The study file to write (TOML).")]) -> None:
    """Write a commented example of a study file."""
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(resources.files("daedal.studies").joinpath("example.toml").read_text(encoding="utf-8"))
    except FileExistsError as error:
        raise ValueError(f"expected a name for a new file, but {file} is there already; it was not changed") from error
    say(f"{file} written; run it with: daedal study run {shlex.quote(str(file))} --store results.db")


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="The study file (TOML); `daedal study init` writes one.")],
    store: StorePath,
    workers: Workers = None,
    full_grid: FullGrid = None,
    confirm: Confirm = None,
    retry_failed: RetryFailed = False,
    dask: options.Dask = None,
    dask_timeout: options.DaskTimeout = EXECUTOR_TIMEOUT,
) -> None:
    """Make the missing runs of a study and show its table. After Ctrl-C, the same command continues."""
    order = checked_order(workers=workers, full_grid=full_grid, confirm=confirm, retry_failed=retry_failed)
    with stdout_kept():
        study = Study.from_file(file)  # which loads what it names
    run_and_show(study, store, order, dask=dask, dask_timeout=dask_timeout)


@app.command()
def status(
    store: StorePath,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as one JSON object.")] = False,
    number: Number = None,
) -> None:
    """Say how far the study of a store is, and what has failed."""
    found = read_study(store, number).status()
    if as_json:
        totals = {name: found.total(name) for name in ("done", "failed", "left")}
        cells = [dataclasses.asdict(cell) for cell in found.cells]
        print(json.dumps({**totals, "cells": cells, "errors": found.errors}))
    else:
        show_status(found)


@app.command(name="table")
def show_table(
    store: StorePath,
    form: Annotated[
        Form | None, typer.Option("--format", help="How to write the table; by the file's name where not given.")
    ] = None,
    sizes: Annotated[bool, typer.Option("--sizes", help="One line for each population size instead.")] = False,
    test: StarTest = TestName.SIGNED_RANK,
    holm: Holm = False,
    output: Output = None,
    number: Number = None,
) -> None:
    """Show the sizes that solve 50 and 90 % of the runs, or what each budget buys, and who is significantly better."""
    check_output(output, store)
    snapshot = read_study(store, number)
    form = form or _by_suffix(output, {".md": Form.MARKDOWN, ".tex": Form.LATEX, ".csv": Form.CSV, ".json": Form.JSON})
    table = StudyTable.of(snapshot, test=test_named(test), holm=holm, sizes=sizes)
    write_table(table, form or Form.RICH, output)


def _by_suffix(output: Path | None, forms: Mapping[str, _Kind]) -> _Kind | None:
    """Give the format that the name of a file asks for, if any; refuse one that there is not."""
    ending = "" if output is None else output.suffix.lower()
    if ending in _ENDINGS and ending not in forms:
        raise ValueError(f"expected a file that ends in {', '.join(forms)}, or --format, got {output}")
    return forms.get(ending)


def read_study(store: Path, number: int | None, *, histories: bool = False) -> Snapshot:
    """Read the study of a number, or the one last run; if there are others, say so."""
    found = read_store(store, number=number, histories=histories)
    if found.others:
        which = "the one last run" if number is None else "chosen"
        others = ", ".join(map(str, found.others))
        say(f"{shown(store)}: study {found.number}, {which}; --study shows another one: {others}")
    return found


@app.command()
def plot(
    store: StorePath,
    output: Figures = Path("figures"),
    problem: Annotated[list[str] | None, typer.Option("--problem", help="A problem of the study; repeat it.")] = None,
    number: Number = None,
) -> None:
    """Draw the average best fitness against evaluations and CPU time, and how runs went: two figures a problem.

    With budgets: the median and the quartiles against the budget, one panel a problem.

    All as SVG, and as PNG with the extra `plot`.
    """
    write_figures(read_study(store, number, histories=True), problem or [], output)


@app.command()
def merge(
    others: Annotated[list[Path], typer.Argument(metavar="STORE...", help="The stores to take runs from.")],
    store: StorePath,
) -> None:
    """Take the runs of other stores that this one does not have: of another machine, or another day."""
    for other in others:
        Store(other, create=False).close()  # refuses what is none, before anything is taken
        if store.exists() and other.samefile(store):
            raise ValueError(f"expected other stores than {store} itself, got {other}")
    with Store(store) as opened:
        for other in others:
            say(f"{counted(opened.merge(other), 'run')} taken from {other}")
        say(f"{shown(store)} has {counted(len(opened), 'run')}")


@app.command()
def export(
    store: StorePath,
    form: Annotated[
        Export | None,
        typer.Option("--format", help="By the file's name, or csv, where not given; parquet needs pyarrow."),
    ] = None,
    output: Output = None,
) -> None:
    """Write everything about every run of a store, of whichever study, one row a run."""
    check_output(output, store)
    form = form or _by_suffix(output, {f".{one.value}": one for one in Export}) or Export.CSV
    if form is Export.PARQUET and output is None:
        raise ValueError("expected a file for Parquet, which is no text to be printed: -o runs.parquet")
    with Store(store, create=False) as opened:
        write_pieces(exported(opened.rows(), form.value, COLUMNS), output, TABLE)
