"""Earlier evaluations: candidates as the objective sees them, from other run files and from tables."""

from __future__ import annotations

import ast
import csv
import io
import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from daedal.run.run_file import Key, RunFile, read_run, run_numbers
from daedal.spaces.space import FITNESS, Space, describe, flags
from daedal.spaces.variables import Variable
from daedal.storage.files import read_text_input
from daedal.types import Bits

if TYPE_CHECKING:
    from pandas import DataFrame

Earlier: TypeAlias = "str | os.PathLike[Any] | DataFrame | Sequence[Mapping[str, object]]"
"""A run file, a CSV file (.csv), a data frame, or a list of dicts, all with a value for each candidate."""

VALUES = (FITNESS, "value")
"""Columns that have the value of a candidate, the first one that is there and no variable."""

_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def to_keys(rows: Bits, space: Space | None = None) -> list[Key]:
    r"""Return candidates, rows of bits in the order of the objective's variables, shape (rows, n), as keys.

    Examples
    --------
    >>> to_keys(np.array([[1, 1, 0], [0, 0, 1]], np.uint8))
    [b'\x03', b'\x04']
    """
    if space is not None:
        return [_canonical(values) for values in space.plain(rows)]
    packed = np.packbits(rows, axis=1, bitorder="little")
    size, data = packed.shape[1], packed.tobytes()
    return [data[at : at + size] for at in range(0, len(data), size)]


def from_keys(keys: Sequence[Key], n: int, space: Space | None = None) -> Bits:
    r"""Return keys as rows of bits in the order of the objective's variables, shape (keys, n).

    Examples
    --------
    >>> from_keys([b"\x03", b"\x04"], 3)
    array([[1, 1, 0],
           [0, 0, 1]], dtype=uint8)
    """
    if space is not None:
        return space.encode([json.loads(key) for key in keys])
    packed = np.frombuffer(b"".join(keys), np.uint8)  # type: ignore[arg-type]
    return np.unpackbits(packed.reshape(len(keys), -(-n // 8)), axis=1, count=n, bitorder="little")


@dataclass(frozen=True)
class Known:
    """Earlier evaluations, in the order in which they were found; a candidate may be there several times.

    Attributes
    ----------
    keys, values
        Candidates in the terms of this run, and the values of the objective.
    outputs
        Constraint values; None where there are none.
    skipped
        How many others were found, by the reason for which they are left out.
    objectives
        What the run files say that was evaluated.
    """

    keys: list[Key] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    outputs: list[tuple[float, ...] | None] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    objectives: list[str] = field(default_factory=list)

    def add(self, key: Key | None, value: float | None, outputs: tuple[float, ...] | None) -> None:
        """Add an evaluation, or skip it: without a key it is not in the space, without a value it failed."""
        if key is None or value is None:
            self.skipped["not in the space" if key is None else "no value"] += 1
            return
        self.keys.append(key)
        self.values.append(value)
        self.outputs.append(outputs)


def load_known(
    source: Earlier, *, n: int, space: Space | None = None, names: Sequence[str] | None = None, run: int | None = None
) -> Known:
    """Load earlier evaluations of candidates of n bits, of a space, or of bits with names.

    From a run file come all of its runs, or one of them. In tables, a column has the values of each variable, and
    other columns are ignored; bits without names are x0, x1, ...
    """
    known = Known()
    variables = space if space is not None else flags(names or [f"x{i}" for i in range(n)])
    if isinstance(source, str | os.PathLike) and os.path.splitext(source)[1].lower() != ".csv":
        for number in run_numbers(source) if run is None else [run]:
            with read_run(source, number) as file:
                _add_run(known, file, n, space, names, variables)
        return known
    columns: Iterable[object] = ()
    has_values = False
    for row in _rows(source):
        columns = columns or row
        name = next((name for name in VALUES if name in row and name not in variables), None)
        has_values |= name is not None
        key = _key(row, variables, is_space=space is not None)
        known.add(key, None if name is None else _as_value(row[name]), None)
    if columns and not has_values:
        listed = ", ".join(map(str, columns))[:200]
        raise ValueError(f"earlier evaluations need a column {' or '.join(VALUES)}, but there is only {listed}")
    return known


def _add_run(
    known: Known, file: RunFile, n: int, space: Space | None, names: Sequence[str] | None, variables: Space
) -> None:
    """Add the evaluations of one run: their keys are those of this run, or its variables have the same names."""
    held = file.description
    objective, their_names = str(held.get("objective")), held.get("names")
    if objective not in known.objectives:
        known.objectives.append(objective)
    if space is not None:
        same = held.get("space") == json.loads(json.dumps(describe(space)))
    else:
        same = held.get("space") is None and held.get("n") == n
        same &= names is None or their_names is None or list(names) == their_names
    for key, value, outputs, _, _ in file.evaluations():
        if same:
            known.add(key, value, outputs)
            continue
        values = json.loads(key) if isinstance(key, str) else {}
        if isinstance(key, bytes) and their_names is not None:
            values = dict(zip(their_names, from_keys([key], held["n"])[0].tolist(), strict=True))
        named_alike = values.keys() == {*variables}
        known.add(_key(values, variables, is_space=space is not None) if named_alike else None, value, outputs)


def _rows(source: Any) -> Iterator[Mapping[Any, Any]]:
    if isinstance(source, str | os.PathLike):
        text = read_text_input(source, "a CSV file").removeprefix("\ufeff")  # with which Excel begins
        try:
            yield from csv.DictReader(io.StringIO(text, newline=""))
        except csv.Error as error:
            raise ValueError(f"{os.fspath(source)} is damaged ({error})") from error
    elif hasattr(source, "columns"):
        columns = [str(name) for name in source.columns]
        yield from (dict(zip(columns, row, strict=True)) for row in source.itertuples(index=False, name=None))
    else:
        for row in source:
            if not isinstance(row, Mapping):
                raise TypeError(f"an earlier evaluation must be a dict; got {row!r:.80}")
            yield row


def _key(row: Mapping[str, object], variables: Space, *, is_space: bool) -> Key | None:
    """Return the key of values by name; None if they are not in the space."""
    try:
        numbers = {name: _number(variable, row[name]) for name, variable in variables.items()}
    except (ValueError, TypeError, KeyError, OverflowError):
        return None
    if is_space:
        return _canonical({name: variables[name].value(number) for name, number in numbers.items()})
    return np.packbits(np.array(list(numbers.values()), np.uint8), bitorder="little").tobytes()


def _number(variable: Variable, value: object) -> Any:
    """Return the number of a value, also of one that a table has as text or, for None, as nan."""
    try:
        return variable.number(value)
    except (ValueError, TypeError):
        if isinstance(value, float) and math.isnan(value):
            return variable.number(None)
        if not isinstance(value, str):
            raise
    for read in (json.loads, ast.literal_eval):
        with suppress(ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            return variable.number(read(value))
    return variable.number(value if value else None)


def _as_value(cell: object) -> float | None:
    try:
        value = float(cell)  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError):
        return None
    return None if math.isnan(value) else value
