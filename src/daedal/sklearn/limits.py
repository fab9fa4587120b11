"""How many features a subset may have, and how many subsets are evaluated, as users give them."""

from __future__ import annotations

import math
from numbers import Integral, Real

FEWEST_EVALUATIONS = 100
"""Where forward selection takes fewer."""


def feature_limits(least: object, most: object, features: int) -> tuple[int, int]:
    """Give the smallest and the largest number of features of a subset; ValueError for what is none.

    Examples
    --------
    >>> feature_limits(1, 0.25, 64)
    (1, 16)
    """
    low = _number("min_features", least, features)
    high = features if most is None else min(features, _number("max_features", most, features))
    if low > features:
        raise ValueError(f"expected min_features to be at most the number of features, {features}, got {least!r}")
    if low > high:
        raise ValueError(
            f"expected min_features <= max_features, got min_features={least!r} and max_features={most!r} for "
            f"{features} features"
        )
    return low, high


def _number(name: str, given: object, features: int) -> int:
    """Give a number of features, or that of a share of them, at least one."""
    if isinstance(given, Integral) and not isinstance(given, bool) and int(given) >= 1:
        return int(given)
    is_share = isinstance(given, Real) and not isinstance(given, bool | Integral) and 0 < float(given) <= 1
    if is_share:
        return max(1, math.floor(float(given) * features + 1e-9))  # type: ignore[arg-type]  # 0.29 * 100 is below 29
    raise ValueError(
        f"expected {name} to be a whole number of at least 1, or a share above 0 and up to 1.0, got {name}={given!r}"
    )


def default_evaluations(features: int, most: int) -> int:
    """Give how many subsets forward selection of so many features evaluates; at least FEWEST_EVALUATIONS.

    Examples
    --------
    >>> default_evaluations(30, 10)
    255
    """
    return max(FEWEST_EVALUATIONS, most * features - most * (most - 1) // 2)
