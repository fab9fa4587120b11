"""Spaces in plain values: how checkpoints keep them, and how TOML files describe them."""

from __future__ import annotations

import inspect
import os
import tomllib
from collections.abc import Mapping
from typing import Any

from daedal.settings.parameters import unknown
from daedal.spaces.items import Permutation, Subset
from daedal.spaces.space import Space
from daedal.spaces.variables import Choice, Flag, Integer, Variable
from daedal.storage.inputs import read_text_input
from daedal.types import Json

KINDS: dict[str, type[Variable]] = {kind.kind: kind for kind in (Flag, Integer, Choice, Permutation, Subset)}
"""Kinds of variables by name."""

_MOST_BITS = 10**8  # of a row: a slip of the pen in a file should not take all memory


def describe(space: Space) -> dict[str, Json]:
    """Give a space in plain values, which `described` takes."""
    return {name: {"type": variable.kind, **variable.settings()} for name, variable in space.items()}


def described(tables: Mapping[str, object]) -> Space:
    """Make the space that plain values describe: a table for each variable, with its type and its parameters.

    Examples
    --------
    >>> described({"threads": {"type": "integer", "low": 1, "high": 16}})
    Space(threads=Integer(low=1, high=16, code='gray'))
    """
    space = Space({name: _variable(name, table) for name, table in tables.items()})
    for name, variable in space.items():
        if variable.field.bits > _MOST_BITS:
            raise ValueError(
                f"expected {name} to take at most {_MOST_BITS:,} bits, but it takes {variable.field.bits:,}"
            )
    return space


def read_space(path: str | os.PathLike[str]) -> Space:
    """Read a space from a TOML file; ValueError, with the file's name, for what is none."""
    text = read_text_input(path, "a space (TOML)")
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"expected a space as TOML in {os.fspath(path)}, but it cannot be read: {error}") from None
    try:
        return described(tables)
    except (ValueError, TypeError) as error:
        said = " ".join(str(error).split())
        raise ValueError(f"{os.fspath(path)}: {said}") from None


def _variable(name: str, table: object) -> Variable:
    if not isinstance(table, Mapping) or "type" not in table:
        raise ValueError(
            f'expected {name} to be a table with a type, as in {name} = {{type = "flag"}}, got {table!r:.80}'
        )
    given = dict(table)
    kind = given.pop("type")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"{name}: {unknown('type', str(kind), set(KINDS))}")
    maker = KINDS[kind]
    known = set(inspect.signature(maker).parameters)
    odd = [key for key in given if key not in known]
    if odd:
        raise ValueError(f"expected {', '.join(known) or 'nothing else'} for the {kind} {name}, got {odd[0]!r}")
    return _made(name, maker, given)


def _made(name: str, maker: type[Variable], given: dict[str, Any]) -> Variable:
    values = given.pop("values", None)
    if values is not None and not isinstance(values, list):
        raise ValueError(f"expected a list of values for the choice {name}, got {values!r:.80}")
    try:
        return maker(*(values or ()), **given)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: {error}") from None
