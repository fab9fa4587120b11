"""Samples of the denoising autoencoder from rows that are given, some of their variables held fixed.

Rows are padded as `products` says. Random words are drawn by the caller.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal.compilation import OPTIONS, njit
from daedal.kernels.chains import rebuild
from daedal.kernels.network import Stack, Widths, Workspaces
from daedal.kernels.noise import NoiseShape, corrupt_some_values

_Bytes = NDArray[np.uint8]
_f = np.float32
_i = np.int32


@njit(**OPTIONS)
def sample_given(
    start: _Bytes, clamped: _Bytes, noise: NDArray[np.uint16], draws: NDArray[np.uint32], steps: int,
    shape: NoiseShape, cooling: float, stack: Stack, widths: Widths, works: Workspaces, out: _Bytes,
) -> None:  # fmt: skip
    """Corrupt and reconstruct rows so many times, and draw the bits that are not clamped.

    What is clamped goes into every step as it is in the start, uncorrupted, and comes out so. The others are corrupted
    at every step, and their real-valued reconstructions are fed back without binarising, as in `daedal.kernels.chains`.

    start, clamped (1: held fixed) and out (rows, n), noise (steps * rows * n + LANES,), draws (rows * n,).
    """
    n = widths[0]
    batch = works[0].inputs.shape[0] // 2
    rows = out.shape[0]
    for first in range(0, rows, batch):
        b = min(batch, rows - first)
        corrupted, z = works[0].inputs[:b], works[0].inputs[b : 2 * b]
        for i in range(b):
            for j in range(n):
                z[i, j] = _f(_i(start[first + i, j]))
        for step in range(steps):
            corrupt_some_values(z, noise[(step * rows + first) * n :], n, works[0].limits, shape, corrupted)
            for i in range(b):
                for j in range(n):
                    if clamped[first + i, j]:
                        corrupted[i, j] = _f(_i(start[first + i, j]))
            rebuild(b, _f(cooling), stack, widths, works)
        for i in range(b):
            for j in range(n):
                drawn = np.float64(draws[(first + i) * n + j]) < np.float64(z[i, j]) * 4294967296.0
                out[first + i, j] = start[first + i, j] if clamped[first + i, j] else drawn
