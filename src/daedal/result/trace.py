"""The course of a search, and what it learned of the problem: kept next to the result of a run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from daedal.result.records import Generation
from daedal.types import Bits, Fitness

if TYPE_CHECKING:
    from daedal.result.result import Result


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """Training error of a network in one generation.

    Attributes
    ----------
    generation
        The generation whose model was trained.
    epochs
        Epochs after which the error was measured, shape (measurements,).
    errors
        The errors, shape (measurements,).
    """

    generation: int
    epochs: NDArray[np.int64]
    errors: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """The course of a search and what it learned, with the variables and the sign of the objective.

    A run records its population ("a look") in each of the first 128 generations, then ever more rarely, so that long
    runs keep no more than short ones; and at its end. An algorithm without a population records the candidates that it
    tried.

    Attributes
    ----------
    generations
        The generations recorded, shape (looks,), in ascending order.
    ones
        Share of ones of each variable in each, shape (looks, n).
    rows, fitness
        Some candidates of the population, best first, one look after the other, shape (rows, n), and their values,
        shape (rows,); 100 per look, or fewer if n is large.
    look
        The look that each of these rows belongs to, shape (rows,).
    linkage
        Dependence of pairs of variables, as far as the search knows it, shape (n, n), symmetric, 0 for none; None if
        the search does not model it, or n is above 2,000.
    source
        A text that says where `linkage` comes from: "the weights of the autoencoder".
    curves
        Training errors of some generations, if a network is trained.
    top, top_fitness
        The best distinct candidates that were evaluated, best first, shape (at most 100, n), and their values.
    flips
        Change of the value of x if one variable is flipped, shape (n,); nan if that was not evaluated.
    others
        The best value of any candidate in which the variable is not as in x, shape (n,); nan if there was none.
    seen, seen_fitness
        A part of all evaluated candidates, shape (at most 8,000, n), in their order of arrival, and their values. A
        model of these can find interactions.
    """

    generations: NDArray[np.int64]
    ones: NDArray[np.float32]
    rows: Bits
    fitness: Fitness
    look: NDArray[np.int64]
    linkage: NDArray[np.float32] | None
    source: str
    curves: tuple[Curve, ...]
    top: Bits
    top_fitness: Fitness
    flips: Fitness
    others: Fitness
    seen: Bits
    seen_fitness: Fitness

    def entropy(self) -> NDArray[np.float64]:
        """Return the entropy of each variable in each look, in bits, shape (looks, n): 1 is open, 0 is decided."""
        p = np.clip(self.ones.astype(np.float64), 0.0, 1.0)
        logs = [np.log2(share, where=share > 0, out=np.zeros_like(share)) for share in (p, 1 - p)]
        return -(p * logs[0] + (1 - p) * logs[1])

    def shown_looks(self) -> list[int]:
        """Return the first look, the one in the middle and the last, each once: those that figures show."""
        count = len(self.generations)
        return sorted({0, (count - 1) // 2, count - 1}) if count else []

    def population(self, look: int) -> tuple[Bits, Fitness]:
        """Return the candidates of one look, shape (rows, n), best first, and their values."""
        chosen = self.look == (look if look >= 0 else len(self.generations) + look)
        return self.rows[chosen], self.fitness[chosen]


def best_curve(result: Result, records: Sequence[Generation]) -> list[tuple[int, float]]:
    """Return evaluations and the best value so far at the end of each generation, and where the last one was found.

    If the objective is noisy, a candidate becomes the best because of later measurements, and has no such place.
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
    """Return the first point of the curve with its last value; None if the objective is noisy, or nothing was found."""
    points = best_curve(result, records)
    if not points or result.standard_error is not None or not math.isfinite(points[-1][1]):
        return None
    return next(point for point in points if point[1] == points[-1][1])
