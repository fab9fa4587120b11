"""Models without dependencies: one probability per variable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from daedal.models.base import Fitted
from daedal.types import Bits


@dataclass(frozen=True, kw_only=True)
class Marginals(Fitted):
    """Independent bits.

    Attributes
    ----------
    probabilities
        Of a one, shape (n,).
    """

    probabilities: NDArray[np.float64]

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Draw rows, shape (rows, n), each bit by itself."""
        return (rng.random((rows, len(self.probabilities))) < self.probabilities).astype(np.uint8)
