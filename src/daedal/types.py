"""The values that every part of daedal exchanges: rows of bits, their fitness, and where something stands."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bits: TypeAlias = NDArray[np.uint8]
"""Rows of 0/1, shape (rows, n), C order."""

Fitness: TypeAlias = NDArray[np.float64]
"""One number per row, shape (rows,)."""

Amounts: TypeAlias = NDArray[np.float64]
"""The objective's value and the amounts of its constraints, shape (rows, 1 + constraints): above 0 is violated."""

INFEASIBLE = -1e200
"""Fitness at and below which a row is infeasible: what it says beyond that is which of two such rows is better."""

LARGEST_COUNT = 2**62
"""No run counts further, but a file may say so."""

Json: TypeAlias = bool | int | float | str | list["Json"] | dict[str, "Json"] | None
"""What a field may hold. NaN, the infinities and whole numbers beyond 64 bits come back as they went in."""


def check_bits(x: Bits, n: int) -> None:
    """Refuse anything but a (rows, n) array of uint8."""
    if not isinstance(x, np.ndarray) or x.ndim != 2 or x.shape[1] != n or x.dtype != np.uint8:
        came = f"shape={x.shape}, dtype={x.dtype}" if isinstance(x, np.ndarray) else type(x).__name__
        raise ValueError(f"expected a uint8 array of shape (rows, {n}), got {came}")


def is_feasible(fitness: Fitness) -> NDArray[np.bool_]:
    """Whether each fitness, shape (rows,), to be maximised, is that of a feasible row, so that numbers can be compared.

    Others have an order, but neither their differences nor their means say anything.
    """
    return np.asarray(fitness > INFEASIBLE)


def to_text(row: Bits) -> str:
    """Write one row, shape (n,), as a string of 0 and 1."""
    return "".join("1" if bit else "0" for bit in row)


def from_text(text: str) -> Bits:
    """Read a string of 0 and 1 as one row, shape (n,)."""
    if set(text) - {"0", "1"}:
        raise ValueError(f"expected a string of 0 and 1, got {text!r}")
    return np.frombuffer(text.encode("ascii"), dtype=np.uint8) - np.uint8(ord("0"))


