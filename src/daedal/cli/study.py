"""`daedal study`: many runs, kept in a store, and what they say."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from enum import StrEnum
from itertools import chain, count, islice
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

import typer
from rich.console import Console, RenderableType
from rich.table import Table

from daedal.cli import options
from daedal.cli.words import INTERRUPTED, check_output, file_name, new_folder, say, write_pieces
from daedal.executors import dask_executor
from daedal.interrupts import ended_properly
from daedal.settings import unknown
from daedal.study.analysis import Row, Runs, analyse
from daedal.study.display import StudyDisplay
from daedal.study.example import EXAMPLE
from daedal.study.export import export as exported
from daedal.study.figures import draw, find_matplotlib, save
from daedal.study.published import published
from daedal.study.runner import MOST_CONFIRMED, Order, Progress, run_study
from daedal.study.spec import Study
from daedal.study.statistics import Test
from daedal.study.status import Status, study_status
from daedal.study.store import COLUMNS, Store
from daedal.study.tables import (
    ROW_COLUMNS,
    SIZE_COLUMNS,
    flat_rows,
    flat_sizes,
    latex,
    markdown,
    rich_table,
    sizes_markdown,
    sizes_table,
)
from daedal.words import counted

app = typer.Typer(help="Compare algorithms on many problems; a store keeps every run.")

StorePath: TypeAlias = Annotated[Path, typer.Option("--store", help="The file with the results (SQLite).")]
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


class Form(StrEnum):
    """How a table is written."""

    RICH = "rich"
    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV = "csv"
    JSON = "json"


class Export(StrEnum):
    """How runs are written."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


class TestName(StrEnum):
    """Which test decides about the stars."""

    SIGNED_RANK = "signed-rank"
    MANN_WHITNEY = "mann-whitney"


TableForm: TypeAlias = Annotated[Form, typer.Option("--format", help="How to write the table.")]
StarTest: TypeAlias = Annotated[
    TestName, typer.Option("--test", help="Pairs of the same seed (signed-rank), or two samples (mann-whitney).")
]
Holm: TypeAlias = Annotated[bool, typer.Option("--holm", help="Correct for the number of pairs (Holm).")]
Number: TypeAlias = Annotated[
    int | None,
    typer.Option("--study", metavar="N", help="Which study of the store; the one last run where not given."),
]
_Kind = TypeVar("_Kind", bound=StrEnum)
_ENDINGS = (".md", ".tex", ".csv", ".json", ".parquet")
_ERRORS_SHOWN = 10
_FILE_WIDTH = 140  # characters of a line, where there is no terminal to ask
Output: TypeAlias = Annotated[Path | None, typer.Option("--output", "-o", help="A file, not standard output.")]


@app.command()
def init(file: Annotated[Path, typer.Argument(help="The study file to write (TOML).")]) -> None:
    """Write a commented example of a study file."""
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(EXAMPLE)
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
) -> None:
    """Run what is missing of a study, and show its table. Ctrl-C loses nothing: the same command goes on."""
    order = checked_order(workers=workers, full_grid=full_grid, confirm=confirm, retry_failed=retry_failed)
    run_and_show(Study.from_file(file), store, order, dask=dask)


def checked_order(*, workers: int | None, full_grid: bool | None, confirm: int | None, retry_failed: bool) -> Order:
    """Check what was asked for on the command line."""
    if workers is not None and workers < 1:
        raise ValueError(f"expected --workers of at least 1, got --workers {workers}")
    if confirm is not None and not 0 <= confirm <= MOST_CONFIRMED:
        raise ValueError(f"expected --confirm of 0 to {MOST_CONFIRMED:,}, got --confirm {confirm}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Order(
        workers=cores if workers is None else workers, full_grid=full_grid, confirm=confirm, retry_failed=retry_failed
    )


