"""What a search shows of itself in reports: its population, and what it has learned of pairs of variables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daedal.models.base import Fitted, TrainingCurve
from daedal.types import Bits, Fitness

_OF_ROWS = "the mutual information in the population, which the linkage tree is built on"

MOST_LINKED = 2000
"""Maximum number of variables for a matrix of all pairs."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Insight:
    """A search's population, and its view of how variables depend on each other.

    Attributes
    ----------
    rows, fitness
        The population, shape (rows, n), and its values, shape (rows,).
    linkage
        How much pairs of variables depend on each other, shape (n, n); None if the search does not know.
    source
        What linkage is read from, as a phrase for the user: "the weights of the autoencoder".
    curve
        How the error fell in the last training of a network; None without one.
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
    def of_rows(cls, rows: Bits, fitness: Fitness) -> Insight:
        """Show rows, shape (rows, n); how pairs depend on each other there is computed once, at the end."""
        return cls(rows=rows, fitness=fitness, source=_OF_ROWS)


def information(rows: Bits) -> NDArray[np.float64]:
    """Return the mutual information of all pairs of variables, as a share of their joint entropy, shape (n, n).

    It is 0 on the diagonal and where a variable has one value only.
    """
    size, x = len(rows), rows.astype(np.float64)
    both = np.rint(x.T @ x).astype(np.int64)
    ones = np.diag(both)
    counts = np.arange(1, size + 1)
    terms = np.concatenate([[0.0], -counts / size * np.log(counts / size)])
    joint = terms[both] + terms[ones[:, None] - both] + terms[ones - both] + terms[size - ones[:, None] - ones + both]
    single = terms[ones] + terms[size - ones]
    shared: NDArray[np.float64] = (
        np.divide(single[:, None] + single, joint, out=np.ones_like(joint), where=joint > 1e-12) - 1
    )
    np.fill_diagonal(shared, 0.0)
    return shared
