"""Variables of a space: switches, whole numbers, choices."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from daedal.settings.checks import check_one_of
from daedal.spaces.fields import Field, NumberField, OneHotField
from daedal.spaces.plain import Plain, Value, as_array, checked_items, find_number

MOST_ONE_HOT = 64
"""Values up to which a choice has a bit for each."""

_WIDEST = 2**62  # whole numbers


class Variable(ABC):
    """A variable: its values, and how they are coded."""

    kind: ClassVar[str]

    @cached_property
    @abstractmethod
    def field(self) -> Field:
        """How it is coded in bits."""

    @abstractmethod
    def column(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Give the values that the numbers of the field, shape (rows, ...), stand for; one entry a row."""

    @abstractmethod
    def value(self, number: NDArray[np.int64]) -> Value:
        """Give one value as plain Python has it."""

    @abstractmethod
    def number(self, value: object) -> NDArray[np.int64]:
        """Give what the field has for a value; ValueError for what is none."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Give the parameters that make it again, in plain values."""

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings().items())
        return f"{type(self).__name__}({settings})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and repr(other) == repr(self)

    def __hash__(self) -> int:
        return hash(repr(self))


class Flag(Variable):
    """On or off: True or False.

    Examples
    --------
    >>> Flag().column(np.array([1, 0]))
    array([ True, False])
    """

    kind = "flag"

    @cached_property
    def field(self) -> Field:
        """One bit."""
        return NumberField(2)

    def column(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Give truth values, shape (rows,)."""
        return numbers.astype(np.bool_)

    def value(self, number: NDArray[np.int64]) -> Value:
        """Give True or False."""
        return bool(number)

    def number(self, value: object) -> NDArray[np.int64]:
        """Take a truth value, or 0 or 1."""
        if not isinstance(value, bool | np.bool_ | Integral) or value not in (0, 1):
            raise ValueError(f"expected True or False, got {value!r}")
        return np.array(int(value))

    def settings(self) -> dict[str, Any]:
        """Give no parameters."""
        return {}


class Integer(Variable):
    """A whole number from low to high, both included.

    Parameters
    ----------
    low, high
        The smallest and the largest number.
    code
        How it is coded: "gray", where neighbours differ in one bit, or "binary".

    Examples
    --------
    >>> Integer(1, 16).column(np.array([0, 15]))
    array([ 1, 16])
    """

    kind = "integer"

    def __init__(self, low: int, high: int, *, code: str = "gray") -> None:
        for name, given in (("low", low), ("high", high)):
            if not isinstance(given, Integral) or isinstance(given, bool) or not -_WIDEST <= given <= _WIDEST:
                raise ValueError(f"expected {name} to be a whole number within 2^62 of 0, got {name}={given!r}")
        if low > high:
            raise ValueError(f"expected low <= high, got low={low}, high={high}; the smaller one comes first")
        if high - low >= _WIDEST:
            raise ValueError(f"expected fewer than 2^62 numbers, got low={low}, high={high}")
        check_one_of("code", code, ("gray", "binary"))
        self.low, self.high, self.code = int(low), int(high), code

    @cached_property
    def field(self) -> Field:
        """A number from 0 on."""
        return NumberField(self.high - self.low + 1, gray=self.code == "gray")

    def column(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Give whole numbers, shape (rows,), int64."""
        return numbers + self.low

    def value(self, number: NDArray[np.int64]) -> Value:
        """Give a whole number."""
        return int(number) + self.low

    def number(self, value: object) -> NDArray[np.int64]:
        """Take a whole number, also one that pandas has made a float of."""
        whole = isinstance(value, Real) and not isinstance(value, bool | np.bool_) and math.isfinite(value)
        if not whole or value != int(value) or not self.low <= value <= self.high:  # type: ignore[operator,call-overload]
            raise ValueError(f"expected a whole number from {self.low} to {self.high}, got {value!r}")
        return np.array(int(value) - self.low)  # type: ignore[call-overload]

    def settings(self) -> dict[str, Any]:
        """Give the bounds and the code."""
        return {"low": self.low, "high": self.high, "code": self.code}


class Choice(Variable):
    """One of some values: texts, numbers, truth values or None; with a single one it is fixed.

    Parameters
    ----------
    *values
        What can be chosen.
    code
        How it is coded: "one-hot", a bit for each value, or "binary"; None: one-hot up to 64 values.

    Examples
    --------
    >>> Choice("gcc", "clang").column(np.array([1, 0]))
    array(['clang', 'gcc'], dtype='<U5')
    """

    kind = "choice"

    def __init__(self, *values: Plain, code: str | None = None) -> None:
        if len(values) == 1 and isinstance(values[0], list | tuple | set | frozenset | np.ndarray):
            raise ValueError(
                f"expected the values one by one, as in Choice('a', 'b'), got {values[0]!r} (put a * before)"
            )
        self.values = checked_items(values, "values of a choice")
        if code is not None:
            check_one_of("code", code, ("one-hot", "binary"))
        self.code = code or ("one-hot" if len(values) <= MOST_ONE_HOT else "binary")
        self._column = as_array(self.values)
        self._numbers = {value: number for number, value in enumerate(self.values)}

    @cached_property
    def field(self) -> Field:
        """A bit for each value, or their number in binary."""
        one_hot = self.code == "one-hot" and len(self.values) > 1
        return OneHotField(len(self.values)) if one_hot else NumberField(len(self.values))

    def column(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Give values, shape (rows,): an array of texts or numbers, of objects where they are of several kinds."""
        return self._column[numbers]

    def value(self, number: NDArray[np.int64]) -> Value:
        """Give a value as it was given."""
        return self.values[int(number)]

    def number(self, value: object) -> NDArray[np.int64]:
        """Take one of the values."""
        return np.array(find_number(self._numbers, value))

    def settings(self) -> dict[str, Any]:
        """Give the values and the code."""
        return {"values": list(self.values), "code": self.code}

    def __repr__(self) -> str:
        return f"Choice({', '.join(map(repr, self.values))}, code={self.code!r})"
