"""`daedal resume`: go on with a run."""

from __future__ import annotations

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
from daedal.run.checkpoint import Checkpointer, load_checkpoint
from daedal.run.resume import restored_config
from daedal.storage.kinds import check_apart


def resume(
    checkpoint: Annotated[
        Path, typer.Argument(callback=options.absolute, help="The file that `daedal solve --checkpoint` wrote.")
    ],
    problem: Annotated[
        str | None,
        typer.Argument(help="The objective again, where it is a function or a program: a checkpoint holds no code."),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option("--algorithm", "-a", help='The algorithm again, where it is your own: "path/to/file.py:NAME".'),
    ] = None,
    workers: options.Workers = None,
    dask: options.Dask = None,
    dask_timeout: options.DaskTimeout = EXECUTOR_TIMEOUT,
    persistent: Annotated[bool, typer.Option("--persistent", help="Keep one process of cmd:PROGRAM running.")] = False,
    every: options.Every = "60s",
    save: options.Save = None,
    as_json: options.AsJson = False,
    history: options.History = False,
) -> None:
    """Go on with a run from its checkpoint, as if it had never been broken off."""
    check_apart({"the checkpoint": checkpoint, "--save": save})
    options.check_save(save)
    state = load_checkpoint(checkpoint)
    checkpointer = Checkpointer(checkpoint.resolve(), every, overwrite=True)  # behind a link, the file itself
    size = state.part("config").whole("n")
    with stdout_kept():
        objective = None if problem is None else read_objective(problem, size, persistent=persistent)
    name = problem if problem is not None else state.part("config").text("objective")
    output = Output(as_json=as_json, history=history, checkpoint=checkpoint, algorithm=algorithm, save=save)
    with Interrupts() as interrupts:
        with stdout_kept(), dask_or_none(workers, dask, dask_timeout) as executor:
            config = restored_config(
                state,
                str(checkpoint),
                objective if dask is None or objective is None else by_value(objective),
                algorithm,
            ).evaluated_by(workers=workers, executor=executor, executor_timeout=dask_timeout)
            result = config.run(state=state, checkpointer=checkpointer, display=live_display, interrupts=interrupts)
        output.write(name, result)
