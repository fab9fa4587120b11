"""Bit strings: the array types that every part of daedal speaks, and their text form."""

from __future__ import annotations

from decimal import Decimal
from numbers import Real
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bits: TypeAlias = NDArray[np.uint8]
"""Rows of 0/1, shape (rows, n), C order."""

Fitness: TypeAlias = NDArray[np.float64]
"""One number per row, shape (rows,)."""


def check_bits(x: Bits, n: int) -> None:
    """Refuse anything but a (rows, n) array of uint8."""
    if not isinstance(x, np.ndarray) or x.ndim != 2 or x.shape[1] != n or x.dtype != np.uint8:
        came = f"shape={x.shape}, dtype={x.dtype}" if isinstance(x, np.ndarray) else type(x).__name__
        raise ValueError(f"expected a uint8 array of shape (rows, {n}), got {came}")


def as_numbers(values: object, *, source: str = "as fitness") -> Fitness:
    """Turn what a caller gave, numbers of any kind, into an array of float64; refuse everything else.

    Examples
    --------
    >>> as_numbers([1, True, 2.5])
    array([1. , 1. , 2.5])
    """
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"expected numbers {source}, got {_shown(values)}: {error}") from error
    if array.dtype == object and array.size and all(isinstance(value, Real | Decimal) for value in array.flat):
        try:
            return array.astype(np.float64)  # whole numbers too large for int64, fractions, decimals
        except OverflowError as error:
            raise ValueError(
                f"expected numbers {source}, got numbers beyond those of a float in {_shown(values)}"
            ) from error
    if array.dtype.kind not in "fiub":
        raise ValueError(f"expected numbers {source}, got {_shown(values)}")
    return array.astype(np.float64)


def _shown(values: object) -> str:
    text = " ".join(repr(values).split())
    return f"{type(values).__name__} {text if len(text) <= 40 else text[:37] + '...'}"


def to_text(row: Bits) -> str:
    """Write one row, shape (n,), as a string of 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> to_text(np.array([1, 0, 1], dtype=np.uint8))
    '101'
    """
    return "".join("1" if bit else "0" for bit in row)


def from_text(text: str) -> Bits:
    """Read a string of 0 and 1 as one row, shape (n,).

    Examples
    --------
    >>> from_text("101")
    array([1, 0, 1], dtype=uint8)
    """
    if set(text) - {"0", "1"}:
        raise ValueError(f"expected a string of 0 and 1, got {text!r}")
    return np.frombuffer(text.encode("ascii"), dtype=np.uint8) - np.uint8(ord("0"))
