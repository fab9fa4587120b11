"""A trained autoencoder whose samples are drawn by JAX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from daedal.models.jax_backend.chains import ChainNumbers, ChainPlan, correlation_program, sample_program
from daedal.models.jax_backend.devices import find_device, within_memory
from daedal.models.jax_backend.modules import jax
from daedal.models.jax_backend.noise import noise_of
from daedal.models.jax_backend.start import layers_of
from daedal.models.network_samples import PILOTS, FittedDAE, check_start
from daedal.rng import words32
from daedal.types import Bits

_FEWEST, _MOST = 32, 1024  # chains side by side: a power of two, so that few programs are compiled

WHAT = "drawing from the autoencoder"


@dataclass(frozen=True, kw_only=True)
class FittedJaxDAE(FittedDAE):
    """A trained autoencoder that samples on a device: of this name, or of JAX's choice.

    Its parameters are NumPy's, as those of `FittedDAE`, so that checkpoints and reports know no difference.
    """

    device: str | None = None

    def sample(self, rows: int, *, rng: np.random.Generator) -> Bits:
        """Draw rows, shape (rows, n): s rounds of corruption and reconstruction, then a draw per bit."""
        start = None if self.parents is None else self.parents[np.resize(rng.permutation(len(self.parents)), rows)]
        return self._drawn(rows, start, None, self.sampling_steps, binarise=self.binarise, rng=rng)

    def sample_from(
        self, rows: Bits, *, clamped: Bits | None = None, steps: int | None = None, rng: np.random.Generator
    ) -> Bits:
        """Draw a row from each of these, shape (rows, n), by so many rounds; what is clamped, where 1, stays."""
        steps = self.sampling_steps if steps is None else steps
        start, held = check_start(rows, clamped, self.n, steps)
        return self._drawn(len(start), start, None if clamped is None else held, steps, binarise=False, rng=rng)

    def correlations(self, *, rng: np.random.Generator) -> list[float]:
        """Give the correlation of chains with their start after 1, 2, ... rounds, until they need not go on."""
        start = None if self.parents is None else self.parents[rng.integers(0, len(self.parents), PILOTS)]
        plan, numbers = self._chains(PILOTS, 1, binarise=self.binarise)
        device = find_device(self.device)
        with within_memory(device, WHAT):
            given = jax.device_put((layers_of(self.stack, self.widths), numbers, key_of(rng), start), device)
            found, count = jax.device_get(correlation_program(plan)(*given))
        return [float(one) for one in found[: int(count)]]

    def _drawn(
        self, rows: int, start: Bits | None, clamped: Bits | None, steps: int, *, binarise: bool,
        rng: np.random.Generator,
    ) -> Bits:  # fmt: skip
        if rows == 0:
            return np.empty((0, self.n), dtype=np.uint8)
        at_a_time = min(max(_FEWEST, 1 << (rows - 1).bit_length()), _MOST)
        blocks = -(-rows // at_a_time)
        plan, numbers = self._chains(at_a_time, steps, binarise=binarise)
        keys = words32(rng, 2 * blocks)[: 2 * blocks].reshape(blocks, 2)
        device = find_device(self.device)
        with within_memory(device, WHAT):
            given: Any = (layers_of(self.stack, self.widths), numbers, keys)
            given += tuple(None if one is None else _blocks(one, blocks, at_a_time) for one in (start, clamped))
            drawn = jax.device_get(sample_program(plan)(*jax.device_put(given, device)))
        return np.array(drawn.reshape(-1, self.n)[:rows], order="C")  # the caller's own

    def _chains(self, rows: int, steps: int, *, binarise: bool) -> tuple[ChainPlan, ChainNumbers]:
        noise, noise_numbers = noise_of(self.noise_shape(), self.corruption)
        numbers = ChainNumbers(np.asarray(np.int32(steps)), np.asarray(np.float32(1 / self.temperature)), noise_numbers)
        return ChainPlan(rows, self.n, noise, binarise), numbers


def key_of(rng: np.random.Generator) -> NDArray[np.uint32]:
    """Draw a key for random numbers on the device, shape (2,)."""
    return words32(rng, 2)[:2]


def _blocks(x: Bits, blocks: int, rows: int) -> Bits:
    """Divide rows into blocks of so many, shape (blocks, rows, n), the last one filled up with zeros."""
    filled = np.zeros((blocks * rows, x.shape[1]), dtype=np.uint8)
    filled[: len(x)] = x
    return filled.reshape(blocks, rows, -1)
