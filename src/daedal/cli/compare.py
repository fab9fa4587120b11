"""`daedal compare`: several algorithms on one problem, or on several with budgets."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from daedal import __version__  # now: a package may be replaced while it runs
from daedal.cli import INTERRUPTED, options
from daedal.cli.options import settings_of
from daedal.cli.output import finite, fitting_table, say, standard_error, stdout_kept, write_line
from daedal.cli.study import Holm, StarTest, TestName, test_named
from daedal.cli.study_tables import budget_table
from daedal.limits import Limits
from daedal.objectives.bound import AnyObjective
from daedal.objectives.spec import read_objective
from daedal.result import Result
from daedal.rng import check_seed
from daedal.run.config import RunConfig
from daedal.searches.algorithm import Algorithm
from daedal.searches.presets import find_algorithm
from daedal.settings.checks import printable, visible
from daedal.studies.analysis import Test
from daedal.studies.budgets import BudgetRow, mean_ranks, rows_of_budget
from daedal.studies.runner import Summary, run_all, summarise
from daedal.studies.spec import StudyAlgorithm, StudyProblem
from daedal.studies.store import Run, as_run
from daedal.studies.tables import flat_budgets, seconds_text


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a run belongs: to a problem and an algorithm, by their names, and to a budget."""

    problem: str
    budget: int | None
    algorithm: str


def report_budgets(
    config: RunConfig,
    algorithms: Mapping[str, Algorithm],
    found: Mapping[Place, Sequence[Result]],
    runs: int,
    *,
    test: Test,
    holm: bool,
    as_json: bool,
) -> None:
    """Show what was found, as a table for eyes or as one JSON object.

    Of the configuration, `n`, `minimize` and the target are for all problems; `runs` were to be made for each place.
    """
    rows = _rows(config, algorithms, found, runs, test=test, holm=holm)
    if as_json:
        print(json.dumps(_budget_report(rows, algorithms, found, test=test, holm=holm), allow_nan=False))
    elif any(found.values()):
        console = Console(stderr=True, highlight=False)
        seeds = sorted({result.seed for results in found.values() for result in results})
        console.print(f"seeds {seeds[0]}-{seeds[-1]}\n", markup=False)
        console.print(budget_table(rows, test=test, correct=holm))


def _rows(
    config: RunConfig,
    algorithms: Mapping[str, Algorithm],
    found: Mapping[Place, Sequence[Result]],
    runs: int,
    *,
    test: Test,
    holm: bool,
) -> list[BudgetRow]:
    """Sum up the runs as a study does; here the population sizes that algorithms chose are known."""

    def made(problem: StudyProblem, algorithm: StudyAlgorithm, budget: int) -> dict[int, Run]:
        results = found[Place(problem=problem.name, budget=budget, algorithm=algorithm.name)]
        return {result.seed: as_run(result) for result in results}

    rivals = [StudyAlgorithm(name=name, algorithm=one, popsizes=(None,)) for name, one in algorithms.items()]
    problems = {
        name: StudyProblem(
            name=name, problem=name, n=config.n, minimize=config.minimize, target=config.limits.target, identity=""
        )
        for name in _once(place.problem for place in found)
    }
    rows = [
        row
        for problem in problems.values()
        for budget in _budgets_of(found)
        for row in rows_of_budget(problem, rivals, budget, made, runs, test=test, correct=holm)
    ]
    return [replace(row, popsize=results[0].popsize) if (results := found[_place(row)]) else row for row in rows]


def _budget_report(
    rows: Sequence[BudgetRow],
    algorithms: Mapping[str, Algorithm],
    found: Mapping[Place, Sequence[Result]],
    *,
    test: Test,
    holm: bool,
) -> dict[str, object]:
    cells = zip(flat_budgets(rows), rows, strict=True)
    return {
        "problems": _once(place.problem for place in found),
        "budgets": _budgets_of(found),
        "algorithms": [
            {"algorithm": name, "settings": {key: value for key, value in one.settings().items() if key != "popsize"}}
            for name, one in algorithms.items()
        ],
        "test": test,
        "holm": holm,
        "cells": [
            {name: finite(value) if isinstance(value, float) else value for name, value in flat.items()}
            | {"results": [_result(result) for result in found[_place(row)]]}
            for flat, row in cells
        ],
        "ranks": [
            {"budget": budget, "algorithm": name, "rank": rank}
            for budget, of_budget in mean_ranks(rows).items()
            for name, rank in of_budget.items()
        ],
        "version": __version__,
    }


