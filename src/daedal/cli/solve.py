"""`daedal solve`: one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from daedal.cli import options
from daedal.cli.again import quoted, with_options
from daedal.cli.app import WORDS
from daedal.cli.live_display import LiveDisplay
from daedal.cli.options import settings_of
from daedal.cli.output import stdout_kept
from daedal.cli.run_output import Output
from daedal.evaluation.executor_pool import dask_executor
from daedal.evaluation.options import EXECUTOR_TIMEOUT, EvaluationOptions, check_executor_timeout
from daedal.evaluation.signals import Interrupts
from daedal.limits import Limits
from daedal.objectives.spec import by_value, file_of, read_objective
from daedal.run.config import RunConfig
from daedal.run.noise import noise_of
from daedal.run.resume import seed_of
from daedal.run.view import RunView
from daedal.searches.presets import find_algorithm
from daedal.storage.kinds import check_apart


def solve(
    context: typer.Context,
    problem: options.Problem,
    algorithm: options.Algorithm = "auto",
    popsize: options.Popsize = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same result; drawn if not given.")] = None,
    n: options.Variables = None,
    space: options.SpaceFile = None,
    max_evaluations: options.MaxEvaluations = None,
    max_generations: options.MaxGenerations = None,
    max_seconds: options.MaxSeconds = None,
    patience: options.Patience = None,
    target: options.Target = None,
    minimize: options.Minimize = False,
    by_row: options.ByRow = False,
    violations: options.Violations = False,
    shuffle: options.Shuffle = True,
    initial: Annotated[
        Path | None,
        typer.Option(
            callback=options.absolute,
            help="Rows to begin with: lines of 0/1, each followed by its value, or none of them; in a space, one JSON "
            "object a line; - is standard input.",
        ),
    ] = None,
    workers: options.Workers = None,
    dask: options.Dask = None,
    dask_timeout: options.DaskTimeout = EXECUTOR_TIMEOUT,
    persistent: Annotated[bool, typer.Option("--persistent", help="Keep one process of cmd:PROGRAM running.")] = False,
    on_error: Annotated[
        str, typer.Option(help="When an evaluation fails: raise, worst, retry:N or retry:N,worst.")
    ] = "raise",
    timeout: Annotated[float | None, typer.Option(help="Seconds that one evaluation may take.")] = None,
    deduplicate: Annotated[bool, typer.Option(help="Evaluate a row that comes again only once.")] = True,
    noisy: options.Noisy = False,
    repeats: options.Repeats = None,
    asynchronous: Annotated[
        bool, typer.Option("--asynchronous", help="Give each worker the next candidate as soon as it is free.")
    ] = False,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=options.absolute,
            help="Record the run in a file, for `daedal resume` and `daedal report`; if the file holds this run, "
            "continue it.",
        ),
    ] = None,
    known: options.Known = None,
    log: Annotated[
        Path | None,
        typer.Option(callback=options.absolute, metavar="FOLDER", help="Log the calls there, for IOHanalyzer."),
    ] = None,
    settings: options.Settings = None,
    as_json: options.AsJson = False,
    history: options.History = False,
) -> None:
    """Look for the best bits of a problem."""
    check_apart(
        {"--run": run, "--known": known, "--initial": initial, "--space": space}
        | {"the problem": file_of(problem), "--algorithm": file_of(algorithm)}
    )
    with stdout_kept():  # whatever a file prints, or an objective
        chosen = find_algorithm(algorithm).with_settings(settings_of(settings, popsize))
        variables = options.space_of(space, n)
        objective = read_objective(problem, n if variables is None else variables.n, persistent=persistent)
    rows = options.read_initial(initial, variables)
    noise = noise_of(noisy, repeats, initial=rows)
    drawn = seed_of(run, seed)
    again = _again(context, drawn if seed is None else None)
    output = Output(as_json=as_json, history=history, file=run, algorithm=algorithm)
    with Interrupts() as interrupts:
        with stdout_kept(), dask_or_none(workers, dask, dask_timeout) as executor:
            config = RunConfig(
                objective=objective if dask is None else by_value(objective),
                violations=violations,
                n=n,
                space=variables,
                algorithm=chosen,
                seed=drawn,
                minimize=minimize,
                vectorized=not by_row,
                shuffle=shuffle,
                limits=Limits(
                    max_evaluations=max_evaluations,
                    max_generations=max_generations,
                    max_seconds=max_seconds,
                    patience=patience,
                    target=target,
                ),
                evaluation=EvaluationOptions(
                    workers=1 if workers is None else workers,
                    executor=executor,
                    executor_timeout=dask_timeout,
                    on_error=on_error,
                    timeout=timeout,
                    deduplicate=deduplicate and noise is None,
                    asynchronous=asynchronous,
                ),
                noise=noise,
                initial=rows,
                known=known,
                file=None if run is None else str(run),
                command=_line(again),
            )
            result = config.run(display=live_display, log=log, interrupts=interrupts)
        output.write(problem, result, again=again)


def _again(context: typer.Context, drawn: int | None) -> list[str]:
    """Return the words that repeat the run, with the seed that was drawn."""
    return with_options(context.meta[WORDS], [] if drawn is None else ["--seed", str(drawn)])


def _line(words: Sequence[str]) -> str:
    """Write a command as a shell reads it."""
    return " ".join(map(quoted, ["daedal", *words]))


@contextmanager
def dask_or_none(workers: int | None, dask: str | None, timeout: float) -> Iterator[Executor | None]:
    """Connect to Dask, if that is asked for."""
    check_executor_timeout(timeout)
    if dask is None:
        yield None
        return
    if workers is not None:
        raise ValueError("expected --workers or --dask, got both; Dask has workers of its own")
    with dask_executor(dask, timeout) as executor:
        yield executor


def live_display(view: RunView) -> LiveDisplay:
    """Make what shows a run as it goes."""
    return LiveDisplay(view, capture=True)
