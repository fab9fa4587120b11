"""Fitness as optimizers are told it."""

from __future__ import annotations

import numpy as np

from daedal.settings.numbers import as_numbers
from daedal.types import Fitness


def checked_fitness(fitness: Fitness, rows: int) -> Fitness:
    """Give the fitness of so many rows, shape (rows,), as float64; refuse what is none."""
    values = as_numbers(fitness)
    if values.shape != (rows,):
        raise ValueError(f"expected a fitness of shape ({rows},), got shape={values.shape}")
    if np.isnan(values).any() or (values == np.inf).any():
        bad = "nan" if np.isnan(values).any() else "inf"
        raise ValueError(f"expected numbers as fitness, got {bad}; use -inf for what is infeasible")
    return values


def mean_and_sd(parts: list[Fitness]) -> tuple[float, float | None]:
    """Give the mean and the standard deviation.

    The mean of none is -inf, and that of numbers whose sum is too large for a float is inf; neither has a deviation.
    """
    values = np.concatenate(parts)
    if not len(values):
        return float("-inf"), None
    with np.errstate(over="ignore", invalid="ignore"):
        mean, sd = float(values.mean()), float(values.std())
    return mean, sd if np.isfinite(sd) else None
