"""Models without dependencies, one probability per variable: UMDA, the frequencies of the parents, and PBIL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from daedal.models.base import Fitted, Model, check_parents
from daedal.settings.checks import check_at_least, check_between
from daedal.types import Bits

_DRAWN_AT_A_TIME = 2**22  # numbers, 32 MB


@dataclass(frozen=True, kw_only=True)
class Marginals(Fitted):
    """Independent bits: the probabilities of a one, shape (n,)."""

    probabilities: NDArray[np.float64]

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Draw rows, shape (rows, n), each bit by itself."""
        out = np.empty((rows, len(self.probabilities)), dtype=np.uint8)
        at_a_time = max(1, _DRAWN_AT_A_TIME // len(self.probabilities))
        for start in range(0, rows, at_a_time):  # the same numbers, however many are drawn at a time
            block = out[start : start + at_a_time]
            np.less(rng.random(block.shape), self.probabilities, out=block.view(np.bool_))
        return out


@dataclass(frozen=True, kw_only=True)
class UMDA(Model):
    """Univariate marginal distribution: each variable has the frequency of ones of the parents.

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


@dataclass(frozen=True, kw_only=True)
class PBIL(Model):
    """Population-based incremental learning.

    Parameters
    ----------
    learning_rate
        Strength of the update, alpha of the paper.
    best
        How many of the best parents are followed, mu of the paper.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[1, 0], [0, 0]], dtype=np.uint8)
    >>> PBIL(learning_rate=0.1).fit(x, rng=np.random.default_rng(0)).probabilities
    array([0.55, 0.45])
    """

    slowness: ClassVar[float] = 4.0

    learning_rate: float = 0.02
    best: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("learning_rate", self.learning_rate, 0.0, 1.0)
        check_at_least("best", self.best, 1)

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> Marginals:
        """Move the probabilities towards the mean of the first rows of x, shape (rows, n)."""
        check_parents(x)
        before = previous.probabilities if isinstance(previous, Marginals) else np.full(x.shape[1], 0.5)
        towards = x[: self.best].mean(axis=0)
        return Marginals(probabilities=before + self.learning_rate * (towards - before))
