"""`daedal compare`: several algorithms on one problem or on several, without a store."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

import typer
from rich.console import Console
from rich.progress import Progress

from daedal import __version__  # now: a package may be replaced while it runs
from daedal.cli import INTERRUPTED, options
from daedal.cli.options import settings_of
from daedal.cli.output import finite, say, standard_error, stdout_kept
from daedal.cli.study import Holm, StarTest
from daedal.cli.study_tables import Laid
from daedal.limits import Limits
from daedal.objectives.spec import read_objective
from daedal.result import Result
from daedal.rng import check_seed
from daedal.run.config import RunConfig
from daedal.searches.algorithm import Algorithm
from daedal.searches.presets import find_algorithm
from daedal.studies.analysis import Row, Test, mean_ranks, ranked_rows
from daedal.studies.runner import run_all
from daedal.studies.spec import StudyAlgorithm, StudyProblem
from daedal.studies.store import as_run
from daedal.studies.tables import BUDGETS, StudyTable


class Place(NamedTuple):
    """The problem, budget and algorithm of a run; problem and algorithm by their names."""

    problem: str
    budget: int | None
    algorithm: str


def compare(
    problem: Annotated[
        list[str],
        typer.Argument(
            help='Problems ("trap:k=5,n=50", see `daedal list`), "path/to/file.py:function" or "cmd:PROGRAM".'
        ),
    ],
    algorithm: Annotated[
        list[str],
        typer.Option(
            "--algorithm",
            "-a",
            metavar="NAME",
            help='Algorithm (see `daedal list`), or "path/to/file.py:NAME". Can be repeated.',
        ),
    ],
    budget: Annotated[
        list[int] | None,
        typer.Option(
            metavar="EVALUATIONS",
            min=1,
            help="Compare the best values after this number of evaluations. Can be repeated.",
        ),
    ] = None,
    popsize: options.Popsize = None,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each algorithm, with the seeds from --seed on.")] = 10,
    seed: Annotated[int, typer.Option(help="The first seed.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Number of processes; the results do not depend on it.")] = 1,
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
    test: StarTest = "signed-rank",
    holm: Holm = False,
    as_json: options.AsJson = False,
) -> None:
    """Compare algorithms on one problem or on several, with the same seeds for each."""
    if budget and max_evaluations is not None:
        raise ValueError("--budget and --max-evaluations cannot be combined; a budget is what ends a run")
    with stdout_kept():
        chosen = _algorithms(algorithm, settings, popsize)
    problems = list(dict.fromkeys(problem))
    budgets: list[int | None] = [*sorted(set(budget or []))] or [None]
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
    places = [Place(one, most, name) for one in problems for most in budgets for name in chosen]
    cells = [
        replace(
            config,
            objective=objectives[one.problem],
            algorithm=chosen[one.algorithm],
            limits=config.limits if one.budget is None else replace(config.limits, max_evaluations=one.budget),
        )
        for one in places
    ]
    for place, cell in zip(places, cells, strict=True):
        for warning in cell.warnings():
            at = "" if place.budget is None else f" on {place.problem} with {place.budget:,} evaluations"
            say(f"warning: {place.algorithm}{at}: {warning}")
    # Run by run, so that an interrupted comparison is fair to all.
    configs = [replace(cell, seed=check_seed(seed + number)) for number in range(runs) for cell in cells]
    with stdout_kept():
        results, interrupted = _run(configs, workers)
    found = {
        place: [results[index] for index in range(first, len(configs), len(cells)) if index in results]
        for first, place in enumerate(places)
    }
    rows = _rows(config, chosen, found, runs, test=test, holm=holm)
    table = StudyTable(rows=rows, columns=BUDGETS, test=test, holm=holm)
    if as_json:
        print(json.dumps(_report(table, chosen, found), allow_nan=False))
    elif results:
        seeds = sorted(result.seed for result in results.values())
        console = Console(stderr=True, highlight=False)
        console.print(f"seeds {seeds[0]}-{seeds[-1]}\n", markup=False)
        console.print(Laid(table.sheet()))
    if interrupted:
        sys.exit(INTERRUPTED)


def _algorithms(texts: list[str], settings: list[str] | None, popsize: str | None) -> dict[str, Algorithm]:
    """Return the algorithms by their names in the table; --popsize is for those that have a population."""
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
    """Make the runs with a progress bar; return the results by index, and whether Ctrl-C ended them."""
    results: dict[int, Result] = {}
    console = standard_error()
    with Progress(console=console, transient=True, disable=not console.is_interactive) as progress:
        bar = progress.add_task("runs", total=len(configs))
        try:
            for index, result in run_all(configs, workers=workers):
                results[index] = result
                progress.advance(bar)
        except KeyboardInterrupt:
            return results, True
    return results, False


def _rows(
    config: RunConfig,
    algorithms: Mapping[str, Algorithm],
    found: Mapping[Place, Sequence[Result]],
    runs: int,
    *,
    test: Test,
    holm: bool,
) -> list[Row]:
    """Sum up the runs as a study does. Here, the population sizes that algorithms chose are known."""
    rivals = [StudyAlgorithm(name=name, algorithm=one, popsizes=(None,)) for name, one in algorithms.items()]
    problems = {
        name: StudyProblem(name=name, problem=name, minimize=config.minimize, target=config.limits.target, identity="")
        for name, _, _ in found
    }
    rows = []
    for name, budget in dict.fromkeys(place[:2] for place in found):
        made = {one: {result.seed: as_run(result) for result in found[Place(name, budget, one.name)]} for one in rivals}
        rows += ranked_rows(problems[name], made, runs, budget=budget, test=test, correct=holm)
    return [replace(row, popsize=results[0].popsize) if (results := found[_place(row)]) else row for row in rows]


def _place(row: Row) -> Place:
    return Place(row.problem.name, row.budget, row.algorithm.name)


def _report(
    table: StudyTable, algorithms: Mapping[str, Algorithm], found: Mapping[Place, Sequence[Result]]
) -> dict[str, object]:
    records = zip(table.records(), table.rows, strict=True)
    return {
        "problems": list(dict.fromkeys(place.problem for place in found)),
        "budgets": sorted({place.budget for place in found if place.budget is not None}),
        "algorithms": [
            {"algorithm": name, "settings": {key: value for key, value in one.settings().items() if key != "popsize"}}
            for name, one in algorithms.items()
        ],
        "test": table.test,
        "holm": table.holm,
        "cells": [
            {name: finite(value) if isinstance(value, float) else value for name, value in record.items()}
            | {"results": [_result(result) for result in found[_place(row)]]}
            for record, row in records
        ],
        "ranks": [
            {"budget": budget, "algorithm": name, "rank": rank}
            for budget, of_budget in mean_ranks(table.rows).items()
            for name, rank in of_budget.items()
        ],
        "version": __version__,
    }


_NAMES = (
    "seed", "feasible", "success", "popsize", "evaluations", "evaluations_to_best", "repeated", "batches",
    "generations", "cpu_seconds",
)  # fmt: skip


def _result(result: Result) -> dict[str, object]:
    return {name: getattr(result, name) for name in _NAMES} | {
        "fitness": finite(result.fitness),
        "violation": finite(result.violation),
        "stop": result.stop.value,
    }
