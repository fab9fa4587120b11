"""What a study is made of, as Python has it, in the form of a study file."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from daedal.limits import Limits
from daedal.spaces.description import describe
from daedal.spaces.space import Space
from daedal.studies.cell import LIMITS

Part: TypeAlias = str | Mapping[str, object]
"""A problem or an algorithm: a text, or a table of keys and values as in a study file."""

_HOW = (
    "a study knows a problem by its text, and makes runs in other processes: put the function into a Python file, and "
    'give {"problem": "file.py:name", "n": ...}'
)


def listed(given: Part | Sequence[Part]) -> list[Any]:
    """Give a list, be it of one."""
    return [given] if isinstance(given, str | Mapping) or callable(given) else list(given)


def problem_part(given: Part | Callable[..., object]) -> Any:
    """Give a problem as a study file has it: the function of a file by its name there, a space by its tables."""
    if callable(given):
        name = getattr(given, "__name__", type(given).__name__)
        raise TypeError(f"expected a problem as a text or a table, got the function {name}: {_HOW}")
    if not isinstance(given, Mapping):
        return given
    table: dict[str, Any] = dict(given)
    if callable(table.get("problem")):
        table["problem"] = _place_of(table["problem"])
    if isinstance(table.get("space"), Space):
        table["space"] = describe(table["space"])
    return table


def algorithm_part(given: Part) -> Any:
    """Give an algorithm as a study file has it."""
    if not isinstance(given, Mapping):
        return given
    return {key: list(value) if isinstance(value, tuple | range) else value for key, value in given.items()}


def limits_part(given: Mapping[str, object] | Limits) -> dict[str, object]:
    """Give limits as a study file has them."""
    if not isinstance(given, Limits):
        return dict(given)
    kept = {name: getattr(given, name) for name in (*LIMITS, "max_seconds", "target")}
    return {name: value for name, value in kept.items() if value is not None}


def _place_of(function: Any) -> str:
    """Say where other processes find a function: "path/to/file.py:name"."""
    name, module = getattr(function, "__qualname__", ""), getattr(function, "__module__", "__main__")
    try:
        file = inspect.getsourcefile(function) or ""
    except TypeError:
        file = ""
    if not name.isidentifier() or module == "__main__" or not file.endswith(".py") or not os.path.isfile(file):
        shown = name or type(function).__name__
        raise TypeError(f"expected a function that stands at the top of a file of its own, got {shown}: {_HOW}")
    return f"{os.path.abspath(file)}:{name}"
