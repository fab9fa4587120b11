"""UMDA: the frequencies of the parents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daedal.models.base import Fitted, Model, check_parents
from daedal.types import Bits


@dataclass(frozen=True, kw_only=True)
class Marginals(Fitted):
    """Independent bits: the probabilities of a one, shape (n,)."""

    probabilities: NDArray[np.float64]

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Draw rows, shape (rows, n), each bit by itself."""
        return (rng.random((rows, len(self.probabilities))) < self.probabilities).astype(np.uint8)


@dataclass(frozen=True, kw_only=True)
class UMDA(Model):
    """Univariate marginal distribution: each variable is one as often as among the parents.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[1, 0], [1, 1]], dtype=np.uint8)
    >>> UMDA().fit(x, rng=np.random.default_rng(0)).probabilities
    array([1. , 0.5])
    """

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> Marginals:
        """Count ones in x, shape (rows, n)."""
        check_parents(x)
        return Marginals(probabilities=x.mean(axis=0))
