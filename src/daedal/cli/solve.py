"""`daedal solve` and `daedal resume`: one run."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from daedal.cli import options
from daedal.cli.live_display import LiveDisplay
from daedal.cli.output import stdout_kept, write_result
from daedal.evaluation.executor_pool import dask_executor
from daedal.evaluation.options import EXECUTOR_TIMEOUT, EvaluationOptions, check_executor_timeout
from daedal.evaluation.signals import Interrupts
from daedal.limits import Limits
from daedal.objectives.spec import by_value, file_of, read_objective
from daedal.run.config import RunConfig
from daedal.run.initial import read_initial_file
from daedal.run.noise import noise_of
from daedal.run.resume import resumed, seed_of
from daedal.run.run_file import read_run
from daedal.searches.presets import find_algorithm
from daedal.storage.files import check_apart

_display = partial(LiveDisplay, capture=True)


def solve(
    problem: options.Problem,
    algorithm: options.Algorithm = "auto",
    popsize: options.Popsize = None,
    settings: options.Settings = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed; the same seed gives the same result. Default: random.")
    ] = None,
    n: options.Variables = None,
    space: options.SpaceFile = None,
    minimize: options.Minimize = False,
    max_evaluations: options.MaxEvaluations = None,
    max_generations: options.MaxGenerations = None,
    max_seconds: options.MaxSeconds = None,
    patience: options.Patience = None,
    target: options.Target = None,
    by_row: options.ByRow = False,
    persistent: options.Persistent = False,
    violations: options.Violations = False,
    shuffle: options.Shuffle = True,
    initial: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=options.absolute,
            help="Candidates to start from, one per line: 0/1 or, with --space, JSON objects; all with a value or "
            'none. "-" is standard input.',
        ),
    ] = None,
    known: options.Known = None,
    workers: options.Workers = None,
    dask: options.Dask = None,
    dask_timeout: options.DaskTimeout = EXECUTOR_TIMEOUT,
    asynchronous: Annotated[
        bool, typer.Option("--asynchronous", help="Give each worker the next candidate as soon as it is free.")
    ] = False,
    on_error: Annotated[
        str,
        typer.Option(metavar="POLICY", help="Policy for failed evaluations: raise, worst, retry:N or retry:N,worst."),
    ] = "raise",
    timeout: Annotated[float | None, typer.Option(metavar="SECONDS", help="Maximum time for one evaluation.")] = None,
    deduplicate: Annotated[bool, typer.Option(help="Evaluate repeated candidates only once.")] = True,
    noisy: Annotated[
        bool, typer.Option("--noisy", help="Measure promising candidates several times, because values are noisy.")
    ] = False,
    repeats: Annotated[
        int | None,
        typer.Option(metavar="N", help="Minimum number of measurements of the best candidate; implies --noisy."),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=options.absolute,
            help="Run file to write, for `daedal resume` and `daedal report`; if it holds this run, continue the run.",
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", callback=options.absolute, help="Folder for logs in the format of IOHanalyzer."),
    ] = None,
    as_json: options.AsJson = False,
    history: options.History = False,
) -> None:
    """Search for the best solution of a problem."""
    words = sys.argv[1:]  # now, because the user's files may change them
    check_apart(
        {"--run": run, "--known": known, "--initial": initial, "--space": space}
        | {"the problem": file_of(problem), "--algorithm": file_of(algorithm)}
    )
    with stdout_kept():
        chosen = find_algorithm(algorithm).with_settings(options.settings_of(settings, popsize))
        variables = options.space_of(space, n)
        objective = read_objective(problem, n if variables is None else variables.n, persistent=persistent)
    rows = None if initial is None else read_initial_file(initial, variables)
    noise = noise_of(noisy, repeats, initial=rows)
    drawn = seed_of(run, seed)
    if seed is None:
        end = words.index("--") if "--" in words else len(words)
        words[end:end] = ["--seed", str(drawn)]
    write = partial(write_result, as_json=as_json, history=history, file=run, algorithm=algorithm)
    with Interrupts() as interrupts:
        with stdout_kept(), _dask(workers, dask, dask_timeout) as executor:
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
                command=shlex.join(["daedal", *words]),
            )
            result = config.run(display=_display, log=log, interrupts=interrupts)
        write(result, problem, repeat=words)


def resume(
    run: Annotated[
        Path, typer.Argument(metavar="FILE", callback=options.absolute, help="Run file of `daedal solve --run`.")
    ],
    problem: Annotated[
        str | None,
        typer.Argument(
            metavar="[PROBLEM]", help="Objective, if it is a function or a program: run files hold no code."
        ),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option("--algorithm", "-a", metavar="NAME", help='Algorithm, if it is your own: "path/to/file.py:NAME".'),
    ] = None,
    max_evaluations: options.MaxEvaluations = None,
    max_seconds: options.MaxSeconds = None,
    persistent: options.Persistent = False,
    known: options.Known = None,
    workers: options.Workers = None,
    dask: options.Dask = None,
    dask_timeout: options.DaskTimeout = EXECUTOR_TIMEOUT,
    as_json: options.AsJson = False,
    history: options.History = False,
) -> None:
    """Continue a run from its run file, as if it had never been interrupted, or with more evaluations or time."""
    check_apart({"the run": run, "--known": known})
    with closing(read_run(run)) as file:
        size, name = file.description.get("n"), str(file.description.get("objective"))
    with stdout_kept():
        objective = None if problem is None else read_objective(problem, size, persistent=persistent)
    write = partial(write_result, as_json=as_json, history=history, file=run, algorithm=algorithm)
    limits = {"max_evaluations": max_evaluations, "max_seconds": max_seconds}
    with Interrupts() as interrupts:
        with stdout_kept(), _dask(workers, dask, dask_timeout) as executor:
            given = objective if dask is None or objective is None else by_value(objective)
            config = resumed(run, given, algorithm, limits=limits, known=known)
            config = config.evaluated_by(workers=workers, executor=executor, executor_timeout=dask_timeout)
            result = config.run(display=_display, interrupts=interrupts)
        write(result, name if problem is None else problem)


@contextmanager
def _dask(workers: int | None, address: str | None, timeout: float) -> Iterator[Executor | None]:
    """Connect to Dask if an address is given."""
    check_executor_timeout(timeout)
    if address is None:
        yield None
        return
    if workers is not None:
        raise ValueError("--workers and --dask cannot be combined; Dask uses its own workers")
    with dask_executor(address, timeout) as executor:
        yield executor
