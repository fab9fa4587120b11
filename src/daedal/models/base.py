"""Base classes of models: `Model` has the hyperparameters and fits; `Fitted` has the learned parameters and samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.settings.checks import check_fits
from daedal.settings.parameters import check_types, written
from daedal.threads import one_blas_thread
from daedal.types import Bits

BYTES_A_PAIR = 24
"""Memory for each pair of variables where a table has them all: counts and weights."""

PRODUCTS_A_SECOND = 3e10
"""Multiplications in matrix products of float32 that one core makes per second, measured once (docs/algorithms.md).

Estimates of time are the same on every machine, so that a command warns, or is refused, on all of them."""

ADVICE = "for so many variables there are the algorithms umda, pbil, ils and auto"


class TrainingCurve(NamedTuple):
    """The errors measured in training, and the numbers of epochs after which they were, both shape (measurements,)."""

    epochs: NDArray[np.int64]
    errors: NDArray[np.float64]

    @classmethod
    def every(cls, epochs: int, errors: Sequence[float], *, last: int, first: int | None = None) -> TrainingCurve:
        """Return errors that were measured at regular intervals, from the first of these to the last epoch."""
        start, step = epochs if first is None else first, min(epochs, last)
        at = np.minimum(min(start, last) + step * np.arange(len(errors)), last)
        return cls(at.astype(np.int64), np.array(errors, dtype=np.float64))


@dataclass(frozen=True, kw_only=True)
class Fitted(ABC):
    """A fitted model, which samples candidates. Its arrays are never changed.

    Attributes
    ----------
    info
        Figures of the fit by name, for example epochs, error or edges.
    """

    info: Mapping[str, float] = field(default_factory=dict)

    linkage_source: ClassVar[str] = ""
    """Where `linkage` comes from, as text for users, for example "the weights of the autoencoder"."""

    def linkage(self) -> NDArray[np.float64] | None:
        """Return how strongly pairs of variables depend on each other, shape (n, n), symmetric, 0 for not at all.

        The default, None, is for models that know nothing of pairs.
        """
        return None

    def curve(self) -> TrainingCurve | None:
        """Return the errors measured in training; None for models that are not trained in epochs."""
        return None

    @abstractmethod
    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Draw new rows, shape (rows, n)."""


def check_parents(x: Bits) -> tuple[int, int]:
    """Return the shape (rows, n) of the rows to fit; raise ValueError if they are empty."""
    if x.ndim != 2 or 0 in x.shape:
        raise ValueError(f"expected parents of shape (rows, n), at least one row and one variable, got shape={x.shape}")
    return x.shape[0], x.shape[1]


def check_converged(weights: NDArray[np.float32], what: str, learning_rate: float) -> None:
    """Raise ValueError for weights that have become infinite or nan in training."""
    if not np.isfinite(weights).all():
        raise ValueError(f"the training of {what} diverged with learning_rate={learning_rate:g}; try a smaller one")


def linkage_of_weights(weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return how much passes from each input through a hidden layer back to each output, shape (n, n).

    A hidden unit passes on a quarter at most. The weights of both directions are the same, shape (n, m).
    """
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):  # weights may be huge
        passed = np.abs(weights @ weights.T).astype(np.float64) / 4
    both: NDArray[np.float64] = np.maximum(passed, passed.T)
    np.fill_diagonal(both, 0.0)
    return np.nan_to_num(both, nan=0.0)


@cache
def _load_kernels(kind: type[Model]) -> None:
    """Fit and sample a few rows with the default hyperparameters."""
    rng = np.random.default_rng(0)
    kind().fit(rng.integers(0, 2, (10, 3), dtype=np.uint8), rng=rng).sample(2, rng=rng)


@dataclass(frozen=True, kw_only=True)
class Model(ABC):
    """Settings of a probability model of good candidates. `fit` returns what was learned."""

    compiled: ClassVar[bool] = False
    """If True, the model has kernels, which take some seconds to compile when they are first used."""

    slowness: ClassVar[float] = 1.0
    """Factor of the generations that the model needs; with few evaluations, its population is smaller by it."""

    def __post_init__(self) -> None:
        check_types(self)

    def working_bytes(self, rows: int, n: int) -> int:
        """Return the approximate memory of a fit to rows of n variables, and of drawing as many, without the rows.

        A run that needs more than the machine has is refused. The default of 0 is never refused.
        """
        return 0

    def working_seconds(self, rows: int, n: int) -> float:
        """Return the approximate CPU time of a fit to rows of n variables, and of drawing as many.

        It is a count of steps over a rate that was measured once, right within a factor of three. With the default of
        0, no run warns.
        """
        return 0.0

    def check_memory(self, rows: int, n: int) -> None:
        """Raise ValueError if a fit would not fit into memory."""
        hidden = getattr(self, "hidden", None)
        what = f"{type(self).__name__} with n={n:,}{'' if hidden is None else f' and hidden={written(hidden)}'}"
        check_fits(self.working_bytes(rows, n), what, advice=ADVICE)

    def prepare(self) -> None:
        """Compile or load the kernels, so that the clock of a run measures the run."""
        if self.compiled:
            _load_kernels(type(self))

    @abstractmethod
    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> Fitted:
        """Learn from rows x, shape (rows, n), best solution first.

        `previous` is the fit of the previous generation, for models that build on it.
        """