def run_and_show(
    study: Study,
    path: Path,
    order: Order,
    *,
    dask: str | None = None,
    form: Form = Form.RICH,
    test: Test = "signed-rank",
    holm: bool = False,
) -> None:
    """Run a study, then show its table; after Ctrl-C the table so far."""
    with Store(path) as store:
        finished = run_with_display(study, store, order, dask=dask)
        _, confirm, _ = store.study()  # an earlier order may have asked for it
        rows = analyse(study, store.runs(), test=test, correct=holm, confirm=confirm)
    show_rows(rows, form, None, test=test, holm=holm)
    failed = sum(row.failed for row in rows)
    if failed:
        have = "has" if failed == 1 else "have"
        told = f"daedal study status --store {shlex.quote(str(path))} says why"
        say(f"{counted(failed, 'run')} of this study {have} failed: {told}")
    if not finished:
        sys.exit(INTERRUPTED)


def run_with_display(study: Study, store: Store, order: Order, *, dask: str | None = None) -> bool:
    """Run a study; whether it came to its end, or Ctrl-C ended it."""
    try:
        with (
            ended_properly(),
            nullcontext() if dask is None else dask_executor(dask) as executor,
            StudyDisplay() as display,
        ):
            progress = run_study(study, store, order, display, executor=executor)
    except KeyboardInterrupt:
        say("interrupted: every run that had ended is in the store, and the same command goes on from there")
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
    return f"{made}{failed}{killed}; {progress.found:,} of this study were in {path} before"


@app.command()
def status(
    store: StorePath,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as one JSON object.")] = False,
    number: Number = None,
) -> None:
    """Say how far the study of a store is, and what has failed."""
    with Store(store, create=False) as opened:
        study, confirm, full_grid = chosen_study(opened, number)
        found = study_status(study, opened.runs(), confirm=confirm, full_grid=full_grid)
    if as_json:
        totals = {name: found.total(name) for name in ("done", "failed", "left")}
        cells = [dataclasses.asdict(cell) for cell in found.cells]
        print(json.dumps({**totals, "cells": cells, "errors": found.errors}))
    else:
        _show_status(found)


def _show_status(found: Status) -> None:
    console = Console(highlight=False, markup=False, emoji=False)
    grid = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("problem", "algorithm", "popsize", "done", "failed", "left", "solved"):
        grid.add_column(name, justify="left" if name in ("problem", "algorithm") else "right")
    for cell in found.cells:
        counts = (cell.popsize, cell.done, cell.failed, cell.left, cell.solved)
        grid.add_row(cell.problem, cell.algorithm, *("?" if one is None else f"{one:,}" for one in counts))
    console.print(grid)
    done, failed, left, killed = (found.total(name) for name in ("done", "failed", "left", "killed"))
    ahead = f"at least {left:,} left" if left else "none left: the study is complete"
    ended = f"{failed:,} failed" + (f", {killed:,} killed" if killed else "")
    console.print(f"\n{counted(done, 'run')} done, {ended}, {ahead}", markup=False)
    for error, times in islice(found.errors.items(), _ERRORS_SHOWN):
        console.print(f"{counted(times, 'time')}: {error}", markup=False, soft_wrap=True)
    others = len(found.errors) - _ERRORS_SHOWN
    if others > 0:
        console.print(f"and {others:,} other errors; --json has them all", markup=False)
    if failed:
        console.print("--retry-failed runs them again", markup=False)
    if killed:
        console.print("what was killed the same command runs again", markup=False)


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
    """Show the sizes that solve 50 and 90 % of the runs, their effort, and who is significantly better."""
    check_output(output, store)
    with Store(store, create=False) as opened:
        study, confirm, _ = chosen_study(opened, number)
        runs = opened.runs()
    form = form or _by_suffix(output, {".md": Form.MARKDOWN, ".tex": Form.LATEX, ".csv": Form.CSV, ".json": Form.JSON})
    form = form or Form.RICH
    if sizes:
        _show_sizes(study, runs, form, output)
        return
    name = test_named(test)
    show_rows(analyse(study, runs, test=name, correct=holm, confirm=confirm), form, output, test=name, holm=holm)


def _show_sizes(study: Study, runs: Runs, form: Form, output: Path | None) -> None:
    if form is Form.LATEX:
        raise ValueError("expected --sizes with --format rich, markdown, csv or json, got --format latex")
    if form is Form.RICH:
        _write(sizes_table(study, runs), output)
    elif form is Form.MARKDOWN:
        _write(sizes_markdown(study, runs), output)
    else:
        write_pieces(exported(flat_sizes(study, runs), form.value, SIZE_COLUMNS), output)


