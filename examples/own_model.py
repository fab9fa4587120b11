"""A model of your own: copies of parents with errors.

daedal runs it in the loop of an estimation of distribution algorithm.

    python examples/own_model.py        # or, with all options of daedal solve:
    daedal solve trap:k=4,n=20 -a examples/own_model.py:Copies --popsize 500
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import daedal
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
    """Copies of random parents, with each bit flipped with a small probability."""

    errors: float = 0.02

    def fit(
        self,
        x: Bits,
        *,
        rng: np.random.Generator,
        previous: Fitted | None = None,
    ) -> FittedCopies:
        return FittedCopies(parents=x, errors=self.errors)


if __name__ == "__main__":
    for errors in (0.0, 0.01, 0.1):
        copies = Copies(errors=errors)
        result = daedal.maximize("trap:k=4,n=20", algorithm=copies, popsize=500, seed=1)
        print(f"errors {errors}: {result.fitness:.0f} of {result.optimum:.0f}")
