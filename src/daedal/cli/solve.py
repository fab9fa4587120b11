"""`daedal solve`: one run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from daedal import __version__  # now: a package may be replaced while it runs
from daedal.cli import INFEASIBLE, INTERRUPTED, options
from daedal.cli.again import quoted, with_options, write_command
from daedal.cli.app import WORDS
from daedal.cli.live_display import LiveDisplay
from daedal.cli.options import settings_of
from daedal.cli.output import finite, shown, standard_error, stdout_kept
from daedal.cli.result_text import MARGIN, show
from daedal.evaluation.dask import dask_executor
from daedal.evaluation.options import EXECUTOR_TIMEOUT, EvaluationOptions, check_executor_timeout
from daedal.evaluation.signals import interrupts_held
from daedal.limits import Limits, StopReason
from daedal.objectives.spec import by_value, file_of, read_objective, spec_parts
from daedal.optimizers.records import Generation
from daedal.optimizers.registry import find_algorithm
from daedal.result import Result
from daedal.rng import check_seed
from daedal.run.checkpoint import Checkpointer
from daedal.run.config import RunConfig
from daedal.run.noise import noise_of
from daedal.run.view import RunView
from daedal.settings.plugins import is_file_spec
from daedal.storage.kinds import check_apart
from daedal.types import to_text


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
    force: Annotated[bool, typer.Option("--force", help="Let the checkpoint replace that of another run.")] = False,
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
    checkpointer = None if checkpoint is None else Checkpointer(checkpoint, every, overwrite=force)
    options.check_save(save)
    with stdout_kept():  # whatever a file prints, or an objective
        chosen = find_algorithm(algorithm).with_settings(settings_of(settings, popsize))
        variables = options.space_of(space, n)
        objective = read_objective(problem, n if variables is None else variables.n, persistent=persistent)
    rows = options.read_initial(initial, variables)
    noise = noise_of(noisy, repeats, cache=cache, initial=rows)
    drawn = check_seed(seed)
    extra = [*(("--seed", str(drawn)) if seed is None else ()), *(("--force",) if checkpoint and not force else ())]
    again = with_options(context.meta[WORDS], extra)
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
            command=" ".join(map(quoted, ["daedal", *again])),
        )
        result = config.run(checkpointer=checkpointer, display=live_display, log=log)
    report_result(
        problem,
        result,
        as_json=as_json,
        history=history,
        checkpoint=checkpoint,
        algorithm=algorithm,
        save=save,
        again=again,
    )


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


def report_result(
    problem: str,
    result: Result,
    *,
    as_json: bool,
    history: bool,
    checkpoint: Path | None,
    algorithm: str | None,
    save: Path | None = None,
    again: Sequence[str] | None = None,
) -> None:
    """Write a result, and save it, and end with the exit code that goes with it; who asks to end meanwhile waits.

    `again` are the words of the command that makes the run again; what can go on is not begun again.
    """
    console = standard_error()
    goes_on = result.stop is StopReason.INTERRUPTED and checkpoint is not None
    with interrupts_held():
        if as_json:
            _print_json(problem, result, history=history)
        else:
            show(result, console, again=None if goes_on else again)
        if save is not None:
            result.save(save)
    if save is not None and not as_json:
        write_command(console, f"{'page':<{MARGIN}}", ["report", shown(save), "-o", "report.html"])
    if goes_on and checkpoint is not None:
        objective = [] if spec_parts(problem)[0] == "problem" else [problem]
        if algorithm is not None and is_file_spec(algorithm):
            objective += ["--algorithm", algorithm]
        write_command(console, f"{'next':<{MARGIN}}", ["resume", shown(checkpoint), *objective])
    if result.stop is StopReason.INTERRUPTED:
        sys.exit(INTERRUPTED)
    if not result.feasible:
        sys.exit(INFEASIBLE)


def _print_json(problem: str, result: Result, *, history: bool) -> None:
    report = _report(problem, result)
    if history:
        report["history"] = [_record(record) for record in result.history]
    print(json.dumps(report, allow_nan=False), flush=True)


def _report(problem: str, result: Result) -> dict[str, object]:
    """Give the fields of the JSON object."""
    return {
        "problem": problem,
        "algorithm": result.algorithm,
        "popsize": result.popsize,
        "seed": result.seed,
        "settings": result.settings,
        "x": to_text(result.x),
        "best": result.best,
        "fitness": finite(result.fitness),
        "standard_error": result.standard_error,
        "measurements": result.measurements,
        "feasible": result.feasible,
        "violation": finite(result.violation),
        "violations": list(result.violations),
        "optimum": result.optimum,
        "success": result.success,
        "stop": result.stop.value,
        "explanation": result.explanation,
        "evaluations": result.evaluations,
        "evaluations_to_best": result.evaluations_to_best,
        "carried_out": result.evaluated,
        "cached": result.cached,
        "failed": result.failed,
        "failures": [{"x": failure.x, "error": failure.error} for failure in result.failures],
        "batches": result.batches,
        "generations": result.generations,
        "seconds": result.seconds,
        "cpu_seconds": result.cpu_seconds,
        "version": __version__,
    }


def _record(record: Generation) -> dict[str, object]:
    """Give the fields of one generation: its own, and what the model had to tell."""
    return {
        "generation": record.generation,
        "evaluations": record.evaluations,
        "best": finite(record.best),
        "mean": finite(record.mean),
        "sd": record.sd,
        "batches": record.batches,
        "cpu_seconds": record.cpu_seconds,
        "seconds": record.seconds,
        "objective_seconds": record.objective_seconds,
        **{name: finite(value) for name, value in record.info.items()},
    }
