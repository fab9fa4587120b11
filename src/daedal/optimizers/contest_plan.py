"""How many calls a search gets, and how those of the contest behind it are shared out."""

from __future__ import annotations

import math
from dataclasses import dataclass

SHARE = 0.12
"""Share of the calls that is left for the contest."""

FRESH = 3
"""One of so many calls of a contest is for the winner alone."""

LEAST_CALLS = 120
"""Calls of a contest, at least, where there is no limit on them."""

FEW_CALLS = 6
"""Calls that are left for it at least, where a third of all is as many."""

MOST_CONTENDERS = 16

ROUND = 3
"""How often each contender is measured in a round, at least, as a rule."""

CHECKED = 10
"""How often a row is measured that seems to have reached the target."""

MOST_ROWS = 100_000
"""Rows of a batch, at most."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How many contenders there are, and the calls that are left for halving them, and for the winner."""

    contenders: int
    halving: int
    final: int

    @property
    def total(self) -> int:
        """All calls."""
        return self.halving + self.final

    def times(self, contenders: int) -> int:
        """Give how often each of so many contenders, at least two, is measured in this round: all rounds cost alike."""
        rounds = (contenders - 1).bit_length()
        return max(1, min(self.halving // (rounds * contenders), MOST_ROWS // contenders))


def search_calls(calls: int, repeats: int | None = None) -> int:
    """Give how many of so many calls are for the search: all but a share for the contest, and one at least.

    Examples
    --------
    >>> search_calls(1000), search_calls(1000, 500), search_calls(10, 5), search_calls(2, 5), search_calls(1)
    (880, 420, 4, 1, 1)
    """
    return max(1, calls - _contest_calls(calls, repeats or 0, few=min(FEW_CALLS, calls // 3)))


def _contest_calls(calls: int, repeats: int, *, few: int) -> int:
    """Give the calls of a contest: a share of all, and those that the winner was promised."""
    share = round(SHARE * calls)
    fresh = share // FRESH
    return max(few, share, repeats + min(share - fresh, max(0, calls - repeats) // 2))


def plan(spent: int, left: int | None, repeats: int | None = None, *, everything: bool) -> Plan:
    """Share out the calls of a contest.

    Parameters
    ----------
    spent
        Calls so far.
    left
        Calls that are left of all; None: any number.
    repeats
        How often the winner is measured at least, if there are so many calls.
    everything
        Whether all that is left is for this contest, or as much as is due after so many calls.
    """
    least = repeats or 0
    total = _contest_calls(math.ceil(spent / (1 - SHARE)), least, few=LEAST_CALLS + least)
    if left is not None:
        total = left if everything else min(left, total)
    final = min(total, max(least, -(-total // FRESH)))
    contenders = _contenders(total - final)
    return Plan(
        contenders=contenders, halving=total - final if contenders > 1 else 0, final=final if contenders > 1 else total
    )


def _contenders(halving: int) -> int:
    """Give how many contenders so many calls can tell apart."""
    most = 1
    while most < MOST_CONTENDERS and 2 * most * ROUND * most.bit_length() <= halving:
        most *= 2
    return most


def check_calls(repeats: int | None) -> int:
    """Give how often a row is measured that seems to have reached the target."""
    return CHECKED if repeats is None else max(2, repeats)
