"""Which runs are still needed, and which population sizes are the answer.

The paper's procedure: for each problem and algorithm, the smallest population size that solves at least 50 % and 90 %
of the runs. Sizes are tried from small to large. A size that can no longer reach what is asked is left, and once the
answer is known no larger size is tried. Everything here follows from the outcomes alone, whatever their order: not
from the number of workers, nor from how often a study was stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from daedal.studies.statistics import required

LEVELS = (50, 90)
"""Percentages of solved runs that the paper's table asks for."""

Outcomes: TypeAlias = Mapping[int | None, Mapping[int, bool | None]]
"""By population size and seed: whether a run solved its problem; None where that cannot be known."""


@dataclass(frozen=True)
class Settled:
    """The smallest population size that reaches a level; None for an algorithm without a population."""

    popsize: int | None


class Unsettled(Enum):
    """Why there is no answer for a level."""

    NONE = "no size does"
    OPEN = "not known yet"


Choice: TypeAlias = Settled | Unsettled


def choices(outcomes: Outcomes, popsizes: Sequence[int | None], seeds: Sequence[int]) -> dict[int, Choice]:
    """Give, for each level, the smallest population size that reaches it."""
    return {level: _choice(outcomes, popsizes, seeds, level) for level in LEVELS}


def _choice(outcomes: Outcomes, popsizes: Sequence[int | None], seeds: Sequence[int], level: int) -> Choice:
    needed = required(level, len(seeds))
    for popsize in popsizes:
        known = outcomes.get(popsize, {})
        solved = sum(known.get(seed) is True for seed in seeds)
        unknown = sum(seed not in known for seed in seeds)
        if solved >= needed:
            return Settled(popsize)
        if solved + unknown >= needed:
            return Unsettled.OPEN
    return Unsettled.NONE


def needed_runs(
    outcomes: Outcomes, popsizes: Sequence[int | None], seeds: Sequence[int], *, full_grid: bool = False
) -> list[tuple[int | None, int]]:
    """List the runs, by population size and seed, that are certain to be needed next.

    As if runs were made one by one in the order of their seeds, and a size left at the first moment at which it can be
    no answer; a run is listed when it comes before that moment whatever those before it bring, so that many can be
    made at once and none in vain.

    Examples
    --------
    >>> needed_runs({50: {0: False, 1: False}}, [50, 100], range(3))
    [(100, 0), (100, 1)]
    """
    if full_grid:
        return [(popsize, seed) for popsize in popsizes for seed in seeds if seed not in outcomes.get(popsize, {})]
    for index, popsize in enumerate(popsizes):
        settled = choices(outcomes, popsizes[:index], seeds)
        open_levels = [level for level, choice in settled.items() if isinstance(choice, Unsettled)]
        if not open_levels:
            return []
        runs = _needed_of_size(outcomes.get(popsize, {}), seeds, min(open_levels))
        if runs:
            return [(popsize, seed) for seed in runs]
    return []


def _needed_of_size(known: Mapping[int, bool | None], seeds: Sequence[int], level: int) -> list[int]:
    """List the seeds to run; none when all are done, or too many have failed for the level."""
    allowed = len(seeds) - required(level, len(seeds))
    failed_at_worst = 0
    runs = []
    for seed in seeds:
        if failed_at_worst > allowed:
            break
        if seed not in known:
            runs.append(seed)
        if known.get(seed, False) is False:
            failed_at_worst += 1
    return runs
