"""Samples of the denoising autoencoder from rows that are given, some of their variables held fixed.

Rows are padded as `products` says. Random words are drawn by the caller.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from daedal.kernels.compilation import OPTIONS, njit
from daedal.kernels.dae import Parameters, Workspace, activate
from daedal.kernels.noise import corrupt_values
from daedal.kernels.products import affine, affine_transposed

_Bytes = NDArray[np.uint8]
_f = np.float32
_i = np.int32


@njit(**OPTIONS)
def sample_given(
    start: _Bytes, clamped: _Bytes, noise: NDArray[np.uint16], draws: NDArray[np.uint32], steps: int, n: int, m: int,
    theta: Parameters, work: Workspace, out: _Bytes,
) -> None:  # fmt: skip
    """Corrupt and reconstruct rows so many times, and draw the bits that are not clamped.

    What is clamped goes into every step as it is in the start, uncorrupted, and comes out so. The others are corrupted
    at every step, and their real-valued reconstructions are fed back without binarising, as in `daedal.kernels.dae`.

    start, clamped (1: held fixed) and out (rows, n), noise (steps * rows * n + LANES,), draws (rows * n,).
    """
    batch = work.inputs.shape[0] // 2
    rows = out.shape[0]
    for first in range(0, rows, batch):
        b = min(batch, rows - first)
        corrupted, z, hidden = work.inputs[:b], work.inputs[batch : batch + b], work.hiddens[:b]
        for i in range(b):
            for j in range(n):
                z[i, j] = _f(_i(start[first + i, j]))
        for step in range(steps):
            corrupt_values(z, noise[(step * rows + first) * n :], n, work.limits, corrupted)
            for i in range(b):
                for j in range(n):
                    if clamped[first + i, j]:
                        corrupted[i, j] = _f(_i(start[first + i, j]))
            affine(corrupted, theta.encoder, theta.hidden_bias, n, m, hidden)
            activate(hidden, m, work.live_hidden)
            affine_transposed(hidden, theta.decoder, theta.decoder_t, theta.output_bias, m, n, z)
            activate(z, n, work.live_output)
        for i in range(b):
            for j in range(n):
                drawn = np.float64(draws[(first + i) * n + j]) < np.float64(z[i, j]) * 4294967296.0
                out[first + i, j] = start[first + i, j] if clamped[first + i, j] else drawn
