"""Random words on the device, and what they do to rows: as `daedal.kernels.noise` has it, word for word.

A word has 16 bits, in uint32. It corrupts an entry where it is below a limit, and its lowest bit is the noise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from daedal import kernels
from daedal.models.jax_backend.modules import jax, jnp, lax


class Noise(NamedTuple):
    """What noise it is, as far as programs are compiled for it."""

    masking: bool = False
    length: int = 0  # variables of a block; 0: entries are corrupted one by one


class NoiseNumbers(NamedTuple):
    """The numbers of a noise, which a program takes as they come."""

    limit: NDArray[np.uint32]  # (): a word below it corrupts its entry
    first: NDArray[np.uint32]  # (): a word below it begins a block
    path: NDArray[np.int32]  # (n,): an order in which neighbours are corrupted together; or of none


def noise_of(shape: kernels.noise.NoiseShape, corruption: float) -> tuple[Noise, NoiseNumbers]:
    """Give what the kernels' description of a noise, and its strength, are here."""
    limit = np.uint32(2 * round(corruption * 2**15))  # even, so that the lowest bit of a word below it is fair
    length = shape.length if shape.path.size else 0
    numbers = NoiseNumbers(np.asarray(limit), np.asarray(np.uint32(shape.first)), shape.path.astype(np.int32))
    return Noise(masking=shape.masking, length=length), numbers


def wrapped(key: Any) -> Any:
    """Give the key whose two words, shape (2,), these are; the generator is always the same one."""
    return jax.random.wrap_key_data(key, impl="threefry2x32")


def draw_words(key: Any, rows: int, n: int) -> Any:
    """Draw words, shape (rows, n), two from each of the generator's."""
    drawn = jax.random.bits(key, (-(-rows // 2), n), jnp.uint32)
    return jnp.concatenate([drawn & jnp.uint32(0xFFFF), drawn >> jnp.uint32(16)])[:rows]


def corrupt(values: Any, words: Any, noise: Noise, numbers: NoiseNumbers) -> Any:
    """Corrupt values by words, both of shape (rows, n)."""
    hit = _in_blocks(words, noise.length, numbers) if noise.length else words < numbers.limit
    put = jnp.float32(kernels.noise.MASKED) if noise.masking else (words & jnp.uint32(1)).astype(jnp.float32)
    return jnp.where(hit, put, values)


def _in_blocks(words: Any, length: int, numbers: NoiseNumbers) -> Any:
    """Tell which entries are in a block that began at one of the last `length` along the path, whose ends meet."""
    n = words.shape[1]
    begins = (words[:, numbers.path] < numbers.first).astype(jnp.int32)
    begun = jnp.cumsum(jnp.concatenate([begins, begins], axis=1), axis=1, dtype=jnp.int32)
    hit = begun[:, n:] > begun[:, n - length : 2 * n - length]
    return hit[:, jnp.argsort(numbers.path)]


def shuffled(rows: Any, key: Any) -> Any:
    """Give the rows, shape (rows, n), in a random order."""
    count = rows.shape[0]
    words = jax.random.bits(key, (count,), jnp.uint32)
    _, order = lax.sort((words, lax.iota(jnp.int32, count)), num_keys=1)
    return rows[order]
