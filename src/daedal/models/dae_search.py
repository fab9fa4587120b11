"""The denoising autoencoder as a guide of stochastic search: it improves rows rather than drawing them from nothing."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from daedal.models.base import Fitted, TrainingCurve, check_parents
from daedal.models.dae import DAE, FittedDAE
from daedal.settings.checks import check_between
from daedal.types import Bits


@dataclass(frozen=True, kw_only=True)
class FittedDAESearch(Fitted):
    """An autoencoder trained on the best, and the parents that it improves."""

    network: FittedDAE
    parents: Bits
    steps: int

    linkage_source: ClassVar[str] = FittedDAE.linkage_source

    def linkage(self) -> NDArray[np.float64] | None:
        """Give what the weights say of pairs, shape (n, n)."""
        return self.network.linkage()

    def curve(self) -> TrainingCurve | None:
        """Give the errors measured in training."""
        return self.network.curve()

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Corrupt and reconstruct parents, each as often as the others or once more; draw a bit from each output."""
        chosen = rng.permutation(len(self.parents))
        return self.network.sample_from(self.parents[np.resize(chosen, rows)], steps=self.steps, rng=rng)


@dataclass(frozen=True, kw_only=True)
class DAESearch(DAE):
    """Denoising autoencoder that is trained on the best rows, and improves all parents: Churchill et al. (2014).

    Candidates are parents that were corrupted and reconstructed, so that the network is a learned mutation. What the
    network is, and how it is trained, has the settings of `DAE`.

    Parameters
    ----------
    trained
        Share of the population, which is twice the parents, that is trained on: its best.
    sampling_steps
        Rounds of corruption and reconstruction that a parent goes through.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = np.repeat(rng.integers(0, 2, (200, 2), dtype=np.uint8), 5, axis=1)
    >>> DAESearch().fit(x, rng=rng).sample(3, rng=rng).shape
    (3, 10)
    """

    trained: float = 0.2
    sampling_steps: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("trained", self.trained, 0.001, 0.5)

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> FittedDAESearch:  # type: ignore[override]
        """Train on the first of x, shape (rows, n), which are the best; keep all of them to begin at."""
        best = x[: self._trained_rows(check_parents(x)[0])]
        network = super().fit(best, rng=rng, previous=getattr(previous, "network", previous))
        return FittedDAESearch(info=network.info, network=network, parents=x.copy(), steps=self.sampling_steps)

    def working_seconds(self, rows: int, n: int) -> float:
        """Give the CPU time, about: that of training on the best; to improve rows takes next to none."""
        return super().working_seconds(self._trained_rows(rows), n)

    def _trained_rows(self, rows: int) -> int:
        return ceil(2 * self.trained * rows)