def _result(result: Result) -> dict[str, object]:
    return {
        "seed": result.seed,
        "fitness": finite(result.fitness),
        "feasible": result.feasible,
        "violation": finite(result.violation),
        "success": result.success,
        "stop": result.stop.value,
        "popsize": result.popsize,
        "evaluations": result.evaluations,
        "repeated": result.repeated,
        "batches": result.batches,
        "generations": result.generations,
        "cpu_seconds": result.cpu_seconds,
    }


def _place(row: BudgetRow) -> Place:
    return Place(problem=row.problem.name, budget=row.budget, algorithm=row.algorithm.name)


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _budgets_of(found: Mapping[Place, Sequence[Result]]) -> list[int]:
    return sorted({place.budget for place in found if place.budget is not None})


def compare(
    problem: Annotated[
        list[str],
        typer.Argument(
            help='A problem ("trap:k=5,n=50", see `daedal list`), "path/to/file.py:function" or "cmd:PROGRAM"; several '
            "with --budget."
        ),
    ],
    algorithm: Annotated[
        list[str],
        typer.Option(
            "--algorithm", "-a", metavar="NAME", help='See `daedal list`, or "path/to/file.py:NAME"; repeat it.'
        ),
    ],
    budget: Annotated[
        list[int] | None,
        typer.Option(metavar="EVALUATIONS", help="Compare the best values after so many evaluations. Can be repeated."),
    ] = None,
    popsize: options.Popsize = None,
    runs: Annotated[int, typer.Option(help="Runs of each algorithm, with the seeds from --seed on.")] = 10,
    seed: Annotated[int, typer.Option(help="The first seed.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes; the results do not depend on it.")] = 1,
    n: options.Variables = None,
    space: options.SpaceFile = None,
    max_evaluations: options.MaxEvaluations = None,
    max_generations: options.MaxGenerations = None,
    patience: options.Patience = None,
    target: options.Target = None,
    minimize: options.Minimize = False,
    by_row: options.ByRow = False,
    violations: options.Violations = False,
    shuffle: options.Shuffle = True,
    settings: options.Settings = None,
    test: StarTest = TestName.SIGNED_RANK,
    holm: Holm = False,
    as_json: options.AsJson = False,
) -> None:
    """Compare algorithms on a problem, or with budgets on several: the same seeds for each."""
    for name, value in (("--runs", runs), ("--workers", workers)):
        if value < 1:
            raise ValueError(f"expected {name} of at least 1, got {name} {value}")
    with stdout_kept():
        chosen = _algorithms(algorithm, settings, popsize)
    problems = list(dict.fromkeys(problem))
    budgets = _budgets(budget or [], problems, max_evaluations)
    config = RunConfig(
        objective="",
        n=n,
        space=options.space_of(space, n),
        algorithm=next(iter(chosen.values())),
        seed=check_seed(seed),
        minimize=minimize,
        vectorized=not by_row,
        violations=violations,
        shuffle=shuffle,
        limits=Limits(
            max_evaluations=max_evaluations, max_generations=max_generations, patience=patience, target=target
        ),
    )
    with stdout_kept():
        objectives = {one: read_objective(one, config.size) for one in problems}
    cells = [
        (Place(problem=one, budget=most, algorithm=name), _with_budget(config, objectives[one], chosen[name], most))
        for one in problems
        for most in budgets
        for name in chosen
    ]
    # run by run, so that an interrupted comparison is fair to all
    configs = [replace(one, seed=check_seed(seed + run)) for run in range(runs) for _, one in cells]
    for place, one in cells:
        for warning in filter(None, (one.budget_warning(), one.duration_warning())):
            at = "" if place.budget is None else f" on {place.problem} with {place.budget:,} evaluations"
            say(f"warning: {place.algorithm}{at}: {warning}")
    with stdout_kept():
        results, interrupted = _run(configs, workers)
    found = {
        place: [results[index] for index in range(first, len(configs), len(cells)) if index in results]
        for first, (place, _) in enumerate(cells)
    }
    if budget:
        report_budgets(config, chosen, found, runs, test=test_named(test), holm=holm, as_json=as_json)
    else:
        done = {place.algorithm: of_algorithm for place, of_algorithm in found.items() if of_algorithm}
        if as_json:
            print(json.dumps(_report(problems[0], done), allow_nan=False))
        elif done:
            _show(problems[0], done)
    if interrupted:
        sys.exit(INTERRUPTED)


