"""`daedal reproduce`: the paper's experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from daedal.cli import options
from daedal.cli.output import shown
from daedal.cli.study import (
    Confirm,
    Figures,
    FullGrid,
    Holm,
    RetryFailed,
    StarTest,
    StorePath,
    TableForm,
    Workers,
    run_and_show,
    write_figures,
    write_table,
)
from daedal.evaluation.options import EXECUTOR_TIMEOUT
from daedal.plot.studies import check_figures
from daedal.studies.paper import FIGURES, table1
from daedal.studies.runner import Order
from daedal.studies.tables import StudyTable

app = options.group("Repeat the experiment of the paper.")

Algorithms: TypeAlias = Annotated[
    list[str] | None, typer.Option("--algorithm", "-a", help="DAE-EDA, RBM-EDA, BOA or PBIL. Can be repeated.")
]
Runs: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Runs of each population size. Default: 20, or 10 with --quick.")
]
NkDir: TypeAlias = Annotated[Path | None, typer.Option(help="Folder with the paper's NK files, such as nk_30_4.1.")]
MaxPopsize: TypeAlias = Annotated[
    int | None, typer.Option(help="Largest population size to try. Default: that of the paper.")
]


@app.command(name="table1")
def reproduce_table1(
    workers: Workers,
    problem: Annotated[
        list[str] | None,
        typer.Option("--problem", help='Row of the table, "trap:k=5,n=50", or a kind, "nk". Can be repeated.'),
    ] = None,
    algorithm: Algorithms = None,
    runs: Runs = None,
    store: StorePath = Path("repro.db"),
    quick: Annotated[bool, typer.Option("--quick", help="Make the small rows without RBM-EDA, with 10 runs.")] = False,
    nk_dir: NkDir = None,
    max_popsize: MaxPopsize = None,
    full_grid: FullGrid = None,
    confirm: Confirm = None,
    retry_failed: RetryFailed = False,
    dask: options.Dask = None,
    dask_timeout: options.DaskTimeout = EXECUTOR_TIMEOUT,
    test: StarTest = "signed-rank",
    holm: Holm = False,
    form: TableForm = "rich",
) -> None:
    """Make the paper's Table 1, next to the published numbers. After Ctrl-C, the same command continues."""
    study = table1(
        problems=problem or (),
        algorithms=algorithm or (),
        runs=runs,
        max_popsize=max_popsize,
        nk_dir=nk_dir,
        quick=quick,
    )
    order = Order(workers=workers, full_grid=full_grid, confirm=confirm, retry_failed=retry_failed)
    run_and_show(
        study,
        store,
        order,
        lambda snapshot: write_table(StudyTable.of(snapshot, test=test, holm=holm), form, None),
        dask=dask,
        dask_timeout=dask_timeout,
    )


@app.command()
def figures(
    workers: Workers,
    algorithm: Algorithms = None,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each population size.")] = 20,
    store: StorePath = Path("repro-figures.db"),
    output: Figures = Path("figures"),
    max_popsize: MaxPopsize = 16_000,
    retry_failed: RetryFailed = False,
    dask: options.Dask = None,
    dask_timeout: options.DaskTimeout = EXECUTOR_TIMEOUT,
) -> None:
    """Draw the paper's two figures: best fitness over evaluations and over CPU time."""
    study = table1(problems=FIGURES, algorithms=algorithm or (), runs=runs, max_popsize=max_popsize)
    check_figures(study, output, shown(output))  # now, and not after hours of work
    order = Order(workers=workers, full_grid=True, retry_failed=retry_failed)
    run_and_show(
        study,
        store,
        order,
        lambda snapshot: write_figures(snapshot, [], output),
        dask=dask,
        dask_timeout=dask_timeout,
    )
