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
from daedal.cli.run_output import Output, resume_words
from daedal.evaluation.dask import dask_executor
from daedal.evaluation.options import EXECUTOR_TIMEOUT, EvaluationOptions, check_executor_timeout
from daedal.evaluation.signals import Interrupts
from daedal.limits import Limits
from daedal.objectives.spec import by_value, file_of, read_objective
from daedal.optimizers.registry import find_algorithm
from daedal.rng import check_seed
from daedal.run.checkpoint import Checkpointer
from daedal.run.config import RunConfig
from daedal.run.noise import noise_of
from daedal.run.view import RunView
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
    cache: Annotated[
        Path | None, typer.Option(callback=options.absolute, help="A file (SQLite) that keeps values for other runs.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the objective is called in the cache.")] = None,
    version: Annotated[str, typer.Option(help="Its version: another version has values of its own.")] = "",
    checkpoint: Annotated[
        Path | None, typer.Option(callback=options.absolute, help="A file that `daedal resume` goes on from.")
    ] = None,
    every: options.Every = "60s",
    force: Annotated[bool, typer.Option("--force", help="Let the checkpoint replace that of an earlier run.")] = False,
    log: Annotated[
        Path | None,
        typer.Option(callback=options.absolute, metavar="FOLDER", help="Log the calls there, for IOHanalyzer."),
    ] = None,
    save: options.Save = None,
    settings: options.Settings = None,
    as_json: options.AsJson = False,
    history: options.History = False,
) -> None:
    """Look for the best bits of a problem."""
    check_apart(
        {"--checkpoint": checkpoint, "--cache": cache, "--initial": initial, "--space": space, "--save": save}
        | {"the problem": file_of(problem), "--algorithm": file_of(algorithm)}
    )
    checkpointer = None if checkpoint is None else _checkpointer(checkpoint, every, force, problem, algorithm)
    options.check_save(save)
    with stdout_kept():  # whatever a file prints, or an objective
        chosen = find_algorithm(algorithm).with_settings(settings_of(settings, popsize))
        variables = options.space_of(space, n)
        objective = read_objective(problem, n if variables is None else variables.n, persistent=persistent)
    rows = options.read_initial(initial, variables)
    noise = noise_of(noisy, repeats, cache=cache, initial=rows)
    drawn = check_seed(seed)
    again = _again(context, drawn if seed is None else None, replaces=checkpoint is not None and not force)
    output = Output(as_json=as_json, history=history, checkpoint=checkpoint, algorithm=algorithm, save=save)
    with Interrupts() as interrupts:
        with stdout_kept(), dask_or_none(workers, dask, dask_timeout) as executor:
            config = RunConfig(
                objective=objective if dask is None else by_value(objective),
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
                    cache=None if cache is None else str(cache),
                    name=name,
                    version=version,
                ),
                noise=noise,
                initial=rows,
                command=_line(again),
            )
            result = config.run(checkpointer=checkpointer, display=live_display, log=log, interrupts=interrupts)
        output.write(problem, result, again=again)


def _again(context: typer.Context, drawn: int | None, *, replaces: bool) -> list[str]:
    """Give the words that make the run again: with the seed that was drawn, and in place of the checkpoint it left."""
    options = [] if drawn is None else ["--seed", str(drawn)]
    return with_options(context.meta[WORDS], [*options, *(["--force"] if replaces else [])])


def _line(words: Sequence[str]) -> str:
    """Write a command as a shell reads it."""
    return " ".join(map(quoted, ["daedal", *words]))


def _checkpointer(checkpoint: Path, every: str, force: bool, problem: str, algorithm: str) -> Checkpointer:
    """Make what writes checkpoints; where an earlier run is in the way, it says the commands that help."""
    advice = f"{_line(resume_words(checkpoint, problem, algorithm))} goes on with it, --force begins anew"
    return Checkpointer(checkpoint, every, overwrite=force, advice=advice)


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
