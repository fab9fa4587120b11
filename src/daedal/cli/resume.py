"""`daedal resume`: go on with a run."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

import daedal
from daedal.cli import options
from daedal.cli.solve import report_result, some_workers
from daedal.objectives.spec import read_objective, travelling
from daedal.run.checkpoint import load, taken


def resume(
    checkpoint: Annotated[Path, typer.Argument(help="The file that `daedal solve --checkpoint` wrote.")],
    problem: Annotated[
        str | None,
        typer.Argument(help="The objective again, where it is a function or a program: a checkpoint holds no code."),
    ] = None,
    workers: options.Workers = None,
    dask: options.Dask = None,
    persistent: Annotated[bool, typer.Option("--persistent", help="Keep one process of cmd:PROGRAM running.")] = False,
    every: options.Every = "60s",
    as_json: options.AsJson = False,
    history: options.History = False,
) -> None:
    """Go on with a run from its checkpoint, as if it had never been broken off."""
    kept = taken(load(checkpoint), "description")
    objective = None if problem is None else read_objective(problem, kept.whole("n"), persistent=persistent)
    with redirect_stdout(sys.stderr), some_workers(workers, dask) as help_:
        result = daedal.resume(
            checkpoint,
            objective if dask is None or objective is None else travelling(objective),
            workers=workers,
            executor=help_.executor,
            every=every,
            progress=True,
        )
    name = problem if problem is not None else kept.text("objective")
    report_result(name, result, as_json=as_json, history=history, checkpoint=checkpoint)
