"""Checks of hyperparameters: what was expected, what came."""

from __future__ import annotations

import math
from numbers import Integral

import numpy as np
from numpy.typing import NDArray


def check_whole(name: str, value: object, *, least: int, hint: str = "") -> int:
    """Give a whole number; refuse anything else, or less, with a hint at what to do."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        end = f"; {hint}" if hint else ""
        raise ValueError(f"expected {name} to be a whole number of at least {least}, got {name}={value!r}{end}")
    return int(value)


def check_between(name: str, value: float, low: float, high: float) -> None:
    """Refuse a number outside low..high, nan included."""
    if not low <= value <= high:
        raise ValueError(f"expected {name} between {low:g} and {high:g}, got {name}={value:g}")


def check_at_least(name: str, value: float, low: float) -> None:
    """Refuse a number below low, nan and inf included."""
    if not (value >= low and math.isfinite(value)):
        raise ValueError(f"expected {name} of at least {low:g}, got {name}={value:g}")


def check_one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    """Refuse a word that is not among the known ones."""
    if value not in known:
        raise ValueError(f"expected {name} to be one of {', '.join(known)}, got {name}={value!r}")


def check_converged(weights: NDArray[np.float32], what: str, learning_rate: float) -> None:
    """Refuse weights that training has driven beyond all numbers."""
    if not np.isfinite(weights).all():
        raise ValueError(f"the training of {what} diverged with learning_rate={learning_rate:g}; try a smaller one")
