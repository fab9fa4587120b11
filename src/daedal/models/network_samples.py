"""A trained autoencoder: what it says of pairs of variables, and its samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.models.base import Fitted, TrainingCurve
from daedal.models.training import products_of
from daedal.rng import words16, words32
from daedal.threads import one_blas_thread
from daedal.types import Bits

SAMPLED_AT_A_TIME = 512
_BATCH = 128

PILOTS = 256
"""Chains that are watched for how fast they forget."""

MOST_STEPS = 50
"""Rounds of corruption and reconstruction that are chosen at most."""

FORGOTTEN = 0.1
"""Correlation with the start below which a chain has forgotten it."""

STUCK = 0.01
"""A correlation that falls by less than this in a round falls no more."""


@dataclass(frozen=True, kw_only=True)
class FittedDAE(Fitted):
    """A trained autoencoder of n visible and m hidden units, and perhaps further layers above these.

    How it samples is told with it: see `DAE`.
    """

    theta: kernels.dae.Parameters  # of the first layer, padded as `kernels.products` says
    n: int
    m: int
    corruption: float
    sampling_steps: int
    training: TrainingCurve | None = None
    deeper: tuple[kernels.dae.Parameters, ...] = ()  # of the layers above
    deeper_units: tuple[int, ...] = ()  # of the layers above
    shape: kernels.noise.NoiseShape | None = None  # None: salt+pepper
    parents: Bits | None = None  # (rows, n): where chains start; None: at random bits
    temperature: float = 1.0
    binarise: bool = False

    linkage_source: ClassVar[str] = "the weights of the autoencoder"

    @property
    def stack(self) -> kernels.network.Stack:
        """The parameters of all layers."""
        return (self.theta, *self.deeper)

    @property
    def widths(self) -> tuple[int, ...]:
        """Variables, and the units of each hidden layer."""
        return (self.n, self.m, *self.deeper_units)

    def linkage(self) -> NDArray[np.float64]:
        """Give how much one bit moves the logit of another's reconstruction, shape (n, n), hidden units half on."""
        encoder, decoder = self.theta.encoder[: self.n, : self.m], self.theta.decoder[: self.n, : self.m]
        with one_blas_thread():
            for k, theta in enumerate(self.deeper, start=1):
                n, m = self.widths[k : k + 2]
                quarter = np.float32(0.25)  # what a hidden unit passes on at most
                encoder = encoder @ (quarter * theta.encoder[:n, :m])
                decoder = decoder @ (quarter * theta.decoder[:n, :m])
        return products_of(encoder, decoder)

    def curve(self) -> TrainingCurve | None:
        """Give the errors measured in training."""
        return self.training

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Draw rows, shape (rows, n): s rounds of corruption and reconstruction, then a draw per bit."""
        out = np.empty((rows, self.n), dtype=np.uint8)
        works = workspaces(self.widths, min(max(rows, 1), _BATCH), self.corruption)
        steps, spare, shape = self.sampling_steps, kernels.tiles.LANES, self.noise_shape()
        first_rows = None if self.parents is None else np.resize(rng.permutation(len(self.parents)), rows)
        with one_blas_thread():
            for first in range(0, rows, SAMPLED_AT_A_TIME):
                block = out[first : first + SAMPLED_AT_A_TIME]
                if self.parents is None or first_rows is None:
                    start = words16(rng, block.size)
                else:
                    start = self.parents[first_rows[first : first + len(block)]].astype(np.uint16).ravel()
                noise = words16(rng, steps * block.size + spare)
                coins = words16(rng, (steps - 1) * block.size if self.binarise else 0)
                draws = words32(rng, block.size)
                kernels.chains.sample(
                    start,
                    noise,
                    coins,
                    draws,
                    steps,
                    shape,
                    1 / self.temperature,
                    self.stack,
                    self.widths,
                    works,
                    block,
                )
        return out

    def sample_from(
        self, rows: Bits, *, clamped: Bits | None = None, steps: int | None = None, rng: np.random.Generator
    ) -> Bits:
        """Draw a row from each of these, shape (rows, n), by so many rounds; what is clamped, where 1, stays."""
        steps, spare = self.sampling_steps if steps is None else steps, kernels.tiles.LANES
        start, held = check_start(rows, clamped, self.n, steps)
        out = np.empty_like(start)
        works, shape = workspaces(self.widths, min(max(len(out), 1), _BATCH), self.corruption), self.noise_shape()
        with one_blas_thread():
            for first in range(0, len(out), SAMPLED_AT_A_TIME):
                part = slice(first, first + SAMPLED_AT_A_TIME)
                noise, draws = words16(rng, steps * out[part].size + spare), words32(rng, out[part].size)
                kernels.clamped.sample_given(
                    start[part], held[part], noise, draws, steps, shape, 1 / self.temperature, self.stack, self.widths,
                    works, out[part],
                )  # fmt: skip
        return out

    def noise_shape(self) -> kernels.noise.NoiseShape:
        """Give the noise that it was trained with."""
        return kernels.noise.noise_shape() if self.shape is None else self.shape

    def correlations(self, *, rng: np.random.Generator) -> list[float]:
        """Give the correlation of chains with their start after 1, 2, ... rounds, until they need not go on.

        It is of bits drawn from all chains, each variable's mean taken off. They need not go on where it is below 0.1,
        or where it falls no more: a chain that stays in the basin where it started will not leave it.
        """
        n, rows, widths = self.n, PILOTS, self.widths
        works, shape = workspaces(widths, rows, self.corruption), self.noise_shape()
        z = works[0].inputs[rows:]
        if self.parents is None:
            z[:, :n] = (words16(rng, rows * n)[: rows * n] & 1).reshape(rows, n)
        else:
            z[:, :n] = self.parents[rng.integers(0, len(self.parents), rows)]
        start, found = z[:, :n].astype(np.float64), [1.0]
        cooling = np.float32(1 / self.temperature)
        with one_blas_thread():
            while len(found) <= MOST_STEPS and found[-1] >= FORGOTTEN:
                noise = words16(rng, rows * n + kernels.tiles.LANES)
                kernels.chains.advance(rows, noise, shape, cooling, self.stack, widths, works)
                if self.binarise:
                    z[:, :n] = rng.random((rows, n)) < z[:, :n]
                found.append(correlation(start, z[:, :n].astype(np.float64)))
                if found[-2] - found[-1] < STUCK:
                    break
        return found[1:]


def check_start(rows: Bits, clamped: Bits | None, n: int, steps: int) -> tuple[Bits, Bits]:
    """Give rows that chains are to start at, shape (rows, n), and what is clamped there; refuse what does not fit."""
    start = np.ascontiguousarray(rows, dtype=np.uint8)
    held = np.zeros_like(start) if clamped is None else np.ascontiguousarray(clamped, dtype=np.uint8)
    if start.ndim != 2 or start.shape[1] != n or held.shape != start.shape or steps < 1:
        raise ValueError(f"expected rows of {n} bits, {steps=} of at least 1, and clamped bits of the same shape")
    return start, held


def correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Give the correlation of bits drawn by two arrays of probabilities, shape (rows, n), over rows; 0 without any.

    The expected one: bits vary by p (1 - p), whatever little the probabilities p do.
    """
    means = one.mean(axis=0), other.mean(axis=0)
    together = ((one - means[0]) * (other - means[1])).mean(axis=0).sum()
    spread = float(np.sqrt(np.prod([(mean * (1 - mean)).clip(0).sum() for mean in means])))
    return float(together) / spread if spread > 0 else 0.0


def workspaces(
    widths: tuple[int, ...], batch: int, corruption: float, *, tied: bool = True, walkback: bool = False
) -> kernels.network.Workspaces:
    """Make the workspaces of all layers; rows are corrupted below the first."""
    layers = range(len(widths) - 1)
    return tuple(
        kernels.dae.make_workspace(
            widths[k], widths[k + 1], batch, corruption if k == 0 else 0.0, inner=k > 0 and not tied,
            walkback=k == 0 and walkback,
        )
        for k in layers
    )  # fmt: skip
