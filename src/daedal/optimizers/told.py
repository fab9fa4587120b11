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


def mean_of(parts: list[Fitness]) -> float:
    """Give the mean; that of none is -inf, and that of numbers whose sum is too large for a float is inf."""
    values = np.concatenate(parts)
    with np.errstate(over="ignore"):
        return float(values.mean()) if len(values) else float("-inf")
