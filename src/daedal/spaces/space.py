"""A space: variables by name, and their rows of bits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.spaces.encoding import Encoding
from daedal.spaces.fields import SubsetField
from daedal.spaces.plain import Value
from daedal.spaces.variables import Variable
from daedal.types import Bits

Columns: TypeAlias = dict[str, NDArray[Any]]
"""Values of some rows: an array for each variable, one entry a row."""


class Space(Mapping[str, Variable]):
    """Variables by name.

    Parameters
    ----------
    variables
        Variables by name, where a name is no word of Python.
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
            raise ValueError(f"expected each name once in a space, got {twice[0]!r} twice")
        self._variables = {**given, **named}
        if not self._variables:
            raise ValueError(
                "expected some variables in a space, got none, as in Space(fast=Flag(), size=Integer(1, 8))"
            )
        for name, variable in self._variables.items():
            if not isinstance(name, str) or not name:
                raise ValueError(f"expected names of variables to be texts, got {name!r}")
            if not isinstance(variable, Variable):
                raise TypeError(
                    f"expected {name} to be a Flag, Integer, Choice, Permutation or Subset, got {variable!r}; for a "
                    "value that does not change, use Choice(value)"
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
        """Bits of a row."""
        return self.encoding.n

    @property
    def size(self) -> int:
        """How many different values there are, all variables together."""
        return self.encoding.size

    @cached_property
    def encoding(self) -> Encoding:
        """How the variables are coded in bits; where all are fixed, there is one bit, always 0."""
        fields = [variable.field for variable in self.values()]
        return Encoding(fields if any(field.bits for field in fields) else [*fields, SubsetField(1, 0, 0)])

    def decode(self, rows: Bits) -> Columns:
        """Give the values of rows, shape (rows, n), an array for each variable.

        Truth values for a flag, shape (rows,), whole numbers, the values of a choice; the items in order for a
        permutation, shape (rows, items); whether each item is in it for a subset, shape (rows, items).
        """
        numbers = self.encoding.decode(rows)
        return {name: variable.column(number) for (name, variable), number in zip(self.items(), numbers, strict=False)}

    def value(self, row: Bits) -> dict[str, Value]:
        """Give the values of one row, shape (n,), as plain Python has them; a list for a permutation or a subset."""
        return self.plain(row[None])[0]

    def plain(self, rows: Bits) -> list[dict[str, Value]]:
        """Give the same for rows, shape (rows, n)."""
        numbers = dict(zip(self, self.encoding.decode(rows), strict=False))
        return [
            {name: variable.value(numbers[name][row]) for name, variable in self.items()} for row in range(len(rows))
        ]

    def encode(self, values: Sequence[Mapping[str, object]]) -> Bits:
        """Give the rows, shape (rows, n), of values by name."""
        rows = [self._numbers(value, place) for place, value in enumerate(values, start=1)]
        columns = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]
        columns += [np.zeros((len(values), 1), np.int64) for _ in self.encoding.fields[len(self) :]]
        return self.encoding.encode(columns) if len(values) else np.empty((0, self.n), np.uint8)

    def _numbers(self, value: Mapping[str, object], place: int) -> list[NDArray[np.int64]]:
        if not isinstance(value, Mapping):
            raise ValueError(f"expected values by name, as in {{'{next(iter(self))}': ...}}, got {value!r:.80}")
        odd = [name for name in (*self, *value) if name not in value or name not in self]
        if odd:
            what = "is missing" if odd[0] in self else "is no variable of the space"
            raise ValueError(f"expected a value for each of {', '.join(self)}, but {odd[0]!r} {what} in value {place}")
        numbers = []
        for name, variable in self.items():
            try:
                numbers.append(variable.number(value[name]))
            except ValueError as error:
                raise ValueError(f"{name} in value {place}: {error}") from None
        return numbers
