"""Samples of an autoencoder of any depth: chains of corruption and reconstruction (Algorithm 3 of the paper)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit
from daedal.kernels.dae import activate
from daedal.kernels.network import Stack, Widths, Workspaces, decode, encode
from daedal.kernels.noise import NoiseShape, corrupt_some_values
from daedal.kernels.products import whole_vectors

_Floats = NDArray[np.float32]
_Bytes = NDArray[np.uint8]
_Words = NDArray[np.uint16]
_f = np.float32
_i = np.int32


@njit(**OPTIONS)
def _scale(z: _Floats, n: int, factor: np.float32) -> None:
    for i in range(z.shape[0]):
        for j in range(whole_vectors(n)):
            z[i, j] *= factor


@njit(**OPTIONS)
def _draw_bits(z: _Floats, words: _Words, n: int) -> None:
    """Replace probabilities by bits drawn with them."""
    for i in range(z.shape[0]):
        for j in range(n):
            z[i, j] = _f(1) if _f(words[i * n + j]) < z[i, j] * _f(65536) else _f(0)


@njit(**OPTIONS)
def rebuild(b: int, cooling: np.float32, stack: Stack, widths: Widths, works: Workspaces) -> None:
    """Reconstruct b corrupted rows, in works[0].inputs[:b], in works[0].inputs[b:2 b]; see `advance`."""
    z = works[0].inputs[b : 2 * b]
    encode(works[0].inputs[:b], stack, widths, works)
    decode(b, stack, widths, works)
    if cooling != _f(1):
        _scale(z, widths[0], cooling)
    activate(z, widths[0], works[0].live_output)


@njit(**OPTIONS)
def advance(
    b: int, words: _Words, shape: NoiseShape, cooling: np.float32, stack: Stack, widths: Widths, works: Workspaces
) -> None:
    """Corrupt b rows, in works[0].inputs[b:2 b], and reconstruct them there; cooling is one over the temperature."""
    n = widths[0]
    corrupted, z = works[0].inputs[:b], works[0].inputs[b : 2 * b]
    corrupt_some_values(z, words, n, works[0].limits, shape, corrupted)
    rebuild(b, cooling, stack, widths, works)


@njit(**OPTIONS)
def sample(
    start: _Words, noise: _Words, coins: _Words, draws: NDArray[np.uint32], steps: int, shape: NoiseShape,
    cooling: float, stack: Stack, widths: Widths, works: Workspaces, out: _Bytes,
) -> None:  # fmt: skip
    """Algorithm 3 and the final Bernoulli draw.

    Reconstructions are fed back as they are, or, where there are coins, as bits drawn with them. start and draws
    (rows * n,), noise (steps * rows * n + LANES,), coins ((steps - 1) * rows * n,) or none, out (rows, n). The lowest
    bit of a word is where its chain starts.
    """
    n = widths[0]
    batch = works[0].inputs.shape[0] // 2
    rows = out.shape[0]
    for first in range(0, rows, batch):
        b = min(batch, rows - first)
        z = works[0].inputs[b : 2 * b]
        for i in range(b):
            for j in range(n):
                z[i, j] = _f(_i(start[(first + i) * n + j]) & _i(1))
        for step in range(steps):
            at = (step * rows + first) * n
            advance(b, noise[at:], shape, _f(cooling), stack, widths, works)
            if coins.size > 0 and step < steps - 1:
                _draw_bits(z, coins[at:], n)
        for i in range(b):
            for j in range(n):
                out[first + i, j] = np.float64(draws[(first + i) * n + j]) < np.float64(z[i, j]) * 4294967296.0
