"""The values that every part of daedal exchanges: rows of bits, their fitness, and where something stands."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bits: TypeAlias = NDArray[np.uint8]
"""Rows of 0/1, shape (rows, n), C order."""

Fitness: TypeAlias = NDArray[np.float64]
"""One number per row, shape (rows,)."""

Outputs: TypeAlias = NDArray[np.float64]
"""The objective's value and the outputs of its constraints, shape (rows, 1 + constraints): above 0 is violated."""

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
        raise ValueError(f"bits must be a uint8 array of shape (rows, {n}); got {came}")


def is_feasible(fitness: Fitness) -> NDArray[np.bool_]:
    """Whether each fitness, shape (rows,), to be maximized, is that of a feasible row, so that numbers can be compared.

    Others have an order, but neither their differences nor their means say anything.
    """
    return np.asarray(fitness > INFEASIBLE)


def to_text(row: Bits) -> str:
    """Write one row, shape (n,), as a string of 0 and 1."""
    return "".join("1" if bit else "0" for bit in row)


def from_text(text: str) -> Bits:
    """Read a string of 0 and 1 as one row, shape (n,)."""
    if set(text) - {"0", "1"}:
        raise ValueError(f"{text!r} is not a string of 0 and 1")
    return np.frombuffer(text.encode("ascii"), dtype=np.uint8) - np.uint8(ord("0"))
