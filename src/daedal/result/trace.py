"""What a search looked like on the way, and what it learned of the problem: kept beside a run's result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daedal.types import Bits, Fitness


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """How the error of a network fell in one generation's training.

    Attributes
    ----------
    generation
        The generation whose model was trained.
    epochs
        When the error was measured, shape (measurements,).
    errors
        What it was, shape (measurements,).
    """

    generation: int
    epochs: NDArray[np.int64]
    errors: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Trace:
    """What a search looked like on the way, and what it learned, in the objective's own order and sign.

    A run looks at its population in some generations: in all of the first 128, then ever more rarely, so that long runs
    keep as little as short ones; and at its end. An algorithm without a population shows the rows that it tried.

    Attributes
    ----------
    generations
        The generations looked at, shape (looks,), in rising order.
    ones
        Share of ones of each variable then, shape (looks, n).
    rows, fitness
        Some rows of the population then, best first, one look after the other, shape (rows, n), and their values, shape
        (rows,); 100 a look, or fewer where rows are long.
    look
        To which look each of these rows belongs, shape (rows,).
    linkage
        How much pairs of variables depend on each other, as far as the search has found out, shape (n, n), symmetrical,
        0 for none; None where nobody knows, or n is beyond 2,000.
    source
        Where linkage was read off, for people: "the weights of the autoencoder".
    curves
        Training errors of some generations, where a network is trained.
    top, top_fitness
        The best distinct rows that were evaluated, best first, shape (at most 100, n), and their values.
    flips
        By how much the value of x changes where one variable is flipped, shape (n,); nan where nobody has tried.
    others
        The best value of any row seen in which the variable is not as in x, shape (n,); nan where there was none.
    seen, seen_fitness
        Rows out of all that were evaluated, shape (at most 8,000, n), in the order in which they came, and their
        values: from these, a model can find which variables act together.
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
        """Give the entropy of each variable in each look, in bits, shape (looks, n): 1 is open, 0 is decided."""
        p = np.clip(self.ones.astype(np.float64), 0.0, 1.0)
        logs = [np.log2(share, where=share > 0, out=np.zeros_like(share)) for share in (p, 1 - p)]
        return -(p * logs[0] + (1 - p) * logs[1])

    def shown_looks(self) -> list[int]:
        """Give the first look, the one in the middle and the last, each once: those that figures show."""
        count = len(self.generations)
        return sorted({0, (count - 1) // 2, count - 1}) if count else []

    def population(self, look: int) -> tuple[Bits, Fitness]:
        """Give the rows kept of one look, shape (rows, n), best first, and their values."""
        chosen = self.look == (look if look >= 0 else len(self.generations) + look)
        return self.rows[chosen], self.fitness[chosen]
