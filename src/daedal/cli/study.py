"""`daedal study`: many runs, kept in a store, and the tables and figures of them."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args

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
from daedal.studies.runner import MOST_CONFIRMED, Order, run_study
from daedal.studies.snapshot import Snapshot, read_store
from daedal.studies.spec import Study
from daedal.studies.store import COLUMNS, Store
from daedal.studies.tables import PARQUET, TABLE, StudyTable
from daedal.studies.writers import export as exported

_ERRORS_SHOWN = 10
_FILE_WIDTH = 140  # characters of a line, where there is no terminal to ask


Form: TypeAlias = Literal["rich", "markdown", "latex", "csv", "json"]
StarTest: TypeAlias = Annotated[
    Test, typer.Option("--test", help="Pairs of the same seed (signed-rank), or two samples (mann-whitney).")
]
Holm: TypeAlias = Annotated[bool, typer.Option("--holm", help="Correct for the number of pairs by Holm's method.")]


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


def write_table(table: StudyTable, form: Form, output: Path | None) -> None:
    """Write a table in a format."""
    if form == "rich" and is_standard(output):
        Console(highlight=False).print(Laid(table.sheet()))
        return
    texts: dict[Form, Callable[[], str]] = {
        "rich": lambda: table_text(table, _FILE_WIDTH) + "\n",
        "markdown": table.markdown,
        "latex": table.latex,
    }
    pieces = [texts[form]().encode()] if form in texts else table.export(form)
    write_pieces(pieces, output, TABLE)


def write_figures(snapshot: Snapshot, problems: list[str], folder: Path) -> None:
    """Draw the figures of the problems that are named, or of all, to a folder."""
    check_figures(snapshot.study, folder, shown(folder))
    for _, files in save_figures(snapshot, folder, problems):
        for file in files:
            say(shown(file))


def run_and_show(
    study: Study,
    path: Path,
    order: Order,
    show: Callable[[Snapshot], None],
    *,
    dask: str | None = None,
    dask_timeout: float = EXECUTOR_TIMEOUT,
) -> None:
    """Run a study with a display, then show its results; after Ctrl-C the results so far."""
    check_executor_timeout(dask_timeout)
    finished = True
    with Store(path) as store:
        try:
            with (
                stdout_kept(),
                nullcontext() if dask is None else dask_executor(dask, dask_timeout) as executor,
                StudyDisplay() as display,
            ):
                progress = run_study(study, store, order, display, executor=executor, executor_timeout=dask_timeout)
            made = f"{counted(progress.done, 'run')} made" if progress.done else "nothing was left to run"
            failed = f", {progress.failed:,} of them failed" if progress.failed else ""
            killed = f", {progress.killed:,} killed (the same command makes them again)" if progress.killed else ""
            say(f"{made}{failed}{killed}; {progress.found:,} of this study were in {shown(path)} before")
            if order.confirm is None and progress.order.confirm:
                say(f"--confirm {progress.order.confirm} holds as before; --confirm 0 ends it")
            if order.full_grid is None and progress.order.full_grid:
                say("--full-grid holds as before; --no-full-grid ends it")
        except KeyboardInterrupt:
            finished = False
            say("interrupted: all finished runs are in the store, and the same command continues from there")
    snapshot = read_store(path, study=study)
    show(snapshot)
    if failed_runs := snapshot.status().total("failed"):
        told = f"daedal study status --store {shlex.quote(shown(path))} says why"
        say(f"{counted(failed_runs, 'run')} of this study failed: {told}")
    if not finished:
        sys.exit(INTERRUPTED)


app = options.group("Compare algorithms on many problems; a store keeps every run.")

StorePath: TypeAlias = Annotated[
    Path, typer.Option("--store", callback=options.absolute, help="File with the runs (SQLite).")
]
Workers: TypeAlias = Annotated[
    int,
    typer.Option(
        min=1,
        max=MOST_WORKERS,
        show_default=False,
        default_factory=available_cores,
        help="Number of processes; the results do not depend on it. Default: number of cores.",
    ),
]
FullGrid: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--full-grid/--no-full-grid",
        show_default=False,
        help="Run every size in full, even if the answer is known earlier. Default: the previous value.",
    ),
]
Confirm: TypeAlias = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=0,
        max=MOST_CONFIRMED,
        help="Measure each chosen size again with N new seeds. Default: the previous value.",
    ),
]
RetryFailed: TypeAlias = Annotated[bool, typer.Option("--retry-failed", help="Make failed runs again.")]


Export: TypeAlias = Literal["csv", "json", "parquet"]
TableForm: TypeAlias = Annotated[Form, typer.Option("--format", help="Format of the table.")]
Number: TypeAlias = Annotated[
    int | None,
    typer.Option("--study", metavar="N", help="Number of the study in the store. Default: the one last run."),
]
Figures: TypeAlias = Annotated[
    Path, typer.Option("--output", "-o", callback=options.absolute, help="Folder for the figures.")
]
_ENDINGS = {".md": "markdown", ".tex": "latex", ".csv": "csv", ".json": "json", ".parquet": "parquet"}
Output: TypeAlias = Annotated[
    Path | None,
    typer.Option("--output", "-o", callback=options.absolute, help="File to write. Default: standard output."),
]


@app.command()
def init(file: Annotated[Path, typer.Argument(help="The study file to write (TOML).")]) -> None:
    """Write a commented example of a study file."""
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(resources.files("daedal.studies").joinpath("example.toml").read_text(encoding="utf-8"))
    except FileExistsError as error:
        raise ValueError(f"{file} exists already; name a new file") from error
    say(f"{file} written; run it with: daedal study run {shlex.quote(str(file))} --store results.db")


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="The study file (TOML); `daedal study init` writes one.")],
    store: StorePath,
    workers: Workers,
    full_grid: FullGrid = None,
    confirm: Confirm = None,
    retry_failed: RetryFailed = False,
    dask: options.Dask = None,
    dask_timeout: options.DaskTimeout = EXECUTOR_TIMEOUT,
) -> None:
    """Make the missing runs of a study, and show its table. After Ctrl-C, the same command continues."""
    order = Order(workers=workers, full_grid=full_grid, confirm=confirm, retry_failed=retry_failed)
    with stdout_kept():
        study = Study.from_file(file)  # which loads what it names
    run_and_show(study, store, order, show_rich, dask=dask, dask_timeout=dask_timeout)


def show_rich(snapshot: Snapshot) -> None:
    """Show the table of a study."""
    write_table(StudyTable.of(snapshot), "rich", None)


@app.command()
def status(
    store: StorePath,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as one JSON object.")] = False,
    number: Number = None,
) -> None:
    """Show how far the study of a store is, and why runs failed."""
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
        Form | None, typer.Option("--format", help="Format of the table. Default: by the file's name, or rich.")
    ] = None,
    sizes: Annotated[bool, typer.Option("--sizes", help="Show a line for each population size.")] = False,
    test: StarTest = "signed-rank",
    holm: Holm = False,
    output: Output = None,
    number: Number = None,
) -> None:
    """Show the population sizes that solve 50% and 90% of the runs, or what each budget brings, with significance."""
    check_output(output, store)
    snapshot = read_study(store, number)
    table = StudyTable.of(snapshot, test=test, holm=holm, sizes=sizes)
    write_table(table, form or _by_suffix(output, get_args(Form)) or "rich", output)


def _by_suffix(output: Path | None, forms: Sequence[str]) -> Any:
    """Return the format that the name of a file stands for, if any; refuse one that is not among the given ones."""
    form = None if output is None else _ENDINGS.get(output.suffix.lower())
    if form is not None and form not in forms:
        raise ValueError(f"{form} is not one of {', '.join(forms)}; name another file than {output}, or give --format")
    return form


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
    problem: Annotated[
        list[str] | None, typer.Option("--problem", help="Problem of the study. Can be repeated.")
    ] = None,
    number: Number = None,
) -> None:
    """Draw two figures for each problem: what each population size or budget brings, and how runs went.

    They are SVG files, and PNG files with the extra `plot`.
    """
    write_figures(read_study(store, number, histories=True), problem or [], output)


@app.command()
def merge(
    others: Annotated[list[Path], typer.Argument(metavar="STORE...", help="Stores to copy runs from.")],
    store: StorePath,
) -> None:
    """Copy the runs that this store lacks from other stores, such as those of other machines."""
    for other in others:
        Store(other, create=False).close()  # refuses other files before anything is copied
        if store.exists() and other.samefile(store):
            raise ValueError(f"a store cannot be merged into itself: {other}")
    with Store(store) as opened:
        for other in others:
            say(f"{counted(opened.merge(other), 'run')} taken from {other}")
        say(f"{shown(store)} has {counted(len(opened), 'run')}")


@app.command()
def export(
    store: StorePath,
    form: Annotated[
        Export | None,
        typer.Option("--format", help="Format; parquet needs pyarrow. Default: by the file's name, or csv."),
    ] = None,
    output: Output = None,
) -> None:
    """Write all runs of a store with all their columns."""
    check_output(output, store)
    form = form or _by_suffix(output, get_args(Export)) or "csv"
    if form == "parquet" and output is None:
        raise ValueError("Parquet cannot be printed; name a file: -o runs.parquet")
    with Store(store, create=False) as opened:
        write_pieces(exported(opened.rows(), form, COLUMNS), output, PARQUET if form == "parquet" else TABLE)
