"""`daedal solve`: one run."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import daedal
from daedal.cli import options
from daedal.cli.words import INTERRUPTED, finite, pairs, read_rows, say
from daedal.evaluation.executor_pool import dask_executor
from daedal.limits import StopReason
from daedal.objectives.spec import read_objective, spec_parts, travelling
from daedal.optimizers.base import Generation
from daedal.optimizers.presets import find_algorithm
from daedal.result import Result
from daedal.types import to_text


def solve(
    problem: options.Problem,
    algorithm: Annotated[str, typer.Option("--algorithm", "-a", help="See `daedal list`.")] = "dae",
    popsize: options.Popsize = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same result; drawn where not given.")] = None,
    n: options.Variables = None,
    max_evaluations: options.MaxEvaluations = None,
    max_generations: options.MaxGenerations = None,
    max_seconds: options.MaxSeconds = None,
    patience: options.Patience = None,
    target: options.Target = None,
    minimize: options.Minimize = False,
    by_row: options.ByRow = False,
    shuffle: options.Shuffle = True,
    initial: Annotated[
        Path | None, typer.Option(help="Rows to begin with: lines of 0/1, each with its value behind it or not.")
    ] = None,
    workers: options.Workers = None,
    dask: options.Dask = None,
    persistent: Annotated[bool, typer.Option("--persistent", help="Keep one process of cmd:PROGRAM running.")] = False,
    on_error: Annotated[
        str, typer.Option(help="When an evaluation fails: raise, worst, retry:N or retry:N,worst.")
    ] = "raise",
    timeout: Annotated[float | None, typer.Option(help="Seconds that one evaluation may take.")] = None,
    deduplicate: Annotated[bool, typer.Option(help="Evaluate a row that comes again only once.")] = True,
    cache: Annotated[Path | None, typer.Option(help="A file (SQLite) that keeps values for other runs.")] = None,
    name: Annotated[str | None, typer.Option(help="What the objective is called in the cache.")] = None,
    version: Annotated[str, typer.Option(help="Its version: another version has values of its own.")] = "",
    checkpoint: Annotated[Path | None, typer.Option(help="A file that `daedal resume` goes on from.")] = None,
    every: options.Every = "60s",
    settings: options.Settings = None,
    as_json: options.AsJson = False,
    history: options.History = False,
) -> None:
    """Look for the best bits of a problem."""
    chosen = find_algorithm(algorithm).with_settings(pairs(settings or []))
    objective = read_objective(problem, n, persistent=persistent)
    optimise = daedal.minimize if minimize else daedal.maximize
    with redirect_stdout(sys.stderr), some_workers(workers, dask) as help_:  # whatever the objective prints
        result = optimise(
            objective if dask is None else travelling(objective),
            n,
            algorithm=chosen,
            popsize=popsize,
            seed=seed,
            max_evaluations=max_evaluations,
            max_generations=max_generations,
            max_seconds=max_seconds,
            patience=patience,
            target=target,
            vectorized=not by_row,
            shuffle=shuffle,
            initial=None if initial is None else read_rows(initial),
            workers=help_.workers,
            executor=help_.executor,
            on_error=on_error,
            timeout=timeout,
            deduplicate=deduplicate,
            cache=cache,
            name=name,
            version=version,
            checkpoint=checkpoint,
            every=every,
            progress=True,
        )
    report_result(problem, result, as_json=as_json, history=history, checkpoint=checkpoint)


@dataclass(frozen=True)
class Help:
    """Who evaluates: so many processes, or an executor."""

    workers: int = 1
    executor: Executor | None = None


@contextmanager
def some_workers(workers: int | None, dask: str | None) -> Iterator[Help]:
    """Start, or find, whoever evaluates."""
    if dask is None:
        yield Help(workers=1 if workers is None else workers)
        return
    if workers is not None:
        raise ValueError("expected --workers or --dask, got both; Dask has workers of its own")
    with dask_executor(dask) as executor:
        yield Help(executor=executor)


def report_result(problem: str, result: Result, *, as_json: bool, history: bool, checkpoint: Path | None) -> None:
    """Write a result, and end with the exit code that goes with it."""
    if as_json:
        report = _report(problem, result)
        if history:
            report["history"] = [_record(record) for record in result.history]
        print(json.dumps(report, allow_nan=False))
    else:
        show(result, Console(stderr=True, highlight=False))
    if result.stop is StopReason.INTERRUPTED:
        if checkpoint is not None:
            again = "" if spec_parts(problem)[0] == "problem" else f" {shlex.quote(problem)}"
            say(f"{'next':<8}daedal resume {shlex.quote(str(checkpoint))}{again}")
        sys.exit(INTERRUPTED)


def _report(problem: str, result: Result) -> dict[str, object]:
    """Give the fields of the JSON object."""
    return {
        "problem": problem,
        "algorithm": result.algorithm,
        "popsize": result.popsize,
        "seed": result.seed,
        "settings": result.settings,
        "x": to_text(result.x),
        "fitness": finite(result.fitness),
        "optimum": result.optimum,
        "success": result.success,
        "stop": result.stop.value,
        "evaluations": result.evaluations,
        "evaluations_to_best": result.evaluations_to_best,
        "carried_out": result.carried_out,
        "cached": result.cached,
        "failed": result.failed,
        "failures": [{"x": failure.x, "error": failure.error} for failure in result.failures],
        "generations": result.generations,
        "seconds": result.seconds,
        "cpu_seconds": result.cpu_seconds,
        "version": daedal.__version__,
    }


def _record(record: Generation) -> dict[str, object]:
    """Give the fields of one generation: its own, and what the model had to tell."""
    return {
        "generation": record.generation,
        "evaluations": record.evaluations,
        "best": finite(record.best),
        "mean": finite(record.mean),
        "cpu_seconds": record.cpu_seconds,
        **{name: finite(value) for name, value in record.info.items()},
    }


def show(result: Result, console: Console) -> None:
    """Write the result for eyes."""
    words = {True: "[bold green]solved[/]", False: "[bold yellow]not solved[/]", None: "[bold]done[/]"}
    known = "" if result.optimum is None else f" of {result.optimum:g}"
    console.print(f"\n{words[result.success]}, fitness [bold]{result.fitness:.10g}[/]{known}", soft_wrap=True)
    for name, text in (("x", to_text(result.x)), ("effort", _effort(result)), ("stop", result.stop.message)):
        console.print(f"{name:<8}{text}", markup=False, soft_wrap=True)
    if result.failures:
        first = result.failures[0]
        console.print(f"{'failed':<8}{result.failed:,} rows, the first: {first.error}", markup=False, soft_wrap=True)


def _effort(result: Result) -> str:
    known = f" ({result.cached:,} of them known from before)" if result.cached else ""
    return (
        f"{result.evaluations_to_best:,} evaluations to the best, {result.evaluations:,} in all{known}, "
        f"{result.generations} generations, {result.cpu_seconds:.1f} s CPU"
    )
