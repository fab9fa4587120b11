"""Makes the description of a run again from its checkpoint, which holds numbers and names, and no code."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence

from daedal.evaluation.caller import Objective
from daedal.evaluation.options import EvaluationOptions
from daedal.limits import Limits
from daedal.objectives.bound import AnyObjective, objective_name
from daedal.optimizers.configuration import Algorithm
from daedal.optimizers.registry import AnyAlgorithm, find_algorithm, restored_algorithm
from daedal.problems.registry import canonical_problem, file_settings, problem_file
from daedal.run.config import RunConfig
from daedal.run.noise import Noise
from daedal.settings.parameters import plain
from daedal.spaces.description import described
from daedal.spaces.space import Space
from daedal.storage.checkpoint_file import CheckpointError
from daedal.types import Json, State, StateError

_MOST_WORKERS = 256
"""The most that a checkpoint can ask for: the number comes from a file."""


_LONGEST = 2**15
"""Letters of a text: more than any command line has in practice."""


def restored_config(
    state: State,
    path: str,
    objective: AnyObjective | None = None,
    algorithm: AnyAlgorithm | None = None,
    constraints: Sequence[Objective] = (),
) -> RunConfig:
    """Make the description of a run again.

    Parameters
    ----------
    state
        What the checkpoint holds.
    path
        Where it is, for messages.
    objective, algorithm
        The same ones again, if they are not daedal's own.
    constraints
        The same functions again.
    """
    try:
        kept = state.part("config")
        _check_texts(dict(kept.fields))
        name, spec = kept.text("objective"), kept.text("spec") if kept.given("spec") else None
        config = RunConfig(
            objective=_objective(path, name, spec, objective),
            constraints=tuple(constraints),
            n=None if kept.given("space") else kept.whole("n"),
            space=described_space(kept),
            names=_names(kept),
            algorithm=_algorithm(kept, algorithm),
            seed=kept.whole("seed", most=None),
            minimize=kept.truth("minimize"),
            vectorized=kept.truth("vectorized"),
            shuffle=kept.truth("shuffle"),
            limits=_limits(kept.inner("limits")),
            evaluation=_evaluation(kept.inner("evaluation")),
            noise=Noise.from_json(kept.inner("noise")) if kept.given("noise") else None,
            command=kept.text("again"),
        )
    except StateError as error:
        raise CheckpointError(f"{path}: {error}") from error
    if kept.given("optimum"):
        kept.number("optimum")  # which is the objective's business, but is shown
    if _essence(spec) != _essence(config.objective if isinstance(config.objective, str) else None):
        raise ValueError(f"expected the objective of the run, {name!r}, got {objective_name(config.objective)!r}")
    count = kept.whole("constraints") if kept.given("constraints") else 0
    if len(config.constraints) != count:
        raise ValueError(
            f"give the {count} constraints of the run again, as in daedal.resume({path!r}, f, constraints=[...]), got "
            f"{len(config.constraints)}"
        )
    return config


def _check_texts(value: Json) -> None:
    """Refuse texts that are too long to be said again: no name, no setting and no limit has so many letters."""
    if isinstance(value, str) and len(value) > _LONGEST:
        raise StateError(f"expected texts of at most {_LONGEST:,} letters in a run's description, got {len(value):,}")
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_texts(inner)


def described_space(kept: State) -> Space | None:
    """Give the space that a run's description has, if it has one."""
    if not kept.given("space"):
        return None
    try:
        space = described(kept.inner("space").fields)
    except (ValueError, TypeError) as error:
        raise StateError(f"expected the space of the run: {error}") from error
    if space.n != kept.whole("n"):
        raise StateError(f"expected a space of {kept.whole('n')} bits, got one of {space.n}")
    return space


def _names(kept: State) -> tuple[str, ...] | None:
    if not kept.given("names"):
        return None
    names = tuple(map(str, kept.listed("names")))
    if len(set(names)) != kept.whole("n"):
        raise StateError(f"expected {kept.whole('n')} names of variables, got {len(set(names))}")
    return names


def _objective(path: str, name: str, spec: str | None, given: AnyObjective | None) -> AnyObjective:
    if given is not None:
        return given
    if spec is None:
        raise ValueError(
            f"give the objective again, because a checkpoint holds no code: daedal.resume({path!r}, f), or daedal "
            f"resume {path} PROBLEM; it was {name!r}"
        )
    file = problem_file(spec)[1]
    if file is not None and not os.path.isfile(file):
        raise ValueError(f"expected the file of the problem {spec!r} that the run was on, found none; name it again")
    return spec


def _essence(spec: str | None) -> str | None:
    """Say which problem a text names; a file may have been moved since."""
    if spec is None:
        return None
    kind, file = problem_file(spec)
    return canonical_problem(spec) if file is None else f"{kind}{file_settings(spec)}"


def _algorithm(kept: State, given: AnyAlgorithm | None) -> Algorithm:
    """Give the algorithm of the run, with its settings; the one given again has to be the same."""
    name, kind, settings = kept.text("algorithm"), kept.text("kind"), kept.inner("settings").fields
    for key, value in {"algorithm": name, "kind": kind, **settings}.items():
        if isinstance(value, list | dict) or not str(value).isprintable():
            raise StateError(f"expected the setting {key!r} to be one value, got {value!r}")
    chosen = find_algorithm(given) if given is not None else restored_algorithm(name, kind)
    if chosen.kind != kind and chosen.digest is not None and kind.startswith(f"{chosen.configuration.kind} "):
        raise ValueError(f"{chosen.source} has changed since the run began; put back what was in it, or run anew")
    if chosen.kind != kind:
        raise ValueError(
            f"expected the algorithm of the run, {name!r} ({kind}), got {chosen.name!r} ({chosen.kind}); give it as "
            "algorithm=... (--algorithm)"
        )
    now = {key: repr(plain(value)) for key, value in chosen.settings().items()}
    changed = {key: value for key, value in settings.items() if now.get(key) != repr(value)}  # True is not 1
    try:
        return chosen.with_settings(changed)  # type: ignore[arg-type]
    except OverflowError as error:  # a whole number of more than 300 digits
        raise StateError(f"expected settings that a run can have: {error}") from error


def _limits(kept: State) -> Limits:
    known = {one.name for one in dataclasses.fields(Limits)}
    odd = [name for name in kept.fields if name not in known]
    if odd:
        raise StateError(f"expected limits, got {odd[0]!r}")
    return Limits(**kept.fields)  # type: ignore[arg-type]


def _evaluation(kept: State) -> EvaluationOptions:
    options = EvaluationOptions.from_json(kept)
    if options.cache is not None and not os.path.isfile(options.cache):  # no file is made where a checkpoint says
        raise ValueError(
            f"expected the cache of the run at {options.cache!r}, found none; put it there (or an empty file)"
        )
    return dataclasses.replace(options, workers=min(options.workers, _MOST_WORKERS))
