"""`daedal compare`: several algorithms on one problem."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import daedal
from daedal.cli import INTERRUPTED, options
from daedal.cli.options import settings_of
from daedal.cli.output import finite, say
from daedal.limits import Limits
from daedal.objectives.spec import read_objective
from daedal.optimizers.configuration import Algorithm
from daedal.optimizers.registry import find_algorithm
from daedal.result import Result
from daedal.rng import check_seed
from daedal.run.config import RunConfig
from daedal.study.comparison import Summary, run_all, summarise


def compare(
    problem: options.Problem,
    algorithm: Annotated[
        list[str], typer.Option("--algorithm", "-a", help='See `daedal list`, or "path/to/file.py:NAME"; repeat it.')
    ],
    popsize: options.Popsize = None,
    runs: Annotated[int, typer.Option(help="Runs of each algorithm, with the seeds from --seed on.")] = 10,
    seed: Annotated[int, typer.Option(help="The first seed.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes; the results do not depend on it.")] = 1,
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
) -> None:
    """Compare algorithms on a problem: the same seeds for each."""
    for name, value in (("--runs", runs), ("--workers", workers)):
        if value < 1:
            raise ValueError(f"expected {name} of at least 1, got {name} {value}")
    chosen = _algorithms(algorithm, settings, popsize)
    objective = read_objective(problem, n)
    configs = [
        RunConfig(
            objective=objective,
            n=n,
            algorithm=one,
            seed=check_seed(seed + run),
            minimize=minimize,
            vectorized=not by_row,
            shuffle=shuffle,
            limits=Limits(
                max_evaluations=max_evaluations, max_generations=max_generations, patience=patience, target=target
            ),
        )
        for run in range(runs)  # run by run, so that an interrupted comparison is fair to all
        for one in chosen.values()
    ]
    for config in configs[: len(chosen)]:
        if (warning := config.budget_warning()) is not None:
            say(f"warning: {config.algorithm.name}: {warning}")
    results, interrupted = _run(configs, workers)
    found = {
        name: [results[index] for index in range(first, len(configs), len(chosen)) if index in results]
        for first, name in enumerate(chosen)
    }
    done = {name: of_algorithm for name, of_algorithm in found.items() if of_algorithm}
    if as_json:
        print(json.dumps(_report(problem, done), allow_nan=False))
    elif done:
        _show(problem, done)
    if interrupted:
        sys.exit(INTERRUPTED)


def _algorithms(texts: list[str], settings: list[str] | None, popsize: str | None) -> dict[str, Algorithm]:
    """Find the algorithms, each once, by what the table calls them; --popsize is for those that have one."""
    found = [(text, find_algorithm(text)) for text in dict.fromkeys(texts)]
    names = [one.name for _, one in found]
    sized = [one for _, one in found if "popsize" in one.parameters()]
    if popsize is not None and not sized:
        raise ValueError(f"--popsize is for algorithms with a population; {', '.join(names)} has none")
    return {
        one.name if names.count(one.name) == 1 else text: one.with_settings(
            settings_of(settings, popsize if one in sized else None)
        )
        for text, one in found
    }


def _run(configs: list[RunConfig], workers: int) -> tuple[dict[int, Result], bool]:
    """Make the runs behind a progress bar; give the results by index, and whether Ctrl-C ended it."""
    results: dict[int, Result] = {}
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("runs", total=len(configs))
        try:
            for index, result in run_all(configs, workers=workers):
                results[index] = result
                progress.advance(bar)
        except KeyboardInterrupt:
            return results, True
    return results, False


def _show(problem: str, done: dict[str, list[Result]]) -> None:
    console = Console(stderr=True, highlight=False)
    results = [result for of_algorithm in done.values() for result in of_algorithm]
    sizes = sorted({result.popsize for result in results if result.popsize is not None})
    popsize = f", popsize {' and '.join(map(str, sizes))}" if sizes else ""
    seeds = [result.seed for result in results]
    console.print(f"{problem}{popsize}, seeds {min(seeds)}-{max(seeds)}", markup=False, soft_wrap=True)
    console.print(_table({name: summarise(found) for name, found in done.items()}))


def _table(summaries: dict[str, Summary]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("algorithm", "solved", "best", "evaluations to best", "+-", "CPU s", "CPU us/eval"):
        table.add_column(name, justify="left" if name == "algorithm" else "right", no_wrap=True)
    for name, summary in summaries.items():
        table.add_row(
            name,
            f"{'?' if summary.solved is None else summary.solved}/{summary.runs}",
            f"{summary.best:.6g}",
            f"{summary.evaluations:,.0f}",
            f"{summary.evaluations_sd:,.0f}",
            f"{summary.cpu_seconds:.2f}",
            f"{summary.cpu_seconds_per_evaluation * 1e6:.1f}",
        )
    return table


def _report(problem: str, done: dict[str, list[Result]]) -> dict[str, object]:
    return {
        "problem": problem,
        "algorithms": [
            {
                "algorithm": name,
                "settings": results[0].settings,
                "popsize": results[0].popsize,
                **{key: finite(value) for key, value in dataclasses.asdict(summarise(results)).items()},
                "results": [_row(result) for result in results],
            }
            for name, results in done.items()
        ],
        "version": daedal.__version__,
    }


def _row(result: Result) -> dict[str, object]:
    return {
        "seed": result.seed,
        "fitness": finite(result.fitness),
        "success": result.success,
        "stop": result.stop.value,
        "evaluations": result.evaluations,
        "evaluations_to_best": result.evaluations_to_best,
        "batches": result.batches,
        "generations": result.generations,
        "cpu_seconds": result.cpu_seconds,
    }
