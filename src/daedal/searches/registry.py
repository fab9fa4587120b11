"""Algorithms by name: daedal's own, those of installed packages, and those in a user's files."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import TypeAlias

from daedal.engine import Search
from daedal.models.base import Model
from daedal.searches.algorithm import Algorithm, Configuration, OwnSearch
from daedal.searches.presets import PRESETS, EDAConfiguration, preset
from daedal.settings.parameters import unknown
from daedal.settings.plugins import (
    entry_point,
    entry_point_names,
    file_digest,
    first_line,
    is_file_spec,
    load,
    register_entry_points,
)

ENTRY_POINTS = "daedal.algorithms"
"""The group of entry points under which installed packages register algorithms."""

AnyAlgorithm: TypeAlias = "str | Algorithm | Configuration | Model | Callable[..., Search]"
"""What stands for an algorithm: a name, one of its values, or an async function, `async def climber(f, *, n, rng)`."""

_registered: dict[str, Algorithm] = {}  # those of daedal itself are added when they are asked for


def register_algorithm(algorithm: Algorithm) -> None:
    """Make an algorithm known by its name, to the library, the command line and the contract tests."""
    _registered[algorithm.name] = algorithm


def algorithms() -> dict[str, Algorithm]:
    """Give all algorithms by name, those of installed packages included; one that is broken is a warning."""
    register_entry_points(ENTRY_POINTS, _is_known)
    own = {name: _registered.get(name) or preset(name) for name in PRESETS}
    return own | _registered


def find_algorithm(given: AnyAlgorithm) -> Algorithm:
    """Give the algorithm that a value stands for.

    Parameters
    ----------
    given
        A name ("dae"); "path/to/file.py:NAME"; an `Algorithm`; a configuration; a model, which gets the EDA's loop with
        the rules and limits of its kind, or of `dae`; or an async function, `async def climber(f, *, n, rng)`.

    Examples
    --------
    >>> find_algorithm("umda").name
    'umda'
    """
    if isinstance(given, str):
        return _named(given)
    if isinstance(given, Algorithm):
        return given
    if inspect.isclass(given) and issubclass(given, Model | Configuration):
        given = given()
    if isinstance(given, Model):
        return _of_model(given)
    if isinstance(given, Configuration):
        return Algorithm(name=given.kind, configuration=given)
    if inspect.iscoroutinefunction(given):
        own = OwnSearch(function=given)
        return Algorithm(name=own.kind, summary=first_line(given), configuration=own)
    raise TypeError(
        "expected an algorithm: a name such as 'dae', a configuration, a model, or an async function such as "
        f"`async def climber(f, *, n, rng)`, got algorithm={given!r}"
    )


def restored_algorithm(name: str, kind: str) -> Algorithm:
    """Return the algorithm that a run file names: never by a path, since that would run code; or else by its model."""
    if _is_known(name):
        return _registered[name]
    for own in map(preset, PRESETS):
        if own.kind == kind:
            return dataclasses.replace(own, name=name, summary="")
    raise ValueError(f"give the algorithm again, algorithm=... (--algorithm): {name!r} is not one of daedal's own")


def _named(name: str) -> Algorithm:
    if is_file_spec(name):
        found = find_algorithm(load(name))
        return dataclasses.replace(
            found, name=name.rpartition(":")[2], source=name, digest=file_digest(name.rpartition(":")[0])
        )
    if not _is_known(name):
        raise ValueError(unknown("algorithm", name, {*PRESETS, *_registered, *entry_point_names(ENTRY_POINTS)}))
    return _registered[name]


def _is_known(name: str) -> bool:
    """Whether there is such an algorithm; one of an installed package is loaded now."""
    if name in PRESETS and name not in _registered:
        register_algorithm(preset(name))
    elif name not in _registered and name in entry_point_names(ENTRY_POINTS):
        register_algorithm(dataclasses.replace(entry_point(ENTRY_POINTS, name, find_algorithm), name=name))
    return name in _registered


def _of_model(model: Model) -> Algorithm:
    kind = EDAConfiguration(model=model).kind
    like = [own for own in map(preset, PRESETS) if own.kind == kind] or [preset("dae")]
    rules = like[0].configuration
    assert isinstance(rules, EDAConfiguration)
    return dataclasses.replace(
        like[0], name=type(model).__name__, summary="", configuration=dataclasses.replace(rules, model=model)
    )
