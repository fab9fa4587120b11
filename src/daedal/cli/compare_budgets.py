"""What `daedal compare --budget` shows: the best values after so many calls of the objective, and what they cost."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.console import Console

from daedal import __version__  # now: a package may be replaced while it runs
from daedal.cli.output import finite
from daedal.cli.study_tables import budget_table
from daedal.result import Result
from daedal.run.config import RunConfig
from daedal.searches.algorithm import Algorithm
from daedal.studies.budgets import BudgetRow, mean_ranks, rows_of_budget
from daedal.studies.cell import StudyAlgorithm, StudyProblem
from daedal.studies.comparison import as_run
from daedal.studies.rank_tests import Test
from daedal.studies.run import Run
from daedal.studies.tables import flat_budgets


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
        print(json.dumps(_report(rows, algorithms, found, test=test, holm=holm), allow_nan=False))
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
        for budget in _budgets(found)
        for row in rows_of_budget(problem, rivals, budget, made, runs, test=test, correct=holm)
    ]
    return [replace(row, popsize=results[0].popsize) if (results := found[_place(row)]) else row for row in rows]


def _report(
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
        "budgets": _budgets(found),
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
        "calls": result.evaluated,
        "evaluations": result.evaluations,
        "batches": result.batches,
        "generations": result.generations,
        "cpu_seconds": result.cpu_seconds,
    }


def _place(row: BudgetRow) -> Place:
    return Place(problem=row.problem.name, budget=row.budget, algorithm=row.algorithm.name)


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _budgets(found: Mapping[Place, Sequence[Result]]) -> list[int]:
    return sorted({place.budget for place in found if place.budget is not None})
