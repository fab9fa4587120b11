"""What a model is: hyperparameters that fit, and what was learned, which samples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal.settings.checks import check_fits
from daedal.settings.parameters import Setting, check_types, written
from daedal.types import Bits

BYTES_A_PAIR = 24
"""Memory for each pair of variables where a table has them all: counts and weights."""

PRODUCTS_A_SECOND = 3e10
"""Products of float32 numbers in matrices that one core adds up, measured once (docs/size.md): estimates of time are
the same on every machine, so that the same command warns, or is refused, on all of them."""

ADVICE = "for so many variables there are the algorithms umda, pbil, ils and auto"


class TrainingCurve(NamedTuple):
    """After how many epochs an error was measured, and what it was, both shape (measurements,)."""

    epochs: NDArray[np.int64]
    errors: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Fitted(ABC):
    """What a model has learned; its arrays are never changed after the fit.

    Attributes
    ----------
    info
        What the fit has to tell the user, by name: epochs, error, edges.
    """

    info: Mapping[str, float] = field(default_factory=dict)

    linkage_source: ClassVar[str] = ""
    """Where `linkage` is read off, for people: "the weights of the autoencoder"."""

    def linkage(self) -> NDArray[np.float64] | None:
        """Give how much pairs of variables depend on each other in the model, shape (n, n), symmetrical.

        0 is not at all. None, unless a model says otherwise: it then has nothing to show of pairs.
        """
        return None

    def curve(self) -> TrainingCurve | None:
        """Give how the error fell in training; None where nothing is trained in epochs."""
        return None

    @abstractmethod
    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Draw new rows, shape (rows, n)."""


def check_parents(x: Bits) -> tuple[int, int]:
    """Give the shape (rows, n) of the rows to fit; refuse an empty array."""
    if x.ndim != 2 or 0 in x.shape:
        raise ValueError(f"expected parents of shape (rows, n), at least one row and one variable, got shape={x.shape}")
    return x.shape[0], x.shape[1]


def check_converged(weights: NDArray[np.float32], what: str, learning_rate: float) -> None:
    """Refuse weights that have become infinite or nan in training."""
    if not np.isfinite(weights).all():
        raise ValueError(f"the training of {what} diverged with learning_rate={learning_rate:g}; try a smaller one")


@cache
def _load_kernels(kind: type[Model]) -> None:
    """Fit and sample something too small to matter, with the default hyperparameters."""
    rng = np.random.default_rng(0)
    kind().fit(rng.integers(0, 2, (10, 3), dtype=np.uint8), rng=rng).sample(2, rng=rng)


@dataclass(frozen=True, kw_only=True)
class Model(ABC):
    """Hyperparameters of a probability model of bit strings; no state."""

    compiled: ClassVar[bool] = False
    """Whether it has kernels of its own, which take some seconds to compile when they are first used."""

    slowness: ClassVar[float] = 1.0
    """How many times as many generations as others it needs: for few evaluations, so much smaller a population."""

    later: ClassVar[Mapping[str, Setting]] = MappingProxyType({})
    """Hyperparameters that came when there were stores already, and what was done without them: with these values a run
    is one that a store may have."""

    def __post_init__(self) -> None:
        check_types(self)

    def working_bytes(self, rows: int, n: int) -> int:
        """Give the memory, about, that a fit to rows of n variables takes, and that drawing as many rows does.

        The rows themselves do not count. 0, unless a model says otherwise: then nothing is refused because of it.
        """
        return 0

    def working_seconds(self, rows: int, n: int) -> float:
        """Give the CPU time, about, that a fit to rows of n variables takes, and drawing as many rows.

        Counts of steps over a rate that was measured once, within a factor of three. 0, unless a model says otherwise:
        then nothing is said about it.
        """
        return 0.0

    def check_memory(self, rows: int, n: int) -> None:
        """Refuse so many variables that the fit would not fit into memory."""
        hidden = getattr(self, "hidden", None)
        what = f"{type(self).__name__} with n={n:,}{'' if hidden is None else f' and hidden={written(hidden)}'}"
        check_fits(self.working_bytes(rows, n), what, advice=ADVICE)

    def prepare(self) -> None:
        """Compile or load the kernels, so that the clock of a run measures the run."""
        if self.compiled:
            _load_kernels(type(self))

    @property
    def explanation(self) -> str:
        """What it chose to do, for the result, in a sentence: nothing, as a rule."""
        return ""

    @abstractmethod
    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> Fitted:
        """Learn from rows x, shape (rows, n), best solution first.

        `previous` is the fit of the previous generation, for models that build on it.
        """
