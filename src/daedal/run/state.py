"""Where a run stands, as plain arrays and values; what comes back from a file is checked piece by piece."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.storage.checkpoint_file import ContainerError
from daedal.storage.packing import Json
from daedal.types import Bits, Fitness


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

    def whole(self, name: str) -> int:
        """Give a whole number of at least 0."""
        value = self.fields.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise _odd(name, "a whole number", _shown(value))
        return value

    def number(self, name: str) -> float:
        """Give a number, which may be infinite."""
        value = self.fields.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or value != value:
            raise _odd(name, "a number", _shown(value))
        try:
            return float(value)
        except OverflowError:  # a whole number of more than 300 digits
            raise _odd(name, "a number that a float can hold", _shown(value)) from None

    def seconds(self, name: str) -> float:
        """Give a finite number of at least 0."""
        value = self.number(name)
        if not 0 <= value < math.inf:
            raise _odd(name, "a time in seconds", _shown(value))
        return value

    def truth(self, name: str) -> bool:
        """Give true or false."""
        value = self.fields.get(name)
        if not isinstance(value, bool):
            raise _odd(name, "true or false", _shown(value))
        return value

    def text(self, name: str) -> str:
        """Give a text."""
        value = self.fields.get(name)
        if not isinstance(value, str):
            raise _odd(name, "text", _shown(value))
        return value

    def inner(self, name: str) -> State:
        """Give what is inside a field."""
        value = self.fields.get(name)
        if not isinstance(value, dict):
            raise _odd(name, "several values", _shown(value))
        return State(arrays=self.arrays, fields=value)

    def listed(self, name: str) -> list[Json]:
        """Give a list."""
        value = self.fields.get(name)
        if not isinstance(value, list):
            raise _odd(name, "a list", _shown(value))
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

    def array(self, name: str) -> NDArray[Any]:
        """Give an array of at least one dimension."""
        return self._array(name, None)

    def _array(self, name: str, dtype: type[np.generic] | None) -> NDArray[Any]:
        array = self.arrays.get(name)
        if array is None or array.ndim == 0 or (dtype is not None and array.dtype != dtype):
            raise _odd(name, "an array", "none" if array is None else f"dtype={array.dtype}, shape={array.shape}")
        return array


def _shown(value: Json) -> str:
    """Write what came in one short line, whatever it is."""
    return reprlib.repr(value)[:60]


def _odd(name: str, expected: str, came: str) -> ContainerError:
    return ContainerError(
        f"expected {name} in the checkpoint to be {expected}, got {came}; it was not made by a run of daedal"
    )
