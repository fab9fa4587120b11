"""Variables of a space: switches, whole numbers, choices, orders and subsets."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from numbers import Integral, Real
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from daedal.settings.checks import check_one_of, check_whole
from daedal.spaces.encoding import Field, NumberField, OneHotField, PermutationField, SubsetField

Plain: TypeAlias = bool | int | float | str | None
"""A value to choose, which a file can hold."""

Value: TypeAlias = Plain | list[Plain]
"""The value of a variable; that of a permutation or a subset is a list."""

MOST_ONE_HOT = 64
"""Largest number of values for which a choice has a bit for each."""

_WIDEST = 2**62  # whole numbers


class Variable(ABC):
    """A variable: its values, and their code."""

    kind: ClassVar[str]

    @cached_property
    @abstractmethod
    def field(self) -> Field:
        """The code in bits."""

    @abstractmethod
    def column(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Return the values for numbers of the field, shape (rows, ...), one entry per row."""

    @abstractmethod
    def value(self, number: NDArray[np.int64]) -> Value:
        """Return one value as a plain Python object."""

    @abstractmethod
    def number(self, value: object) -> NDArray[np.int64]:
        """Return the field's number of a value; raise ValueError if it is none of the values."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """Return the parameters that make an equal variable, as plain values."""

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings().items())
        return f"{type(self).__name__}({settings})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and repr(other) == repr(self)

    def __hash__(self) -> int:
        return hash(repr(self))


class Flag(Variable):
    """A switch: True or False.

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
        """Return booleans, shape (rows,)."""
        return numbers.astype(np.bool_)

    def value(self, number: NDArray[np.int64]) -> Value:
        """Return True or False."""
        return bool(number)

    def number(self, value: object) -> NDArray[np.int64]:
        """Return 0 or 1 for a boolean, or for 0 or 1."""
        if not isinstance(value, bool | np.bool_ | Integral) or value not in (0, 1):
            raise ValueError(f"{value!r} is neither True nor False")
        return np.array(int(value))

    def settings(self) -> dict[str, Any]:
        """Return no parameters."""
        return {}


