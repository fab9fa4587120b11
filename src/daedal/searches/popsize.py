"""Population sizes that fit a problem and a budget."""

from __future__ import annotations

import math

from daedal.models.base import Model
from daedal.settings.checks import check_fits, check_whole, machine_bytes

LEAST_POPSIZE = 4
"""The smallest one that is ever chosen: two parents, two candidates."""

_MANY = 10**9
"""Evaluations, and variables, beyond which no population changes."""

_MOST_ENTRIES = 10**8
"""Bits of the largest population that is chosen: half a gigabyte, all copies together. A fixed number, because the same
seed is to give the same result on every machine."""

_BYTES_AN_ENTRY = 6
"""Memory for each bit of a population, beside the model's: population, parents, candidates and what is on its way."""

_BYTES_A_ROW = 80
"""Memory for each row, however short: fitness, its hash, and where it stands in several orders."""


def default_popsize(n: int, max_evaluations: int | None = None, *, slowness: float = 1.0) -> int:
    """Give a population size that solves deceptive problems of n variables as a rule, or less for few evaluations.

    A population converges in a number of generations that grows with the square root of n, and slowly with its own
    size; one that fits the evaluations has just about converged when they end. docs/models.md has the runs behind both
    rules. A model of some slowness needs that many times as many generations.

    Examples
    --------
    >>> default_popsize(60), default_popsize(60, 3_000)
    (2900, 171)
    """
    size = min(500 + 40 * n, 16_000, max(LEAST_POPSIZE, _MOST_ENTRIES // n))
    if max_evaluations is None:
        return size
    most = min(max_evaluations, _MANY)
    fitting = 4.8 * math.pow(most / math.sqrt(min(n, _MANY)), 0.6) / slowness
    return min(size, max(LEAST_POPSIZE, round(min(fitting, most / 3))))


def choose_popsize(
    popsize: int | None, n: int, max_evaluations: int | None = None, *, model: Model | None = None
) -> int:
    """Give popsize, or the default where it is None; refuse what does not fit into memory."""
    default = default_popsize(n, max_evaluations, slowness=1.0 if model is None else model.slowness)
    if popsize is None:
        popsize = default
    popsize = check_whole("popsize", popsize, least=2, hint=f"the default for n={n} is {default}")
    check_population(popsize, n, model)
    return popsize


def check_population(popsize: int, n: int, model: Model | None = None, *, name: str = "popsize") -> None:
    """Refuse a population, or what is fitted to half of it, that does not fit into memory; `name` is the setting's."""
    own = 0
    if model is not None:
        model.check_memory(1, n)  # where even one row is too much, no popsize helps
        own = model.working_bytes(popsize // 2, n)
    what = f"a population of {name}={popsize} with n={n}"
    check_fits(_bytes(popsize, n) + own, what, advice=f"lower {name}")


def fits_memory(popsize: int, n: int) -> bool:
    """Whether a population fits into the memory of this machine, with room for a model."""
    return 2 * _bytes(popsize, n) <= machine_bytes()


def _bytes(popsize: int, n: int) -> int:
    return popsize * (n * _BYTES_AN_ENTRY + _BYTES_A_ROW)


def three_generations(popsize: int) -> int:
    """Give the evaluations of a first population, and two generations that learn from it."""
    return popsize + 2 * (popsize - popsize // 2)
