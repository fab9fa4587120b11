"""The description of a run in its file, and the run that is made from it again: numbers and names, and no code."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from daedal.evaluation.caller import Objective
from daedal.evaluation.options import EvaluationOptions
from daedal.limits import Limits
from daedal.objectives.bound import AnyObjective, BoundObjective, objective_name
from daedal.problems.registry import canonical_problem, file_settings, problem_file
from daedal.rng import check_seed
from daedal.run.config import RunConfig
from daedal.run.known import Earlier
from daedal.run.noise import Noise
from daedal.run.run_file import read_run
from daedal.searches.algorithm import Algorithm
from daedal.searches.presets import AnyAlgorithm, find_algorithm, restored_algorithm
from daedal.settings.parameters import plain
from daedal.spaces.space import described

if TYPE_CHECKING:
    from daedal.spaces.space import Space

_MOST_WORKERS = 256  # that a file can ask for


def description_before(path: str | os.PathLike[str] | None) -> dict[str, Any]:
    """Return the description of the run in a file; empty if the file is new, or there is none."""
    if path is None or not os.path.isfile(path) or not os.path.getsize(path):
        return {}
    with closing(read_run(path)) as file:
        return file.description


def seed_of(path: str | os.PathLike[str] | None, seed: int | None) -> int:
    """Return the given seed, or that of the run in a file, or a random one."""
    return check_seed(description_before(path).get("seed") if seed is None else seed)


def resumed(
    path: str | os.PathLike[str],
    objective: AnyObjective | None = None,
    algorithm: AnyAlgorithm | None = None,
    constraints: Sequence[Objective] = (),
    *,
    limits: Mapping[str, Any],
    known: Earlier | None = None,
) -> RunConfig:
    """Return the run that a file holds.

    Parameters
    ----------
    path
        The file.
    objective, algorithm, constraints
        The same ones again, if they are not daedal's own.
    limits
        Limits that replace those of the file; None leaves them.
    known
        Values that are free.
    """
    with closing(read_run(path)) as file:
        kept = file.description
    try:
        config = RunConfig(
            objective=_objective(path, kept, objective),
            constraints=tuple(constraints),
            violations=bool(kept["violations"]),
            n=None if kept["space"] else int(kept["n"]),
            space=space_of(kept),
            names=None if kept["names"] is None else tuple(map(str, kept["names"])),
            algorithm=_algorithm(kept, algorithm),
            seed=check_seed(kept["seed"]),
            minimize=bool(kept["minimize"]),
            vectorized=bool(kept["vectorized"]),
            shuffle=bool(kept["shuffle"]),
            limits=Limits(**kept["limits"] | {name: value for name, value in limits.items() if value is not None}),
            evaluation=_evaluation(kept["evaluation"]),
            noise=None if kept["noise"] is None else Noise(repeats=kept["noise"]["repeats"]),
            initial=_initial(kept["initial"], int(kept["n"])),
            known=known,
            file=os.path.realpath(path),
            held=kept,
            command=str(kept["again"]),
        )
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"{os.fspath(path)} is damaged ({type(error).__name__}: {error})") from error
    if len(config.constraints) != kept["constraints"]:
        raise ValueError(
            f"give the {kept['constraints']} constraints of the run again, as in daedal.resume({os.fspath(path)!r}, f, "
            f"constraints=[...]), got {len(config.constraints)}"
        )
    return config


def space_of(kept: Mapping[str, Any]) -> Space | None:
    """Return the space that a description has, if it has one."""
    return None if kept["space"] is None else described(kept["space"])


def description(config: RunConfig, objective: BoundObjective, given: Algorithm) -> dict[str, Any]:
    """Return what a run is in plain values; `given` is the algorithm as the user has it, with nothing chosen."""
    from daedal.spaces.space import describe

    limits = {name: plain(value) for name, value in dataclasses.asdict(config.limits).items()}
    return {
        "objective": objective.name,
        "spec": objective.spec,
        "constraints": len(objective.call.constraints),
        "violations": bool(config.violations),
        "n": int(objective.n),
        "space": None if config.space is None else describe(config.space),
        "names": None if config.names is None else list(config.names),
        "vectorized": bool(config.vectorized),
        "shuffle": bool(config.shuffle),
        "minimize": bool(config.minimize),
        "algorithm": given.name,
        "kind": given.kind,
        "settings": {name: plain(value) for name, value in given.settings().items()},
        "chosen": {name: plain(value) for name, value in config.algorithm.settings().items()},
        "seed": config.seed,
        "limits": limits,
        "evaluation": config.evaluation.to_json(),
        "noise": None if config.noise is None else {"repeats": config.noise.repeats},
        "initial": _plain_initial(config, objective),
        "optimum": config.optimum(objective),
        "again": config.again,
    }


def chosen_before(path: str, algorithm: Algorithm) -> Algorithm:
    """Return the algorithm with what was chosen when the run in a file began, such as a population size."""
    kept = description_before(path)
    if kept.get("algorithm") != algorithm.name or kept.get("kind") != algorithm.kind:
        return algorithm
    given, chosen = kept.get("settings", {}), kept.get("chosen", {})
    now = {name: plain(value) for name, value in algorithm.settings().items()}
    changed = {name: value for name, value in chosen.items() if given.get(name) != value and now.get(name) != value}
    return algorithm.with_settings(changed) if given == now else algorithm


def _plain_initial(config: RunConfig, objective: BoundObjective) -> list[str] | None:
    from daedal.run.initial import read_initial
    from daedal.types import to_text

    rows, _ = read_initial(config.initial, objective, config.names)
    return None if rows is None else [to_text(row) for row in objective.to_objective(rows)]


def _initial(kept: list[str] | None, n: int) -> Any:
    if kept is None:
        return None
    return np.array([[int(bit) for bit in row] for row in kept], dtype=np.uint8).reshape(-1, n)


def _objective(path: str | os.PathLike[str], kept: Mapping[str, Any], given: AnyObjective | None) -> AnyObjective:
    name, spec = str(kept["objective"]), kept["spec"]
    if given is not None:
        if _essence(spec) != _essence(given if isinstance(given, str) else None):
            raise ValueError(f"the run is of the objective {name!r}, not of {objective_name(given)!r}")
        return given
    if spec is None:
        raise ValueError(
            f"give the objective again, because a run file holds no code: daedal.resume({os.fspath(path)!r}, f), or "
            f"daedal resume {os.fspath(path)} PROBLEM; it was {name!r}"
        )
    file = problem_file(spec)[1]
    if file is not None and not os.path.isfile(file):
        raise ValueError(f"the file of the problem {spec!r} is missing; name the problem again")
    return str(spec)


def _essence(spec: str | None) -> str | None:
    """Return which problem a text names; a file may have been moved since."""
    if spec is None:
        return None
    kind, file = problem_file(spec)
    return canonical_problem(spec) if file is None else f"{kind}{file_settings(spec)}"


def _algorithm(kept: Mapping[str, Any], given: AnyAlgorithm | None) -> Algorithm:
    """Return the algorithm of the run with its settings; the one given again has to be the same."""
    name, kind, settings = str(kept["algorithm"]), str(kept["kind"]), kept["settings"]
    chosen = find_algorithm(given) if given is not None else restored_algorithm(name, kind)
    if chosen.kind != kind and chosen.digest is not None and kind.startswith(f"{chosen.configuration.kind} "):
        raise ValueError(f"{chosen.source} has changed since the run began; restore its content, or start over")
    if chosen.kind != kind:
        raise ValueError(
            f"the run used the algorithm {name!r} ({kind}), not {chosen.name!r} ({chosen.kind}); give it as "
            "algorithm=... (--algorithm)"
        )
    now = {key: repr(plain(value)) for key, value in chosen.settings().items()}
    return chosen.with_settings({key: value for key, value in settings.items() if now.get(key) != repr(value)})


def _evaluation(kept: Mapping[str, Any]) -> EvaluationOptions:
    options = EvaluationOptions(**kept)
    return dataclasses.replace(options, workers=min(options.workers, _MOST_WORKERS))
