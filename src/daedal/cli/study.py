"""`daedal study`: many runs, kept in a store, and what they say."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

import typer

from daedal.cli import options
from daedal.cli.help import HelpfulCommand, group_of_commands
from daedal.cli.output import check_output, say, shown, stdout_kept, write_pieces
from daedal.cli.study_output import (
    Form,
    Holm,
    StarTest,
    TestName,
    show_status,
    test_named,
    write_figures,
    write_table,
)
from daedal.cli.study_run import checked_order, run_and_show
from daedal.evaluation.options import EXECUTOR_TIMEOUT
from daedal.settings.checks import counted
from daedal.studies.example import EXAMPLE
from daedal.studies.export import export as exported
from daedal.studies.files import TABLES
from daedal.studies.run import COLUMNS
from daedal.studies.snapshot import read_store
from daedal.studies.spec import Study
from daedal.studies.status import study_status
from daedal.studies.store import Store
from daedal.studies.tables.table import StudyTable

app = group_of_commands("Compare algorithms on many problems; a store keeps every run.")

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


@app.command(cls=HelpfulCommand)
def init(file: Annotated[Path, typer.Argument(help="The study file to write (TOML).")]) -> None:
    """Write a commented example of a study file."""
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(EXAMPLE)
    except FileExistsError as error:
        raise ValueError(f"expected a name for a new file, but {file} is there already; it was not changed") from error
    say(f"{file} written; run it with: daedal study run {shlex.quote(str(file))} --store results.db")


@app.command(cls=HelpfulCommand)
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
    """Run what is missing of a study, and show its table. Ctrl-C loses nothing: the same command goes on."""
    order = checked_order(workers=workers, full_grid=full_grid, confirm=confirm, retry_failed=retry_failed)
    with stdout_kept():
        study = Study.from_file(file)  # which loads what it names
    run_and_show(study, store, order, dask=dask, dask_timeout=dask_timeout)


@app.command(cls=HelpfulCommand)
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
        show_status(found)


@app.command(name="table", cls=HelpfulCommand)
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
    with Store(store, create=False) as opened:
        study, confirm, _ = chosen_study(opened, number)
        runs = opened.runs()
    form = form or _by_suffix(output, {".md": Form.MARKDOWN, ".tex": Form.LATEX, ".csv": Form.CSV, ".json": Form.JSON})
    form = form or Form.RICH
    table = StudyTable(study=study, runs=runs, confirm=confirm, test=test_named(test), holm=holm, sizes=sizes)
    write_table(table, form, output)


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
        which = known[-1] if number is None else number
        others = ", ".join(str(one) for one in sorted(known) if one != which)
        last = ", which was last run" if which == known[-1] else ""
        say(f"{shown(store.path)}: study {which}{last}; --study shows another one: {others}")
    return found


@app.command(cls=HelpfulCommand)
def plot(
    store: StorePath,
    output: Figures = Path("figures"),
    problem: Annotated[list[str] | None, typer.Option("--problem", help="A problem of the study; repeat it.")] = None,
    number: Number = None,
) -> None:
    """Draw the average best fitness against evaluations and CPU time, and how runs went: two figures a problem.

    With budgets: the median and the quartiles against the budget, one panel a problem. All as SVG and PNG.
    """
    with Store(store, create=False) as opened:
        study, _, _ = chosen_study(opened, number)
    write_figures(read_store(store, study=study), problem or [], output)


@app.command(cls=HelpfulCommand)
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
        say(f"{shown(store)} has {counted(len(opened), 'run')}")


@app.command(cls=HelpfulCommand)
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
        write_pieces(exported(opened.rows(), form.value, COLUMNS), output, TABLES[form.value])