def _budgets(given: list[int], problems: list[str], max_evaluations: int | None) -> list[int | None]:
    """Check what is asked for; no budget is one without a number."""
    if given and max_evaluations is not None:
        raise ValueError("expected --budget or --max-evaluations, got both: a budget is what ends a run")
    if not given and len(problems) > 1:
        raise ValueError(f"expected one problem, or --budget B to compare on several, got {len(problems)}")
    for most in given:
        if most < 1:
            raise ValueError(f"expected --budget of at least 1 evaluation, got --budget {most}")
    return [*sorted(set(given))] or [None]


def _with_budget(config: RunConfig, objective: AnyObjective, algorithm: Algorithm, budget: int | None) -> RunConfig:
    limits = config.limits if budget is None else replace(config.limits, max_evaluations=budget)
    return replace(config, objective=objective, algorithm=algorithm, limits=limits)


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
    console = standard_error()
    columns = (
        SpinnerColumn(),
        BarColumn(bar_width=None),
        MofNCompleteColumn(separator=" of "),
        TextColumn("runs,"),
        TimeElapsedColumn(),
        TextColumn("so far,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_interactive) as progress:
        bar = progress.add_task("runs", total=len(configs))
        try:
            for index, result in run_all(configs, workers=workers):
                results[index] = result
                progress.advance(bar)
        except KeyboardInterrupt:
            return results, True
    return results, False


def _show(problem: str, done: dict[str, list[Result]]) -> None:
    console = standard_error()
    results = [result for of_algorithm in done.values() for result in of_algorithm]
    sizes = sorted({result.popsize for result in results if result.popsize is not None})
    sized = [name for name, found in done.items() if any(result.popsize is not None for result in found)]
    whose = f" ({', '.join(map(visible, sized))})" if len(sized) < len(done) else ""
    popsize = f", popsize {' and '.join(map(str, sizes))}{whose}" if sizes else ""
    seeds = [result.seed for result in results]
    write_line(console, Text(f"{visible(problem)}{popsize}, seeds {min(seeds)}-{max(seeds)}"))
    rows = [_cells(name, summarise(found)) for name, found in done.items()]
    width = console.width if console.is_terminal else None
    table, missing = fitting_table(rows, width, left=("algorithm",))
    console.print(table)
    if missing:
        write_line(console, Text(f"A wider terminal has more: {', '.join(missing)}.", style="dim"))


def _cells(name: str, summary: Summary) -> dict[str, str]:
    """Give what is shown of an algorithm, by column; where nobody knows what is solved, how many runs there are."""
    runs = {"runs": f"{summary.runs}"} if summary.solved is None else {"solved": f"{summary.solved}/{summary.runs}"}
    return {
        "algorithm": printable(name),
        **runs,
        "mean best": f"{summary.best:.6g}",
        "evaluations to best": f"{summary.evaluations_to_best:,.0f}",
        "+-": f"{summary.evaluations_to_best_sd:,.0f}",
        "CPU s": seconds_text(summary.cpu_seconds),
        "CPU us/eval": f"{summary.cpu_seconds_per_evaluation * 1e6:.1f}",
    }


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
        "version": __version__,
    }


def _row(result: Result) -> dict[str, object]:
    return {
        "seed": result.seed,
        "fitness": finite(result.fitness),
        "feasible": result.feasible,
        "violation": finite(result.violation),
        "success": result.success,
        "stop": result.stop.value,
        "evaluations": result.evaluations,
        "evaluations_to_best": result.evaluations_to_best,
        "repeated": result.repeated,
        "batches": result.batches,
        "generations": result.generations,
        "cpu_seconds": result.cpu_seconds,
    }
