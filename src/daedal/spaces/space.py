"""A space: variables by name, and their code in rows of bits; how users and files describe spaces and values."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.settings.parameters import unknown
from daedal.spaces.encoding import Encoding, SubsetField
from daedal.spaces.variables import Choice, Flag, Integer, Permutation, Subset, Value, Variable
from daedal.storage.files import read_text_input
from daedal.types import Bits, Json

Columns: TypeAlias = dict[str, NDArray[Any]]
"""Values of several candidates: an array for each variable, with one entry per candidate."""

Variables: TypeAlias = "int | Space | Iterable[str] | None"
"""Number of bits, their names (also a data frame, or its columns), or a space."""

KINDS: dict[str, type[Variable]] = {kind.kind: kind for kind in (Flag, Integer, Choice, Permutation, Subset)}
"""Kinds of variables by name."""

FITNESS = "fitness"
"""The column of a data frame that has the objective values."""

_MOST_BITS = 10**8  # of a variable in a file, so that a typing error does not take all memory


class Space(Mapping[str, Variable]):
    """Variables by name.

    Parameters
    ----------
    variables
        Variables by name, for names that are no Python identifiers.
    **named
        Variables by name.

    Examples
    --------
    >>> import daedal
    >>> space = daedal.Space(fast=daedal.Flag(), threads=daedal.Integer(1, 16), kernel=daedal.Choice("a", "b", "c"))
    >>> space.n, space.size
    (8, 96)
    >>> row = space.encode([{"fast": True, "threads": 12, "kernel": "b"}])
    >>> space.value(row[0])
    {'fast': True, 'threads': 12, 'kernel': 'b'}
    """

    def __init__(self, variables: Mapping[str, Variable] | None = None, /, **named: Variable) -> None:
        given = dict(variables or {})
        twice = sorted(set(given) & set(named))
        if twice:
            raise ValueError(f"the name {twice[0]!r} occurs twice in the space; names must differ")
        self._variables = {**given, **named}
        if not self._variables:
            raise ValueError(
                "a space needs at least one variable, as in Space(fast=Flag(), size=Integer(1, 8)); got none"
            )
        for name, variable in self._variables.items():
            if not isinstance(name, str) or not name:
                raise ValueError(f"a variable has the name {name!r}, which is not a text")
            if not isinstance(variable, Variable):
                raise TypeError(
                    f"{name} is {variable!r}, but must be a Flag, Integer, Choice, Permutation or Subset; for a fixed "
                    "value, use Choice(value)"
                )

    def __getitem__(self, name: str) -> Variable:
        return self._variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    def __repr__(self) -> str:
        return f"Space({', '.join(f'{name}={variable!r}' for name, variable in self.items())})"

    def __hash__(self) -> int:
        return hash(repr(self))

    @property
    def n(self) -> int:
        """Number of bits."""
        return self.encoding.n

    @property
    def size(self) -> int:
        """Number of different candidates."""
        return self.encoding.size

    @cached_property
    def encoding(self) -> Encoding:
        """Code of the variables in bits; if all variables are fixed, there is one bit, always 0."""
        fields = [variable.field for variable in self.values()]
        return Encoding(fields if any(field.bits for field in fields) else [*fields, SubsetField(1, 0, 0)])

    def decode(self, rows: Bits) -> Columns:
        """Return the values of rows, shape (rows, n), as an array for each variable.

        Flags, integers and choices have shape (rows,). A permutation has its items in order, shape (rows, items). A
        subset has True for each item that is in it, shape (rows, items).
        """
        numbers = self.encoding.decode(rows)
        return {name: variable.column(number) for (name, variable), number in zip(self.items(), numbers, strict=False)}

    def value(self, row: Bits) -> dict[str, Value]:
        """Return the values of one row, shape (n,), as plain Python objects."""
        return self.plain(row[None])[0]

    def plain(self, rows: Bits) -> list[dict[str, Value]]:
        """Return the values of rows, shape (rows, n), as plain Python objects."""
        numbers = dict(zip(self, self.encoding.decode(rows), strict=False))
        return [
            {name: variable.value(numbers[name][row]) for name, variable in self.items()} for row in range(len(rows))
        ]

    def encode(self, values: Sequence[Mapping[str, object]]) -> Bits:
        """Return the rows, shape (rows, n), of values by name."""
        rows = [self._numbers(value, place) for place, value in enumerate(values, start=1)]
        columns = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]
        columns += [np.zeros((len(values), 1), np.int64) for _ in self.encoding.fields[len(self) :]]
        return self.encoding.encode(columns) if len(values) else np.empty((0, self.n), np.uint8)

    def _numbers(self, value: Mapping[str, object], place: int) -> list[NDArray[np.int64]]:
        if not isinstance(value, Mapping):
            raise ValueError(f"values need names, as in {{'{next(iter(self))}': ...}}; got {value!r:.80}")
        odd = [name for name in (*self, *value) if name not in value or name not in self]
        if odd:
            what = "is missing" if odd[0] in self else "is no variable of the space"
            raise ValueError(f"{odd[0]!r} {what} in value {place}; give a value for each of {', '.join(self)}")
        numbers = []
        for name, variable in self.items():
            try:
                numbers.append(variable.number(value[name]))
            except ValueError as error:
                raise ValueError(f"{name} in value {place}: {error}") from None
        return numbers


# ---------------------------------------------------------------- spaces as plain values, and as TOML files


def describe(space: Space) -> dict[str, Json]:
    """Return a space as plain values; `described` makes an equal space from them."""
    return {name: {"type": variable.kind, **variable.settings()} for name, variable in space.items()}


def described(tables: Mapping[str, object]) -> Space:
    """Return the space for a table of each variable, with its type and its parameters.

    Examples
    --------
    >>> described({"threads": {"type": "integer", "low": 1, "high": 16}})
    Space(threads=Integer(low=1, high=16, code='gray'))
    """
    space = Space({name: _variable(name, table) for name, table in tables.items()})
    for name, variable in space.items():
        if variable.field.bits > _MOST_BITS:
            raise ValueError(f"{name} needs {variable.field.bits:,} bits, and the maximum is {_MOST_BITS:,}")
    return space


def read_space(path: str | os.PathLike[str]) -> Space:
    """Read a space from a TOML file. Raise ValueError if it is not valid.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "space.toml"
    ...     _ = path.write_text('threads = {type = "integer", low = 1, high = 16}')
    ...     read_space(path)
    Space(threads=Integer(low=1, high=16, code='gray'))
    """
    import tomllib

    text = read_text_input(path, "a space (TOML)")
    try:
        return described(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"{os.fspath(path)} is not a valid TOML file: {error}") from None
    except (ValueError, TypeError) as error:
        raise ValueError(f"{os.fspath(path)}: {' '.join(str(error).split())}") from None


def _variable(name: str, table: object) -> Variable:
    if not isinstance(table, Mapping) or "type" not in table:
        raise ValueError(f'{name} needs a table with a type, as in {name} = {{type = "flag"}}; got {table!r:.80}')
    given = dict(table)
    kind, values = given.pop("type"), given.pop("values", [])
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"{name}: {unknown('type', str(kind), set(KINDS))}")
    known = set(inspect.signature(KINDS[kind]).parameters)
    odd = [key for key in given if key not in known] + ["values"] * bool(values and kind != "choice")
    if odd:
        raise ValueError(f"the {kind} {name} has no key {odd[0]!r}; known keys: {', '.join(known) or 'none'}")
    if not isinstance(values, list):
        raise ValueError(f"the values of the choice {name} must be a list; got {values!r:.80}")
    try:
        return KINDS[kind](*values, **given)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: {error}") from None


# ---------------------------------------------------------------- variables and values as users specify them


def read_variables(given: Variables) -> tuple[int | None, Space | None, tuple[str, ...] | None]:
    """Return the number of bits, the space and the names, as far as they are known."""
    if isinstance(given, Space):
        return None, given, None
    if given is None or not isinstance(given, Iterable):
        return given, None, None
    if isinstance(given, str | bytes):
        raise TypeError(f"{given!r} does not describe variables; give their number, their names, or a Space")
    names = tuple(str(name) for name in getattr(given, "columns", given))
    if not names:
        raise ValueError("the list of names is empty; give at least one variable")
    if len(set(names)) < len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise ValueError(f"the name {twice!r} occurs twice; names of variables must differ")
    return len(names), None, names


def flags(names: Sequence[str]) -> Space:
    """Return the space of named bits."""
    return Space({name: Flag() for name in names})


def holds_values(given: object) -> bool:
    """Return True for values by name: a dict, a list of dicts, or a data frame."""
    if isinstance(given, Mapping) or hasattr(given, "columns"):
        return True
    return isinstance(given, list | tuple) and len(given) > 0 and all(isinstance(one, Mapping) for one in given)


def read_values(given: Any, space: Space) -> tuple[Bits, NDArray[np.float64] | None]:
    """Return the rows, shape (rows, n), of values by name, and the objective values if a data frame has them."""
    fitness = None
    if hasattr(given, "columns"):
        columns = [str(name) for name in given.columns]
        listed = [dict(zip(columns, row, strict=True)) for row in given.itertuples(index=False, name=None)]
        if FITNESS in columns and FITNESS not in space:
            fitness = np.array([row.pop(FITNESS) for row in listed], dtype=np.float64)
    else:
        listed = [dict(one) for one in ([given] if isinstance(given, Mapping) else given)]
    return space.encode(listed), fitness
