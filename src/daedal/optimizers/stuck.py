"""When local search is stuck, so that something else takes over."""

from __future__ import annotations

STUCK = 10
"""Calls for each variable without a better row, and at least a fifth of all, after which local search is stuck."""

ENOUGH = 20
"""Calls for each variable that have to be left then for a population to take over."""


def stuck_after(n: int, calls: int) -> int | None:
    """Give how many calls without a better row are too many, of n variables and so many calls in all.

    None where nothing takes over: too few calls would be left.

    Examples
    --------
    >>> stuck_after(20, 1500), stuck_after(20, 500)
    (300, None)
    """
    patience = max(STUCK * n, calls // 5)
    return patience if calls - patience >= ENOUGH * n else None


def is_stuck(n: int, calls: int, *, made: int, idle: int) -> bool:
    """Whether it is stuck after so many calls were made, of which the last idle ones gave no better row.

    Examples
    --------
    >>> is_stuck(20, 1500, made=800, idle=300), is_stuck(20, 1500, made=1200, idle=300)
    (True, False)
    """
    patience = stuck_after(n, calls)
    return patience is not None and idle >= patience and calls - made >= ENOUGH * n
