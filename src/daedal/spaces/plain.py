"""Plain values: what a variable can have, and a file can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Plain: TypeAlias = bool | int | float | str | None
"""What can be chosen: values that a file can hold."""

Value: TypeAlias = Plain | list[Plain]
"""The value of a variable; that of a permutation or a subset is a list."""


def checked_items(values: Sequence[object], what: str) -> tuple[Plain, ...]:
    """Give values as plain Python has them; refuse none at all, others than plain ones, and equal ones."""
    if not values:
        raise ValueError(f"expected some {what}, got none")
    plain = tuple(_plain(value, what) for value in values)
    if len(set(plain)) < len(plain):
        twice = next(value for at, value in enumerate(plain) if value in plain[:at])
        raise ValueError(f"expected different {what}, got {twice!r} twice")
    return plain


def _plain(value: object, what: str) -> Plain:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ValueError(
        f"expected texts, finite numbers, truth values or None as {what}, got {value!r}; for anything else, choose "
        "among names, and look it up in the objective"
    )


def find_number(numbers: Mapping[Plain, int], value: object) -> int:
    """Give the number of a value; ValueError for what is none."""
    try:
        return numbers[value]  # type: ignore[index]
    except (KeyError, TypeError):
        known = ", ".join(map(repr, list(numbers)[:8])) + (", ..." if len(numbers) > 8 else "")
        raise ValueError(f"expected one of {known}, got {value!r}") from None


def as_array(values: Sequence[Plain]) -> NDArray[Any]:
    """Give values as an array, shape (values,): of one kind, or of objects."""
    ends_in_nul = any(isinstance(value, str) and value.endswith("\0") for value in values)  # which NumPy would drop
    if len({type(value) for value in values}) == 1 and values[0] is not None and not ends_in_nul:
        array = np.array(values)
        if array.dtype != np.object_:
            return array
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
