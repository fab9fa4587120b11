"""The best value so far against evaluations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from daedal.result.records import Generation

if TYPE_CHECKING:
    from daedal.result.result import Result


def best_curve(result: Result, records: Sequence[Generation]) -> list[tuple[int, float]]:
    """Give the best value at the end of each of these generations, and where the last one was found in the midst of it.

    Where values scatter, a solution becomes the best by what is measured later, and has no such place.
    """
    points = [(record.evaluations, record.best) for record in records]
    at = result.evaluations_to_best
    if not points or result.standard_error is not None:
        return points
    reached = next((k for k, (_, best) in enumerate(points) if best == points[-1][1]), 0)
    before = points[reached - 1][0] if reached else 0
    if before < at < points[reached][0]:
        points.insert(reached, (at, points[reached][1]))
    return points


def best_found(result: Result, records: Sequence[Generation]) -> tuple[int, float] | None:
    """Give where the curve first has its last value, and this; None where values scatter, or nothing was found."""
    points = best_curve(result, records)
    if not points or result.standard_error is not None or not math.isfinite(points[-1][1]):
        return None
    return next(point for point in points if point[1] == points[-1][1])
