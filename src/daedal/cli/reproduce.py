"""`daedal reproduce`: the paper's experiment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from daedal.cli import INTERRUPTED, options
from daedal.cli.output import shown
from daedal.cli.study import (
    Confirm,
    Figures,
    Form,
    FullGrid,
    Holm,
    RetryFailed,
    StarTest,
    StorePath,
    TableForm,
    TestName,
    Workers,
    checked_order,
    run_and_show,
    run_with_display,
    test_named,
    write_figures,
)
from daedal.evaluation.options import EXECUTOR_TIMEOUT
from daedal.plot.studies import check_figures
from daedal.studies.paper import FIGURES, table1
from daedal.studies.snapshot import read_store
from daedal.studies.store import Store

app = options.group("Repeat the experiment of the paper.")

Algorithms: TypeAlias = Annotated[
    list[str] | None, typer.Option("--algorithm", "-a", help="DAE-EDA, RBM-EDA, BOA or PBIL; repeat it.")
]
Runs: TypeAlias = Annotated[int | None, typer.Option(min=1, help="Runs of each cell; 20, or 10 with --quick.")]
NkDir: TypeAlias = Annotated[Path | None, typer.Option(help="Folder with the paper's NK files, such as nk_30_4.1.")]
MaxPopsize: TypeAlias = Annotated[
    int | None, typer.Option(help="The largest population size to try; the paper's where not given.")
]


@app.command(name="table1")
def reproduce_table1(
    problem: Annotated[
        list[str] | None,
        typer.Option("--problem", help='A row of the table, "trap:k=5,n=50", or a kind, "nk"; repeat it.'),
    ] = None,
    algorithm: Algorithms = None,
    runs: Runs = None,
    store: StorePath = Path("repro.db"),
    workers: Workers = None,
    quick: Annotated[bool, typer.Option("--quick", help="The small rows, without RBM-EDA, 10 runs.")] = False,
    nk_dir: NkDir = None,
    max_popsize: MaxPopsize = None,
    full_grid: FullGrid = None,
    confirm: Confirm = None,
    retry_failed: RetryFailed = False,
    dask: options.Dask = None,
    dask_timeout: options.DaskTimeout = EXECUTOR_TIMEOUT,
    test: StarTest = TestName.SIGNED_RANK,
    holm: Holm = False,
    form: TableForm = Form.RICH,
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
    order = checked_order(workers=workers, full_grid=full_grid, confirm=confirm, retry_failed=retry_failed)
    run_and_show(study, store, order, dask=dask, dask_timeout=dask_timeout, form=form, test=test_named(test), holm=holm)


@app.command()
def figures(
    algorithm: Algorithms = None,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each cell.")] = 20,
    store: StorePath = Path("repro-figures.db"),
    output: Figures = Path("figures"),
    workers: Workers = None,
    max_popsize: MaxPopsize = 16_000,
    retry_failed: RetryFailed = False,
    dask: options.Dask = None,
    dask_timeout: options.DaskTimeout = EXECUTOR_TIMEOUT,
) -> None:
    """Draw the paper's two figures: best fitness against evaluations and against CPU time."""
    study = table1(problems=FIGURES, algorithms=algorithm or (), runs=runs, max_popsize=max_popsize)
    order = checked_order(workers=workers, full_grid=True, confirm=None, retry_failed=retry_failed)
    check_figures(study, output, shown(output))  # now, and not after hours of work
    with Store(store) as opened:
        finished = run_with_display(study, opened, order, dask=dask, dask_timeout=dask_timeout)
    write_figures(read_store(store, study=study), [], output)
    if not finished:
        sys.exit(INTERRUPTED)
