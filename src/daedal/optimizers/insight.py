"""What an optimizer shows of itself where somebody wants to look: its population, and what it has learned of pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.models.base import Fitted, TrainingCurve
from daedal.optimizers.row_memory import unpack
from daedal.types import Bits, Fitness

_OF_ROWS = "the mutual information in the population, which the linkage tree is built on"

MOST_LINKED = 2000
"""Variables up to which a matrix of all pairs is kept."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Insight:
    """What an optimizer shows of itself.

    Attributes
    ----------
    rows, fitness
        Its population, shape (rows, n), and fitness, shape (rows,).
    linkage
        How much pairs of variables depend on each other, as it sees them now, shape (n, n); None where it has no view.
    source
        Where that is read off, for people: "the weights of the autoencoder".
    curve
        How the error fell in the last training, where a network is trained.
    """

    rows: Bits
    fitness: Fitness
    linkage: NDArray[np.float64] | None = None
    source: str = ""
    curve: TrainingCurve | None = None

    @classmethod
    def of_model(cls, rows: Bits, fitness: Fitness, fitted: Fitted | None) -> Insight:
        """Show a population, and what the model fitted to it says of pairs."""
        if fitted is None:
            return cls(rows=rows, fitness=fitness)
        linkage = fitted.linkage() if rows.shape[1] <= MOST_LINKED else None
        return cls(rows=rows, fitness=fitness, linkage=linkage, source=fitted.linkage_source, curve=fitted.curve())

    @classmethod
    def of_rows(cls, keys: kernels.jobs.Words, fitness: Fitness, n: int) -> Insight:
        """Show packed rows, shape (rows, words), and how much pairs of variables tell of each other there."""
        linkage = None
        if len(keys) > 2 and n <= MOST_LINKED:
            columns = kernels.linkage.columns_of(keys, np.arange(n))
            linkage = 1.0 - kernels.linkage.information_distances(columns, len(keys))
            np.fill_diagonal(linkage, 0.0)
        return cls(rows=unpack(keys, n), fitness=fitness, linkage=linkage, source=_OF_ROWS)
