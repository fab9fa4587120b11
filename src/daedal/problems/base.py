"""What a problem is, and what several of them share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from daedal.types import Bits, Fitness, check_bits


@runtime_checkable
class Problem(Protocol):
    """A function of n bits, to be maximized."""

    @property
    def n(self) -> int:
        """Number of variables."""

    @property
    def optimum(self) -> float | None:
        """Largest fitness there is, or None where it is unknown."""

    def evaluate(self, x: Bits) -> Fitness:
        """Return the fitness, shape (rows,), of each row of x, shape (rows, n)."""


def fill_fitness(kernel: Callable[..., None], x: Bits, n: int, *settings: object) -> Fitness:
    """Return the fitness, shape (rows,), that a kernel computes of each row of x, shape (rows, n)."""
    check_bits(x, n)
    out = np.empty(len(x))
    kernel(np.ascontiguousarray(x), *settings, out)
    return out


def keep_array(problem: object, name: str, shape: tuple[int | None, ...], *, whole: bool = False) -> NDArray[Any]:
    """Replace an array of a frozen problem by a read-only copy, and return it.

    One of another shape (None is any number), of another kind of numbers, or with nan or infinity is refused.
    """
    given = np.asarray(getattr(problem, name))
    fits = given.ndim == len(shape) and all(a in (None, b) for a, b in zip(shape, given.shape, strict=True))
    if not fits or given.dtype.kind not in ("iu" if whole else "iuf"):
        sizes = ", ".join("any" if size is None else str(size) for size in shape)
        kind = "integers" if whole else "numbers"
        came = f"shape={given.shape}, dtype={given.dtype}"
        raise ValueError(f"{name} must be {kind} of shape ({sizes}{',' * (len(shape) == 1)}); got {came}")
    if not np.isfinite(given).all():
        raise ValueError(f"{name} must be finite numbers, and some are nan or infinite")
    array = given.astype(np.int64 if whole else np.float64, order="C")
    array.flags.writeable = False
    object.__setattr__(problem, name, array)
    return array


def check_known_optimum(value: float | None) -> None:
    """Refuse an optimum that is nan or infinite."""
    if value is not None and not math.isfinite(value):
        raise ValueError(f"known_optimum must be finite or None; got {value}")
