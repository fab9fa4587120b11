"""The denoising autoencoder as a guide of stochastic search: it improves rows instead of drawing them from nothing."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from daedal.models.base import Fitted, check_parents
from daedal.models.dae import DAE, FittedDAE
from daedal.settings.checks import check_between
from daedal.types import Bits


@dataclass(frozen=True, kw_only=True)
class FittedDAESearch(FittedDAE):
    """An autoencoder trained on the best rows, and the parents that it improves."""

    parents: Bits

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Corrupt and reconstruct parents, each as often as the others or once more; draw a bit from each output."""
        chosen = rng.permutation(len(self.parents))
        return self.sample_from(self.parents[np.resize(chosen, rows)], rng=rng)


@dataclass(frozen=True, kw_only=True)
class DAESearch(DAE):
    """Denoising autoencoder that improves parents instead of sampling, after Churchill et al. (2014).

    Candidates are parents that were corrupted and reconstructed, so the network is a learned mutation. The settings of
    the network and of its training are those of `DAE`.

    Parameters
    ----------
    trained
        Share of the population that is trained on: its best. The population is twice the parents.
    sampling_steps
        Rounds of corruption and reconstruction of a parent.

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

    def fit(self, x: Bits, *, rng: np.random.Generator, previous: Fitted | None = None) -> FittedDAESearch:
        """Train on the first of x, shape (rows, n), which are the best; keep all of them to start from."""
        rows, _ = check_parents(x)
        network = super().fit(x[: self._trained_rows(rows)], rng=rng, previous=previous)
        return FittedDAESearch(**vars(network), parents=np.array(x, order="C"))

    def working_seconds(self, rows: int, n: int) -> float:
        """Return the approximate CPU time of training on the best; improving rows takes next to none."""
        return super().working_seconds(self._trained_rows(rows), n)

    def _trained_rows(self, rows: int) -> int:
        return ceil(2 * self.trained * rows)
