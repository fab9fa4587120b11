"""Initial candidates as users give them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.objectives.bound import BoundObjective
from daedal.settings.checks import as_numbers
from daedal.spaces.space import FITNESS, Space, flags, holds_values, read_values
from daedal.storage.files import read_text_input
from daedal.types import Bits, Fitness, check_bits, from_text

if TYPE_CHECKING:
    from pandas import DataFrame

Solutions: TypeAlias = "NDArray[Any] | Mapping[str, object] | Sequence[Mapping[str, object]] | DataFrame"
"""Rows of bits, shape (rows, n); or values by name: of one solution, of several, or a data frame."""

Initial: TypeAlias = "Solutions | tuple[Solutions, NDArray[Any]]"
"""Solutions to begin with; or solutions and their values, which are then not evaluated again."""


def read_initial(
    initial: Initial | None, objective: BoundObjective, names: Sequence[str] | None = None
) -> tuple[Bits | None, Fitness | None]:
    """Return the initial candidates in the order of the search, and their values if they are known."""
    if initial is None:
        return None, None
    paired = isinstance(initial, tuple) and len(initial) == 2 and not holds_values(initial)
    given, values = initial if paired else (initial, None)
    space = objective.space if names is None else flags(names)
    if space is not None and holds_values(given):
        rows, worth = read_values(given, space)
        values = worth if values is None else values
    else:
        rows = _bits(given, objective)
    if values is None:
        return objective.to_optimizer(rows), None
    return objective.to_optimizer(rows), _values(values, rows)


def read_initial_file(path: Path, space: Space | None = None) -> Initial:
    """Read candidates, one per line: 0/1 or, in a space, JSON objects; all of them with a value, or none.

    Lines that begin with # are comments.
    """
    what = "lines of 0/1" if space is None else "JSON objects, one per line"
    lines = [line for line in map(str.strip, read_text_input(path, what).splitlines()) if line and line[0] != "#"]
    if not lines:
        raise ValueError(f"{path} holds no candidates; write {what}")
    if space is not None:
        listed = [_json_object(line, path) for line in lines]
        known = [value.pop(FITNESS) for value in listed if FITNESS in value]
        if len(known) not in (0, len(listed)):
            raise ValueError(f"{path} has a {FITNESS} in {len(known)} of {len(listed)} lines; give all of them or none")
        return (listed, np.array(known, dtype=object)) if known else listed
    words = [line.split() for line in lines]
    shapes = {(len(line), len(line[0])) for line in words}
    if len(shapes) != 1 or len(words[0]) > 2:
        raise ValueError(f"{path} must have {what} of the same number, all followed by a value or none")
    rows = np.array([from_text(line[0]) for line in words])
    if len(words[0]) == 1:
        return rows
    try:
        return rows, np.array([float(line[1]) for line in words])
    except ValueError as error:
        raise ValueError(f"{path} must have a number after each candidate: {error}") from error


def _json_object(line: str, path: Path) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} has a line that is not a JSON object: {line:.60} ({error})") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path} has a line that is not a JSON object: {line:.60}")
    return value


def _bits(given: object, objective: BoundObjective) -> Bits:
    if holds_values(given):
        raise ValueError("initial values by name need a space or names of variables; give rows of 0 and 1 instead")
    array = np.asarray(given)
    if array.ndim != 2 or array.dtype.kind not in "iub" or not np.isin(array, (0, 1)).all():
        by_name = "values by name, or " if objective.space is not None else ""
        raise ValueError(
            f"initial candidates must be {by_name}rows of 0 and 1, shape (rows, {objective.n}); got "
            f"shape={array.shape}, dtype={array.dtype}"
        )
    rows = np.ascontiguousarray(array, dtype=np.uint8)
    check_bits(rows, objective.n)
    return rows if objective.space is None else objective.space.encoding.repair(rows)


def _values(given: object, given_rows: Bits) -> Fitness:
    rows = len(given_rows)
    numbers = as_numbers(given, source="as values of the initial rows")
    if numbers.shape != (rows,):
        raise ValueError(f"{rows} initial candidates need {rows} values; got shape={numbers.shape}")
    if np.isnan(numbers).any():
        first = int(np.isnan(numbers).argmax())
        raise ValueError(f"the value of initial candidate {first + 1} is nan; give a number")
    known: dict[bytes, float] = {}
    for row, value in zip(given_rows, numbers.tolist(), strict=True):
        if known.setdefault(row.tobytes(), value) != value:
            raise ValueError(
                f"an initial candidate has two values, {known[row.tobytes()]:g} and {value:g}; if the objective is "
                "noisy, give the candidates alone"
            )
    return numbers
