"""`auto`, the default: a search that fits the budget, the constraints, and the noise of the objective."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from daedal.archive import to_rows
from daedal.engine import Engine, Task
from daedal.rng import Stream
from daedal.searches.algorithm import NARROW
from daedal.searches.ils import ils
from daedal.types import INFEASIBLE

FEW = 100
"""Evaluations per variable, below which the search begins with local search, because a population takes too long."""

STUCK, STUCK_SHARE = 10, 5
"""Evaluations per variable without a better candidate, at least a fifth of all, after which local search is stuck."""

ENOUGH = 20
"""Evaluations per variable that have to be left then for a population to take over."""

PROBED = 20
"""Minimum budget for one evaluation that tells whether the objective is noisy."""

WATCHED = 30
"""Evaluations before that, at most, which show how much values differ from candidate to candidate."""

REPEATS = 4
"""Further evaluations of that candidate if it is noisy."""

MATTERS = 0.02
"""Share of the spread of values, above which noise is not neglected."""

ROUNDING = 1e-9
"""Share of a value by which it may differ from evaluation to evaluation without being noisy."""

SOUGHT, MOST_SOUGHT, SOUGHT_SHARE = 8, 1000, 4
"""Random candidates at once if the first one is infeasible; in all at most 1,000, or a quarter of the budget."""


async def auto(f: Engine) -> None:
    """Choose the search that fits, and say why.

    With few evaluations per variable it is `ils` until that is stuck, and then `mix`. With more evaluations, many
    workers or constraints it is `mix`. The first feasible candidate is evaluated a second time. If its value differs by
    more than a small share of the differences between candidates, the objective is noisy, and populations take over
    that average over the noise.
    """
    budget = f.left
    few = budget if budget is not None and budget < FEW * f.n and f.width <= NARROW else None
    search = f.start(_climb_then_mix(f, few))
    try:
        await f.values_arrive()
        if f.archive.outputs:
            if few is not None:
                from daedal.searches.mix import mix  # here and below, because a small run may need nothing of it

                f.end(search)
                f.initial = to_rows(f.archive.order, f.n)
                search = f.start(mix(f))
        elif f.archive.order and not f.best_value > INFEASIBLE:  # flips of such a candidate say nothing
            f.end(search)
            if (found := await _feasible(f, budget)) is not None:
                f.initial = to_rows([found], f.n)
            search = f.start(_climb_then_mix(f, few))
        if not f.archive.outputs and (noise := await _noise(f, budget, search)):
            f.end(search)
            from daedal.searches.noisy import averaged, univariate_populations

            because = f"the objective is noisy (standard deviation {noise:.3g} for one candidate)"
            await averaged(f, partial(univariate_populations, because=because))
        while not search.finished:
            await f.values_arrive()
    finally:
        f.end(search)


async def _climb_then_mix(f: Engine, few: int | None) -> None:
    """Run `mix`, and before it, if there are few evaluations, `ils` until that is stuck."""
    if few is None:
        from daedal.searches.mix import mix

        await mix(f)
        return
    began = f"ils (iterated local search), because the budget is small ({few:,} evaluations)"
    f.explanation = f"{began}."
    is_stuck = _stuck(f, few)
    await f.until(ils(f), is_stuck)
    if not is_stuck():
        return
    from daedal.searches.mix import mix

    made, search = len(f.archive), f.start(mix(f))
    try:
        await f.values_arrive()
        said = f.explanation
        f.explanation = lambda: f"{began}, stuck after {made:,}. Then {said if isinstance(said, str) else said()}."
        while not search.finished:
            await f.values_arrive()
    finally:
        f.end(search)


def _stuck(f: Engine, few: int) -> Callable[[], bool]:
    """Return a function that tells whether nothing better was found for long, and enough is left for something else."""
    patience, best_value, best_at = max(STUCK * f.n, few // STUCK_SHARE), f.best_value, len(f.archive)

    def is_stuck() -> bool:
        nonlocal best_value, best_at
        if f.best_value > best_value:
            best_value, best_at = f.best_value, len(f.archive)
        return len(f.archive) - best_at >= patience and (f.left is None or f.left >= ENOUGH * f.n)

    return is_stuck


async def _feasible(f: Engine, budget: int | None) -> int | None:
    """Return the best of some random candidates as soon as one is feasible; None if none is."""
    most = MOST_SOUGHT if budget is None else min(MOST_SOUGHT, budget // SOUGHT_SHARE)
    rng, at_once = f.stream(Stream.START, 1), max(SOUGHT, f.width)
    for _ in range(0, most, at_once):
        candidates = f.random(at_once, rng)
        values = await f(candidates)
        if max(values) > INFEASIBLE:
            return candidates[int(np.argmax(values))]
    return None


async def _noise(f: Engine, budget: int | None, search: Task) -> float:
    """Return the standard deviation of the values of one candidate; 0 if it does not matter.

    This watches the first values of a search, and evaluates the first feasible candidate again meanwhile. If
    values are known from elsewhere, they count as exact.
    """
    enough = min(f.n, WATCHED, WATCHED if budget is None else budget // 5)
    while len(f.archive) < enough or not f.best_value > INFEASIBLE:
        if search.finished:
            return 0.0
        await f.values_arrive()
    if budget is not None and (budget < PROBED or budget - (f.left or 0) < len(f.archive)):
        return 0.0
    first = next(c for c in f.archive.order if f.archive[c] > INFEASIBLE)
    values = [f.archive[first], *await f.measure([first])]
    known = np.array([value for value in f.archive.values.values() if value > INFEASIBLE])
    with np.errstate(over="ignore", invalid="ignore"):  # of values near the largest float
        spread = float(np.nan_to_num(known.std(), nan=np.inf))
        if abs(values[1] - values[0]) <= ROUNDING * max(spread, abs(values[0])):
            return 0.0
        values += await f.measure([first] * REPEATS)
        deviation = float(np.std(values, ddof=1)) if min(values) > INFEASIBLE else np.inf
    return deviation if deviation > MATTERS * spread else 0.0
