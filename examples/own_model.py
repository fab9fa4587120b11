"""A model of one's own, which gets the loop of an estimation of distribution algorithm: copies of parents with errors.

daedal solve trap:k=4,n=20 --algorithm examples/own_model.py:Copies --popsize 500
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from daedal import Bits
from daedal.models import Fitted, Model


@dataclass(frozen=True, kw_only=True)
class FittedCopies(Fitted):
    """The parents themselves."""

    parents: Bits
    errors: float

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        chosen = self.parents[rng.integers(0, len(self.parents), rows)]
        return chosen ^ (rng.random(chosen.shape) < self.errors).astype(np.uint8)


@dataclass(frozen=True, kw_only=True)
class Copies(Model):
    """Copies random parents, and flips each bit with a small probability."""

    errors: float = 0.02

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> FittedCopies:
        return FittedCopies(parents=x, errors=self.errors)
