"""`daedal resume`: continue a run."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from daedal.cli import options
from daedal.cli.output import stdout_kept
from daedal.cli.run_output import Output
from daedal.cli.solve import dask_or_none, live_display
from daedal.evaluation.options import EXECUTOR_TIMEOUT
from daedal.evaluation.signals import Interrupts
from daedal.objectives.spec import by_value, read_objective
from daedal.run.resume import resumed
from daedal.run.run_file import read_run
from daedal.storage.kinds import check_apart


def resume(
    run: Annotated[Path, typer.Argument(callback=options.absolute, help="The file that `daedal solve --run` wrote.")],
    problem: Annotated[
        str | None,
        typer.Argument(help="The objective again, if it is a function or a program: a run file holds no code."),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option("--algorithm", "-a", help='The algorithm again, if it is your own: "path/to/file.py:NAME".'),
    ] = None,
    max_evaluations: options.MaxEvaluations = None,
    max_seconds: options.MaxSeconds = None,
    workers: options.Workers = None,
    dask: options.Dask = None,
    dask_timeout: options.DaskTimeout = EXECUTOR_TIMEOUT,
    persistent: Annotated[bool, typer.Option("--persistent", help="Keep one process of cmd:PROGRAM running.")] = False,
    known: options.Known = None,
    as_json: options.AsJson = False,
    history: options.History = False,
) -> None:
    """Continue a run from its file, as if it had never been interrupted, or with more evaluations or time."""
    check_apart({"the run": run, "--known": known})
    with closing(read_run(run)) as file:
        size, name = file.description.get("n"), str(file.description.get("objective"))
    with stdout_kept():
        objective = None if problem is None else read_objective(problem, size, persistent=persistent)
    output = Output(as_json=as_json, history=history, file=run, algorithm=algorithm)
    limits = {"max_evaluations": max_evaluations, "max_seconds": max_seconds}
    with Interrupts() as interrupts:
        with stdout_kept(), dask_or_none(workers, dask, dask_timeout) as executor:
            given = objective if dask is None or objective is None else by_value(objective)
            config = resumed(run, given, algorithm, limits=limits, known=known)
            config = config.evaluated_by(workers=workers, executor=executor, executor_timeout=dask_timeout)
            result = config.run(display=live_display, interrupts=interrupts)
        output.write(name if problem is None else problem, result)
