"""`daedal solve`: one run."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from typing import Annotated

import typer
from rich.console import Console

import daedal
from daedal.bits import to_text
from daedal.cli import options
from daedal.cli.words import INTERRUPTED, finite, pairs
from daedal.objectives import load_objective
from daedal.optimize import Result
from daedal.optimizer import Generation
from daedal.presets import find_algorithm
from daedal.stopping import StopReason


def solve(
    problem: options.Problem,
    algorithm: Annotated[str, typer.Option("--algorithm", "-a", help="See `daedal list`.")] = "dae",
    popsize: options.Popsize = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same result; drawn where not given.")] = None,
    n: options.Variables = None,
    max_evaluations: options.MaxEvaluations = None,
    max_generations: options.MaxGenerations = None,
    patience: options.Patience = None,
    target: options.Target = None,
    minimize: options.Minimize = False,
    by_row: options.ByRow = False,
    shuffle: options.Shuffle = True,
    settings: options.Settings = None,
    as_json: options.AsJson = False,
    history: Annotated[bool, typer.Option("--history", help="With --json: add a record for each generation.")] = False,
) -> None:
    """Look for the best bits of a problem."""
    chosen = find_algorithm(algorithm).with_settings(pairs(settings or []))
    optimise = daedal.minimize if minimize else daedal.maximize
    with redirect_stdout(sys.stderr):  # whatever the objective prints
        result = optimise(
            load_objective(problem, n),
            n,
            algorithm=chosen,
            popsize=popsize,
            seed=seed,
            max_evaluations=max_evaluations,
            max_generations=max_generations,
            patience=patience,
            target=target,
            vectorized=not by_row,
            shuffle=shuffle,
            progress=True,
        )
    if as_json:
        report = _report(problem, result)
        if history:
            report["history"] = [_record(record) for record in result.history]
        print(json.dumps(report, allow_nan=False))
    else:
        show(result, Console(stderr=True, highlight=False))
    if result.stop is StopReason.INTERRUPTED:
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
        "generations": result.generations,
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


def _effort(result: Result) -> str:
    return (
        f"{result.evaluations_to_best:,} evaluations to the best, {result.evaluations:,} in all, "
        f"{result.generations} generations, {result.cpu_seconds:.1f} s CPU"
    )
