"""One line of Python that makes a run again."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from typing import TYPE_CHECKING

from daedal.limits import Limits
from daedal.objectives.bound import objective_name
from daedal.searches.presets import find_algorithm
from daedal.settings.parameters import Setting

if TYPE_CHECKING:
    from daedal.run.config import RunConfig


def again_line(config: RunConfig) -> str:
    """Write the call of `maximize` or `minimize` that makes a run again, with what is not as it is by itself.

    A function stands there by its name, and so do a space and constraints, which a line of text cannot contain.
    """
    named = isinstance(config.objective, str)
    words = [repr(config.objective) if named else _function_name(config)]
    if config.space is not None:
        words.append("space")
    elif config.names is not None:
        words.append("names")
    elif config.n is not None and not named:
        words.append(f"n={config.n}")
    words += ["constraints=constraints"] * bool(config.constraints)
    words += [f"{name}={value!r}" for name, value in _changed(config).items()]
    return f"daedal.{'minimize' if config.minimize else 'maximize'}({', '.join(words)})"


def _changed(config: RunConfig) -> dict[str, object]:
    """Return the keywords that differ from their defaults."""
    algorithm = config.algorithm
    found: dict[str, object] = {} if algorithm.name == "auto" else {"algorithm": algorithm.name}
    found["seed"] = config.seed
    nothing = dataclasses.asdict(Limits())
    found |= {name: value for name, value in dataclasses.asdict(config.limits).items() if value != nothing.get(name)}
    if not config.vectorized:
        found["vectorized"] = False
    if config.violations:
        found["violations"] = True
    if not config.shuffle:
        found["shuffle"] = False
    if config.noise is not None:
        found["noisy"] = True
    own: dict[str, Setting] = {}
    with suppress(ValueError):  # one of the user's own, or of a package that is broken
        own = find_algorithm(algorithm.name).settings()
    return found | {name: value for name, value in algorithm.settings().items() if value != own.get(name)}


def _function_name(config: RunConfig) -> str:
    """Return the name of a function, or f if its name is no Python identifier."""
    name = objective_name(config.objective).rpartition(":")[2]
    return name if name.isidentifier() else "f"