def words_of(n: int) -> int:
    """Give the number of 64-bit words that hold n bits."""
    return -(-n // 64)


class StateError(ValueError):
    """What should be a state is not one: something is missing, or of another kind than it should be."""


@dataclass(frozen=True, kw_only=True)
class State:
    """Arrays and JSON values by name.

    The methods give one of them, and refuse what is missing, or of another kind than it should be: a file may hold
    anything.

    Examples
    --------
    >>> State(arrays={}, fields={"generation": 3}).whole("generation")
    3
    """

    arrays: Mapping[str, NDArray[Any]]
    fields: Mapping[str, Json]

    @classmethod
    def join(cls, parts: Mapping[str, State]) -> State:
        """Make one state of several, each under its name; `part` gives them back, and they may be joined themselves.

        Examples
        --------
        >>> inner = State(arrays={}, fields={"generation": 3})
        >>> State.join({"first": inner}).part("first").whole("generation")
        3
        """
        arrays = {f"{name}/{key}": array for name, part in parts.items() for key, array in part.arrays.items()}
        return cls(arrays=arrays, fields={name: dict(part.fields) for name, part in parts.items()})

    def part(self, name: str) -> State:
        """Give the part of a joined state that has a name."""
        start = f"{name}/"
        arrays = {key.removeprefix(start): array for key, array in self.arrays.items() if key.startswith(start)}
        return State(arrays=arrays, fields=self.inner(name).fields)

    def extend(self, *, arrays: Mapping[str, NDArray[Any]], fields: Mapping[str, Json]) -> State:
        """Give this state with more in it."""
        return State(arrays={**self.arrays, **arrays}, fields={**self.fields, **fields})

    def whole(self, name: str, *, most: int | None = LARGEST_COUNT) -> int:
        """Give a whole number of at least 0, and at most what any run can count; None: any."""
        value = self.fields.get(name)
        highest = math.inf if most is None else most
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= highest:
            raise _odd(name, "a whole number", _shown_value(value))
        return value

    def number(self, name: str) -> float:
        """Give a number, which may be infinite."""
        value = self.fields.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or value != value:
            raise _odd(name, "a number", _shown_value(value))
        try:
            return float(value)
        except OverflowError:  # a whole number of more than 300 digits
            raise _odd(name, "a number that a float can hold", _shown_value(value)) from None

    def seconds(self, name: str) -> float:
        """Give a finite number of at least 0."""
        value = self.number(name)
        if not 0 <= value < math.inf:
            raise _odd(name, "a time in seconds", _shown_value(value))
        return value

    def truth(self, name: str) -> bool:
        """Give true or false."""
        value = self.fields.get(name)
        if not isinstance(value, bool):
            raise _odd(name, "true or false", _shown_value(value))
        return value

    def text(self, name: str) -> str:
        """Give a text."""
        value = self.fields.get(name)
        if not isinstance(value, str):
            raise _odd(name, "text", _shown_value(value))
        return value

    def inner(self, name: str) -> State:
        """Give what is inside a field."""
        value = self.fields.get(name)
        if not isinstance(value, dict):
            raise _odd(name, "several values", _shown_value(value))
        return State(arrays=self.arrays, fields=value)

    def listed(self, name: str) -> list[Json]:
        """Give a list."""
        value = self.fields.get(name)
        if not isinstance(value, list):
            raise _odd(name, "a list", _shown_value(value))
        return value

    def given(self, name: str) -> bool:
        """Whether a field is there, and not null."""
        return self.fields.get(name) is not None

    def bits(self, name: str, n: int) -> Bits:
        """Give rows of 0 and 1, shape (rows, n)."""
        array = self._array(name, np.uint8)
        if array.ndim != 2 or array.shape[1] != n or array.max(initial=0) > 1:
            raise _odd(name, f"rows of {n} bits", f"shape={array.shape}")
        return array

    def row(self, name: str, n: int) -> Bits:
        """Give one row of 0 and 1, shape (n,)."""
        array = self._array(name, np.uint8)
        if array.shape != (n,) or array.max(initial=0) > 1:
            raise _odd(name, f"a row of {n} bits", f"shape={array.shape}")
        return array

    def numbers(self, name: str, *, like: str) -> Fitness:
        """Give one number for each row of another array."""
        array = self._array(name, np.float64)
        if array.shape != (len(self._array(like, None)),) or np.isnan(array).any():
            raise _odd(name, f"a number for each row of {like}", f"shape={array.shape}")
        return array

    def floats(self, name: str) -> Fitness:
        """Give numbers, shape (any,), none of them nan."""
        array = self._array(name, np.float64)
        if array.ndim != 1 or np.isnan(array).any():
            raise _odd(name, "numbers", f"shape={array.shape}")
        return array

    def wholes(self, name: str, *, shape: tuple[int, ...], least: int, most: int) -> NDArray[np.int64]:
        """Give whole numbers from least to most in a shape, where -1 stands for any length."""
        array = self._array(name, np.int64)
        fits = array.ndim == len(shape) and all(k in (-1, m) for k, m in zip(shape, array.shape, strict=True))
        if not fits or array.min(initial=least) < least or array.max(initial=most) > most:
            raise _odd(name, f"whole numbers from {least} to {most}, shape {shape}", f"shape={array.shape}")
        return array

    def array(self, name: str) -> NDArray[Any]:
        """Give an array of at least one dimension."""
        return self._array(name, None)

    def _array(self, name: str, dtype: type[np.generic] | None) -> NDArray[Any]:
        array = self.arrays.get(name)
        if array is None or array.ndim == 0 or (dtype is not None and array.dtype != dtype):
            raise _odd(name, "an array", "none" if array is None else f"dtype={array.dtype}, shape={array.shape}")
        return array


def _shown_value(value: Json) -> str:
    """Write what came in one short line, whatever it is."""
    return reprlib.repr(value)[:60]


def _odd(name: str, expected: str, came: str) -> StateError:
    return StateError(f"expected {name} to be {expected}, got {came}; no run of daedal made this")
