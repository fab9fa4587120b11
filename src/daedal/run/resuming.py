"""Make a run again from what its checkpoint says of it: numbers and names, and no code."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from daedal.evaluation.caller import Objective
from daedal.evaluation.options import EvaluationOptions
from daedal.limits import Limits
from daedal.models.base import Model
from daedal.objectives.bound import bind
from daedal.optimizers.presets import Algorithm, find_algorithm, restored_algorithm
from daedal.problems import Problem
from daedal.problems.registry import canonical_problem, problem_file
from daedal.run.config import Recipe
from daedal.storage.checkpoint_file import CheckpointError
from daedal.types import State


def recipe_again(
    kept: State,
    path: str,
    objective: Objective | Problem | str | None,
    algorithm: str | Algorithm | Model | None,
) -> Recipe:
    """Make the parts of a run again from what a checkpoint says of it."""
    name, spec = kept.text("objective"), kept.text("spec") if kept.given("spec") else None
    if objective is None and spec is None:
        raise ValueError(
            f"expected the objective again, because a checkpoint holds no code: daedal.resume({path!r}, f), or daedal "
            f"resume {path} PROBLEM; it was {name!r}"
        )
    if objective is None and (file := problem_file(str(spec))[1]) is not None and not os.path.isfile(file):
        raise ValueError(f"expected the file of the problem {spec!r} that the run was on, found none; name it again")
    seed = kept.whole("seed")
    chosen = find_algorithm(algorithm) if algorithm is not None else _algorithm_again(kept)
    if type(chosen.model).__name__ != kept.text("model"):
        raise ValueError(
            f"expected the algorithm of the run, {kept.text('algorithm')!r} with a model {kept.text('model')!r}, got "
            f"{chosen.name} with {type(chosen.model).__name__}; give it as algorithm=..."
        )
    task = bind(
        objective if objective is not None else str(spec),
        kept.whole("n"),
        seed=seed,
        vectorized=kept.truth("vectorized"),
        shuffle=kept.truth("shuffle"),
    )
    if _essence(spec) != _essence(task.spec):
        raise ValueError(f"expected the objective of the run, {name!r}, got {task.name!r}")
    return Recipe(
        task=task,
        sign=-1 if kept.truth("minimise") else 1,
        algorithm=chosen,
        popsize=kept.whole("popsize"),
        seed=seed,
        limits=_limits_again(kept.inner("limits")),
        means=_means_again(kept.inner("means"), most_workers=kept.whole("popsize")),
        shuffle=kept.truth("shuffle"),
    )


def _essence(spec: str | None) -> str | None:
    """Say which problem a text names; a file may have been moved since."""
    if spec is None:
        return None
    kind, file = problem_file(spec)
    return canonical_problem(spec) if file is None else kind


def _algorithm_again(kept: State) -> Algorithm:
    """Give the algorithm that a checkpoint names, with its settings."""
    settings = kept.inner("settings").fields
    algorithm, model = kept.text("algorithm"), kept.text("model")
    for name, value in {"algorithm": algorithm, "model": model, **settings}.items():
        if isinstance(value, list | dict) or not str(value).isprintable():
            raise CheckpointError(f"expected the setting {name!r} in the checkpoint to be one value, got {value!r}")
    try:
        return restored_algorithm(algorithm, model, settings)
    except OverflowError as error:  # a whole number of more than 300 digits
        raise CheckpointError(f"expected settings in the checkpoint that a run can have: {error}") from error


def _limits_again(kept: State) -> Limits:
    _check_names(kept, Limits)
    return Limits(
        max_evaluations=kept.whole("max_evaluations") if kept.given("max_evaluations") else None,
        max_generations=kept.whole("max_generations") if kept.given("max_generations") else None,
        patience=kept.whole("patience") if kept.given("patience") else None,
        target=kept.number("target") if kept.given("target") else None,
        max_seconds=kept.number("max_seconds") if kept.given("max_seconds") else None,
    )


def _means_again(kept: State, *, most_workers: int) -> EvaluationOptions:
    """Make the means again; more workers than rows are of no use, and might be too many for this machine."""
    _check_names(kept, EvaluationOptions)
    means = EvaluationOptions(
        workers=min(kept.whole("workers"), most_workers),
        on_error=kept.text("on_error"),
        timeout=kept.number("timeout") if kept.given("timeout") else None,
        deduplicate=kept.truth("deduplicate"),
        cache=kept.text("cache") if kept.given("cache") else None,
        name=kept.text("name") if kept.given("name") else None,
        version=kept.text("version"),
    )
    if means.cache is not None and not os.path.isfile(means.cache):  # no file is made where a checkpoint says
        raise ValueError(
            f"expected the cache of the run at {means.cache!r}, found none; put it there (or an empty file)"
        )
    return means


def _check_names(kept: State, of: type[Any]) -> None:
    known = {field.name for field in dataclasses.fields(of)} - {"executor"}
    odd = [name for name in kept.fields if name not in known]
    if odd:
        raise CheckpointError(f"expected fields of {of.__name__} in the checkpoint, got {odd[0]!r}")