def _by_suffix(output: Path | None, forms: Mapping[str, _Kind]) -> _Kind | None:
    """Give the format that the name of a file asks for, if any; refuse one that there is not."""
    ending = "" if output is None else output.suffix.lower()
    if ending in _ENDINGS and ending not in forms:
        raise ValueError(f"expected a file that ends in {', '.join(forms)}, or --format, got {output}")
    return forms.get(ending)


def chosen_study(store: Store, number: int | None) -> tuple[Study, int, bool]:
    """Give the study of a number, or the one last run; where there are others, say so."""
    found = store.study(number)
    known = store.studies()
    if len(known) > 1:
        shown = known[-1] if number is None else number
        others = ", ".join(str(one) for one in sorted(known) if one != shown)
        last = ", which was last run" if shown == known[-1] else ""
        say(f"{store.path}: study {shown}{last}; --study shows another one: {others}")
    return found


def test_named(name: TestName) -> Test:
    """Give the test of a name."""
    return "signed-rank" if name is TestName.SIGNED_RANK else "mann-whitney"


def show_rows(rows: list[Row], form: Form, output: Path | None, *, test: Test, holm: bool) -> None:
    """Write the table in a format, with the paper's numbers beside ours where it has them."""
    for name in dict.fromkeys(row.problem.name for row in rows if not row.judged):
        say(f"{name}: no optimum or target is known, so no run can have solved it; see daedal study table --sizes")
    if form is Form.RICH:
        _write(rich_table(rows, published=published(), test=test, correct=holm), output)
    elif form is Form.MARKDOWN:
        _write(markdown(rows, published=published(), test=test, correct=holm), output)
    elif form is Form.LATEX:
        _write(latex(rows, published=published(), test=test, correct=holm), output)
    else:
        write_pieces(exported(flat_rows(rows, published=published()), form.value, ROW_COLUMNS), output)


def _write(what: RenderableType, output: Path | None) -> None:
    """Write a table or a text for eyes."""
    if isinstance(what, str):
        write_pieces([what.encode()], output)
    elif output is None:
        Console(highlight=False).print(what)
    else:
        text = io.StringIO()
        Console(file=text, width=_FILE_WIDTH, highlight=False, color_system=None).print(what)
        write_pieces([text.getvalue().encode()], output)


@app.command()
def plot(
    store: StorePath,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write the figures to.")] = Path(
        "figures"
    ),
    problem: Annotated[list[str] | None, typer.Option("--problem", help="A problem of the study; repeat it.")] = None,
    number: Number = None,
) -> None:
    """Draw the average best fitness against evaluations and CPU time, one figure a problem, as SVG and PNG."""
    with Store(store, create=False) as opened:
        study, _, _ = chosen_study(opened, number)
        runs = opened.runs()
    plot_problems(study, runs, problem or [], output)


def plot_problems(study: Study, runs: Runs, names: list[str], folder: Path) -> None:
    """Draw the figures of the problems that are named, or of all."""
    known = [problem.name for problem in study.problems]
    for name in names:
        if name not in known:
            raise ValueError(unknown("problem of the study", name, known))
    prepare_figures(folder)
    taken: set[str] = set()
    for problem in study.problems:
        file = _free_name(file_name(problem.name), taken)
        taken.add(file.lower())
        if not names or problem.name in names:
            for path in save(draw(study, runs, problem), folder / file):
                say(str(path))


def _free_name(name: str, taken: set[str]) -> str:
    """Give a name with a number where it is taken: two problems may stand for one file."""
    numbered = chain([name], (f"{name}-{times}" for times in count(2)))
    return next(one for one in numbered if one.lower() not in taken)


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
            say(f"{counted(opened.take_over(other), 'run')} taken from {other}")
        say(f"{store} has {counted(len(opened), 'run')}")


def prepare_figures(folder: Path) -> None:
    """Check that figures can be drawn, and written to a folder."""
    find_matplotlib()
    new_folder(folder)


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
    with Store(store, create=False) as opened:
        write_pieces(exported(opened.rows(), form.value, COLUMNS), output)
