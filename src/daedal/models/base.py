"""What a model is: hyperparameters that fit, and what was learned, which samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from daedal.bits import Bits
from daedal.settings import check_types

Info: TypeAlias = Mapping[str, float]
"""What a fit has to tell the user, by name: epochs, error, edges."""


@dataclass(frozen=True, kw_only=True)
class Fitted(ABC):
    """What a model has learned; its arrays are never changed after the fit.

    Attributes
    ----------
    info
        What the fit has to tell.
    """

    info: Info = field(default_factory=dict)

    @abstractmethod
    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Draw new rows, shape (rows, n)."""


def check_parents(x: Bits) -> tuple[int, int]:
    """Give the shape of the rows to fit, (rows, n); refuse none at all."""
    if x.ndim != 2 or 0 in x.shape:
        raise ValueError(f"expected parents of shape (rows, n), at least one row and one variable, got shape={x.shape}")
    return x.shape[0], x.shape[1]


@dataclass(frozen=True, kw_only=True)
class Model(ABC):
    """Hyperparameters of a probability model of bit strings; no state."""

    def __post_init__(self) -> None:
        check_types(self)

    @abstractmethod
    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> Fitted:
        """Learn from rows x, shape (rows, n), best solution first.

        `previous` is the fit of the generation before, for models that live on.
        """