class Integer(Variable):
    """A whole number from low to high, both included.

    Parameters
    ----------
    low, high
        The smallest and the largest number.
    code
        Code in bits: "gray", in which neighbors differ in one bit, or "binary".

    Examples
    --------
    >>> Integer(1, 16).column(np.array([0, 15]))
    array([ 1, 16])
    """

    kind = "integer"

    def __init__(self, low: int, high: int, *, code: str = "gray") -> None:
        for name, given in (("low", low), ("high", high)):
            if not isinstance(given, Integral) or isinstance(given, bool) or not -_WIDEST <= given <= _WIDEST:
                raise ValueError(f"{name}={given!r} is not a whole number within 2^62 of 0")
        if low > high:
            raise ValueError(f"low is larger than high (low={low}, high={high}); the smaller one comes first")
        if high - low >= _WIDEST:
            raise ValueError(f"the range is too large (low={low}, high={high}); the maximum is 2^62 numbers")
        check_one_of("code", code, ("gray", "binary"))
        self.low, self.high, self.code = int(low), int(high), code

    @cached_property
    def field(self) -> Field:
        """A number from 0 on."""
        return NumberField(self.high - self.low + 1, gray=self.code == "gray")

    def column(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Return whole numbers, shape (rows,), int64."""
        return numbers + self.low

    def value(self, number: NDArray[np.int64]) -> Value:
        """Return a whole number."""
        return int(number) + self.low

    def number(self, value: object) -> NDArray[np.int64]:
        """Return the place of a whole number; it may be a float, as from pandas."""
        whole = isinstance(value, Real) and not isinstance(value, bool | np.bool_) and math.isfinite(value)
        if not whole or value != int(value) or not self.low <= value <= self.high:  # type: ignore[operator,call-overload]
            raise ValueError(f"{value!r} is not a whole number from {self.low} to {self.high}")
        return np.array(int(value) - self.low)  # type: ignore[call-overload]

    def settings(self) -> dict[str, Any]:
        """Return the bounds and the code."""
        return {"low": self.low, "high": self.high, "code": self.code}


class Choice(Variable):
    """One of several values: texts, numbers, booleans or None. With a single value, it is fixed.

    Parameters
    ----------
    *values
        The values to choose from.
    code
        Code in bits: "one-hot", a bit for each value, or "binary". Default: one-hot up to 64 values.

    Examples
    --------
    >>> Choice("gcc", "clang").column(np.array([1, 0]))
    array(['clang', 'gcc'], dtype='<U5')
    """

    kind = "choice"

    def __init__(self, *values: Plain, code: str | None = None) -> None:
        if len(values) == 1 and isinstance(values[0], list | tuple | set | frozenset | np.ndarray):
            raise ValueError(
                f"a choice takes its values one by one, as in Choice('a', 'b'); got {values[0]!r}, so put a * before it"
            )
        self.values = _checked_items(values, "values of a choice")
        if code is not None:
            check_one_of("code", code, ("one-hot", "binary"))
        self.code = code or ("one-hot" if len(values) <= MOST_ONE_HOT else "binary")
        self._column = _as_array(self.values)
        self._numbers = {value: number for number, value in enumerate(self.values)}

    @cached_property
    def field(self) -> Field:
        """A bit for each value, or their number in binary."""
        one_hot = self.code == "one-hot" and len(self.values) > 1
        return OneHotField(len(self.values)) if one_hot else NumberField(len(self.values))

    def column(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Return values, shape (rows,): an array of texts or numbers, or of objects if they are of several types."""
        return self._column[numbers]

    def value(self, number: NDArray[np.int64]) -> Value:
        """Return a value as it was given."""
        return self.values[int(number)]

    def number(self, value: object) -> NDArray[np.int64]:
        """Return the place of a value."""
        return np.array(_find_number(self._numbers, value))

    def settings(self) -> dict[str, Any]:
        """Return the values and the code."""
        return {"values": list(self.values), "code": self.code}

    def __repr__(self) -> str:
        return f"Choice({', '.join(map(repr, self.values))}, code={self.code!r})"


class _Items(Variable):
    """A variable over items, which are numbered from 0 on, or have names."""

    def __init__(self, items: int | Iterable[Plain]) -> None:
        if isinstance(items, Integral) and not isinstance(items, bool):
            self.count = check_whole("items", items, least=1, of=self.kind)
            self.items: tuple[Plain, ...] | None = None
        elif isinstance(items, str | bytes | Mapping) or not isinstance(items, Iterable):
            raise ValueError(f"{items!r} are no items of a {self.kind}; give their number or a list")
        else:
            self.items = _checked_items(tuple(items), f"items of a {self.kind}")
            self.count = len(self.items)
            self._numbers = {item: number for number, item in enumerate(self.items)}

    def item(self, number: int) -> Plain:
        """Return an item by its number."""
        return number if self.items is None else self.items[number]

    def item_numbers(self, value: object) -> list[int]:
        """Return the numbers of the items of a list; raise ValueError if one is no item, or repeated."""
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            raise ValueError(f"{value!r} is not a list of items")
        numbers = [self._item_number(item) for item in value]
        if len(set(numbers)) < len(numbers):
            raise ValueError(f"an item occurs twice in {list(value)!r}; give each item once")
        return numbers

    def _item_number(self, item: object) -> int:
        if self.items is not None:
            return _find_number(self._numbers, item)
        if not isinstance(item, Integral) or isinstance(item, bool) or not 0 <= int(item) < self.count:
            raise ValueError(f"there is no item {item!r}; items are numbered from 0 to {self.count - 1}")
        return int(item)

    def _listed_items(self) -> int | list[Plain]:
        return self.count if self.items is None else list(self.items)


class Permutation(_Items):
    """An order of items: a list with each of them once.

    Parameters
    ----------
    items
        Number of items, which are then numbered from 0 on, or the items themselves.

    Examples
    --------
    >>> Permutation(["wash", "dry", "fold"]).value(np.array([2, 0, 1]))
    ['fold', 'wash', 'dry']
    """

    kind = "permutation"

    @cached_property
    def field(self) -> Field:
        """The place of each item."""
        return PermutationField(self.count)

    def column(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Return the items in order, shape (rows, items)."""
        return numbers if self.items is None else _as_array(self.items)[numbers]

    def value(self, number: NDArray[np.int64]) -> Value:
        """Return the items in order."""
        return [self.item(item) for item in number.tolist()]

    def number(self, value: object) -> NDArray[np.int64]:
        """Return the numbers of a list of all items."""
        numbers = self.item_numbers(value)
        if len(numbers) != self.count:
            raise ValueError(f"a permutation needs all {self.count} items, each once; got {len(numbers)} of them")
        return np.array(numbers)

    def settings(self) -> dict[str, Any]:
        """Return the items."""
        return {"items": self._listed_items()}


class Subset(_Items):
    """Some of the items. Subsets with too few or too many items are never evaluated.

    Parameters
    ----------
    items
        Number of items, which are then numbered from 0 on, or the items themselves.
    at_least, at_most
        Minimum and maximum number of items in the subset. Default: none and all.
    exactly
        Number of items in the subset, instead of both.

    Examples
    --------
    >>> Subset(80, at_most=10).value(np.eye(80, dtype=int)[3])
    [3]
    """

    kind = "subset"

    def __init__(
        self,
        items: int | Sequence[Plain],
        *,
        at_least: int | None = None,
        at_most: int | None = None,
        exactly: int | None = None,
    ) -> None:
        super().__init__(items)
        if exactly is not None and (at_least is not None or at_most is not None):
            raise ValueError("exactly cannot be combined with at_least or at_most; it sets both")
        for name, limit in (("at_least", at_least), ("at_most", at_most), ("exactly", exactly)):
            if limit is not None and check_whole(name, limit, least=0, of="a subset") > self.count:
                raise ValueError(f"{name}={limit} is more than the number of items, {self.count}")
        low, high = (at_least, at_most) if exactly is None else (exactly, exactly)
        self.at_least, self.at_most = int(low or 0), self.count if high is None else int(high)
        if self.at_least > self.at_most:
            raise ValueError(f"at_least is larger than at_most (at_least={at_least}, at_most={at_most})")

    @cached_property
    def field(self) -> Field:
        """A bit for each item."""
        return SubsetField(self.count, self.at_least, self.at_most)

    def column(self, numbers: NDArray[np.int64]) -> NDArray[Any]:
        """Return booleans, shape (rows, items): True if the item is in the subset."""
        return numbers.astype(np.bool_)

    def value(self, number: NDArray[np.int64]) -> Value:
        """Return the items in the subset."""
        return [self.item(item) for item in np.flatnonzero(number).tolist()]

    def number(self, value: object) -> NDArray[np.int64]:
        """Return 0 or 1 for each item, from a list of items, or from a boolean array."""
        mask = np.zeros(self.count, np.int64)
        if isinstance(value, np.ndarray) and value.dtype == np.bool_ and value.shape == mask.shape:
            mask[value] = 1
        else:
            mask[self.item_numbers(value)] = 1
        if not self.at_least <= mask.sum() <= self.at_most:
            expected = f"{self.at_least} to {self.at_most}" if self.at_least < self.at_most else f"{self.at_most}"
            raise ValueError(f"the subset has {mask.sum()} items; it must have {expected}")
        return mask

    def settings(self) -> dict[str, Any]:
        """Return the items and the limits."""
        return {"items": self._listed_items(), "at_least": self.at_least, "at_most": self.at_most}


# ---------------------------------------------------------------- plain values


def _checked_items(values: Sequence[object], what: str) -> tuple[Plain, ...]:
    """Return values as plain Python objects; raise ValueError if there are none, or if two are equal."""
    if not values:
        raise ValueError(f"there are no {what}; give at least one")
    plain = tuple(_plain(value, what) for value in values)
    if len(set(plain)) < len(plain):
        twice = next(value for at, value in enumerate(plain) if value in plain[:at])
        raise ValueError(f"{twice!r} occurs twice among the {what}; they must differ")
    return plain


def _plain(value: object, what: str) -> Plain:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ValueError(
        f"{value!r} cannot be one of the {what}: they are texts, finite numbers, booleans or None; for other objects, "
        "choose among names, and look the object up in the objective"
    )


def _find_number(numbers: Mapping[Plain, int], value: object) -> int:
    try:
        return numbers[value]  # type: ignore[index]
    except (KeyError, TypeError):
        known = ", ".join(map(repr, list(numbers)[:8])) + (", ..." if len(numbers) > 8 else "")
        raise ValueError(f"{value!r} is not one of {known}") from None


def _as_array(values: Sequence[Plain]) -> NDArray[Any]:
    """Return values as an array, shape (values,), of objects if they are of several types."""
    ends_in_nul = any(isinstance(value, str) and value.endswith("\0") for value in values)  # which NumPy would drop
    if len({type(value) for value in values}) == 1 and values[0] is not None and not ends_in_nul:
        array = np.array(values)
        if array.dtype != np.object_:
            return array
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
