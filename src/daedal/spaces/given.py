"""Variables and values as users give them: a number of bits, names, a space; dicts and data frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.spaces.space import Space
from daedal.spaces.variables import Flag
from daedal.types import Bits

Variables: TypeAlias = "int | Space | Iterable[str] | None"
"""How many bits there are, their names (also a data frame's columns, or the data frame), or a space."""

FITNESS = "fitness"
"""The column of a data frame that has the values of its rows."""


def read_variables(given: Variables) -> tuple[int | None, Space | None, tuple[str, ...] | None]:
    """Give the number of bits, which is checked elsewhere, the space and the names, as far as there are any."""
    if isinstance(given, Space):
        return None, given, None
    if given is None or not isinstance(given, Iterable):
        return given, None, None
    if isinstance(given, str | bytes):
        raise TypeError(f"expected a number of variables, their names, or a Space, got {given!r}")
    names = tuple(str(name) for name in getattr(given, "columns", given))
    if not names:
        raise ValueError("expected the names of some variables, got none")
    if len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise ValueError(f"expected each variable to have a name of its own, got {twice!r} twice")
    return len(names), None, names


def flags(names: Sequence[str]) -> Space:
    """Give the space of named bits."""
    return Space({name: Flag() for name in names})


def holds_values(given: object) -> bool:
    """Whether these are values by name: a dict, a list of dicts, or a data frame."""
    if isinstance(given, Mapping) or hasattr(given, "columns"):
        return True
    return isinstance(given, list | tuple) and len(given) > 0 and all(isinstance(one, Mapping) for one in given)


def read_values(given: Any, space: Space) -> tuple[Bits, NDArray[Any] | None]:
    """Give the rows, shape (rows, n), of values by name, and what they are worth where a data frame says so."""
    worth = None
    if hasattr(given, "columns"):
        columns = [str(name) for name in given.columns]
        listed = [dict(zip(columns, row, strict=True)) for row in given.itertuples(index=False, name=None)]
        if FITNESS in columns and FITNESS not in space:
            worth = np.array([row.pop(FITNESS) for row in listed], dtype=np.float64)
    else:
        listed = [dict(one) for one in ([given] if isinstance(given, Mapping) else given)]
    return space.encode(listed), worth
